//! An answer that goes on for long ends when whoever asked for it is no longer let in: their token was
//! taken back, or has expired.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::watch;

use super::tokens::{Holder, TokenHash, Tokens};

/// How often it is looked at whether a token has expired.
const EXPIRY_INTERVAL: Duration = Duration::from_secs(1);

/// What somebody was let in with.
#[derive(Debug, Clone)]
pub(crate) struct Pass {
    pub(super) hash: TokenHash,
    pub(super) holder: Arc<Holder>,
    pub(super) tokens: watch::Receiver<Arc<Tokens>>,
}

impl Pass {
    fn holds(&mut self) -> bool {
        let known = self.tokens.borrow_and_update();
        known.get(&self.hash) == Some(&self.holder) && !self.holder.has_expired()
    }

    async fn ended(mut self) {
        while self.holds() {
            let expires = async {
                match self.holder.expires {
                    Some(_) => tokio::time::sleep(EXPIRY_INTERVAL).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                changed = self.tokens.changed() => if changed.is_err() {
                    // The server shuts down, which ends the answer by itself.
                    return std::future::pending().await;
                },
                () = expires => {}
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the token is no longer let in")]
pub(crate) struct NoLonger;

/// The body of such an answer.
pub(crate) struct WhileLetIn<B> {
    body: B,
    pass: Option<Pass>,
    /// Made when there is nothing to send for the first time: most answers are short.
    ended: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl<B> WhileLetIn<B> {
    pub(crate) fn new(body: B, pass: Option<Pass>) -> WhileLetIn<B> {
        WhileLetIn { body, pass, ended: None }
    }
}

impl<B> Body for WhileLetIn<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let WhileLetIn { body, pass, ended } = &mut *self;
        let frame = Pin::new(body).poll_frame(context);
        if frame.is_pending()
            && let Some(pass) = pass.take()
        {
            *ended = Some(Box::pin(pass.ended()));
        }
        if let Some(ended) = ended
            && ended.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Some(Err(NoLonger.into())));
        }
        frame.map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B> std::fmt::Debug for WhileLetIn<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WhileLetIn").field("pass", &self.pass).finish_non_exhaustive()
    }
}
