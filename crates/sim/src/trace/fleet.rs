//! The machines of a simulation, as written on the command line: `8x4@1.0,8x2@0.5` is eight
//! workers of four slots at speed 1 and eight of two slots at half of it.

use std::fmt;
use std::str::FromStr;

use bellwether_core::model::{Micros, Name, WorkerId, WorkerSpec};

use super::arrivals::SplitMix64;

/// Workers of one fleet.
pub const MACHINES_MAX: usize = 100_000;
/// Slots of one worker of a fleet.
pub const SLOTS_MAX: u32 = bellwether_core::model::limits::WORKER_SLOTS_MAX;

/// The share by which what a worker measures of itself may be wrong.
const MEASURED_OFF_MAX: f64 = 0.1;

/// How fast a machine is, in thousandths: a job of duration d takes d / speed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Speed(u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    pub slots: u32,
    pub speed: Speed,
}

/// Not empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fleet {
    machines: Vec<Machine>,
    /// What they say of themselves, where it is known: one for each.
    specs: Vec<WorkerSpec>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FleetError {
    #[error("the fleet is empty; write count x slots @ speed, as in 8x4@1.0,8x2@0.5")]
    Empty,
    #[error("`{part}` is not count x slots @ speed; write it as 8x4@1.0")]
    Shape { part: String },
    #[error("`{part}`: the {what} `{given}` must be {wanted}")]
    Number { part: String, what: &'static str, given: String, wanted: String },
    #[error("the fleet has more than {MACHINES_MAX} workers")]
    TooLarge,
}

impl Speed {
    pub const ONE: Speed = Speed(1_000);

    /// The nearest that can be told apart, within what a fleet may have.
    pub fn of(factor: f64) -> Speed {
        Speed((factor.clamp(0.001, 1_000.0) * 1_000.0).round() as u32)
    }

    /// How long work that takes `work` at speed 1 takes here; never nothing.
    pub fn time_for(self, work: Micros) -> Micros {
        let time = u128::from(work.0) * 1_000 / u128::from(self.0);
        Micros(u64::try_from(time).unwrap_or(u64::MAX).max(1))
    }

    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 1_000.0
    }

    /// The worker class of machines this fast.
    pub fn class(self) -> Name {
        Name::fixed(&format!("s{self}"))
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:03}", self.0 % 1_000);
        let fraction = digits.trim_end_matches('0');
        let fraction = if fraction.is_empty() { "0" } else { fraction };
        write!(f, "{}.{fraction}", self.0 / 1_000)
    }
}

impl Fleet {
    /// Workers as they were. None if there are none.
    pub fn of(workers: Vec<(WorkerSpec, Speed)>) -> Option<Fleet> {
        let (specs, speeds): (Vec<_>, Vec<_>) = workers.into_iter().unzip();
        let machine = |(spec, speed): (&WorkerSpec, Speed)| Machine { slots: spec.slots, speed };
        let machines: Vec<_> = specs.iter().zip(speeds).map(machine).collect();
        (!machines.is_empty()).then_some(Fleet { machines, specs })
    }

    /// The same machines, each of which is changed.
    #[must_use]
    pub fn changed(self, change: impl Fn(&mut WorkerSpec)) -> Fleet {
        let mut specs = self.worker_specs();
        specs.iter_mut().for_each(change);
        Fleet { specs, ..self }
    }

    /// The same machines, each of which has measured how fast it is when it joined. What it found is
    /// off by up to a tenth, as on real ones.
    #[must_use]
    pub fn measured(self, seed: u64) -> Fleet {
        let mut specs = self.worker_specs();
        let mut random = SplitMix64(seed);
        for (spec, machine) in specs.iter_mut().zip(&self.machines) {
            let off = (2.0 * random.unit() - 1.0) * MEASURED_OFF_MAX;
            let speed = machine.speed.as_f64() * (1.0 + off) * 1_000.0;
            spec.speed_permille = (speed.round() as u32).max(1);
        }
        Fleet { specs, ..self }
    }

    pub fn machines(&self) -> &[Machine] {
        &self.machines
    }

    pub fn fastest(&self) -> Speed {
        self.machines.iter().map(|machine| machine.speed).max().expect("a fleet is not empty")
    }

    /// Work done in a unit of time when every slot is busy.
    pub fn capacity(&self) -> f64 {
        self.machines.iter().map(|machine| f64::from(machine.slots) * machine.speed.as_f64()).sum()
    }

