//! Rules that hold after every step of a random history.

use std::collections::BTreeMap;

use bellwether_core::model::limits::OFFERS_MAX;
use bellwether_core::model::{
    Guarantee, JobNo, JobSpec, Micros, OnFailure, Submission, Target, Token,
};
use bellwether_core::why::Because;
use bellwether_core::{Command, Event, JobState, State, Why};
use proptest::prelude::*;

use super::history::{steps, take, tight};
use crate::script::{World, name};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn rules_hold_at_every_step(steps in steps(120)) {
        let mut world = World::new(tight());
        for step in &steps {
            take(&mut world, step);
            let state = world.engine.state();
            workers_hold_what_they_can(state);
            totals_are_the_sums(state);
            jobs_start_after_their_dependencies(state);
            memory_is_bounded(state);
            nobody_waits_beside_a_free_worker(&mut world);
        }
        tokens_increase(&world);
        at_most_once_is_dispatched_once(&world);
        what_has_ended_stays_ended(&world);
    }
}

fn workers_hold_what_they_can(state: &State) {
    for (_, worker) in state.workers() {
        let ahead = state.config().prefetch.min(state.config().max_queue_per_worker);
        let attempts =
            worker.held.iter().filter_map(|held| state.job(held.job)?.attempt(held.token));
        let instant =
            attempts.filter(|attempt| attempt.predicted <= Micros::from_millis(1)).count();
        let ahead = (ahead as usize).max(instant.min(state.config().prefetch_max as usize));
        let most = worker.spec.slots as usize + ahead;
        assert!(worker.held.len() <= most, "{} holds too much", worker.id());
        let has = worker.spec.resources;
        assert!(has.cpu == 0 || worker.used.cpu <= has.cpu, "{} has no such cpu", worker.id());
        for held in &worker.held {
            let job = state.job(held.job).expect("a held job is known");
            assert!(job.attempt(held.token).is_some(), "{} holds a ghost", worker.id());
        }
    }
}

fn totals_are_the_sums(state: &State) {
    let live = state.jobs().filter(|(_, job)| !job.state.has_ended()).count();
    assert_eq!(state.totals().live, live as u64);
    assert!(state.totals().hedged <= state.hedge_allowance(), "more hedges than the budget");
    let held: usize = state.workers().map(|(_, worker)| worker.held.len()).sum();
    let placed: usize = state.jobs().map(|(_, job)| job.offers().len()).sum();
    assert_eq!(held, placed, "attempts of jobs and of workers are the same");
}

fn jobs_start_after_their_dependencies(state: &State) {
    for (no, job) in state.jobs() {
        let offers = job.offers();
        assert!(offers.len() <= OFFERS_MAX);
        if offers.is_empty() {
            continue;
        }
        for dependency in job.dependencies.iter().filter_map(|no| state.job(*no)) {
            let enough = match (&dependency.state, job.spec.on_failure) {
                (JobState::Completed { .. }, _) => true,
                // One that has ended may be run again by hand; who ran anyway is not called back.
                (_, OnFailure::Run) => true,
                (_, OnFailure::Skip) => false,
            };
            assert!(enough, "job {no} runs while it waits for {}", dependency.spec.id);
        }
    }
}

fn memory_is_bounded(state: &State) {
    let ended = state.jobs().filter(|(_, job)| job.state.has_ended()).count();
    assert!(ended as u64 <= state.config().retain_jobs, "{ended} ended jobs are remembered");
    // Those that are retried by hand were taken in before.
    let most = state.config().jobs_max + state.config().retain_jobs;
    assert!(state.totals().live <= most, "{} jobs live", state.totals().live);
}

/// A ready job that some worker has room for would have been placed.
fn nobody_waits_beside_a_free_worker(world: &mut World) {
    if passed_over(world).is_none() {
        return;
    }
    // A job that was held for a faster worker may no longer be worth holding: let the engine look
    // at what it has not set aside. What is passed over then is forgotten.
    let mut job = JobSpec::new(name(&format!("nudge{}", world.now.0)), name("nudge"));
    job.requirements_mut().target = Target::Role(name("absent"));
    world.send(Command::Submit(Submission::one(job.clone())));
    world.send(Command::Cancel { job: job.id, reason: "a nudge".to_owned() });
    if let Some(why) = passed_over(world) {
        panic!("{why}");
    }
}

fn passed_over(world: &World) -> Option<Why> {
    let state = world.engine.state();
    let ready = state.jobs().filter(|(_, job)| job.state == JobState::Ready);
    let mut reasons = ready.map(|(no, _)| state.why(no, world.now));
    reasons.find(|why| matches!(why.because, Because::Next { .. }))
}

fn tokens_increase(world: &World) {
    let mut last = Token(0);
    for entry in &world.journal {
        if let Event::Assigned { .. } = entry.event {
            assert!(Token::from(entry.seq) > last);
            last = entry.seq.into();
        }
    }
}

fn at_most_once_is_dispatched_once(world: &World) {
    let mut rounds: BTreeMap<JobNo, u32> = BTreeMap::new();
    let mut dispatches: BTreeMap<JobNo, u32> = BTreeMap::new();
    for entry in &world.journal {
        match &entry.event {
            Event::Submitted { first, jobs, .. } => {
                for (offset, job) in jobs.iter().enumerate() {
                    if job.spec.guarantee == Guarantee::AtMostOnce {
                        rounds.insert(JobNo(first.0 + offset as u64), 1);
                    }
                }
            }
            Event::Reopened { job } => *rounds.entry(*job).or_default() += 1,
            Event::Assigned { job, .. } => *dispatches.entry(*job).or_default() += 1,
            _ => {}
        }
    }
    for (job, rounds) in rounds {
        if let Some(spec) = world.engine.state().job(job).map(|job| job.spec.clone())
            && spec.guarantee == Guarantee::AtMostOnce
        {
            assert!(dispatches.get(&job).is_none_or(|count| *count <= rounds), "{}", spec.id);
        }
    }
}

/// A completed job never has another event; one that ended otherwise, only after it was reopened.
fn what_has_ended_stays_ended(world: &World) {
    let mut ended: BTreeMap<JobNo, &Event> = BTreeMap::new();
    for entry in &world.journal {
        let Some(job) = entry.event.job() else { continue };
        let before = ended.get(&job);
        match (&entry.event, before) {
            (_, None) => {}
            (Event::Reopened { .. }, Some(end)) => {
                assert!(!matches!(end, Event::Completed { .. }), "a result was taken back");
                ended.remove(&job);
            }
            (event, Some(end)) => panic!("{end:?} was followed by {event:?}"),
        }
        if let Event::Completed { .. }
        | Event::Failed { .. }
        | Event::DeadLettered { .. }
        | Event::Skipped { .. }
        | Event::SkippedByKey { .. }
        | Event::Cancelled { .. } = entry.event
        {
            ended.insert(job, &entry.event);
        }
    }
}
