//! A real server in this process, on real sockets and a temporary folder, and a worker that does
//! exactly what a test says.

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use bellwether_server::{Server, ServerConfig};
use bellwether_wire::v1;
use bellwether_wire::v1::report::Report as Kind;
use bellwether_wire::v1::scheduler_client::SchedulerClient;
use bellwether_wire::v1::worker_link_client::WorkerLinkClient;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Status, Streaming};

/// Longer than anything here should take, shorter than anybody's patience.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

pub(crate) struct Fixture {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) config: ServerConfig,
    pub(crate) server: Server,
    pub(crate) client: SchedulerClient<Link>,
}

/// A connection that shows the token which the scheduler has made, unless a call has another.
pub(crate) type Link = InterceptedService<Channel, Bearer>;

#[derive(Debug, Clone)]
pub(crate) struct Bearer(Option<MetadataValue<Ascii>>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: tonic::Request<()>) -> Result<tonic::Request<()>, Status> {
        let metadata = request.metadata_mut();
        if let Some(bearer) = &self.0
            && !metadata.contains_key("authorization")
        {
            metadata.insert("authorization", bearer.clone());
        }
        Ok(request)
    }
}

impl Fixture {
    pub(crate) async fn start() -> Result<Fixture> {
        Fixture::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut ServerConfig)) -> Result<Fixture> {
        let folder = tempfile::tempdir()?;
        let mut config = ServerConfig {
            data_dir: folder.path().join("data"),
            grpc: "127.0.0.1:0".parse()?,
            http: "127.0.0.1:0".parse()?,
            ..ServerConfig::default()
        };
        change(&mut config);
        let server = Server::start(config.clone()).await?;
        let client = SchedulerClient::new(channel(&server).await?);
        Ok(Fixture { folder, config, server, client })
    }

    /// The same data directory with a new process, as far as one process can play that.
    pub(crate) async fn restart(self) -> Result<Fixture> {
        self.restart_after(|| {}).await
    }

    pub(crate) async fn restart_after(self, meanwhile: impl FnOnce()) -> Result<Fixture> {
        let Fixture { folder, config, server, client } = self;
        drop(client);
        server.shutdown().await;
        meanwhile();
        let server = Server::start(config.clone()).await?;
        let client = SchedulerClient::new(channel(&server).await?);
        Ok(Fixture { folder, config, server, client })
    }

    pub(crate) async fn submit(&mut self, jobs: Vec<v1::JobSpec>) -> Result<Vec<v1::SubmitResult>> {
        let submissions = jobs.into_iter().map(single).collect();
        let response = self.client.submit(v1::SubmitRequest { submissions }).await?;
        Ok(response.into_inner().results)
    }

    pub(crate) async fn job(&mut self, id: &str) -> Result<v1::Job> {
        let request = v1::GetJobRequest { id: id.to_owned(), position: 0 };
        Ok(self.client.get_job(request).await?.into_inner())
    }

    /// Changes one setting while the server runs.
    pub(crate) async fn set_max_retry(&mut self, max_retry: u32) -> Result<()> {
        let state = self.client.get_config(v1::GetConfigRequest {}).await?.into_inner();
        let config = v1::Config { max_retry, ..state.config.context("a configuration")? };
        let request = v1::SetConfigRequest { config: Some(config), expected_version: 0 };
        self.client.set_config(request).await?;
        Ok(())
    }

    pub(crate) async fn max_retry(&mut self) -> Result<u32> {
        let state = self.client.get_config(v1::GetConfigRequest {}).await?.into_inner();
        Ok(state.config.context("a configuration")?.max_retry)
    }

    /// Waits until the job is in this state.
    pub(crate) async fn job_is(&mut self, id: &str, state: v1::JobState) -> Result<v1::Job> {
        let mut last = None;
        let wait = async {
            loop {
                let job = self.job(id).await?;
                if job.state() == state {
                    return Ok(job);
                }
                last = Some(job.state());
                tokio::task::yield_now().await;
            }
        };
        let result = tokio::time::timeout(DEADLINE, wait).await;
        result.unwrap_or_else(|_| bail!("job {id} is {last:?}, not {state:?}"))
    }

    pub(crate) async fn worker(&self, id: &str, slots: u32) -> Result<FakeWorker> {
        self.worker_with(id, slots, Vec::new()).await
    }

    /// A worker that says that it holds these.
    pub(crate) async fn worker_with(
        &self,
        id: &str,
        slots: u32,
        held: Vec<v1::Attempt>,
    ) -> Result<FakeWorker> {
        FakeWorker::connect(channel(&self.server).await?, spec(id, slots), held).await
    }
}

pub(crate) async fn channel(server: &Server) -> Result<Link> {
    let address = format!("http://{}", server.grpc_address());
    let channel = tonic::transport::Endpoint::from_shared(address)?.connect().await?;
    let bearer = server.local_token().map(|token| format!("Bearer {token}").parse()).transpose()?;
    Ok(InterceptedService::new(channel, Bearer(bearer)))
}

pub(crate) fn single(job: v1::JobSpec) -> v1::Submission {
    v1::Submission { run_id: String::new(), jobs: vec![job], ..Default::default() }
}

pub(crate) fn job(id: &str) -> v1::JobSpec {
    v1::JobSpec::new(id, "test")
}

pub(crate) fn spec(id: &str, slots: u32) -> v1::WorkerSpec {
    v1::WorkerSpec { id: id.to_owned(), slots, instance: 1, ..Default::default() }
}

pub(crate) fn accepted(result: &v1::SubmitResult) -> &v1::Accepted {
    match &result.result {
        Some(v1::submit_result::Result::Accepted(accepted)) => accepted,
        other => panic!("not accepted: {other:?}"),
    }
}

