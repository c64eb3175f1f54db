//! The token that every call carries: one that was given, or the one that a scheduler on this machine
//! has left for its user.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bellwether_wire::local_token;
use tonic::metadata::errors::InvalidMetadataValue;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::transport::Uri;
use tonic::{Request, Status};

const VARIABLE: &str = "BELLWETHER_TOKEN";
/// A token that was found is not looked for again so soon: calls are many.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(1);

type Bearer = MetadataValue<Ascii>;

/// Adds the token to every call.
#[derive(Debug, Clone)]
pub(crate) enum Credentials {
    Given(Bearer),
    Local(Arc<Local>),
}

/// A scheduler may be started after its clients, and with other data, so its token is looked for
/// while calls are made.
#[derive(Debug)]
pub(crate) struct Local {
    host: String,
    port: u16,
    // Calls come from several threads.
    found: Mutex<Option<(Instant, Bearer)>>,
}

impl Credentials {
    pub(crate) fn new(
        given: Option<&str>,
        address: &Uri,
    ) -> Result<Credentials, InvalidMetadataValue> {
        if let Some(token) = given.map(str::to_owned).or_else(from_environment) {
            return Ok(Credentials::Given(bearer(&token)?));
        }
        let host = address.host().unwrap_or_default().to_owned();
        let port = address.port_u16().unwrap_or_default();
        Ok(Credentials::Local(Arc::new(Local { host, port, found: Mutex::default() })))
    }

    /// Looks for the token anew. True if there is one: a call that was not let in may be made again,
    /// once, because the scheduler may have come after its token was looked for.
    pub(crate) fn renew(&self) -> bool {
        let Credentials::Local(local) = self else { return false };
        *local.known() = None;
        matches!(local.bearer(), Ok(Some(_)))
    }
}

impl Local {
    fn known(&self) -> std::sync::MutexGuard<'_, Option<(Instant, Bearer)>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bearer(&self) -> Result<Option<Bearer>, Status> {
        let mut known = self.known();
        if let Some((since, bearer)) = &*known
            && since.elapsed() < LOOK_AGAIN_AFTER
        {
            return Ok(Some(bearer.clone()));
        }
        let found = local_token::find(&self.host, self.port);
        let found = found.map_err(|error| Status::unauthenticated(error.to_string()))?;
        let Some(token) = found else { return Ok(None) };
        let bearer = bearer(&token)
            .map_err(|_| Status::unauthenticated("the token has characters that can't be sent"))?;
        *known = Some((Instant::now(), bearer.clone()));
        Ok(Some(bearer))
    }
}

pub(crate) fn from_environment() -> Option<String> {
    std::env::var(VARIABLE).ok().filter(|token| !token.is_empty())
}

fn bearer(token: &str) -> Result<Bearer, InvalidMetadataValue> {
    let mut bearer: Bearer = format!("Bearer {token}").parse()?;
    bearer.set_sensitive(true);
    Ok(bearer)
}

impl Interceptor for Credentials {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let bearer = match self {
            Credentials::Given(bearer) => Some(bearer.clone()),
            Credentials::Local(local) => local.bearer()?,
        };
        if let Some(bearer) = bearer {
            request.metadata_mut().insert("authorization", bearer);
        }
        Ok(request)
    }
}
