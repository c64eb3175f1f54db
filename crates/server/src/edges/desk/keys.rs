//! The keys of workers: who speaks for whom, and handoffs that come without a session.

use bellwether_core::model::{HeldAttempt, KeyBinding, Seq, WorkerId};
use bellwether_core::{Command, Rejection};
use bellwether_wire::key::bound_key_to_wire;
use bellwether_wire::signing::handoff::Arrived;
use bellwether_wire::v1;

use super::Desk;
use super::unanswered::{Refused, Unanswered};

impl Desk {
    /// Every key that is bound, in the order of workers.
    pub(crate) async fn keys(&self) -> Result<Vec<v1::BoundKey>, Unanswered> {
        let seen = self.handle.ask(|view| {
            let wall = view.state.wall_ahead();
            let shown = view.state.worker_keys.iter();
            shown
                .map(|(id, bound)| bound_key_to_wire(id, bound, wall.on_the_wall(bound.at)))
                .collect()
        });
        Ok(seen.await?)
    }

    /// The key that is bound to a worker, whatever its standing.
    pub(crate) async fn key_of(&self, worker: &str) -> Result<Option<KeyBinding>, Unanswered> {
        let worker = worker.to_owned();
        Ok(self.handle.ask(move |view| view.state.key_of(&worker).cloned()).await?)
    }

    /// A handoff that no session carries: whoever holds the attempt must have signed it.
    pub(crate) async fn hand_off(&self, wire: v1::HandOff) -> Result<Seq, Unanswered> {
        let Arrived { job, token, .. } = Arrived::read(&wire)?;
        let (id, unknown) = (job.clone(), Rejection::UnknownJob { id: job });
        let held = self.handle.ask(move |view| {
            let no = view.state.job_no(id.as_str())?;
            let attempt = view.state.job(no)?.attempt(token);
            let worker = attempt.and_then(|attempt| view.state.worker(attempt.worker));
            Some((no, worker.map(|worker| WorkerId::clone(worker.id()))))
        });
        let (job, holder) = held.await?.ok_or(Refused::Rejected(unknown))?;
        let attempt = HeldAttempt { job, token };
        let nobody = || Rejection::StaleToken { worker: WorkerId::fixed("nobody"), job, token };
        let worker = holder.ok_or_else(|| Refused::Rejected(nobody()))?;
        let report = self.registrar.hand_off(&worker, attempt, &wire)?;
        self.command(Command::Report { worker, attempt, report }).await
    }
}
