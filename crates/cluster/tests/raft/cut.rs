//! A way to a member that lets so many bytes pass and then breaks, as networks do.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// What is passed on at once.
const CHUNK_BYTES: usize = 64 << 10;

/// Clones are the same way.
#[derive(Debug, Clone, Default)]
pub(crate) struct Way {
    passed: Arc<AtomicU64>,
    limit: Arc<AtomicU64>,
}

impl Way {
    /// From one address of this machine to another.
    pub(crate) fn open(from: &str, to: &str) -> Way {
        let way = Way::default();
        let (listener, to, own) = (TcpListener::bind(from).unwrap(), to.to_owned(), way.clone());
        thread::spawn(move || {
            for near in listener.incoming() {
                let (Ok(near), Ok(far)) = (near, TcpStream::connect(&to)) else { continue };
                own.clone().join(near, far);
            }
        });
        way
    }

    /// So many bytes may pass towards the member in all; then every connection breaks.
    pub(crate) fn allow(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::SeqCst);
    }

    pub(crate) fn passed(&self) -> u64 {
        self.passed.load(Ordering::SeqCst)
    }

    pub(crate) fn is_used_up(&self) -> bool {
        self.passed() >= self.limit.load(Ordering::SeqCst)
    }

    fn join(self, near: TcpStream, far: TcpStream) {
        let (mut answers, mut back) = (far.try_clone().unwrap(), near.try_clone().unwrap());
        thread::spawn(move || {
            // It ends with either side.
            drop(std::io::copy(&mut answers, &mut back));
        });
        thread::spawn(move || self.pass_on(near, far));
    }

    fn pass_on(self, mut near: TcpStream, mut far: TcpStream) {
        let mut chunk = vec![0; CHUNK_BYTES];
        while !self.is_used_up() {
            let Ok(read @ 1..) = near.read(&mut chunk) else { break };
            self.passed.fetch_add(read as u64, Ordering::SeqCst);
            if far.write_all(&chunk[..read]).is_err() {
                break;
            }
        }
        for side in [near, far] {
            // The other side may have closed it before.
            drop(side.shutdown(Shutdown::Both));
        }
    }
}
