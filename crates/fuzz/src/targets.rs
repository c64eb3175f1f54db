//! Every parser of what comes from outside, with what is made of what it reads.

use std::cell::RefCell;
use std::io::{Seek as _, Write as _};

use bellwether_core::model::{JobId, Submission, WorkerId};
use bellwether_journal::state;
use bellwether_server::ServerConfig;
use bellwether_server::edges::security::tokens::Tokens;
use bellwether_wire::event::entries_from_wire;
use bellwether_wire::job::{job_to_wire, submission_from_wire, taken_job_from_wire};
use bellwether_wire::json::checkpoint::checkpoints_from_json;
use bellwether_wire::json::{
    Job, LiveConfig, Plan, Reply, job_from_json, job_spec_to_json, reply_from_json, run_from_json,
    submission_from_json, submissions, worker_message_from_json,
};
use bellwether_wire::signing::checkpoint::verify_checkpoint;
use bellwether_wire::signing::handoff::Arrived;
use bellwether_wire::v1;
use bellwether_wire::worker::{
    heartbeat_from_wire, model_loaded_from_wire, register_from_wire, report_from_wire,
};
use prost::Message as _;
use serde_json::value::RawValue;

pub use crate::mutate::Shape;
use crate::seeds;

/// A parser under test.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    pub name: &'static str,
    pub shape: Shape,
    pub(crate) seeds: fn() -> Vec<Vec<u8>>,
    /// What it makes of the input is dropped; only that it comes back counts.
    pub(crate) read: fn(&[u8]),
}

pub const TARGETS: &[Target] = &[
    Target { name: "job", shape: Shape::Json, seeds: seeds::jobs, read: job },
    Target { name: "run", shape: Shape::Json, seeds: seeds::runs, read: run },
    Target { name: "yaml", shape: Shape::Text, seeds: seeds::yaml, read: yaml },
    Target { name: "queue_message", shape: Shape::Json, seeds: seeds::runs, read: queue_message },
    Target {
        name: "worker_message",
        shape: Shape::Json,
        seeds: seeds::worker_messages,
        read: worker_message,
    },
    Target { name: "reply", shape: Shape::Json, seeds: seeds::replies, read: reply },
    Target { name: "checkpoint", shape: Shape::Json, seeds: seeds::checkpoints, read: checkpoint },
    Target { name: "shown", shape: Shape::Json, seeds: seeds::jobs, read: shown },
    Target {
        name: "live_config",
        shape: Shape::Json,
        seeds: seeds::live_config,
        read: live_config,
    },
    Target {
        name: "config_file",
        shape: Shape::Text,
        seeds: seeds::config_files,
        read: config_file,
    },
    Target { name: "tokens", shape: Shape::Text, seeds: seeds::tokens, read: tokens },
    Target { name: "submit", shape: Shape::Protobuf, seeds: seeds::submit, read: submit },
    Target { name: "session", shape: Shape::Protobuf, seeds: seeds::session, read: session },
    Target { name: "record", shape: Shape::Protobuf, seeds: seeds::records, read: record },
    Target { name: "snapshot", shape: Shape::Pieces, seeds: seeds::snapshots, read: snapshot },
];

fn generate() -> JobId {
    JobId::fixed("generated")
}

/// What becomes of a submission that is taken: it is recorded, read again and shown.
fn take(submission: Submission) {
    for job in submission.jobs.iter().take(4) {
        let wire = job_to_wire(job);
        taken_job_from_wire(&wire).expect("what was taken can be read again");
        drop(job_spec_to_json(job));
    }
}

fn job(input: &[u8]) {
    let Ok(raw) = serde_json::from_slice::<&RawValue>(input) else { return };
    if let Ok(draft) = job_from_json(raw) {
        take(draft.complete(&mut generate));
    }
}

fn run(input: &[u8]) {
    let Ok(raw) = serde_json::from_slice::<&RawValue>(input) else { return };
    if let Ok(draft) = run_from_json(raw, &mut generate).and_then(Plan::whole) {
        take(draft.complete(&mut generate));
    }
}

