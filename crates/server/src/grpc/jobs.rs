//! Looking at jobs. The registry knows their whole history, the loop what becomes of those that
//! have not ended.

use bellwether_core::State;
use bellwether_core::model::{JobNo, Seq};
use bellwether_wire::v1;
use tonic::{Code, Status};

use super::job_view::state_to_wire;
use super::status::{lookup_failed, refused, unavailable};
use crate::registry::Registry;
use crate::scheduler::Handle;

pub(super) fn unknown_job(id: &str) -> Status {
    refused(Code::NotFound, "unknown_job", format!("job {id} is not known"))
}

/// A job with everything that is known of it, at this position or later.
pub(super) async fn job(
    handle: &Handle,
    registry: &Registry,
    id: String,
    position: Seq,
) -> Result<v1::Job, Status> {
    let asked = id.clone();
    let seen = handle.ask(move |view| {
        let no = view.state.job_no(&asked);
        let live = no.and_then(|no| Live::of(view.state, no));
        let explained = live.map(|live| Live {
            explanation: view.state.why(live.no, view.now).to_string(),
            ..live
        });
        (view.state.seq(), explained)
    });
    let (seq, live) = seen.await.map_err(unavailable)?;
    registry.reach(seq.max(position)).await.map_err(lookup_failed)?;
    let found = registry.job(id.clone()).await.map_err(lookup_failed)?;
    let mut job = found.ok_or_else(|| unknown_job(&id))?;
    if let Some(live) = live {
        live.show_in(&mut job);
    }
    Ok(job)
}

pub(super) async fn list(
    handle: &Handle,
    registry: &Registry,
    mut wanted: v1::ListJobsRequest,
) -> Result<v1::ListJobsResponse, Status> {
    let states = wanted.states.clone();
    // Whether a waiting job has become ready is known to the loop alone.
    if states.contains(&(v1::JobState::Ready as i32)) {
        wanted.states.push(v1::JobState::Waiting as i32);
    }
    let position = if wanted.position == 0 { handle.durable() } else { Seq(wanted.position) };
    registry.reach(position).await.map_err(lookup_failed)?;
    let mut found = registry.search(wanted).await.map_err(lookup_failed)?;
    let open = |job: &&v1::Job| job.ended_at == 0;
    let live: Vec<JobNo> = found.jobs.iter().filter(open).map(|job| JobNo(job.job)).collect();
    let seen = handle.ask(move |view| -> Vec<Live> {
        live.iter().filter_map(|no| Live::of(view.state, *no)).collect()
    });
    let live = seen.await.map_err(unavailable)?;
    for job in &mut found.jobs {
        if let Ok(index) = live.binary_search_by(|live| job.job.cmp(&live.no.0)) {
            live[index].show_in(job);
        }
    }
    if !states.is_empty() {
        found.jobs.retain(|job| states.contains(&job.state));
    }
    Ok(found)
}

/// What the loop knows better than the registry while a job has not ended.
struct Live {
    no: JobNo,
    state: v1::JobState,
    explanation: String,
}

impl Live {
    fn of(state: &State, no: JobNo) -> Option<Live> {
        let job = state.job(no).filter(|job| !job.state.has_ended())?;
        Some(Live { no, state: state_to_wire(&job.state), explanation: String::new() })
    }

    fn show_in(&self, job: &mut v1::Job) {
        if job.job == self.no.0 && job.ended_at == 0 {
            job.set_state(self.state);
            job.explanation.clone_from(&self.explanation);
        }
    }
}