    /// The machines as workers that register, in the fleet's order.
    pub fn worker_specs(&self) -> Vec<WorkerSpec> {
        if !self.specs.is_empty() {
            return self.specs.clone();
        }
        self.machines
            .iter()
            .enumerate()
            .map(|(number, machine)| {
                // Padded, so that the order of ids is the order of the fleet.
                let id = WorkerId::fixed(&format!("w{number:05}"));
                WorkerSpec { class: machine.speed.class(), ..WorkerSpec::new(id, machine.slots) }
            })
            .collect()
    }
}

impl FromStr for Fleet {
    type Err = FleetError;

    fn from_str(text: &str) -> Result<Fleet, FleetError> {
        let mut machines = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (count, machine) = parse_part(part)?;
            if machines.len() + count > MACHINES_MAX {
                return Err(FleetError::TooLarge);
            }
            machines.extend(std::iter::repeat_n(machine, count));
        }
        if machines.is_empty() {
            Err(FleetError::Empty)
        } else {
            Ok(Fleet { machines, specs: Vec::new() })
        }
    }
}

fn parse_part(part: &str) -> Result<(usize, Machine), FleetError> {
    let shape = || FleetError::Shape { part: part.to_owned() };
    let (count, rest) = part.split_once('x').ok_or_else(shape)?;
    let (slots, speed) = rest.split_once('@').ok_or_else(shape)?;
    let number = |what, given: &str, wanted| FleetError::Number {
        part: part.to_owned(),
        what,
        given: given.to_owned(),
        wanted,
    };
    let count = count
        .parse::<usize>()
        .ok()
        .filter(|count| (1..=MACHINES_MAX).contains(count))
        .ok_or_else(|| number("count", count, format!("from 1 to {MACHINES_MAX}")))?;
    let slots = slots
        .parse::<u32>()
        .ok()
        .filter(|slots| (1..=SLOTS_MAX).contains(slots))
        .ok_or_else(|| number("number of slots", slots, format!("from 1 to {SLOTS_MAX}")))?;
    let speed = speed
        .parse::<f64>()
        .ok()
        .filter(|speed| (0.001..=1_000.0).contains(speed))
        .ok_or_else(|| number("speed", speed, "from 0.001 to 1000".to_owned()))?;
    Ok((count, Machine { slots, speed: Speed::of(speed) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fleet_is_count_times_slots_at_speed() {
        let fleet: Fleet = "2x4@1.0, 1x2@0.5".parse().unwrap();
        assert_eq!(fleet.machines().len(), 3);
        assert_eq!(fleet.capacity(), 9.0);
        assert_eq!(fleet.fastest(), Speed::ONE);
        let specs = fleet.worker_specs();
        assert_eq!(specs[0].class.as_str(), "s1.0");
        assert_eq!(specs[2].class.as_str(), "s0.5");
        assert_eq!(specs[2].slots, 2);
        assert_eq!(fleet.machines()[2].speed.time_for(Micros(10)), Micros(20));
    }

    #[test]
    fn what_workers_measure_is_near_their_speed_and_follows_the_seed() {
        let fleet: Fleet = "50x1@2.0".parse().unwrap();
        assert!(fleet.worker_specs().iter().all(|spec| spec.speed_permille == 0));
        let speeds = |seed| {
            let specs = fleet.clone().measured(seed).worker_specs();
            specs.iter().map(|spec| spec.speed_permille).collect::<Vec<_>>()
        };
        assert!(speeds(1).iter().all(|speed| (1_800..=2_200).contains(speed)));
        assert!(speeds(1).iter().any(|speed| !(1_900..=2_100).contains(speed)));
        assert_eq!(speeds(1), speeds(1));
        assert_ne!(speeds(1), speeds(2));
    }

    #[test]
    fn a_bad_fleet_is_refused_with_the_part_and_the_way_out() {
        let check = |text: &str, wanted: &str| {
            assert_eq!(text.parse::<Fleet>().unwrap_err().to_string(), wanted);
        };
        check("", "the fleet is empty; write count x slots @ speed, as in 8x4@1.0,8x2@0.5");
        check("8x4", "`8x4` is not count x slots @ speed; write it as 8x4@1.0");
        check("1x1@1,0x4@1", "`0x4@1`: the count `0` must be from 1 to 100000");
        check("1x0@1", "`1x0@1`: the number of slots `0` must be from 1 to 10000");
        check("1x1@-2", "`1x1@-2`: the speed `-2` must be from 0.001 to 1000");
        check("1x1@nan", "`1x1@nan`: the speed `nan` must be from 0.001 to 1000");
        check("60000x1@1,60000x1@1", "the fleet has more than 100000 workers");
    }
}
