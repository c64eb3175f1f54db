//! What is read again while the scheduler runs: on SIGHUP, or when somebody asks for it.

use std::fs::File;
use std::path::Path;

use rustix::process::Signal;

use crate::fixture::{Process, World, bellwether, wait_until};

fn write_certificate(folder: &Path) -> String {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])
        .expect("an address can be certified");
    std::fs::write(folder.join("certificate.pem"), made.cert.pem()).expect("it is writable");
    let key = made.signing_key.serialize_pem();
    bellwether_testbed::write_secret(folder.join("key.pem"), key).expect("it is writable");
    made.cert.pem()
}

fn with_tls(folder: &Path) -> Vec<String> {
    let certificate = write_certificate(folder);
    std::fs::write(folder.join("first.pem"), certificate).expect("it is writable");
    let path = |name: &str| folder.join(name).display().to_string();
    let config =
        format!("tls:\n  certificate: {}\n  key: {}\n", path("certificate.pem"), path("key.pem"));
    std::fs::write(folder.join("scheduler.yaml"), config).expect("it is writable");
    vec!["--config".to_owned(), path("scheduler.yaml")]
}

#[test]
fn a_new_certificate_is_shown_without_dropping_anybody_and_a_broken_one_is_not() {
    let mut world = World::with(with_tls);
    world.address = world.address.replace("http://", "https://");
    let first = world.path("first.pem").display().to_string();
    let code = |ca: &str, arguments: &[&str]| {
        world.run(&[arguments, &["--ca", ca]].concat()).status.code()
    };
    assert_eq!(code(&first, &["status"]), Some(0));
    // Connected before, and still there afterwards.
    let told = world.path("told");
    let follow = ["events", "--follow", "--from", "1", "--json", "--ca", &first];
    let child = world.command(&follow).stdout(File::create(&told).unwrap()).spawn().unwrap();
    let mut follower = Process(child);
    let hears = |id: &str| std::fs::read_to_string(&told).is_ok_and(|text| text.contains(id));
    assert_eq!(code(&first, &["submit", "--type", "t", "--id", "before"]), Some(0));
    wait_until("it follows", || hears("before"));

    let second = world.path("second.pem");
    std::fs::write(&second, write_certificate(&world.path(""))).unwrap();
    let second = second.display().to_string();
    assert_eq!(code(&first, &["reload"]), Some(0));
    assert_eq!(code(&second, &["status"]), Some(0));
    assert_eq!(code(&first, &["status"]), Some(3));
    assert_eq!(code(&second, &["submit", "--type", "t", "--id", "after"]), Some(0));
    wait_until("it follows on", || hears("after"));
    assert!(follower.0.try_wait().unwrap().is_none());

    // The key of another certificate.
    std::fs::write(world.path("certificate.pem"), std::fs::read(&first).unwrap()).unwrap();
    let refused = world.run(&["reload", "--ca", &second]);
    let said = String::from_utf8_lossy(&refused.stdout);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("bad  certificates"), "{said}");
    std::fs::write(world.path("certificate.pem"), "nonsense").unwrap();
    assert_eq!(code(&second, &["reload"]), Some(1));
    assert_eq!(code(&second, &["status"]), Some(0));
}

#[test]
fn a_hangup_changes_what_is_told_and_wrong_settings_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (config, log) = (folder.path().join("scheduler.yaml"), folder.path().join("log"));
    let level = |level: &str| {
        std::fs::write(&config, format!("log: {{level: {level}}}\n")).unwrap();
    };
    level("warn");
    let child = bellwether()
        .args(["serve", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data-dir"])
        .arg(folder.path().join("data"))
        .arg("--config")
        .arg(&config)
        .stdout(std::process::Stdio::null())
        .stderr(File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let server = Process(child);
    wait_until("it has begun", || folder.path().join("data/token").exists());
    let hears = |text: &str| std::fs::read_to_string(&log).is_ok_and(|log| log.contains(text));
    level("debug");
    let changed = || {
        // It may not listen for it yet.
        server.signal(Signal::HUP);
        hears("debug is told from now on")
    };
    wait_until("it tells more", changed);
    level("server=loud");
    let refused = || {
        server.signal(Signal::HUP);
        hears("not read again") && hears("server=loud")
    };
    wait_until("it refuses", refused);
}
