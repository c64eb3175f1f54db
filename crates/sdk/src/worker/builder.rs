//! Settings of a worker.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use bellwether_wire::signing::Secret;
use bellwether_wire::v1;
use rustc_hash::FxHashMap;
use tokio::sync::{mpsc, watch};

use super::calibration::Calibration;
use super::context::Context;
use super::desk::{Confirmed, Desk};
use super::executor::Executor;
use super::handler::{Blocking, Handler, ModelLoader};
use super::key::{KeySource, default_key_file};
use super::link::{self, RunningWorker, WorkerError};
use super::logs::Outbox;
use super::machine::Machine;
use super::outcome::IntoOutcome;
use super::session::{Resident, Stop};
use crate::backoff::Backoff;
use crate::connection::Security;
use crate::fleet::Fleet;
use crate::random::random;

/// Where building a worker begins.
#[derive(Debug)]
pub struct Worker;

impl Worker {
    pub fn builder(address: impl Into<String>) -> WorkerBuilder {
        WorkerBuilder {
            address: address.into(),
            security: Security::default(),
            backoff: Backoff::default(),
            spec: v1::WorkerSpec {
                id: default_id(),
                slots: 1,
                instance: random(),
                ..Default::default()
            },
            handlers: FxHashMap::default(),
            loader: None,
            confirmed: None,
            key: None,
            join_token: String::new(),
        }
    }
}

pub struct WorkerBuilder {
    address: String,
    security: Security,
    backoff: Backoff,
    spec: v1::WorkerSpec,
    handlers: FxHashMap<String, Arc<dyn Handler>>,
    loader: Option<ModelLoader>,
    confirmed: Option<Confirmed>,
    /// None: the file of this user.
    key: Option<KeySource>,
    join_token: String,
}

impl std::fmt::Debug for WorkerBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkerBuilder")
            .field("address", &self.address)
            .field("spec", &self.spec)
            .field("types", &self.handlers.keys())
            .finish_non_exhaustive()
    }
}

