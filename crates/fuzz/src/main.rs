//! `cargo xtask fuzz`.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use bellwether_fuzz::round;
use bellwether_fuzz::targets::{TARGETS, Target};

const USAGE: &str =
    "usage: cargo xtask fuzz [--inputs N] [--minutes M] [--seed S] [--target NAME] [--at INPUT]";
/// Inputs for all parsers together.
const INPUTS: u64 = 10_000_000;

struct Arguments {
    inputs: u64,
    /// For all parsers together; without it, until all inputs were tried.
    minutes: Option<u64>,
    seed: u64,
    target: Option<String>,
    at: Option<u64>,
}

fn main() -> Result<()> {
    let arguments = arguments()?;
    // What panics is told as a finding.
    std::panic::set_hook(Box::new(|_| {}));
    let wanted =
        |target: &&Target| arguments.target.as_ref().is_none_or(|name| name == target.name);
    let targets: Vec<&Target> = TARGETS.iter().filter(wanted).collect();
    let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    ensure!(!targets.is_empty(), "there is no such target; they are {}", names.join(", "));
    let each = arguments.inputs.div_ceil(targets.len() as u64);
    let share = arguments.minutes.map(|minutes| {
        Duration::from_secs(minutes * 60) / u32::try_from(targets.len()).unwrap_or(u32::MAX)
    });
    let (mut found, mut tried) = (0, 0);
    say(&format!("{:<16}{:>12}{:>14}{:>14}", "parser", "inputs", "slowest", "largest"));
    for target in targets {
        let inputs = arguments.at.map_or(0..each, |at| at..at + 1);
        let until = share.map(|share| Instant::now() + share);
        match round::run_until(target, arguments.seed, inputs, until) {
            Ok(costs) => {
                tried += costs.inputs;
                let slowest = format!("{:.2} ms", costs.slowest.most.as_secs_f64() * 1e3);
                let largest = format!("{} KiB", costs.largest.most >> 10);
                let (name, inputs) = (target.name, costs.inputs);
                say(&format!("{name:<16}{inputs:>12}{slowest:>14}{largest:>14}"));
            }
            Err(finding) => {
                found += 1;
                say(&finding.to_string());
            }
        }
    }
    ensure!(found == 0, "{found} parsers have a flaw");
    let (time, memory) = (round::TIME_MAX.as_millis(), round::MEMORY_BYTES_MAX >> 20);
    say(&format!("{tried} inputs, no panic, none over {time} ms or {memory} MiB"));
    Ok(())
}

#[expect(clippy::print_stdout, reason = "this is a program")]
fn say(line: &str) {
    println!("{line}");
}

fn arguments() -> Result<Arguments> {
    let mut arguments =
        Arguments { inputs: INPUTS, minutes: None, seed: 1, target: None, at: None };
    let mut given = std::env::args().skip(1);
    while let Some(option) = given.next() {
        let value = given.next().context(USAGE)?;
        match option.as_str() {
            "--inputs" => arguments.inputs = value.parse().context(USAGE)?,
            "--minutes" => arguments.minutes = Some(value.parse().context(USAGE)?),
            "--seed" => arguments.seed = value.parse().context(USAGE)?,
            "--target" => arguments.target = Some(value),
            "--at" => arguments.at = Some(value.parse().context(USAGE)?),
            _ => bail!(USAGE),
        }
    }
    Ok(arguments)
}
