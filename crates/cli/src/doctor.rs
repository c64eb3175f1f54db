//! `bellwether doctor` and `bellwether serve --check`: what would keep a scheduler from running well, and
//! the way out.

use bellwether_wire::words::counted;
use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use bellwether_server::ServerConfig;
use bellwether_server::config::TlsFiles;
use bellwether_server::edges::security::validity::Validity;
use clap::Args;
use serde_json::{Value, json};

use crate::client::{Connect, block_on};
use crate::exit::Verdict;
use crate::{output, queue, serve};

/// Free space below this is little: the journal reserves 64 MiB at a time.
const SPACE_LITTLE: u64 = 1 << 30;
/// A certificate that ends sooner is to be renewed now.
const RENEW_WITHIN: jiff::SignedDuration = jiff::SignedDuration::from_hours(14 * 24);
/// No scheduler ran before this: 2024-01-01.
const EPOCH_MIN: u64 = 1_704_067_200;

/// Tell what is wrong with the settings, the machine and the scheduler, and the way out.
///
/// Looks at the settings, addresses, disk, permissions, clock, certificates and queues, and asks the
/// scheduler if one answers. Exits with 1 if something is wrong.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connect: Connect,
    /// Settings; see scheduler.yaml
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug)]
struct Finding {
    question: &'static str,
    /// What is well, or what is wrong and the way out.
    answer: Result<String, (String, &'static str)>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let question = self.question;
        match &self.answer {
            Ok(well) => write!(f, "  ok  {question:<13} {well}"),
            Err((wrong, way_out)) => write!(f, " bad  {question:<13} {wrong}; {way_out}"),
        }
    }
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    let live = block_on(async {
        let status = arguments.connect.client().await?.status().await?;
        Ok(format!(
            "{} at {} answers, {}, {}",
            status.version,
            arguments.connect.server,
            counted(u64::from(status.workers), "worker"),
            counted(u64::from(status.slots), "slot"),
        ))
    });
    let mut findings = Vec::new();
    let runs = live.is_ok();
    findings.push(Finding {
        question: "scheduler",
        answer: Ok(live.unwrap_or_else(|_| "none answers; the rest is as for a new one".to_owned())),
    });
    match ServerConfig::load(arguments.config.as_deref(), serve::variables(), &[]) {
        Ok(config) => findings.extend(examine(&config, runs)),
        Err(error) => findings.push(wrong("settings", error, "correct the settings")),
    }
    tell(&findings, arguments.json)
}

/// Of a scheduler that is to be started with these settings.
pub(crate) fn check(config: &ServerConfig, as_json: bool) -> anyhow::Result<Verdict> {
    tell(&examine(config, false), as_json)
}

fn tell(findings: &[Finding], as_json: bool) -> anyhow::Result<Verdict> {
    if as_json {
        let shown: Vec<Value> = findings
            .iter()
            .map(|finding| match &finding.answer {
                Ok(well) => json!({ "question": finding.question, "well": well }),
                Err((wrong, way_out)) => {
                    json!({ "question": finding.question, "wrong": wrong, "way_out": way_out })
                }
            })
            .collect();
        output::print_json(&shown)?;
    } else {
        let text: String = findings.iter().map(|finding| format!("{finding}\n")).collect();
        output::print(&text)?;
    }
    let well = findings.iter().all(|finding| finding.answer.is_ok());
    Ok(if well { Verdict::Fine } else { Verdict::CheckFailed })
}

/// `runs`: a scheduler runs, so addresses and the data directory may be in use.
fn examine(config: &ServerConfig, runs: bool) -> Vec<Finding> {
    let mut findings = vec![Finding { question: "settings", answer: Ok("can be read".to_owned()) }];
    if !runs {
        findings.push(address("gRPC address", config.grpc));
        findings.push(address("HTTP address", config.http));
    }
    findings.push(data_dir(&config.data_dir));
    findings.push(space(&config.data_dir));
    findings.push(clock());
    if let Some(TlsFiles { certificate, key, client_ca }) = &config.tls {
        findings.push(dates(certificate));
        findings.push(pem("key", key));
        findings.extend(client_ca.iter().map(|path| pem("client_ca", path)));
    }
    if let Some(tokens) = &config.tokens {
        findings.push(match std::fs::read_to_string(tokens) {
            Ok(text) => {
                let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
                Finding { question: "tokens", answer: Ok(counted(lines as u64, "line")) }
            }
            Err(error) => wrong("tokens", error, "make them with `bellwether token`"),
        });
    }
    let exposed = [config.grpc, config.http].iter().any(|address| !address.ip().is_loopback());
    if exposed && (config.tls.is_none() || config.tokens.is_none()) {
        let what = "an address is off loopback, without tls and tokens";
        findings.push(wrong("exposure", what, "give both, or listen on 127.0.0.1"));
    }
    for (name, usable) in queue::usable(&config.queues) {
        findings.push(match usable {
            Ok(()) => Finding { question: "queue", answer: Ok(format!("{name} can be used")) },
            Err(why) => wrong("queue", format!("{name}: {why}"), "see `bellwether queue check`"),
        });
    }
    findings
}

