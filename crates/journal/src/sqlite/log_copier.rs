//! Copies SQLite's log into its database without making whoever writes wait for it.
//!
//! The bulk is copied on a thread of its own while writes go on. What they have added meanwhile is
//! little; the writing thread copies that itself, after which SQLite writes the log from its start
//! again. So the log stays bounded under a load that never pauses.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;

use rusqlite::Connection;

#[derive(Debug)]
pub struct LogCopier {
    under_way: bool,
    /// None only while it is dropped.
    thread: Option<CopyingThread>,
}

#[derive(Debug)]
struct CopyingThread {
    ask: Sender<()>,
    done: Receiver<rusqlite::Result<()>>,
    handle: JoinHandle<()>,
}

impl LogCopier {
    /// `connection` is one to the same database as the writer's. `prepare` is done on the thread
    /// before anything else, as to lower its priority.
    pub fn start(
        name: &str,
        connection: Connection,
        prepare: impl FnOnce() + Send + 'static,
    ) -> std::io::Result<LogCopier> {
        let (ask, asked) = channel();
        let (tell, done) = channel();
        let handle = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            prepare();
            for () in asked {
                if tell.send(copy(&connection)).is_err() {
                    return;
                }
            }
        })?;
        Ok(LogCopier { under_way: false, thread: Some(CopyingThread { ask, done, handle }) })
    }

    /// After each commit, with the connection that made it; `is_long` says whether the log is worth
    /// copying by now. Gives whether all of it was copied. After an error the log has everything
    /// that it had, and it may be tried again.
    pub fn committed(&mut self, is_long: bool, writer: &Connection) -> rusqlite::Result<bool> {
        let Some(thread) = &self.thread else { return Ok(false) };
        if !self.under_way {
            self.under_way = is_long && thread.ask.send(()).is_ok();
            return Ok(false);
        }
        match thread.done.try_recv() {
            Ok(copied) => {
                self.under_way = false;
                copied?;
                copy(writer)?;
                Ok(true)
            }
            Err(TryRecvError::Empty) => Ok(false),
            Err(TryRecvError::Disconnected) => unreachable!("the thread ends after its owner"),
        }
    }
}

impl Drop for LogCopier {
    fn drop(&mut self) {
        let Some(CopyingThread { ask, done, handle }) = self.thread.take() else { return };
        drop((ask, done));
        // The directory may be given to another only once nobody writes here any more.
        handle.join().expect("copying does not panic");
    }
}

/// Copies what can be copied without waiting for anybody.
fn copy(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
}
