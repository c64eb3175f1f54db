//! When the independent jobs of a trace arrive.

use bellwether_core::model::Micros;

use super::{Fleet, Stage, Workload};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Process {
    /// As recorded, stretched or squeezed to the load.
    Trace,
    /// Redrawn as a Poisson process; the order of the jobs stays.
    Poisson { seed: u64 },
}

/// The share of the fleet's capacity that the arriving work asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load(f64);

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LoadError {
    #[error("the load is {0}; it must be above 0 and at most 100 (1 is the fleet's capacity)")]
    OutOfRange(f64),
    #[error(
        "all jobs of the trace arrive at once, so their times can't be scaled to a load; draw them with --arrivals poisson --load"
    )]
    NoSpan,
}

impl Load {
    pub fn new(share: f64) -> Result<Load, LoadError> {
        if share > 0.0 && share <= 100.0 {
            Ok(Load(share))
        } else {
            Err(LoadError::OutOfRange(share))
        }
    }
}

/// Sets the arrival times of the stream. Without a load it keeps the span that it has. DAGs are
/// submitted whole to an idle fleet, so they have no arrival times to set.
pub fn arrange(
    workload: &mut Workload<'_>,
    fleet: &Fleet,
    process: Process,
    load: Option<Load>,
) -> Result<(), LoadError> {
    let Some(stream) = workload.stages.iter_mut().find(|stage| stage.run.is_none()) else {
        return Ok(());
    };
    let recorded = stream.jobs.last().map_or(0, |job| job.arrival.0) as f64;
    let span = load.map_or(recorded, |load| stream.work() / (load.0 * fleet.capacity()));
    match process {
        Process::Trace if load.is_none() => {}
        Process::Trace if recorded == 0.0 && stream.jobs.len() > 1 => {
            return Err(LoadError::NoSpan);
        }
        Process::Trace => scale(stream, span / recorded.max(1.0)),
        Process::Poisson { .. } if span == 0.0 => return Err(LoadError::NoSpan),
        Process::Poisson { seed } => draw(stream, span, seed),
    }
    Ok(())
}

fn scale(stream: &mut Stage<'_>, factor: f64) {
    for job in &mut stream.jobs {
        job.arrival = Micros((job.arrival.0 as f64 * factor).round() as u64);
    }
}

fn draw(stream: &mut Stage<'_>, span: f64, seed: u64) {
    let gap_mean = span / stream.jobs.len() as f64;
    let mut random = SplitMix64(seed);
    let mut now = 0.0;
    for job in &mut stream.jobs {
        job.arrival = Micros(now as u64);
        now += -random.unit().ln() * gap_mean;
    }
}

/// Steele, Lea and Flood's generator: small, fast, and good enough for arrival times.
pub(super) struct SplitMix64(pub(super) u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Above 0, at most 1.
    pub(super) fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::job;
    use super::*;

    fn arrivals(process: Process, load: Option<f64>) -> Result<Vec<u64>, String> {
        let jobs = [job("a", 100, 10), job("b", 110, 10), job("c", 120, 20)];
        let fleet: Fleet = "1x2@1.0".parse().unwrap();
        let mut workload = Workload::new(&jobs).unwrap();
        let load = load.map(Load::new).transpose().map_err(|error| error.to_string())?;
        arrange(&mut workload, &fleet, process, load).map_err(|error| error.to_string())?;
        Ok(workload.stages[0].jobs.iter().map(|job| job.arrival.0).collect())
    }

    #[test]
    fn a_load_stretches_the_recorded_times() {
        assert_eq!(arrivals(Process::Trace, None).unwrap(), [0, 10_000, 20_000]);
        // 40 ms of work on two slots at half load take 40 ms.
        assert_eq!(arrivals(Process::Trace, Some(0.5)).unwrap(), [0, 20_000, 40_000]);
    }

    #[test]
    fn poisson_arrivals_follow_the_seed_and_the_load() {
        let one = arrivals(Process::Poisson { seed: 1 }, Some(0.5)).unwrap();
        assert_eq!(one, arrivals(Process::Poisson { seed: 1 }, Some(0.5)).unwrap());
        assert_ne!(one, arrivals(Process::Poisson { seed: 2 }, Some(0.5)).unwrap());
        assert!(one.is_sorted());

        let jobs: Vec<_> = (0..20_000).map(|n| job(&format!("j{n}"), n, 10)).collect();
        let fleet: Fleet = "1x2@1.0".parse().unwrap();
        let mut workload = Workload::new(&jobs).unwrap();
        let load = Load::new(0.8).unwrap();
        arrange(&mut workload, &fleet, Process::Poisson { seed: 7 }, Some(load)).unwrap();
        let span = workload.stages[0].jobs.last().unwrap().arrival.0 as f64;
        let offered = workload.stages[0].work() / (2.0 * span);
        assert!((offered - 0.8).abs() < 0.02, "{offered}");
    }

    #[test]
    fn a_load_that_makes_no_sense_is_refused() {
        let error = arrivals(Process::Trace, Some(0.0)).unwrap_err();
        assert_eq!(
            error,
            "the load is 0; it must be above 0 and at most 100 (1 is the fleet's capacity)"
        );
        assert!(arrivals(Process::Trace, Some(f64::NAN)).is_err());
    }
}
