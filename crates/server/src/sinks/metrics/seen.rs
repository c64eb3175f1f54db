//! Numbers that are looked up in the state when somebody asks for them.

use bellwether_core::Worker;
use bellwether_core::model::{Name, WallAhead, WorkerStatus};
use bellwether_core::place::breaker::BreakerState;
use bellwether_core::place::shadow::ShadowTotals;

use super::WORKERS_NAMED_MAX;
use super::labels::OTHER;
use super::meters::Meters;
use super::text::{Kind, Text};
use crate::event_loop::View;

#[derive(Debug)]
pub(super) struct Seen {
    meters: Meters,
    live: u64,
    ready: u64,
    stranded: u64,
    kept_by_keys: u64,
    active: u64,
    jobs_max: u64,
    payload_bytes: u64,
    statuses: [(WorkerStatus, u64); WorkerStatus::ALL.len()],
    sessions: u64,
    slots: u64,
    slots_used: u64,
    workers: Vec<WorkerSeen>,
    others: WorkerSeen,
    hedge_allowance: u64,
    breaker: BreakerState,
    shadow: ShadowTotals,
    accuracy: Vec<(Name, u32, u32)>,
    pub(super) position: u64,
    waiting_events: u64,
    disk_full: bool,
    config_version: u64,
    wall_ahead: WallAhead,
}

#[derive(Debug, Default)]
struct WorkerSeen {
    id: String,
    slots: u64,
    held: u64,
    busy_micros: u64,
}

impl Seen {
    /// `types` are those whose accuracy is wanted.
    pub(super) fn of(view: &View<'_>, types: &[Name]) -> Seen {
        let (state, totals) = (view.state, view.state.totals());
        let mut seen = Seen {
            meters: view.meters.clone(),
            live: totals.live,
            ready: state.ready_jobs(),
            stranded: state.stranded_jobs(),
            kept_by_keys: state.jobs_kept_by_keys(),
            active: 0,
            jobs_max: state.config().jobs_max,
            payload_bytes: totals.payload_bytes,
            statuses: WorkerStatus::ALL.map(|status| (status, 0)),
            sessions: view.host.connected() as u64,
            slots: 0,
            slots_used: 0,
            workers: Vec::new(),
            others: WorkerSeen { id: OTHER.to_owned(), ..WorkerSeen::default() },
            hedge_allowance: state.hedge_allowance(),
            breaker: state.breaker().state(view.now),
            shadow: *state.shadow(),
            accuracy: Vec::new(),
            position: view.durable.seq.0,
            waiting_events: state.seq().0.saturating_sub(view.durable.seq.0),
            disk_full: view.disk_full,
            config_version: state.config_version(),
            wall_ahead: state.wall_ahead(),
        };
        for (_, worker) in state.workers() {
            seen.see_worker(worker);
        }
        let statistics = state.statistics();
        for name in types {
            if let Some(accuracy) = statistics.accuracy(statistics.lookup(name)) {
                let (near, error) =
                    (accuracy.within_25_permille(), accuracy.recent_error_percent());
                seen.accuracy.push((name.clone(), near, error));
            }
        }
        seen
    }

    fn see_worker(&mut self, worker: &Worker) {
        let shown = match worker.status {
            WorkerStatus::Open | WorkerStatus::Overloaded if worker.draining => {
                WorkerStatus::Draining
            }
            status => status,
        };
        let status = self.statuses.iter_mut().find(|(status, _)| *status == shown);
        status.expect("ALL lists them all").1 += 1;
        if worker.status == WorkerStatus::Unreachable {
            return;
        }
        let (slots, held) = (u64::from(worker.spec.slots), worker.held.len() as u64);
        self.slots += slots;
        self.slots_used += held;
        self.active += held;
        let shown = if self.workers.len() < WORKERS_NAMED_MAX {
            let id = worker.id().to_string();
            self.workers.push(WorkerSeen { id, ..WorkerSeen::default() });
            self.workers.last_mut().expect("it was pushed a line ago")
        } else {
            &mut self.others
        };
        shown.slots += slots;
        shown.held += held;
        shown.busy_micros = shown.busy_micros.saturating_add(worker.busy.0);
    }

