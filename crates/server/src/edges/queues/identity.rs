//! What makes a message the same job when it is delivered again.

use bellwether_brokers::{Delivered, Delivery, MessageId, Promises};
use bellwether_core::model::limits::NAME_BYTES_MAX;
use bellwether_core::model::{JobId, Name, Priority, Submission};
use bellwether_wire::Malformed;
use bellwether_wire::json::{Draft, SubmissionDraft, fault, submission_from_json};
use serde_json::value::RawValue;

/// Why a message is no submission.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("this is no JSON: {}", fault(.0))]
    Json(serde_json::Error),
    #[error(transparent)]
    Malformed(#[from] Malformed),
    #[error("the scheduler has a bug that shows with this message; its log says more")]
    Panicked,
    #[error(
        "nothing tells this message from others if it is delivered again; set the message's id, or \
         the id or idempotency_key of the job"
    )]
    Nameless,
}

/// Reads a message from the queue of this name. Jobs without an idempotency key get one that is the
/// same at every delivery; those without a priority get the message's.
pub(super) fn submission(
    queue: &str,
    delivery: &Delivery,
    promises: Promises,
    generate: &mut dyn FnMut() -> JobId,
) -> Result<Submission, Unreadable> {
    let raw: &RawValue = serde_json::from_slice(&delivery.body).map_err(Unreadable::Json)?;
    let mut draft = submission_from_json(raw, generate)?;
    if let Some(priority) = delivery.priority.and_then(priority_of) {
        for job in &mut draft.jobs {
            job.priority.get_or_insert(priority);
        }
    }
    if draft.jobs.iter().any(|job| job.spec.idempotency_key.is_none()) {
        let key = match &delivery.id {
            Some(id) => Some(named(queue, id)),
            // A body that names its jobs is the same jobs; one that does not may be sent twice on
            // purpose.
            None if names_its_jobs(&draft) => {
                Some(format!("queue/{queue}/body/{}", hash(&delivery.body)))
            }
            None if promises.delivered == Delivered::AtMostOnce => None,
            None => return Err(Unreadable::Nameless),
        };
        if let Some(key) = key {
            give_keys(&mut draft, &key)?;
        }
    }
    Ok(draft.complete(generate))
}

fn give_keys(draft: &mut SubmissionDraft, key: &str) -> Result<(), Malformed> {
    let single = draft.jobs.len() == 1 && draft.run.is_none();
    for (index, job) in draft.jobs.iter_mut().enumerate() {
        if job.spec.idempotency_key.is_none() {
            let key = if single { key.to_owned() } else { format!("{key}/{index}") };
            let key = Name::new(&key).map_err(|why| Malformed::new("idempotency_key", why))?;
            job.spec.idempotency_key = Some(key);
        }
    }
    Ok(())
}

fn names_its_jobs(draft: &SubmissionDraft) -> bool {
    let is_named = |job: &Draft| job.id.is_some() || job.spec.idempotency_key.is_some();
    draft.run.is_some() || draft.jobs.iter().all(is_named)
}

/// Room for what is put behind the key of a message to make those of its jobs.
const KEY_BYTES_MAX: usize = NAME_BYTES_MAX - 16;

fn named(queue: &str, id: &MessageId) -> String {
    let key = format!("queue/{queue}/{id}");
    if key.len() <= KEY_BYTES_MAX && !key.chars().any(char::is_control) {
        return key;
    }
    format!("queue/hash/{}", hash(key.as_bytes()))
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// In points, as the nearest of 25, 50, 75 and 100. Brokers say 0 where nobody said anything.
fn priority_of(points: u8) -> Option<Priority> {
    match points {
        0 => None,
        1..=37 => Some(Priority::Low),
        38..=62 => Some(Priority::Normal),
        63..=87 => Some(Priority::High),
        88.. => Some(Priority::Critical),
    }
}
