//! Who signs the certificates of members.

use bellwether_cluster::raft::PeerTls;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    pub(crate) fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Authority { issuer: Issuer::new(params, key), pem }
    }

    /// A certificate for a member on this machine.
    pub(crate) fn member(&self) -> PeerTls {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        PeerTls { certificate, key: key.serialize_pem(), authority: self.pem.clone() }
    }
}