pub(crate) fn rejection(result: &v1::SubmitResult) -> &v1::Rejection {
    match &result.result {
        Some(v1::submit_result::Result::Rejection(rejection)) => rejection,
        other => panic!("not rejected: {other:?}"),
    }
}

pub(crate) struct FakeWorker {
    pub(crate) registered: v1::Registered,
    outgoing: Option<mpsc::Sender<v1::WorkerMessage>>,
    incoming: Streaming<v1::SchedulerMessage>,
    /// Heard and not yet asked for.
    heard: v1::SchedulerMessage,
}

impl FakeWorker {
    pub(crate) async fn connect(
        channel: Link,
        spec: v1::WorkerSpec,
        held: Vec<v1::Attempt>,
    ) -> Result<FakeWorker> {
        FakeWorker::open(channel, None, spec, held).await
    }

    /// With a token.
    pub(crate) async fn connect_as(
        channel: Link,
        token: &str,
        spec: v1::WorkerSpec,
    ) -> Result<FakeWorker> {
        FakeWorker::open(channel, Some(token), spec, Vec::new()).await
    }

    async fn open(
        channel: Link,
        token: Option<&str>,
        spec: v1::WorkerSpec,
        held: Vec<v1::Attempt>,
    ) -> Result<FakeWorker> {
        let (outgoing, messages) = mpsc::channel(64);
        let register = Some(v1::Register { spec: Some(spec), held, ..Default::default() });
        outgoing.send(v1::WorkerMessage { register, ..Default::default() }).await?;
        let mut request = tonic::Request::new(ReceiverStream::new(messages));
        if let Some(token) = token {
            let value = format!("Bearer {token}").parse()?;
            request.metadata_mut().insert("authorization", value);
        }
        let session = WorkerLinkClient::new(channel).session(request).await;
        let mut incoming = session?.into_inner();
        // A worker without a key has nothing to sign.
        incoming.message().await?.context("no challenge")?;
        let mut first = incoming.message().await?.context("the stream ended at once")?;
        let registered = first.registered.take().context("not registered")?;
        Ok(FakeWorker { registered, outgoing: Some(outgoing), incoming, heard: first })
    }

    pub(crate) async fn hear(&mut self) -> Result<()> {
        let message = tokio::time::timeout(DEADLINE, self.incoming.message()).await??;
        let message = message.context("the stream has ended")?;
        self.heard.offers.extend(message.offers);
        self.heard.grants.extend(message.grants);
        self.heard.revokes.extend(message.revokes);
        self.heard.refusals.extend(message.refusals);
        self.heard.reports_done = self.heard.reports_done.max(message.reports_done);
        self.heard.logs_done = self.heard.logs_done.max(message.logs_done);
        self.heard.drain |= message.drain;
        self.heard.reconnect |= message.reconnect;
        Ok(())
    }

    pub(crate) async fn offer(&mut self) -> Result<v1::Offer> {
        while self.heard.offers.is_empty() {
            self.hear().await?;
        }
        Ok(self.heard.offers.remove(0))
    }

    pub(crate) async fn grant(&mut self) -> Result<v1::Attempt> {
        while self.heard.grants.is_empty() {
            self.hear().await?;
        }
        Ok(self.heard.grants.remove(0))
    }

    pub(crate) async fn revoke(&mut self) -> Result<v1::Revoke> {
        while self.heard.revokes.is_empty() {
            self.hear().await?;
        }
        Ok(self.heard.revokes.remove(0))
    }

    pub(crate) async fn refusal(&mut self) -> Result<v1::Refusal> {
        while self.heard.refusals.is_empty() {
            self.hear().await?;
        }
        Ok(self.heard.refusals.remove(0))
    }

    pub(crate) async fn told_to_reconnect(&mut self) -> Result<()> {
        while !self.heard.reconnect {
            self.hear().await?;
        }
        Ok(())
    }

    /// Waits until so many reports are done with.
    pub(crate) async fn reports_done(&mut self, number: u64) -> Result<()> {
        while self.heard.reports_done < number {
            self.hear().await?;
        }
        Ok(())
    }

    /// Waits until so many chunks of output are settled.
    pub(crate) async fn logs_done(&mut self, number: u64) -> Result<()> {
        while self.heard.logs_done < number {
            self.hear().await?;
        }
        Ok(())
    }

    /// Closes this side of the stream.
    pub(crate) fn close(&mut self) {
        self.outgoing = None;
    }

    /// How the stream ends.
    pub(crate) async fn end(mut self) -> Result<Option<tonic::Status>> {
        loop {
            match tokio::time::timeout(DEADLINE, self.incoming.message()).await? {
                Ok(Some(_)) => {}
                Ok(None) => return Ok(None),
                Err(status) => return Ok(Some(status)),
            }
        }
    }

    pub(crate) async fn send(&self, message: v1::WorkerMessage) -> Result<()> {
        let outgoing = self.outgoing.as_ref().context("closed")?;
        Ok(outgoing.send(message).await?)
    }

    pub(crate) async fn report(&self, offer: &v1::Offer, kind: Kind) -> Result<()> {
        let report = v1::Report { job: offer.job, token: offer.token, report: Some(kind) };
        self.send(v1::WorkerMessage { reports: vec![report], ..Default::default() }).await
    }

    pub(crate) async fn complete(&self, offer: &v1::Offer, result: &'static str) -> Result<()> {
        self.report(offer, Kind::Complete(v1::Complete { result: result.into() })).await
    }

    pub(crate) async fn fail(&self, offer: &v1::Offer, error: &str) -> Result<()> {
        let cause = v1::FailureCause::Failed as i32;
        let fail = v1::Fail { cause, error: error.to_owned(), retry_after: Some(1_000) };
        self.report(offer, Kind::Fail(fail)).await
    }
}
