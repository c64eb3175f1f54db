//! The shape of a run: names of dependencies become numbers, cycles are found, and the critical
//! path below each job is measured.

use super::submit::key_taken;
use crate::index::FixedMap;
use crate::model::{JobId, JobNo, JobSpec, Micros, OnFailure, Settlement};
use crate::rejection::Rejection;
use crate::state::{JobState, State};

/// The dependencies of one job that have not ended, as numbers.
#[derive(Debug, Default)]
pub(super) struct Resolved {
    pub(super) open: Vec<JobNo>,
    /// A dependency has ended without completing, and the job does not run without it.
    pub(super) doomed: bool,
}

pub(super) fn numbers(first: JobNo, count: usize) -> impl Iterator<Item = JobNo> {
    (0..count as u64).map(move |offset| JobNo(first.0 + offset))
}

pub(super) fn resolve(
    state: &State,
    jobs: &[JobSpec],
    first: JobNo,
    settled: &[(JobId, Settlement)],
) -> Result<Vec<Resolved>, Rejection> {
    let mut own = FixedMap::default();
    let mut keys = FixedMap::default();
    if jobs.len() > 1 {
        for (no, job) in numbers(first, jobs.len()).zip(jobs) {
            if own.insert(&job.id, no).is_some() {
                return Err(Rejection::DuplicateJob { id: job.id.clone() });
            }
            let key = job.idempotency_key.as_ref();
            if key.is_some_and(|key| keys.insert(key, no).is_some()) {
                return Err(key_taken(job));
            }
        }
    }
    jobs.iter().map(|job| resolve_one(state, job, &own, settled)).collect()
}

fn resolve_one(
    state: &State,
    job: &JobSpec,
    own: &FixedMap<&JobId, JobNo>,
    settled: &[(JobId, Settlement)],
) -> Result<Resolved, Rejection> {
    let mut resolved = Resolved::default();
    let mut seen = FixedMap::default();
    for dependency in &job.dependencies {
        if *dependency == job.id {
            return Err(Rejection::SelfDependency { job: job.id.clone() });
        }
        if seen.insert(dependency, ()).is_some() {
            let (job, dependency) = (job.id.clone(), dependency.clone());
            return Err(Rejection::DuplicateDependency { job, dependency });
        }
        let known = own.get(dependency).copied().or_else(|| state.job_no(dependency.as_str()));
        let ended = match known {
            Some(no) => match state.job(no).map(|job| &job.state) {
                Some(JobState::Completed { .. }) => Some(Settlement::Completed),
                Some(other) if other.has_ended() => Some(Settlement::NotCompleted),
                _ => {
                    resolved.open.push(no);
                    None
                }
            },
            None => match settled.iter().find(|(id, _)| id == dependency) {
                Some((_, settlement)) => Some(*settlement),
                None => {
                    let (job, dependency) = (job.id.clone(), dependency.clone());
                    return Err(Rejection::UnknownDependency { job, dependency });
                }
            },
        };
        let failed = ended == Some(Settlement::NotCompleted);
        resolved.doomed |= failed && job.on_failure == OnFailure::Skip;
    }
    Ok(resolved)
}

/// Positions of the jobs such that each comes after those it depends on.
pub(super) fn topological(
    jobs: &[JobSpec],
    resolved: &[Resolved],
    first: JobNo,
) -> Result<Vec<usize>, Rejection> {
    if jobs.len() == 1 {
        return Ok(vec![0]);
    }
    let mut unmet = vec![0usize; jobs.len()];
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); jobs.len()];
    for (position, resolved) in resolved.iter().enumerate() {
        for dependency in resolved.open.iter().filter_map(|no| within(first, *no)) {
            unmet[position] += 1;
            below[dependency].push(position);
        }
    }
    let mut order: Vec<usize> = (0..jobs.len()).filter(|position| unmet[*position] == 0).collect();
    let mut done = 0;
    while let Some(position) = order.get(done).copied() {
        done += 1;
        for dependent in &below[position] {
            unmet[*dependent] -= 1;
            if unmet[*dependent] == 0 {
                order.push(*dependent);
            }
        }
    }
    if order.len() == jobs.len() {
        return Ok(order);
    }
    let start = unmet.iter().position(|unmet| *unmet > 0).expect("some are left over");
    let next = |position: usize| {
        let mut inside = resolved[position].open.iter().filter_map(|no| within(first, *no));
        inside.find(|dependency| unmet[*dependency] > 0).expect("each left over waits for another")
    };
    Err(Rejection::Cycle { cycle: cycle_from(jobs, start, next) })
}

/// Follows what is left over until a job comes up again.
fn cycle_from(jobs: &[JobSpec], start: usize, next: impl Fn(usize) -> usize) -> Vec<JobId> {
    let mut seen_at: FixedMap<usize, usize> = FixedMap::default();
    let mut path = Vec::new();
    let mut position = start;
    while !seen_at.contains_key(&position) {
        seen_at.insert(position, path.len());
        path.push(position);
        position = next(position);
    }
    let round = path[seen_at[&position]..].iter().copied().chain([position]);
    round.map(|position| jobs[position].id.clone()).collect()
}

/// For each job, the longest predicted chain from it to the end of the run, itself included.
pub(super) fn critical_paths(
    predicted: &[Micros],
    resolved: &[Resolved],
    first: JobNo,
    order: &[usize],
) -> Vec<Micros> {
    let mut paths = predicted.to_vec();
    for position in order.iter().rev() {
        let path = paths[*position];
        for dependency in resolved[*position].open.iter().filter_map(|no| within(first, *no)) {
            let through = predicted[dependency] + path;
            paths[dependency] = paths[dependency].max(through);
        }
    }
    paths
}

/// The position of a job in its submission; none if it is an earlier one.
fn within(first: JobNo, no: JobNo) -> Option<usize> {
    no.0.checked_sub(first.0).map(|offset| offset as usize)
}
