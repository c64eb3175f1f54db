//! What an operator has of the scheduler: its log, what it tells a service manager, and units.

use std::fs::File;
use std::os::unix::net::UnixDatagram;
use std::process::Command;

use crate::fixture::{Process, World, bellwether, wait_until};

#[test]
fn the_log_tells_who_comes_and_goes_and_what_is_given_up() {
    let mut world = World::logging("info");
    let mut worker = world.worker("w1", &[]);
    world.submit_exec("bad", "exit 3", &["--retry", "0"]);
    world.wait_for("bad", "dead_lettered");
    worker.terminate();
    worker.wait();
    let told = |wanted: &str| world.log().lines().any(|line| line.contains(wanted));
    wait_until("it is told", || told("a worker has left"));
    assert!(told("a worker has joined") && told("w1"), "{}", world.log());
    let dead = |line: &&str| line.contains("a job is dead-lettered") && line.contains("bad");
    assert_eq!(world.log().lines().filter(dead).count(), 1, "{}", world.log());
    world.stop();
}

#[test]
fn a_service_manager_is_told_when_it_serves_and_when_it_stops() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    let child = bellwether()
        .args(["serve", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data-dir"])
        .arg(folder.path().join("data"))
        .env("NOTIFY_SOCKET", &path)
        .stdout(File::create(folder.path().join("out")).unwrap())
        .spawn()
        .unwrap();
    let mut server = Process(child);
    let heard = || {
        let mut buffer = [0; 64];
        let length = socket.recv(&mut buffer).unwrap();
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    };
    assert_eq!(heard(), "READY=1");
    assert!(folder.path().join("data/token").exists());
    server.terminate();
    assert_eq!(heard(), "STOPPING=1");
    assert_eq!(server.wait(), Some(0));
}

#[test]
fn systemd_finds_nothing_wrong_with_the_units() {
    let packaging = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging");
    for unit in ["bellwether.service", "bellwether-worker.service"] {
        let file = format!("{packaging}/{unit}");
        let Ok(output) = Command::new("systemd-analyze").args(["verify", &file]).output() else {
            return bellwether_testbed::cannot_run("systemd-analyze is not there");
        };
        let said = String::from_utf8_lossy(&output.stderr);
        // The binary is not installed where the tests run.
        let wrong: Vec<&str> =
            said.lines().filter(|line| !line.contains("is not executable")).collect();
        assert!(wrong.is_empty(), "{unit}: {said}");
    }
}

#[test]
fn a_bench_leaves_a_scheduler_alone_that_it_was_not_told_of() {
    let world = World::new();
    let before = world.json(&["status", "--json"])["jobs"].clone();
    let folder = world.path("bench");
    std::fs::create_dir(&folder).unwrap();
    let arguments = ["bench", "--jobs", "20", "--workers", "1", "--slots", "2", "--data-dir"];
    world.fine(&[&arguments, &[folder.to_str().unwrap()][..]].concat());
    assert_eq!(world.json(&["status", "--json"])["jobs"], before);
}

#[test]
fn variables_of_a_command_can_be_given_beside_its_payload() {
    let world = World::new();
    let _worker = world.worker("w1", &[]);
    let payload = r#"{"argv":["sh","-c","echo $FIRST $SECOND"],"env":{"FIRST":"a","SECOND":"b"}}"#;
    let arguments = ["submit", "--id", "e", "--type", "exec", "--payload", payload, "--wait"];
    world.fine(&[&arguments[..], &["--env", "SECOND=c=d"]].concat());
    assert_eq!(world.fine(&["logs", "e"]), "a c=d\n");
    let refused = world.run(&["submit", "--type", "exec", "--env", "A=b"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--env"), "{refused:?}");
}

#[test]
fn a_certificate_that_ends_soon_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let certify = |days: i64| {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut parameters = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let end = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(24 * days);
        let end = end.to_zoned(jiff::tz::TimeZone::UTC).date();
        let (year, month, day) = (end.year(), end.month(), end.day());
        parameters.not_after =
            rcgen::date_time_ymd(year.into(), month.unsigned_abs(), day.unsigned_abs());
        let certificate = parameters.self_signed(&key).unwrap();
        std::fs::write(path("certificate.pem"), certificate.pem()).unwrap();
        bellwether_testbed::write_secret(path("key.pem"), key.serialize_pem()).unwrap();
    };
    let config = format!(
        "tls: {{certificate: {}, key: {}}}\ndata_dir: {}\ngrpc: 127.0.0.1:0\nhttp: 127.0.0.1:0\n",
        path("certificate.pem").display(),
        path("key.pem").display(),
        path("data").display()
    );
    std::fs::write(path("scheduler.yaml"), config).unwrap();
    let check = || {
        let output = bellwether()
            .args(["serve", "--check", "--config"])
            .arg(path("scheduler.yaml"))
            .output();
        let output = output.unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    for (days, code, said) in
        [(60, 0, "holds until"), (5, 1, "holds only until"), (-5, 1, "held until")]
    {
        certify(days);
        let (found, printed) = check();
        assert_eq!(found, Some(code), "{printed}");
        assert!(printed.contains(said), "{printed}");
    }
}
