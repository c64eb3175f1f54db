//! Which faults blow, and how hard. Each seed draws its own mix, so that some runs are nearly calm
//! and others combine what never meets in a fixed script.

use super::random::Random;

/// Rates are per thousand chances.
#[derive(Debug, Clone)]
pub(crate) struct Weather {
    pub lose: u32,
    pub duplicate: u32,
    pub delay: u32,
    /// How late a late message may be, in microseconds.
    pub delay_max: u64,
    /// Per place between handling, taking the batch, appending and releasing where a scheduler may
    /// die, per hundred thousand.
    pub crash: u32,
    pub append_fails: u32,
    /// Per finished execution: the worker dies after the effect and before it can report.
    pub kill_after_effect: u32,
    /// Per message of a worker: it also sends a report with a token that it does not hold.
    pub forge: u32,
    pub predictor_fails: u32,
    /// Between two faults of workers, in microseconds; 0 for none.
    pub worker_fault_every: u64,
    /// Between two steps of the scheduler's wall clock, in microseconds; 0 for none.
    pub clock_step_every: u64,
    /// Between two times that the scheduler is stopped for a while, in microseconds; 0 for none.
    pub scheduler_stop_every: u64,
    /// Between two times that the scheduler's disk is full, in microseconds; 0 for none.
    pub disk_full_every: u64,
    /// Between two takeovers by another scheduler, in microseconds; 0 for none.
    pub takeover_every: u64,
}

impl Weather {
    pub(crate) fn calm() -> Weather {
        Weather {
            lose: 0,
            duplicate: 0,
            delay: 0,
            delay_max: 0,
            crash: 0,
            append_fails: 0,
            kill_after_effect: 0,
            forge: 0,
            predictor_fails: 0,
            worker_fault_every: 0,
            clock_step_every: 0,
            scheduler_stop_every: 0,
            disk_full_every: 0,
            takeover_every: 0,
        }
    }

    pub(crate) fn draw(random: &mut Random) -> Weather {
        let mut some = |max: u32| {
            if random.chance(350) { 0 } else { random.between(1, u64::from(max)) as u32 }
        };
        let mut weather = Weather {
            lose: some(120),
            duplicate: some(120),
            delay: some(150),
            delay_max: 0,
            crash: some(500),
            append_fails: some(15),
            kill_after_effect: some(60),
            forge: some(30),
            predictor_fails: some(400),
            worker_fault_every: 0,
            clock_step_every: 0,
            scheduler_stop_every: 0,
            disk_full_every: 0,
            takeover_every: 0,
        };
        weather.delay_max = random.skewed(50_000, 40_000_000);
        if !random.chance(250) {
            weather.worker_fault_every = random.between(3_000_000, 40_000_000);
        }
        if random.chance(300) {
            weather.clock_step_every = random.between(5_000_000, 60_000_000);
        }
        if random.chance(400) {
            weather.scheduler_stop_every = random.between(5_000_000, 60_000_000);
        }
        if random.chance(300) {
            weather.disk_full_every = random.between(5_000_000, 60_000_000);
        }
        if random.chance(300) {
            weather.takeover_every = random.between(5_000_000, 60_000_000);
        }
        weather
    }
}
