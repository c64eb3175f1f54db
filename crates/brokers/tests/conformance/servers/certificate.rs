//! A certificate for this machine, which is its own authority.

use std::path::{Path, PathBuf};

use anyhow::Result;
use bellwether_brokers::Tls;

pub(crate) struct Certificate {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Certificate {
    pub(crate) fn make(folder: &Path) -> Result<Self> {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
        let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
        std::fs::write(&certificate, made.cert.pem())?;
        std::fs::write(&key, made.signing_key.serialize_pem())?;
        Ok(Self { certificate, key })
    }

    /// To trust it.
    pub(crate) fn trusted(&self) -> Tls {
        Tls { authorities: Some(self.certificate.clone()) }
    }
}