fn queue_message(input: &[u8]) {
    let Ok(raw) = serde_json::from_slice::<&RawValue>(input) else { return };
    if let Ok(draft) = submission_from_json(raw, &mut generate) {
        take(draft.complete(&mut generate));
    }
}

fn yaml(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    for draft in submissions(text, &mut generate).unwrap_or_default() {
        take(draft.complete(&mut generate));
    }
}

fn worker_message(input: &[u8]) {
    if let Ok(said) = worker_message_from_json(input) {
        hear(said.message);
    }
}

/// In its envelope, or as a handoff.
fn reply(input: &[u8]) {
    match reply_from_json(input) {
        Ok(Reply::Said(said, seal)) => {
            let signed = seal.is_some_and(|seal| seal.verify(&said, "urn:uuid:fuzz").is_ok());
            std::hint::black_box(signed);
            hear(said.message);
        }
        Ok(Reply::HandOff(handoff)) => {
            let arrived = Arrived::read(&handoff).map(|arrived| {
                let epoch = arrived.epoch;
                arrived.verified(WorkerId::fixed("w"), "urn:uuid:fuzz", epoch)
            });
            drop(arrived);
        }
        Err(_) => {}
    }
}

/// A line of a file that somebody has kept.
fn checkpoint(input: &[u8]) {
    let Ok(line) = std::str::from_utf8(input) else { return };
    for checkpoint in checkpoints_from_json(line).unwrap_or_default() {
        std::hint::black_box(verify_checkpoint(&checkpoint).is_ok());
    }
}

fn session(input: &[u8]) {
    if let Ok(message) = v1::WorkerMessage::decode(input) {
        hear(message);
    }
}

fn hear(message: v1::WorkerMessage) {
    drop(message.register.map(register_from_wire));
    message.heartbeat.map(heartbeat_from_wire);
    message.models_loaded.iter().for_each(|loaded| drop(model_loaded_from_wire(loaded)));
    message.reports.into_iter().for_each(|report| drop(report_from_wire(report)));
}

/// Whatever a result is, the job is shown, and everybody can read that.
fn shown(input: &[u8]) {
    let spec = v1::JobSpec { payload: input.to_vec().into(), ..v1::JobSpec::new("a", "t") };
    let result = input.to_vec().into();
    let job = Job::from(v1::Job { spec: Some(spec), result, ..Default::default() });
    let text = serde_json::to_string(&job).expect("a job can be shown");
    assert!(!text.contains(['\n', '\r']), "it is on one line");
    serde_json::from_str::<serde_json::Value>(&text).expect("everybody can read it");
}

fn live_config(input: &[u8]) {
    if let Ok(config) = serde_json::from_slice::<LiveConfig>(input) {
        drop(config.read().map(|config| config.validate()));
    }
}

fn submit(input: &[u8]) {
    let Ok(request) = v1::SubmitRequest::decode(input) else { return };
    for submission in &request.submissions {
        if let Ok(submission) = submission_from_wire(submission, &mut generate) {
            take(submission);
        }
    }
}

fn record(input: &[u8]) {
    if let Ok(record) = v1::Record::decode(input) {
        drop(entries_from_wire(record));
    }
}

fn snapshot(input: &[u8]) {
    drop(state::decode(input));
}

fn config_file(input: &[u8]) {
    as_file(input, |path| drop(ServerConfig::load(Some(path), [], &[])));
}

fn tokens(input: &[u8]) {
    as_file(input, |path| drop(Tokens::load(path)));
}

/// Some things are read from files alone. Each thread has one, in memory where there is such a folder.
fn as_file(input: &[u8], read: impl FnOnce(&std::path::Path)) {
    thread_local! {
        static FILE: RefCell<Option<tempfile::NamedTempFile>> = const { RefCell::new(None) };
    }
    FILE.with_borrow_mut(|slot| {
        let file = slot.get_or_insert_with(|| {
            let memory = tempfile::NamedTempFile::new_in("/dev/shm");
            memory.or_else(|_| tempfile::NamedTempFile::new()).expect("there is room for a file")
        });
        let written = file.rewind().and_then(|()| {
            file.as_file().set_len(0)?;
            file.write_all(input)
        });
        written.expect("the file can be written");
        read(file.path());
    });
}
