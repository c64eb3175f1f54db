//! Following a job to its end, and the exit code that stands for it.

use std::io::{self, IsTerminal as _, Write as _};

use bellwether_sdk::client::Job;
use bellwether_sdk::{Client, v1};

use crate::exit::Verdict;
use crate::worker::exec;

/// Says on standard error what happens to the job. Returns it as it ended, with its attempts.
pub(super) async fn to_the_end(client: &Client, id: &str) -> anyhow::Result<Job> {
    let mut display = Display::default();
    let mut following = client.follow([id.to_owned()], true);
    let mut position = 0;
    while let Some(job) = following.next().await? {
        display.show(&job)?;
        position = job.0.position;
    }
    display.end()?;
    Ok(client.job(id, position).await?)
}

/// The job's own code: that of its command if it has one.
pub(super) fn verdict(job: &Job) -> Verdict {
    match job.state() {
        v1::JobState::Completed => Verdict::Fine,
        v1::JobState::Cancelled | v1::JobState::Skipped => Verdict::JobCancelled,
        _ => {
            let error =
                job.0.attempts.iter().rev().find_map(|attempt| {
                    Some(attempt.error.as_str()).filter(|error| !error.is_empty())
                });
            Verdict::JobFailed(error.and_then(exec::exit_code).unwrap_or(1))
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
#[derive(Debug, Default)]
struct Display {
    last: String,
    drawn: bool,
}

impl Display {
    fn show(&mut self, job: &Job) -> io::Result<()> {
        let terminal = io::stderr().is_terminal();
        let mut line = format!("{}: {}", job.id(), job.state().as_str());
        if job.0.progress_permille > 0 && !job.has_ended() {
            line +=
                &format!(", {:.0}% {}", job.0.progress_permille as f64 / 10.0, job.0.progress_note);
        }
        if line == self.last {
            return Ok(());
        }
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
