//! Bodies: room for so many bytes of them at a time, and threads of their own to read long ones on.

use std::fmt::Display;
use std::sync::Arc;

use axum::body::HttpBody as _;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use bellwether_core::model::{Micros, excerpt};
use bellwether_wire::rejection::Kind;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use tokio_stream::StreamExt as _;

use super::read::not_json;
use super::{Problem, Rest};
use crate::edges::contain::contain;
use crate::edges::listener::{Caller, NOWHERE};
use crate::edges::room::{Part, Room};

/// Longer bodies are not read on the threads that serve connections.
const LIGHT_BYTES: usize = 32 << 10;
/// Long bodies that are read at a time.
const READERS: usize = 2;
const ROOM_SOON: Micros = Micros::from_secs(1);

#[derive(Debug, Clone)]
pub(super) struct Intake {
    bytes_max: usize,
    room: Room,
    readers: Arc<Semaphore>,
}

/// A body, with the room that it takes.
pub(super) struct Taken {
    pub(super) bytes: Vec<u8>,
    _room: Part,
}

impl Intake {
    pub(super) fn new(bytes_max: usize, room: Room) -> Intake {
        Intake { bytes_max, room, readers: Arc::new(Semaphore::new(READERS)) }
    }

    pub(super) async fn take(&self, request: Request, bytes_max: usize) -> Result<Taken, Problem> {
        let peer = request.extensions().get::<Caller>().map_or(NOWHERE, Caller::ip);
        let body = request.into_body();
        let bytes_max = bytes_max.min(self.bytes_max);
        let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
        if announced > bytes_max {
            return Err(too_large(bytes_max));
        }
        let mut pieces = body.into_data_stream();
        let mut taken = Taken { bytes: Vec::new(), _room: self.room.part(peer) };
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|_| Problem::malformed("the body could not be read"))?;
            if taken.bytes.len() + piece.len() > bytes_max {
                return Err(too_large(bytes_max));
            }
            taken._room.take(piece.len()).map_err(|full| {
                Problem::of(Kind::Busy, "busy", full.to_string()).after(Some(ROOM_SOON))
            })?;
            taken.bytes.extend_from_slice(&piece);
        }
        Ok(taken)
    }
}

fn too_large(bytes_max: usize) -> Problem {
    let detail = format!("the body is larger than {bytes_max} bytes; send less at a time");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail)
}

/// A body that may be long, not read yet.
pub(super) struct Written {
    taken: Taken,
    readers: Arc<Semaphore>,
}

impl FromRequest<Rest> for Written {
    type Rejection = Problem;

    async fn from_request(request: Request, rest: &Rest) -> Result<Written, Problem> {
        let taken = rest.intake.take(request, usize::MAX).await?;
        Ok(Written { taken, readers: rest.intake.readers.clone() })
    }
}

impl Written {
    /// What the body says, by way of what `work` makes of its JSON.
    pub(super) async fn read<T, W>(self, work: W) -> Result<T, Problem>
    where
        T: Send + 'static,
        W: FnOnce(&RawValue) -> Result<T, Problem> + Send + 'static,
    {
        let Written { taken, readers } = self;
        if taken.bytes.len() <= LIGHT_BYTES {
            return read(&taken.bytes, work);
        }
        let _place = readers.acquire().await.map_err(bug)?;
        tokio::task::spawn_blocking(move || read(&taken.bytes, work)).await.map_err(bug)?
    }
}

fn read<T>(bytes: &[u8], work: impl FnOnce(&RawValue) -> Result<T, Problem>) -> Result<T, Problem> {
    let text = std::str::from_utf8(bytes);
    let text = text.map_err(|_| Problem::malformed("the body is not UTF-8"))?;
    let what = format_args!("a body that begins with {:?}", excerpt(text));
    contain(&what, || work(serde_json::from_str(text).map_err(|why| not_json(&why))?))
        .map_err(bug)?
}

/// What can't happen ends the request alone.
pub(super) fn bug(why: impl Display) -> Problem {
    Problem::of(Kind::Unreadable, "bug", why.to_string())
}
