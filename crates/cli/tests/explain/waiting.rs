//! Every kind of waiting, and the reason that is told for it: one scheduler, each row on its own
//! role, so that no row sees another's workers.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bellwether_sdk::v1;
use serde_json::{Value, json};

use crate::stage::{Stage, job};
use crate::worker::{Does, Worker, spec};

/// What must be told of one job.
struct Row {
    job: &'static str,
    reason: &'static str,
    /// Parts of the sentence.
    says: &'static [&'static str],
    /// The nearest worker, and the first thing that it lacks.
    nearest: Option<(&'static str, &'static str)>,
}

const fn row(
    job: &'static str,
    reason: &'static str,
    says: &'static [&'static str],
    nearest: Option<(&'static str, &'static str)>,
) -> Row {
    Row { job, reason, says, nearest }
}

const TABLE: &[Row] = &[
    row("after", "dependencies", &["waits for", "first (running)", "second (ready)"], None),
    row("later", "delay", &["is not to start for another"], None),
    row("again", "backoff", &["tried again in", "after 1 attempt"], None),
    row("paused", "paused", &["the type stopped is paused"], None),
    row("nobody", "no_receiver", &["worker ghost alone", "not registered"], None),
    row("role", "missing_role", &["lacks the role poet"], Some(("plain", "role"))),
    row("skill", "missing_capability", &["capability gpu"], Some(("able-1", "capability"))),
    row("warm", "missing_model", &["the model sdxl"], Some(("cold", "model"))),
    row("cores", "cpu_too_small", &["2000 millicores of the 4000"], Some(("small-cpu", "cpu"))),
    row(
        "bytes",
        "memory_too_small",
        &["100 bytes of memory of the 200"],
        Some(("small-memory", "memory")),
    ),
    row("drained", "draining", &["tired is draining"], Some(("tired", "draining"))),
    row("pressed", "overloaded", &["crushed is overloaded"], Some(("crushed", "overloaded"))),
    row("lost", "unreachable", &["silent is unreachable"], Some(("silent", "unreachable"))),
    row(
        "either",
        "unavailable",
        &["off is draining", "over is overloaded"],
        Some(("over", "overloaded")),
    ),
    row(
        "full",
        "slots",
        &["all 2 workers that can run it are busy", "2 jobs go first"],
        Some(("busy-1", "slots")),
    ),
    row(
        "share",
        "cpu",
        &["has a slot, but 1000 millicores are free of the 1500"],
        Some(("cores", "cpu")),
    ),
    row(
        "heap",
        "memory",
        &["has a slot, but 40 bytes of memory are free of the 60"],
        Some(("heap", "memory")),
    ),
    row("behind", "queue", &["10 jobs wait in its own queue"], Some(("popular", "queue"))),
    row(
        "mine",
        "slots",
        &["the one worker that can run it is busy", "it is next"],
        Some(("owner", "slots")),
    ),
    row("pinned", "draining", &["leaving is draining"], Some(("leaving", "draining"))),
    row(
        "held",
        "held",
        &["waits for worker fast", "would finish it sooner"],
        Some(("slow", "slower")),
    ),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_kind_of_waiting_is_told_by_its_true_reason() -> Result<()> {
    let stage = Stage::new(&[
        ("heartbeat_interval", "1"),
        ("unreachable_after", "5"),
        ("duration_by_type.long", "60"),
    ])?;
    stage.submit(&job("alone", "t", "", json!({})))?;
    check(&stage, &row("alone", "no_workers", &["no worker is registered"], None))?;
    let _workers = arrange(&stage).await?;
    for row in TABLE {
        check(&stage, row).with_context(|| format!("job {}", row.job))?;
    }

    let place = stage.explain("full")?["waiting_for"].clone();
    ensure!(place["ahead"] == 2 && place["able"] == 2, "{place}");
    ensure!(!place["expected_start"].is_null(), "{place}");
    let text = stage.fine(&["explain", "full"])?;
    for part in
        ["waits for    slots", "nearest      busy-1: no free slot", "place        2 go first"]
    {
        ensure!(text.contains(part), "{part} is not in {text}");
    }
    let lacks = stage.explain("skill")?["waiting_for"]["nearest"]["lacks"].clone();
    let names: Vec<&Value> =
        lacks.as_array().context("a list")?.iter().map(|l| &l["name"]).collect();
    ensure!(names == ["gpu", "tpu"], "everything that it lacks is named: {lacks}");
    Ok(())
}

fn check(stage: &Stage, row: &Row) -> Result<()> {
    let id = id_of(stage, row.job)?;
    let told = stage.explained(&id, |told| told["waiting_for"]["reason"] == row.reason)?;
    let summary = told["summary"].as_str().context("a sentence")?;
    for part in row.says {
        ensure!(summary.contains(part), "`{part}` is not in `{summary}`");
    }
    let nearest = &told["waiting_for"]["nearest"];
    match row.nearest {
        Some((worker, what)) => {
            ensure!(nearest["worker"] == worker, "{nearest}");
            ensure!(nearest["lacks"][0]["what"] == what, "{nearest}");
        }
        None => ensure!(nearest.is_null(), "{nearest}"),
    }
    Ok(())
}

/// A job of a run is named in it.
fn id_of(stage: &Stage, name: &str) -> Result<String> {
    let jobs = stage.fine(&["jobs", "--state", "ready", "--json"])?;
    let jobs = jobs.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
    let ids = jobs.iter().filter_map(|job| job["id"].as_str());
    let within = ids.into_iter().find(|id| id.ends_with(&format!("/{name}")));
    Ok(within.unwrap_or(name).to_owned())
}

/// Brings every job of the table where it waits.
async fn arrange(stage: &Stage) -> Result<Vec<Worker>> {
    let mut workers = Vec::new();
    let mut join = async |spec, does| -> Result<()> {
        workers.push(Worker::join(stage, spec, does).await?);
        Ok(())
    };
    // Jobs that ask for nothing in particular go to it, and stay.
    join(spec("plain", "", 1), Does::Keep).await?;
    stage.reaches("alone", "running")?;

    join(spec("deps", "deps", 1), Does::Keep).await?;
    stage.submit(&job("first", "t", "deps", json!({})))?;
    stage.submit(&job("second", "t", "deps", json!({})))?;
    stage.submit(&job("after", "t", "deps", json!({ "dependencies": ["first", "second"] })))?;
    stage.reaches("first", "running")?;
    stage.submit(&job("later", "t", "", json!({ "delay": 3_600 })))?;
    join(spec("fails", "fails", 1), Does::Fail).await?;
    stage.submit(&job("again", "t", "fails", json!({})))?;
    pause(stage, "stopped").await?;
    stage.submit(&job("paused", "stopped", "", json!({})))?;
    stage.submit(&job("nobody", "t", "", json!({ "receiver": "ghost" })))?;

    stage.submit(&job("role", "t", "poet", json!({})))?;
    let able = |id: &str, names: &[&str]| v1::WorkerSpec {
        capabilities: names.iter().map(|&name| name.to_owned()).collect(),
        ..spec(id, "skill", 1)
    };
    join(able("able-0", &[]), Does::Keep).await?;
    join(able("able-1", &["cuda"]), Does::Keep).await?;
    let skills = json!({ "capabilities": ["cuda", "gpu", "tpu"] });
    stage.submit(&job("skill", "t", "skill", skills))?;
    join(spec("cold", "warm", 1), Does::Keep).await?;
    stage.submit(&job("warm", "t", "warm", json!({ "model": "sdxl" })))?;
    let sized = |id: &str, cpu, memory| v1::WorkerSpec { cpu, memory, ..spec(id, id, 4) };
    join(sized("small-cpu", 2_000, 0), Does::Keep).await?;
    stage.submit(&job("cores", "t", "small-cpu", json!({ "cpu": 4_000 })))?;
    join(sized("small-memory", 0, 100), Does::Keep).await?;
    stage.submit(&job("bytes", "t", "small-memory", json!({ "memory": 200 })))?;

    join(spec("tired", "tired", 1), Does::Keep).await?;
    stage.fine(&["drain", "tired"])?;
    stage.submit(&job("drained", "t", "tired", json!({})))?;
    join(spec("off", "either", 1), Does::Keep).await?;
    stage.fine(&["drain", "off"])?;
    join(spec("leaving", "", 1), Does::Keep).await?;
    stage.fine(&["drain", "leaving"])?;
    stage.submit(&job("pinned", "t", "poet", json!({})))?;
    pin(stage, "pinned", "leaving").await?;

    for (id, role) in [("busy-1", "full"), ("busy-2", "full"), ("owner", "owner")] {
        join(spec(id, role, 1), Does::Keep).await?;
    }
    for id in ["full-a", "full-b", "full-c", "full-d", "full"] {
        stage.submit(&job(id, "long", "full", json!({})))?;
    }
    stage.submit(&job("owned", "t", "owner", json!({})))?;
    stage.submit(&job("mine", "t", "", json!({ "receiver": "owner" })))?;
    join(sized("cores", 2_500, 0), Does::Keep).await?;
    stage.submit(&job("cores-a", "t", "cores", json!({ "cpu": 1_500 })))?;
    stage.submit(&job("share", "t", "cores", json!({ "cpu": 1_500 })))?;
    join(sized("heap", 0, 100), Does::Keep).await?;
    stage.submit(&job("heap-a", "t", "heap", json!({ "memory": 60 })))?;
    stage.submit(&job("heap", "t", "heap", json!({ "memory": 60 })))?;

    for (id, role, beat) in [
        ("crushed", "pressed", v1::Heartbeat { overloaded: true, ..Default::default() }),
        ("over", "either", v1::Heartbeat { overloaded: true, ..Default::default() }),
        ("popular", "popular", v1::Heartbeat { queue_depth: 10, ..Default::default() }),
    ] {
        let worker = Worker::join(stage, spec(id, role, 1), Does::Keep).await?;
        worker.says(beat).await?;
        workers.push(worker);
        // A job that is submitted before the report is heard would be placed.
        heard(stage, id, beat)?;
    }
    stage.submit(&job("pressed", "t", "pressed", json!({})))?;
    stage.submit(&job("either", "t", "either", json!({})))?;
    stage.submit(&job("behind", "t", "popular", json!({})))?;

    let silent = Worker::join(stage, spec("silent", "silent", 1), Does::Keep).await?;
    silent.falls_silent().await?;
    workers.push(silent);
    stage.fine(&["drain", "silent"])?;
    stage.submit(&job("lost", "t", "silent", json!({})))?;
    workers.extend(hold(stage).await?);
    Ok(workers)
}

fn heard(stage: &Stage, id: &str, beat: v1::Heartbeat) -> Result<()> {
    let begun = std::time::Instant::now();
    loop {
        let workers = stage.fine(&["workers", "--json"])?;
        let known = workers.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
        let found = known.iter().find(|worker| worker["id"] == id).context("it has registered")?;
        let overloaded = found["status"] == "overloaded";
        if found["queue_depth"] == beat.queue_depth && overloaded == beat.overloaded {
            return Ok(());
        }
        ensure!(begun.elapsed() < crate::stage::DEADLINE, "{found}");
    }
}

/// Teaches that one class is much slower, and lets a job of a run wait for the other.
async fn hold(stage: &Stage) -> Result<Vec<Worker>> {
    let of_class = |id: &str| v1::WorkerSpec { class: id.to_owned(), ..spec(id, "hold", 1) };
    let mut lessons = Vec::new();
    for (id, takes) in [("fast", 5), ("slow", 400)] {
        let does = Does::Complete(Duration::from_millis(takes));
        lessons.push(Worker::join(stage, of_class(id), does).await?);
    }
    for lesson in 0..3 {
        for id in ["fast", "slow"] {
            let name = format!("lesson-{lesson}-{id}");
            stage.submit(&job(&name, "lesson", "", json!({ "receiver": id })))?;
            stage.reaches(&name, "completed")?;
        }
    }
    drop(lessons);
    let mut workers = Vec::new();
    for id in ["fast", "slow"] {
        let renewed = v1::WorkerSpec { instance: 2, ..of_class(id) };
        workers.push(Worker::join(stage, renewed, Does::Keep).await?);
    }
    stage.submit(&json!({ "run": "race", "jobs": [
        job("leads", "long", "hold", json!({})),
        job("held", "long", "hold", json!({})),
    ]}))?;
    Ok(workers)
}

async fn pause(stage: &Stage, kind: &str) -> Result<()> {
    let client = bellwether_sdk::Client::connect(stage.address()).await?;
    Ok(client.pause(kind).await?)
}

async fn pin(stage: &Stage, job: &str, worker: &str) -> Result<()> {
    let client = bellwether_sdk::Client::connect(stage.address()).await?;
    Ok(client.pin(job, worker).await?)
}
