//! What is seen, as rows.

use std::sync::Arc;

use bellwether_core::model::{Name, Seq, Timestamp, WorkerNo};
use bellwether_core::{AttemptEnd, Decision};
use bellwether_wire::decision::reason_kind;

use super::cursor::Cursor;
use super::row::{Row, Table, Values};
use crate::projections::telemetry::buffer::Buffer;
use crate::projections::telemetry::live::{LiveJob, LiveOffer, Workers};
use crate::projections::telemetry::sighting::Sighting;

#[derive(Debug)]
pub(crate) struct Rows {
    buffer: Arc<Buffer<Row>>,
    stream: Name,
    /// Up to here everything has been sent before.
    sent: Seq,
    /// Made since the last hand-over.
    fresh: Vec<Row>,
    /// The row that is being written.
    values: Values,
}

impl Rows {
    pub(super) fn new(buffer: Arc<Buffer<Row>>, cursor: &Cursor) -> Rows {
        let stream = cursor.stream.clone();
        Rows { buffer, stream, sent: cursor.sent, fresh: Vec::new(), values: Values::default() }
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
                    self.fresh.push(row);
                }
            }
            Sighting::OfferEnded { job, offer, end, at, seq } => {
                if *seq > self.sent {
                    let row = self.execution(job, offer, *end, *at, *seq);
                    self.fresh.push(row);
                }
            }
            Sighting::Submitted { .. }
            | Sighting::Started { .. }
            | Sighting::Ended { .. }
            | Sighting::Other { .. } => {}
        }
    }

    /// Hands over what was made.
    pub(crate) fn flush(&mut self) {
        if !self.fresh.is_empty() {
            self.buffer.push(&mut self.fresh);
        }
    }

    fn decision(
        &mut self,
        job: &LiveJob,
        offer: &LiveOffer,
        decision: &Decision,
        workers: &Workers,
    ) -> Row {
        let name = |no: WorkerNo| workers.get(&no).map(|worker| &worker.id);
        let losers =
            decision.losers.iter().filter_map(|loser| Some((name(loser.worker)?, loser.score.0)));
        let shadow = decision.shadow.as_ref().and_then(|shadow| name(shadow.worker));
        self.values
            .name(Some(&self.stream))
            .u64(offer.token.0)
            .u32(seconds(offer.offered_at))
            .u64(offer.offered_at.0)
            .u64(job.no.0)
            .name(Some(&job.spec.id))
            .name(Some(job.spec.kind()))
            .name(job.run.as_ref())
            .u32(offer.number)
            .name(offer.worker.as_ref().map(|worker| &worker.id))
            .bool(offer.hedge)
            .text(decision.strategy.as_str())
            .bool(decision.fallback)
            .text(reason_kind(decision.reason).as_str())
            .i64(decision.score.0)
            .u64(decision.predicted_wait.0)
            .u64(decision.predicted_duration.0)
            .u8(decision.confidence_percent)
            .bool(decision.load_model)
            .u64(offer.offered_at.since(job.queued_at).0)
            .list(losers.clone(), |values, (name, _)| values.name(Some(name)))
            .list(losers, |values, (_, score)| values.i64(score))
            .name(shadow)
            .finish(Table::Decisions, Seq(offer.token.0))
    }

    fn execution(
        &mut self,
        job: &LiveJob,
        offer: &LiveOffer,
        end: AttemptEnd<'_>,
        at: Timestamp,
        seq: Seq,
    ) -> Row {
        let worker = offer.worker.as_ref();
        // A worker may finish before it has said that it began.
        let started = match (offer.started_at, end) {
            (Some(at), _) => Some(at),
            (None, AttemptEnd::Completed { .. }) => Some(offer.offered_at),
            (None, AttemptEnd::Failed { .. } | AttemptEnd::Revoked { .. }) => None,
        };
        let trace_id = job.spec.extras().trace_parent.map(|trace| trace.trace_id);
        self.values
            .name(Some(&self.stream))
            .u64(seq.0)
            .u32(seconds(at))
            .u64(offer.token.0)
            .u64(job.no.0)
            .name(Some(&job.spec.id))
            .name(Some(job.spec.kind()))
            .name(job.run.as_ref())
            .name(job.spec.sender.as_ref())
            .u32(offer.number)
            .name(worker.map(|worker| &worker.id))
            .name(worker.map(|worker| &worker.class))
            .bool(offer.hedge)
            .text(end.as_str())
            .text(end.cause())
            .text(end.error())
            .u64(job.submitted_at.0)
            .u64(offer.offered_at.0)
            // 0 if it never started.
            .u64(started.map_or(0, |started| started.0))
            .u64(at.0)
            .u64(started.map_or(0, |started| at.since(started).0))
            .u64(offer.predicted.0)
            .u64(job.spec.input_bytes())
            .u32(job.spec.requirements.resources.cpu)
            .hex(end.result_hash().map_or(&[], |hash| hash))
            .hex(trace_id.as_ref().map_or(&[], |id| id))
            .finish(Table::Executions, seq)
    }
}

fn seconds(at: Timestamp) -> u32 {
    u32::try_from(at.0 / 1_000_000).unwrap_or(u32::MAX)
}
