//! The only door.

use std::collections::VecDeque;

use crate::command::{Answer, Command};
use crate::effect::{Effect, effects_of};
use crate::event::{Entry, Event};
use crate::life::Moved;
use crate::model::{Actor, ActorNo, Config, MovedKey, Seq, Timestamp};
use crate::place::predictor::{Predictor, predictor};
use crate::place::queue::Next;
use crate::rejection::Rejection;
use crate::state::State;
use crate::verify::{Mismatch, check_moved};

/// Assignments that one command may lead to; what is left over is placed with the next one.
const ASSIGNMENTS_PER_COMMAND_MAX: usize = 10_000;

/// The scheduler as a state machine.
///
/// The order of calls: [`Engine::replay`] every entry that the journal holds behind the snapshot;
/// one [`Command::Tick`], which starts everybody's term anew; then any number of rounds of [`Engine::handle`] (as many commands as have come),
/// [`Engine::take_batch`] (append it), [`Engine::durable`] (once it is), [`Engine::take_effects`]
/// (carry them out). At [`Engine::next_deadline`] send [`Command::Tick`].
///
/// If an append fails, drop the engine and build it anew from the journal: what was not durable
/// has not happened.
#[derive(Debug)]
pub struct Engine {
    pub(crate) state: State,
    pub(crate) predictor: Box<dyn Predictor>,
    custom_predictor: bool,
    batch: Vec<Entry>,
    /// Effects that wait for their event to be durable.
    pending: VecDeque<(Seq, Effect)>,
    released: Vec<Effect>,
    /// What the command that is being decided asks to be done once more.
    repeated: Vec<Effect>,
    durable: Seq,
    /// Who wishes for what is being decided; none: nobody from outside.
    acting: Option<Actor>,
    /// No command has been handled since the state was built.
    fresh: bool,
}

/// What came of a command. To be told to the asker once `seq` is durable, refusals too: they may
/// rest on facts that are not durable yet.
#[derive(Debug)]
pub struct Handled {
    pub seq: Seq,
    pub result: Result<Answer, Rejection>,
}

impl Engine {
    pub fn new(config: Config) -> Engine {
        let mut state = State { config, ..State::default() };
        state.statistics.set_defaults(&state.config);
        Engine::around(state)
    }

    /// An engine with the facts of another, as a snapshot keeps them. Volatile things start afresh:
    /// every worker has its full time to be heard of.
    pub fn restore(mut facts: State) -> Engine {
        facts.derive_index();
        Engine::around(facts)
    }

    fn around(state: State) -> Engine {
        let durable = state.seq;
        Engine {
            predictor: predictor(state.config.predictor),
            custom_predictor: false,
            state,
            batch: Vec::new(),
            pending: VecDeque::new(),
            released: Vec::new(),
            repeated: Vec::new(),
            durable,
            acting: None,
            fresh: true,
        }
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    pub fn last_seq(&self) -> Seq {
        self.state.seq
    }

    /// The state goes on without the keys that were kept outside of it, as it does when it is restored
    /// elsewhere: they may be taken again.
    pub fn forget_moved_keys(&mut self) {
        self.state.moved_key = MovedKey::default();
        self.state.moved_id = MovedKey::default();
    }

    /// Uses this predictor instead of the configured one.
    pub fn set_predictor(&mut self, predictor: Box<dyn Predictor>) {
        self.predictor = predictor;
        self.custom_predictor = true;
    }

    /// Nothing more is decided: entries of another engine follow. What was to be done outside is the
    /// other's to do.
    ///
    /// # Panics
    /// If something that was decided is not durable.
    pub fn follow(&mut self) {
        assert!(self.batch.is_empty() && self.durable == self.state.seq, "all is durable first");
        self.pending.clear();
        self.released.clear();
        self.state.index.drifts.clear();
        self.state.forget_moment();
        self.fresh = true;
    }

    /// Takes over a durable entry of the journal.
    ///
    /// # Panics
    /// If it does not follow the last one, or commands have been handled already.
    pub fn replay(&mut self, entry: &Entry) {
        assert!(self.batch.is_empty() && self.durable == self.state.seq, "replay comes first");
        self.take_over(entry);
    }

    /// Like [`Engine::replay`], and recomputes what the entry says of the state before it: the
    /// decision, if it is one, and the jobs that it brought into another state.
    pub fn verify(&mut self, entry: &Entry) -> Result<(), Mismatch> {
        let checked = self.check_decision(entry);
        let moved = self.take_over(entry);
        checked?;
        check_moved(entry, &moved)
    }

    fn take_over(&mut self, entry: &Entry) -> Box<[Moved]> {
        let moved = self.state.apply(entry);
        self.state.index.drifts.clear();
        self.durable = self.state.seq;
        self.adopt_configuration(&entry.event);
        moved
    }

    /// Decides on a wish. Its events are applied at once and wait in the batch; its effects wait
    /// until they are durable. Time never goes back: an earlier `now` counts as the last one.
    pub fn handle(&mut self, now: Timestamp, command: Command) -> Handled {
        self.handle_by(now, None, command)
    }

    /// The same for a wish of somebody from outside, whom its events name.
    pub fn handle_by(&mut self, now: Timestamp, by: Option<&Actor>, command: Command) -> Handled {
        self.state.now = self.state.now.max(now);
        if std::mem::take(&mut self.fresh) {
            self.restart_terms(self.state.now.since(self.state.event_time));
        }
        self.acting = by.cloned();
        let result = self.decide(command);
        // Where jobs go is nobody's wish.
        self.acting = None;
        self.place_jobs();
        self.release_repeated();
        Handled { seq: self.state.seq, result }
    }

    pub fn take_batch(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.batch)
    }

