//! Small runs of all that jobs can be, drawn by a seed.

use std::time::Duration;

use bellwether_sdk::v1::{Guarantee, JobState};
use bellwether_sdk::{NewJob, Run};
use bellwether_testbed::Random;

use super::worker_process::{Script, TYPE};

const WORK_MS_MAX: u64 = 200;
const CANCELLED_WORK_MS: u64 = 5_000;
const DELAY_MS_MAX: u64 = 500;
const RETRIES: u32 = 2;
/// Of many tags, so that queries by tag find some.
const TAGS: u64 = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Single,
    Delayed,
    Chain,
    Diamond,
    Flaky,
    Poison,
    Cancelled,
    /// Handed in twice with one key.
    Twice,
}

const KINDS: [Kind; 8] = [
    Kind::Single,
    Kind::Delayed,
    Kind::Chain,
    Kind::Diamond,
    Kind::Flaky,
    Kind::Poison,
    Kind::Cancelled,
    Kind::Twice,
];

#[derive(Debug, Clone)]
pub(super) struct Scene {
    pub(super) kind: Kind,
    pub(super) parts: Vec<Part>,
    /// From its acknowledgement, where it is cancelled.
    pub(super) cancel_after: Duration,
}

/// A job, and what must become of it.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) id: String,
    pub(super) job: NewJob,
    pub(super) guarantee: Guarantee,
    /// Other parts, by their place.
    pub(super) after: Vec<usize>,
    pub(super) script: Script,
    pub(super) ends: JobState,
}

impl Scene {
    pub(super) fn draw(number: u64, random: &mut Random) -> Scene {
        let kind = KINDS[random.below(KINDS.len() as u64) as usize];
        let shape: &[&[usize]] = match kind {
            Kind::Chain => &[&[], &[0], &[1]],
            Kind::Diamond => &[&[], &[0], &[0], &[1, 2]],
            Kind::Poison => &[&[], &[0]],
            Kind::Single | Kind::Delayed | Kind::Flaky | Kind::Cancelled | Kind::Twice => &[&[]],
        };
        let cancel_after = Duration::from_millis(random.below(WORK_MS_MAX));
        let mut scene = Scene { kind, parts: Vec::new(), cancel_after };
        for (place, after) in shape.iter().enumerate() {
            let id = format!("{kind:?}-{number}-{place}").to_lowercase();
            let part = scene.part(id, place, after, random);
            scene.parts.push(part);
        }
        scene
    }

    fn part(&self, id: String, place: usize, after: &[usize], random: &mut Random) -> Part {
        let first = place == 0;
        let poison = self.kind == Kind::Poison;
        let guarantee = match random.below(3) {
            // What is dispatched once may be lost with its worker, so nothing waits for it here.
            0 if self.kind == Kind::Single => Guarantee::AtMostOnce,
            0 | 1 => Guarantee::ExactlyOnce,
            _ => Guarantee::AtLeastOnce,
        };
        let fails = match self.kind {
            Kind::Flaky => 1 + random.below(u64::from(RETRIES)) as u32,
            Kind::Poison if first => u32::MAX,
            _ => 0,
        };
        let work_ms = match self.kind {
            Kind::Cancelled => CANCELLED_WORK_MS,
            Kind::Poison => 0,
            _ => random.below(WORK_MS_MAX),
        };
        let script = Script { work_ms, fails };
        let ends = match self.kind {
            Kind::Poison if first => JobState::DeadLettered,
            Kind::Poison => JobState::Skipped,
            Kind::Cancelled => JobState::Cancelled,
            _ => JobState::Completed,
        };
        let payload = serde_json::to_vec(&script).expect("plain values are JSON");
        let mut job = NewJob::new(TYPE)
            .id(&id)
            .idempotency_key(format!("key-{id}"))
            .guarantee(guarantee)
            .payload(payload)
            .tag(format!("tag-{}", random.below(TAGS)));
        if self.kind == Kind::Delayed {
            job = job.delay(Duration::from_millis(random.below(DELAY_MS_MAX)));
        }
        if poison || self.kind == Kind::Flaky {
            job = job.retry(RETRIES);
        }
        for place in after {
            job = job.after(&self.parts[*place].id);
        }
        Part { id, job, guarantee, after: after.to_vec(), script, ends }
    }

    pub(super) fn run(&self) -> Run {
        Run { id: None, jobs: self.parts.iter().map(|part| part.job.clone()).collect() }
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = String> {
        self.parts.iter().map(|part| part.id.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_the_same_scenes_and_every_kind() {
        let draw = || {
            let mut random = Random(7);
            (0..200).map(move |number| Scene::draw(number, &mut random)).collect::<Vec<_>>()
        };
        let (scenes, again) = (draw(), draw());
        let ids = |scenes: &[Scene]| scenes.iter().flat_map(Scene::ids).collect::<Vec<_>>();
        assert_eq!(ids(&scenes), ids(&again));
        for kind in KINDS {
            assert!(scenes.iter().any(|scene| scene.kind == kind), "{kind:?}");
        }
    }
}
