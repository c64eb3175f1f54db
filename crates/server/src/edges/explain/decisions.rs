//! The latest decisions, read from the journal backwards.

use bellwether_core::model::{JobNo, Seq};
use bellwether_core::{Decision, Event};
use bellwether_journal::ReadError;
use bellwether_wire::decision::decision_to_wire;
use bellwether_wire::explained::{About, explained};
use bellwether_wire::v1;

use crate::edges::desk::{Desk, Unanswered};
use crate::projections::history::HistoryError;
use crate::projections::registry::{LookupError, QueryError};

const LIMIT_DEFAULT: u32 = 50;
const LIMIT_MAX: u32 = 500;
/// Entries that are read at a time.
const WINDOW_ENTRIES: u64 = 2_000;
/// Entries that are read for one page; the next page goes on from there.
const PAGE_ENTRIES_MAX: u64 = 40_000;

struct Found {
    seq: Seq,
    at: u64,
    job: JobNo,
    worker: u32,
    hedge: bool,
    decision: Box<Decision>,
}

impl Desk {
    pub(crate) async fn decisions(
        &self,
        wanted: v1::ListDecisionsRequest,
    ) -> Result<v1::ListDecisionsResponse, Unanswered> {
        let limit = if wanted.limit == 0 { LIMIT_DEFAULT } else { wanted.limit.min(LIMIT_MAX) };
        if !wanted.job_id.is_empty() {
            return self.decisions_of(&wanted, limit as usize).await;
        }
        let durable = self.handle.durable();
        let mut end = match wanted.cursor.as_str() {
            "" => durable,
            cursor => {
                let before = cursor.parse().map_err(|_| LookupError::Query(QueryError::Cursor))?;
                durable.min(Seq(before))
            }
        };
        self.registry.reach(end).await?;
        let last = end.0.saturating_sub(PAGE_ENTRIES_MAX);
        let mut decisions = Vec::new();
        while end.0 > last && decisions.len() < limit as usize {
            let start = Seq((end.0 + 1).saturating_sub(WINDOW_ENTRIES).max(last + 1));
            let (found, reached) = self.window(start, end).await?;
            for decision in self.named(found, &wanted).await? {
                if decisions.len() == limit as usize {
                    break;
                }
                end = Seq(decision.position - 1);
                decisions.push(decision);
            }
            if decisions.len() < limit as usize {
                end = Seq(reached.0.saturating_sub(1));
            }
            if reached > start {
                // The journal starts here.
                end = if decisions.len() < limit as usize { Seq(0) } else { end };
                break;
            }
        }
        let next_cursor = if end.0 == 0 { String::new() } else { end.to_string() };
        Ok(v1::ListDecisionsResponse { decisions, next_cursor })
    }

    async fn decisions_of(
        &self,
        wanted: &v1::ListDecisionsRequest,
        limit: usize,
    ) -> Result<v1::ListDecisionsResponse, Unanswered> {
        let job = self.job(wanted.job_id.clone(), Seq(0)).await?;
        let attempts = self.explained_attempts(&job).await?;
        let decisions = attempts.into_iter().rev().filter_map(|attempt| attempt.decision);
        let fits = |decision: &v1::ExplainedDecision| is_wanted(decision, wanted);
        let decisions = decisions.filter(fits).take(limit).collect();
        Ok(v1::ListDecisionsResponse { decisions, next_cursor: String::new() })
    }

    /// The decisions between two positions, newest first, and the first position that there is.
    async fn window(&self, start: Seq, end: Seq) -> Result<(Vec<Found>, Seq), Unanswered> {
        let (records, start) = match self.history.read_between(start, end).await {
            Err(HistoryError::Read(ReadError::Truncated { first })) if first > end => {
                return Ok((Vec::new(), first));
            }
            Err(HistoryError::Read(ReadError::Truncated { first })) => {
                (self.history.read_between(first, end).await?, first)
            }
            read => (read?, start),
        };
        let mut found = Vec::new();
        for entry in records.iter().flat_map(|record| &record.entries) {
            let (seq, at) = (entry.seq, entry.at.0);
            if let Event::Assigned { job, worker, hedge, decision } = &entry.event
                && (start..=end).contains(&seq)
            {
                let (job, hedge, decision) = (*job, *hedge, decision.clone());
                found.push(Found { seq, at, job, worker: worker.0, hedge, decision });
            }
        }
        found.reverse();
        Ok((found, start))
    }

    async fn named(
        &self,
        found: Vec<Found>,
        wanted: &v1::ListDecisionsRequest,
    ) -> Result<Vec<v1::ExplainedDecision>, Unanswered> {
        let jobs: Vec<JobNo> = found.iter().map(|found| found.job).collect();
        let workers: Vec<u32> = found.iter().map(|found| found.worker).collect();
        let (jobs, workers) = self.registry.names(jobs, workers).await?;
        let wire: Vec<v1::Decision> =
            found.iter().map(|found| decision_to_wire(&found.decision)).collect();
        let others = self.worker_names(wire.iter()).await?;
        let name = |no: u32| others.get(&no).cloned().unwrap_or_else(|| format!("number {no}"));
        let explain = |(found, (decision, (job, worker))): (Found, _)| {
            let (decision, job, worker): (
                v1::Decision,
                crate::projections::registry::JobNames,
                String,
            ) = (decision, job, worker);
            let about = About {
                position: found.seq.0,
                at: found.at,
                job_id: job.id,
                kind: job.kind,
                worker,
                hedge: found.hedge,
            };
            explained(about, &decision, name)
        };
        let named = found.into_iter().zip(wire.into_iter().zip(jobs.into_iter().zip(workers)));
        let named = named.map(explain);
        Ok(named.filter(|decision| is_wanted(decision, wanted)).collect())
    }
}

fn is_wanted(decision: &v1::ExplainedDecision, wanted: &v1::ListDecisionsRequest) -> bool {
    (wanted.worker.is_empty() || wanted.worker == decision.worker)
        && (wanted.r#type.is_empty() || wanted.r#type == decision.r#type)
}
