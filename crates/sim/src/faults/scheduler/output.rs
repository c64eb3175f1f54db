//! What the host gives out reaches the world: answers, and messages to workers.

use std::convert::Infallible;

use bellwether_core::Answer;
use bellwether_host::{End, Outgoing, Refusal, Reply, ReportNumber, Settled, Unavailable};

use super::Desk;
use super::edge::{Link, SimEdge, Unanswered};
use super::witness::Witness;
use crate::faults::court::Observation;
use crate::faults::due::{About, Asker, Due, Outcome, ToWorker, WorkerDue};
use crate::faults::stage::{Place, Stage};

/// Something on its way out of the process; a crash may lose what follows it.
pub(crate) enum Parcel {
    Reply(Reply<SimEdge>),
    Message(Link, Result<Outgoing<Infallible>, End<Infallible>>),
}

impl Desk {
    pub(crate) fn outgoing(&mut self, stage: &mut Stage) -> Vec<Parcel> {
        let mut parcels = Vec::new();
        let mut witness = Witness::new(stage, &mut self.twin, self.reign);
        self.host.drain_outgoing(&mut witness, |link, message| {
            parcels.push(Parcel::Message(*link, message));
            true
        });
        parcels.extend(std::iter::from_fn(|| self.host.poll_reply()).map(Parcel::Reply));
        parcels
    }

    pub(crate) fn send(&mut self, stage: &mut Stage, parcel: Parcel) {
        match parcel {
            Parcel::Reply(Reply::Settled(ticket, settled)) => {
                let Some(unanswered) = self.sessions.answered(ticket) else { return };
                self.answer(stage, unanswered, only(settled));
            }
            Parcel::Reply(Reply::Waiting(..) | Reply::Seen(..) | Reply::Snapshot(..)) => {}
            Parcel::Message(link, Ok(message)) => self.tell(stage, link, message),
            Parcel::Message(_, Err(End::Replaced)) => {}
            Parcel::Message(link, Err(_)) => {
                // The stream has ended; the worker notices and comes back.
                let delay = stage.random.skewed(10_000, 2_000_000);
                let Link { worker, instance, connection, .. } = link;
                let due = WorkerDue::Reconnects { connection };
                stage.after(delay, Due::Worker { worker, instance, due });
            }
        }
    }

    fn answer(&mut self, stage: &mut Stage, unanswered: Unanswered, outcome: Outcome) {
        let Unanswered { letter, changed, seq } = unanswered;
        let (command, by) = (&letter.command, self.reign);
        match &outcome {
            Ok(result) => stage.see(Observation::Answered { command, seq, result, by }),
            Err(why) => {
                stage.count(refusal(*why));
                stage.see(Observation::Refused { command, changed, why: *why, by });
            }
        }
        let to = match letter.from {
            Asker::Client { .. } => Place::Clients,
            Asker::Worker { worker, .. } => Place::Worker(worker),
        };
        let due = Due::Answered { to: letter.from, outcome: Box::new(outcome) };
        stage.send(Place::Scheduler, to, due);
    }

    fn tell(&mut self, stage: &mut Stage, link: Link, message: Outgoing<Infallible>) {
        let Link { key, worker, instance, connection } = link;
        stage.see(Observation::Sent { to: worker, by: self.reign });
        if let Some(registered) = message.registered {
            let about = About::Registration { connection };
            let to = Asker::Worker { worker, instance, about };
            let answer =
                Answer::Registered { worker: registered.worker, unknown: registered.unknown };
            let due = Due::Answered { to, outcome: Box::new(Ok(Ok(answer))) };
            stage.send(Place::Scheduler, Place::Worker(worker), due);
        }
        let mut refusals = message.refusals;
        for (number, unanswered) in self.sessions.done(key, message.reports_done) {
            let refusal = refusals.iter().position(|refusal| number_of(refusal) == number);
            let result = match refusal.map(|at| refusals.swap_remove(at)) {
                Some(Refusal::Rejected { rejection, .. }) => Err(rejection),
                Some(Refusal::Malformed { malformed, .. }) => match malformed {},
                None => Ok(Answer::Done),
            };
            self.answer(stage, unanswered, Ok(result));
        }
        let offers = message.offers.into_iter().map(|(offer, _)| ToWorker::Offer(Box::new(offer)));
        let grants = message.grants.into_iter().map(ToWorker::Grant);
        let revokes =
            message.revokes.into_iter().map(|(attempt, why)| ToWorker::Revoke(attempt, why));
        let drain = message.drain.then_some(ToWorker::Drain);
        for message in offers.chain(grants).chain(revokes).chain(drain) {
            let due = Due::Delivered { worker, instance, connection, message };
            stage.send(Place::Scheduler, Place::Worker(worker), due);
        }
    }
}

/// Each letter carries one command.
fn only(settled: Result<Vec<Settled>, Unavailable>) -> Outcome {
    settled.map(|mut settled| settled.pop().expect("every command is answered").result)
}

fn number_of(refusal: &Refusal<Infallible>) -> ReportNumber {
    match refusal {
        Refusal::Rejected { report, .. } | Refusal::Malformed { report, .. } => *report,
    }
}

fn refusal(why: Unavailable) -> &'static str {
    match why {
        Unavailable::DiskFull => "refused_disk_full",
        Unavailable::Rebuilt => "refused_rebuilt",
        Unavailable::Unknown => "told_unknown",
        Unavailable::Deposed => "refused_deposed",
        Unavailable::ShuttingDown
        | Unavailable::Busy
        | Unavailable::DiskMax
        | Unavailable::Following
        | Unavailable::NotSaved => "refused",
    }
}