    pub(super) fn write(&self, text: &mut Text) {
        self.write_jobs(text);
        self.write_workers(text);
        self.write_predictions(text);
        self.write_loop(text);
    }

    fn write_jobs(&self, text: &mut Text) {
        text.gauge("bellwether_jobs_live", "Jobs that have not ended", self.live);
        let help = "Jobs that have not ended: waiting for another job or a moment, ready for a \
                    worker, or active on one. Hedged jobs count once for each offer.";
        let waiting = self.live.saturating_sub(self.ready + self.active);
        text.family("bellwether_jobs", Kind::Gauge, help)
            .sample(&[("state", "waiting")], waiting)
            .sample(&[("state", "ready")], self.ready)
            .sample(&[("state", "active")], self.active);
        let help = "Ready jobs that no worker that is there could run, room or not";
        text.gauge("bellwether_jobs_stranded", help, self.stranded);
        let help = "Ready jobs that wait because one of their concurrency keys is at its limit";
        text.gauge("bellwether_jobs_kept_by_keys", help, self.kept_by_keys);
        text.gauge("bellwether_jobs_max", "Jobs that may be there at a time", self.jobs_max);
        text.gauge("bellwether_payload_bytes", "Bytes of their payloads", self.payload_bytes);
    }

    fn write_workers(&self, text: &mut Text) {
        let family = text.family("bellwether_workers", Kind::Gauge, "Workers by their status");
        for (status, count) in self.statuses {
            family.sample(&[("status", status.as_str())], count);
        }
        text.gauge("bellwether_worker_sessions", "Workers that are connected", self.sessions);
        text.gauge("bellwether_slots", "Slots of reachable workers", self.slots);
        text.gauge("bellwether_slots_used", "Attempts that workers hold", self.slots_used);
        let others = (self.others.slots > 0).then_some(&self.others);
        let workers = || self.workers.iter().chain(others);
        let help = "Slots of a worker";
        let family = text.family("bellwether_worker_slots", Kind::Gauge, help);
        for worker in workers() {
            family.sample(&[("worker", &worker.id)], worker.slots);
        }
        let help = "Attempts that a worker holds";
        let family = text.family("bellwether_worker_slots_used", Kind::Gauge, help);
        for worker in workers() {
            family.sample(&[("worker", &worker.id)], worker.held);
        }
        let help = "Time that a worker spent on attempts that have ended, slots added up";
        let family = text.family("bellwether_worker_busy_seconds_total", Kind::Counter, help);
        for worker in workers() {
            family.sample(&[("worker", &worker.id)], worker.busy_micros as f64 / 1e6);
        }
        let help = "Hedges that the budget allows for the offers made so far";
        text.gauge("bellwether_hedges_allowed", help, self.hedge_allowance);
    }

