//! Runs named steps one after another, all of them whatever fails, and sums them up.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::console;

#[derive(Debug, Default)]
pub(crate) struct Steps {
    done: Vec<Done>,
}

#[derive(Debug)]
struct Done {
    name: &'static str,
    /// The command that runs this step alone.
    again: String,
    took: Duration,
    failure: Option<String>,
}

impl Steps {
    pub(crate) fn step(
        &mut self,
        name: &'static str,
        again: String,
        work: impl FnOnce() -> Result<()>,
    ) {
        console::say(&format!("==> {name}: {again}"));
        let start = Instant::now();
        let failure = work().err().map(|error| format!("{error:#}"));
        let took = start.elapsed();
        match &failure {
            None => console::say(&format!("    {name} passed in {}", seconds(took))),
            Some(why) => console::say(&format!("    {name} FAILED in {}: {why}", seconds(took))),
        }
        self.done.push(Done { name, again, took, failure });
    }

    /// Prints the summary, with `closing` as its last lines; fails if any step did.
    pub(crate) fn finish(self, closing: &[String]) -> Result<()> {
        for line in self.summary() {
            console::say(&line);
        }
        for line in closing {
            console::say(line);
        }
        match self.failed() {
            0 => Ok(()),
            failed => bail!("{failed} of {} steps failed", self.done.len()),
        }
    }

    fn summary(&self) -> Vec<String> {
        let width = self.done.iter().map(|step| step.name.len()).max().unwrap_or(0);
        let mut lines = vec![String::new(), "Steps".to_owned()];
        for step in &self.done {
            let (name, took) = (step.name, seconds(step.took));
            lines.push(match step.failure {
                None => format!("  passed  {name:width$}  {took:>8}"),
                Some(_) => format!("  FAILED  {name:width$}  {took:>8}  again: {}", step.again),
            });
        }
        let total = self.done.iter().map(|step| step.took).sum();
        lines.push(match self.failed() {
            0 => format!("all {} steps passed in {}", self.done.len(), seconds(total)),
            failed => format!("{failed} of {} steps FAILED", self.done.len()),
        });
        lines
    }

    fn failed(&self) -> usize {
        self.done.iter().filter(|step| step.failure.is_some()).count()
    }
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_failing_step_does_not_hide_the_next_and_names_its_command() {
        let mut steps = Steps::default();
        steps.step("format", "cargo fmt --check".to_owned(), || Err(anyhow!("not formatted")));
        steps.step("tidy", "cargo xtask tidy".to_owned(), || Ok(()));

        let summary = steps.summary().join("\n");
        assert!(summary.contains("FAILED  format"), "{summary}");
        assert!(summary.contains("again: cargo fmt --check"), "{summary}");
        assert!(summary.contains("passed  tidy"), "{summary}");
        assert_eq!(steps.finish(&[]).unwrap_err().to_string(), "1 of 2 steps failed");
    }
}
