//! The reference of commands and of jobs: made from what they are made of.

use expect_test::expect_file;

use crate::fixture::bellwether;

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

/// That they run as written is shown with all other pages (`documents/`).
#[test]
fn every_command_has_an_example() {
    let reference = printed(&["reference"]);
    let sections: Vec<(&str, &str)> = reference
        .split("\n## `bellwether ")
        .skip(1)
        .map(|section| section.split_once('`').expect("a heading ends with a quote"))
        .collect();
    for (command, section) in &sections {
        let has = section.contains("```sh\n") && section.contains(&format!("bellwether {command}"));
        let is_group = sections.iter().any(|(other, _)| other.starts_with(&format!("{command} ")));
        assert!(has || is_group, "{command} has no example");
    }
    assert!(sections.len() > 70, "all of them are looked at");
}
