//! A worker that shows a certificate in its name instead of a key.

use std::path::Path;
use std::process::Stdio;

use anyhow::Result;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use crate::site::{Killed, Site, until};

/// An authority that the scheduler trusts with workers, and one that it does not.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new() -> Result<Authority> {
        let mut params = CertificateParams::new(Vec::<String>::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate()?;
        let pem = params.self_signed(&key)?.pem();
        Ok(Authority { issuer: Issuer::new(params, key), pem })
    }

    /// Writes NAME.pem and NAME.key.
    fn certify(&self, folder: &Path, file: &str, name: &str) -> Result<()> {
        let key = KeyPair::generate()?;
        let made = CertificateParams::new([name.to_owned()])?.signed_by(&key, &self.issuer)?;
        std::fs::write(folder.join(format!("{file}.pem")), made.pem())?;
        let path = folder.join(format!("{file}-pem.key"));
        Ok(bellwether_testbed::write_secret(path, key.serialize_pem())?)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_lets_a_worker_in_under_its_name_and_no_other() -> Result<()> {
    let papers = tempfile::tempdir()?;
    let folder = papers.path();
    let (ours, theirs) = (Authority::new()?, Authority::new()?);
    std::fs::write(folder.join("ca.pem"), &ours.pem)?;
    ours.certify(folder, "server", "127.0.0.1")?;
    ours.certify(folder, "w1", "w1")?;
    ours.certify(folder, "renewed", "w1")?;
    theirs.certify(folder, "stranger", "w1")?;
    let path = |name: &str| folder.join(name).display().to_string();
    let (certificate, key, ca) = (path("server.pem"), path("server-pem.key"), path("ca.pem"));
    let site = Site::start_with_tls(&format!(
        "worker_keys: approved\ntls: {{certificate: {certificate}, key: {key}, client_ca: {ca}}}"
    ))
    .await?;
    let with = |file: &str, id: &str| {
        let (certificate, key) = (path(&format!("{file}.pem")), path(&format!("{file}-pem.key")));
        let mut command = site.command(&["worker", "--id", id, "--ca", &ca]);
        command.args(["--certificate", &certificate, "--certificate-key", &key]);
        command.stdin(Stdio::null());
        command
    };
    let refused = |file: &str, id: &str| -> Result<String> {
        let output = with(file, id).output()?;
        assert_ne!(output.status.code(), Some(0));
        Ok(String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let is_there = || async { Ok(site.fine(&["workers", "--ca", &ca])?.contains("w1")) };

    // In another name; and without a key there is no other way in.
    assert!(refused("w1", "w2")?.contains("workers must be approved"));
    let first = Killed(with("w1", "w1").stdout(Stdio::null()).spawn()?);
    until("it works", is_there).await?;
    drop(first);
    // Renewed, it is the same worker.
    let second = Killed(with("renewed", "w1").stdout(Stdio::null()).spawn()?);
    until("it works", is_there).await?;
    drop(second);
    // The list of keys revokes it like any other.
    site.fine(&["workers", "revoke", "w1", "--ca", &ca])?;
    let told = refused("renewed", "w1")?;
    assert!(told.contains("revoked"), "{told}");
    // One from elsewhere does not even connect.
    let (certificate, key) = (path("stranger.pem"), path("stranger-pem.key"));
    let papers = ["--ca", &ca, "--certificate", &certificate, "--certificate-key", &key];
    let (code, told) = site.run(&[&["status"], &papers[..]].concat())?;
    assert_ne!(code, Some(0), "{told}");
    Ok(())
}
