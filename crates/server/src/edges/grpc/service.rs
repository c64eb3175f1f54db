//! The client's side of the scheduler, as gRPC sees it: every method parses, asks and answers.

use std::io::Read as _;
use std::pin::Pin;

use bellwether_core::model::{Actor, Name, Seq, WorkerId};
use bellwether_core::{Command, Rejection};
use bellwether_wire::config::{config_from_wire, config_to_wire};
use bellwether_wire::key::{key_from_wire, terms_from_wire};
use bellwether_wire::v1::scheduler_server::Scheduler;
use bellwether_wire::{Malformed, v1};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt as _};
use tonic::{Request, Response, Status, Streaming};

use super::status::status;
use super::{backup, submit, wait};
use crate::edges::desk::{
    Configured, Desk, EventsWanted, LogsWanted, Refused, Start, Unanswered, is_wanted, worker_views,
};
use crate::edges::registrar::invitation;
use crate::event_loop::SavedSnapshot;
use crate::sinks::trace::context;

/// Runs in one answer.
const RUNS_MAX: u32 = 1_000;
const SNAPSHOT_CHUNK_BYTES: usize = 1 << 20;
/// Chunks that wait for a client to take them.
const SNAPSHOT_CHUNKS_MAX: usize = 4;

#[derive(Debug, Clone)]
pub(crate) struct SchedulerService {
    pub(crate) desk: Desk,
}

impl SchedulerService {
    /// The desk for whoever calls: the events of their commands name them.
    fn desk_of<T>(&self, request: &Request<T>) -> Desk {
        self.desk.acting(request.extensions().get::<Actor>().cloned())
    }
}

async fn each<N: From<Name>>(
    desk: Desk,
    ids: Vec<String>,
    command: impl Fn(N) -> Command,
) -> Result<Response<v1::Done>, Status> {
    wait::check_count(&ids)?;
    desk.each(ids, command).await.map(Response::new).map_err(status)
}

/// What the request says of the trace that it belongs to.
/// Reads the snapshot at the pace at which the client takes it.
fn send_chunks(snapshot: SavedSnapshot, to: &mpsc::Sender<Result<v1::SnapshotChunk, Status>>) {
    let SavedSnapshot { head, bytes: mut file } = snapshot;
    loop {
        let mut bytes = Vec::with_capacity(SNAPSHOT_CHUNK_BYTES);
        let read = file.by_ref().take(SNAPSHOT_CHUNK_BYTES as u64).read_to_end(&mut bytes);
        let chunk = match read {
            Ok(0) => return,
            Ok(_) => {
                let chain = bytes::Bytes::copy_from_slice(&head.chain.0);
                Ok(v1::SnapshotChunk { seq: head.seq.0, chain, bytes: bytes.into() })
            }
            Err(error) => Err(Status::internal(format!("the snapshot can't be read: {error}"))),
        };
        let is_last = chunk.is_err();
        // A client that has gone away wants no more.
        if to.blocking_send(chunk).is_err() || is_last {
            return;
        }
    }
}

fn trace_parent<T>(request: &Request<T>) -> Option<String> {
    let value = request.metadata().get(context::TRACE_PARENT)?;
    value.to_str().ok().map(str::to_owned)
}

fn name<N: From<Name>>(field: &str, text: &str) -> Result<N, Status> {
    Name::new(text).map(N::from).map_err(|why| status(&Malformed::new(field, why)))
}

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send + 'static>>;

#[tonic::async_trait]
impl Scheduler for SchedulerService {
    type SubmitStreamStream = Answers<v1::SubmitResponse>;
    type WaitJobsStream = Answers<v1::WaitJobsResponse>;
    type WatchEventsStream = Answers<v1::WatchEventsResponse>;
    type WatchLogsStream = Answers<v1::WatchLogsResponse>;
    type SnapshotStream = Answers<v1::SnapshotChunk>;
    type BackupStream = Answers<v1::BackupPart>;

    async fn submit(
        &self,
        request: Request<v1::SubmitRequest>,
    ) -> Result<Response<v1::SubmitResponse>, Status> {
        let (desk, trace_parent) = (self.desk_of(&request), trace_parent(&request));
        let wire = request.into_inner().submissions;
        let read = desk.read_submissions(&wire, trace_parent.as_deref());
        let submitted = desk.submit(read).await;
        Ok(Response::new(submit::response(submitted.map_err(status)?)))
    }

