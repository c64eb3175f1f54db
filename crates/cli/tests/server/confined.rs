//! Commands end with all that they have started, and do no more than their worker lets them.

use crate::fixture::{World, wait_until};

/// A script that leaves a process in a session of its own, and says its number in a file.
fn fleeing(pid: &std::path::Path, more: &str) -> String {
    let pid = pid.display();
    format!(
        "setsid sh -c 'echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 1000' & \
         while [ ! -e {pid} ]; do sleep 0.02; done; {more}"
    )
}

fn is_gone(pid: &std::path::Path) -> bool {
    let pid = std::fs::read_to_string(pid).expect("it said its number");
    !std::path::Path::new("/proc").join(pid.trim()).exists()
}

#[test]
fn a_process_that_leaves_its_session_ends_with_the_command() {
    let world = World::new();
    let _worker = world.worker("w1", &[]);
    let pid = world.path("pid");
    world.submit_exec("j", &fleeing(&pid, "echo done"), &[]);
    world.wait_for("j", "completed");
    wait_until("nothing is left", || is_gone(&pid));
}

#[test]
fn a_process_that_leaves_its_session_and_forgets_who_it_is_ends_with_the_last_command() {
    let world = World::new();
    let _worker = world.worker("w1", &[]);
    let pid = world.path("pid");
    let script = fleeing(&pid, "true").replacen("setsid sh", "env -i setsid /bin/sh", 1);
    world.submit_exec("j", &script, &[]);
    world.wait_for("j", "completed");
    wait_until("nothing is left", || is_gone(&pid));
}

#[test]
fn a_process_that_leaves_its_session_ends_when_the_job_is_cancelled() {
    let world = World::new();
    let _worker = world.worker("w1", &[]);
    let pid = world.path("pid");
    world.submit_exec("j", &fleeing(&pid, "sleep 1000"), &[]);
    wait_until("it runs", || pid.exists());
    world.fine(&["cancel", "j"]);
    wait_until("nothing is left", || is_gone(&pid));
}

#[test]
fn a_process_that_leaves_its_session_ends_with_a_worker_that_is_killed() {
    let world = World::new();
    let worker = world.worker("w1", &[]);
    let pid = world.path("pid");
    world.submit_exec("j", &fleeing(&pid, "sleep 1000"), &[]);
    wait_until("it runs", || pid.exists());
    drop(worker);
    wait_until("nothing is left", || is_gone(&pid));
}

#[test]
fn a_process_of_another_command_that_still_runs_is_left_alone() {
    let world = World::new();
    let _worker = world.worker("w1", &[]);
    let (pid, go) = (world.path("pid"), world.path("go"));
    let wait = format!("while [ ! -e {} ]; do sleep 0.02; done", go.display());
    world.submit_exec("long", &fleeing(&pid, &wait), &[]);
    wait_until("it runs", || pid.exists());
    for number in 0..3 {
        world.fine(&["run", "--id", &format!("short-{number}"), "--", "true"]);
        assert!(!is_gone(&pid));
    }
    std::fs::write(&go, "").unwrap();
    world.wait_for("long", "completed");
    wait_until("nothing is left", || is_gone(&pid));
}

/// A folder of cgroup v2 that is removed with the test.
struct Delegated(std::path::PathBuf);

impl Delegated {
    fn new() -> Option<Delegated> {
        let mounts = std::fs::read_to_string("/proc/mounts").expect("it is Linux");
        let mut mounts = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let mount = mounts.find(|fields| fields.get(2) == Some(&"cgroup2"))?[1].to_owned();
        let folder = std::path::Path::new(&mount).join(format!("test-{}", std::process::id()));
        std::fs::create_dir(&folder).ok()?;
        if folder.join("cgroup.kill").exists() { Some(Delegated(folder)) } else { None }
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("it is text")
    }

