//! Idempotency keys and given ids: what is remembered of them here, and what others know of those that
//! are not.

use super::{JobId, JobNo, JobSpec, Name, Timestamp};

/// A key or an id that stands for a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenKey {
    pub at: Timestamp,
    pub name: Name,
    pub job: JobNo,
}

/// What is known outside of the keys of a submission.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeysSeen {
    /// All keys of jobs up to this one are kept there and were looked for, but for those of which
    /// nothing is promised beyond the core's memory.
    pub kept: JobNo,
    /// By the index of the job in the submission, in that order.
    pub found: Vec<(usize, KeyFound)>,
    /// The same of ids, with the jobs that have them.
    pub ids: Vec<(usize, JobNo)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyFound {
    pub job: JobNo,
    /// What it came with, to know the same job again. 0 if nobody knows.
    pub print: u16,
}

/// The latest key or id that had to leave the memory before its time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MovedKey {
    pub at: Timestamp,
    pub job: JobNo,
}

/// Whether an id is of the form that the scheduler makes for jobs without one: `job-`, its epoch, a salt
/// of four digits and a number. Nobody may give such an id, so it is unique by itself and is not
/// remembered for longer than its job. Recorded ids are judged by this, so it must stay what it is.
pub fn is_made_by_scheduler(id: &JobId) -> bool {
    let Some(rest) = id.as_str().strip_prefix("job-") else { return false };
    let mut parts = rest.split('-');
    let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let salt = |part: &str| part.len() == 4 && part.bytes().all(|byte| byte.is_ascii_hexdigit());
    parts.next().is_some_and(number)
        && parts.next().is_some_and(salt)
        && parts.next().is_some_and(number)
        && parts.next().is_none()
}

impl JobSpec {
    /// Tells apart what may come under one key: jobs of another type or with another payload. Never 0.
    /// It is kept on disk, so it must stay what it is.
    pub fn print(&self) -> u16 {
        let mut hash = 0x9e37_79b9_7f4a_7c15;
        let kind = self.requirements.kind.as_str().as_bytes();
        for part in [kind, &self.payload] {
            hash = mixed(hash, part.len() as u64);
            for chunk in part.chunks(8) {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                hash = mixed(hash, u64::from_le_bytes(word));
            }
        }
        ((hash >> 48) as u16).max(1)
    }
}

fn mixed(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(23) ^ word).wrapping_mul(0xd6e8_feb8_6659_fd93)
}
