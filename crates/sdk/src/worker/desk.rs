//! What a worker holds and what it owes the scheduler: no I/O, no clock.
//!
//! An attempt waits, is claimed if it must be, runs, and stays as a result until the scheduler has
//! confirmed that. Whatever is here when the connection breaks is named again when it is back.

use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use bellwether_wire::v1::{self, report::Report as Kind};
use rustc_hash::{FxHashMap, FxHashSet};
use tokio::task::AbortHandle;

use super::context::Context;
use super::credentials::Credentials;
use super::outcome::Outcome;

/// Bytes of results in one message, beyond which the rest waits for the next.
const MESSAGE_BYTES: usize = 1 << 20;
const MESSAGE_REPORTS: usize = 10_000;
/// The code of a refusal of what is said of an attempt that is not held.
const STALE_TOKEN: &str = "stale_token";

/// Told of attempts whose end is confirmed.
pub(crate) type Confirmed = Box<dyn Fn(&Context) + Send + Sync>;

pub(crate) struct Desk {
    slots: usize,
    /// Slots in use, those of revoked attempts that have not stopped yet included.
    busy: usize,
    /// Tokens of offers that wait for a slot, in order; those that were revoked are not held.
    waiting: VecDeque<u64>,
    granted: VecDeque<u64>,
    /// By token, which is unique.
    held: FxHashMap<u64, Held>,
    unsent: VecDeque<v1::Report>,
    /// Sent and not confirmed: the report's number, and the token of what it ends.
    sent: VecDeque<(u64, Option<u64>)>,
    numbered: u64,
    /// Attempts whose context has progress to tell.
    progress: FxHashSet<u64>,
    draining: bool,
    tell_confirmed: Option<Confirmed>,
    /// Who we are to the scheduler; none before the first session.
    credentials: Option<Arc<Credentials>>,
}

#[derive(Debug)]
enum Held {
    Waiting(Context),
    Claimed(Context),
    Running {
        context: Context,
        task: Option<AbortHandle>,
    },
    /// It was taken away but has not stopped yet.
    Revoked(Context),
    Finished {
        context: Context,
        report: Kind,
    },
}

impl Desk {
    pub(crate) fn new(slots: u32, tell_confirmed: Option<Confirmed>) -> Desk {
        Desk {
            slots: slots as usize,
            busy: 0,
            waiting: VecDeque::new(),
            granted: VecDeque::new(),
            held: FxHashMap::default(),
            unsent: VecDeque::new(),
            sent: VecDeque::new(),
            numbered: 0,
            progress: FxHashSet::default(),
            draining: false,
            tell_confirmed,
            credentials: None,
        }
    }

    pub(crate) fn introduced(&mut self, credentials: Arc<Credentials>) {
        self.credentials = Some(credentials);
    }

    /// The scheduler does not take the handoff: the attempt is still ours, and has failed. False if
    /// the refusal is of another report.
    pub(crate) fn handoff_refused(&mut self, refusal: &v1::Refusal) -> bool {
        let held = self.held.get(&refusal.token);
        let Some(Held::Finished { context, report: Kind::HandOff(_) }) = held else { return false };
        // An attempt that is not ours any more was taken away, and needs no end.
        if refusal.code == STALE_TOKEN {
            return false;
        }
        let context = context.clone();
        let report = failed(format!("the handoff was refused: {}", refusal.message));
        self.owe(&context, report.clone());
        self.held.insert(refusal.token, Held::Finished { context, report });
        true
    }

    pub(crate) fn offered(&mut self, context: Context) {
        let token = context.token();
        if self.held.contains_key(&token) {
            return;
        }
        if self.draining {
            return self.give_back(&context);
        }
        self.waiting.push_back(token);
        self.held.insert(token, Held::Waiting(context));
    }

    /// The next attempt that may start now, if there is one; its slot is taken.
    pub(crate) fn next_to_start(&mut self) -> Option<Context> {
        while let Some(token) = self.granted.pop_front() {
            if let Some(Held::Claimed(context)) = self.held.get(&token) {
                return Some(self.start(context.clone()));
            }
        }
        while self.busy < self.slots {
            let token = self.waiting.pop_front()?;
            let Some(Held::Waiting(context)) = self.held.get(&token) else { continue };
            let context = context.clone();
            self.busy += 1;
            if must_claim(&context) {
                self.owe(&context, Kind::Claim(v1::Claim {}));
                self.held.insert(token, Held::Claimed(context));
            } else {
                self.owe(&context, Kind::Acknowledge(v1::Acknowledge {}));
                return Some(self.start(context));
            }
        }
        None
    }

