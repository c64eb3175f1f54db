//! What a command sees and is given: little, and what its job and the worker's operator say.

use crate::fixture::World;

#[test]
fn a_command_does_not_see_what_the_worker_was_given() {
    let world = World::new();
    let secret = ("BELLWETHER_TOKEN_OF_NOBODY", "hush");
    let passed = ("SHOWN", "yes");
    let arguments = ["--pass-env", "SHOWN"];
    let _worker = world.worker_with("w1", &arguments, &[secret, passed]);
    let seen = world.fine(&["run", "--env", "OWN=1", "--", "env"]);
    assert!(!seen.contains("hush"), "{seen}");
    for wanted in ["SHOWN=yes", "OWN=1", "PATH=", "BELLWETHER_JOB="] {
        assert!(seen.contains(wanted), "{wanted} is not in {seen}");
    }
}

#[test]
fn a_wrong_folder_is_blamed_on_the_folder() {
    let world = World::new();
    let _worker = world.worker("w1", &[]);
    let failed = world.run(&["run", "--cwd", "/no/such/folder", "--", "true"]);
    let told = String::from_utf8_lossy(&failed.stderr);
    assert!(told.contains("/no/such/folder (cwd)"), "{told}");
}

#[test]
fn a_secret_is_given_by_name_and_told_nobody() {
    let world = World::new();
    let file = world.path("password");
    std::fs::write(&file, "correct-horse\n").unwrap();
    let secret = format!("db=file:{}", file.display());
    let arguments = ["--secret", &secret, "--secret", "api=env:API_KEY"];
    let _worker = world.worker_with("w1", &arguments, &[("API_KEY", "battery-staple")]);
    let payload = serde_json::json!({
        "argv": ["sh", "-c", "echo $DB | wc -c; echo db is $DB; echo api is $API >&2; env | grep -c ^DB=co"],
        "env": { "DB": { "secret": "db" }, "API": { "secret": "api" } },
    });
    let submit = ["submit", "--type", "exec", "--id", "j", "--payload", &payload.to_string()];
    world.fine(&submit);
    world.wait_for("j", "completed");
    let logs = world.run(&["logs", "j"]);
    assert_eq!(String::from_utf8_lossy(&logs.stdout), "14\ndb is ***\n1\n");
    assert_eq!(String::from_utf8_lossy(&logs.stderr), "api is ***\n");
    let job = world.fine(&["job", "j", "--json"]);
    assert!(!job.contains("horse") && !job.contains("staple"), "{job}");
    let events = world.fine(&["events", "--json"]);
    assert!(!events.contains("horse") && !events.contains("staple"), "{events}");
}

#[test]
fn a_secret_that_was_not_allowed_is_refused_by_name() {
    let world = World::new();
    let _worker = world.worker("w1", &[]);
    let payload = r#"{"argv":["true"],"env":{"DB":{"secret":"db"}}}"#;
    let arguments = ["submit", "--type", "exec", "--id", "j", "--retry", "0", "--wait"];
    let refused = world.run(&[&arguments[..], &["--payload", payload]].concat());
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(told.contains("was given no secret db") && told.contains("--secret db="), "{told}");
}

#[test]
fn numbers_are_the_text_that_was_written_or_refused_at_submission() {
    let world = World::new();
    let _worker = world.worker("w1", &[]);
    let payload = r#"{"argv":["echo",1.10,true,"x"],"env":{"N":0}}"#;
    world.fine(&["submit", "--type", "exec", "--id", "j", "--payload", payload]);
    world.wait_for("j", "completed");
    assert_eq!(world.fine(&["logs", "j"]), "1.10 true x\n");
    for (argv, env, place) in [
        ("[sleep, 1.10]", "{}", "argv[1] is 1.1"),
        ("[sleep, \"1\"]", "{ON: yes, N: 010}", "env.N is"),
    ] {
        let file = world.path("jobs.yaml");
        let payload = format!("payload: {{argv: {argv}, env: {env}}}");
        std::fs::write(&file, format!("id: job-1\ntype: exec\n{payload}\n")).unwrap();
        let refused = world.run(&["submit", file.to_str().unwrap()]);
        let told = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(3), "{told}");
        assert!(told.contains(place) && told.contains("put it in quotes"), "{told}");
    }
    let wrong = world.run(&["submit", "--type", "exec", "--payload", r#"{"args":["true"]}"#]);
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("`args` is not known"));
}

#[test]
fn a_command_is_told_who_it_is() {
    let world = World::new();
    let _worker = world.worker("w1", &[]);
    let seen = world.fine(&["run", "--id", "j", "--", "env"]);
    for wanted in [
        "BELLWETHER_JOB=j\n",
        "BELLWETHER_ATTEMPT=1\n",
        "BELLWETHER_FENCING_TOKEN=",
        "BELLWETHER_IDEMPOTENCY_TOKEN=",
    ] {
        assert!(seen.contains(wanted), "{wanted} is not in {seen}");
    }
}
