//! Events in the envelope that other systems know: CloudEvents 1.0, in JSON.

use std::fmt::Display;

use bellwether_core::model::{JobNo, JobSpec, Seq, Timestamp};
use bellwether_core::{Entry, Event};
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};

use super::event::write_event;
use super::unit::Moment;
use super::written::{Payload, WrittenJob};

/// Payloads and results that are longer are left out; whoever needs one asks for the job.
pub const CARRIED_BYTES_MAX: usize = 64 << 10;

/// What the numbers in an event stand for. Empty where it is about none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Names<'a> {
    pub job_id: &'a str,
    pub run_id: &'a str,
    pub node: &'a str,
    pub worker_id: &'a str,
    /// Who wished for it, and from where.
    pub actor: &'a str,
    pub peer: &'a str,
}

/// Its attributes are those of the CloudEvents specification, in their JSON format. That the data are
/// JSON too goes without saying there.
#[derive(Debug, Clone, Copy)]
pub struct CloudEvent<'a> {
    pub id: EventId,
    pub source: &'a str,
    /// Without the prefix that tells whose they are.
    name: &'static str,
    /// The id of the job, else of the worker.
    pub subject: Option<&'a str>,
    at: Timestamp,
    pub data: Data<'a>,
}

impl Serialize for CloudEvent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("specversion", "1.0")?;
        map.serialize_entry("id", &Text(self.id))?;
        map.serialize_entry("source", self.source)?;
        map.serialize_entry("type", &Text(format_args!("bellwether.{}", self.name)))?;
        if let Some(subject) = self.subject {
            map.serialize_entry("subject", subject)?;
        }
        map.serialize_entry("time", &Moment(self.at))?;
        map.serialize_entry("data", &self.data)?;
        map.end()
    }
}

/// Written as it is shown.
struct Text<T>(T);

impl<T: Display> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// The position in the journal; with its place among them where an event is about several jobs.
/// Together with the source it tells repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventId {
    seq: Seq,
    index: Option<usize>,
}

impl Display for EventId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.index {
            None => write!(f, "{}", self.seq),
            Some(index) => write!(f, "{}.{index}", self.seq),
        }
    }
}

/// The events of an entry: one, but one for each job of a submission. `source` is the URI of the
/// scheduler and must be the same for as long as its journal lives.
pub fn cloud_events<'a>(
    source: &'a str,
    entry: &'a Entry,
    names: Names<'a>,
) -> impl Iterator<Item = CloudEvent<'a>> {
    let count = match &entry.event {
        Event::Submitted { jobs, .. } => jobs.len(),
        _ => 1,
    };
    (0..count).map(move |index| {
        let (subject, data) = match &entry.event {
            Event::Submitted { run, first, jobs } => {
                let run_id = run.as_ref().map_or(names.run_id, |run| run.id.as_str());
                let (no, spec) = (JobNo(first.0 + index as u64), &*jobs[index].spec);
                let Names { actor, peer, .. } = names;
                (spec.id.as_str(), Data::Submitted { no, spec, run_id, actor, peer })
            }
            event => {
                let subject = if names.job_id.is_empty() { names.worker_id } else { names.job_id };
                (subject, Data::Other { event, names })
            }
        };
        CloudEvent {
            id: EventId { seq: entry.seq, index: (count > 1).then_some(index) },
            source,
            name: entry.event.name(),
            subject: (!subject.is_empty()).then_some(subject),
            at: entry.at,
            data,
        }
    })
}

/// What an event says.
#[derive(Debug, Clone, Copy)]
pub enum Data<'a> {
    Submitted { no: JobNo, spec: &'a JobSpec, run_id: &'a str, actor: &'a str, peer: &'a str },
    Other { event: &'a Event, names: Names<'a> },
}