    fn start(&mut self, context: Context) -> Context {
        let held = Held::Running { context: context.clone(), task: None };
        self.held.insert(context.token(), held);
        context
    }

    /// The started attempt goes on in this task.
    pub(crate) fn runs_in(&mut self, token: u64, handle: AbortHandle) {
        if let Some(Held::Running { task, .. }) = self.held.get_mut(&token) {
            *task = Some(handle);
        }
    }

    pub(crate) fn finished(&mut self, token: u64, outcome: Outcome) {
        match self.held.remove(&token) {
            Some(Held::Running { context, .. }) => {
                self.busy -= 1;
                self.progress.remove(&token);
                context.close_log();
                let report = outcome.into_report();
                self.owe(&context, report.clone());
                self.held.insert(token, Held::Finished { context, report });
            }
            Some(Held::Revoked(context)) => {
                context.close_log();
                self.busy -= 1;
            }
            Some(other) => {
                self.held.insert(token, other);
            }
            None => {}
        }
    }

    pub(crate) fn progressed(&mut self, token: u64) {
        if matches!(self.held.get(&token), Some(Held::Running { .. })) {
            self.progress.insert(token);
        }
    }

    pub(crate) fn has_progress(&self) -> bool {
        !self.progress.is_empty()
    }

    /// The latest progress of each attempt becomes due.
    pub(crate) fn release_progress(&mut self) {
        for token in mem::take(&mut self.progress) {
            if let Some(Held::Running { context, .. }) = self.held.get(&token)
                && let Some(progress) = context.take_progress()
            {
                let context = context.clone();
                self.owe(&context, Kind::Progress(progress));
            }
        }
    }

    pub(crate) fn granted(&mut self, token: u64) {
        if matches!(self.held.get(&token), Some(Held::Claimed(_))) {
            self.granted.push_back(token);
        }
    }

    /// Stop it and forget it. Gives the task that has to end.
    pub(crate) fn revoked(&mut self, token: u64) -> Option<AbortHandle> {
        match self.held.remove(&token)? {
            Held::Waiting(_) | Held::Finished { .. } => None,
            Held::Claimed(_) => {
                self.busy -= 1;
                None
            }
            Held::Running { context, task } => {
                context.cancel();
                self.held.insert(token, Held::Revoked(context));
                task
            }
            revoked @ Held::Revoked(_) => {
                self.held.insert(token, revoked);
                None
            }
        }
    }

    /// A revoked attempt whose task was ended from outside frees its slot.
    pub(crate) fn ended(&mut self, token: u64) {
        if let Some(Held::Revoked(context)) = self.held.get(&token) {
            context.close_log();
            self.held.remove(&token);
            self.busy -= 1;
        }
    }

    /// Reports up to this number were taken.
    pub(crate) fn confirmed(&mut self, number: u64) {
        while let Some(&(first, ended)) = self.sent.front()
            && first <= number
        {
            self.sent.pop_front();
            let Some(token) = ended else { continue };
            if let Some(Held::Finished { context, .. }) = self.held.get(&token) {
                if let Some(tell) = &self.tell_confirmed {
                    tell(context);
                }
                self.held.remove(&token);
            }
        }
    }

    /// What to name when registering.
    pub(crate) fn held(&self) -> Vec<v1::Attempt> {
        let mut held: Vec<v1::Attempt> = self
            .held
            .values()
            .filter_map(|held| match held {
                Held::Waiting(context)
                | Held::Claimed(context)
                | Held::Running { context, .. }
                | Held::Finished { context, .. } => Some(attempt(context)),
                Held::Revoked(_) => None,
            })
            .collect();
        held.sort_unstable_by_key(|attempt| attempt.token);
        held
    }

    /// A new connection has begun: numbers start again, and what was not confirmed is owed again.
    pub(crate) fn reconnected(&mut self) {
        self.unsent.clear();
        self.sent.clear();
        self.numbered = 0;
        for attempt in self.held() {
            let token = attempt.token;
            let (context, kinds) = match self.held.get(&token) {
                Some(Held::Claimed(context)) => (context, vec![Kind::Claim(v1::Claim {})]),
                Some(Held::Running { context, .. }) => (context, acknowledged(context)),
                Some(Held::Finished { context, report }) => {
                    let mut kinds = acknowledged(context);
                    kinds.push(report.clone());
                    (context, kinds)
                }
                Some(Held::Waiting(_) | Held::Revoked(_)) | None => continue,
            };
            let context = context.clone();
            for kind in kinds {
                self.owe(&context, kind);
            }
        }
    }

