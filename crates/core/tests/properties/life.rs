//! Whoever reads the journal alone knows of every job what the engine knows.

use std::collections::BTreeMap;

use bellwether_core::model::{JobNo, JobStatus};
use bellwether_core::{Counts, Entry, State};
use proptest::prelude::*;

use super::history::{steps, take, tight};
use crate::script::World;

#[derive(Default)]
struct Reader {
    jobs: BTreeMap<JobNo, (JobStatus, Counts)>,
}

impl Reader {
    fn read(&mut self, entry: &Entry) {
        if let Some((_, counts)) = entry.event.job().and_then(|no| self.jobs.get_mut(&no)) {
            counts.take(&entry.event);
        }
        for transition in entry.transitions() {
            let known = self.jobs.get(&transition.job).copied();
            if let Some(from) = transition.from {
                assert_eq!(known.map(|(status, _)| status), Some(from), "{transition:?}");
            }
            let counts = known.map(|(_, counts)| counts).unwrap_or_default();
            self.jobs.insert(transition.job, (transition.to, counts));
        }
    }

    fn check(&self, state: &State) {
        for (no, job) in state.jobs() {
            let read = self.jobs.get(&no).copied();
            assert_eq!(read, Some((job.state.status(), job.counts)), "job {}", job.spec.id);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn transitions_tell_the_state_of_every_job(steps in steps(120)) {
        let mut world = World::new(tight());
        let (mut reader, mut read) = (Reader::default(), 0);
        for step in &steps {
            take(&mut world, step);
            world.journal[read..].iter().for_each(|entry| reader.read(entry));
            read = world.journal.len();
            reader.check(world.engine.state());
        }
    }
}
