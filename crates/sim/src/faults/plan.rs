//! What a seed sets up before anything happens: the fleet and the configuration.

use bellwether_core::model::config::{PredictorKind, Weights};
use bellwether_core::model::{
    Config, KeyLimit, Micros, Name, OnLimit, Resources, Strategy, WorkerId, WorkerKey, WorkerSpec,
};
use sha2::Digest as _;

use super::random::Random;
use super::worker::SimWorker;

pub(crate) const KINDS: [&str; 4] = ["render", "resize", "index", "train"];
pub(crate) const ROLES: [&str; 2] = ["painter", "reader"];
pub(crate) const CAPABILITIES: [&str; 2] = ["gpu", "ssd"];
pub(crate) const MODELS: [&str; 2] = ["small", "large"];
pub(crate) const WORKER_CPU: u32 = 4_000;
pub(crate) const WORKER_MEMORY: u64 = 8 << 30;
const ZONES: [&str; 2] = ["east", "west"];
const CLASSES: [&str; 3] = ["slow", "plain", "fast"];

/// Limits on the keys that jobs of the workload have.
pub(crate) fn limits(turn: u32) -> Vec<KeyLimit> {
    let limit = |pattern, max, on_limit| KeyLimit { pattern: Name::fixed(pattern), max, on_limit };
    vec![
        limit("gpu", 2 + turn % 3, OnLimit::Queue),
        limit("once-*", 1 + turn % 2, OnLimit::Skip),
        limit("tenant-*", 1 + (turn + 1) % 2, OnLimit::Queue),
    ]
}

/// Bounds that are as small as the settings allow, so that every timer fires within a short run.
pub(crate) fn config(random: &mut Random) -> Config {
    let unreachable_after = Micros::from_secs(random.between(6, 30));
    let defaults = Config::default();
    let mut config = Config {
        strategy: *random.pick(&Strategy::ALL),
        shadow: random.chance(400).then(|| *random.pick(&Strategy::ALL)),
        predictor: *random.pick(&PredictorKind::ALL),
        weights: Weights {
            wait: random.between(1, 500) as u32,
            load: random.between(1, 500) as u32,
            priority: random.between(1, 500) as u32,
        },
        prefetch: random.between(0, 3) as u32,
        prefetch_horizon: Micros::from_millis(random.skewed(10, 20_000)),
        max_queue_per_worker: random.between(1, 10) as u32,
        hold_max: random.below(20) as u32,
        job_timeout_default: Micros::from_secs(random.between(5, 40)),
        retry_base: Micros::from_millis(random.between(50, 1_000)),
        retry_cap: Micros::from_secs(random.between(1, 10)),
        max_crashes: random.between(1, 4) as u32,
        heartbeat_interval: Micros::from_secs(2),
        unreachable_after,
        stall_after: Micros::from_secs(random.between(4, 20)),
        hedge_after: Micros::from_millis(random.between(50, 800)),
        hedge_budget_permille: *random.pick(&[0, 50, 200, 1_000]),
        fallback_threshold: random.between(1, 4) as u32,
        breaker_cooldown: Micros::from_secs(random.between(1, 10)),
        duration_default: Micros::from_millis(random.skewed(10, 5_000)),
        model_load_default: Micros::from_secs(1),
        // Small enough that a flood meets it.
        jobs_max: *random.pick(&[15, 40, 120, 500]),
        reject_percent: random.between(60, 100) as u32,
        retain_jobs: *random.pick(&[3, 30, 10_000]),
        retain_for: Micros::from_secs(*random.pick(&[5, 60, 3_600])),
        // Few enough that most are kept elsewhere.
        idempotency_max: *random.pick(&[4, 20, 1_000_000]),
        ..defaults
    };
    // Not drawn, so that a setting that is new leaves the seeds what they were.
    config.prefetch_max = 2 * config.prefetch;
    config.limits = limits(config.prefetch);
    if config.prefetch == 3 {
        config.duration_default = Micros(500);
    }
    config
}

/// Workers of different speed, slots, zone, class and skill. The first can do everything, so that
/// a healed fleet can run any job.
pub(crate) fn fleet(random: &mut Random) -> Vec<SimWorker> {
    let workers = random.between(2, 6) as usize;
    (0..workers).map(|index| worker(index, random)).collect()
}

/// As workers compute it.
pub(crate) fn payload_hash(payload: &[u8]) -> [u8; 32] {
    sha2::Sha256::digest(payload).into()
}

/// The id of a worker, in the scheduler's words.
pub(crate) fn worker_id(index: usize) -> WorkerId {
    WorkerId::fixed(&format!("w{index}"))
}

fn worker(index: usize, random: &mut Random) -> SimWorker {
    let able = index == 0;
    let mut spec = WorkerSpec::new(worker_id(index), random.between(1, 4) as u32);
    let class = random.index(CLASSES.len());
    spec.endpoint = format!("sim:{index}");
    let mark = u8::try_from(index + 1).unwrap_or(u8::MAX);
    spec.public_key = Some(WorkerKey([mark; 32]));
    spec.zone = random.chance(700).then(|| random.pick_name(&ZONES));
    spec.class = Name::fixed(CLASSES[class]);
    // Every worker handles the first type, so that it can be named as a receiver.
    if !able && random.chance(400) {
        let others = some_of(&KINDS[1..], false, random);
        spec.types = [Name::fixed(KINDS[0])].into_iter().chain(others).collect();
        spec.types.sort_unstable();
    }
    // It says that it takes any type, which is not true.
    let lacks = !able && spec.types.is_empty() && random.chance(300);
    spec.roles = some_of(&ROLES, able, random);
    spec.capabilities = some_of(&CAPABILITIES, able, random);
    spec.models = some_of(&MODELS, able, random);
    spec.loads_models = able || random.chance(500);
    spec.resources = if random.chance(500) {
        Resources { cpu: WORKER_CPU, memory: WORKER_MEMORY }
    } else {
        Resources::default()
    };
    let speed_percent = [50, 100, 200][class];
    let mut worker = SimWorker::new(index, spec, speed_percent, 2_000_000);
    worker.lacks = lacks.then(|| Name::fixed(KINDS[KINDS.len() - 1]));
    worker
}

fn some_of(names: &[&str], all: bool, random: &mut Random) -> Box<[Name]> {
    let mut chosen: Vec<Name> =
        names.iter().filter(|_| all || random.chance(500)).map(|name| Name::fixed(name)).collect();
    chosen.sort();
    chosen.into()
}
