//! Every call passes here, gRPC and HTTP alike.

use std::future::{Ready, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bellwether_core::model::{Actor, Name, excerpt};
use futures_util::future::Either;
use http::{HeaderMap, Request, Response, header};
use tokio::sync::watch;
use tonic::Status;
use tonic::body::Body;
use tower::{Layer, Service};

use super::access::{Access, access};
use super::denials::{self, Cause};
use super::leave::{Pass, WhileLetIn};
use super::tokens::{Holder, NAMESPACE_DEFAULT, Tokens, hash};
use crate::cluster::Standing;
use crate::edges::contain::{Contained, ContainedBody};
use crate::edges::listener::{Caller, NOWHERE};
use crate::edges::rest::LEADER_KEY;
use crate::edges::room::{Measured, Messages, Room};

/// Who acts where nobody is asked for a token.
const ANYBODY: &str = "anybody";

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
    standing: watch::Receiver<Standing>,
    room: Room,
}

impl Door {
    pub(crate) fn new(
        tokens: Option<watch::Receiver<Arc<Tokens>>>,
        standing: watch::Receiver<Standing>,
        room: Room,
    ) -> Door {
        Door { tokens, standing, room }
    }

    fn check(&self, path: &str, headers: &HeaderMap) -> Result<Guest, Denied> {
        if self.tokens.is_none() {
            return Ok(Guest(None));
        }
        self.admit(access(path).ok_or(Denied::Nobody)?, headers)
    }

    /// Where there are tokens, only who has shown one is known.
    pub(crate) fn recognize(&self, Guest(pass): &Guest, caller: &Caller) {
        if pass.is_some() || self.tokens.is_none() {
            caller.recognize();
        }
    }

    pub(crate) fn admit(&self, access: Access, headers: &HeaderMap) -> Result<Guest, Denied> {
        let Some(tokens) = &self.tokens else { return Ok(Guest(None)) };
        if access == Access::Everybody {
            return Ok(Guest(None));
        }
        let token = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = token.and_then(|value| value.strip_prefix("Bearer ")).ok_or(Denied::NoToken)?;
        let hash = hash(token);
        let holder = tokens.borrow().get(&hash).cloned().ok_or(Denied::UnknownToken)?;
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
        let pass = || Pass { hash, holder: holder.clone(), tokens: tokens.clone() };
        if may { Ok(Guest(Some(pass()))) } else { Err(Denied::Role { name: name() }) }
    }
}

/// Somebody who was let in.
#[derive(Debug)]
pub(crate) struct Guest(Option<Pass>);

impl Guest {
    /// As events name them.
    pub(crate) fn actor(&self, caller: Option<&Caller>) -> Option<Actor> {
        let name = self.0.as_ref().map_or(ANYBODY, |pass| pass.holder.name.as_str());
        let peer = caller.and_then(|caller| Name::new(&caller.address()).ok());
        Some(Actor { name: Name::new(name).ok()?, peer })
    }

    pub(crate) fn visitor(&self) -> Visitor {
        Visitor(self.0.as_ref().map(|pass| pass.holder.clone()))
    }

    /// What a long answer to them depends on.
    pub(crate) fn into_pass(self) -> Option<Pass> {
        self.0
    }
}

/// Whose token a request carries; none where nobody is asked for one.
#[derive(Debug, Clone)]
pub(crate) struct Visitor(pub(crate) Option<Arc<Holder>>);

impl Denied {
    pub(crate) fn note(&self, what: &str, caller: Option<&Caller>) {
        let cause = match self {
            Denied::NoToken => Cause::NoToken,
            Denied::UnknownToken => Cause::UnknownToken,
            Denied::Expired { .. } => Cause::Expired,
            Denied::Namespace { .. } => Cause::Namespace,
            Denied::Role { .. } => Cause::Role,
            Denied::Nobody => Cause::Nobody,
        };
        let peer = caller.map(Caller::address).unwrap_or_default();
        denials::note(cause, what, &peer, self);
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

impl<S> Service<Request<Body>> for Guarded<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Either<Ready<Result<Response<Body>, S::Error>>, Answering<S::Future>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let caller = request.extensions().get::<Caller>().cloned();
        match self.door.check(request.uri().path(), request.headers()) {
            Ok(guest) => {
                if let Some(caller) = &caller {
                    caller.admit();
                    self.door.recognize(&guest, caller);
                }
                if let Some(actor) = guest.actor(caller.as_ref()) {
                    request.extensions_mut().insert(actor);
                }
                let part = self.door.room.part(caller.as_ref().map_or(NOWHERE, Caller::ip));
                let request = request
                    .map(|body| Body::new(Measured { body, part, messages: Messages::default() }));
                let what = request.uri().path().to_owned();
                let answer = Contained::new(what, self.inner.call(request));
                let standing = self.door.standing.clone();
                Either::Right(Answering { answer, pass: guest.into_pass(), standing })
            }
            Err(denied) => {
                denied.note(&excerpt(request.uri().path()), caller.as_ref());
                Either::Left(ready(Ok(Status::from(denied).into_http())))
            }
        }
    }
}

/// Whoever is sent away by a follower learns where to go.
fn name_leader(standing: &watch::Receiver<Standing>, headers: &mut HeaderMap) {
    if let Some(named) = headers.get_mut(LEADER_KEY)
        && let Some(leader) = standing.borrow().leader()
        && let Ok(address) = leader.grpc.parse()
    {
        *named = address;
    }
}

/// An answer on its way; a bug in it ends it alone.
#[derive(Debug)]
pub(crate) struct Answering<F> {
    answer: Contained<F>,
    pass: Option<Pass>,
    standing: watch::Receiver<Standing>,
}

impl<F, E> Future for Answering<F>
where
    F: Future<Output = Result<Response<Body>, E>>,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let answered = std::task::ready!(Pin::new(&mut self.answer).poll(context));
        let (what, pass) = (self.answer.what.clone(), self.pass.take());
        Poll::Ready(match answered {
            Ok(answer) => {
                let body = |body| WhileLetIn::new(ContainedBody { what, body }, pass);
                answer.map(|mut response| {
                    name_leader(&self.standing, response.headers_mut());
                    response.map(|inner| Body::new(body(inner)))
                })
            }
            Err(panicked) => Ok(Status::from(panicked).into_http()),
        })
    }
}
