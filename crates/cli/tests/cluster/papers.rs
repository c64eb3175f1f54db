//! Certificates and tokens, for schedulers that are not on loopback.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use anyhow::Result;
use bellwether_sdk::Security;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

use crate::binary;

const ROLES: [&str; 4] = ["submitter", "worker", "operator", "viewer"];

/// Of one authority, for schedulers at these addresses.
pub(crate) struct Papers {
    folder: TempDir,
    authority: String,
    token: String,
}

impl Papers {
    pub(crate) async fn new(addresses: &[Ipv4Addr]) -> Result<Papers> {
        let folder = tempfile::tempdir()?;
        let mut params = CertificateParams::new(Vec::<String>::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate()?;
        let authority = params.self_signed(&key)?.pem();
        let issuer = Issuer::new(params, key);
        let names: Vec<String> = addresses.iter().map(Ipv4Addr::to_string).collect();
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(names)?.signed_by(&key, &issuer)?.pem();
        std::fs::write(folder.path().join("ca.pem"), &authority)?;
        std::fs::write(folder.path().join("server.pem"), certificate)?;
        bellwether_testbed::write_secret(folder.path().join("server.key"), key.serialize_pem())?;
        let token = issue(&folder.path().join("tokens")).await?;
        Ok(Papers { folder, authority, token })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What a scheduler is told of them.
    pub(crate) fn settings(&self) -> Vec<(&'static str, String)> {
        let file = |variable, name| (variable, self.path(name).display().to_string());
        vec![
            file("BELLWETHER_TLS_CERTIFICATE", "server.pem"),
            file("BELLWETHER_TLS_KEY", "server.key"),
            file("BELLWETHER_CLUSTER_CA", "ca.pem"),
            file("BELLWETHER_TOKENS", "tokens"),
            ("BELLWETHER_WORKER_KEYS", "first_use".to_owned()),
        ]
    }

    /// What clients and workers show.
    pub(crate) fn security(&self) -> Security {
        let (token, authority) = (self.token.clone(), self.authority.clone());
        Security { token: Some(token), ca_certificate: Some(authority), identity: None }
    }
}

/// A token for everything; its line is written to the file.
async fn issue(file: &Path) -> Result<String> {
    let roles = ROLES.iter().flat_map(|role| ["--role", role]);
    let output =
        Command::new(binary()).args(["token", "issue", "test", "--json"]).args(roles).output();
    let issued: Value = serde_json::from_slice(&output.await?.stdout)?;
    let said = |name: &str| issued[name].as_str().unwrap_or_default().to_owned();
    bellwether_testbed::write_secret(file, format!("{}\n", said("line")))?;
    Ok(said("token"))
}
