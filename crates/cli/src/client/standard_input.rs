//! What is given on standard input, for commands that run elsewhere.

use std::io::{Read as _, stdin};

use anyhow::Context as _;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};

/// It travels with the job, whose payload has a limit.
const BYTES_MAX: u64 = 512 << 10;

/// To its end.
pub(super) fn read() -> anyhow::Result<String> {
    let mut text = String::new();
    let read = stdin().lock().take(BYTES_MAX + 1).read_to_string(&mut text);
    read.context("failed to read standard input, which must be text")?;
    anyhow::ensure!(
        text.len() as u64 <= BYTES_MAX,
        "standard input is longer than {BYTES_MAX} bytes; let the command read it from a file"
    );
    Ok(text)
}

/// Somebody has piped something to us, or named a file.
pub(super) fn is_waiting() -> bool {
    let stdin = stdin();
    let Ok(status) = fstat(&stdin) else { return false };
    match FileType::from_raw_mode(status.st_mode) {
        FileType::RegularFile => status.st_size > 0,
        FileType::Fifo => {
            let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
            let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
            let ready = poll(&mut fds, Some(&at_once)).is_ok_and(|ready| ready > 0);
            ready && fds[0].revents().contains(PollFlags::IN)
        }
        _ => false,
    }
}
