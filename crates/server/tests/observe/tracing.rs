//! One trace from the submitter to the worker, as a collector of traces sees it.

use std::net::SocketAddr;
use std::str::FromStr as _;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use bellwether_core::model::TraceParent;
use bellwether_server::config::Otlp;
use bellwether_testbed::Ports;
use bellwether_wire::v1;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::trace::v1::Span;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::metadata::MetadataValue;
use tonic::{Request, Response, Status};

use crate::fixture::{Fixture, job, rejection, single};
use crate::web::{metrics, wait_for};
use crate::work::{self, Busy};

const GIVEN: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const UNSAMPLED: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

/// A collector that keeps what it is sent.
struct Collector {
    spans: Arc<Mutex<Vec<Span>>>,
    address: SocketAddr,
    serving: JoinHandle<Result<(), tonic::transport::Error>>,
}

#[derive(Clone)]
struct Kept(Arc<Mutex<Vec<Span>>>);

#[tonic::async_trait]
impl TraceService for Kept {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let resources = request.into_inner().resource_spans;
        let scopes = resources.into_iter().flat_map(|resource| resource.scope_spans);
        let spans = scopes.flat_map(|scope| scope.spans);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(spans);
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

impl Collector {
    async fn start() -> Result<Collector> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let spans = Arc::default();
        let service = TraceServiceServer::new(Kept(Arc::clone(&spans)));
        let serving = tonic::transport::Server::builder()
            .add_service(service)
            .serve_with_incoming(TcpListenerStream::new(listener));
        Ok(Collector { spans, address, serving: tokio::spawn(serving) })
    }

    fn config(&self, sample_permille: u32) -> Otlp {
        let endpoint = format!("http://{}", self.address);
        Otlp { endpoint, sample_permille, ..Otlp::default() }
    }

    fn spans(&self) -> Vec<Span> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for so many spans of jobs.
    async fn jobs(&self, count: usize) -> Result<Vec<Span>> {
        wait_for("the spans of the jobs", || async {
            let spans = self.spans();
            let jobs = spans.iter().filter(|span| span.name == "job").count();
            Ok((jobs >= count).then_some(spans))
        })
        .await
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn attribute<'a>(span: &'a Span, key: &str) -> Option<&'a str> {
    use opentelemetry_proto::tonic::common::v1::any_value::Value;
    let found = span.attributes.iter().find(|attribute| attribute.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text),
        _ => None,
    }
}

fn named<'a>(spans: &'a [Span], name: &str) -> Result<&'a Span> {
    spans.iter().find(|span| span.name == name).with_context(|| format!("{name} in {spans:?}"))
}

fn traced(id: &str, trace: &str) -> Result<v1::JobSpec> {
    let trace_parent = TraceParent::parse(trace)?.to_bytes().to_vec().into();
    Ok(v1::JobSpec { trace_parent, ..job(id) })
}

