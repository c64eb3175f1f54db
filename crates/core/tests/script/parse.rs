//! Words of a script as values. Scripts are part of the tests, so a bad word panics.

use bellwether_core::model::config::{Backoff, PredictorKind};
use bellwether_core::model::{
    Config, Escalation, FailureCause, Guarantee, Heartbeat, JobId, JobSpec, KeyLimit, KeyPolicy,
    KeySet, KeyTerms, KeyUse, Micros, Name, OnFailure, OnLimit, Priority, Settlement, Strategy,
    Target, Ticket, WorkerKey, WorkerSpec,
};

/// The words of one command: what it is, about whom, and the rest as `key=value`.
#[derive(Debug)]
pub(crate) struct Words<'a> {
    pub(crate) plain: Vec<&'a str>,
    pub(crate) pairs: Vec<(&'a str, &'a str)>,
}

impl<'a> Words<'a> {
    pub(crate) fn of(command: &'a str) -> Words<'a> {
        let (mut plain, mut pairs) = (Vec::new(), Vec::new());
        for word in command.split_whitespace() {
            match word.split_once('=') {
                Some(pair) => pairs.push(pair),
                None => plain.push(word),
            }
        }
        Words { plain, pairs }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'a str> {
        self.pairs.iter().find(|(other, _)| *other == key).map(|(_, value)| *value)
    }

    pub(crate) fn about(&self) -> &'a str {
        self.plain.get(1).unwrap_or_else(|| panic!("{self:?} is about nobody"))
    }

    pub(crate) fn says(&self, word: &str) -> bool {
        self.plain.contains(&word)
    }
}

/// A name, or an id, which is one.
pub(crate) fn name<N: From<Name>>(text: &str) -> N {
    N::from(Name::fixed(text))
}

pub(crate) fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| panic!("{text} is not a number"))
}

/// `5s`, `200ms`, `7us`, `2m`, `1h`.
pub(crate) fn span(text: &str) -> Micros {
    let split = text.find(|c: char| !c.is_ascii_digit()).expect("a span has a unit");
    let count: u64 = number(&text[..split]);
    Micros(match &text[split..] {
        "us" => count,
        "ms" => count * 1_000,
        "s" => count * 1_000_000,
        "m" => count * 60_000_000,
        "h" => count * 3_600_000_000,
        unit => panic!("{unit} is no unit of time"),
    })
}

/// Names joined by `+`, sorted.
pub(crate) fn names(text: &str) -> Vec<Name> {
    let mut names: Vec<Name> = text.split('+').map(name).collect();
    names.sort();
    names
}

pub(crate) fn priority(text: &str) -> Priority {
    let found = Priority::ALL.into_iter().find(|priority| priority.as_str() == text);
    found.unwrap_or_else(|| panic!("{text} is no priority"))
}

/// A job from its pairs; its type is `t` unless given.
pub(crate) fn job(id: &str, words: &Words<'_>) -> JobSpec {
    let mut job = JobSpec::new(name(id), name("t"));
    for (key, value) in words.pairs.iter().copied() {
        match key {
            "type" => job.requirements_mut().kind = name(value),
            "after" => job.dependencies = value.split('+').map(name).collect(),
            "priority" => job.priority = priority(value),
            "retry" => job.retry = Some(number(value)),
            "timeout" => job.timeout = Some(span(value)),
            "guarantee" => job.guarantee = guarantee(value),
            "role" => job.requirements_mut().target = Target::Role(name(value)),
            "receiver" => job.requirements_mut().target = Target::Receiver(name(value)),
            "cap" => job.requirements_mut().capabilities = names(value).into(),
            "model" => job.requirements_mut().model = Some(name(value)),
            "cpu" => job.requirements_mut().resources.cpu = number(value),
            "memory" => job.requirements_mut().resources.memory = number(value),
            "key" => job.idempotency_key = Some(name(value)),
            "delay" => job.extras_mut().delay = span(value),
            "not_before" => job.extras_mut().not_before = super::START + span(value),
            "sender" => job.sender = Some(name(value)),
            "tags" => job.tags = names(value).into(),
            "node" => job.node = Some(name(value)),
            "payload" => job.payload = value.to_owned().into(),
            "payload_bytes" => job.payload = vec![b'x'; number(value)].into(),
            "on_failure" => job.on_failure = on_failure(value),
            "keys" => job.set_keys(KeySet::of(value.split('+').map(key_use).collect())),
            "escalate" => job.extras_mut().escalation = Some(escalation(value)),
            "settled" => {}
            other => panic!("{other} is no field of a job"),
        }
    }
    job
}

