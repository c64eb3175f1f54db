//! Words that programs branch on, as fields: written as the word, described as one of them.

use std::borrow::Cow;

use bellwether_core::Word;
use bellwether_core::model;
use serde::{Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::{Mirror, v1};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Code<W>(pub W);

// Names without parameters, because the schema's names are made of these.
pub type Strategy = Code<model::Strategy>;
pub type Predictor = Code<model::config::PredictorKind>;
pub type Backoff = Code<model::config::Backoff>;
pub type OnLimit = Code<model::OnLimit>;
pub type Cause = Code<model::FailureCause>;
pub type Revoked = Code<model::RevokeReason>;
pub type Priority = Code<model::Priority>;
pub type Guarantee = Code<model::Guarantee>;
pub type OnFailure = Code<model::OnFailure>;
pub type Breaker = Code<bellwether_core::place::breaker::BreakerState>;
pub type JobState = Code<model::JobStatus>;
pub type WorkerStatus = Code<v1::WorkerStatus>;
pub type Reason = Code<v1::reason::Kind>;
pub type AttemptState = Code<v1::AttemptState>;
pub type SchedulerRole = Code<v1::SchedulerRole>;
pub type ScoreTerm = Code<v1::ScoreTerm>;
pub type WaitReason = Code<v1::WaitReason>;
pub type What = Code<v1::shortage::What>;

impl<W: Mirror> Code<W> {
    /// None for what is not said, or what a newer scheduler may add.
    pub fn from_wire(number: i32) -> Option<Code<W>> {
        W::from_wire(number).map(Code)
    }
}

impl<W: Word> Code<W> {
    /// None for what is not said.
    pub fn known(value: W) -> Option<Code<W>> {
        W::WORDS.contains(&value.word()).then_some(Code(value))
    }
}

impl<W: Word> Serialize for Code<W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.word())
    }
}

impl<W: Word> PartialSchema for Code<W> {
    fn schema() -> RefOr<Schema> {
        let words = W::WORDS.iter().copied();
        ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words)).into()
    }
}

impl<W: Word> ToSchema for Code<W> {
    fn name() -> Cow<'static, str> {
        W::NAME.into()
    }
}
