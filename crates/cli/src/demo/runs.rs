//! The load of the demo: runs of different shapes.

use std::time::Duration;

use bellwether_sdk::{NewJob, Run, v1};

/// A job and how long it takes on a worker of speed 1.
struct Step {
    node: &'static str,
    kind: &'static str,
    takes: Duration,
    after: &'static [&'static str],
}

const fn step(
    node: &'static str,
    kind: &'static str,
    millis: u64,
    after: &'static [&'static str],
) -> Step {
    Step { node, kind, takes: Duration::from_millis(millis), after }
}

const PHOTOS: [Step; 6] = [
    step("fetch", "download", 300, &[]),
    step("small", "resize", 500, &["fetch"]),
    step("large", "resize", 1_400, &["fetch"]),
    step("tags", "classify", 1_100, &["fetch"]),
    step("index", "index", 300, &["tags"]),
    step("publish", "upload", 400, &["small", "large", "index"]),
];

const REPORT: [Step; 5] = [
    step("sales", "query", 900, &[]),
    step("stock", "query", 700, &[]),
    step("join", "transform", 600, &["sales", "stock"]),
    step("chart", "render", 500, &["join"]),
    step("mail", "upload", 200, &["chart"]),
];

const TRAINING: [Step; 4] = [
    step("data", "download", 600, &[]),
    step("train", "train", 2_500, &["data"]),
    step("test", "classify", 800, &["train"]),
    step("release", "upload", 300, &["test"]),
];

const SHAPES: [(&str, &[Step], u32); 3] =
    [("photos", &PHOTOS, 12), ("report", &REPORT, 8), ("training", &TRAINING, 4)];

pub(super) fn all() -> Vec<Run> {
    let mut runs = Vec::new();
    for (name, steps, times) in SHAPES {
        for number in 1..=times {
            runs.push(run(&format!("{name}-{number}"), steps));
        }
    }
    runs
}

pub(super) fn count() -> usize {
    SHAPES.iter().map(|(_, steps, times)| steps.len() * *times as usize).sum()
}

pub(super) fn kinds() -> impl Iterator<Item = &'static str> {
    SHAPES.iter().flat_map(|(_, steps, _)| steps.iter().map(|step| step.kind))
}

fn run(name: &str, steps: &[Step]) -> Run {
    let mut run = Run::named(name);
    for step in steps {
        let id = |node: &str| format!("{name}/{node}");
        let mut job = NewJob::new(step.kind)
            .id(id(step.node))
            .node(step.node)
            .payload(step.takes.as_millis().to_string())
            .tag("demo");
        if name.starts_with("report") {
            job = job.priority(v1::Priority::High).guarantee(v1::Guarantee::ExactlyOnce);
        }
        for before in step.after {
            job = job.after(id(before));
        }
        run = run.job(job);
    }
    run
}
