//! Another key of the same holder takes over.

use std::time::SystemTime;

use bellwether_wire::signing::Secret;
use bellwether_wire::signing::session::Rotation;
use bellwether_wire::v1;
use bellwether_wire::v1::worker_link_client::WorkerLinkClient;

use crate::connection::Security;
use crate::error::ClientError;
use crate::fleet::Fleet;

/// Lets `new` speak for the worker instead of `old`. It holds once this returns; asking twice does
/// no harm.
pub async fn rotate_key(
    address: &str,
    security: &Security,
    worker: &str,
    old: &Secret,
    new: &Secret,
) -> Result<(), ClientError> {
    let fleet = Fleet::new(address, security)?;
    fleet.connect().await?;
    let mut link = WorkerLinkClient::new(fleet.ask().link);
    let failed = |status| ClientError::from_status(address, &status);
    let introduced = link.introduce(v1::IntroduceRequest {}).await.map_err(failed)?;
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let rotation = Rotation {
        scheduler: &introduced.into_inner().scheduler,
        worker,
        from: old.public(),
        to: new.public(),
        issued_at: crate::job::micros(since),
    };
    let request = v1::RotateKeyRequest {
        worker: worker.to_owned(),
        from: rotation.from.0.to_vec().into(),
        to: rotation.to.0.to_vec().into(),
        issued_at: rotation.issued_at,
        signed_by_old: rotation.sign(old).to_vec().into(),
        signed_by_new: rotation.sign(new).to_vec().into(),
    };
    link.rotate_key(request).await.map_err(failed)?;
    Ok(())
}
