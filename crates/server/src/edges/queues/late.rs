//! What is said outside of a session: by a worker that this scheduler does not know yet, or that has
//! come late. And handoffs, which need no session.

use bellwether_brokers::{Delivery, Settlement};
use bellwether_core::model::{HeldAttempt, KeyStanding, WorkerId, WorkerKey};
use bellwether_core::state::JobState;
use bellwether_core::{Command, Rejection, Report};
use bellwether_wire::json::Said;
use bellwether_wire::json::dispatch::{Attempt, Dispatch};
use bellwether_wire::rejection::code;
use bellwether_wire::v1;
use bellwether_wire::worker::report_from_wire;

use super::seals::Unheard;
use super::workers::Links;
use crate::edges::desk::Unanswered;
use crate::event_loop::View;
use crate::projections::logs::Receipt;

/// What the state says of a report that has come late.
enum Late {
    /// The key is not the one that speaks for the worker.
    OtherKey,
    Holds,
    /// The job has this very result already.
    Known,
    Stale,
}

impl Links {
    /// A worker that has no session, because this scheduler has just started or has given it up.
    /// What it says of its attempts is taken, fenced as ever; and it is told to register.
    pub(super) async fn hear_stranger(&mut self, said: Said, from: Delivery) {
        match self.queue.desk.key_of(&said.worker).await {
            Ok(None) => {}
            // The queue vouches for those alone that have no key.
            Ok(Some(_)) => return self.refuse(said, Unheard::Unsigned, from).await,
            Err(_) => return self.settle(Settlement::Release(from.receipt)).await,
        }
        let Said { worker, message, .. } = said;
        self.by_worker.remove(&worker);
        let mut told = Vec::new();
        if !message.logs.is_empty()
            && let Ok(name) = WorkerId::new(&worker)
        {
            let (receipt, _) = Receipt::new();
            self.queue.desk.logs.keep(&name, message.logs, 0, &receipt);
        }
        for report in message.reports {
            let attempt = Attempt { job: report.job, token: report.token };
            let (Ok((held, report)), Ok(name)) = (report_from_wire(report), WorkerId::new(&worker))
            else {
                continue;
            };
            let command = Command::Report { worker: name, attempt: held, report };
            let settled = match self.queue.desk.handle.command(vec![command]).await {
                Ok(mut settled) => settled.pop(),
                Err(why) => {
                    tracing::debug!(%worker, %why, "a report is given back");
                    return self.settle(Settlement::Release(from.receipt)).await;
                }
            };
            if let Some(Err(rejection)) = settled.map(|settled| settled.result) {
                told.push(refusal(None, attempt, &rejection));
            }
        }
        if !message.leave && self.remind(&worker) {
            let reason = "this worker has no session; register, and say what it still holds";
            told.push(Dispatch::Reconnect { reason }.to_json());
        }
        self.settle(Settlement::Done(from.receipt)).await;
        self.tell(&worker, told).await;
    }

    /// A worker that has signed it, but before its session began, or earlier than what was heard
    /// last. Anybody may have kept it for later, so it counts only if it ends the attempt that it
    /// is about, which can happen once.
    pub(super) async fn hear_late(&mut self, said: Said, key: WorkerKey, from: Delivery) {
        let has_session = self.has_session(&said.worker);
        if !has_session && !said.message.leave && self.remind(&said.worker) {
            self.challenge(&said.worker).await;
        }
        let report = said.message.reports.first().cloned().filter(ends_attempt);
        let report = report.and_then(|wire| report_from_wire(wire).ok());
        let (Some((held, report)), Ok(worker)) = (report, WorkerId::new(&said.worker)) else {
            return self.settle(Settlement::Done(from.receipt)).await;
        };
        let seen = {
            let (worker, report) = (worker.clone(), report.clone());
            self.queue.desk.handle.ask(move |view| look(view, &worker, key, held, &report)).await
        };
        let (job, token) = (held.job, held.token);
        let result = match seen {
            Ok(Late::OtherKey) => return self.refuse(said, Unheard::Forged, from).await,
            Ok(Late::Holds) => {
                let command = Command::Report { worker, attempt: held, report };
                let settled = self.queue.desk.handle.command(vec![command]).await;
                settled.map(|mut settled| match settled.pop().map(|settled| settled.result) {
                    Some(Err(why)) => Err(why),
                    Some(Ok(_)) | None => Ok(()),
                })
            }
            Ok(Late::Known) => Ok(Ok(())),
            Ok(Late::Stale) => Ok(Err(Rejection::StaleToken { worker, job, token })),
            Err(why) => Err(why),
        };
        let Ok(result) = result else {
            return self.settle(Settlement::Release(from.receipt)).await;
        };
        let (id, attempt) = (said.id.as_deref(), Attempt { job: job.0, token: token.0 });
        let told = match (&result, id) {
            (Ok(()), Some(id)) => Some(Dispatch::Confirmed { id }.to_json()),
            (Ok(()), None) => None,
            (Err(why), id) => Some(refusal(id, attempt, why)),
        };
        self.settle(Settlement::Done(from.receipt)).await;
        self.tell(&said.worker, told.into_iter().collect()).await;
    }

    /// Whoever holds the attempt has signed it.
    pub(super) async fn hand_off(&mut self, handoff: v1::HandOff, from: Delivery) {
        match self.queue.desk.hand_off(handoff).await {
            Ok(_) => self.settle(Settlement::Done(from.receipt)).await,
            Err(Unanswered::Refused(why)) => self.set_aside(from, why.to_string()).await,
            Err(_) => self.settle(Settlement::Release(from.receipt)).await,
        }
    }
}

fn ends_attempt(wire: &v1::Report) -> bool {
    use v1::report::Report as Wire;
    match wire.report {
        Some(Wire::Complete(_) | Wire::Fail(_)) => true,
        // A handoff has a message of its own.
        Some(Wire::Acknowledge(_) | Wire::Claim(_) | Wire::Progress(_) | Wire::HandOff(_))
        | None => false,
    }
}

fn look(
    view: &View<'_>,
    worker: &WorkerId,
    key: WorkerKey,
    held: HeldAttempt,
    report: &Report,
) -> Late {
    let bound = view.state.key_of(worker.as_str());
    if !bound.is_some_and(|bound| bound.key == key && bound.standing != KeyStanding::Revoked) {
        return Late::OtherKey;
    }
    let Some(job) = view.state.job(held.job) else { return Late::Stale };
    let holder = job.attempt(held.token).and_then(|attempt| view.state.worker(attempt.worker));
    if holder.is_some_and(|holder| holder.id() == worker) {
        return Late::Holds;
    }
    match (&job.state, report) {
        (JobState::Completed { result_hash, .. }, Report::Complete { result })
            if blake3::hash(result) == *result_hash =>
        {
            Late::Known
        }
        _ => Late::Stale,
    }
}

fn refusal(id: Option<&str>, attempt: Attempt, why: &Rejection) -> Vec<u8> {
    let message = why.to_string();
    Dispatch::Refused { id, attempt: Some(attempt), code: code(why), message: &message }.to_json()
}
