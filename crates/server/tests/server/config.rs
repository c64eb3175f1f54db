//! The configuration file, and what overrides it.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use bellwether_core::model::Micros;
use bellwether_server::ServerConfig;
use bellwether_server::config::Published;

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
        "file: strategy is \"best\"; it must be predictive, least_loaded, round_robin, affinity, random or formula"
    );
    assert_eq!(refused("max_retry: 1"), "retry_default is 3; it must be at most max_retry");
    assert!(refused("- a\n- b").contains("keys with values"));
    assert!(refused("tls:\n  key: x").contains("belong together"));
}

#[test]
fn webhooks_are_a_list() -> Result<()> {
    let secret = tempfile::NamedTempFile::new()?;
    std::fs::write(secret.path(), "whsec_c2VjcmV0\n")?;
    let file = tempfile::NamedTempFile::new()?;
    let secret = secret.path().display();
    let yaml = format!(
        "webhooks:\n  - url: https://example.org/hook\n    kinds: [job_completed, job_failed]\n    \
         secret_file: {secret}\n  - {{url: http://127.0.0.1:9, secret_file: {secret}, allow_private: true}}\n"
    );
    std::fs::write(file.path(), yaml)?;
    let hooks = ServerConfig::load(Some(file.path()), [], &[])?.webhooks;
    assert_eq!(hooks[0].kinds, ["job_completed", "job_failed"]);
    assert_eq!(hooks[0].secret.reveal(), "whsec_c2VjcmV0");
    assert_eq!((hooks[0].allow_private, hooks[1].allow_private), (false, true));
    assert_eq!(
        refused("webhooks: [{url: 'https://x.org'}]"),
        "webhooks.0.secret_env or secret_file is missing"
    );
    assert_eq!(
        refused("webhooks: [{ulr: 'https://x.org'}]"),
        "file: webhooks.0.ulr is not known; did you mean url?"
    );
    assert!(refused("webhooks: [{url: 'ftp://x.org'}]").contains("an address as https"));
    Ok(())
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

#[test]
fn queues_are_read_with_their_defaults() -> Result<()> {
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(
        file.path(),
        "queue: {backend: redis, host: 127.0.0.1, port: 6379, db: 1, stream_prefix: kai-job}
queues:
  orders: {backend: rabbitmq, user: u, password_env: ORDERS_PASSWORD, tls: true}
",
    )?;
    let environment = [("ORDERS_PASSWORD".to_owned(), "secret".to_owned())];
    let config = ServerConfig::load(Some(file.path()), environment, &[])?;
    let [default, orders] = &config.queues[..] else { panic!("{:?}", config.queues) };
    assert_eq!((default.name.as_str(), default.events), ("default", Published::All));
    assert_eq!(default.settings.stream_prefix, "kai-job");
    assert_eq!(orders.name, "orders");
    let shown = format!("{:?}", orders.settings);
    assert!(shown.contains("5671") && !shown.contains("secret"), "{shown}");
    Ok(())
}

#[test]
fn the_name_of_a_backend_alone_is_a_queue_at_its_usual_place() -> Result<()> {
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), "default_queue: redis\n")?;
    let config = ServerConfig::load(Some(file.path()), [], &[])?;
    let [queue] = &config.queues[..] else { panic!("{:?}", config.queues) };
    assert_eq!((queue.name.as_str(), config.default_queue.as_str()), ("redis", "redis"));
    let shown = format!("{:?}", queue.settings);
    assert!(shown.contains("127.0.0.1") && shown.contains("6379"), "{shown}");
    Ok(())
}

#[test]
fn a_queue_that_can_not_be_is_refused_with_the_way_out() {
    assert_eq!(
        refused("queue: {backend: redis, hots: x}"),
        "file: queue.hots is not known; did you mean queue.host?"
    );
    assert_eq!(
        refused("queues: {a: {backend: redis, password: x}}"),
        "file: queues.a.password is not known; did you mean queue.password_env?"
    );
    assert_eq!(
        refused("queue: {backend: kafka}"),
        "file: queue.backend is \"kafka\"; it must be redis, rabbitmq, nats, zeromq or sqlite"
    );
    assert_eq!(
        refused("queue: {backend: nats, db: 1}"),
        "queue default: db means nothing to nats; remove it"
    );
    assert_eq!(
        refused("queue: {port: 1}"),
        "queue default: it has no backend; set it to redis, rabbitmq, nats, zeromq or sqlite"
    );
    let listens = refused("queue: {backend: zeromq, host: 0.0.0.0}");
    assert!(listens.contains("set exposed to true"), "{listens}");
    assert_eq!(
        refused("queue: {backend: redis, user: u}"),
        "queue default: the user u has no password; give password_env or password_file"
    );
    assert_eq!(
        refused("queue: {backend: redis, password_env: NOBODY_SETS_THIS}"),
        "queue default: password_env names the variable NOBODY_SETS_THIS, which is not set"
    );
    assert_eq!(
        refused("default_queue: b\nqueues: {a: {backend: nats}}"),
        "default_queue is b, which is none of the queues; they are a"
    );
    assert!(
        refused("queue: {backend: nats}\nqueues: {default: {backend: nats}}").contains("rename")
    );
}
