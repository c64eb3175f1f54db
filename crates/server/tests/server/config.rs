//! The configuration file, and what overrides it.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use bellwether_core::model::Micros;
use bellwether_server::ServerConfig;

fn documented() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scheduler.yaml"))
}

fn refused(yaml: &str) -> String {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), yaml).expect("it can be written");
    let error = ServerConfig::load(Some(file.path()), [], &[]);
    let error = error.expect_err("it is refused").to_string();
    error.replace(&file.path().display().to_string(), "file")
}

#[test]
fn the_documented_file_is_the_default() -> Result<()> {
    let read = ServerConfig::load(Some(documented()), [], &[])?;
    assert_eq!(format!("{read:?}"), format!("{:?}", ServerConfig::default()));
    Ok(())
}

#[test]
fn an_unknown_key_names_the_nearest() {
    assert_eq!(refused("max_rerty: 4"), "file: max_rerty is not known; did you mean max_retry?");
    let tls = refused("tls:\n  certificat: x");
    assert_eq!(tls, "file: tls.certificat is not known; did you mean tls.certificate?");
    assert_eq!(refused("completely_different: 4"), "file: completely_different is not known");
}

#[test]
fn a_bad_value_says_what_it_must_be() {
    assert_eq!(
        refused("max_retry: many"),
        "file: max_retry is \"many\"; it must be a whole number"
    );
    assert_eq!(
        refused("strategy: best"),
        "file: strategy is \"best\"; it must be predictive, least_loaded, round_robin, affinity or random"
    );
    assert_eq!(refused("max_retry: 1"), "retry_default is 3; it must be at most max_retry");
    assert!(refused("- a\n- b").contains("keys with values"));
    assert!(refused("tls:\n  key: x").contains("belong together"));
}

#[test]
fn the_environment_overrides_the_file_and_flags_override_both() -> Result<()> {
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), "heartbeat_interval: 7\nmax_crashes: 9\ncall_timeout: 1m\n")?;
    let environment =
        [("BELLWETHER_MAX_CRASHES", "8"), ("BELLWETHER_SERVER", "elsewhere"), ("HOME", "x")];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let flags = [("heartbeat_interval".to_owned(), "2".to_owned())];
    let config = ServerConfig::load(Some(file.path()), environment, &flags)?;
    assert_eq!(config.scheduling.heartbeat_interval, Micros::from_secs(2));
    assert_eq!(config.scheduling.max_crashes, 8);
    assert_eq!(config.limits.call_timeout, Duration::from_secs(60));
    let slip = [("BELLWETHER_MAX_CRASHS".to_owned(), "8".to_owned())];
    let error = ServerConfig::load(None, slip, &[]).unwrap_err().to_string();
    assert!(error.ends_with("did you mean max_crashes?"), "{error}");
    Ok(())
}
