//! Why a job is where it is.

use bellwether_core::model::Seq;
use bellwether_wire::v1;

use super::waiting::waiting_for;
use crate::edges::desk::{Desk, Unanswered};
use crate::event_loop::clock;

/// Ids that are offered in place of one that nobody knows.
const SIMILAR_MAX: u32 = 3;

impl Desk {
    /// An id that is not known is explained as well: then `job` is 0, and `refused` says why if its
    /// submission was refused of late.
    pub(crate) async fn explain(
        &self,
        id: String,
        position: Seq,
    ) -> Result<v1::Explanation, Unanswered> {
        let job = match self.job(id.clone(), position).await {
            Ok(job) => job,
            Err(Unanswered::UnknownJob { .. }) => {
                return match self.explain_array(&id).await? {
                    Some(told) => Ok(told),
                    None => self.explain_unknown(id).await,
                };
            }
            Err(why) => return Err(why),
        };
        let asked = id.clone();
        let seen = self.handle.ask(move |view| {
            let why = view.state.job_no(&asked).map(|no| view.state.why(no, view.now));
            let told = why.map(|why| (waiting_for(view.state, &why), why.to_string()));
            (view.now, told)
        });
        let (now, told) = seen.await?;
        let shown = self.shown();
        let (waiting_for, sentence) = told.unwrap_or_default();
        let spec = job.spec.clone().unwrap_or_default();
        let summary = match (sentence.is_empty(), &job.explanation) {
            // The core has forgotten it; its history has not.
            (true, because) if because.is_empty() => format!("job {id} completed"),
            (true, because) => format!("job {id} ended: {because}"),
            (false, _) => sentence,
        };
        Ok(v1::Explanation {
            id: spec.id,
            job: job.job,
            state: job.state,
            r#type: spec.requirements.unwrap_or_default().r#type,
            run_id: job.run_id.clone(),
            summary,
            waiting_for: waiting_for
                .filter(|_| job.ended_at == 0)
                .map(|waiting| shown.waiting_for(waiting)),
            attempts: self.explained_attempts(&job).await?,
            refused: self.refusals.of(&id),
            submitted_at: job.submitted_at,
            started_at: job.started_at,
            ended_at: job.ended_at,
            now: shown.moment(now.0),
            position: job.position,
            submitted_by: job.submitted_by,
            changed_by: job.changed_by,
            array: Vec::new(),
        })
    }

    async fn explain_unknown(&self, id: String) -> Result<v1::Explanation, Unanswered> {
        let refused = self.refusals.of(&id);
        let why = refused.as_ref().and_then(|refused| refused.rejection.as_ref());
        let summary = match why {
            Some(why) => format!("the submission of {id} was refused: {}", why.message),
            None => {
                let similar = self.similar_ids(&id).await?;
                let similar = match similar.is_empty() {
                    true => String::new(),
                    false => format!("; known ids that start alike: {}", similar.join(", ")),
                };
                format!(
                    "job {id} is not known: no submission with this id was taken, and none was refused of late{similar}"
                )
            }
        };
        let now = clock::wall().0;
        Ok(v1::Explanation { id, summary, refused, now, ..Default::default() })
    }

    /// Ids that differ from this one in their last characters.
    async fn similar_ids(&self, id: &str) -> Result<Vec<String>, Unanswered> {
        let length = id.chars().count();
        for kept in [length.saturating_sub(1), length.saturating_sub(3), length / 2] {
            let id_prefix: String = id.chars().take(kept).collect();
            if id_prefix.is_empty() {
                continue;
            }
            let limit = SIMILAR_MAX;
            let wanted = v1::ListJobsRequest { id_prefix, limit, ..Default::default() };
            let found = self.registry.search(wanted).await?;
            if !found.jobs.is_empty() {
                let ids = found.jobs.into_iter().filter_map(|job| Some(job.spec?.id));
                return Ok(ids.collect());
            }
        }
        Ok(Vec::new())
    }
}