    /// Everything up to `seq` is durable.
    pub fn durable(&mut self, seq: Seq) {
        self.durable = self.durable.max(seq);
        while let Some((at, _)) = self.pending.front()
            && *at <= self.durable
        {
            let (_, effect) = self.pending.pop_front().expect("it was there a line ago");
            self.released.push(effect);
        }
    }

    pub fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.released)
    }

    /// When to send the next [`Command::Tick`].
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let index = &self.state.index;
        [index.timers.next(), index.look_again_at].into_iter().flatten().min()
    }

    fn decide(&mut self, command: Command) -> Result<Answer, Rejection> {
        match command {
            Command::Submit(submission) => self.submit(submission),
            Command::Cancel { job, reason } => self.cancel(&job, reason),
            Command::Retry { job, force } => self.retry(&job, force),
            Command::Pin { job, worker } => self.pin(&job, &worker),
            Command::Register { spec, held, admission } => self.register(spec, &held, admission),
            Command::Invite { worker, ticket, terms, lasts } => {
                self.invite(worker, ticket, terms, lasts)
            }
            Command::ApproveKey { worker, key, terms } => self.approve_key(worker, key, terms),
            Command::RotateKey { worker, from, to, issued } => {
                self.rotate_key(worker, from, to, issued)
            }
            Command::RevokeKey { worker } => self.revoke_key(worker),
            Command::Heartbeat { worker, beat } => self.heartbeat(&worker, beat),
            Command::Report { worker, attempt, report } => self.report(&worker, attempt, report),
            Command::ModelLoaded { worker, model, took } => self.model_loaded(&worker, model, took),
            Command::Drain { worker } => self.drain(&worker),
            Command::Undrain { worker } => self.undrain(&worker),
            Command::Leave { worker } => self.leave(&worker),
            Command::Pause { kind } => self.pause(kind),
            Command::Unpause { kind } => self.unpause(kind),
            Command::Configure { config, expected_version } => {
                self.configure(*config, expected_version)
            }
            Command::Warm { kind, samples } => self.warm(kind, samples),
            Command::Tick => self.tick(),
            Command::ExtendTerms { by } => self.extend_terms(by),
            Command::Checkpoint(checkpoint) => {
                self.emit(Event::Checkpointed { checkpoint });
                Ok(Answer::Done)
            }
            Command::StepClock { ahead } => self.step_clock(ahead),
            Command::Note { name, value } => self.note(name, value),
        }
    }

    /// Places every job that finds a worker, in order.
    fn place_jobs(&mut self) {
        let due = self.state.index.look_again_at.is_some_and(|at| at <= self.state.now);
        if !self.state.index.dirty && !due {
            return;
        }
        #[cfg(feature = "defects")]
        if self.has(crate::defect::Defect::LeaveWorkersIdle) && self.state.seq.0 % 2 == 1 {
            return;
        }
        let mut fallback_for = None;
        for _ in 0..ASSIGNMENTS_PER_COMMAND_MAX {
            let now = self.state.now;
            let next = self.state.next_decision(now, self.predictor.as_ref(), fallback_for);
            match next {
                Next::Nothing => return,
                Next::Assign { job, worker, decision } => {
                    self.close_breaker_after(decision.fallback);
                    fallback_for = None;
                    self.emit(Event::Assigned { job, worker, hedge: false, decision });
                }
                Next::PredictorFailed { job, error } => {
                    self.predictor_failed(job, error);
                    fallback_for = Some(job);
                }
            }
        }
        // The rest follows at once: the deadline is now.
        self.state.index.look_again_at = Some(self.state.now);
    }

    pub(crate) fn predictor_failed(&mut self, job: crate::model::JobNo, error: String) {
        self.emit(Event::PredictorFailed { job, error });
        let breaker = self.state.breaker;
        let half_open = breaker.open_until.is_some();
        if half_open || breaker.failures >= self.state.config.fallback_threshold {
            let until = self.state.now + self.state.config.breaker_cooldown;
            self.emit(Event::BreakerOpened { until });
        }
    }

    /// A prediction has succeeded: if the breaker was trying, it closes.
    fn close_breaker_after(&mut self, fallback: bool) {
        let breaker = self.state.breaker;
        if !fallback && (breaker.open_until.is_some() || breaker.failures > 0) {
            self.emit(Event::BreakerClosed);
        }
    }

    /// Makes a fact: it is applied, put into the batch, and its effects are held.
    pub(crate) fn emit(&mut self, event: Event) -> Seq {
        let actor = self.acting_number();
        let seq = self.state.seq.next();
        for effect in effects_of(&self.state, seq, &event) {
            self.pending.push_back((seq, effect));
        }
        let parent = self.parent_of(&event);
        let at = self.state.now;
        #[cfg(feature = "defects")]
        let at = match &event {
            Event::AttemptFailed { .. } if self.has(crate::defect::Defect::BackdatesFailures) => {
                at - crate::model::Micros::from_secs(1)
            }
            _ => at,
        };
        let mut entry = Entry { seq, at, parent, actor, event, moved: Box::default() };
        entry.moved = self.state.apply(&entry);
        self.adopt_configuration(&entry.event);
        self.batch.push(entry);
        self.emit_drifts();
        seq
    }

    /// The number of whoever acts. Named with the first event that they cause, so that a refused wish
    /// leaves nothing behind.
    fn acting_number(&mut self) -> ActorNo {
        let Some(actor) = self.acting.take() else { return ActorNo::default() };
        let number = self.state.index.actors.get(&actor).copied().unwrap_or_else(|| {
            let number = self.state.actors.last.next();
            self.emit(Event::ActorNamed { number, actor: actor.clone() });
            number
        });
        self.acting = Some(actor);
        number
    }

    /// Repeats an effect whose event may be long durable.
    pub(crate) fn repeat(&mut self, effect: Effect) {
        self.repeated.push(effect);
    }

    /// With the answer to the command and not before: what a worker is told again when it registers must not
    /// leave before it is told that it is registered.
    fn release_repeated(&mut self) {
        let seq = self.state.seq;
        self.pending.extend(self.repeated.drain(..).map(|effect| (seq, effect)));
        self.durable(self.durable);
    }

    fn emit_drifts(&mut self) {
        while let Some(drift) = self.state.index.drifts.pop() {
            if let Some(kind) = self.state.statistics.name(drift.kind).cloned() {
                let (error_percent, usual_percent) = (drift.error_percent, drift.usual_percent);
                self.emit(Event::DriftDetected { kind, error_percent, usual_percent });
            }
        }
    }

    fn parent_of(&self, event: &Event) -> Option<Seq> {
        if let Some(job) = event.job() {
            return self.state.job(job).map(|job| job.last);
        }
        event.worker().and_then(|worker| self.state.worker(worker)).map(|worker| worker.last)
    }

    fn adopt_configuration(&mut self, event: &Event) {
        if let Event::Configured { config, .. } = event
            && !self.custom_predictor
        {
            self.predictor = predictor(config.predictor);
        }
    }

    /// Is this known bug switched on?
    #[cfg(feature = "defects")]
    pub(crate) fn has(&self, defect: crate::defect::Defect) -> bool {
        self.state.has(defect)
    }

    /// What was learnt is gone, as a known bug of others has it.
    #[cfg(feature = "defects")]
    pub fn forget_statistics(&mut self) {
        self.state.statistics = crate::place::predictor::Statistics::default();
    }

    /// Switches a known bug on, to show that the simulator catches it.
    #[cfg(feature = "defects")]
    pub fn plant(&mut self, defect: crate::defect::Defect) {
        self.state.defect = Some(defect);
    }
}
