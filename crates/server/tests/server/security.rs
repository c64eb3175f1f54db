//! Loopback by default, TLS and tokens elsewhere, roles everywhere.

use anyhow::Result;
use bellwether_server::edges::security::access::access;
use bellwether_server::edges::security::tokens::Role;
use bellwether_server::{Server, ServerConfig};
use bellwether_wire::v1;
use bellwether_wire::v1::scheduler_client::SchedulerClient;
use prost::Message as _;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint};
use tonic::{Code, Request, Status};

use crate::fixture::{job, single};
use crate::papers::{Papers, papers};

struct Secured {
    server: Server,
    certificate: String,
    tokens: Vec<(Role, String)>,
    _folder: tempfile::TempDir,
}

async fn secured() -> Result<Secured> {
    let Papers { certificate, tokens, config, folder } = papers()?;
    let server = Server::start(ServerConfig { grpc: "0.0.0.0:0".parse()?, ..config }).await?;
    Ok(Secured { server, certificate, tokens, _folder: folder })
}

impl Secured {
    async fn client(&self) -> Result<SchedulerClient<tonic::transport::Channel>> {
        let address = format!("https://localhost:{}", self.server.grpc_address().port());
        let tls = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(&self.certificate))
            .domain_name("localhost");
        let channel = Endpoint::from_shared(address)?.tls_config(tls)?.connect().await?;
        Ok(SchedulerClient::new(channel))
    }

    fn with_role<T>(&self, role: Role, message: T) -> Request<T> {
        let (_, token) =
            self.tokens.iter().find(|(other, _)| *other == role).expect("each role has one");
        with_token(token, message)
    }
}

fn with_token<T>(token: &str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    let value = format!("Bearer {token}").parse().expect("tokens are ASCII");
    request.metadata_mut().insert("authorization", value);
    request
}

fn submission() -> v1::SubmitRequest {
    v1::SubmitRequest { submissions: vec![single(job(""))] }
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_are_enforced_on_every_call() -> Result<()> {
    let secured = secured().await?;
    let mut client = secured.client().await?;
    let code =
        |result: Result<_, Status>| result.map_or_else(|status| status.code(), |()| Code::Ok);

    let result = client.submit(submission()).await.map(drop);
    assert_eq!(code(result), Code::Unauthenticated);
    let result = client.submit(with_token("guess", submission())).await.map(drop);
    assert_eq!(code(result), Code::Unauthenticated);
    for role in Role::ALL {
        let result = client.submit(secured.with_role(role, submission())).await.map(drop);
        let wanted = if role == Role::Submitter { Code::Ok } else { Code::PermissionDenied };
        assert_eq!(code(result), wanted, "submit as {role:?}");
        let drain = v1::WorkerRequest { worker: "w".to_owned() };
        let result = client.drain(secured.with_role(role, drain)).await.map(drop);
        let wanted = if role == Role::Operator { Code::Ok } else { Code::PermissionDenied };
        assert_eq!(code(result), wanted, "drain as {role:?}");
        let watch = v1::WatchEventsRequest::default();
        let result = client.watch_events(secured.with_role(role, watch)).await.map(drop);
        let may = matches!(role, Role::Operator | Role::Viewer);
        assert_eq!(code(result) == Code::Ok, may, "watch as {role:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_without_tls_gets_nowhere() -> Result<()> {
    let secured = secured().await?;
    let address = format!("http://127.0.0.1:{}", secured.server.grpc_address().port());
    let connected = Endpoint::from_shared(address)?.connect().await;
    if let Ok(channel) = connected {
        let status = SchedulerClient::new(channel).submit(submission()).await.unwrap_err();
        assert_ne!(status.code(), Code::Ok);
    }
    Ok(())
}

#[tokio::test]
async fn an_open_address_needs_tls_and_tokens() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let config = ServerConfig {
        data_dir: folder.path().join("data"),
        grpc: "0.0.0.0:0".parse()?,
        ..ServerConfig::default()
    };
    let error = Server::start(config).await.unwrap_err().to_string();
    assert!(error.contains("tls is not configured"), "{error}");
    assert!(!folder.path().join("data").exists(), "nothing was touched");
    Ok(())
}

#[test]
fn every_method_is_in_the_table() -> Result<()> {
    let schema = prost_types::FileDescriptorSet::decode(bellwether_wire::FILE_DESCRIPTOR_SET)?;
    let mut methods = 0;
    for file in &schema.file {
        for service in &file.service {
            for method in &service.method {
                let path = format!("/{}.{}/{}", file.package(), service.name(), method.name());
                assert!(access(&path).is_some(), "{path} is open to nobody");
                methods += 1;
            }
        }
    }
    assert!(methods > 15);
    assert_eq!(access("/bellwether.v1.Scheduler/Invented"), None);
    Ok(())
}
