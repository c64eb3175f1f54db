//! The reference of commands and of jobs: made from what they are made of, and run.

use std::process::Command;

use expect_test::expect_file;

use crate::fixture::{World, bellwether};

fn printed(arguments: &[&str]) -> String {
    let output = bellwether().args(arguments).output().expect("the binary was built for this test");
    assert_eq!(output.status.code(), Some(0));
    String::from_utf8(output.stdout).expect("output is text")
}

#[test]
fn the_reference_tells_what_there_is() {
    expect_file!["../../../../docs/cli.md"].assert_eq(&printed(&["reference"]));
    expect_file!["../../../../docs/jobs.md"].assert_eq(&printed(&["reference", "--jobs"]));
}

#[test]
fn every_command_of_a_client_has_an_example() {
    // They need servers that an example can't bring, or take minutes. Those of a cluster are run as
    // written by the page about it.
    const WITHOUT: &[&str] = &[
        "bench sinks",
        "bench queue",
        "checkpoints",
        "cluster init",
        "cluster join",
        "cluster recover",
        "cluster remove",
        "cluster transfer",
        "cluster verify",
        "soak",
    ];
    let reference = printed(&["reference"]);
    let examples = printed(&["reference", "--examples"]);
    let headings = reference.lines().filter_map(|line| line.strip_prefix("## `bellwether "));
    for command in headings.map(|line| line.trim_end_matches('`')) {
        let has = examples.contains(&format!("bellwether {command}"));
        assert!(has || WITHOUT.contains(&command), "{command} has no example");
    }
}

#[test]
fn every_example_runs_as_written() {
    let world = World::new();
    let mut script = printed(&["reference", "--examples"]);
    // The worker, which goes on until then.
    script.push_str("kill $!\n");
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_bellwether"));
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let output = Command::new("sh")
        .args(["-e", "-x", "-c", &script])
        .env("PATH", path)
        .env("BELLWETHER_SERVER", &world.address)
        .current_dir(world.path(""))
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
}
