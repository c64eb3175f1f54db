//! Looking at jobs. The registry knows their whole history, the loop why those that have not ended
//! are where they are.

use std::time::Duration;

use bellwether_core::model::{JobNo, Seq};
use bellwether_wire::v1;

use super::job_view::{ended_view, job_view};
use super::{Desk, Shown, Unanswered};
use crate::event_loop::{Ended, View};
use crate::projections::registry::{Counted, REACH_WITHIN};

/// How long the history of a job is waited for that the loop can say enough of.
const HISTORY_PATIENCE: Duration = Duration::from_secs(2);

impl Desk {
    /// A job with everything that is known of it, at this position or later.
    pub(crate) async fn job(&self, id: String, position: Seq) -> Result<v1::Job, Unanswered> {
        let job = self.recorded_job(id, position).await?;
        Ok(self.shown().job(self.with_root_cause(job).await))
    }

    /// In the scheduler's time.
    async fn recorded_job(&self, id: String, position: Seq) -> Result<v1::Job, Unanswered> {
        let asked = id.clone();
        let seen = self.handle.ask(move |view| (view.state.seq(), Remembered::find(view, &asked)));
        let (seq, remembered) = seen.await?;
        let remembered = match remembered {
            Some(Remembered { job, knows: Knows::Everything, .. }) if seq >= position => {
                return Ok(job);
            }
            other => other,
        };
        let enough = remembered.as_ref().is_some_and(|known| known.knows != Knows::NotItsResult);
        let remembered = remembered.map(|remembered| remembered.job);
        let found = match &remembered {
            Some(job) => {
                let patience = if enough { HISTORY_PATIENCE } else { REACH_WITHIN };
                self.registry.look(JobNo(job.job), seq.max(position), patience).await
            }
            None => match self.registry.reach(seq.max(position)).await {
                Ok(()) => self.registry.job(id.clone()).await,
                Err(why) => Err(why),
            },
        };
        match (found, remembered) {
            (Ok(found), remembered) => {
                let mut job =
                    later(found, remembered.clone()).ok_or(Unanswered::UnknownJob { id })?;
                // Why it waits is known to the loop alone.
                if let Some(remembered) = remembered
                    && (remembered.job, remembered.state) == (job.job, job.state)
                    && job.ended_at == 0
                {
                    job.explanation = remembered.explanation;
                }
                Ok(job)
            }
            // Better without its history than not at all, as when the disk is full; but a result that
            // can be had is not left out because the history takes a moment.
            (Err(_), Some(remembered)) if enough => Ok(remembered),
            (Err(why), _) => Err(why.into()),
        }
    }

    /// A job that somebody waited for, without its payload: whoever waits for a job knows what was
    /// asked for.
    pub(crate) async fn ended_job(&self, ended: &Ended) -> Result<v1::Job, Unanswered> {
        let shown = self.shown();
        if let Some(job) = ended_view(ended, shown) {
            return Ok(job);
        }
        // So many ended at once that the loop has forgotten it.
        let found = self.registry.look(ended.no, ended.seq, REACH_WITHIN).await?;
        let mut job =
            found.ok_or_else(|| Unanswered::UnknownJob { id: format!("number {}", ended.no.0) })?;
        if let Some(spec) = &mut job.spec {
            spec.payload.clear();
        }
        Ok(shown.job(job))
    }

    pub(crate) async fn list_jobs(
        &self,
        mut wanted: v1::ListJobsRequest,
    ) -> Result<v1::ListJobsResponse, Unanswered> {
        let position =
            if wanted.position == 0 { self.handle.durable() } else { Seq(wanted.position) };
        self.registry.reach(position).await?;
        let shown = self.shown();
        name_times(&mut wanted, shown);
        let mut found = self.registry.search(wanted).await?;
        found.jobs = found.jobs.into_iter().map(|job| shown.job(job)).collect();
        Ok(found)
    }

    pub(crate) async fn count_jobs(
        &self,
        mut wanted: v1::ListJobsRequest,
    ) -> Result<Counted, Unanswered> {
        self.registry.reach(self.handle.durable()).await?;
        name_times(&mut wanted, self.shown());
        Ok(self.registry.count_up(wanted).await?)
    }
}

/// From the time of those who ask into the scheduler's own.
fn name_times(wanted: &mut v1::ListJobsRequest, shown: Shown) {
    for at in [&mut wanted.submitted_after, &mut wanted.submitted_before] {
        *at = shown.named(*at);
    }
}

/// A job as the loop knows it.
struct Remembered {
    job: v1::Job,
    knows: Knows,
}

/// How much of a job the loop knows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Knows {
    /// There is nothing that the registry could add.
    Everything,
    /// All but its attempts, or all that can be had while the disk is full.
    Enough,
    NotItsResult,
}

impl Remembered {
    fn find(view: &View<'_>, id: &str) -> Option<Remembered> {
        let no = view.state.job_no(id)?;
        let job = view.state.job(no)?;
        let run = job.run.and_then(|run| view.state.run(run)).map(|run| &run.id);
        let mut shown = job_view(no, job, run);
        let ended = job.state.has_ended();
        let knows = match (ended, job.attempts) {
            (false, 0) => Knows::Everything,
            (false, _) => Knows::Enough,
            (true, _) if view.disk_full => Knows::Enough,
            (true, _) => Knows::NotItsResult,
        };
        if !ended {
            shown.explanation = view.state.why(no, view.now).to_string();
        }
        Some(Remembered { job: shown, knows })
    }
}

/// Of two views of a job the one that has seen more; the registry's tells more.
fn later(registered: Option<v1::Job>, remembered: Option<v1::Job>) -> Option<v1::Job> {
    match (registered, remembered) {
        (Some(registered), Some(remembered)) if registered.position < remembered.position => {
            Some(remembered)
        }
        (None, remembered) => remembered,
        (registered, _) => registered,
    }
}