    fn is_empty(&self) -> bool {
        let entries = std::fs::read_dir(&self.0).expect("it is there").flatten();
        !entries.into_iter().any(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
    }
}

impl Drop for Delegated {
    fn drop(&mut self) {
        // Whoever is left is the failure of the test.
        drop(std::fs::remove_dir(&self.0));
    }
}

const NO_GROUPS: &str = "there is no cgroup v2 that a group can be made in";

#[test]
fn in_a_group_nobody_outlives_the_command_whoever_else_runs() {
    let Some(delegated) = Delegated::new() else {
        return bellwether_testbed::cannot_run(NO_GROUPS);
    };
    let world = World::new();
    let worker = world.worker("w1", &["--cgroup", delegated.path()]);
    let (pid, go) = (world.path("pid"), world.path("go"));
    let wait = format!("while [ ! -e {} ]; do sleep 0.02; done", go.display());
    world.submit_exec("long", &wait, &[]);
    world.wait_for("long", "running");
    // It leaves its session and forgets who it is, and is found all the same.
    let script = fleeing(&pid, "true").replacen("setsid sh", "env -i setsid /bin/sh", 1);
    world.submit_exec("j", &script, &[]);
    world.wait_for("j", "completed");
    wait_until("nothing is left", || is_gone(&pid));
    assert_eq!(world.state("long"), "running", "it is another command");
    let missing = world.run(&["run", "--", "no-such-command"]);
    assert_eq!(missing.status.code(), Some(127));
    std::fs::write(&go, "").unwrap();
    world.wait_for("long", "completed");
    drop(worker);
    wait_until("the group is removed", || delegated.is_empty());
}

#[test]
fn a_group_ends_with_a_worker_that_is_killed() {
    let Some(delegated) = Delegated::new() else {
        return bellwether_testbed::cannot_run(NO_GROUPS);
    };
    let world = World::new();
    let worker = world.worker("w1", &["--cgroup", delegated.path()]);
    let pid = world.path("pid");
    let script = fleeing(&pid, "sleep 1000").replacen("setsid sh", "env -i setsid /bin/sh", 1);
    world.submit_exec("j", &script, &[]);
    wait_until("it runs", || pid.exists());
    // It is killed.
    drop(worker);
    wait_until("nothing is left", || is_gone(&pid) && delegated.is_empty());
}

#[test]
fn what_a_group_can_not_limit_is_refused_by_name() {
    let Some(delegated) = Delegated::new() else {
        return bellwether_testbed::cannot_run(NO_GROUPS);
    };
    let world = World::new();
    let has = std::fs::read_to_string(delegated.0.join("cgroup.controllers")).unwrap();
    let arguments = ["worker", "--cgroup", delegated.path(), "--limit", "memory=64MiB"];
    if has.contains("memory") {
        let _worker = world.worker("w1", &arguments[1..]);
        let script = format!("cat {}/*/*/memory.max", delegated.path());
        assert_eq!(world.fine(&["run", "--", "sh", "-c", &script]), "67108864\n");
        return;
    }
    let refused = world.run(&arguments);
    let told = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(3), "{told}");
    assert!(told.contains("can't limit memory: it has"), "{told}");
    let nowhere = world.run(&["worker", "--cgroup", "/tmp"]);
    let told = String::from_utf8_lossy(&nowhere.stderr);
    assert!(told.contains("/tmp is no folder of cgroup v2"), "{told}");
}

#[test]
fn a_worker_runs_only_the_commands_that_it_is_to() {
    let world = World::new();
    let _worker = world.worker("w1", &["--allow-command", "echo"]);
    assert_eq!(world.fine(&["run", "--", "echo", "yes"]), "yes\n");
    for refused in
        [&["run", "--", "sh", "-c", "echo no"][..], &["run", "--env", "PATH=/tmp", "--", "echo"]]
    {
        let run = world.run(refused);
        let told = String::from_utf8_lossy(&run.stderr);
        assert!(run.stdout.is_empty() && told.contains("this worker"), "{told}");
    }
}

#[test]
fn limits_hold_for_commands_and_not_for_the_worker() {
    let world = World::new();
    let _worker = world.worker("w1", &["--limit", "files=64,cpu=100", "--limit", "memory=300MiB"]);
    let seen = world.fine(&["run", "--", "sh", "-c", "ulimit -n; ulimit -t; ulimit -v"]);
    assert_eq!(seen, "64\n100\n307200\n");
    let missing = world.run(&["run", "--", "no-such-command"]);
    assert_eq!(missing.status.code(), Some(127));
}

#[test]
fn a_worker_of_root_runs_commands_as_somebody_else() {
    if !rustix::process::geteuid().is_root() {
        return bellwether_testbed::cannot_run("it takes root to become another user");
    }
    let world = World::new();
    let _worker = world.worker("w1", &["--user", "nobody"]);
    assert_eq!(world.fine(&["run", "--", "sh", "-c", "id -un; echo $USER"]), "nobody\nnobody\n");
    let _limited = world.worker("w2", &["--user", "nobody", "--limit", "files=64"]);
    let seen = world.fine(&["run", "--receiver", "w2", "--", "sh", "-c", "id -un; ulimit -n"]);
    assert_eq!(seen, "nobody\n64\n");
}

#[test]
fn commands_are_kept_to_the_files_that_their_worker_names() {
    let world = World::new();
    let (open, closed) = (world.path("open"), world.path("closed"));
    for folder in [&open, &closed] {
        std::fs::create_dir(folder).unwrap();
    }
    let mut arguments = vec!["--write", open.to_str().unwrap(), "--write", "/dev/null"];
    for path in ["/bin", "/usr", "/lib", "/lib64", "/etc", "/proc"] {
        arguments.extend(["--read", path]);
    }
    let _worker = world.worker("w1", &arguments);
    let script = "echo a > $1/a && cat $1/a; echo b > $2/b || echo kept";
    let run = world.run(&[
        "run",
        "--",
        "sh",
        "-c",
        script,
        "sh",
        open.to_str().unwrap(),
        closed.to_str().unwrap(),
    ]);
    let told = String::from_utf8_lossy(&run.stderr);
    if told.contains("it has no Landlock") {
        return bellwether_testbed::cannot_run("this kernel has no Landlock");
    }
    assert_eq!(String::from_utf8_lossy(&run.stdout), "a\nkept\n", "{told}");
    assert!(!closed.join("b").exists());
}
