//! What was changed in a damaged journal: everything before the damage is sound, so the state there
//! says what the next decisions must be.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use bellwether_core::model::Seq;
use bellwether_core::{Engine, Entry, Event};
use bellwether_journal::{Damage, ReadError, Reader, salvage};

use super::{TOLD_MAX, told};
use crate::archive::{self, Backend};
use crate::progress::Progress;

/// What recomputing says of the damaged record; nothing if it can't be got at.
pub(super) fn locate(dir: &Path, damage: &Damage) -> anyhow::Result<Vec<String>> {
    // The journal is damaged, so failing to read more of it is no surprise and nothing to stop for.
    let Ok(reader) = Backend::of(dir)?.look(dir) else { return Ok(Vec::new()) };
    let Ok((mut engine, head)) = archive::origin(reader.as_ref()) else { return Ok(Vec::new()) };
    let mut findings = Vec::new();
    let mut progress = Progress::endless("events");
    let Ok(records) = reader.read(head.seq.next()) else { return Ok(Vec::new()) };
    for record in records {
        let record = match record {
            Ok(record) => record,
            Err(ReadError::Damaged(met)) => {
                drop(progress);
                findings.extend(in_record(&mut engine, reader.as_ref(), met.at));
                return Ok(findings);
            }
            Err(_) => return Ok(findings),
        };
        for entry in &record.entries {
            progress.step("looking");
            if let Err(mismatch) = engine.verify(entry)
                && findings.len() < TOLD_MAX
            {
                findings.push(told(&engine, &mismatch));
            }
        }
    }
    drop(progress);
    findings.push(format!(
        "every record matches the hash before it, so they were all written anew; what was \
         acknowledged at position {} was another chain",
        damage.at
    ));
    Ok(findings)
}

/// The first entry of a record that is not what it must be.
fn in_record(engine: &mut Engine, reader: &dyn Reader, at: Seq) -> Vec<String> {
    let Ok(Some(bytes)) = reader.bytes_at(at) else {
        return vec![format!("the record at position {at} can't be found, or where it ends can't")];
    };
    let entries = salvage(at, &bytes);
    let last = entries.last().map_or(at, |(seq, _)| *seq);
    let mut findings = vec![format!("the record of positions {at} to {last} was changed")];
    let mut now = engine.state().event_time();
    for (seq, read) in entries {
        match read {
            Err(why) => {
                let mut text = format!("the event at position {seq} can't be read any more: {why}");
                if let Some(expected) = engine.expected_decision(now) {
                    text.push_str(&format!("; if it is a decision, it was {expected}"));
                }
                findings.push(text);
                return findings;
            }
            Ok(entry) => {
                now = entry.at;
                match checked(engine, &entry) {
                    Ok(()) => {}
                    Err(finding) => {
                        findings.push(finding);
                        return findings;
                    }
                }
            }
        }
    }
    findings.push(
        "every decision in it is what it must be; the change is in another event, or in the \
         stored hash"
            .to_owned(),
    );
    findings
}

fn checked(engine: &mut Engine, entry: &Entry) -> Result<(), String> {
    if !is_plausible(engine, &entry.event) {
        let (name, seq) = (entry.event.name(), entry.seq);
        let expected = match entry.event {
            Event::Assigned { .. } => engine.expected_decision(entry.at),
            _ => None,
        };
        let expected = expected.map_or_else(String::new, |was| format!("; it was {was}"));
        return Err(format!("the {name} at position {seq} names what does not exist{expected}"));
    }
    // The entry is known not to be trusted, and the engine trusts entries; it is used for nothing
    // after a panic.
    let verified = catch_unwind(AssertUnwindSafe(|| {
        engine.verify(entry).map_err(|mismatch| told(engine, &mismatch))
    }));
    verified.unwrap_or_else(|_| {
        Err(format!("the {} at position {} can't have happened", entry.event.name(), entry.seq))
    })
}

fn is_plausible(engine: &Engine, event: &Event) -> bool {
    let state = engine.state();
    let worker_is_known = match event {
        Event::WorkerJoined { .. } => true,
        Event::Assigned { worker, .. } => state.worker(*worker).is_some(),
        event => event.worker().is_none_or(|worker| state.worker(worker).is_some()),
    };
    let job_is_known = match event {
        Event::Submitted { .. } => true,
        event => event.job().is_none_or(|job| state.job(job).is_some()),
    };
    worker_is_known && job_is_known
}
