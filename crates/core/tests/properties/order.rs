//! The order of jobs: random graphs never start early, and nothing starves.

use std::collections::BTreeSet;

use bellwether_core::model::{
    Config, JobId, JobNo, JobSpec, Micros, Phase, Priority, Submission, Timestamp, WorkerSpec,
};
use bellwether_core::{Command, Event, JobState, Report};
use proptest::prelude::*;

use super::history::at_hand;
use crate::script::{START, World, name};

fn fleet(world: &mut World, workers: usize) {
    for number in 0..workers {
        world.register(WorkerSpec::new(name(&format!("w{number}")), 1), vec![]);
    }
}

/// Every attempt at hand starts, and completes a second later.
fn work_for_a_second(world: &mut World) {
    for done in [false, true] {
        for (no, attempt) in at_hand(world) {
            let worker = world.engine.state().worker(attempt.worker).expect("it is there").id();
            let started = matches!(attempt.phase, Phase::Running { .. });
            let report = match (started, done) {
                (false, false) => Report::Acknowledge,
                (true, true) => Report::Complete { result: "ok".into() },
                _ => continue,
            };
            let attempt = bellwether_core::command::attempt(no, attempt.token);
            world.send(Command::Report { worker: worker.clone(), attempt, report });
        }
        world.wait(Micros::from_millis(if done { 0 } else { 1_000 }), |_, _| {});
    }
}

fn graph(edges: &[(usize, usize)], count: usize) -> Vec<JobSpec> {
    let id = |position: usize| JobId::fixed(&format!("j{position}"));
    let mut jobs: Vec<JobSpec> =
        (0..count).map(|position| JobSpec::new(id(position), name("t"))).collect();
    for (one, other) in edges {
        let (low, high) = (one.min(other) % count, one.max(other) % count);
        let (low, high) = (low.min(high), low.max(high));
        if low != high && !jobs[high].dependencies.contains(&id(low)) {
            jobs[high].depend_on(id(low));
        }
    }
    // Their order in the submission must not matter.
    jobs.reverse();
    jobs
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn jobs_of_a_graph_start_in_order_and_all_end(
        edges in prop::collection::vec((0..24usize, 0..24usize), 0..60),
        count in 2..24usize,
        workers in 1..5usize,
    ) {
        let mut world = World::new(Config::default());
        fleet(&mut world, workers);
        let jobs = graph(&edges, count);
        let submission = Submission::of(Some(name("r")), jobs);
        world.send(Command::Submit(submission)).result.expect("a graph without cycles");
        for _ in 0..count {
            work_for_a_second(&mut world);
        }
        let mut completed: BTreeSet<JobNo> = BTreeSet::new();
        for entry in &world.journal {
            match &entry.event {
                Event::Assigned { job, .. } => {
                    let job = world.engine.state().job(*job).expect("it is remembered");
                    prop_assert!(job.dependencies.iter().all(|no| completed.contains(no)));
                }
                Event::Completed { job, .. } => {
                    completed.insert(*job);
                }
                _ => {}
            }
        }
        prop_assert_eq!(completed.len(), count);
        world.check_promises();
    }

    /// One job among an endless stream of shorter and more urgent ones.
    #[test]
    fn ageing_never_starves(urgent in 0..4usize, per_second in 1..3usize, workers in 1..3usize) {
        let mut config = Config { retain_jobs: 10, ..Config::default() };
        config.duration_by_type = vec![
            (name("long"), Micros::from_secs(20)),
            (name("short"), Micros::from_secs(1)),
        ];
        // The rank's terms: five times the difference of durations, and the priorities apart.
        let bound = 5 * 19 + 10 * (Priority::ALL[urgent].points() as u64).saturating_sub(25) + 10;
        let mut world = World::new(config);
        fleet(&mut world, workers);
        let mut submitted = 0;
        let mut submit = |world: &mut World, kind: &str, priority: Priority| {
            submitted += 1;
            let mut job = JobSpec::new(name(&format!("{kind}{submitted}")), name(kind));
            job.priority = priority;
            world.send(Command::Submit(Submission::one(job))).result.expect("there is room");
        };
        for _ in 0..workers + 1 {
            submit(&mut world, "short", Priority::ALL[urgent]);
        }
        submit(&mut world, "long", Priority::Low);
        let no = world.engine.state().job_no(&format!("long{}", workers + 2)).expect("it waits");
        let started = |world: &World| {
            let job = world.engine.state().job(no);
            job.is_none_or(|job| job.attempts > 0 || job.state != JobState::Ready)
        };
        let deadline: Timestamp = START + Micros::from_secs(bound * 2);
        while !started(&world) && world.now < deadline {
            for _ in 0..per_second.min(workers) {
                submit(&mut world, "short", Priority::ALL[urgent]);
            }
            work_for_a_second(&mut world);
        }
        let waited = world.now.since(START);
        prop_assert!(waited <= Micros::from_secs(bound), "it waited {waited}, not {bound} s");
    }
}
