//! Ports for servers that can't choose one themselves and say which they got.
//!
//! A port that was free a moment ago may be somebody's now. So ours are below those that the kernel
//! hands out, and whoever wants one holds the lock on its file for as long as it is used: nobody who
//! asks here gets the same, in whatever process, and a server can be started again on its port.

use std::fs::{File, TryLockError};
use std::io;
use std::net::TcpListener;
use std::ops::Range;

/// Below what Linux takes for those who do not mind (`ip_local_port_range`).
const PORTS: Range<u16> = 20_000..32_000;
/// Ports in a row that belong together; ZeroMQ wants three, RabbitMQ four.
pub const IN_A_ROW: u16 = 4;

/// So many ports in a row, the first of which is this.
#[derive(Debug)]
pub struct Ports {
    pub first: u16,
    /// Locked until it is dropped.
    _file: File,
}

impl Ports {
    /// # Errors
    /// When no file can be made, or all ports are taken.
    pub fn reserve() -> io::Result<Ports> {
        let folder = std::env::temp_dir().join("bellwether-ports");
        std::fs::create_dir_all(&folder)?;
        let rows = u32::from((PORTS.end - PORTS.start) / IN_A_ROW);
        // Begin elsewhere than others do, so that few of them meet.
        let begin = std::process::id() % rows;
        for row in (begin..rows).chain(0..begin) {
            let first = PORTS.start + row as u16 * IN_A_ROW;
            let file = File::create(folder.join(first.to_string()))?;
            match file.try_lock() {
                Ok(()) if unused(first) => return Ok(Ports { first, _file: file }),
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::Error::new(io::ErrorKind::AddrInUse, "all ports for servers are taken"))
    }
}

/// By somebody who does not ask here.
fn unused(first: u16) -> bool {
    (first..first + IN_A_ROW).all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_gets_what_another_holds() {
        let (one, other) = (Ports::reserve().unwrap(), Ports::reserve().unwrap());
        assert!(one.first.abs_diff(other.first) >= IN_A_ROW);
    }
}