fn wrong(question: &'static str, wrong: impl fmt::Display, way_out: &'static str) -> Finding {
    Finding { question, answer: Err((wrong.to_string(), way_out)) }
}

fn address(question: &'static str, address: SocketAddr) -> Finding {
    match TcpListener::bind(address) {
        Ok(_) => Finding { question, answer: Ok(format!("{address} is free")) },
        Err(error) => {
            let way_out = "stop what listens there, or choose another (grpc, http)";
            wrong(question, format!("{address}: {error}"), way_out)
        }
    }
}

/// The folder itself, or the nearest one above it that there is.
fn existing(dir: &Path) -> &Path {
    let mut here = dir;
    while !here.exists() {
        match here.parent() {
            Some(above) if !above.as_os_str().is_empty() => here = above,
            _ => return Path::new("."),
        }
    }
    here
}

fn data_dir(dir: &Path) -> Finding {
    let shown = dir.display();
    match tempfile::Builder::new().prefix(".doctor").tempfile_in(existing(dir)) {
        Ok(_) => Finding { question: "data_dir", answer: Ok(format!("{shown} can be written")) },
        Err(error) => {
            let way_out = "give it to whoever runs the scheduler, or choose another (data_dir)";
            wrong("data_dir", format!("{shown}: {error}"), way_out)
        }
    }
}

fn space(dir: &Path) -> Finding {
    match rustix::fs::statvfs(existing(dir)) {
        Ok(found) => {
            let free = found.f_bavail.saturating_mul(found.f_frsize);
            let shown = format!("{:.1} GiB are free", free as f64 / f64::from(1 << 30));
            if free < SPACE_LITTLE {
                return wrong("disk", shown, "make space, or choose another data_dir");
            }
            Finding { question: "disk", answer: Ok(shown) }
        }
        Err(error) => wrong("disk", error, "see whether the disk is mounted"),
    }
}

fn clock() -> Finding {
    let now = jiff::Timestamp::now();
    let late_enough = u64::try_from(now.as_second()).is_ok_and(|now| now >= EPOCH_MIN);
    if late_enough {
        return Finding { question: "clock", answer: Ok(format!("says {now:.0}")) };
    }
    wrong("clock", format!("says {now:.0}"), "set it, best by NTP")
}

/// Whether it holds now, and for a while.
fn dates(path: &Path) -> Finding {
    let renew = "make a new one and run `bellwether reload`; docs/tls.md has the commands";
    let shown = path.display();
    match Validity::of(path) {
        Err(error) => wrong("certificate", error, "name a PEM file that can be read"),
        Ok(Validity { from, until }) => {
            let now = jiff::Timestamp::now();
            let (begins, ends) = (format!("{from:.0}"), format!("{until:.0}"));
            if now < from {
                let early = format!("{shown} holds from {begins} on");
                return wrong("certificate", early, "look at the clock, or make a new one");
            }
            if now > until {
                return wrong("certificate", format!("{shown} held until {ends}"), renew);
            }
            if until.duration_since(now) < RENEW_WITHIN {
                return wrong("certificate", format!("{shown} holds only until {ends}"), renew);
            }
            Finding { question: "certificate", answer: Ok(format!("{shown} holds until {ends}")) }
        }
    }
}

fn pem(question: &'static str, path: &Path) -> Finding {
    let shown = path.display();
    match std::fs::read_to_string(path) {
        Ok(text) if text.contains("-----BEGIN") => {
            Finding { question, answer: Ok(format!("{shown} is there")) }
        }
        Ok(_) => wrong(question, format!("{shown} is no PEM file"), "convert it, as with openssl"),
        Err(error) => wrong(question, format!("{shown}: {error}"), "name a file that can be read"),
    }
}
