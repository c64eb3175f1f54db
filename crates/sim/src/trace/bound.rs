//! How soon a stage could end at best, whatever the strategy.

use super::{Fleet, Stage};

/// In microseconds from the start of the stage: the larger of the longest chain on the fastest
/// machine and all the work on the whole fleet. No schedule is shorter; a perfect one may still
/// be longer.
pub fn lower_bound(stage: &Stage<'_>, fleet: &Fleet) -> f64 {
    let fastest = fleet.fastest();
    let mut ends = vec![0.0_f64; stage.jobs.len()];
    let mut chain = 0.0_f64;
    for at in stage.topological() {
        let job = &stage.jobs[at];
        let ready =
            job.dependencies.iter().map(|&on| ends[on]).fold(job.arrival.0 as f64, f64::max);
        ends[at] = ready + fastest.time_for(job.work).0 as f64;
        chain = chain.max(ends[at]);
    }
    chain.max(stage.work() / fleet.capacity())
}

#[cfg(test)]
mod tests {
    use super::super::testing::{job, run_job};
    use super::super::{TraceJob, Workload};
    use super::*;

    fn check(jobs: &[TraceJob], fleet: &str, wanted_ms: f64) {
        let workload = Workload::new(jobs).unwrap();
        let bound = lower_bound(&workload.stages[0], &fleet.parse().unwrap());
        assert_eq!(bound, wanted_ms * 1_000.0);
    }

    #[test]
    fn a_chain_is_bound_by_its_length_at_the_fastest_speed() {
        let chain = [
            run_job("r", "a", 10, &[]),
            run_job("r", "b", 20, &["a"]),
            run_job("r", "c", 4, &["a"]),
        ];
        check(&chain, "4x1@1.0", 30.0);
        check(&chain, "1x1@2.0,3x1@1.0", 15.0);
    }

    #[test]
    fn a_fan_is_bound_by_the_work_on_the_fleet() {
        let fan: Vec<_> = (0..8).map(|n| run_job("r", &format!("{n}"), 10, &[])).collect();
        check(&fan, "2x1@1.0", 40.0);
        check(&fan, "1x2@1.0,1x2@0.5", 80.0 / 3.0);
    }

    #[test]
    fn a_stream_can_not_end_before_its_last_arrival_is_done() {
        check(&[job("a", 0, 5), job("b", 100, 5)], "2x1@0.5", 110.0);
    }
}
