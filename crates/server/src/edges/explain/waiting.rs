//! What a job waits for, as the core says it.

use bellwether_core::model::{JobId, WorkerId};
use bellwether_core::why::{Away, Because, Fleet, Place, Short};
use bellwether_core::{Lack, State, Why};
use bellwether_wire::v1::WaitReason;
use bellwether_wire::v1::shortage::What;
use bellwether_wire::{Mirror as _, v1};

/// Names in one list.
const NAMES_MAX: usize = 100;

/// The code of it alone.
pub(crate) fn reason_of(state: &State, why: &Why) -> Option<WaitReason> {
    waiting_for(state, why).map(|waiting| waiting.reason())
}

/// None if it waits for nothing: it is with a worker, or has ended.
pub(super) fn waiting_for(state: &State, why: &Why) -> Option<v1::WaitingFor> {
    let mut waiting = match &why.because {
        Because::Unknown | Because::Placed(_) | Because::Ended { .. } => return None,
        Because::Dependencies(open) => v1::WaitingFor {
            dependencies: open.iter().take(NAMES_MAX).map(|(id, _)| open_job(state, id)).collect(),
            ..reason(WaitReason::Dependencies)
        },
        Because::Moment { until, ended_attempts } => v1::WaitingFor {
            until: until.0,
            ended_attempts: *ended_attempts,
            ..reason(if *ended_attempts == 0 { WaitReason::Delay } else { WaitReason::Backoff })
        },
        Because::Paused { kind } => {
            v1::WaitingFor { paused_type: kind.to_string(), ..reason(WaitReason::Paused) }
        }
        Because::Key(full) => v1::WaitingFor {
            key: Some(v1::KeyAtLimit {
                key: full.key.to_string(),
                used: full.used,
                limit: full.limit,
                holders: full.holders.iter().take(NAMES_MAX).map(ToString::to_string).collect(),
                ahead: count(full.ahead),
            }),
            ..reason(WaitReason::Key)
        },
        Because::NoWorkers => reason(WaitReason::NoWorkers),
        Because::NoReceiver { receiver } => {
            v1::WaitingFor { receiver: receiver.to_string(), ..reason(WaitReason::NoReceiver) }
        }
        Because::Impossible { nearest, lacks, .. } => v1::WaitingFor {
            nearest: Some(v1::NearestWorker {
                worker: nearest.to_string(),
                lacks: lacks.iter().map(shortage_of_kind).collect(),
                available_at: 0,
            }),
            ..reason(lacks.first().map_or(WaitReason::NoWorkers, lack_code))
        },
        Because::Unavailable(away) => {
            v1::WaitingFor { nearest: unavailable(away), ..reason(unavailable_code(away)) }
        }
        Because::Busy { nearest, short, room_at, .. } => {
            let (because, shortage) = shortage_of_room(*short);
            v1::WaitingFor {
                nearest: Some(v1::NearestWorker {
                    worker: nearest.to_string(),
                    lacks: vec![shortage],
                    available_at: room_at.0,
                }),
                ..reason(because)
            }
        }
        Because::Held { free, faster, until } => v1::WaitingFor {
            until: until.0,
            receiver: faster.to_string(),
            nearest: Some(v1::NearestWorker {
                worker: free.to_string(),
                lacks: vec![shortage(What::Slower, "", 0, 0)],
                available_at: 0,
            }),
            ..reason(WaitReason::Held)
        },
        Because::Next { worker } => v1::WaitingFor {
            nearest: Some(v1::NearestWorker {
                worker: worker.to_string(),
                lacks: Vec::new(),
                available_at: why.now.0,
            }),
            ..reason(WaitReason::Next)
        },
    };
    if let Some(Fleet { present, able, away }) = &why.fleet {
        waiting.workers = count(*present);
        waiting.able = count(*able);
        waiting.draining = names(&away.draining);
        waiting.overloaded = names(&away.overloaded);
        waiting.unreachable = names(&away.unreachable);
        waiting.silent = names(&away.silent);
    }
    if let Some(Place { ahead, ahead_in_class }) = why.place {
        waiting.ahead = count(ahead);
        waiting.ahead_in_class = count(ahead_in_class);
    }
    waiting.expected_start = why.expected_start.map_or(0, |at| at.0);
    Some(waiting)
}

