//! Shows the court what a host does while it does it, and lets a second engine do the same.

use bellwether_core::model::{
    Actor, HeldAttempt, Micros, Seq, Timestamp, WallAhead, WorkerId, WorkerSpec,
};
use bellwether_core::{Command, Effect, Engine, Handled};
use bellwether_host::Observer;

use crate::faults::court::Observation;
use crate::faults::stage::Stage;

pub(crate) struct Witness<'a> {
    pub(crate) stage: &'a mut Stage,
    twin: &'a mut Option<Engine>,
    reign: u32,
    asked: Option<(Command, Vec<HeldAttempt>, Seq)>,
}

impl<'a> Witness<'a> {
    pub(crate) fn new(
        stage: &'a mut Stage,
        twin: &'a mut Option<Engine>,
        reign: u32,
    ) -> Witness<'a> {
        Witness { stage, twin, reign, asked: None }
    }
}

impl Observer for Witness<'_> {
    fn asked(&mut self, now: Timestamp, by: Option<&Actor>, command: &Command, engine: &Engine) {
        let held = named_and_held(engine, command);
        self.asked = Some((command.clone(), held, engine.last_seq()));
        if let Some(twin) = &mut self.twin {
            twin.handle_by(now, by, command.clone());
        }
    }

    fn handled(&mut self, handled: &Handled, engine: &Engine) {
        let Some((command, held_before, before)) = self.asked.take() else { return };
        self.stage.note(|| format!("{command:?} -> {} {:?}", handled.seq, handled.result));
        self.stage.see(Observation::Asked {
            before,
            command: &command,
            handled,
            held_before: &held_before,
            engine,
            at: self.stage.stamp(),
            by: self.reign,
        });
    }

    fn late(&mut self, away: Micros) {
        self.stage.count("late_round");
        self.stage.note(|| format!("it was away for {away}"));
    }

    fn slow_journal(&mut self, took: Micros) {
        self.stage.count("journal_slow");
        self.stage.note(|| format!("the journal took {took}"));
    }

    fn stepped(&mut self, _: WallAhead, to: WallAhead) {
        self.stage.count("clock_step_noticed");
        self.stage.note(|| format!("its wall clock is {} us ahead", to.0));
    }

    fn released(&mut self, effect: &Effect) {
        self.stage.note(|| format!("  => {effect:?}"));
        self.stage.see(Observation::Released { effect, by: self.reign });
    }
}

/// The attempts that a command speaks of and that its worker holds.
fn named_and_held(engine: &Engine, command: &Command) -> Vec<HeldAttempt> {
    match command {
        Command::Report { worker, attempt, .. } if holds(engine, worker, *attempt) => {
            vec![*attempt]
        }
        Command::Register { spec, held, .. } if is_known_process(engine, spec) => {
            held.iter().copied().filter(|attempt| holds(engine, &spec.id, *attempt)).collect()
        }
        _ => Vec::new(),
    }
}

fn is_known_process(engine: &Engine, spec: &WorkerSpec) -> bool {
    let state = engine.state();
    let number = state.worker_no(spec.id.as_str());
    number
        .and_then(|number| state.worker(number))
        .is_some_and(|known| known.spec.instance == spec.instance)
}

pub(crate) fn holds(engine: &Engine, worker: &WorkerId, attempt: HeldAttempt) -> bool {
    let state = engine.state();
    let Some(number) = state.worker_no(worker.as_str()) else {
        return false;
    };
    let Some(job) = state.job(attempt.job) else {
        return false;
    };
    job.attempt(attempt.token).is_some_and(|open| open.worker == number)
}
