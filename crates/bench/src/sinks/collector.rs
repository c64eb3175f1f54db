//! A collector of traces that counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use tokio::net::TcpListener;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

#[derive(Debug)]
pub(super) struct Collector {
    spans: Arc<AtomicU64>,
    url: String,
}

struct Counting(Arc<AtomicU64>);

#[tonic::async_trait]
impl TraceService for Counting {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let scopes = request.get_ref().resource_spans.iter().flat_map(|r| &r.scope_spans);
        let spans: usize = scopes.map(|scope| scope.spans.len()).sum();
        self.0.fetch_add(spans as u64, Ordering::Relaxed);
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

impl Collector {
    /// Serves until the runtime ends.
    pub(super) async fn start() -> anyhow::Result<Collector> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let spans = Arc::new(AtomicU64::new(0));
        let service = TraceServiceServer::new(Counting(spans.clone()));
        tokio::spawn(
            tonic::transport::Server::builder()
                .add_service(service)
                .serve_with_incoming(TcpIncoming::from(listener)),
        );
        Ok(Collector { spans, url })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn spans(&self) -> u64 {
        self.spans.load(Ordering::Relaxed)
    }
}