    async fn submit_stream(
        &self,
        request: Request<Streaming<v1::SubmitRequest>>,
    ) -> Result<Response<Self::SubmitStreamStream>, Status> {
        let (desk, trace_parent) = (self.desk_of(&request), trace_parent(&request));
        let requests = request.into_inner();
        Ok(Response::new(submit::submit_stream(desk, requests, trace_parent)))
    }

    async fn get_job(
        &self,
        request: Request<v1::GetJobRequest>,
    ) -> Result<Response<v1::Job>, Status> {
        let v1::GetJobRequest { id, position } = request.into_inner();
        let job = self.desk.job(id, Seq(position)).await;
        job.map(Response::new).map_err(status)
    }

    async fn list_jobs(
        &self,
        request: Request<v1::ListJobsRequest>,
    ) -> Result<Response<v1::ListJobsResponse>, Status> {
        let found = self.desk.list_jobs(request.into_inner()).await;
        found.map(Response::new).map_err(status)
    }

    async fn list_runs(
        &self,
        request: Request<v1::ListRunsRequest>,
    ) -> Result<Response<v1::ListRunsResponse>, Status> {
        let v1::ListRunsRequest { cursor, limit, id } = request.into_inner();
        let limit = (limit > 0).then_some(limit.min(RUNS_MAX) as usize);
        let page = match id.is_empty() {
            true => self.desk.runs(Some(&cursor), limit).await.map_err(status)?,
            false => self.desk.one_run(&id).await.map_err(status)?,
        };
        let runs = page.runs.into_iter().map(|run| v1::RunSummary {
            id: run.id,
            submitted_at: run.submitted_at,
            ended_at: run.ended_at,
            states: run.states,
            arrays: run.arrays,
        });
        let next_cursor = page.next_cursor.unwrap_or_default();
        Ok(Response::new(v1::ListRunsResponse { runs: runs.collect(), next_cursor }))
    }

    async fn wait_jobs(
        &self,
        request: Request<v1::WaitJobsRequest>,
    ) -> Result<Response<Self::WaitJobsStream>, Status> {
        let v1::WaitJobsRequest { ids, progress } = request.into_inner();
        let answers = wait::wait_jobs(&self.desk, ids, progress).await?;
        Ok(Response::new(answers))
    }

    async fn cancel(
        &self,
        request: Request<v1::CancelRequest>,
    ) -> Result<Response<v1::Done>, Status> {
        let desk = self.desk_of(&request);
        let v1::CancelRequest { ids, reason } = request.into_inner();
        each(desk, ids, |job| Command::Cancel { job, reason: reason.clone() }).await
    }

    async fn retry(
        &self,
        request: Request<v1::RetryRequest>,
    ) -> Result<Response<v1::Done>, Status> {
        let desk = self.desk_of(&request);
        let v1::RetryRequest { ids, force } = request.into_inner();
        each(desk, ids, |job| Command::Retry { job, force }).await
    }

    async fn pin(&self, request: Request<v1::PinRequest>) -> Result<Response<v1::Done>, Status> {
        let desk = self.desk_of(&request);
        let v1::PinRequest { id, worker } = request.into_inner();
        let worker: WorkerId = name("worker", &worker)?;
        each(desk, vec![id], |job| Command::Pin { job, worker: worker.clone() }).await
    }

    async fn list_workers(
        &self,
        request: Request<v1::ListWorkersRequest>,
    ) -> Result<Response<v1::ListWorkersResponse>, Status> {
        let all = request.into_inner().all;
        let seen = self.desk.handle.ask(move |view| worker_views(view, all)).await;
        let workers = seen.map_err(status)?;
        Ok(Response::new(v1::ListWorkersResponse { workers }))
    }

    async fn drain(
        &self,
        request: Request<v1::WorkerRequest>,
    ) -> Result<Response<v1::Done>, Status> {
        let desk = self.desk_of(&request);
        each(desk, vec![request.into_inner().worker], |worker| Command::Drain { worker }).await
    }

    async fn undrain(
        &self,
        request: Request<v1::WorkerRequest>,
    ) -> Result<Response<v1::Done>, Status> {
        let desk = self.desk_of(&request);
        each(desk, vec![request.into_inner().worker], |worker| Command::Undrain { worker }).await
    }

    async fn invite_worker(
        &self,
        request: Request<v1::InviteWorkerRequest>,
    ) -> Result<Response<v1::InviteWorkerResponse>, Status> {
        let desk = self.desk_of(&request);
        let v1::InviteWorkerRequest { worker, terms, lasts } = request.into_inner();
        let terms = terms_from_wire(terms).map_err(|why| status(&why))?;
        let (join_token, wish) = invitation(name("worker", &worker)?, terms, lasts);
        let position = desk.command(wish).await.map_err(status)?.0;
        Ok(Response::new(v1::InviteWorkerResponse { join_token, position }))
    }

