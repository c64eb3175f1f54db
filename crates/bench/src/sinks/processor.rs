//! Time on processors, by who goes first. Unlike jobs a second it does not depend on what else runs
//! on the machine.

use std::fs;

use serde::Serialize;

/// Linux tells processor time to programs in hundredths of a second.
const MICROS_PER_TICK: f64 = 10_000.0;

/// Microseconds for each job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(super) struct Processor {
    /// The one thread that owns the engine.
    pub(super) loop_us: f64,
    /// All threads at the usual priority, the loop among them.
    pub(super) first_us: f64,
    /// Threads that give way.
    pub(super) background_us: f64,
}

impl Processor {
    pub(super) fn of(process: u32) -> Processor {
        let mut sum = Processor::default();
        let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return sum };
        for thread in threads.flatten() {
            let Ok(stat) = fs::read_to_string(thread.path().join("stat")) else { continue };
            let Some((name, micros, nice)) = parse(&stat) else { continue };
            if nice > 0 {
                sum.background_us += micros;
            } else {
                sum.first_us += micros;
            }
            if name == "scheduler" {
                sum.loop_us += micros;
            }
        }
        sum
    }

    pub(super) fn since(self, before: Processor, jobs: u64) -> Processor {
        let each = |now: f64, then: f64| (now - then) / jobs as f64;
        Processor {
            loop_us: each(self.loop_us, before.loop_us),
            first_us: each(self.first_us, before.first_us),
            background_us: each(self.background_us, before.background_us),
        }
    }
}

/// Name, microseconds and priority of a thread.
fn parse(stat: &str) -> Option<(&str, f64, i64)> {
    let (head, fields) = stat.rsplit_once(") ")?;
    let (_, name) = head.split_once('(')?;
    // The first of these is the third field.
    let fields: Vec<&str> = fields.split(' ').collect();
    let ticks = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some((name, ticks * MICROS_PER_TICK, fields.get(16)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_read_whatever_its_name() {
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 30 12 13 14 30 10 1 0";
        assert_eq!(parse(stat), Some(("a) b", 420_000.0, 10)));
    }
}
