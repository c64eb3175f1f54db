//! A lock in ZooKeeper: a node that vanishes with the session of whoever made it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use zookeeper_client::{Acls, Client, CreateMode, Error, SessionState};

use super::lock::Lock;

/// Before the servers are tried again.
const RETRY_AFTER: Duration = Duration::from_millis(100);

#[derive(Debug, Clone)]
pub struct ZooKeeperOptions {
    /// As `host1:2181,host2:2181`.
    pub servers: String,
    /// Of the folder that the lock is in, as `/bellwether`.
    pub folder: String,
    /// A holder that is gone loses it after so long; the servers allow no less than two of their ticks.
    pub session: Duration,
}

/// Gives the lock back when it is dropped.
#[derive(Debug)]
pub struct ZooKeeperLock {
    held: Arc<AtomicBool>,
    released: Arc<Notify>,
    _stop: oneshot::Sender<()>,
}

impl ZooKeeperLock {
    /// Tries to get it from now on, on a thread of its own.
    pub fn start(options: ZooKeeperOptions) -> io::Result<ZooKeeperLock> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (held, released) = (Arc::<AtomicBool>::default(), Arc::<Notify>::default());
        let (stop, stopped) = oneshot::channel();
        let agent = Agent { options, held: Arc::clone(&held), released: Arc::clone(&released) };
        std::thread::Builder::new().name("zookeeper".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = agent.run() => {}
                    // Nobody is left to hold it for.
                    _ = stopped => {}
                }
            });
        })?;
        Ok(ZooKeeperLock { held, released, _stop: stop })
    }
}

impl Lock for ZooKeeperLock {
    fn is_held(&self) -> bool {
        self.held.load(Ordering::Acquire)
    }

    fn release(&self) {
        self.held.store(false, Ordering::Release);
        self.released.notify_one();
    }
}

struct Agent {
    options: ZooKeeperOptions,
    held: Arc<AtomicBool>,
    released: Arc<Notify>,
}

impl Agent {
    async fn run(&self) {
        loop {
            let failure = self.contend().await;
            self.held.store(false, Ordering::Release);
            tracing::debug!("the lock in zookeeper is tried again: {failure:?}");
            tokio::time::sleep(RETRY_AFTER).await;
        }
    }

    /// Takes the lock whenever it is free, for as long as one session lasts.
    async fn contend(&self) -> Result<(), Error> {
        let acls = Acls::anyone_all();
        let connector = Client::connector().with_session_timeout(self.options.session);
        let client = connector.connect(&self.options.servers).await?;
        client.mkdir(&self.options.folder, &CreateMode::Persistent.with_acls(acls)).await?;
        let path = format!("{}/leader", self.options.folder);
        loop {
            match client.create(&path, b"", &CreateMode::Ephemeral.with_acls(acls)).await {
                Ok(_) => self.hold(&client, &path).await?,
                Err(Error::NodeExists) => {
                    let (holder, watcher) = client.check_and_watch_stat(&path).await?;
                    if holder.is_some() {
                        watcher.changed().await;
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Until it is released; an error once the session may be over.
    async fn hold(&self, client: &Client, path: &str) -> Result<(), Error> {
        self.held.store(true, Ordering::Release);
        let mut state = client.state_watcher();
        tokio::select! {
            () = self.released.notified() => {
                client.delete(path, None).await?;
                // Others come first.
                tokio::time::sleep(2 * self.options.session).await;
                Ok(())
            }
            () = lost(&mut state) => Err(Error::SessionExpired),
        }
    }
}

async fn lost(state: &mut zookeeper_client::StateWatcher) {
    while state.changed().await == SessionState::SyncConnected {}
}
