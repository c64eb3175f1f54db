//! The image that `packaging/Dockerfile` describes, as far as it can be tried without an engine that builds
//! it: what it copies and runs is there, and what it starts works as it would be started there, as the
//! first process, as a user without rights, in a folder of its own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use bellwether_testbed::cannot_run;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).expect("the file is there")
}

/// Its instructions in order, with what they say.
fn instructions() -> Vec<(String, String)> {
    let text = read("packaging/Dockerfile").replace("\\\n", " ");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (word, rest) = line.split_once(' ').expect("an instruction says something");
            (word.to_owned(), rest.trim().to_owned())
        })
        .collect()
}

fn said<'a>(instructions: &'a [(String, String)], word: &str) -> Vec<&'a str> {
    let wanted = instructions.iter().filter(|(said, _)| said == word);
    wanted.map(|(_, rest)| rest.as_str()).collect()
}

#[test]
fn the_image_is_built_of_what_there_is() {
    let instructions = instructions();
    let known = [
        "FROM", "WORKDIR", "COPY", "RUN", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL", "ENTRYPOINT",
        "CMD",
    ];
    assert!(
        instructions.iter().all(|(word, _)| known.contains(&word.as_str())),
        "{instructions:?}"
    );
    let from = said(&instructions, "FROM");
    let [build, end] = from.as_slice() else { panic!("two stages: {from:?}") };
    // The compiler of the tree, and a system with the same C library for what it makes.
    let toolchain = read("rust-toolchain.toml");
    let version = build.strip_prefix("rust:").and_then(|rest| rest.split('-').next()).unwrap();
    assert!(toolchain.contains(&format!("channel = \"{version}")), "{build}: {toolchain}");
    assert!(build.contains("bookworm AS build") && end.contains("bookworm"), "{from:?}");
    for script in said(&instructions, "RUN") {
        let checked = Command::new("sh").args(["-n", "-c", script]).status().unwrap();
        assert!(checked.success(), "{script}");
    }
    // What is built is what is copied, under the name of the binary.
    let copied = said(&instructions, "COPY");
    assert_eq!(copied, [". .", "--from=build /src/target/release/bellwether /usr/bin/bellwether"]);
    let cargo = said(&instructions, "RUN")[0];
    let words: Vec<&str> = cargo.split(' ').collect();
    assert_eq!(words[..4], ["cargo", "build", "--release", "--locked"], "{cargo}");
    let asked = Command::new(env!("CARGO"))
        .args(["build", "--locked", "--offline", "-p", words[5], "--bin", "nobody"])
        .current_dir(root())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&asked.stderr);
    assert!(told.contains("no bin target named `nobody`") && told.contains("bellwether"), "{told}");
    // What is left out of the build is nothing that is in the tree.
    for ignored in read("packaging/Dockerfile.dockerignore").lines().filter(|l| !l.starts_with('#'))
    {
        let tracked = Command::new("git").args(["ls-files", ignored]).current_dir(root()).output();
        assert!(tracked.unwrap().stdout.is_empty(), "{ignored} belongs to the tree");
    }
    // The ports are those of the settings.
    let settings = read("scheduler.yaml");
    for port in said(&instructions, "EXPOSE")[0].split(' ') {
        assert!(settings.contains(&format!("127.0.0.1:{port}\n")), "{port}");
    }
}

/// The binary needs nothing that a slim system lacks.
#[test]
fn the_binary_needs_the_c_library_and_nothing_else() {
    let output = Command::new("ldd").arg(env!("CARGO_BIN_EXE_bellwether")).output();
    let Ok(output) = output else { return cannot_run("ldd is not there") };
    let text = String::from_utf8(output.stdout).unwrap();
    for line in text.lines() {
        let name = line.split_whitespace().next().unwrap_or_default();
        let usual = ["linux-vdso.so", "libc.so", "libm.so", "libgcc_s.so", "ld-linux", "/lib"];
        assert!(usual.iter().any(|usual| name.starts_with(usual)), "{line}");
    }
}

/// `docker run`, `docker exec ... status` and `docker stop`.
#[test]
fn it_serves_as_the_first_process_of_a_user_without_rights_and_stops_when_told() {
    let instructions = instructions();
    let words: BTreeMap<&str, Vec<String>> = ["ENTRYPOINT", "CMD"]
        .map(|word| (word, serde_json::from_str(said(&instructions, word)[0]).unwrap()))
        .into();
    let binary = Path::new(env!("CARGO_BIN_EXE_bellwether"));
    assert_eq!(words["ENTRYPOINT"], [binary.file_name().unwrap().to_str().unwrap()]);
    let home = said(&instructions, "WORKDIR")[1];
    assert!(words["CMD"].iter().any(|word| word.starts_with(home)), "{words:?}");
    let tried =
        Command::new("unshare").args(["--net", "--pid", "--mount", "--fork", "true"]).output();
    if !tried.is_ok_and(|tried| tried.status.success()) {
        return cannot_run("a first process of one's own needs root");
    }
    // The home of the image, made here over an empty folder; the binary where everybody may read it.
    let script = format!(
        "set -e; ip link set lo up; mount -t tmpfs tmpfs /mnt
        mkdir /mnt/bin /mnt/home; cp {} /mnt/bin/bellwether; chown nobody /mnt/home; cd /mnt/home
        as() {{ env -i PATH=/mnt/bin:/usr/bin:/bin HOME=/mnt/home setpriv --reuid nobody --clear-groups --inh-caps=-all \"$@\"; }}
        as unshare --user --map-current-user --pid --fork --mount-proc bellwether {} > log 2>&1 & outside=$!
        for _ in $(seq 600); do as bellwether status > status 2>&1 && break; sleep 0.05; done
        cat status log
        kill -TERM $(pgrep -x bellwether); wait $outside",
        binary.display(),
        words["CMD"].join(" ").replace(home, "/mnt/home"),
    );
    let output = Command::new("unshare")
        .args([
            "--net", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc", "bash", "-c",
            &script,
        ])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{told}\n{stderr}");
    assert!(told.contains("alone, position"), "{told}\n{stderr}");
}
