//! A round: so many inputs for a parser, on as many threads as there are processors.

use std::fmt;
use std::panic::catch_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::memory::peak_of;
use crate::mutate::input;
use crate::random::Random;
use crate::targets::Target;

/// What one input may cost.
pub const TIME_MAX: Duration = Duration::from_millis(100);
pub const MEMORY_BYTES_MAX: usize = 64 << 20;
/// Whoever took longer is asked again, with a clock that stands still while the processor is somebody
/// else's.
const TIME_SURE: Duration = Duration::from_millis(10);
/// Inputs that a thread takes at a time.
const SHARE: u64 = 256;

/// What the inputs of a round cost.
#[derive(Debug, Clone, Copy, Default)]
pub struct Costs {
    pub inputs: u64,
    pub slowest: Cost<Duration>,
    pub largest: Cost<usize>,
}

/// The most of something, and which input took it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost<T> {
    pub most: T,
    pub input: u64,
}

impl<T: PartialOrd> Cost<T> {
    fn see(&mut self, cost: T, input: u64) {
        if cost > self.most {
            *self = Cost { most: cost, input };
        }
    }
}

/// An input that must not be as it is.
#[derive(Debug, Clone)]
pub struct Finding {
    pub target: &'static str,
    pub seed: u64,
    pub input: u64,
    pub flaw: Flaw,
    pub bytes: Vec<u8>,
}

#[derive(Debug, Clone)]
pub enum Flaw {
    Panic(String),
    Slow(Duration),
    Large(usize),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { target, seed, input, flaw, bytes } = self;
        match flaw {
            Flaw::Panic(why) => write!(f, "{target}: panics: {why}")?,
            Flaw::Slow(took) => write!(f, "{target}: takes {took:?}")?,
            Flaw::Large(size) => write!(f, "{target}: takes {} KiB of memory", size >> 10)?,
        }
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]);
        write!(
            f,
            "\n  {} bytes that begin with {start:?}\n  again: cargo xtask fuzz --target {target} --seed {seed} --at {input}",
            bytes.len()
        )
    }
}

/// The inputs of these numbers, until one is found that must not be.
pub fn run(
    target: &Target,
    seed: u64,
    inputs: std::ops::Range<u64>,
) -> Result<Costs, Box<Finding>> {
    run_until(target, seed, inputs, None)
}

/// The same, and no longer than until this moment.
pub fn run_until(
    target: &Target,
    seed: u64,
    inputs: std::ops::Range<u64>,
    until: Option<Instant>,
) -> Result<Costs, Box<Finding>> {
    let corpus = (target.seeds)();
    let next = AtomicU64::new(inputs.start);
    let found = AtomicBool::new(false);
    let outcome = Mutex::new((Costs::default(), None));
    let work = || {
        let mut costs = Costs::default();
        let is_time = || until.is_none_or(|until| Instant::now() < until);
        while !found.load(Ordering::Relaxed) && is_time() {
            let first = next.fetch_add(SHARE, Ordering::Relaxed);
            for number in first..(first + SHARE).min(inputs.end) {
                let bytes =
                    input(target.shape, &corpus, &mut Random::of(seed, target.name, number));
                if let Err(flaw) = try_one(target, number, &bytes, &mut costs) {
                    found.store(true, Ordering::Relaxed);
                    let finding = Finding { target: target.name, seed, input: number, flaw, bytes };
                    outcome.lock().expect("no thread panics with it").1 = Some(Box::new(finding));
                    break;
                }
            }
            if first >= inputs.end {
                break;
            }
        }
        let mut outcome = outcome.lock().expect("no thread panics with it");
        outcome.0.inputs += costs.inputs;
        outcome.0.slowest.see(costs.slowest.most, costs.slowest.input);
        outcome.0.largest.see(costs.largest.most, costs.largest.input);
    };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    match outcome.into_inner().expect("no thread panics with it") {
        (_, Some(finding)) => Err(finding),
        (costs, None) => Ok(costs),
    }
}

fn try_one(target: &Target, number: u64, bytes: &[u8], costs: &mut Costs) -> Result<(), Flaw> {
    let begun = Instant::now();
    let (done, peak) = peak_of(|| catch_unwind(|| (target.read)(bytes)));
    let mut took = begun.elapsed();
    if let Err(panic) = done {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        return Err(Flaw::Panic(text.unwrap_or_default()));
    }
    if peak > MEMORY_BYTES_MAX {
        return Err(Flaw::Large(peak));
    }
    if took > TIME_SURE {
        let before = processor_time();
        drop(catch_unwind(|| (target.read)(bytes)));
        took = took.min(processor_time().saturating_sub(before));
    }
    costs.inputs += 1;
    costs.largest.see(peak, number);
    costs.slowest.see(took, number);
    if took > TIME_MAX { Err(Flaw::Slow(took)) } else { Ok(()) }
}

/// What this thread has had of a processor, as the kernel counts it.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split_whitespace().next().and_then(|number| number.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}
