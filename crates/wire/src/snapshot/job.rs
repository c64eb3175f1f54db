//! Jobs of a snapshot.

use bellwether_core::event::DeadReason;
use bellwether_core::life::Counts;
use bellwether_core::model::{
    Attempt, FailureCause, JobNo, Micros, Phase, Priority, RunNo, Seq, Timestamp, Token, WorkerNo,
};
use bellwether_core::state::{Derived, Escalated, Job, JobState};

use crate::job::accepted_from_wire;
use crate::malformed::{Malformed, hash, optional_name};
use crate::v1::job_facts::State as Wire;
use crate::{Mirror, v1};

pub(super) fn job_from_wire(wire: v1::JobFacts) -> Result<(JobNo, Job), Malformed> {
    let no = JobNo(wire.job);
    let job = read(wire).map_err(|error| error.within(format_args!("job {no}")))?;
    Ok((no, job))
}

fn read(wire: v1::JobFacts) -> Result<Job, Malformed> {
    let spec = wire.spec.ok_or_else(|| Malformed::missing("spec"))?;
    let accepted = accepted_from_wire(&spec).map_err(|error| error.within("spec"))?;
    Ok(Job {
        state: state(wire.state.ok_or_else(|| Malformed::missing("state"))?)?,
        run: (wire.run != 0).then_some(RunNo(wire.run)),
        submitted_at: Timestamp(wire.submitted_at),
        attempts: wire.attempts,
        counts: Counts { failures: wire.failures, crashes: wire.crashes, returns: wire.returns },
        escalated: wire.escalated.as_ref().map(escalated).transpose()?,
        pinned: optional_name("pinned", &wire.pinned)?.map(Box::new),
        predicted: accepted.predicted,
        rank: accepted.rank.wrapping_add(wire.rank_moved),
        ended_at: Timestamp(wire.ended_at),
        broken: wire.broken,
        dependencies: accepted.dependencies,
        dependents: wire.dependents.into_iter().map(JobNo).collect(),
        locality: wire.locality.into(),
        avoid: wire.avoid.into(),
        last: Seq(wire.last),
        spec: accepted.spec,
        derived: Derived::default(),
    })
}

fn state(wire: Wire) -> Result<JobState, Malformed> {
    Ok(match wire {
        Wire::Waiting(unmet) => JobState::Waiting { unmet },
        Wire::Delayed(until) => JobState::Delayed { until: Timestamp(until) },
        Wire::Ready(_) => JobState::Ready,
        Wire::Active(v1::AttemptsFacts { attempts }) => {
            JobState::Active(attempts.iter().map(attempt).collect())
        }
        Wire::Completed(v1::CompletedFacts { token, result_hash }) => JobState::Completed {
            token: Token(token),
            result_hash: hash("completed.result_hash", &result_hash)?,
        },
        Wire::Failed(cause) => JobState::Failed { cause: FailureCause::required("failed", cause)? },
        Wire::Cancelled(_) => JobState::Cancelled,
        Wire::Skipped(because) => JobState::Skipped { because: JobNo(because) },
        Wire::DeadLettered(reason) => {
            JobState::DeadLettered { reason: DeadReason::required("dead_lettered", reason)? }
        }
    })
}

fn attempt(wire: &v1::AttemptFacts) -> Attempt {
    let since = Timestamp(wire.since);
    let phase = match wire.timeout_at {
        None => Phase::Offered { since, quiet_at: Timestamp(wire.quiet_at) },
        Some(timeout_at) => Phase::Running {
            since,
            timeout_at: Timestamp(timeout_at),
            stalled_at: wire.stalled_at.map(Timestamp),
        },
    };
    Attempt {
        token: Token(wire.token),
        worker: WorkerNo(wire.worker),
        phase,
        offered_at: Timestamp(wire.offered_at),
        predicted: Micros(wire.predicted),
        hedge: wire.hedge,
        short: wire.short,
    }
}

fn escalated(wire: &v1::Escalation) -> Result<Box<Escalated>, Malformed> {
    Ok(Box::new(Escalated {
        priority: Priority::required("escalated.priority", wire.priority)?,
        role: optional_name("escalated.role", &wire.role)?,
    }))
}
