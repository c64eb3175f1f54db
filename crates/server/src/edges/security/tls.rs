//! The server's certificate, which may be replaced while it serves.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::watch;
use tokio_rustls::rustls::client::verify_server_name;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem};
use tokio_rustls::rustls::server::{ParsedCertificate, VerifierBuilderError, WebPkiClientVerifier};
use tokio_rustls::rustls::{self, RootCertStore, ServerConfig};

use crate::config::TlsFiles;
use bellwether_wire::private::{PrivateError, check_secret};

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("failed to read {}: {source}", path.display())]
    Pem { path: PathBuf, source: pem::Error },
    #[error("{} holds no certificate", path.display())]
    None { path: PathBuf },
    #[error(transparent)]
    Private(#[from] PrivateError),
    #[error("the certificate can't be used: {0}")]
    Certificate(#[from] rustls::Error),
    #[error("tls.client_ca can't be used: {0}")]
    ClientAuthority(#[from] VerifierBuilderError),
}

/// One that a client has shown, of an authority that is trusted with workers.
#[derive(Debug, Clone)]
pub(crate) struct ClientCertificate(CertificateDer<'static>);

impl ClientCertificate {
    pub(crate) fn of(connection: &rustls::ServerConnection) -> Option<ClientCertificate> {
        let shown = connection.peer_certificates()?.first()?;
        Some(ClientCertificate(shown.clone().into_owned()))
    }

    /// Whether it is for this name.
    pub(crate) fn names(&self, worker: &str) -> bool {
        let Ok(name) = ServerName::try_from(worker) else { return false };
        ParsedCertificate::try_from(&self.0)
            .is_ok_and(|certificate| verify_server_name(&certificate, &name).is_ok())
    }
}

/// How the connections of an address are accepted.
pub(crate) type Terms = Arc<ServerConfig>;

/// Those of both addresses.
#[derive(Debug)]
pub(crate) struct Certificates {
    files: TlsFiles,
    grpc: watch::Sender<Terms>,
    http: watch::Sender<Terms>,
}

impl Certificates {
    pub(crate) fn open(files: &TlsFiles) -> Result<Certificates, TlsError> {
        let (grpc, http) = both(files)?;
        let (grpc, http) = (watch::Sender::new(grpc), watch::Sender::new(http));
        Ok(Certificates { files: files.clone(), grpc, http })
    }

    /// Connections that come from now on are shown what the files have now; those that are there stay.
    /// After an error everything is as it was.
    pub(crate) fn reload(&self) -> Result<(), TlsError> {
        let (grpc, http) = both(&self.files)?;
        self.grpc.send_replace(grpc);
        self.http.send_replace(http);
        Ok(())
    }

    pub(crate) fn grpc(&self) -> watch::Receiver<Terms> {
        self.grpc.subscribe()
    }

    pub(crate) fn http(&self) -> watch::Receiver<Terms> {
        self.http.subscribe()
    }

    pub(crate) fn file(&self) -> &Path {
        &self.files.certificate
    }
}

fn both(files: &TlsFiles) -> Result<(Terms, Terms), TlsError> {
    Ok((terms(files, "h2")?, terms(files, "http/1.1")?))
}

/// `protocol` is what the address speaks: `h2` or `http/1.1`.
fn terms(files: &TlsFiles, protocol: &str) -> Result<Terms, TlsError> {
    let unreadable = |path: &PathBuf| {
        let path = path.clone();
        move |source| TlsError::Pem { path, source }
    };
    let certificates = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(unreadable(&files.certificate))?;
    if certificates.is_empty() {
        return Err(TlsError::None { path: files.certificate.clone() });
    }
    check_secret(&files.key)?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(unreadable(&files.key))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?;
    let builder = match &files.client_ca {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for authority in CertificateDer::pem_file_iter(path).map_err(unreadable(path))? {
                roots.add(authority.map_err(unreadable(path))?)?;
            }
            // Most who connect have none: a certificate says which worker it is, and a token who may.
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                .allow_unauthenticated()
                .build()?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let mut config = builder.with_single_cert(certificates, key)?;
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    Ok(Arc::new(config))
}
