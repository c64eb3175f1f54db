//! Every call passes here, gRPC and HTTP alike.

use std::future::{Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::Either;
use http::{HeaderMap, Request, Response, header};
use tokio::sync::watch;
use tonic::Status;
use tonic::body::Body;
use tower::{Layer, Service};

use super::access::{Access, access};
use super::tokens::{NAMESPACE_DEFAULT, Tokens};
use crate::edges::contain::{Contained, ContainedBody};
use crate::edges::listener::Caller;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Denied {
    #[error(
        "this needs a token; send it as `authorization: Bearer <token>`. For a scheduler of yours \
         on this machine, `bellwether token header` prints that line"
    )]
    NoToken,
    #[error("the token is not known")]
    UnknownToken,
    #[error("the token of {name} has expired; ask for a new one")]
    Expired { name: String },
    #[error("the token of {name} is for the namespace {namespace}, which is not this one")]
    Namespace { name: String, namespace: String },
    #[error("the token of {name} does not carry a role that may do this")]
    Role { name: String },
    #[error("nobody may do this")]
    Nobody,
}

/// The doorkeeper. Without tokens, which is possible on loopback alone, everybody may do everything.
#[derive(Debug, Clone)]
pub(crate) struct Door {
    tokens: Option<watch::Receiver<Arc<Tokens>>>,
}

impl Door {
    pub(crate) fn new(tokens: Option<watch::Receiver<Arc<Tokens>>>) -> Door {
        Door { tokens }
    }

    pub(crate) fn check(&self, path: &str, headers: &HeaderMap) -> Result<(), Denied> {
        if self.tokens.is_none() {
            return Ok(());
        }
        self.admit(access(path).ok_or(Denied::Nobody)?, headers)
    }

    pub(crate) fn admit(&self, access: Access, headers: &HeaderMap) -> Result<(), Denied> {
        let Some(tokens) = &self.tokens else { return Ok(()) };
        if access == Access::Everybody {
            return Ok(());
        }
        let token = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = token.and_then(|value| value.strip_prefix("Bearer ")).ok_or(Denied::NoToken)?;
        let holder = tokens.borrow().holder(token).cloned().ok_or(Denied::UnknownToken)?;
        let name = || holder.name.clone();
        if holder.has_expired() {
            return Err(Denied::Expired { name: name() });
        }
        if holder.namespace != NAMESPACE_DEFAULT {
            let namespace = holder.namespace.clone();
            return Err(Denied::Namespace { name: name(), namespace });
        }
        let may = match access {
            Access::Everybody | Access::Holders => true,
            Access::Roles(roles) => roles.iter().any(|role| holder.roles.contains(role)),
        };
        if may { Ok(()) } else { Err(Denied::Role { name: name() }) }
    }
}

impl From<Denied> for Status {
    fn from(denied: Denied) -> Status {
        match denied {
            Denied::NoToken | Denied::UnknownToken | Denied::Expired { .. } => {
                Status::unauthenticated(denied.to_string())
            }
            Denied::Namespace { .. } | Denied::Role { .. } | Denied::Nobody => {
                Status::permission_denied(denied.to_string())
            }
        }
    }
}

impl<S> Layer<S> for Door {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded { door: self.clone(), inner }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Guarded<S> {
    door: Door,
    inner: S,
}

impl<S, B> Service<Request<B>> for Guarded<S>
where
    S: Service<Request<B>, Response = Response<Body>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Either<Ready<Result<Response<Body>, S::Error>>, Answering<S::Future>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        match self.door.check(request.uri().path(), request.headers()) {
            Ok(()) => {
                if let Some(caller) = request.extensions().get::<Caller>() {
                    caller.admit();
                }
                let what = request.uri().path().to_owned();
                Either::Right(Answering(Contained::new(what, self.inner.call(request))))
            }
            Err(denied) => Either::Left(ready(Ok(Status::from(denied).into_http()))),
        }
    }
}

/// An answer on its way; a bug in it ends it alone.
#[derive(Debug)]
pub(crate) struct Answering<F>(Contained<F>);

impl<F, E> Future for Answering<F>
where
    F: Future<Output = Result<Response<Body>, E>>,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let answered = std::task::ready!(Pin::new(&mut self.0).poll(context));
        let what = self.0.what.clone();
        Poll::Ready(match answered {
            Ok(answer) => {
                answer.map(|response| response.map(|body| Body::new(ContainedBody { what, body })))
            }
            Err(panicked) => Ok(Status::from(panicked).into_http()),
        })
    }
}
