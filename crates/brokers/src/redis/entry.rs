//! Entries of streams, to and from messages.

use bytes::Bytes;
use redis::{Pipeline, Value};

use crate::channel::Channel;
use crate::message::{Delivery, MessageId, Receipt, Token};

/// One entry as the server gave it. No fields: it was deleted from the stream.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) id: String,
    fields: Vec<(Bytes, Bytes)>,
}

/// The entries in an answer to `XREADGROUP` or `XREAD` of one stream.
pub(super) fn entries_of_read(answer: Value) -> Vec<Entry> {
    let Some(mut streams) = array(answer) else { return Vec::new() };
    let Some(mut stream) = streams.pop().and_then(array) else { return Vec::new() };
    stream.pop().map(entries).unwrap_or_default()
}

/// The entries in a list of them.
pub(super) fn entries(list: Value) -> Vec<Entry> {
    array(list).unwrap_or_default().into_iter().filter_map(entry).collect()
}

fn entry(value: Value) -> Option<Entry> {
    let mut parts = array(value)?.into_iter();
    let id = String::from_utf8(bytes(parts.next()?)?.to_vec()).ok()?;
    let mut values = parts.next().and_then(array).unwrap_or_default().into_iter();
    let mut fields = Vec::with_capacity(values.len() / 2);
    while let (Some(name), Some(value)) = (values.next(), values.next()) {
        fields.push((bytes(name)?, bytes(value)?));
    }
    Some(Entry { id, fields })
}

pub(super) fn array(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(values) => Some(values),
        _ => None,
    }
}

fn bytes(value: Value) -> Option<Bytes> {
    match value {
        Value::BulkString(bytes) => Some(Bytes::from(bytes)),
        Value::SimpleString(text) => Some(Bytes::from(text)),
        Value::Int(number) => Some(Bytes::from(number.to_string())),
        _ => None,
    }
}

impl Entry {
    pub(super) fn is_deleted(&self) -> bool {
        self.fields.is_empty()
    }

    fn field(&self, name: &str) -> Option<&Bytes> {
        self.fields.iter().find(|(field, _)| field == name.as_bytes()).map(|(_, value)| value)
    }

    fn text(&self, name: &str) -> Option<String> {
        self.field(name).map(|value| String::from_utf8_lossy(value).into_owned())
    }

    /// The message; `settled` if nothing is to be acknowledged.
    pub(super) fn delivery(self, channel: &Channel, redelivered: bool, settled: bool) -> Delivery {
        // Without `body`, a field `id` belongs to the job and not to the message.
        let given = self.field("body").and_then(|_| self.text("id"));
        Delivery {
            id: Some(MessageId::new(given.unwrap_or_else(|| self.id.clone()))),
            body: self.field("body").cloned().unwrap_or_else(|| self.object()),
            priority: None,
            redelivered,
            error: self.text("error").filter(|_| *channel == Channel::Dead),
            receipt: Receipt {
                channel: channel.clone(),
                token: if settled { Token::Settled } else { Token::Entry(self.id) },
            },
        }
    }

    /// All fields as one JSON object. What is no JSON by itself is text.
    fn object(&self) -> Bytes {
        let object: serde_json::Map<String, serde_json::Value> = self
            .fields
            .iter()
            .map(|(name, value)| {
                let text = || serde_json::Value::from(String::from_utf8_lossy(value).into_owned());
                let value = serde_json::from_slice(value).unwrap_or_else(|_| text());
                (String::from_utf8_lossy(name).into_owned(), value)
            })
            .collect();
        Bytes::from(serde_json::Value::Object(object).to_string())
    }
}

/// An entry to add.
#[derive(Debug)]
pub(super) struct Addition<'a> {
    pub(super) key: &'a str,
    /// Older entries are dropped beyond about this many.
    pub(super) kept: Option<u64>,
    pub(super) id: Option<&'a MessageId>,
    pub(super) body: &'a [u8],
    /// Of dead letters: why, and where from.
    pub(super) dead: Option<(&'a str, &'a Channel)>,
}

impl Addition<'_> {
    pub(super) fn add_to(&self, pipeline: &mut Pipeline) {
        pipeline.cmd("XADD").arg(self.key);
        if let Some(kept) = self.kept {
            pipeline.arg("MAXLEN").arg("~").arg(kept);
        }
        pipeline.arg("*").arg("body").arg(self.body);
        if let Some(id) = self.id {
            pipeline.arg("id").arg(id.as_str());
        }
        if let Some((error, channel)) = self.dead {
            pipeline.arg("error").arg(error).arg("channel").arg(channel.to_string());
        }
        pipeline.ignore();
    }
}
