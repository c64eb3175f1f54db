//! What `check` found out about a server.

use std::fmt;

/// A list of findings about one queue.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Kind and address, for example `redis at 127.0.0.1:6379`.
    pub server: String,
    /// Its version as it tells it, once it was reached.
    pub version: Option<String>,
    /// One per question, in the order asked; the first failure may end the list.
    pub findings: Vec<Finding>,
}

/// One question and its answer.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What was looked at: `reachable`, `version`, `jobs`...
    pub question: String,
    /// How it is.
    pub verdict: Verdict,
}

/// How it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As it should be; with a word about it.
    Good(String),
    /// It works, but not as well as it could.
    Warning(String),
    /// It does not work, and what to do.
    Bad {
        /// What is wrong.
        reason: String,
        /// The way out.
        way_out: String,
    },
}

impl Report {
    /// Whether the queue can be used.
    pub fn usable(&self) -> bool {
        !self.findings.iter().any(|finding| matches!(finding.verdict, Verdict::Bad { .. }))
    }

    pub(crate) fn of(server: impl Into<String>) -> Self {
        Self { server: server.into(), version: None, findings: Vec::new() }
    }

    pub(crate) fn add(&mut self, question: &str, verdict: Verdict) {
        self.findings.push(Finding { question: question.to_owned(), verdict });
    }

    pub(crate) fn good(&mut self, question: &str, word: impl Into<String>) {
        self.add(question, Verdict::Good(word.into()));
    }

    /// How much waits in a channel.
    pub(crate) fn depth(&mut self, question: &str, messages: u64) {
        match messages {
            1 => self.good(question, "1 message"),
            many => self.good(question, format!("{many} messages")),
        }
    }

    /// A failure; an error that names its own way out keeps it.
    pub(crate) fn failed(&mut self, question: &str, error: &crate::BrokerError) {
        let (reason, way_out) = match error {
            crate::BrokerError::Lost { reason, .. } if self.findings.is_empty() => {
                (reason.clone(), "start the server, or correct host and port".to_owned())
            }
            crate::BrokerError::Lost { reason, .. } => {
                let way_out = "it was there a moment ago: see its log, and what this user may do";
                (reason.clone(), way_out.to_owned())
            }
            crate::BrokerError::Refused { reason, way_out, .. } => {
                (reason.clone(), way_out.clone())
            }
            crate::BrokerError::Misuse { reason } => {
                (reason.clone(), "correct the settings of the queue".to_owned())
            }
        };
        self.add(question, Verdict::Bad { reason, way_out });
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.server)?;
        if let Some(version) = &self.version {
            write!(f, ", version {version}")?;
        }
        for Finding { question, verdict } in &self.findings {
            match verdict {
                Verdict::Good(word) => write!(f, "\n  ok    {question}: {word}")?,
                Verdict::Warning(word) => write!(f, "\n  warn  {question}: {word}")?,
                Verdict::Bad { reason, way_out } => {
                    write!(f, "\n  bad   {question}: {reason}; {way_out}")?;
                }
            }
        }
        Ok(())
    }
}
