//! What a server off loopback needs: a certificate, and a token of each role.

use anyhow::Result;
use bellwether_server::ServerConfig;
use bellwether_server::config::TlsFiles;
use bellwether_server::edges::security::tokens::{Holder, Role, issue};

pub(crate) struct Papers {
    /// For `localhost`, as PEM.
    pub(crate) certificate: String,
    pub(crate) tokens: Vec<(Role, String)>,
    /// With both addresses on loopback.
    pub(crate) config: ServerConfig,
    /// Kept, because it is removed when it is dropped.
    pub(crate) folder: tempfile::TempDir,
}

pub(crate) fn papers() -> Result<Papers> {
    let folder = tempfile::tempdir()?;
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
    let (certificate, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
    std::fs::write(&certificate, made.cert.pem())?;
    bellwether_testbed::write_secret(&key, made.signing_key.serialize_pem())?;
    let mut tokens = Vec::new();
    let mut lines = String::new();
    for role in Role::ALL {
        let (token, line) = issue(&Holder::new(role.as_str(), &[role]))?;
        tokens.push((role, token));
        lines += &format!("{line}\n");
    }
    let tokens_file = folder.path().join("tokens");
    std::fs::write(&tokens_file, lines)?;
    let config = ServerConfig {
        data_dir: folder.path().join("data"),
        grpc: "127.0.0.1:0".parse()?,
        http: "127.0.0.1:0".parse()?,
        tls: Some(TlsFiles { certificate, key, client_ca: None }),
        tokens: Some(tokens_file),
        ..ServerConfig::default()
    };
    Ok(Papers { certificate: made.cert.pem(), tokens, config, folder })
}