impl Serialize for Data<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let names = match *self {
            Data::Submitted { no, spec, run_id, actor, peer } => {
                map.serialize_entry("job", &no.0)?;
                let payload = Payload::InEvent { bytes_max: CARRIED_BYTES_MAX };
                let job = WrittenJob { spec, payload };
                map.serialize_entry("spec", &job)?;
                let node = spec.node.as_ref().map_or("", |node| node.as_str());
                Names { job_id: spec.id.as_str(), run_id, node, worker_id: "", actor, peer }
            }
            Data::Other { event, names } => {
                write_event(&mut map, event, CARRIED_BYTES_MAX)?;
                names
            }
        };
        let Names { job_id, run_id, node, worker_id, actor, peer } = names;
        // A job that was given no name in a run goes by its id.
        let node = if node == job_id { "" } else { node };
        let names = [
            ("job_id", job_id),
            ("run_id", run_id),
            ("node", node),
            ("worker_id", worker_id),
            ("actor", actor),
            ("peer", peer),
        ];
        for (field, name) in names.into_iter().filter(|(_, name)| !name.is_empty()) {
            map.serialize_entry(field, name)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use bellwether_core::model::{ActorNo, Config, Micros, Name, Token, WorkerNo};
    use bytes::Bytes;
    use expect_test::{Expect, expect};

    use super::*;

    fn check(event: Event, names: Names<'_>, expected: Expect) {
        let at = Timestamp(1_801_382_400_500_000);
        let entry = Entry {
            seq: Seq(42),
            at,
            parent: None,
            actor: ActorNo::default(),
            event,
            moved: Box::default(),
        };
        let lines: Vec<String> = cloud_events("urn:bellwether:test", &entry, names)
            .map(|event| serde_json::to_string(&event).unwrap())
            .collect();
        expected.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn an_event_of_a_job_names_it() {
        let names = Names { job_id: "resize-1", run_id: "nightly", ..Names::default() };
        let event = Event::Started { job: JobNo(7), token: Token(41) };
        check(
            event,
            names,
            expect![[
                r#"{"specversion":"1.0","id":"42","source":"urn:bellwether:test","type":"bellwether.job_started","subject":"resize-1","time":"2027-01-31T08:00:00.5Z","data":{"job":7,"token":41,"job_id":"resize-1","run_id":"nightly"}}"#
            ]],
        );
    }

    #[test]
    fn an_event_about_nothing_named_has_no_subject() {
        check(
            Event::BreakerClosed,
            Names::default(),
            expect![[
                r#"{"specversion":"1.0","id":"42","source":"urn:bellwether:test","type":"bellwether.breaker_closed","time":"2027-01-31T08:00:00.5Z","data":{}}"#
            ]],
        );
    }

    #[test]
    fn events_speak_in_words_and_in_seconds() {
        let took = Micros(1_500_000);
        let event = Event::ModelLoaded { worker: WorkerNo(3), model: Name::fixed("llama"), took };
        check(
            event,
            Names { worker_id: "w3", ..Names::default() },
            expect![[
                r#"{"specversion":"1.0","id":"42","source":"urn:bellwether:test","type":"bellwether.model_loaded","subject":"w3","time":"2027-01-31T08:00:00.5Z","data":{"model":"llama","took":1.5,"worker":3,"worker_id":"w3"}}"#
            ]],
        );
        let event = Event::BreakerOpened { until: Timestamp(1_801_382_401_000_000) };
        check(
            event,
            Names::default(),
            expect![[
                r#"{"specversion":"1.0","id":"42","source":"urn:bellwether:test","type":"bellwether.breaker_opened","time":"2027-01-31T08:00:00.5Z","data":{"until":"2027-01-31T08:00:01Z"}}"#
            ]],
        );
        let config = Box::new(Config::default());
        let entry = Entry {
            seq: Seq(1),
            at: Timestamp(0),
            parent: None,
            actor: ActorNo::default(),
            event: Event::Configured { version: 2, config },
            moved: Box::default(),
        };
        let event = cloud_events("s", &entry, Names::default()).next().unwrap();
        let data = serde_json::to_value(event.data).unwrap();
        assert_eq!(data["config"]["strategy"], "predictive");
        assert_eq!(data["config"]["predictor"], "auto");
        assert!(data["config"].get("shadow").is_none());
    }

    #[test]
    fn a_long_result_is_left_out_and_says_so() {
        let entry = Entry {
            seq: Seq(1),
            at: Timestamp(0),
            parent: None,
            actor: ActorNo::default(),
            event: Event::Completed {
                job: JobNo(1),
                token: Token(1),
                result: Bytes::from(vec![b'1'; CARRIED_BYTES_MAX + 1]),
                result_hash: [0; 32],
            },
            moved: Box::default(),
        };
        let event = cloud_events("s", &entry, Names::default()).next().unwrap();
        let data = serde_json::to_value(event.data).unwrap();
        assert_eq!(data["result"], serde_json::Value::Null);
        assert_eq!(data["result_left_out_bytes"], CARRIED_BYTES_MAX + 1);
    }
}