    /// No more new work: what has not started goes back.
    pub(crate) fn drain(&mut self) {
        self.draining = true;
        for token in mem::take(&mut self.waiting) {
            if let Some(Held::Waiting(context)) = self.held.get(&token) {
                let context = context.clone();
                self.give_back(&context);
            }
        }
    }

    fn give_back(&mut self, context: &Context) {
        let report = Kind::Fail(v1::Fail {
            cause: v1::FailureCause::Returned.into(),
            error: "the worker is draining".to_owned(),
            retry_after: None,
        });
        self.owe(context, report.clone());
        self.held.insert(context.token(), Held::Finished { context: context.clone(), report });
    }

    /// Nothing runs and nothing is owed.
    pub(crate) fn is_clear(&self) -> bool {
        self.held.is_empty() && self.unsent.is_empty()
    }

    pub(crate) fn queue_depth(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn load_permille(&self) -> u32 {
        u32::try_from(self.busy * 1_000 / self.slots).unwrap_or(u32::MAX)
    }

    pub(crate) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Reports for one message, numbered from now on.
    pub(crate) fn take_reports(&mut self) -> Vec<v1::Report> {
        let mut bytes = 0;
        let mut count = 0;
        for report in &self.unsent {
            bytes += size(report);
            if count == MESSAGE_REPORTS || (count > 0 && bytes > MESSAGE_BYTES) {
                break;
            }
            count += 1;
        }
        let reports: Vec<v1::Report> = self.unsent.drain(..count).collect();
        for report in &reports {
            self.numbered += 1;
            let ends =
                matches!(report.report, Some(Kind::Complete(_) | Kind::Fail(_) | Kind::HandOff(_)));
            self.sent.push_back((self.numbered, ends.then_some(report.token)));
        }
        reports
    }

    fn owe(&mut self, context: &Context, kind: Kind) {
        let v1::Attempt { job, token } = attempt(context);
        let kind = match kind {
            Kind::HandOff(wish) => self.signed(context, &wish.receiver),
            other => other,
        };
        self.unsent.push_back(v1::Report { job, token, report: Some(kind) });
    }
}

impl Desk {
    fn signed(&self, context: &Context, receiver: &str) -> Kind {
        let credentials = self.credentials.as_ref().ok_or("no session has begun".to_owned());
        match credentials.and_then(|credentials| credentials.hand_off(context, receiver)) {
            Ok(signed) => Kind::HandOff(signed),
            Err(why) => failed(format!("the job can't be handed to {receiver}: {why}")),
        }
    }
}

fn failed(error: String) -> Kind {
    let cause = v1::FailureCause::Failed.into();
    Kind::Fail(v1::Fail { cause, error, retry_after: None })
}

/// A worker that is dropped takes its handlers with it.
impl Drop for Desk {
    fn drop(&mut self) {
        for held in self.held.values() {
            if let Held::Running { context, task } = held {
                context.cancel();
                if let Some(task) = task {
                    task.abort();
                }
            }
        }
    }
}

fn attempt(context: &Context) -> v1::Attempt {
    v1::Attempt { job: context.offer().job, token: context.token() }
}

fn must_claim(context: &Context) -> bool {
    context.spec().guarantee() == v1::Guarantee::ExactlyOnce
}

/// A start that may have got lost; with a claim the scheduler has granted it and knows.
fn acknowledged(context: &Context) -> Vec<Kind> {
    if must_claim(context) { Vec::new() } else { vec![Kind::Acknowledge(v1::Acknowledge {})] }
}

fn size(report: &v1::Report) -> usize {
    match &report.report {
        Some(Kind::Complete(complete)) => complete.result.len(),
        Some(Kind::Fail(fail)) => fail.error.len(),
        Some(Kind::Progress(progress)) => progress.note.len(),
        Some(Kind::HandOff(handoff)) => handoff.signature.len(),
        Some(Kind::Acknowledge(_) | Kind::Claim(_)) | None => 0,
    }
}

#[cfg(test)]
mod tests;
