//! Why the jobs of an array are where they are, as one.

use std::cmp::Reverse;

use bellwether_core::model::{JobNo, JobStatus};
use bellwether_core::why::KeptAlike;
use bellwether_wire::words::counted;
use bellwether_wire::{Mirror as _, v1};

use super::waiting::waiting_for;
use crate::edges::desk::{Desk, Unanswered};
use crate::event_loop::clock;

/// Jobs that the loop is asked about at a time, so that everybody else comes in between.
const STEP_JOBS: usize = 1_000;
/// Behind the name of an array: all of its jobs.
const ALL_ELEMENTS: &str = "[*]";

impl Desk {
    /// None if there is no array of this name.
    pub(super) async fn explain_array(
        &self,
        id: &str,
    ) -> Result<Option<v1::Explanation>, Unanswered> {
        let id = id.strip_suffix(ALL_ELEMENTS).unwrap_or(id);
        let Some((run, _)) = id.split_once('/') else { return Ok(None) };
        let summary = match self.run(run).await {
            Ok(summary) => summary,
            Err(Unanswered::UnknownRun { .. }) => return Ok(None),
            Err(why) => return Err(why),
        };
        let array = summary.arrays.iter().find(|array| array.id == id);
        let Some(array) = array else { return Ok(None) };
        // Those that have ended, from the history; the others as the loop has them.
        let ended = array.states.iter().filter(|count| has_ended(count.state));
        let mut parts: Vec<v1::ArrayPart> = ended
            .map(|count| v1::ArrayPart {
                state: count.state,
                jobs: count.count,
                ..Default::default()
            })
            .collect();
        self.add_those_that_have_not_ended(id, run, &mut parts).await?;
        parts.sort_by_key(|part| (Reverse(part.jobs), part.state, part.reason));
        let jobs: u64 = parts.iter().map(|part| part.jobs).sum();
        let said: Vec<String> = parts.iter().map(said).collect();
        Ok(Some(v1::Explanation {
            id: id.to_owned(),
            run_id: run.to_owned(),
            summary: format!("of {}, {}", counted(jobs, "job"), said.join(", ")),
            array: parts,
            submitted_at: summary.submitted_at,
            now: clock::wall().0,
            position: self.handle.durable().0,
            ..Default::default()
        }))
    }

    async fn add_those_that_have_not_ended(
        &self,
        id: &str,
        run: &str,
        parts: &mut Vec<v1::ArrayPart>,
    ) -> Result<(), Unanswered> {
        let open = JobStatus::ALL.iter().filter(|status| !status.has_ended());
        let wanted = v1::ListJobsRequest {
            run_id: run.to_owned(),
            id_prefix: format!("{id}["),
            states: open.map(|status| status.to_wire()).collect(),
            ..Default::default()
        };
        let mut behind = 0;
        loop {
            let page =
                self.registry.ids_between(wanted.clone(), behind, u64::MAX >> 1, STEP_JOBS).await?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            behind = *last;
            let jobs: Vec<JobNo> = page.iter().map(|(no, _)| JobNo(*no)).collect();
            let told = self.handle.ask(move |view| {
                let told = |alike: KeptAlike| {
                    let waiting = waiting_for(view.state, &alike.first);
                    let waits = waiting.is_some();
                    v1::ArrayPart {
                        state: alike.state.to_wire(),
                        reason: waiting.map(|waiting| waiting.reason).unwrap_or_default(),
                        jobs: alike.jobs,
                        id: if waits { alike.first.job.to_string() } else { String::new() },
                        summary: if waits { alike.first.to_string() } else { String::new() },
                    }
                };
                view.state.why_many(&jobs, view.now).into_iter().map(told).collect::<Vec<_>>()
            });
            for part in told.await? {
                // What has ended meanwhile is not counted twice: the history is asked first.
                let alike = |known: &&mut v1::ArrayPart| {
                    (known.state, known.reason) == (part.state, part.reason)
                };
                match parts.iter_mut().find(alike) {
                    Some(known) => known.jobs += part.jobs,
                    None => parts.push(part),
                }
            }
        }
    }
}

fn has_ended(state: i32) -> bool {
    v1::JobState::try_from(state).is_ok_and(v1::JobState::has_ended)
}

/// As in "3 wait for no workers".
fn said(part: &v1::ArrayPart) -> String {
    let (jobs, state) = (part.jobs, part.state().as_str());
    match part.reason() {
        v1::WaitReason::Unspecified => format!("{jobs} {state}"),
        reason => format!("{jobs} {state} ({})", reason.as_str().replace('_', " ")),
    }
}
