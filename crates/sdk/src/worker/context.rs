//! What a handler knows of its attempt.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::SystemTime;

use bellwether_wire::{TraceParent, v1};
use bytes::Bytes;
use tokio::sync::{Notify, mpsc};

use super::executor::Happening;
use super::logs::{Outbox, Pen, Print};
use super::outcome::Outcome;

/// An attempt, as its handler sees it. Clones are the same attempt.
#[derive(Debug, Clone)]
pub struct Context(Arc<Inner>);

/// One allocation for everything, because this is made for each job.
#[derive(Debug)]
struct Inner {
    offer: v1::Offer,
    cancelled: AtomicBool,
    cancel: Notify,
    /// The latest, until the session takes it. A lock, because handler and session both write it.
    progress: Mutex<Option<v1::Progress>>,
    happenings: mpsc::UnboundedSender<Happening>,
    logs: Arc<Outbox>,
    pen: Pen,
}

impl Context {
    pub(crate) fn new(
        offer: v1::Offer,
        happenings: mpsc::UnboundedSender<Happening>,
        logs: Arc<Outbox>,
    ) -> Context {
        Context(Arc::new(Inner {
            offer,
            cancelled: AtomicBool::new(false),
            cancel: Notify::new(),
            progress: Mutex::new(None),
            happenings,
            logs,
            pen: Pen::default(),
        }))
    }

    pub fn id(&self) -> &str {
        &self.spec().id
    }

    pub fn kind(&self) -> &str {
        self.spec().kind()
    }

    pub fn payload(&self) -> &Bytes {
        &self.spec().payload
    }

    /// From 1.
    pub fn attempt(&self) -> u32 {
        self.0.offer.number
    }

    /// The same for every attempt of the job: use it to make an effect once.
    pub fn idempotency_token(&self) -> &str {
        &self.0.offer.idempotency_token
    }

    /// The fencing token of this attempt. It grows: an effect that saw a higher one must refuse
    /// this.
    pub fn token(&self) -> u64 {
        self.0.offer.token
    }

    /// W3C's trace context that this attempt belongs to, if its submitter gave one or the scheduler
    /// records traces: the parent of spans that the handler makes.
    pub fn trace_parent(&self) -> Option<String> {
        TraceParent::from_bytes(&self.0.offer.trace_parent).ok().map(|trace| trace.to_string())
    }

    /// What the job is, as it was submitted.
    pub fn spec(&self) -> &v1::JobSpec {
        static NOTHING: LazyLock<v1::JobSpec> = LazyLock::new(v1::JobSpec::default);
        self.0.offer.spec.as_ref().unwrap_or(&NOTHING)
    }

    /// Everything that the scheduler said.
    pub fn offer(&self) -> &v1::Offer {
        &self.0.offer
    }

    /// Those who had the job before and gave it away, in order; verified before the handler began.
    pub fn handoffs(&self) -> &[v1::Handoff] {
        &self.0.offer.handoffs
    }

    /// Gives the job to another worker, or to any that has a role (`role:NAME`): return what this
    /// gives. The handoff is signed with the worker's key; the job keeps its retries. A job that is
    /// at_most_once can't be handed off.
    #[must_use = "the attempt is handed off by returning it from the handler"]
    pub fn hand_off(&self, receiver: impl Into<String>) -> Outcome {
        Outcome::HandOff { receiver: receiver.into() }
    }

    /// How far it is, in thousandths. Of reports in quick succession the latest is sent.
    pub fn progress(&self, permille: u32, note: impl Into<String>) {
        let progress = v1::Progress { permille: permille.min(1_000), note: note.into() };
        if self.latest_progress().replace(progress).is_none() {
            // Nobody listens only once the worker has ended, and then nobody wants to know.
            drop(self.0.happenings.send(Happening::Progressed { token: self.token() }));
        }
    }

    /// A line for whoever reads the job's log, which `bellwether logs` shows while it runs and after.
    /// Of very many the first and the last are kept.
    pub fn log(&self, line: impl AsRef<str>) {
        let line = line.as_ref();
        let line = line.strip_suffix('\n').unwrap_or(line);
        self.print(v1::LogStream::Log, format!("{line}\n").as_bytes());
    }

    /// The same for the output of a command, as it comes.
    pub fn print(&self, stream: v1::LogStream, data: &[u8]) {
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let at = since_epoch.map_or(0, crate::job::micros);
        let (job, token) = (self.0.offer.job, self.token());
        self.0.logs.write(&self.0.pen, Print { job, token, stream, at, data });
    }

    /// Nothing that is printed from now on counts.
    pub(crate) fn close_log(&self) {
        self.0.logs.close(&self.0.pen, self.token());
    }

    pub(crate) fn take_progress(&self) -> Option<v1::Progress> {
        self.latest_progress().take()
    }

    fn latest_progress(&self) -> std::sync::MutexGuard<'_, Option<v1::Progress>> {
        self.0.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The scheduler wants the attempt to stop; its result will not be taken.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Acquire)
    }

    /// Returns once the attempt is to stop.
    pub async fn cancelled(&self) {
        loop {
            let notified = self.0.cancel.notified();
            if self.is_cancelled() {
                return;
            }
            notified.await;
        }
    }

    pub(crate) fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Release);
        self.0.cancel.notify_waiters();
    }
}
