//! How soon a stage could end at best, whatever the strategy.

use super::{Fleet, Stage};

/// Moments of the stage at which the combined bound is looked for. Leaving some out keeps it a
/// bound and the search short.
const HEADS_MAX: usize = 1_024;

/// Microseconds from the start of the stage. No schedule is shorter than either; a perfect one
/// may still be longer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LowerBound {
    /// The larger of the critical path on the fastest machine and all the work on the fleet.
    pub plain: f64,
    /// Critical path and work together: jobs that can't start before `a` and have chains of `b`
    /// behind them must share the fleet in the time between. Never less than `plain`.
    pub combined: f64,
}

impl LowerBound {
    pub fn of(stage: &Stage<'_>, fleet: &Fleet) -> LowerBound {
        let capacity = fleet.capacity();
        let chains = Chains::of(stage, fleet);
        let critical = (0..stage.jobs.len())
            .map(|at| chains.heads[at] + chains.times[at] + chains.tails[at])
            .fold(0.0, f64::max);
        let plain = critical.max(stage.work() / capacity);
        LowerBound { plain, combined: chains.combined(stage, capacity).max(plain) }
    }
}

/// At the fastest machine's speed, by job: the longest chain before it, its own time, the longest
/// chain behind it.
struct Chains {
    heads: Vec<f64>,
    times: Vec<f64>,
    tails: Vec<f64>,
}

impl Chains {
    fn of(stage: &Stage<'_>, fleet: &Fleet) -> Chains {
        let fastest = fleet.fastest();
        let jobs = &stage.jobs;
        let times: Vec<f64> = jobs.iter().map(|job| fastest.time_for(job.work).0 as f64).collect();
        let order = stage.topological();
        let mut heads = vec![0.0; jobs.len()];
        for &at in &order {
            let ends = jobs[at].dependencies.iter().map(|&on| heads[on] + times[on]);
            heads[at] = ends.fold(jobs[at].arrival.0 as f64, f64::max);
        }
        let mut tails = vec![0.0; jobs.len()];
        for &at in order.iter().rev() {
            let chains = jobs[at].dependents.iter().map(|&next| times[next] + tails[next]);
            tails[at] = chains.fold(0.0, f64::max);
        }
        Chains { heads, times, tails }
    }

    fn combined(&self, stage: &Stage<'_>, capacity: f64) -> f64 {
        let mut heads = self.heads.clone();
        heads.sort_by(f64::total_cmp);
        heads.dedup();
        let stride = heads.len().div_ceil(HEADS_MAX).max(1);
        let mut longest_tail_first: Vec<usize> = (0..stage.jobs.len()).collect();
        longest_tail_first.sort_by(|&a, &b| self.tails[b].total_cmp(&self.tails[a]));
        let mut bound = 0.0_f64;
        for head in heads.into_iter().step_by(stride) {
            let mut work = 0.0;
            for &at in longest_tail_first.iter().filter(|&&at| self.heads[at] >= head) {
                work += stage.jobs[at].work.0 as f64;
                bound = bound.max(head + work / capacity + self.tails[at]);
            }
        }
        bound
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{job, run_job};
    use super::super::{TraceJob, Workload};
    use super::*;

    fn check(jobs: &[TraceJob], fleet: &str, plain_ms: f64, combined_ms: f64) {
        let workload = Workload::new(jobs).unwrap();
        let bound = LowerBound::of(&workload.stages[0], &fleet.parse().unwrap());
        assert_eq!((bound.plain, bound.combined), (plain_ms * 1_000.0, combined_ms * 1_000.0));
    }

    #[test]
    fn a_chain_is_bound_by_its_length_at_the_fastest_speed() {
        let chain = [
            run_job("r", "a", 10, &[]),
            run_job("r", "b", 20, &["a"]),
            run_job("r", "c", 4, &["a"]),
        ];
        check(&chain, "4x1@1.0", 30.0, 30.0);
        check(&chain, "1x1@2.0,3x1@1.0", 15.0, 15.0);
    }

    #[test]
    fn a_fan_is_bound_by_the_work_on_the_fleet() {
        let fan: Vec<_> = (0..8).map(|n| run_job("r", &format!("{n}"), 10, &[])).collect();
        check(&fan, "2x1@1.0", 40.0, 40.0);
        check(&fan, "1x2@1.0,1x2@0.5", 80.0 / 3.0, 80.0 / 3.0);
    }

    #[test]
    fn a_fan_between_two_long_jobs_must_fit_in_between() {
        let mut jobs = vec![run_job("r", "split", 100, &[])];
        let names: Vec<String> = (0..8).map(|n| format!("{n}")).collect();
        jobs.extend(names.iter().map(|name| run_job("r", name, 10, &["split"])));
        let fan: Vec<&str> = names.iter().map(String::as_str).collect();
        jobs.push(run_job("r", "merge", 50, &fan));
        check(&jobs, "2x1@1.0", 160.0, 190.0);
    }

    #[test]
    fn a_stream_can_not_end_before_its_last_arrival_is_done() {
        check(&[job("a", 0, 5), job("b", 100, 5)], "2x1@0.5", 110.0, 110.0);
    }
}
