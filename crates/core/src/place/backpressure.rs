//! Saying no in time. The check reads two counters, whatever waits.

use crate::command::Throttle;
use crate::model::Micros;
use crate::rejection::Rejection;
use crate::state::State;

const PAUSE_MIN: Micros = Micros::from_millis(10);
const PAUSE_MAX: Micros = Micros::from_secs(60);

/// What a submission of so many jobs and bytes meets.
pub(crate) fn admit(state: &State, jobs: u64, bytes: u64) -> Result<Option<Throttle>, Rejection> {
    let config = &state.config;
    let totals = &state.totals;
    let share = |max: u64, percent: u32| (u128::from(max) * u128::from(percent) / 100) as u64;
    let live = totals.live + jobs;
    let held = totals.payload_bytes + bytes;
    let jobs_limit = share(config.jobs_max, config.reject_percent);
    let bytes_limit = share(config.payload_bytes_total_max, config.reject_percent);
    if jobs > jobs_limit && jobs > 1 {
        // To wait would not help it.
        let (given, max) = (jobs as usize, jobs_limit as usize);
        return Err(Rejection::RunTooLarge { given, max });
    }
    if live > jobs_limit {
        let retry_after = time_for(state, live - jobs_limit);
        let (what, key) = ("jobs", "jobs_max");
        return Err(Rejection::QueueFull {
            what,
            key,
            live: totals.live,
            max: config.jobs_max,
            retry_after,
        });
    }
    if held > bytes_limit {
        let (what, key) = ("payload bytes", "payload_bytes_total_max");
        let (live, max) = (totals.payload_bytes, config.payload_bytes_total_max);
        return Err(Rejection::QueueFull {
            what,
            key,
            live,
            max,
            retry_after: time_for(state, jobs),
        });
    }
    let filled =
        percent_of(live, config.jobs_max).max(percent_of(held, config.payload_bytes_total_max));
    let throttled = filled > config.throttle_percent;
    Ok(throttled.then(|| Throttle { filled_percent: filled, pause: time_for(state, jobs) }))
}

/// How long so many jobs take to end at the present rate.
fn time_for(state: &State, jobs: u64) -> Micros {
    // Without workers there is no rate: to ask more often than they could report would not help.
    let works = state.workers().any(|(_, worker)| worker.takes_jobs());
    let least = if works { PAUSE_MIN } else { state.config.heartbeat_interval.min(PAUSE_MAX) };
    Micros(state.totals.end_gap.times(jobs).0.clamp(least.0, PAUSE_MAX.0))
}

fn percent_of(part: u64, whole: u64) -> u32 {
    u32::try_from(u128::from(part) * 100 / u128::from(whole.max(1))).unwrap_or(u32::MAX)
}
