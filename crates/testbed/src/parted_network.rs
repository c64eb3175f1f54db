//! Machines with a network each, that can be cut from each other: network namespaces on two bridges, one
//! for clients and one for what the machines say among themselves.

use std::io;
use std::net::Ipv4Addr;
use std::process::Command;

/// Addresses from here on are those of the bridge for the machines themselves.
const AMONG: u8 = 128;
/// Where whoever started the machines reaches them from.
const OWN: u8 = 100;

/// Gone when it is dropped, with the processes' connections.
#[derive(Debug)]
pub struct PartedNetwork {
    /// Tells networks of this machine apart, in names of at most 15 characters.
    name: String,
    subnet: [u8; 2],
    machines: u8,
}

/// Which of a machine's connections are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// To the other machines.
    Among,
    /// To clients, too.
    All,
}

impl PartedNetwork {
    /// # Errors
    /// Where namespaces can't be made, as without root.
    pub fn new(machines: u8) -> io::Result<PartedNetwork> {
        let number = std::process::id();
        let [.., high, low] = number.to_be_bytes();
        let network = PartedNetwork { name: format!("bw{number}"), subnet: [high, low], machines };
        network.make()?;
        Ok(network)
    }

    fn make(&self) -> io::Result<()> {
        for (bridge, host) in [("c", OWN), ("p", AMONG + OWN)] {
            let bridge = format!("{}{bridge}", self.name);
            let address = format!("{}/25", self.address(host));
            ip(&["link", "add", &bridge, "type", "bridge"])?;
            ip(&["addr", "add", &address, "dev", &bridge])?;
            ip(&["link", "set", &bridge, "up"])?;
        }
        for machine in 0..self.machines {
            let space = self.space(machine);
            ip(&["netns", "add", &space])?;
            ip(&["-n", &space, "link", "set", "lo", "up"])?;
            for (bridge, host) in [("c", self.clients(machine)), ("p", self.among(machine))] {
                let (outer, inner) = (self.port(machine, bridge), format!("eth{bridge}"));
                let master = format!("{}{bridge}", self.name);
                ip(&[
                    "link", "add", &outer, "type", "veth", "peer", "name", &inner, "netns", &space,
                ])?;
                ip(&["link", "set", &outer, "master", &master, "up"])?;
                ip(&["-n", &space, "addr", "add", &format!("{host}/25"), "dev", &inner])?;
                ip(&["-n", &space, "link", "set", &inner, "up"])?;
            }
        }
        Ok(())
    }

    /// What a command is to begin with to run on a machine.
    pub fn prefix(&self, machine: u8) -> [String; 4] {
        ["ip".to_owned(), "netns".to_owned(), "exec".to_owned(), self.space(machine)]
    }

    /// Where clients reach a machine.
    pub fn clients(&self, machine: u8) -> Ipv4Addr {
        self.address(machine + 1)
    }

    /// Where other machines do.
    pub fn among(&self, machine: u8) -> Ipv4Addr {
        self.address(AMONG + machine + 1)
    }

    pub fn cut(&self, machine: u8, what: Cut) -> io::Result<()> {
        ip(&["link", "set", &self.port(machine, "p"), "down"])?;
        match what {
            Cut::Among => Ok(()),
            Cut::All => ip(&["link", "set", &self.port(machine, "c"), "down"]),
        }
    }

    /// These two do not hear of each other; all others hear of both.
    pub fn part(&self, one: u8, other: u8) -> io::Result<()> {
        [one, other].into_iter().try_for_each(|machine| self.isolate(machine, "on"))
    }

    pub fn heal(&self) -> io::Result<()> {
        for machine in 0..self.machines {
            self.isolate(machine, "off")?;
            for bridge in ["c", "p"] {
                ip(&["link", "set", &self.port(machine, bridge), "up"])?;
            }
        }
        Ok(())
    }

    fn isolate(&self, machine: u8, state: &str) -> io::Result<()> {
        let port = self.port(machine, "p");
        ip(&["link", "set", "dev", &port, "type", "bridge_slave", "isolated", state])
    }

    fn address(&self, host: u8) -> Ipv4Addr {
        let [high, low] = self.subnet;
        Ipv4Addr::new(10, high, low, host)
    }

    fn space(&self, machine: u8) -> String {
        format!("{}n{machine}", self.name)
    }

    fn port(&self, machine: u8, bridge: &str) -> String {
        format!("{}{bridge}{machine}", self.name)
    }
}

impl Drop for PartedNetwork {
    fn drop(&mut self) {
        // What was not made can't be removed.
        for machine in 0..self.machines {
            drop(ip(&["netns", "del", &self.space(machine)]));
        }
        for bridge in ["c", "p"] {
            drop(ip(&["link", "del", &format!("{}{bridge}", self.name)]));
        }
    }
}

fn ip(words: &[&str]) -> io::Result<()> {
    let output = Command::new("ip").args(words).output()?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(io::Error::other(format!("ip {}: {}", words.join(" "), why.trim())))
}
