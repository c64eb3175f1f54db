//! Requests that a page in a browser makes without the person before it knowing. A page can send to
//! any address that the browser reaches, and it can give an address of ours a name of its own; what
//! it can't do is say that it did neither.

use std::net::IpAddr;
use std::sync::Arc;

use http::header::{HOST, ORIGIN};
use http::{HeaderMap, HeaderName, Method, Uri};

use bellwether_core::model::excerpt;

use crate::config::ServerConfig;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Foreign {
    #[error("the request names no host")]
    NoHost,
    #[error("{host} is none of the names of this server; add it to allowed_hosts if it should be")]
    Host { host: String },
    #[error("a page of {origin} may not change anything here")]
    Origin { origin: String },
}

/// The names under which HTTP is served: those of loopback, and those that are configured. Where
/// others can connect, an address without a name is one of ours, too: nobody else gives addresses.
#[derive(Debug, Clone)]
pub(crate) struct Hosts {
    allowed: Arc<[String]>,
    exposed: bool,
}

impl Hosts {
    pub(crate) fn new(config: &ServerConfig) -> Hosts {
        let allowed = config.allowed_hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        Hosts { allowed, exposed: !config.http.ip().is_loopback() }
    }

    pub(crate) fn check(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<(), Foreign> {
        let mut given = headers.get_all(HOST).iter();
        let (Some(host), None) = (given.next(), given.next()) else { return Err(Foreign::NoHost) };
        let host = host.to_str().map_err(|_| Foreign::NoHost)?;
        for host in uri.authority().map(|authority| authority.as_str()).into_iter().chain([host]) {
            if !self.knows(host) {
                return Err(Foreign::Host { host: excerpt(host).into_owned() });
            }
        }
        if method.is_safe() { Ok(()) } else { check_page(host, headers) }
    }

    fn knows(&self, host: &str) -> bool {
        let name = without_port(host).to_ascii_lowercase();
        match name.parse::<IpAddr>() {
            Ok(address) => address.is_loopback() || self.exposed || self.allowed.contains(&name),
            Err(_) => {
                name == "localhost" || name.ends_with(".localhost") || self.allowed.contains(&name)
            }
        }
    }
}

/// Programs say nothing of all this; browsers do, and truly.
fn check_page(host: &str, headers: &HeaderMap) -> Result<(), Foreign> {
    if let Some(site) = headers.get(SEC_FETCH_SITE)
        && site != "same-origin"
        && site != "none"
    {
        let origin = headers.get(ORIGIN).and_then(|origin| origin.to_str().ok());
        let origin = excerpt(origin.unwrap_or("another site")).into_owned();
        return Err(Foreign::Origin { origin });
    }
    for origin in headers.get_all(ORIGIN) {
        let origin = origin.to_str().unwrap_or_default();
        let of = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        if !of.is_some_and(|of| of.eq_ignore_ascii_case(host)) {
            return Err(Foreign::Origin { origin: excerpt(origin).into_owned() });
        }
    }
    Ok(())
}

/// The name, or the address without the brackets that one with colons has.
fn without_port(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().unwrap_or_default();
    }
    host.split(':').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(http: &str, allowed: &[&str]) -> Hosts {
        Hosts::new(&ServerConfig {
            http: http.parse().unwrap(),
            allowed_hosts: allowed.iter().map(|host| (*host).to_owned()).collect(),
            ..ServerConfig::default()
        })
    }

    #[test]
    fn loopback_has_its_own_names_and_those_that_are_configured() {
        let hosts = hosts("127.0.0.1:7071", &["Jobs.example.com"]);
        let ours = [
            "localhost",
            "LOCALHOST:7071",
            "a.localhost",
            "127.0.0.1:1",
            "127.9.9.9",
            "[::1]:7071",
            "jobs.example.com:443",
        ];
        for host in ours {
            assert!(hosts.knows(host), "{host}");
        }
        for host in ["evil.example.com", "127.0.0.1.evil.com", "10.0.0.1", "localhost.evil.com", ""]
        {
            assert!(!hosts.knows(host), "{host}");
        }
    }

    #[test]
    fn elsewhere_addresses_are_ours_and_names_are_configured() {
        let hosts = hosts("0.0.0.0:7071", &[]);
        assert!(hosts.knows("10.0.0.1:7071"));
        assert!(!hosts.knows("evil.example.com"));
    }
}
