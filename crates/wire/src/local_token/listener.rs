//! Who listens at an address of this machine. A token that was left for clients of a scheduler must
//! not reach another user who has taken the address of one that is down.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];
const LISTEN: &str = "0A";
const ROOT: u32 = 0;

/// The user who listens there, if that is neither us nor root. Unknown counts as nobody.
pub(super) fn stranger_at(address: SocketAddr, us: u32) -> Option<u32> {
    let listeners = TABLES.iter().filter_map(|path| File::open(path).ok()).flat_map(|table| {
        // Those who listen come first, and connections are many.
        let lines = BufReader::new(table).lines().skip(1).map_while(Result::ok);
        lines.map_while(|line| Listener::parse(&line)).collect::<Vec<_>>()
    });
    let strangers = listeners.filter(|listener| listener.user != us && listener.user != ROOT);
    strangers.filter(|listener| listener.hears(address)).map(|listener| listener.user).next()
}

#[derive(Debug, PartialEq, Eq)]
struct Listener {
    address: SocketAddr,
    user: u32,
}

impl Listener {
    /// A line of the kernel's table; none if it is no listener.
    fn parse(line: &str) -> Option<Listener> {
        let mut fields = line.split_whitespace().skip(1);
        let local = fields.next()?;
        let state = fields.nth(1)?;
        let user = fields.nth(3)?.parse().ok()?;
        if state != LISTEN {
            return None;
        }
        let (ip, port) = local.split_once(':')?;
        let port = u16::from_str_radix(port, 16).ok()?;
        Some(Listener { address: SocketAddr::new(ip_of(ip)?, port), user })
    }

    fn hears(&self, address: SocketAddr) -> bool {
        let ip = self.address.ip();
        self.address.port() == address.port()
            && (ip.is_unspecified() || ip.to_canonical() == address.ip().to_canonical())
    }
}

/// Words of four bytes, each in the order of the machine.
fn ip_of(digits: &str) -> Option<IpAddr> {
    let word = |at: usize| {
        let digits = digits.get(8 * at..8 * at + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    match digits.len() {
        8 => Some(Ipv4Addr::from(word(0)?).into()),
        32 => {
            let mut bytes = [0; 16];
            for (at, place) in bytes.chunks_exact_mut(4).enumerate() {
                place.copy_from_slice(&word(at)?);
            }
            Some(Ipv6Addr::from(bytes).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_line_of_the_kernel_is_understood() {
        let line = "   0: 0100007F:1B9E 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4512 1";
        let listener = Listener::parse(line).unwrap();
        let wanted: SocketAddr = "127.0.0.1:7070".parse().unwrap();
        assert_eq!(listener, Listener { address: wanted, user: 1000 });
        assert!(Listener::parse(&line.replace(" 0A ", " 01 ")).is_none());
    }

    #[test]
    fn whoever_listens_is_known_by_address_and_user() {
        let us = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap());
        let ours = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = ours.local_addr().unwrap();
        assert_eq!(stranger_at(address, us), None);
        if us != ROOT {
            assert_eq!(stranger_at(address, us + 1), Some(us));
        }
    }
}
