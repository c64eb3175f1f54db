//! `cargo xtask fuzz`.

use anyhow::{Context as _, Result, bail, ensure};
use bellwether_fuzz::round;
use bellwether_fuzz::targets::{TARGETS, Target};

const USAGE: &str = "usage: cargo xtask fuzz [--inputs N] [--seed S] [--target NAME] [--at INPUT]";
/// Inputs for all parsers together.
const INPUTS: u64 = 10_000_000;

struct Arguments {
    inputs: u64,
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
    let mut found = 0;
    say(&format!("{:<16}{:>12}{:>14}{:>14}", "parser", "inputs", "slowest", "largest"));
    for target in targets {
        let inputs = arguments.at.map_or(0..each, |at| at..at + 1);
        match round::run(target, arguments.seed, inputs) {
            Ok(costs) => {
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
    Ok(())
}

#[expect(clippy::print_stdout, reason = "this is a program")]
fn say(line: &str) {
    println!("{line}");
}

fn arguments() -> Result<Arguments> {
    let mut arguments = Arguments { inputs: INPUTS, seed: 1, target: None, at: None };
    let mut given = std::env::args().skip(1);
    while let Some(option) = given.next() {
        let value = given.next().context(USAGE)?;
        match option.as_str() {
            "--inputs" => arguments.inputs = value.parse().context(USAGE)?,
            "--seed" => arguments.seed = value.parse().context(USAGE)?,
            "--target" => arguments.target = Some(value),
            "--at" => arguments.at = Some(value.parse().context(USAGE)?),
            _ => bail!(USAGE),
        }
    }
    Ok(arguments)
}