/// `gpu`, `gpu*2` (a weight), `gpu/3` (a limit), `gpu!skip`, in this order.
fn key_use(text: &str) -> KeyUse {
    let (text, on_limit) = match text.split_once('!') {
        Some((text, word)) => (text, Some(OnLimit::parse(word).expect("what to do"))),
        None => (text, None),
    };
    let (text, limit) = match text.split_once('/') {
        Some((text, limit)) => (text, Some(number(limit))),
        None => (text, None),
    };
    let (key, weight) = text.split_once('*').unwrap_or((text, "1"));
    KeyUse { key: name(key), weight: number(weight), limit, on_limit }
}

/// `gpu/2`, `customer:*/1!skip`.
fn key_limit(text: &str) -> KeyLimit {
    let (pattern, rest) = text.split_once('/').expect("a pattern and a limit");
    let (max, on_limit) = rest.split_once('!').unwrap_or((rest, "queue"));
    let on_limit = OnLimit::parse(on_limit).expect("what to do");
    KeyLimit { pattern: name(pattern), max: number(max), on_limit }
}

/// A number stands for a key or a ticket of 32 such bytes.
pub(crate) fn key(text: &str) -> WorkerKey {
    WorkerKey([number(text); 32])
}

pub(crate) fn ticket(text: &str) -> Ticket {
    Ticket([number(text); 32])
}

pub(crate) fn key_policy(text: &str) -> KeyPolicy {
    KeyPolicy::parse(text).unwrap_or_else(|| panic!("{text} is no policy"))
}

pub(crate) fn terms(words: &Words<'_>) -> KeyTerms {
    let list = |key| words.get(key).map(names).unwrap_or_default().into();
    let namespace = words.get("namespace").map(|text| Name::new(text).expect("it is a name"));
    KeyTerms { roles: list("roles"), types: list("types"), namespace }
}

fn guarantee(text: &str) -> Guarantee {
    let all = [Guarantee::AtMostOnce, Guarantee::AtLeastOnce, Guarantee::ExactlyOnce];
    let found = all.into_iter().find(|guarantee| guarantee.as_str() == text);
    found.unwrap_or_else(|| panic!("{text} is no guarantee"))
}

/// What only the supervisor may say, and a worker may try to.
pub(crate) fn cause(text: &str) -> FailureCause {
    match text {
        "worker_lost" => FailureCause::WorkerLost,
        "timed_out" => FailureCause::TimedOut,
        "stalled" => FailureCause::Stalled,
        "undelivered" => FailureCause::Undelivered,
        "no_handler" => FailureCause::NoHandler,
        other => panic!("{other} is no cause that scripts know"),
    }
}

fn on_failure(text: &str) -> OnFailure {
    match text {
        "skip" => OnFailure::Skip,
        "run" => OnFailure::Run,
        other => panic!("{other} is neither skip nor run"),
    }
}

/// `high`, `role:experts` or both, joined by `+`.
fn escalation(text: &str) -> Escalation {
    let mut escalation = Escalation { priority: None, role: None };
    for part in text.split('+') {
        match part.strip_prefix("role:") {
            Some(role) => escalation.role = Some(name(role)),
            None => escalation.priority = Some(priority(part)),
        }
    }
    escalation
}

/// `old:completed+older:failed`.
pub(crate) fn settled(text: &str) -> Vec<(JobId, Settlement)> {
    let one = |part: &str| {
        let (id, end) = part.split_once(':').expect("a settlement has an end");
        let completed = end == "completed";
        let end = if completed { Settlement::Completed } else { Settlement::NotCompleted };
        (name(id), end)
    };
    text.split('+').map(one).collect()
}

