//! Following a job to its end, and the exit code that stands for it.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use bellwether_sdk::client::Job;
use bellwether_sdk::{Client, v1};
use tokio::time::Instant;

use crate::exit::Verdict;
use crate::worker::exec;

/// How long a job may wait before it is told for what, and how often that is asked again.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often it is asked how far a run is.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Jobs that did not complete that are told of.
const TROUBLES_TOLD: u32 = 20;

/// Says on standard error what happens to the job, and what it waits for if that takes a while.
/// Returns it as it ended, with its attempts.
pub(super) async fn to_the_end(client: &Client, id: &str) -> anyhow::Result<Job> {
    shown_to_the_end(client, id, Display::new(io::stderr().is_terminal())).await
}

async fn shown_to_the_end(client: &Client, id: &str, mut display: Display) -> anyhow::Result<Job> {
    let mut following = client.follow([id.to_owned()], true);
    let (mut position, mut waits) = (0, true);
    let mut patience = tokio::time::interval_at(Instant::now() + PATIENCE, PATIENCE);
    loop {
        tokio::select! {
            next = following.next() => {
                let Some(job) = next? else { break };
                waits = !matches!(job.state(), v1::JobState::Offered | v1::JobState::Running);
                position = job.0.position;
                display.show(&job)?;
            }
            _ = patience.tick(), if waits => {
                // Whatever keeps it from being told, the job is followed on.
                if let Ok(why) = client.explain(id, position).await {
                    display.line(why.summary)?;
                }
            }
        }
    }
    display.end()?;
    Ok(client.job(id, position).await?)
}

/// The same beside what the job prints; an interrupt (Ctrl-C) cancels the job first, and a second one gives up at once.
pub(super) async fn to_the_end_or_cancelled(client: &Client, id: &str) -> anyhow::Result<Job> {
    let ending = shown_to_the_end(client, id, Display::beside_output());
    tokio::pin!(ending);
    tokio::select! {
        ended = &mut ending => return ended,
        interrupted = tokio::signal::ctrl_c() => interrupted?,
    }
    eprintln!("\ncancelling job {id}; interrupt again to leave it to the scheduler");
    client.cancel(vec![id.to_owned()], "interrupted").await?;
    tokio::select! {
        ended = &mut ending => ended,
        _ = tokio::signal::ctrl_c() => anyhow::bail!("job {id} was told to stop, and may still end"),
    }
}

/// Follows a run of many jobs by how many have ended, and tells of some that did not complete. The code
/// is that of the first of them.
pub(super) async fn run_to_the_end(
    client: &Client,
    run: &str,
    jobs: usize,
) -> anyhow::Result<Verdict> {
    let mut display = Display::new(io::stderr().is_terminal());
    loop {
        let asked = Instant::now();
        let request = v1::ListRunsRequest { id: run.to_owned(), ..Default::default() };
        let found = client.runs(request).await?.runs;
        let count = |wanted: fn(v1::JobState) -> bool| -> u64 {
            let states = found.iter().flat_map(|run| &run.states);
            states.filter(|count| wanted(count.state())).map(|count| count.count).sum()
        };
        let ended = count(v1::JobState::has_ended);
        let completed = count(|state| state == v1::JobState::Completed);
        let failed = ended - completed;
        let failures =
            if failed > 0 { format!(", {failed} did not complete") } else { String::new() };
        display.line(format!("run {run}: {ended} of {jobs} ended{failures}"))?;
        if ended >= jobs as u64 || found.is_empty() {
            break;
        }
        // A look at many jobs takes a while: whoever waits is not to keep the scheduler busy with it.
        tokio::time::sleep(LOOK_EVERY.max(10 * asked.elapsed())).await;
    }
    display.end()?;
    let states = [v1::JobState::Failed, v1::JobState::DeadLettered, v1::JobState::Cancelled];
    let request = v1::ListJobsRequest {
        run_id: run.to_owned(),
        states: states.map(i32::from).to_vec(),
        limit: TROUBLES_TOLD,
        ..Default::default()
    };
    let mut verdict = Verdict::Fine;
    for job in client.jobs(request).await?.jobs.into_iter().rev() {
        let job = client.job(job.id(), 0).await?;
        if let Some(trouble) = trouble(&job) {
            eprintln!("error: job {} {trouble}", job.id());
        }
        if verdict == Verdict::Fine {
            verdict = self::verdict(&job);
        }
    }
    Ok(verdict)
}

/// The job's own code, or where it was skipped that of the job that did not complete.
pub(super) async fn verdict_or_root_cause(client: &Client, job: &Job) -> anyhow::Result<Verdict> {
    if job.0.root_cause.is_empty() {
        return Ok(verdict(job));
    }
    Ok(verdict(&client.job(&job.0.root_cause, 0).await?))
}

/// The job's own code: that of its command if it has one.
pub(super) fn verdict(job: &Job) -> Verdict {
    match job.state() {
        v1::JobState::Completed => Verdict::Fine,
        v1::JobState::Cancelled | v1::JobState::Skipped => Verdict::NotTheCommand,
        _ => {
            let error =
                job.0.attempts.iter().rev().find_map(|attempt| {
                    Some(attempt.error.as_str()).filter(|error| !error.is_empty())
                });
            match error.and_then(exec::exit_code) {
                Some(code) => Verdict::CommandFailed(code),
                None => Verdict::NotTheCommand,
            }
        }
    }
}

/// Why the job did not complete, for people.
pub(super) fn trouble(job: &Job) -> Option<String> {
    if job.state() == v1::JobState::Completed {
        return None;
    }
    let error = job.0.attempts.iter().rev().find(|attempt| !attempt.error.is_empty());
    let why = error.map_or(job.0.explanation.as_str(), |attempt| attempt.error.as_str());
    let state = job.state().as_str();
    Some(if why.is_empty() { state.to_owned() } else { format!("{state}: {why}") })
}

/// One line that is rewritten on a terminal, else a line for each change of state.
#[derive(Debug)]
struct Display {
    terminal: bool,
    /// Whether it is told that the job has ended.
    tells_end: bool,
    last: String,
    drawn: bool,
}

impl Display {
    fn new(terminal: bool) -> Display {
        Display { terminal, tells_end: true, last: String::new(), drawn: false }
    }

    /// A line that is rewritten would run into the output, and one about the end might come before the
    /// last of it.
    fn beside_output() -> Display {
        Display { tells_end: false, ..Display::new(false) }
    }

    fn show(&mut self, job: &Job) -> io::Result<()> {
        if job.has_ended() && !self.tells_end {
            return Ok(());
        }
        let mut line = format!("{}: {}", job.id(), job.state().as_str());
        if job.0.progress_permille > 0 && !job.has_ended() {
            line +=
                &format!(", {:.0}% {}", job.0.progress_permille as f64 / 10.0, job.0.progress_note);
        }
        self.line(line)
    }

    fn line(&mut self, line: String) -> io::Result<()> {
        if line == self.last {
            return Ok(());
        }
        let terminal = self.terminal;
        let mut stderr = io::stderr().lock();
        if terminal {
            write!(stderr, "\r\x1b[K{line}")?;
            self.drawn = true;
        } else {
            writeln!(stderr, "{line}")?;
        }
        self.last = line;
        stderr.flush()
    }

    fn end(&self) -> io::Result<()> {
        if self.drawn { writeln!(io::stderr()) } else { Ok(()) }
    }
}
