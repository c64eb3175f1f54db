//! The client's side of the scheduler, as gRPC sees it: every method parses, asks and answers.

use std::pin::Pin;

use bellwether_core::Command;
use bellwether_core::model::{Name, Seq};
use bellwether_wire::config::{config_from_wire, config_to_wire};
use bellwether_wire::rejection::rejection_to_wire;
use bellwether_wire::v1::scheduler_server::Scheduler;
use bellwether_wire::{Malformed, v1};
use tokio_stream::Stream;
use tonic::{Code, Request, Response, Status, Streaming};

use super::events::watch_events;
use super::job_view::worker_views;
use super::status::{lookup_failed, malformed, refused, unavailable};
use super::submit::{self, JobIds, Submitter};
use super::{jobs, status_view, wait};
use crate::history::History;
use crate::registry::Registry;
use crate::scheduler::Handle;

const SNAPSHOT_CHUNK_BYTES: usize = 1 << 20;

#[derive(Debug, Clone)]
pub(crate) struct SchedulerService {
    pub(crate) handle: Handle,
    pub(crate) ids: JobIds,
    pub(crate) registry: Registry,
    pub(crate) history: History,
}

impl SchedulerService {
    fn submitter(&self) -> Submitter {
        let (handle, ids) = (self.handle.clone(), self.ids.clone());
        Submitter { handle, ids, registry: self.registry.clone() }
    }

    /// One command for each id, all in one go; what is refused is named.
    async fn each(
        &self,
        ids: Vec<String>,
        command: impl Fn(Name) -> Command,
    ) -> Result<Response<v1::Done>, Status> {
        let mut refused = Vec::new();
        let mut names = Vec::with_capacity(ids.len());
        let mut commands = Vec::with_capacity(ids.len());
        for id in ids {
            match Name::new(&id) {
                Ok(name) => {
                    names.push(id);
                    commands.push(command(name));
                }
                Err(why) => {
                    let why = Malformed::new("id", why);
                    refused.push(v1::Refused { id, rejection: Some(v1::Rejection::from(&why)) });
                }
            }
        }
        let settled = self.handle.command(commands).await.map_err(unavailable)?;
        let position = settled.iter().map(|settled| settled.seq).max().unwrap_or(Seq(0));
        for (id, settled) in names.into_iter().zip(settled) {
            if let Err(rejection) = settled.result {
                let rejection = Some(rejection_to_wire(&rejection));
                refused.push(v1::Refused { id, rejection });
            }
        }
        Ok(Response::new(v1::Done { position: position.0, refused }))
    }
}

fn name(field: &str, text: &str) -> Result<Name, Status> {
    Name::new(text).map_err(|why| malformed(&Malformed::new(field, why)))
}

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send + 'static>>;

#[tonic::async_trait]
impl Scheduler for SchedulerService {
    type SubmitStreamStream = Answers<v1::SubmitResponse>;
    type WaitJobsStream = Answers<v1::WaitJobsResponse>;
    type WatchEventsStream = Answers<v1::WatchEventsResponse>;
    type SnapshotStream = Answers<v1::SnapshotChunk>;

    async fn submit(
        &self,
        request: Request<v1::SubmitRequest>,
    ) -> Result<Response<v1::SubmitResponse>, Status> {
        let response = submit::submit(&self.submitter(), request.into_inner()).await;
        response.map(Response::new).map_err(unavailable)
    }

    async fn submit_stream(
        &self,
        request: Request<Streaming<v1::SubmitRequest>>,
    ) -> Result<Response<Self::SubmitStreamStream>, Status> {
        Ok(Response::new(submit::submit_stream(self.submitter(), request.into_inner())))
    }

    async fn get_job(
        &self,
        request: Request<v1::GetJobRequest>,
    ) -> Result<Response<v1::Job>, Status> {
        let v1::GetJobRequest { id, position } = request.into_inner();
        let job = jobs::job(&self.handle, &self.registry, id, Seq(position)).await?;
        Ok(Response::new(job))
    }

    async fn list_jobs(
        &self,
        request: Request<v1::ListJobsRequest>,
    ) -> Result<Response<v1::ListJobsResponse>, Status> {
        let found = jobs::list(&self.handle, &self.registry, request.into_inner()).await?;
        Ok(Response::new(found))
    }

    async fn wait_jobs(
        &self,
        request: Request<v1::WaitJobsRequest>,
    ) -> Result<Response<Self::WaitJobsStream>, Status> {
        let v1::WaitJobsRequest { ids, progress } = request.into_inner();
        let answers = wait::wait_jobs(&self.handle, &self.registry, ids, progress).await?;
        Ok(Response::new(answers))
    }

    async fn cancel(
        &self,
        request: Request<v1::CancelRequest>,
    ) -> Result<Response<v1::Done>, Status> {
        let v1::CancelRequest { ids, reason } = request.into_inner();
        self.each(ids, |job| Command::Cancel { job, reason: reason.clone() }).await
    }

