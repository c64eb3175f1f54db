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

use super::job_view::{job_in_state, worker_views};
use super::status::{malformed, refused, unavailable};
use super::submit::{self, JobIds};
use super::{status_view, wait};
use crate::scheduler::Handle;

#[derive(Debug, Clone)]
pub(crate) struct SchedulerService {
    handle: Handle,
    ids: JobIds,
}

impl SchedulerService {
    pub(crate) fn new(handle: Handle, ids: JobIds) -> SchedulerService {
        SchedulerService { handle, ids }
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
        let request = submit::Request::read(request.into_inner(), &self.ids);
        let response = submit::submit(&self.handle, request).await;
        response.map(Response::new).map_err(unavailable)
    }

    async fn submit_stream(
        &self,
        request: Request<Streaming<v1::SubmitRequest>>,
    ) -> Result<Response<Self::SubmitStreamStream>, Status> {
        let (handle, ids) = (self.handle.clone(), self.ids.clone());
        Ok(Response::new(submit::submit_stream(handle, ids, request.into_inner())))
    }

    async fn get_job(
        &self,
        request: Request<v1::GetJobRequest>,
    ) -> Result<Response<v1::Job>, Status> {
        let id = request.into_inner().id;
        let asked = id.clone();
        let seen = self.handle.ask(move |view| job_in_state(view.state, &asked)).await;
        let job = seen.map_err(unavailable)?;
        let missing = || refused(Code::NotFound, "unknown_job", format!("job {id} is not known"));
        Ok(Response::new(job.ok_or_else(missing)?))
    }

    async fn list_jobs(
        &self,
        _request: Request<v1::ListJobsRequest>,
    ) -> Result<Response<v1::ListJobsResponse>, Status> {
        Err(Status::unimplemented("the registry is not there yet"))
    }

    async fn wait_jobs(
        &self,
        request: Request<v1::WaitJobsRequest>,
    ) -> Result<Response<Self::WaitJobsStream>, Status> {
        let v1::WaitJobsRequest { ids, progress } = request.into_inner();
        let answers = wait::wait_jobs(self.handle.clone(), ids, progress).await?;
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
        Ok(Response::new(seen.map_err(unavailable)?))
    }

    async fn watch_events(
        &self,
        _request: Request<v1::WatchEventsRequest>,
    ) -> Result<Response<Self::WatchEventsStream>, Status> {
        Err(Status::unimplemented("events are not there yet"))
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
        Err(Status::unimplemented("snapshots are not there yet"))
    }
}
