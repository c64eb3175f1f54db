//! Every key, and what it sets. The keys of the scheduling settings are the core's own names, so
//! that a refusal that names one can be looked up.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use bellwether_core::model::config::{Backoff, Config, PredictorKind};
use bellwether_core::model::{KeyPolicy, Micros, Name, Strategy};
use bellwether_wire::json::nearest;

use super::limits;
use super::queue::{self, Environment, QueueDraft};
use super::secret::Keeper;
use super::value::{Parsed, bytes, number, share, span, switch};
use super::webhook::{self, WebhookDrafts};
use super::{
    Auth, ClickHouse, JournalKind, LoadError, LockKind, LogFormat, Otlp, ServerConfig, TlsFiles,
};

const PREFIX: &str = "BELLWETHER_";
const DURATION_BY_TYPE: &str = "duration_by_type.";
const LIMITS: &str = "limits.";
const QUEUES: &str = "queues.";
/// What a change by hand is called where it is wrong.
const CHANGE: &str = "the change";
/// A variable this near to a known one is a slip; others belong to somebody else.
const SLIP: usize = 2;

/// A configuration on its way.
#[derive(Debug, Default)]
pub(super) struct Draft {
    config: ServerConfig,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    client_ca: Option<PathBuf>,
    webhooks: WebhookDrafts,
    clickhouse: ClickHouse,
    clickhouse_password: Option<Keeper>,
    otlp: Otlp,
    default_queue: Option<String>,
    queue: Option<QueueDraft>,
    queues: BTreeMap<String, QueueDraft>,
}

struct Setting {
    key: &'static str,
    set: fn(&mut Draft, &str) -> Parsed<()>,
}

impl Draft {
    /// Of a scheduler that runs with these settings.
    pub(super) fn live(config: Config) -> Draft {
        let config = ServerConfig { scheduling: config, ..ServerConfig::default() };
        Draft { config, ..Draft::default() }
    }

    /// Changes what can be changed while the scheduler runs.
    pub(super) fn set_live(&mut self, key: &str, value: &str) -> Result<(), LoadError> {
        let is_live = key.starts_with(DURATION_BY_TYPE)
            || key.starts_with(LIMITS)
            || LIVE.iter().any(|known| known.key == key);
        if !is_live && keys().any(|known| known == key) {
            return Err(LoadError::NotLive { key: key.to_owned() });
        }
        if !is_live {
            let nearest = nearest(key, LIVE.iter().map(|known| known.key)).map(|(key, _)| key);
            let (origin, key) = (CHANGE.to_owned(), key.to_owned());
            return Err(LoadError::Unknown { origin, key, nearest });
        }
        self.set(CHANGE, key, value)
    }

    /// Without what a type was said to take; without a name that of all.
    pub(super) fn forget_duration(&mut self, kind: Option<&str>) {
        let durations = &mut self.config.scheduling.duration_by_type;
        durations.retain(|(known, _)| kind.is_some_and(|kind| known.as_str() != kind));
    }

    /// Without the limit on these keys; without a pattern that on any.
    pub(super) fn forget_limit(&mut self, pattern: Option<&str>) {
        let limits = &mut self.config.scheduling.limits;
        limits.retain(|known| pattern.is_some_and(|pattern| known.pattern.as_str() != pattern));
    }

    pub(super) fn finish_live(self) -> Result<Config, LoadError> {
        self.config.scheduling.validate()?;
        Ok(self.config.scheduling)
    }

