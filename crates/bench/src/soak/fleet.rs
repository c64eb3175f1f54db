//! Worker processes, which are killed and stopped.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use bellwether_testbed::signal;
use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinHandle;

use super::account::{Account, WorkerNo};
use super::worker_process::now_nanos;

const WORKERS: usize = 3;
const SLOTS: u32 = 8;

#[derive(Debug)]
pub(super) struct Fleet {
    address: String,
    account: Arc<Account>,
    workers: Vec<WorkerProcess>,
}

#[derive(Debug)]
struct WorkerProcess {
    child: Child,
    /// Ends with the last line that the process told.
    listening: JoinHandle<()>,
}

impl Fleet {
    pub(super) fn start(address: String, account: Arc<Account>) -> anyhow::Result<Fleet> {
        let mut fleet = Fleet { address, account, workers: Vec::new() };
        for number in 0..WORKERS {
            let worker = fleet.spawn(WorkerNo(number))?;
            fleet.workers.push(worker);
        }
        Ok(fleet)
    }

    pub(super) fn size() -> usize {
        WORKERS
    }

    fn spawn(&self, worker: WorkerNo) -> anyhow::Result<WorkerProcess> {
        let binary = std::env::current_exe().context("failed to find this binary")?;
        let mut child = Command::new(binary)
            .args(["soak-worker", "--server", &self.address])
            .args(["--id", &format!("mixed-{}", worker.0), "--slots", &SLOTS.to_string()])
            // Its end tells the worker that we are gone.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("failed to start a worker")?;
        let lines = child.stdout.take().context("its output is piped")?;
        let listening = tokio::spawn(listen(worker, lines, self.account.clone()));
        Ok(WorkerProcess { child, listening })
    }

    /// As kill -9 does, and another process takes its place at once.
    pub(super) async fn kill_and_start(&mut self, worker: WorkerNo) -> anyhow::Result<()> {
        let killed = &mut self.workers[worker.0];
        self.account.gone(worker, now_nanos());
        killed.child.kill().await.context("the worker has ended by itself")?;
        (&mut killed.listening).await?;
        self.workers[worker.0] = self.spawn(worker)?;
        self.account.back(worker, now_nanos());
        Ok(())
    }

    pub(super) async fn pause(&self, worker: WorkerNo, length: Duration) -> anyhow::Result<()> {
        let process =
            self.workers[worker.0].child.id().context("the worker has ended by itself")?;
        self.account.gone(worker, now_nanos());
        signal(process, Signal::STOP)?;
        tokio::time::sleep(length).await;
        signal(process, Signal::CONT)?;
        self.account.back(worker, now_nanos());
        Ok(())
    }

    pub(super) async fn stop(self) -> anyhow::Result<()> {
        for mut worker in self.workers {
            worker.child.kill().await.context("a worker has ended by itself")?;
            worker.listening.await?;
        }
        Ok(())
    }
}

async fn listen(worker: WorkerNo, lines: ChildStdout, account: Arc<Account>) {
    let mut lines = BufReader::new(lines).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        // A line that a kill cut in two tells nothing.
        if let Ok(told) = serde_json::from_str(&line) {
            account.told(worker, told);
        }
    }
}
