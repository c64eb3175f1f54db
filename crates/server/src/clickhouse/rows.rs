//! What is seen, as rows.

use std::sync::Arc;

use bellwether_core::Decision;
use bellwether_core::model::{Name, Seq, Timestamp, WorkerNo};
use bellwether_wire::json::hex;

use super::cursor::Cursor;
use super::names::reason_name;
use super::row::{DecisionRow, ExecutionRow, Row};
use crate::telemetry::buffer::Buffer;
use crate::telemetry::live::{LiveJob, LiveOffer, Workers};
use crate::telemetry::sighting::{OfferEnd, Sighting};

#[derive(Debug)]
pub(crate) struct Rows {
    buffer: Arc<Buffer<Row>>,
    stream: Name,
    /// Up to here everything has been sent before.
    sent: Seq,
    /// Made since the last hand-over.
    fresh: Vec<Row>,
}

impl Rows {
    pub(super) fn new(buffer: Arc<Buffer<Row>>, cursor: &Cursor) -> Rows {
        let stream = cursor.stream.clone();
        Rows { buffer, stream, sent: cursor.sent, fresh: Vec::new() }
    }

    /// Positions up to `first` cannot be read again: what was not sent of them is lost.
    pub(crate) fn begins_after(&self, first: Seq) {
        if self.sent > Seq(0) && self.sent < first {
            let (from, to) = (self.sent.next(), first);
            tracing::warn!(%from, %to, "rows of these positions may be missing in ClickHouse");
        }
    }

    pub(crate) fn see(&mut self, sighting: &Sighting<'_>) {
        match sighting {
            Sighting::Decided { job, offer, decision, workers } => {
                if offer.token.0 > self.sent.0 {
                    let row = self.decision(job, offer, decision, workers);
                    self.fresh.push(Row::Decision(row));
                }
            }
            Sighting::OfferEnded { job, offer, end, at, seq } => {
                if *seq > self.sent {
                    let row = self.execution(job, offer, end, *at, *seq);
                    self.fresh.push(Row::Execution(row));
                }
            }
            Sighting::Submitted { .. }
            | Sighting::Started { .. }
            | Sighting::Retried { .. }
            | Sighting::Escalated
            | Sighting::Ended { .. }
            | Sighting::PredictorFailed
            | Sighting::BreakerOpened
            | Sighting::Drifted { .. } => {}
        }
    }

    /// Hands over what was made.
    pub(crate) fn flush(&mut self) {
        if !self.fresh.is_empty() {
            self.buffer.push(&mut self.fresh);
        }
    }

    fn decision(
        &self,
        job: &LiveJob,
        offer: &LiveOffer,
        decision: &Decision,
        workers: &Workers,
    ) -> DecisionRow {
        let name = |no: &WorkerNo| workers.get(no).map(|worker| worker.id.clone());
        let losers: Vec<(Name, i64)> = decision
            .losers
            .iter()
            .filter_map(|loser| Some((name(&loser.worker)?, loser.score.0)))
            .collect();
        DecisionRow {
            stream: self.stream.clone(),
            position: offer.token.0,
            at: seconds(offer.offered_at),
            at_us: offer.offered_at.0,
            job: job.no.0,
            job_id: job.spec.id.clone(),
            kind: job.spec.kind().clone(),
            run_id: job.run.clone(),
            attempt: offer.number,
            worker: offer.worker.as_ref().map(|worker| worker.id.clone()),
            hedge: offer.hedge,
            strategy: decision.strategy.as_str(),
            fallback: decision.fallback,
            reason: reason_name(decision.reason),
            score: decision.score.0,
            predicted_wait_us: decision.predicted_wait.0,
            predicted_us: decision.predicted_duration.0,
            confidence_percent: decision.confidence_percent,
            load_model: decision.load_model,
            queued_us: offer.offered_at.since(job.queued_at).0,
            loser_scores: losers.iter().map(|(_, score)| *score).collect(),
            losers: losers.into_iter().map(|(name, _)| name).collect(),
            shadow_worker: decision.shadow.as_ref().and_then(|shadow| name(&shadow.worker)),
        }
    }

    fn execution(
        &self,
        job: &LiveJob,
        offer: &LiveOffer,
        end: &OfferEnd<'_>,
        at: Timestamp,
        seq: Seq,
    ) -> ExecutionRow {
        let worker = offer.worker.as_ref();
        // A worker may finish before it has said that it began.
        let started = match (offer.started_at, end) {
            (Some(at), _) => Some(at),
            (None, OfferEnd::Completed { .. }) => Some(offer.offered_at),
            (None, OfferEnd::Failed { .. } | OfferEnd::Revoked { .. }) => None,
        };
        ExecutionRow {
            stream: self.stream.clone(),
            position: seq.0,
            at: seconds(at),
            token: offer.token.0,
            job: job.no.0,
            job_id: job.spec.id.clone(),
            kind: job.spec.kind().clone(),
            run_id: job.run.clone(),
            sender: job.spec.sender.clone(),
            attempt: offer.number,
            worker: worker.map(|worker| worker.id.clone()),
            worker_class: worker.map(|worker| worker.class.clone()),
            hedge: offer.hedge,
            outcome: end.name(),
            cause: end.cause(),
            error: end.error().to_owned(),
            submitted_us: job.submitted_at.0,
            offered_us: offer.offered_at.0,
            started_us: started.map_or(0, |started| started.0),
            ended_us: at.0,
            duration_us: started.map_or(0, |started| at.since(started).0),
            predicted_us: offer.predicted.0,
            input_bytes: job.spec.input_bytes,
            cpu: job.spec.requirements.resources.cpu,
            result_hash: end.result_hash().map_or_else(String::new, |hash| hex(hash)),
            trace_id: job.spec.trace_parent.as_ref().map_or_else(String::new, |t| hex(&t.trace_id)),
        }
    }
}

fn seconds(at: Timestamp) -> u32 {
    u32::try_from(at.0 / 1_000_000).unwrap_or(u32::MAX)
}
