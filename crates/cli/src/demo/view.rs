//! The live view: redrawn in place on a terminal, a line now and then otherwise.

use std::io::{self, IsTerminal as _, Write as _};

use bellwether_sdk::v1::{JobState, WorkerStatus};

use super::story::{Story, Summary};
use crate::output;

const BAR: usize = 40;

#[derive(Debug)]
pub(super) struct View {
    terminal: bool,
    json: bool,
    /// Lines that the next frame overwrites.
    drawn: usize,
    frames: usize,
}

impl View {
    pub(super) fn new(json: bool) -> View {
        View { terminal: io::stdout().is_terminal(), json, drawn: 0, frames: 0 }
    }

    pub(super) fn say(&mut self, text: &str) -> io::Result<()> {
        if self.json {
            return Ok(());
        }
        self.erase()?;
        writeln!(io::stdout(), "{text}")
    }

    pub(super) fn draw(&mut self, story: &Story) -> io::Result<()> {
        self.frames += 1;
        if self.json {
            return Ok(());
        }
        if !self.terminal {
            // A line every two seconds is enough to read later.
            let due = self.frames % 10 == 1;
            return if due { writeln!(io::stdout(), "{}", totals(story)) } else { Ok(()) };
        }
        self.erase()?;
        let mut lines = vec![bar(story), totals(story)];
        lines.extend(workers(story));
        self.drawn = lines.len();
        let mut stdout = io::stdout().lock();
        for line in lines {
            writeln!(stdout, "{line}")?;
        }
        stdout.flush()
    }

    pub(super) fn end(&mut self, summary: &Summary) -> anyhow::Result<()> {
        if self.json {
            return output::print_json(summary);
        }
        self.erase()?;
        let by_worker: Vec<String> =
            summary.by_worker.iter().map(|(id, jobs)| format!("{id} {jobs}")).collect();
        output::print(&format!(
            "\n{} of {} jobs completed in {:.1} s, {} lost\n{} down with the killed worker and \
             {} made again\nby worker: {}\n\nwhy did it go there?\n{}\n",
            summary.completed,
            summary.jobs,
            summary.took_s,
            summary.lost,
            match summary.recovered {
                1 => "1 attempt went".to_owned(),
                many => format!("{many} attempts went"),
            },
            if summary.recovered == 1 { "was" } else { "were" },
            by_worker.join(", "),
            summary.decision,
        ))?;
        Ok(())
    }

    fn erase(&mut self) -> io::Result<()> {
        if self.drawn > 0 {
            write!(io::stdout(), "\x1b[{}A\x1b[J", self.drawn)?;
            self.drawn = 0;
        }
        Ok(())
    }
}

fn bar(story: &Story) -> String {
    let done = story.count(&[JobState::Completed]) as usize;
    let full = done * BAR / (story.jobs() as usize).max(1);
    format!("[\x1b[32m{}\x1b[0m{}]", "#".repeat(full), ".".repeat(BAR - full.min(BAR)))
}

fn totals(story: &Story) -> String {
    format!(
        "{:>4} completed  {:>3} running  {:>3} ready  {:>3} waiting",
        story.count(&[JobState::Completed]),
        story.count(&[JobState::Running, JobState::Offered]),
        story.count(&[JobState::Ready]),
        story.count(&[JobState::Waiting, JobState::Delayed]),
    )
}

fn workers(story: &Story) -> Vec<String> {
    story
        .workers
        .iter()
        .map(|worker| {
            let spec = worker.spec.clone().unwrap_or_default();
            let held: Vec<&str> = worker
                .held
                .iter()
                .filter(|held| held.running)
                .map(|held| held.id.as_str())
                .collect();
            let gone = !worker.connected
                || matches!(worker.status(), WorkerStatus::Unreachable | WorkerStatus::Left);
            let doing = if gone { "\x1b[31mgone\x1b[0m".to_owned() } else { held.join("  ") };
            format!("  {:<4} {:<10} {doing}", spec.id, spec.class)
        })
        .collect()
}