fn reason(reason: WaitReason) -> v1::WaitingFor {
    v1::WaitingFor { reason: reason.into(), ..Default::default() }
}

fn open_job(state: &State, id: &JobId) -> v1::OpenDependency {
    let job = state.job_no(id.as_str()).and_then(|no| state.job(no));
    let state = job.map_or(0, |job| job.state.status().to_wire());
    v1::OpenDependency { id: id.to_string(), state }
}

fn lack_code(lack: &Lack) -> WaitReason {
    match lack {
        Lack::Type(_) => WaitReason::MissingType,
        Lack::Role(_) => WaitReason::MissingRole,
        Lack::Capability(_) => WaitReason::MissingCapability,
        Lack::Model(_) => WaitReason::MissingModel,
        Lack::Cpu { .. } => WaitReason::CpuTooSmall,
        Lack::Memory { .. } => WaitReason::MemoryTooSmall,
    }
}

fn shortage_of_kind(lack: &Lack) -> v1::Shortage {
    match lack {
        Lack::Type(kind) => shortage(What::Type, kind.as_str(), 0, 0),
        Lack::Role(role) => shortage(What::Role, role.as_str(), 0, 0),
        Lack::Capability(capability) => shortage(What::Capability, capability.as_str(), 0, 0),
        Lack::Model(model) => shortage(What::Model, model.as_str(), 0, 0),
        Lack::Cpu { wanted, has } => shortage(What::Cpu, "", u64::from(*wanted), u64::from(*has)),
        Lack::Memory { wanted, has } => shortage(What::Memory, "", *wanted, *has),
    }
}

fn shortage_of_room(short: Short) -> (WaitReason, v1::Shortage) {
    match short {
        Short::Slots { .. } => (WaitReason::Slots, shortage(What::Slots, "", 1, 0)),
        // The worker may hold so many of others' jobs, and one more must fit.
        Short::Queue { waiting, max } => {
            let wanted = u64::from(waiting) + 1;
            (WaitReason::Queue, shortage(What::Queue, "", wanted, u64::from(max)))
        }
        Short::Cpu { wanted, free } => {
            (WaitReason::Cpu, shortage(What::Cpu, "", u64::from(wanted), u64::from(free)))
        }
        Short::Memory { wanted, free } => {
            (WaitReason::Memory, shortage(What::Memory, "", wanted, free))
        }
    }
}

fn shortage(what: What, name: &str, wanted: u64, has: u64) -> v1::Shortage {
    v1::Shortage { what: what.into(), name: name.to_owned(), wanted, has }
}

/// One word if all are away for the same reason.
fn unavailable_code(away: &Away) -> WaitReason {
    let groups = [
        (&away.draining, WaitReason::Draining),
        (&away.overloaded, WaitReason::Overloaded),
        (&away.unreachable, WaitReason::Unreachable),
        (&away.silent, WaitReason::Silent),
    ];
    let mut reasons = groups.into_iter().filter(|(workers, _)| !workers.is_empty());
    match (reasons.next(), reasons.next()) {
        (Some((_, reason)), None) => reason,
        _ => WaitReason::Unavailable,
    }
}

/// An overloaded worker recovers by itself, a draining one when somebody says so.
fn unavailable(away: &Away) -> Option<v1::NearestWorker> {
    let groups = [
        (&away.overloaded, What::Overloaded),
        (&away.silent, What::Silent),
        (&away.draining, What::Draining),
        (&away.unreachable, What::Unreachable),
    ];
    let (worker, what) = groups.into_iter().find_map(|(ids, what)| Some((ids.first()?, what)))?;
    let lacks = vec![shortage(what, "", 0, 0)];
    Some(v1::NearestWorker { worker: worker.to_string(), lacks, available_at: 0 })
}

fn names(ids: &[WorkerId]) -> Vec<String> {
    ids.iter().take(NAMES_MAX).map(WorkerId::to_string).collect()
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