    async fn retry(
        &self,
        request: Request<v1::RetryRequest>,
    ) -> Result<Response<v1::Done>, Status> {
        self.each(request.into_inner().ids, |job| Command::Retry { job }).await
    }

    async fn pin(&self, request: Request<v1::PinRequest>) -> Result<Response<v1::Done>, Status> {
        let v1::PinRequest { id, worker } = request.into_inner();
        let worker = name("worker", &worker)?;
        self.each(vec![id], |job| Command::Pin { job, worker: worker.clone() }).await
    }

    async fn list_workers(
        &self,
        request: Request<v1::ListWorkersRequest>,
    ) -> Result<Response<v1::ListWorkersResponse>, Status> {
        let all = request.into_inner().all;
        let seen = self.handle.ask(move |view| worker_views(view, all)).await;
        let workers = seen.map_err(unavailable)?;
        Ok(Response::new(v1::ListWorkersResponse { workers }))
    }

    async fn drain(
        &self,
        request: Request<v1::WorkerRequest>,
    ) -> Result<Response<v1::Done>, Status> {
        self.each(vec![request.into_inner().worker], |worker| Command::Drain { worker }).await
    }

    async fn undrain(
        &self,
        request: Request<v1::WorkerRequest>,
    ) -> Result<Response<v1::Done>, Status> {
        self.each(vec![request.into_inner().worker], |worker| Command::Undrain { worker }).await
    }

    async fn pause(&self, request: Request<v1::TypeRequest>) -> Result<Response<v1::Done>, Status> {
        self.each(vec![request.into_inner().r#type], |kind| Command::Pause { kind }).await
    }

    async fn unpause(
        &self,
        request: Request<v1::TypeRequest>,
    ) -> Result<Response<v1::Done>, Status> {
        self.each(vec![request.into_inner().r#type], |kind| Command::Unpause { kind }).await
    }

    async fn status(
        &self,
        _request: Request<v1::StatusRequest>,
    ) -> Result<Response<v1::StatusResponse>, Status> {
        let seen = self.handle.ask(status_view::status).await;
        let mut status = seen.map_err(unavailable)?;
        status_view::add_ended(&mut status, self.registry.counts().await.map_err(lookup_failed)?);
        Ok(Response::new(status))
    }

    async fn watch_events(
        &self,
        request: Request<v1::WatchEventsRequest>,
    ) -> Result<Response<Self::WatchEventsStream>, Status> {
        let (history, registry) = (self.history.clone(), self.registry.clone());
        let events = watch_events(&self.handle, history, registry, request.into_inner());
        Ok(Response::new(events))
    }

    async fn get_config(
        &self,
        _request: Request<v1::GetConfigRequest>,
    ) -> Result<Response<v1::ConfigState>, Status> {
        let seen = self.handle.ask(|view| v1::ConfigState {
            version: view.state.config_version(),
            config: Some(config_to_wire(view.state.config())),
        });
        Ok(Response::new(seen.await.map_err(unavailable)?))
    }

    async fn set_config(
        &self,
        request: Request<v1::SetConfigRequest>,
    ) -> Result<Response<v1::Done>, Status> {
        let v1::SetConfigRequest { config, expected_version } = request.into_inner();
        let config = config.ok_or_else(|| malformed(&Malformed::missing("config")))?;
        let config = config_from_wire(&config).map_err(|why| malformed(&why.within("config")))?;
        if expected_version != 0 {
            let seen = self.handle.ask(|view| view.state.config_version());
            let version = seen.await.map_err(unavailable)?;
            if version != expected_version {
                let text = format!(
                    "the configuration has version {version}, not {expected_version}; read it again"
                );
                return Err(refused(Code::FailedPrecondition, "config_changed", text));
            }
        }
        self.each(vec!["config".to_owned()], |_| Command::Configure(Box::new(config.clone()))).await
    }

    async fn snapshot(
        &self,
        _request: Request<v1::SnapshotRequest>,
    ) -> Result<Response<Self::SnapshotStream>, Status> {
        let snapshot = self.handle.snapshot().await.map_err(unavailable)?;
        let seq = snapshot.head.seq.0;
        let chain = bytes::Bytes::copy_from_slice(&snapshot.head.chain.0);
        let chunks: Vec<_> = (0..snapshot.bytes.len().max(1))
            .step_by(SNAPSHOT_CHUNK_BYTES)
            .map(|start| {
                let end = snapshot.bytes.len().min(start + SNAPSHOT_CHUNK_BYTES);
                let bytes = snapshot.bytes.slice(start..end);
                Ok(v1::SnapshotChunk { seq, chain: chain.clone(), bytes })
            })
            .collect();
        Ok(Response::new(Box::pin(tokio_stream::iter(chunks))))
    }
}