impl WorkerBuilder {
    /// By default the name of the machine and the number of the process.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> WorkerBuilder {
        self.spec.id = id.into();
        self
    }

    /// The name that it will have.
    pub fn worker_id(&self) -> &str {
        &self.spec.id
    }

    /// Jobs that it runs at a time; 1 by default.
    #[must_use]
    pub fn slots(mut self, slots: u32) -> WorkerBuilder {
        self.spec.slots = slots;
        self
    }

    #[must_use]
    pub fn role(mut self, role: impl Into<String>) -> WorkerBuilder {
        self.spec.roles.push(role.into());
        self
    }

    #[must_use]
    pub fn capability(mut self, capability: impl Into<String>) -> WorkerBuilder {
        self.spec.capabilities.push(capability.into());
        self
    }

    /// A model that is warm from the start.
    #[must_use]
    pub fn model(mut self, model: impl Into<String>) -> WorkerBuilder {
        self.spec.models.push(model.into());
        self
    }

    #[must_use]
    pub fn zone(mut self, zone: impl Into<String>) -> WorkerBuilder {
        self.spec.zone = zone.into();
        self
    }

    /// The kind of machine: workers of one class are expected to be equally fast.
    #[must_use]
    pub fn class(mut self, class: impl Into<String>) -> WorkerBuilder {
        self.spec.class = class.into();
        self
    }

    #[must_use]
    pub fn endpoint(mut self, endpoint: impl Into<String>) -> WorkerBuilder {
        self.spec.endpoint = endpoint.into();
        self
    }

    /// What jobs may use together; 0 is not limited.
    #[must_use]
    pub fn millicores(mut self, cpu: u32) -> WorkerBuilder {
        self.spec.cpu = cpu;
        self
    }

    #[must_use]
    pub fn memory_bytes(mut self, memory: u64) -> WorkerBuilder {
        self.spec.memory = memory;
        self
    }

    #[must_use]
    pub fn security(mut self, security: Security) -> WorkerBuilder {
        self.security = security;
        self
    }

    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> WorkerBuilder {
        self.security.token = Some(token.into());
        self
    }

    /// The file of the key that it proves itself with, made if it is not there. By default it is one
    /// of the user: `$BELLWETHER_WORKER_KEY`, or `bellwether/worker.key` in the state folder.
    #[must_use]
    pub fn key_file(mut self, path: impl Into<PathBuf>) -> WorkerBuilder {
        self.key = Some(KeySource::File(path.into()));
        self
    }

    /// The key itself, for those who keep it elsewhere.
    #[must_use]
    pub fn key(mut self, secret: Secret) -> WorkerBuilder {
        self.key = Some(KeySource::Given(secret));
        self
    }

    /// It proves nothing. A scheduler lets such workers in only under ids that have no key, and only
    /// with `worker_keys: first_use`; they can't hand jobs off.
    #[must_use]
    pub fn without_key(mut self) -> WorkerBuilder {
        self.key = Some(KeySource::None);
        self
    }

    /// What `bellwether workers invite` gave out for it.
    #[must_use]
    pub fn join_token(mut self, token: impl Into<String>) -> WorkerBuilder {
        self.join_token = token.into();
        self
    }

    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> WorkerBuilder {
        self.backoff = backoff;
        self
    }

    /// How fast it is, where that is known better than it can be measured in a moment: 2 is twice as
    /// fast as the machine that all are compared with. By default it measures itself.
    #[must_use]
    pub fn speed(mut self, speed: f64) -> WorkerBuilder {
        self.spec.speed_permille = ((speed * 1_000.0).round() as u32).max(1);
        self
    }

    /// What runs jobs of this type. See [`Handler`] for what it may not do.
    #[must_use]
    pub fn job(mut self, kind: impl Into<String>, handler: impl Handler) -> WorkerBuilder {
        self.handlers.insert(kind.into(), Arc::new(handler));
        self
    }

    /// The same for a function that blocks or computes for long.
    #[must_use]
    pub fn blocking_job<F, O>(mut self, kind: impl Into<String>, function: F) -> WorkerBuilder
    where
        F: Fn(Context) -> O + Send + Sync + 'static,
        O: IntoOutcome + 'static,
    {
        self.handlers.insert(kind.into(), Arc::new(Blocking(Arc::new(function))));
        self
    }

    /// Called with the name of a model that is not warm before the first job that needs it.
    #[must_use]
    pub fn load_models<F, T, E>(mut self, load: F) -> WorkerBuilder
    where
        F: Fn(String) -> T + Send + Sync + 'static,
        T: Future<Output = Result<(), E>> + Send + 'static,
        E: std::fmt::Display,
    {
        self.spec.loads_models = true;
        self.loader = Some(Arc::new(move |model| {
            let loading = load(model);
            Box::pin(async move { loading.await.map_err(|error| format!("{error:#}")) })
        }));
        self
    }

    /// Called when the scheduler has confirmed that the end of an attempt is durable, whatever it
    /// was: what was kept for another try can go.
    #[must_use]
    pub fn on_confirmed(
        mut self,
        confirmed: impl Fn(&Context) + Send + Sync + 'static,
    ) -> WorkerBuilder {
        self.confirmed = Some(Box::new(confirmed));
        self
    }

    /// Connects and works on a task of its own. It must be called within a Tokio runtime.
    pub fn start(mut self) -> Result<RunningWorker, WorkerError> {
        self.spec.types = self.handlers.keys().cloned().collect();
        self.spec.types.sort_unstable();
        let id = self.spec.id.clone();
        let fleet = Fleet::new(&self.address, &self.security)
            .map_err(|source| WorkerError::Refused { id: id.clone(), source })?;
        let key = match self.key {
            Some(key) => key,
            None => KeySource::File(default_key_file()?),
        };
        // A key that can't be had is told now, and not again and again later.
        key.load()?;
        let (stop, stopping) = watch::channel(Stop::No);
        let (sender, happenings) = mpsc::unbounded_channel();
        let logs = Arc::new(Outbox::default());
        let resident = Resident {
            desk: Desk::new(self.spec.slots, self.confirmed),
            spec: self.spec,
            executor: Executor::new(self.handlers, self.loader, sender, logs.clone()),
            logs,
            happenings,
            stop: stopping,
            epoch: 0,
            models_loaded: Vec::new(),
            machine: Machine::default(),
            calibration: Calibration::default(),
            connections: 0,
            key,
            join_token: self.join_token,
        };
        let task = tokio::spawn(link::run(resident, fleet, self.backoff));
        Ok(RunningWorker { id, stop, task })
    }

    /// Works until the process is told to end by SIGTERM or SIGINT, then finishes what it holds. A
    /// second signal ends it at once and gives the rest back.
    pub async fn run(self) -> Result<(), WorkerError> {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut worker = self.start()?;
        let mut signals = 0;
        loop {
            tokio::select! {
                ended = worker.ended() => return ended,
                _ = terminate.recv() => signals += 1,
                _ = interrupt.recv() => signals += 1,
            }
            if signals == 1 { worker.drain() } else { worker.leave() }
        }
    }
}

fn default_id() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = if host.trim().is_empty() { "worker" } else { host.trim() };
    format!("{host}-{}", std::process::id())
}