    async fn approve_key(
        &self,
        request: Request<v1::ApproveKeyRequest>,
    ) -> Result<Response<v1::Done>, Status> {
        let desk = self.desk_of(&request);
        let v1::ApproveKeyRequest { worker, key, terms } = request.into_inner();
        let key = key_from_wire("key", &key).map_err(|why| status(&why))?;
        let terms = terms_from_wire(terms).map_err(|why| status(&why))?;
        let approve = |worker| Command::ApproveKey { worker, key, terms: terms.clone() };
        each(desk, vec![worker], approve).await
    }

    async fn revoke_key(
        &self,
        request: Request<v1::WorkerRequest>,
    ) -> Result<Response<v1::Done>, Status> {
        let desk = self.desk_of(&request);
        each(desk, vec![request.into_inner().worker], |worker| Command::RevokeKey { worker }).await
    }

    async fn list_keys(
        &self,
        _request: Request<v1::ListKeysRequest>,
    ) -> Result<Response<v1::ListKeysResponse>, Status> {
        let keys = self.desk.keys().await.map_err(status)?;
        Ok(Response::new(v1::ListKeysResponse { keys }))
    }

    async fn pause(&self, request: Request<v1::TypeRequest>) -> Result<Response<v1::Done>, Status> {
        let desk = self.desk_of(&request);
        each(desk, vec![request.into_inner().r#type], |kind| Command::Pause { kind }).await
    }

    async fn unpause(
        &self,
        request: Request<v1::TypeRequest>,
    ) -> Result<Response<v1::Done>, Status> {
        let desk = self.desk_of(&request);
        each(desk, vec![request.into_inner().r#type], |kind| Command::Unpause { kind }).await
    }

    async fn status(
        &self,
        _request: Request<v1::StatusRequest>,
    ) -> Result<Response<v1::StatusResponse>, Status> {
        self.desk.status().await.map(Response::new).map_err(status)
    }

    async fn watch_events(
        &self,
        request: Request<v1::WatchEventsRequest>,
    ) -> Result<Response<Self::WatchEventsStream>, Status> {
        let v1::WatchEventsRequest {
            from,
            kinds,
            job_id,
            run_id,
            by_hand,
            actor,
            until_now,
            after,
        } = request.into_inner();
        let start = match (after.as_str(), from) {
            ("", 0) => Start::Now,
            ("", from) => Start::At(Seq(from)),
            (id, _) => Start::behind(id).ok_or_else(|| {
                status(&Malformed::not_allowed("after", id, "it must be the id of an event"))
            })?,
        };
        EventsWanted::check_kinds(&kinds).map_err(|why| status(&why))?;
        let wanted = EventsWanted {
            from: start.first(),
            kinds,
            job: (!job_id.is_empty()).then_some(job_id),
            run: (!run_id.is_empty()).then_some(run_id),
            by_hand,
            actor: (!actor.is_empty()).then_some(actor),
            follow: !until_now,
        };
        let kinds = wanted.kinds.clone();
        let events = self.desk.events(wanted, move |seen| v1::WatchEventsResponse {
            events: seen
                .iter()
                .flat_map(|seen| seen.to_wire().skip(start.seen_at(seen.entry().seq)))
                .filter(|event| is_wanted(&kinds, &event.kind))
                .collect(),
        });
        let events = ReceiverStream::new(events).map(|answer| answer.map_err(status));
        Ok(Response::new(Box::pin(events)))
    }

    async fn watch_logs(
        &self,
        request: Request<v1::WatchLogsRequest>,
    ) -> Result<Response<Self::WatchLogsStream>, Status> {
        let v1::WatchLogsRequest { id, attempt, follow, after } = request.into_inner();
        let attempt = (attempt > 0).then_some(attempt);
        let output = self.desk.logs(LogsWanted { id, attempt, follow, after }).await;
        let output = ReceiverStream::new(output.map_err(status)?);
        Ok(Response::new(Box::pin(output.map(|answer| answer.map_err(status)))))
    }

    async fn get_config(
        &self,
        _request: Request<v1::GetConfigRequest>,
    ) -> Result<Response<v1::ConfigState>, Status> {
        let Configured { version, config } = self.desk.config().await.map_err(status)?;
        let config = Some(config_to_wire(&config));
        Ok(Response::new(v1::ConfigState { version, config }))
    }

    async fn set_config(
        &self,
        request: Request<v1::SetConfigRequest>,
    ) -> Result<Response<v1::Done>, Status> {
        let desk = self.desk_of(&request);
        let v1::SetConfigRequest { config, expected_version } = request.into_inner();
        let config = config.ok_or_else(|| status(&Malformed::missing("config")))?;
        let config = config_from_wire(&config).map_err(|why| status(&why.within("config")))?;
        let expected_version = (expected_version != 0).then_some(expected_version);
        match desk.configure(config, expected_version).await {
            Ok(Seq(position)) => Ok(Response::new(v1::Done { position, refused: Vec::new() })),
            Err(Unanswered::Refused(why @ Refused::Rejected(Rejection::Config(_)))) => {
                let rejection = Some(v1::Rejection::from(&why));
                let refused = vec![v1::Refused { id: "config".to_owned(), rejection }];
                Ok(Response::new(v1::Done { position: 0, refused }))
            }
            Err(why) => Err(status(why)),
        }
    }

    async fn explain(
        &self,
        request: Request<v1::ExplainRequest>,
    ) -> Result<Response<v1::Explanation>, Status> {
        let v1::ExplainRequest { id, position } = request.into_inner();
        let explained = self.desk.explain(id, Seq(position)).await;
        explained.map(Response::new).map_err(status)
    }

    async fn list_decisions(
        &self,
        request: Request<v1::ListDecisionsRequest>,
    ) -> Result<Response<v1::ListDecisionsResponse>, Status> {
        let decisions = self.desk.decisions(request.into_inner()).await;
        decisions.map(Response::new).map_err(status)
    }

    async fn predictions(
        &self,
        request: Request<v1::PredictionsRequest>,
    ) -> Result<Response<v1::PredictionsResponse>, Status> {
        let predictions = self.desk.predictions(request.into_inner().r#type).await;
        predictions.map(Response::new).map_err(status)
    }

    async fn shadow_report(
        &self,
        _request: Request<v1::ShadowReportRequest>,
    ) -> Result<Response<v1::ShadowReportResponse>, Status> {
        self.desk.shadow_report().await.map(Response::new).map_err(status)
    }

    async fn snapshot(
        &self,
        _request: Request<v1::SnapshotRequest>,
    ) -> Result<Response<Self::SnapshotStream>, Status> {
        let snapshot = self.desk.handle.snapshot().await.map_err(status)?;
        let (chunks, receiver) = mpsc::channel(SNAPSHOT_CHUNKS_MAX);
        tokio::task::spawn_blocking(move || send_chunks(snapshot, &chunks));
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    async fn backup(
        &self,
        _request: Request<v1::BackupRequest>,
    ) -> Result<Response<Self::BackupStream>, Status> {
        let turn = self.desk.backup().map_err(|error| Status::internal(error.to_string()))?;
        let busy = || {
            Status::failed_precondition(
                "another backup is being taken; try again when it has ended",
            )
        };
        let turn = turn.ok_or_else(busy)?;
        let (parts, receiver) = mpsc::channel(backup::PARTS_MAX);
        tokio::task::spawn_blocking(move || backup::send(turn, &parts));
        Ok(Response::new(Box::pin(ReceiverStream::new(receiver))))
    }

    async fn sign_in_link(
        &self,
        request: Request<v1::SignInLinkRequest>,
    ) -> Result<Response<v1::SignInLinkResponse>, Status> {
        let token = request.metadata().get("authorization").and_then(|value| value.to_str().ok());
        let token = token.and_then(|value| value.strip_prefix("Bearer "));
        let link =
            self.desk.sign_in_link(token).map_err(|why| Status::internal(why.to_string()))?;
        Ok(Response::new(v1::SignInLinkResponse { link }))
    }

    async fn list_queues(
        &self,
        _request: Request<v1::ListQueuesRequest>,
    ) -> Result<Response<v1::ListQueuesResponse>, Status> {
        let queues = self.desk.queues.views(self.desk.handle.durable());
        Ok(Response::new(v1::ListQueuesResponse { queues }))
    }

    async fn reload(
        &self,
        _request: Request<v1::ReloadRequest>,
    ) -> Result<Response<v1::ReloadResponse>, Status> {
        let nobody =
            || Status::unimplemented("this scheduler has nothing that it could read again");
        let reloaded = self.desk.reloads.wish().await.ok_or_else(nobody)?;
        let reloaded = reloaded.into_iter().map(|one| {
            let failed = one.outcome.is_err();
            let (Ok(outcome) | Err(outcome)) = one.outcome;
            v1::Reloaded { what: one.what.to_owned(), outcome, failed }
        });
        Ok(Response::new(v1::ReloadResponse { reloaded: reloaded.collect() }))
    }
}