    pub(super) fn set(&mut self, origin: &str, key: &str, value: &str) -> Result<(), LoadError> {
        let wrong = |wanted| LoadError::Value {
            origin: origin.to_owned(),
            key: key.to_owned(),
            given: value.to_owned(),
            wanted,
        };
        if let Some(kind) = key.strip_prefix(DURATION_BY_TYPE) {
            return self.duration_of_type(kind, value).map_err(wrong);
        }
        if let Some(key) = key.strip_prefix(LIMITS) {
            return limits::set(&mut self.config.scheduling.limits, key, value).map_err(wrong);
        }
        if let Some((queue, name)) = self.queue_of(key) {
            let known = format!("{}{name}", queue::PREFIX);
            let Some(setting) = queue::SETTINGS.iter().find(|setting| setting.key == known) else {
                let candidates = queue::SETTINGS.iter().map(|setting| setting.key);
                let nearest = nearest(&known, candidates).map(|(key, _)| key);
                let (origin, key) = (origin.to_owned(), key.to_owned());
                return Err(LoadError::Unknown { origin, key, nearest });
            };
            return queue.set(setting, value).map_err(wrong);
        }
        if let Some(key) = key.strip_prefix(webhook::PREFIX) {
            return webhook::set(&mut self.webhooks, origin, key, value);
        }
        let Some(setting) = FIXED.iter().chain(LIVE).find(|setting| setting.key == key) else {
            let nearest = nearest(key, keys()).map(|(key, _)| key);
            let (origin, key) = (origin.to_owned(), key.to_owned());
            return Err(LoadError::Unknown { origin, key, nearest });
        };
        (setting.set)(self, value).map_err(wrong)
    }

    fn duration_of_type(&mut self, kind: &str, value: &str) -> Parsed<()> {
        let kind = Name::new(kind).map_err(|_| "the name of a job type")?;
        let duration = span(value)?;
        let durations = &mut self.config.scheduling.duration_by_type;
        durations.retain(|(known, _)| *known != kind);
        durations.push((kind, duration));
        durations.sort_unstable();
        Ok(())
    }

    /// The queue that a key is about, and the key within it.
    fn queue_of<'k>(&mut self, key: &'k str) -> Option<(&mut QueueDraft, &'k str)> {
        if let Some(key) = key.strip_prefix(queue::PREFIX) {
            return Some((self.queue.get_or_insert_default(), key));
        }
        let (name, key) = key.strip_prefix(QUEUES)?.rsplit_once('.')?;
        Some((self.queues.entry(name.to_owned()).or_default(), key))
    }

    pub(super) fn finish(mut self, environment: &Environment) -> Result<ServerConfig, LoadError> {
        self.finish_queues(environment)?;
        self.config.tls = match (self.certificate, self.key) {
            (None, None) if self.client_ca.is_none() => None,
            (Some(certificate), Some(key)) => {
                Some(TlsFiles { certificate, key, client_ca: self.client_ca })
            }
            (Some(_), None) | (None, Some(_) | None) => return Err(LoadError::HalfTls),
        };
        self.config.webhooks = webhook::finish(self.webhooks)?;
        if !self.clickhouse.url.is_empty() {
            let keeper = self.clickhouse_password;
            self.clickhouse.password = keeper.map(|keeper| keeper.ask("clickhouse")).transpose()?;
            self.config.clickhouse = Some(self.clickhouse);
        }
        if !self.otlp.endpoint.is_empty() {
            self.config.otlp = Some(self.otlp);
        }
        self.config.scheduling.validate()?;
        Ok(self.config)
    }

    fn finish_queues(&mut self, environment: &Environment) -> Result<(), LoadError> {
        if let Some(name) = self.default_queue.take() {
            self.config.default_queue = name;
            let known = self.queues.contains_key(&self.config.default_queue);
            if let Ok(backend) = queue::kind(&self.config.default_queue)
                && !known
                && self.queue.is_none()
            {
                // The name of a backend alone stands for one at its usual place.
                self.queue = Some(QueueDraft::usual(backend));
            } else if !known && self.queue.is_none() && !self.queues.is_empty() {
                let names = self.queues.keys().cloned().collect::<Vec<_>>().join(", ");
                return Err(LoadError::DefaultQueue {
                    name: self.config.default_queue.clone(),
                    names,
                });
            }
        }
        if let Some(queue) = self.queue.take() {
            let name = self.config.default_queue.clone();
            if self.queues.insert(name.clone(), queue).is_some() {
                return Err(LoadError::SameQueue { name });
            }
        }
        for (name, queue) in std::mem::take(&mut self.queues) {
            self.config.queues.push(queue.finish(name, environment)?);
        }
        Ok(())
    }
}

