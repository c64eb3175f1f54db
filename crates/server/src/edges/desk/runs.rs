//! Looking at runs.

use super::{Desk, Unanswered};
use crate::projections::registry::{LookupError, QueryError, RunSummary};

const LIMIT_DEFAULT: usize = 50;

/// Some of the runs, newest first.
#[derive(Debug)]
pub(crate) struct RunPage {
    pub(crate) runs: Vec<RunSummary>,
    pub(crate) next_cursor: Option<String>,
}

impl Desk {
    pub(crate) async fn run(&self, id: &str) -> Result<RunSummary, Unanswered> {
        self.registry.reach(self.handle.durable()).await?;
        let found = self.registry.run(id.to_owned()).await?;
        found.ok_or_else(|| Unanswered::UnknownRun { id: id.to_owned() })
    }

    /// A list of the one of this id, or of none.
    pub(crate) async fn one_run(&self, id: &str) -> Result<RunPage, Unanswered> {
        let runs = match self.run(id).await {
            Ok(run) => vec![run],
            Err(Unanswered::UnknownRun { .. }) => Vec::new(),
            Err(why) => return Err(why),
        };
        Ok(RunPage { runs, next_cursor: None })
    }

    pub(crate) async fn runs(
        &self,
        cursor: Option<&str>,
        limit: Option<usize>,
    ) -> Result<RunPage, Unanswered> {
        let before = match cursor {
            None | Some("") => u64::MAX,
            Some(cursor) => cursor.parse().map_err(|_| LookupError::Query(QueryError::Cursor))?,
        };
        let limit = limit.unwrap_or(LIMIT_DEFAULT);
        self.registry.reach(self.handle.durable()).await?;
        let mut runs = self.registry.runs(before, limit + 1).await?;
        let more = runs.len() > limit;
        runs.truncate(limit);
        let next_cursor = runs.last().filter(|_| more).map(|last| last.last.to_string());
        Ok(RunPage { runs, next_cursor })
    }
}