#[tokio::test(flavor = "multi_thread")]
async fn one_trace_leads_from_the_submitter_to_the_attempt() -> Result<()> {
    let collector = Collector::start().await?;
    let otlp = Some(collector.config(0));
    let mut fixture = Fixture::with(|config| config.otlp = otlp).await?;
    let mut worker = fixture.worker("w", 1).await?;
    let mut request = Request::new(v1::SubmitRequest { submissions: vec![single(job("a"))] });
    request.metadata_mut().insert("traceparent", MetadataValue::from_str(GIVEN)?);
    fixture.client.submit(request).await?;
    let offer = worker.offer().await?;
    let given = TraceParent::parse(GIVEN)?;
    let told = TraceParent::from_bytes(&offer.trace_parent)?;
    assert_eq!((told.trace_id, told.flags), (given.trace_id, 1));
    assert_ne!(told.span_id, given.span_id);
    let begun = v1::report::Report::Acknowledge(v1::Acknowledge {});
    worker.report(&offer, begun).await?;
    worker.complete(&offer, "done").await?;

    let spans = collector.jobs(1).await?;
    assert!(spans.iter().all(|span| span.trace_id == given.trace_id), "{spans:?}");
    let (job, decision) = (named(&spans, "job")?, named(&spans, "decide")?);
    let attempt = named(&spans, "attempt")?;
    assert_eq!(job.parent_span_id, given.span_id);
    assert_eq!(decision.parent_span_id, job.span_id);
    assert_eq!(attempt.parent_span_id, job.span_id);
    assert_eq!(attempt.span_id, told.span_id, "what the worker adds belongs below the attempt");
    assert_eq!(attribute(attempt, "bellwether.worker.id"), Some("w"));
    assert_eq!(attribute(attempt, "bellwether.outcome"), Some("completed"));
    assert_eq!(attribute(decision, "bellwether.reason"), Some("only_worker"));
    assert_eq!(attempt.events[0].name, "started");
    assert!(job.start_time_unix_nano <= attempt.start_time_unix_nano);
    assert!(job.end_time_unix_nano >= attempt.end_time_unix_nano);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_attempt_is_an_error_and_the_retry_has_its_own_span() -> Result<()> {
    let collector = Collector::start().await?;
    let otlp = Some(collector.config(1_000));
    let mut fixture = Fixture::with(|config| config.otlp = otlp).await?;
    let _worker = Busy::start(&fixture, "w").await?;
    work::run(&mut fixture, "broken", "b", 1).await?;
    let spans = collector.jobs(1).await?;
    let attempts: Vec<&Span> = spans.iter().filter(|span| span.name == "attempt").collect();
    assert_eq!(attempts.len(), 2);
    assert_ne!(attempts[0].span_id, attempts[1].span_id);
    let status = attempts[0].status.as_ref().context("a status")?;
    assert_eq!((status.code, status.message.as_str()), (2, "as it should"));
    assert!(named(&spans, "job")?.parent_span_id.is_empty(), "the trace begins here");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_nobody_records_is_passed_on_and_not_sent() -> Result<()> {
    let collector = Collector::start().await?;
    let otlp = Some(collector.config(0));
    let mut fixture = Fixture::with(|config| config.otlp = otlp).await?;
    let mut worker = fixture.worker("w", 1).await?;
    let wrong = v1::JobSpec { trace_parent: "00-what".into(), ..job("wrong") };
    let wrong = fixture.submit(vec![wrong]).await?;
    assert!(rejection(&wrong[0]).message.contains("trace_parent"), "{wrong:?}");
    fixture.submit(vec![traced("a", UNSAMPLED)?, job("b"), traced("c", GIVEN)?]).await?;
    let mut told = Vec::new();
    for _ in 0..3 {
        let offer = worker.offer().await?;
        worker.complete(&offer, "done").await?;
        told.push(offer.trace_parent);
    }
    let unsampled = TraceParent::parse(UNSAMPLED)?.to_bytes();
    assert_eq!((&told[0][..], &told[1][..]), (&unsampled[..], &[][..]));
    let spans = collector.jobs(1).await?;
    let jobs: Vec<_> = spans.iter().filter_map(|s| attribute(s, "bellwether.job.id")).collect();
    assert!(jobs.iter().all(|id| *id == "c"), "{jobs:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_survives_the_scheduler_and_needs_no_collector() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    fixture.submit(vec![traced("a", GIVEN)?]).await?;
    let fixture = fixture.restart().await?;
    let mut worker = fixture.worker("w", 1).await?;
    assert_eq!(TraceParent::from_bytes(&worker.offer().await?.trace_parent)?.to_string(), GIVEN);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_header_of_a_rest_call_stands_for_jobs_without_a_trace_of_their_own() -> Result<()> {
    let fixture = Fixture::start().await?;
    let mut worker = fixture.worker("w", 1).await?;
    let token = fixture.server.local_token().context("it has made one")?;
    let body = r#"{ "id": "a", "type": "t" }"#;
    let length = body.len();
    let head = format!("content-type: application/json\r\ncontent-length: {length}");
    let head = format!(
        "POST /scheduler/jobs HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
         traceparent: {GIVEN}\r\n{head}"
    );
    let mut stream = TcpStream::connect(fixture.server.http_address()).await?;
    stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).await?;
    assert_eq!(TraceParent::from_bytes(&worker.offer().await?.trace_parent)?.to_string(), GIVEN);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_collector_everything_else_goes_on() -> Result<()> {
    let ports = Ports::reserve()?;
    let endpoint = format!("http://127.0.0.1:{}", ports.first);
    let otlp = Otlp { endpoint, sample_permille: 1_000, ..Otlp::default() };
    let mut fixture = Fixture::with(|config| config.otlp = Some(otlp)).await?;
    let _worker = Busy::start(&fixture, "w").await?;
    work::run(&mut fixture, "resize", "a", 10).await?;
    let server = &fixture.server;
    wait_for("a failure is counted", || async {
        let metrics = metrics(server).await?;
        let failed = "bellwether_sink_failures_total{sink=\"otlp\"} ";
        let count = metrics.lines().find_map(|line| line.strip_prefix(failed));
        Ok((count.context("a count")? != "0").then_some(()))
    })
    .await
}
