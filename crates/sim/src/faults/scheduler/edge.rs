//! The edge of a simulated scheduler: letters become messages to the host, as the server's edges
//! make them of what arrives on the wire.

use std::collections::BTreeMap;
use std::convert::Infallible;

use bellwether_core::Command;
use bellwether_core::model::{Actor, Name, Seq};
use bellwether_host::{Edge, NumberedReport, Registration, ReportNumber, SessionInput, SessionKey};

use super::Desk;
use super::witness::Witness;
use crate::faults::due::{About, Asker, Letter};
use crate::faults::stage::Stage;

/// Of a worker that has no session; its reports are handled, and nobody hears the answer.
const NO_SESSION: SessionKey = SessionKey(0);

/// The names that clients go by.
const CLIENTS: u64 = 3;

#[derive(Debug)]
pub(crate) struct SimEdge;

impl Edge for SimEdge {
    type Asker<T> = Ticket;
    type SnapshotAsker = Ticket;
    type Seen = ();
    type Message = Letter;
    type Link = Link;
    type Watcher = ();
    type Malformed = Infallible;
}

/// Names a letter whose answer is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(u64);

/// A connection of a worker's process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    pub(super) key: SessionKey,
    pub(super) worker: usize,
    pub(super) instance: u64,
    pub(super) connection: u32,
}

/// A letter that is not answered yet.
#[derive(Debug)]
pub(super) struct Unanswered {
    pub(super) letter: Letter,
    /// The last position that it brought about; none if it changed nothing.
    pub(super) changed: Option<Seq>,
    /// What its answer rests on.
    pub(super) seq: Seq,
}

#[derive(Debug, Default)]
pub(crate) struct Sessions {
    /// The session that each worker registered on last, and which of its connections that is.
    of_worker: BTreeMap<usize, (SessionKey, (u64, u32))>,
    opened: u64,
    numbers: u64,
    letters: BTreeMap<Ticket, Unanswered>,
    reports: BTreeMap<(SessionKey, ReportNumber), Unanswered>,
}

impl Sessions {
    /// All connections are gone; what was counted goes on, so that no number is given twice.
    pub(crate) fn start_over(&mut self) {
        self.of_worker.clear();
        self.letters.clear();
        self.reports.clear();
    }

    pub(super) fn answered(&mut self, ticket: Ticket) -> Option<Unanswered> {
        self.letters.remove(&ticket)
    }

    /// The reports that are done, with their numbers.
    pub(super) fn done(
        &mut self,
        key: SessionKey,
        done: ReportNumber,
    ) -> Vec<(ReportNumber, Unanswered)> {
        let range = (key, ReportNumber(0))..=(key, done);
        let numbers: Vec<_> = self.reports.range(range).map(|(at, _)| *at).collect();
        let taken = numbers.into_iter().filter_map(|at| Some((at.1, self.reports.remove(&at)?)));
        taken.collect()
    }
}

impl Desk {
    pub(crate) fn take(&mut self, stage: &mut Stage, letter: Letter) {
        match letter.from {
            Asker::Client { .. } => self.take_command(stage, letter),
            Asker::Worker { worker, instance, about } => {
                self.take_message(stage, worker, instance, about, letter);
            }
        }
    }

    fn take_command(&mut self, stage: &mut Stage, letter: Letter) {
        let before = self.host.engine().last_seq();
        self.sessions.numbers += 1;
        let ticket = Ticket(self.sessions.numbers);
        let commands = vec![letter.command.clone()];
        let mut witness = Witness::new(stage, &mut self.twin, self.reign);
        let name = Name::fixed(&format!("client-{}", ticket.0 % CLIENTS));
        let by = Actor { name, peer: None };
        self.host.handle_commands(commands, Some(&by), ticket, &mut witness);
        self.sessions.letters.insert(ticket, self.unanswered(letter, before));
    }

    /// Something that the next leader is to know; nobody waits for an answer.
    pub(crate) fn note(&mut self, stage: &mut Stage, name: &str, value: &str) {
        self.sessions.numbers += 1;
        let ticket = Ticket(self.sessions.numbers);
        let commands = vec![Command::Note { name: Name::fixed(name), value: Name::fixed(value) }];
        let mut witness = Witness::new(stage, &mut self.twin, self.reign);
        self.host.handle_commands(commands, None, ticket, &mut witness);
    }

    fn take_message(
        &mut self,
        stage: &mut Stage,
        worker: usize,
        instance: u64,
        about: About,
        letter: Letter,
    ) {
        let before = self.host.engine().last_seq();
        let known = self.sessions.of_worker.get(&worker).copied();
        let mut key = known.map_or(NO_SESSION, |(key, _)| key);
        self.sessions.numbers += 1;
        let number = ReportNumber(self.sessions.numbers);
        let mut input = SessionInput {
            worker: crate::faults::plan::worker_id(worker),
            register: None,
            before: Vec::new(),
            reports: Vec::new(),
            malformed: Vec::new(),
            after: Vec::new(),
            last_report: number,
        };
        match letter.command.clone() {
            Command::Register { spec, held, admission } => {
                let connection = match about {
                    About::Registration { connection } => connection,
                    _ => 0,
                };
                self.sessions.opened += 1;
                key = SessionKey(self.sessions.opened);
                let at = (instance, connection);
                match known {
                    // It comes late, on a connection that was given up.
                    Some((_, latest)) if at < latest => stage.count("registration_outdated"),
                    _ => {
                        if let Some((old, _)) = known.filter(|_| stage.random.chance(500)) {
                            self.host.handle_session_closed(old);
                        }
                        self.sessions.of_worker.insert(worker, (key, at));
                    }
                }
                let link = Link { key, worker, instance, connection };
                let (connection, by) = (u64::from(connection), None);
                input.register = Some(Registration { spec, held, connection, admission, link, by });
            }
            Command::Report { attempt, report, .. } => {
                input.reports.push(NumberedReport { number, attempt, report });
            }
            command => input.before.push(command),
        }
        let is_report = !input.reports.is_empty();
        let mut witness = Witness::new(stage, &mut self.twin, self.reign);
        self.host.handle_session(key, input, &mut witness);
        if is_report {
            let unanswered = self.unanswered(letter, before);
            self.sessions.reports.insert((key, number), unanswered);
        }
    }

    fn unanswered(&self, letter: Letter, before: Seq) -> Unanswered {
        let seq = self.host.engine().last_seq();
        Unanswered { letter, changed: (seq > before).then_some(seq), seq }
    }
}
