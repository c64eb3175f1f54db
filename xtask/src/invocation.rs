//! A program with its arguments, as it is run and as a person would type it.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, ensure};

use crate::console;

/// Switches of snapshot tests that would make them rewrite sources instead of failing.
const UPDATE_SWITCHES: [&str; 2] = ["UPDATE_EXPECT", "INSTA_FORCE_UPDATE"];

#[derive(Debug, Clone)]
pub(crate) struct Invocation {
    program: String,
    arguments: Vec<String>,
    environment: Vec<(&'static str, String)>,
}

impl Invocation {
    pub(crate) fn new(program: &str, arguments: &[&str]) -> Invocation {
        Invocation {
            program: program.to_owned(),
            arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
            environment: Vec::new(),
        }
    }

    pub(crate) fn cargo(arguments: &[&str]) -> Invocation {
        Invocation::new("cargo", arguments)
    }

    pub(crate) fn arguments(mut self, more: &[&str]) -> Invocation {
        self.arguments.extend(more.iter().map(|&argument| argument.to_owned()));
        self
    }

    pub(crate) fn environment(mut self, key: &'static str, value: &str) -> Invocation {
        self.environment.push((key, value.to_owned()));
        self
    }

    /// Runs it in `folder` with its output passed on.
    pub(crate) fn run(&self, folder: &Path) -> Result<()> {
        let status = self.command(folder).status().with_context(|| self.start_failure())?;
        self.check(status)
    }

    /// Runs it in `folder` and returns its standard output.
    pub(crate) fn output(&self, folder: &Path) -> Result<String> {
        let output = self
            .command(folder)
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| self.start_failure())?;
        self.check(output.status)?;
        String::from_utf8(output.stdout).with_context(|| format!("`{self}` did not print UTF-8"))
    }

    /// Runs it with its standard error passed on, and gives every line of it to `see`.
    pub(crate) fn run_watching(&self, folder: &Path, mut see: impl FnMut(&str)) -> Result<()> {
        let mut child = self
            .command(folder)
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| self.start_failure())?;
        let stderr = child.stderr.take().expect("standard error was asked for as a pipe");
        for line in BufReader::new(stderr).split(b'\n') {
            let line = line.with_context(|| format!("failed to read from `{self}`"))?;
            let line = String::from_utf8_lossy(&line);
            console::complain(&line);
            see(&line);
        }
        let status = child.wait().with_context(|| format!("failed to wait for `{self}`"))?;
        self.check(status)
    }

    /// Whether it can be started and ends well; its output is not shown.
    pub(crate) fn succeeds(&self, folder: &Path) -> bool {
        self.command(folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(folder);
        for switch in UPDATE_SWITCHES {
            command.env_remove(switch);
        }
        command.env("INSTA_UPDATE", "no");
        command.envs(self.environment.iter().map(|(key, value)| (key, value)));
        command
    }

    fn start_failure(&self) -> String {
        format!("failed to start `{self}`")
    }

    fn check(&self, status: ExitStatus) -> Result<()> {
        ensure!(status.success(), "`{self}` ended with {status}");
        Ok(())
    }
}

impl fmt::Display for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (key, value) in &self.environment {
            write!(f, "{key}={} ", quoted(value))?;
        }
        f.write_str(&self.program)?;
        for argument in &self.arguments {
            write!(f, " {}", quoted(argument))?;
        }
        Ok(())
    }
}

fn quoted(word: &str) -> String {
    if word.contains([' ', '"', '$', '*']) { format!("'{word}'") } else { word.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_shown_as_one_would_type_it() {
        let doc =
            Invocation::cargo(&["doc", "--no-deps"]).environment("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(doc.to_string(), "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps");
    }

    #[test]
    fn a_failure_names_the_command() {
        let error = Invocation::new("false", &["now"]).run(Path::new("/")).unwrap_err();
        assert_eq!(error.to_string(), "`false now` ended with exit status: 1");
    }
}
