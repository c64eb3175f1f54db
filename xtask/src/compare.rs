//! Whether one binary is slower than another: both in turns, the middle of several rounds.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::console;
use crate::invocation::Invocation;

const ROUNDS: usize = 5;
/// Of jobs, with `--quick`: enough to see that it works, too few to say anything.
const QUICK_PERCENT: u64 = 2;
/// What speed may fall to, and memory rise to.
const SPEED_MIN: f64 = 0.97;
const MEMORY_MAX: f64 = 1.03;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Better {
    /// As much as possible of it.
    More,
    /// A time, of which less is faster.
    Faster,
    Smaller,
}

struct Figure {
    name: &'static str,
    /// After `bench`; the number of jobs is added.
    arguments: &'static [&'static str],
    /// The option that says how many jobs, and how many.
    jobs: (&'static str, u64),
    /// Where the report has it.
    pointer: &'static str,
    better: Better,
}

const FIGURES: [Figure; 5] = [
    Figure {
        name: "core jobs/s",
        arguments: &["core"],
        jobs: ("--jobs", 500_000),
        pointer: "/jobs_per_s",
        better: Better::More,
    },
    Figure {
        name: "submissions/s",
        arguments: &["--workers", "0"],
        jobs: ("--jobs", 300_000),
        pointer: "/submit_per_s",
        better: Better::More,
    },
    Figure {
        name: "jobs/s",
        arguments: &[],
        jobs: ("--jobs", 200_000),
        pointer: "/complete_per_s",
        better: Better::More,
    },
    Figure {
        name: "start ms, p50 at 1,000/s",
        arguments: &["--rate", "1000"],
        jobs: ("--jobs", 10_000),
        pointer: "/start_ms/p50",
        better: Better::Faster,
    },
    Figure {
        name: "bytes per waiting job of 1,000,000",
        arguments: &["core", "--jobs", "1000"],
        jobs: ("--waiting", 1_000_000),
        pointer: "/bytes_per_waiting_job",
        better: Better::Smaller,
    },
];

struct Options {
    before: PathBuf,
    after: PathBuf,
    rounds: usize,
    quick: bool,
}

pub(crate) fn run(root: &Path, arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let mut rows = vec![["", "before", "after", "ratio"].map(str::to_owned).to_vec()];
    let mut worse = Vec::new();
    for figure in &FIGURES {
        let [before, after] = options.measure(root, figure)?;
        let ratio = figure.ratio(before, after);
        rows.push(vec![
            figure.name.to_owned(),
            format!("{before:.3}"),
            format!("{after:.3}"),
            format!("{ratio:.3}"),
        ]);
        if !figure.holds(ratio) {
            worse.push(figure.name);
        }
    }
    console::say(&format!("\nMedians of {} rounds", options.rounds));
    console::table(&rows);
    ensure!(
        worse.is_empty(),
        "worse than before (a speed below {SPEED_MIN}, memory above {MEMORY_MAX}): {}",
        worse.join(", ")
    );
    Ok(())
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Options> {
        let (mut binaries, mut rounds, mut quick) = (Vec::new(), ROUNDS, false);
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--quick" => quick = true,
                "--rounds" => rounds = words.next().context("--rounds wants a number")?.parse()?,
                option if option.starts_with('-') => bail!("there is no option {option}"),
                path => binaries.push(
                    Path::new(path).canonicalize().with_context(|| format!("no binary {path}"))?,
                ),
            }
        }
        let Ok([before, after]) = <[PathBuf; 2]>::try_from(binaries) else {
            bail!("compare wants two binaries, that of before and that of after");
        };
        ensure!(rounds > 0, "there must be at least one round");
        Ok(Options { before, after, rounds, quick })
    }

    /// The medians of before and after.
    fn measure(&self, root: &Path, figure: &Figure) -> Result<[f64; 2]> {
        let mut measured = [Vec::new(), Vec::new()];
        for round in 0..self.rounds {
            // before after, after before: what changes with time hits both alike.
            let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
            for which in order {
                let binary = [&self.before, &self.after][which];
                measured[which].push(self.measure_once(root, figure, binary)?);
            }
            let last = |which: usize| measured[which][round];
            console::say(&format!("{}: {:.3} {:.3}", figure.name, last(0), last(1)));
        }
        Ok(measured.map(median))
    }

    fn measure_once(&self, root: &Path, figure: &Figure, binary: &Path) -> Result<f64> {
        let (option, jobs) = figure.jobs;
        let jobs = if self.quick { jobs * QUICK_PERCENT / 100 } else { jobs };
        let bench = Invocation::new(&binary.to_string_lossy(), &["bench"])
            .arguments(figure.arguments)
            .arguments(&[option, &jobs.to_string(), "--json"]);
        // In the target folder, because that is on the disk and not in the tree.
        let folder = root.join("target");
        std::fs::create_dir_all(&folder)?;
        let report: Value = serde_json::from_str(&bench.output(&folder)?)?;
        let value = report.pointer(figure.pointer).and_then(Value::as_f64);
        value.with_context(|| format!("`{bench}` says nothing at {}: {report}", figure.pointer))
    }
}

impl Figure {
    /// More is better where it is a speed, less where it is memory.
    fn ratio(&self, before: f64, after: f64) -> f64 {
        match self.better {
            Better::More | Better::Smaller => after / before,
            Better::Faster => before / after,
        }
    }

    fn holds(&self, ratio: f64) -> bool {
        match self.better {
            Better::More | Better::Faster => ratio >= SPEED_MIN,
            Better::Smaller => ratio <= MEMORY_MAX,
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shorter_time_is_a_higher_speed_and_more_memory_is_worse() {
        let of = |better| FIGURES.iter().find(|figure| figure.better == better).unwrap();
        assert!(of(Better::Faster).holds(of(Better::Faster).ratio(2.0, 1.0)));
        assert!(!of(Better::Faster).holds(of(Better::Faster).ratio(1.0, 1.1)));
        assert!(!of(Better::More).holds(of(Better::More).ratio(100.0, 96.0)));
        assert!(!of(Better::Smaller).holds(of(Better::Smaller).ratio(100.0, 104.0)));
        assert!(of(Better::Smaller).holds(of(Better::Smaller).ratio(100.0, 50.0)));
    }

    #[test]
    fn the_median_is_the_middle() {
        assert!((median(vec![3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!((median(vec![4.0, 1.0]) - 2.5).abs() < f64::EPSILON);
    }
}