fn keys() -> impl Iterator<Item = &'static str> {
    let queue = queue::SETTINGS.iter().map(|setting| setting.key);
    FIXED.iter().chain(LIVE).map(|setting| setting.key).chain(queue)
}

/// The key that a variable of the environment sets, if it is one of ours.
pub(super) fn key_of_variable(name: &str) -> Result<Option<&'static str>, LoadError> {
    let Some(rest) = name.strip_prefix(PREFIX) else { return Ok(None) };
    let wanted = rest.to_lowercase();
    let variable = |key: &str| key.replace('.', "_");
    if let Some(key) = keys().find(|key| variable(key) == wanted) {
        return Ok(Some(key));
    }
    match nearest(&wanted, keys()) {
        Some((key, distance)) if distance <= SLIP => Err(LoadError::Unknown {
            origin: "the environment".to_owned(),
            key: name.to_owned(),
            nearest: Some(key),
        }),
        _ => Ok(None),
    }
}

macro_rules! settings {
    ($table:ident: $($key:literal: $set:expr;)+) => {
        const $table: &[Setting] = &[$(Setting { key: $key, set: $set },)+];
    };
}

settings! { FIXED:
    "data_dir": |d, v| { d.config.data_dir = PathBuf::from(v); Ok(()) };
    "journal": |d, v| { d.config.journal = journal(v)?; Ok(()) };
    "cluster.url": |d, v| { d.config.cluster.url = v.to_owned(); Ok(()) };
    "cluster.name": |d, v| { d.config.cluster.name = identifier(v)?; Ok(()) };
    "cluster.grpc": |d, v| { d.config.cluster.grpc = Some(v.to_owned()); Ok(()) };
    "cluster.http": |d, v| { d.config.cluster.http = Some(v.to_owned()); Ok(()) };
    "cluster.allow_loss": |d, v| { d.config.cluster.allow_loss = switch(v)?; Ok(()) };
    "cluster.lock": |d, v| { d.config.cluster.lock = lock(v)?; Ok(()) };
    "cluster.lock_url": |d, v| { d.config.cluster.lock_url = v.to_owned(); Ok(()) };
    "cluster.listen": |d, v| { d.config.cluster.listen = address(v)?; Ok(()) };
    "cluster.address": |d, v| { d.config.cluster.address = Some(v.to_owned()); Ok(()) };
    "cluster.ca": |d, v| { d.config.cluster.ca = Some(PathBuf::from(v)); Ok(()) };
    "cluster.lease": |d, v| { d.config.cluster.lease = Some(duration(v)?); Ok(()) };
    "grpc": |d, v| { d.config.grpc = address(v)?; Ok(()) };
    "http": |d, v| { d.config.http = address(v)?; Ok(()) };
    "allowed_hosts": |d, v| { d.config.allowed_hosts = hosts(v)?; Ok(()) };
    "tls.certificate": |d, v| { d.certificate = Some(PathBuf::from(v)); Ok(()) };
    "tls.key": |d, v| { d.key = Some(PathBuf::from(v)); Ok(()) };
    "tls.client_ca": |d, v| { d.client_ca = Some(PathBuf::from(v)); Ok(()) };
    "auth": |d, v| { d.config.auth = auth(v)?; Ok(()) };
    "tokens": |d, v| { d.config.tokens = Some(PathBuf::from(v)); Ok(()) };
    "worker_keys": |d, v| { d.config.worker_keys = Some(key_policy(v)?); Ok(()) };
    "message_bytes_max": |d, v| { d.config.limits.message_bytes_max = positive(size(v)?)?; Ok(()) };
    "connections_max": |d, v| { d.config.limits.connections_max = positive(number(v)?)?; Ok(()) };
    "streams_max": |d, v| { d.config.limits.streams_max = positive(number(v)?)?; Ok(()) };
    "call_timeout": |d, v| { d.config.limits.call_timeout = duration(v)?; Ok(()) };
    "follow_timeout": |d, v| { d.config.limits.follow_timeout = duration(v)?; Ok(()) };
    "admitted_within": |d, v| { d.config.limits.admitted_within = duration(v)?; Ok(()) };
    "checkpoints.every": |d, v| { d.config.checkpoints.every = duration(v)?; Ok(()) };
    "checkpoints.file": |d, v| { d.config.checkpoints.file = Some(PathBuf::from(v)); Ok(()) };
    "snapshot_every": |d, v| { d.config.snapshot_every = positive(number(v)?)?; Ok(()) };
    "history_jobs_max": |d, v| { d.config.history.jobs_max = number(v)?; Ok(()) };
    "history_keep_for": |d, v| { d.config.history.keep_for = duration(v)?; Ok(()) };
    "log_bytes_max": |d, v| { d.config.logs.attempt_bytes_max = bytes(v)?; Ok(()) };
    "logs_total_max": |d, v| { d.config.logs.total_bytes_max = bytes(v)?; Ok(()) };
    "idempotency_disk_max": |d, v| { d.config.idempotency_disk_max = number(v)?; Ok(()) };
    "disk_max": |d, v| { d.config.disk_max = limit(v)?; Ok(()) };
    "telemetry": |d, v| { d.config.telemetry = switch(v)?; Ok(()) };
    "log.format": |d, v| { d.config.log.format = log_format(v)?; Ok(()) };
    "log.level": |d, v| { d.config.log.level = v.to_owned(); Ok(()) };
    "otlp.endpoint": |d, v| { d.otlp.endpoint = url(v)?; Ok(()) };
    "otlp.service": |d, v| { d.otlp.service = v.to_owned(); Ok(()) };
    "otlp.sample_permille": |d, v| { d.otlp.sample_permille = permille(v)?; Ok(()) };
    "clickhouse.url": |d, v| { d.clickhouse.url = url(v)?; Ok(()) };
    "clickhouse.database": |d, v| { d.clickhouse.database = identifier(v)?; Ok(()) };
    "clickhouse.user": |d, v| { d.clickhouse.user = Some(v.to_owned()); Ok(()) };
    "clickhouse.password_env": |d, v| { d.clickhouse_password = Some(Keeper::Variable(v.to_owned())); Ok(()) };
    "clickhouse.password_file": |d, v| { d.clickhouse_password = Some(Keeper::File(PathBuf::from(v))); Ok(()) };
    "clickhouse.buffer_rows": |d, v| { d.clickhouse.buffer_rows = number(v)?; Ok(()) };
    "clickhouse.flush_ms": |d, v| { d.clickhouse.flush_interval = Duration::from_millis(number(v)?); Ok(()) };
    "default_queue": |d, v| { d.default_queue = Some(v.to_owned()); Ok(()) };
}