    fn write_predictions(&self, text: &mut Text) {
        let help = "1 for the state of the breaker in front of the predictor";
        let family = text.family("bellwether_breaker_state", Kind::Gauge, help);
        for state in BreakerState::ALL {
            family.sample(&[("state", state.as_str())], u8::from(state == self.breaker));
        }
        let help = "Share of predictions within 25% of the actual duration, ever";
        let family = text.family("bellwether_prediction_accuracy_ratio", Kind::Gauge, help);
        for (name, near_permille, _) in &self.accuracy {
            family.sample(&[("type", name.as_str())], f64::from(*near_permille) / 1e3);
        }
        let help = "How far off the last few predictions were: 1 is a factor of two either way";
        let family = text.family("bellwether_prediction_recent_error_ratio", Kind::Gauge, help);
        for (name, _, error_percent) in &self.accuracy {
            family.sample(&[("type", name.as_str())], f64::from(*error_percent) / 1e2);
        }
        let shadow = &self.shadow;
        let help = "Decisions that the shadow policy made beside the live one";
        text.counter("bellwether_shadow_decisions_total", help, shadow.decisions);
        let help = "Decisions in which the shadow policy chose the same worker";
        text.counter("bellwether_shadow_agreements_total", help, shadow.agreed);
        let help = "Predicted time to the end of jobs, added up, by the policy that chose";
        let seconds = |micros: u64| micros as f64 / 1e6;
        text.family("bellwether_shadow_finish_seconds_total", Kind::Counter, help)
            .sample(&[("policy", "live")], seconds(shadow.live_finish))
            .sample(&[("policy", "shadow")], seconds(shadow.shadow_finish))
            .sample(&[("policy", "round_robin")], seconds(shadow.round_robin_finish));
    }

    fn write_time(&self, text: &mut Text) {
        let Meters { late_rounds, away, clock_steps, .. } = self.meters;
        let help = "Times that the loop came back late: stopped, suspended or overloaded";
        text.counter("bellwether_late_rounds_total", help, late_rounds);
        let help = "Time that nobody had listened before the loop came back late";
        text.counter("bellwether_late_seconds_total", help, away.0 as f64 / 1e6);
        let help = "Times that the wall clock was not where it was thought to be";
        text.counter("bellwether_clock_steps_total", help, clock_steps);
        let help = "How far the wall clock is ahead of the scheduler's time";
        text.gauge("bellwether_clock_ahead_seconds", help, self.wall_ahead.0 as f64 / 1e6);
    }

    fn write_stalls(&self, text: &mut Text) {
        let Meters { round, round_max, slice_max, snapshots, .. } = &self.meters;
        let help = "Rounds of the loop: whatever comes meanwhile waits";
        text.distribution("bellwether_loop_round_seconds", help, round);
        let help = "The longest round of the loop since the start";
        text.gauge("bellwether_loop_round_longest_seconds", help, round_max.as_secs_f64());
        let help = "The longest part of a round that a snapshot took since the start";
        text.gauge("bellwether_snapshot_slice_longest_seconds", help, slice_max.as_secs_f64());
        let help = "Snapshots saved since the start";
        text.counter("bellwether_snapshots_total", help, *snapshots);
    }

    fn write_loop(&self, text: &mut Text) {
        self.write_time(text);
        self.write_stalls(text);
        let Meters { commands, refused, events, batches, duplicates, .. } = self.meters;
        text.counter("bellwether_commands_total", "Commands handled", commands);
        text.counter("bellwether_commands_refused_total", "Commands refused", refused);
        text.counter("bellwether_events_total", "Events handed to the journal", events);
        let help = "Batches handed to the journal";
        text.counter("bellwether_journal_batches_total", help, batches);
        let help = "Results that came for jobs which another attempt had completed";
        text.counter("bellwether_duplicates_total", help, duplicates);
        let help = "Time that the engine took for a command with all that it led to; one in 16";
        text.distribution("bellwether_decision_seconds", help, &self.meters.decision);
        let help = "Time to make a batch durable";
        text.distribution("bellwether_journal_append_seconds", help, &self.meters.append);
        let help = "Events made durable together";
        text.distribution("bellwether_journal_batch_events", help, &self.meters.batch_events);
        let help = "The last durable position";
        text.gauge("bellwether_journal_position", help, self.position);
        let help = "Events that wait to become durable";
        text.gauge("bellwether_journal_waiting_events", help, self.waiting_events);
        let help = "1 while new work is refused for lack of space";
        text.gauge("bellwether_disk_full", help, u8::from(self.disk_full));
        let help = "The version of the configuration that holds";
        text.gauge("bellwether_config_version", help, self.config_version);
    }
}
