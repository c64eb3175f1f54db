//! Where a scheduler leaves the token for those who may do everything on its machine, and where they
//! find it: a folder of the user's own, in which each scheduler has a link to the token in its data
//! directory, by its address.

mod listener;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use crate::private::{PrivateError, read_secret};
use listener::stranger_at;

const FOLDER: &str = "bellwether";

#[derive(Debug, thiserror::Error)]
pub enum LocalTokenError {
    #[error(transparent)]
    Private(#[from] PrivateError),
    #[error(
        "another user (uid {user}) listens on {address}, where a scheduler of yours was; the token \
         is not given away. Start the scheduler elsewhere, or give BELLWETHER_TOKEN"
    )]
    Stranger { address: SocketAddr, user: u32 },
}

/// The folders of this user, best first. Whoever looks for a token looks in all of them, because a
/// scheduler that was started by a service manager does not see what a login shell sees.
pub fn folders() -> Vec<PathBuf> {
    let runtime = own("XDG_RUNTIME_DIR").map(|dir| dir.join(FOLDER));
    let state = own("HOME").map(|home| home.join(".local/state").join(FOLDER));
    runtime.into_iter().chain(state).collect()
}

/// The folder that a variable names, if it is there and ours: `sudo` leaves us those of others.
fn own(variable: &str) -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os(variable)?);
    (folder.is_absolute() && std::fs::metadata(&folder).ok()?.uid() == us()?).then_some(folder)
}

fn us() -> Option<u32> {
    Some(std::fs::metadata("/proc/self").ok()?.uid())
}

/// What the link to the token of a scheduler at this address is called.
pub fn link_name(address: SocketAddr) -> String {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, address.port()).to_string()
}

/// The token of a scheduler of ours; none if there is none, or if it is on another machine. A token
/// that others can read is refused, and none is found for an address that somebody else has taken.
pub fn find(host: &str, port: u16) -> Result<Option<String>, LocalTokenError> {
    let addresses = match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(ip) if ip.is_loopback() => vec![ip],
        Err(_) if host == "localhost" => {
            vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
        }
        Ok(_) | Err(_) => return Ok(None),
    };
    for folder in folders() {
        for ip in &addresses {
            let address = SocketAddr::new(*ip, port);
            let token = match read_secret(&folder.join(link_name(address))) {
                Ok(token) => token,
                // Somebody else's, or of a scheduler that is gone: the next may be ours.
                Err(PrivateError::Read { .. }) => continue,
                Err(loose) => return Err(loose.into()),
            };
            if let Some(user) = us().and_then(|us| stranger_at(address, us)) {
                return Err(LocalTokenError::Stranger { address, user });
            }
            return Ok(Some(token.trim().to_owned()));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheduler_that_listens_everywhere_is_found_on_loopback() {
        let name = |address: &str| link_name(address.parse().unwrap());
        assert_eq!(name("0.0.0.0:7070"), "127.0.0.1:7070");
        assert_eq!(name("[::]:7070"), "[::1]:7070");
        assert_eq!(name("127.0.0.2:1"), "127.0.0.2:1");
    }

    #[test]
    fn tokens_of_this_machine_are_not_for_others() {
        assert!(find("scheduler.example.com", 7070).unwrap().is_none());
        assert!(find("10.0.0.1", 7070).unwrap().is_none());
    }
}