// What can be changed while the scheduler runs, too.
settings! { LIVE:
    "priorities.low": |d, v| { d.config.scheduling.priorities.low = number(v)?; Ok(()) };
    "priorities.normal": |d, v| { d.config.scheduling.priorities.normal = number(v)?; Ok(()) };
    "priorities.high": |d, v| { d.config.scheduling.priorities.high = number(v)?; Ok(()) };
    "priorities.critical": |d, v| { d.config.scheduling.priorities.critical = number(v)?; Ok(()) };
    "strategy": |d, v| { d.config.scheduling.strategy = strategy(v)?; Ok(()) };
    "shadow": |d, v| { d.config.scheduling.shadow = shadow(v)?; Ok(()) };
    "predictor": |d, v| { d.config.scheduling.predictor = predictor(v)?; Ok(()) };
    "weights.wait": |d, v| { d.config.scheduling.weights.wait = share(v)?; Ok(()) };
    "weights.load": |d, v| { d.config.scheduling.weights.load = share(v)?; Ok(()) };
    "weights.priority": |d, v| { d.config.scheduling.weights.priority = share(v)?; Ok(()) };
    "rank_duration_percent": |d, v| { d.config.scheduling.rank_duration_percent = number(v)?; Ok(()) };
    "rank_path_percent": |d, v| { d.config.scheduling.rank_path_percent = number(v)?; Ok(()) };
    "rank_priority_point": |d, v| { d.config.scheduling.rank_priority_point = span(v)?; Ok(()) };
    "rank_bonus_max": |d, v| { d.config.scheduling.rank_bonus_max = span(v)?; Ok(()) };
    "prefetch": |d, v| { d.config.scheduling.prefetch = number(v)?; Ok(()) };
    "prefetch_max": |d, v| { d.config.scheduling.prefetch_max = number(v)?; Ok(()) };
    "prefetch_horizon": |d, v| { d.config.scheduling.prefetch_horizon = span(v)?; Ok(()) };
    "max_queue_per_worker": |d, v| { d.config.scheduling.max_queue_per_worker = number(v)?; Ok(()) };
    "hold_max": |d, v| { d.config.scheduling.hold_max = number(v)?; Ok(()) };
    "hold_margin_percent": |d, v| { d.config.scheduling.hold_margin_percent = number(v)?; Ok(()) };
    "job_timeout_default": |d, v| { d.config.scheduling.job_timeout_default = span(v)?; Ok(()) };
    "retry_default": |d, v| { d.config.scheduling.retry_default = number(v)?; Ok(()) };
    "max_retry": |d, v| { d.config.scheduling.max_retry = number(v)?; Ok(()) };
    "retry_backoff": |d, v| { d.config.scheduling.retry_backoff = backoff(v)?; Ok(()) };
    "retry_base": |d, v| { d.config.scheduling.retry_base = span(v)?; Ok(()) };
    "retry_cap": |d, v| { d.config.scheduling.retry_cap = span(v)?; Ok(()) };
    "max_crashes": |d, v| { d.config.scheduling.max_crashes = number(v)?; Ok(()) };
    "heartbeat_interval": |d, v| { d.config.scheduling.heartbeat_interval = span(v)?; Ok(()) };
    "unreachable_after": |d, v| { d.config.scheduling.unreachable_after = span(v)?; Ok(()) };
    "stall_after": |d, v| { d.config.scheduling.stall_after = span(v)?; Ok(()) };
    "hedge_after": |d, v| { d.config.scheduling.hedge_after = span(v)?; Ok(()) };
    "hedge_after_min": |d, v| { d.config.scheduling.hedge_after_min = span(v)?; Ok(()) };
    "hedge_budget_permille": |d, v| { d.config.scheduling.hedge_budget_permille = number(v)?; Ok(()) };
    "fallback_threshold": |d, v| { d.config.scheduling.fallback_threshold = number(v)?; Ok(()) };
    "breaker_cooldown": |d, v| { d.config.scheduling.breaker_cooldown = span(v)?; Ok(()) };
    "duration_default": |d, v| { d.config.scheduling.duration_default = span(v)?; Ok(()) };
    "model_load_default": |d, v| { d.config.scheduling.model_load_default = span(v)?; Ok(()) };
    "drift_percent": |d, v| { d.config.scheduling.drift_percent = number(v)?; Ok(()) };
    "jobs_max": |d, v| { d.config.scheduling.jobs_max = number(v)?; Ok(()) };
    "payload_bytes_max": |d, v| { d.config.scheduling.payload_bytes_max = bytes(v)?; Ok(()) };
    "payload_bytes_total_max": |d, v| { d.config.scheduling.payload_bytes_total_max = bytes(v)?; Ok(()) };
    "throttle_percent": |d, v| { d.config.scheduling.throttle_percent = number(v)?; Ok(()) };
    "reject_threshold": |d, v| { d.config.scheduling.reject_percent = threshold(v)?; Ok(()) };
    "retain_jobs": |d, v| { d.config.scheduling.retain_jobs = number(v)?; Ok(()) };
    "retain_for": |d, v| { d.config.scheduling.retain_for = span(v)?; Ok(()) };
    "idempotency_for": |d, v| { d.config.scheduling.idempotency_for = span(v)?; Ok(()) };
    "idempotency_max": |d, v| { d.config.scheduling.idempotency_max = number(v)?; Ok(()) };
    "forget_workers_after": |d, v| { d.config.scheduling.forget_workers_after = span(v)?; Ok(()) };
}