pub(crate) fn worker(id: &str, words: &Words<'_>) -> WorkerSpec {
    let mut spec = WorkerSpec::new(name(id), 1);
    spec.loads_models = words.says("loads");
    for (key, value) in words.pairs.iter().copied() {
        match key {
            "slots" => spec.slots = number(value),
            "types" => spec.types = names(value).into(),
            "role" => spec.roles = names(value).into(),
            "cap" => spec.capabilities = names(value).into(),
            "class" => spec.class = name(value),
            "model" => spec.models = names(value).into(),
            "cpu" => spec.resources.cpu = number(value),
            "memory" => spec.resources.memory = number(value),
            "zone" => spec.zone = Some(name(value)),
            "speed" => spec.speed_permille = number(value),
            "instance" => spec.instance = number(value),
            "key" => spec.public_key = Some(self::key(value)),
            "load" | "queue" | "holding" => {}
            other => panic!("{other} is no field of a worker"),
        }
    }
    spec
}

pub(crate) fn beat(words: &Words<'_>) -> Heartbeat {
    Heartbeat {
        load_permille: words.get("load").map_or(0, number),
        queue_depth: words.get("queue").map_or(0, number),
        overloaded: words.says("overloaded"),
        ..Heartbeat::default()
    }
}

pub(crate) fn configure(config: &mut Config, words: &Words<'_>) {
    for (key, value) in words.pairs.iter().copied() {
        match key {
            "strategy" => config.strategy = Strategy::parse(value).expect("a strategy"),
            "shadow" => config.shadow = Strategy::parse(value),
            "predictor" => config.predictor = PredictorKind::parse(value).expect("a predictor"),
            "prefetch" => config.prefetch = number(value),
            "prefetch_max" => config.prefetch_max = number(value),
            "prefetch_horizon" => config.prefetch_horizon = span(value),
            "max_queue_per_worker" => config.max_queue_per_worker = number(value),
            "hold_max" => config.hold_max = number(value),
            "job_timeout_default" => config.job_timeout_default = span(value),
            "retry_default" => config.retry_default = number(value),
            "max_retry" => config.max_retry = number(value),
            "retry_base" => config.retry_base = span(value),
            "retry_cap" => config.retry_cap = span(value),
            "retry_backoff" => config.retry_backoff = Backoff::parse(value).expect("a backoff"),
            "critical" => config.priorities.critical = number(value),
            "max_crashes" => config.max_crashes = number(value),
            "unreachable_after" => config.unreachable_after = span(value),
            "stall_after" => config.stall_after = span(value),
            "hedge_after" => config.hedge_after = span(value),
            "hedge_budget_permille" => config.hedge_budget_permille = number(value),
            "fallback_threshold" => config.fallback_threshold = number(value),
            "breaker_cooldown" => config.breaker_cooldown = span(value),
            "duration_default" => config.duration_default = span(value),
            "jobs_max" => config.jobs_max = number(value),
            "payload_bytes_max" => config.payload_bytes_max = number(value),
            "payload_bytes_total_max" => config.payload_bytes_total_max = number(value),
            "reject_percent" => config.reject_percent = number(value),
            "retain_jobs" => config.retain_jobs = number(value),
            "retain_for" => config.retain_for = span(value),
            "idempotency_max" => config.idempotency_max = number(value),
            "idempotency_for" => config.idempotency_for = span(value),
            "forget_workers_after" => config.forget_workers_after = span(value),
            "limits" => {
                config.limits = match value {
                    "none" => Vec::new(),
                    limits => limits.split('+').map(key_limit).collect(),
                }
            }
            "weights" => config.weights = weights(value),
            "duration" => {
                let (kind, duration) = value.split_once(':').expect("a type and a duration");
                config.duration_by_type.push((name(kind), span(duration)));
            }
            other => panic!("{other} is no setting that scripts know"),
        }
    }
}

/// Wait, load and priority, in thousandths: `400,400,200`.
fn weights(text: &str) -> bellwether_core::model::config::Weights {
    let parts: Vec<u32> = text.split(',').map(number).collect();
    let [wait, load, priority] = parts[..] else { panic!("{text} are not three weights") };
    bellwether_core::model::config::Weights { wait, load, priority }
}
