//! TLS and tokens, from the command line.

use std::path::Path;

use crate::fixture::{World, bellwether};

/// A token with this role; its line is added to the file.
fn token(lines: &mut String, role: &str) -> String {
    let output = bellwether()
        .args(["token", "issue", role, "--role", role, "--json"])
        .output()
        .expect("the binary was built for this test");
    let issued: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("--json prints JSON");
    lines.push_str(issued["line"].as_str().expect("a line"));
    lines.push('\n');
    issued["token"].as_str().expect("a token").to_owned()
}

fn write_certificate(folder: &Path) {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])
        .expect("an address can be certified");
    std::fs::write(folder.join("certificate.pem"), made.cert.pem()).expect("it is writable");
    let key = made.signing_key.serialize_pem();
    bellwether_testbed::write_secret(folder.join("key.pem"), key).expect("it is writable");
}

#[test]
fn tokens_allow_what_their_roles_do_and_nothing_works_without() {
    let (mut lines, mut tokens) = (String::new(), Vec::new());
    for role in ["viewer", "submitter", "worker"] {
        tokens.push(token(&mut lines, role));
    }
    let mut world = World::with(|folder| {
        write_certificate(folder);
        std::fs::write(folder.join("tokens"), &lines).unwrap();
        let path = |name: &str| folder.join(name).display().to_string();
        let config = format!(
            "tls:\n  certificate: {}\n  key: {}\ntokens: {}\n",
            path("certificate.pem"),
            path("key.pem"),
            path("tokens")
        );
        std::fs::write(folder.join("scheduler.yaml"), config).unwrap();
        vec!["--config".to_owned(), path("scheduler.yaml")]
    });
    world.address = world.address.replace("http://", "https://");
    let ca = world.path("certificate.pem").display().to_string();
    let [viewer, submitter, worker] = [&tokens[0], &tokens[1], &tokens[2]];
    let code = |token: &str, arguments: &[&str]| {
        let file = world.path("token-of-ours");
        bellwether_testbed::write_secret(&file, token).expect("it is writable");
        let with = ["--ca", &ca, "--token-file", &file.display().to_string()];
        world.run(&[arguments, &with].concat()).status.code()
    };
    assert_eq!(code(viewer, &["status"]), Some(0));
    assert_eq!(code(viewer, &["submit", "--type", "t"]), Some(3));
    assert_eq!(code(submitter, &["submit", "--type", "t", "--id", "a"]), Some(0));
    assert_eq!(code(submitter, &["job", "a"]), Some(0));
    assert_eq!(code(worker, &["submit", "--type", "t"]), Some(3));
    assert_eq!(code("guess", &["status"]), Some(3));
    assert_eq!(code(submitter, &["worker", "--id", "w"]), Some(3));

    let denied = world.run(&["status", "--ca", &ca]);
    assert_eq!(denied.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&denied.stderr).contains("check the token"));
}
