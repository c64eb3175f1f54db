//! Why a session ended, as a gRPC status.

use bellwether_wire::rejection::Kind;
use tonic::Status;

use crate::edges::rest::Problem;
use crate::event_loop::End;

/// What went wrong, as REST tells it too.
pub(super) fn status(why: impl Into<Problem>) -> Status {
    why.into().into()
}

pub(super) fn session_ended(why: End) -> Status {
    let text = why.to_string();
    match why {
        End::Refused(why) => status(&why),
        End::Malformed(why) => status(&why),
        End::Unavailable(why) => status(why),
        End::Replaced => Problem::of(Kind::Replaced, "replaced", text).into(),
        End::RegisterAgain => Problem::of(Kind::Replaced, "register_again", text).into(),
        End::NotRegistered => Problem::of(Kind::Conflict, "not_registered", text).into(),
    }
}