fn journal(text: &str) -> Parsed<JournalKind> {
    JournalKind::named(text).ok_or("file, sqlite, redis, postgres or raft")
}

fn lock(text: &str) -> Parsed<LockKind> {
    LockKind::named(text).ok_or("journal, redis or zookeeper")
}

fn address(text: &str) -> Parsed<std::net::SocketAddr> {
    text.parse().map_err(|_| "an address with a port, as 127.0.0.1:7070")
}

/// In YAML, `on` and `off` may be read as words or as truth.
fn auth(text: &str) -> Parsed<Auth> {
    match text {
        "on" | "true" => Ok(Auth::On),
        "off" | "false" => Ok(Auth::Off),
        _ => Err("on or off"),
    }
}

fn hosts(text: &str) -> Parsed<Vec<String>> {
    const WANTED: &str = "names without ports, as scheduler.example.com, with commas between them";
    let named = |host: &str| {
        let plain = !host.is_empty() && !host.contains(['/', ' ', '*']);
        let port = host.contains(':') && host.parse::<std::net::Ipv6Addr>().is_err();
        if plain && !port { Ok(host.to_owned()) } else { Err(WANTED) }
    };
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    text.split(',').map(|host| named(host.trim())).collect()
}

fn key_policy(text: &str) -> Parsed<KeyPolicy> {
    KeyPolicy::parse(text).ok_or("first_use or approved")
}

