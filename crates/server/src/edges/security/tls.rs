//! The server's certificate.

use std::path::PathBuf;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use tokio_rustls::rustls::{self, ServerConfig};

use crate::config::TlsFiles;
use bellwether_wire::private::{PrivateError, check_secret};

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("failed to read {}: {source}", path.display())]
    Pem { path: PathBuf, source: pem::Error },
    #[error(transparent)]
    Private(#[from] PrivateError),
    #[error("the certificate can't be used: {0}")]
    Certificate(#[from] rustls::Error),
}

/// `protocol` is what the address speaks: `h2` or `http/1.1`.
pub(crate) fn acceptor(files: &TlsFiles, protocol: &str) -> Result<TlsAcceptor, TlsError> {
    let unreadable = |path: &PathBuf| {
        let path = path.clone();
        move |source| TlsError::Pem { path, source }
    };
    let certificates = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(unreadable(&files.certificate))?;
    check_secret(&files.key)?;
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(unreadable(&files.key))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certificates, key)?;
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
