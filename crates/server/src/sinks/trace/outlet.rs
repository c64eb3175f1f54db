//! The collector: OTLP over gRPC.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_client::TraceServiceClient;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Wire;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1 as proto;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Status};

use super::span::{Span, Value};
use crate::config::Otlp;
use crate::projections::telemetry::outlet::{Outlet, Undelivered};

#[derive(Debug)]
pub(super) struct Collector {
    endpoint: String,
    service: String,
    client: Option<TraceServiceClient<Channel>>,
}

impl Collector {
    pub(super) fn new(config: &Otlp) -> Collector {
        let (endpoint, service) = (config.endpoint.clone(), config.service.clone());
        Collector { endpoint, service, client: None }
    }

    async fn connect(&self) -> Result<TraceServiceClient<Channel>, tonic::transport::Error> {
        let mut endpoint = Endpoint::from_shared(self.endpoint.clone())?;
        if self.endpoint.starts_with("https://") {
            endpoint = endpoint.tls_config(ClientTlsConfig::new().with_native_roots())?;
        }
        Ok(TraceServiceClient::new(endpoint.connect().await?))
    }

    fn request(&self, batch: &[Span]) -> ExportTraceServiceRequest {
        let text = |text: &str| Some(AnyValue { value: Some(Wire::StringValue(text.to_owned())) });
        let attribute = |key: &str, value: &str| KeyValue {
            key: key.to_owned(),
            value: text(value),
            ..KeyValue::default()
        };
        let resource = Resource {
            attributes: vec![
                attribute("service.name", &self.service),
                attribute("service.version", env!("CARGO_PKG_VERSION")),
            ],
            ..Resource::default()
        };
        let scope = InstrumentationScope {
            name: "bellwether".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..InstrumentationScope::default()
        };
        let spans = proto::ScopeSpans {
            scope: Some(scope),
            spans: batch.iter().map(to_proto).collect(),
            ..proto::ScopeSpans::default()
        };
        let spans = proto::ResourceSpans {
            resource: Some(resource),
            scope_spans: vec![spans],
            ..proto::ResourceSpans::default()
        };
        ExportTraceServiceRequest { resource_spans: vec![spans] }
    }
}

impl Outlet for Collector {
    type Item = Span;

    const NAME: &'static str = "otlp";
    // Below the 4 MiB that collectors take by default.
    const BATCH_MAX: usize = 4_000;
    // Collectors show a span that comes twice twice.
    const KEPT_OFF_DUTY: usize = 0;

    async fn deliver(&mut self, batch: &[Span]) -> Result<(), Undelivered> {
        // Clones share the connection.
        let mut client = match self.client.clone() {
            Some(client) => client,
            None => self.connect().await.map_err(|error| unconnected(&error))?,
        };
        self.client = Some(client.clone());
        if batch.is_empty() {
            return Ok(());
        }
        client.export(self.request(batch)).await.map(drop).map_err(|status| undelivered(&status))
    }

    fn delivered(&mut self, _batch: &[Span]) {}
}

/// What went wrong is in the cause.
fn unconnected(error: &tonic::transport::Error) -> Undelivered {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    Undelivered::Later(cause.unwrap_or_else(|| error.to_string()))
}

/// What OTLP says may be tried again, and what may not.
fn undelivered(status: &Status) -> Undelivered {
    let why = format!("{:?}: {}", status.code(), status.message());
    match status.code() {
        Code::Cancelled
        | Code::DeadlineExceeded
        | Code::ResourceExhausted
        | Code::Aborted
        | Code::OutOfRange
        | Code::Unavailable
        | Code::DataLoss
        | Code::Unknown => Undelivered::Later(why),
        Code::Ok
        | Code::InvalidArgument
        | Code::NotFound
        | Code::AlreadyExists
        | Code::PermissionDenied
        | Code::FailedPrecondition
        | Code::Unimplemented
        | Code::Internal
        | Code::Unauthenticated => Undelivered::Never(why),
    }
}

fn to_proto(span: &Span) -> proto::Span {
    let nanos = |at: bellwether_core::model::Timestamp| at.0.saturating_mul(1_000);
    let started = span.started.map(|at| proto::span::Event {
        time_unix_nano: nanos(at),
        name: "started".to_owned(),
        ..proto::span::Event::default()
    });
    let status = span.error.as_ref().map(|message| proto::Status {
        message: message.clone(),
        code: proto::status::StatusCode::Error as i32,
    });
    proto::Span {
        trace_id: span.trace_id.to_vec(),
        span_id: span.span_id.to_vec(),
        parent_span_id: span.parent.map_or_else(Vec::new, |parent| parent.to_vec()),
        name: span.name.to_owned(),
        kind: proto::span::SpanKind::Internal as i32,
        start_time_unix_nano: nanos(span.start),
        end_time_unix_nano: nanos(span.end),
        attributes: span.attributes.iter().map(|(key, value)| attribute(key, value)).collect(),
        events: started.into_iter().collect(),
        status,
        ..proto::Span::default()
    }
}

fn attribute(key: &str, value: &Value) -> KeyValue {
    let value = match value {
        Value::Name(name) => Wire::StringValue(name.to_string()),
        Value::Text(text) => Wire::StringValue((*text).to_owned()),
        Value::Number(number) => Wire::IntValue(*number),
        Value::Share(share) => Wire::DoubleValue(*share),
    };
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}
