//! Which addresses may be reached.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address on the internet, which is nobody's inside.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let shared = a == 100 && (64..128).contains(&b);
    let benchmark = a == 198 && (18..20).contains(&b);
    let protocols = a == 192 && b == 0 && c == 0;
    let reserved = a == 0 || a >= 240;
    !(address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || shared
        || benchmark
        || protocols
        || reserved)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inside) = embedded(address) {
        return is_public_v4(inside);
    }
    let first = address.segments()[0];
    // Only this eighth of the space is given out; the rest is local or reserved.
    let global = first & 0xe000 == 0x2000;
    let documentation = first == 0x2001 && address.segments()[1] == 0x0db8;
    global && !documentation
}

/// The IPv4 address that packets to this one end up at.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let octets = address.octets();
    let v4 = |start: usize| {
        Ipv4Addr::new(octets[start], octets[start + 1], octets[start + 2], octets[start + 3])
    };
    match address.segments() {
        // Mapped, compatible, translated, 6to4.
        [0, 0, 0, 0, 0, 0xffff, _, _] | [0x64, 0xff9b, 0, 0, 0, 0, _, _] => Some(v4(12)),
        [0x2002, ..] => Some(v4(2)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inside_is_told_from_the_internet() {
        let inside = [
            "127.0.0.1",
            "127.9.9.9",
            "10.0.0.1",
            "172.16.5.4",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "255.255.255.255",
            "224.0.0.1",
            "198.18.0.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd12:3456::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
        ];
        for text in inside {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
        for text in ["93.184.216.34", "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }
}