fn log_format(text: &str) -> Parsed<LogFormat> {
    match text {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err("text or json"),
    }
}

fn permille(text: &str) -> Parsed<u32> {
    let permille = number(text)?;
    if permille <= 1_000 { Ok(permille) } else { Err("0 to 1000") }
}

fn url(text: &str) -> Parsed<String> {
    let web = text.starts_with("http://") || text.starts_with("https://");
    if web { Ok(text.to_owned()) } else { Err("an address, as http://127.0.0.1:8123") }
}

fn identifier(text: &str) -> Parsed<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !text.is_empty() && text.chars().all(plain) {
        Ok(text.to_owned())
    } else {
        Err("a name of letters, digits and underscores")
    }
}

fn limit(text: &str) -> Parsed<Option<u64>> {
    if text == "none" { Ok(None) } else { bytes(text).map(Some) }
}

/// With none of it nobody could be served.
fn positive<T: Default + PartialEq>(given: T) -> Parsed<T> {
    if given == T::default() { Err("at least 1") } else { Ok(given) }
}

fn size(text: &str) -> Parsed<usize> {
    usize::try_from(bytes(text)?).map_err(|_| "less")
}

fn duration(text: &str) -> Parsed<Duration> {
    let Micros(micros) = span(text)?;
    Ok(Duration::from_micros(micros))
}

/// Percent, or a share below 1: 90 and 0.9 are the same.
fn threshold(text: &str) -> Parsed<u32> {
    const WANTED: &str = "percent, as 90, or a share, as 0.9";
    match text.trim().parse::<f64>() {
        Ok(share) if text.contains('.') && (0.0..=1.0).contains(&share) => {
            Ok((share * 100.0).round() as u32)
        }
        _ => number(text).map_err(|_| WANTED),
    }
}

fn backoff(text: &str) -> Parsed<Backoff> {
    Backoff::parse(text).ok_or("exponential, linear or constant")
}

fn strategy(text: &str) -> Parsed<Strategy> {
    Strategy::parse(text)
        .ok_or("predictive, least_loaded, round_robin, affinity, random or formula")
}

fn shadow(text: &str) -> Parsed<Option<Strategy>> {
    if text == "none" { Ok(None) } else { strategy(text).map(Some) }
}

fn predictor(text: &str) -> Parsed<PredictorKind> {
    PredictorKind::parse(text).ok_or("ema, hierarchical, auto or failing")
}
