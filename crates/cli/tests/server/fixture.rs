//! Processes of the real binary, which end with the test.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

const DEADLINE: Duration = Duration::from_secs(60);

/// A data directory, and what runs on it.
pub(crate) struct World {
    folder: tempfile::TempDir,
    /// Of the scheduler, besides the usual ones.
    arguments: Vec<String>,
    server: Option<Process>,
    pub(crate) address: String,
    pub(crate) http: String,
}

/// Killed when dropped.
pub(crate) struct Process(pub(crate) Child);

impl World {
    pub(crate) fn new() -> World {
        World::with(|_| Vec::new())
    }

    /// `prepare` may put files into the folder, and gives more arguments of the scheduler.
    pub(crate) fn with(prepare: impl FnOnce(&Path) -> Vec<String>) -> World {
        let folder = tempfile::tempdir().expect("the temporary folder is writable");
        let arguments = prepare(folder.path());
        let (address, http) = (String::new(), String::new());
        let mut world = World { folder, arguments, server: None, address, http };
        world.serve("127.0.0.1:0");
        world
    }

    /// A scheduler whose log is kept, at this level.
    pub(crate) fn logging(level: &str) -> World {
        World::with(|_| vec!["--log".to_owned(), level.to_owned()])
    }

    /// What the scheduler has said of itself.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).expect("the log is text")
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.path("data")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn serve(&mut self, grpc: &str) {
        let dir = self.data_dir();
        self.serve_on(&dir, grpc);
    }

    pub(crate) fn serve_on(&mut self, dir: &Path, grpc: &str) {
        let mut child = bellwether()
            .args(["serve", "--json", "--grpc", grpc, "--http", "127.0.0.1:0", "--data-dir"])
            .arg(dir)
            .args(&self.arguments)
            .stdout(Stdio::piped())
            .stderr(self.stderr())
            .spawn()
            .expect("the binary was built for this test");
        let stdout = child.stdout.take().expect("it is piped");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("the scheduler says where it is");
        let hello: Value = serde_json::from_str(&line).expect("the scheduler started");
        self.address = format!("http://{}", hello["grpc"].as_str().expect("an address"));
        self.http = hello["http"].as_str().expect("an address").to_owned();
        self.server = Some(Process(child));
    }

    fn stderr(&self) -> Stdio {
        if !self.arguments.iter().any(|argument| argument == "--log") {
            return Stdio::inherit();
        }
        let file = File::options().create(true).append(true).open(self.path("log"));
        Stdio::from(file.expect("the folder is writable"))
    }

    /// Starts it on the same port, after it has stopped.
    pub(crate) fn serve_again(&mut self) {
        let port = self.address.trim_start_matches("http://").to_owned();
        self.serve(&port);
    }

    /// kill -9 and a new start on the same port.
    pub(crate) fn crash_and_restart(&mut self) {
        drop(self.server.take());
        self.serve_again();
    }

    pub(crate) fn stop(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.terminate();
            assert_eq!(server.wait(), Some(0), "a scheduler that is told to stop ends well");
        }
    }

    pub(crate) fn server_id(&self) -> u32 {
        self.server.as_ref().expect("it runs").0.id()
    }

    /// The exit code of a scheduler that ends by itself.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        self.server.take().expect("it runs").wait()
    }

    pub(crate) fn worker(&self, id: &str, more: &[&str]) -> Process {
        self.worker_with(id, more, &[])
    }

    pub(crate) fn worker_with(
        &self,
        id: &str,
        more: &[&str],
        environment: &[(&str, &str)],
    ) -> Process {
        let child = self
            .command(&["worker", "--id", id, "--slots", "2"])
            .args(more)
            .envs(environment.iter().copied())
            .stdout(Stdio::null())
            .spawn()
            .expect("the binary was built for this test");
        let worker = Process(child);
        wait_until("the worker is known", || {
            let known = self.lines(&["workers", "--json"]);
            known.iter().any(|worker| worker["id"] == id && worker["connected"] == true)
        });
        worker
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = bellwether();
        command.args(arguments).env("BELLWETHER_SERVER", &self.address);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the binary was built for this test")
    }

    pub(crate) fn fine(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {stderr}");
        String::from_utf8(output.stdout).expect("output is text")
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.fine(arguments)).expect("--json prints JSON")
    }

    pub(crate) fn lines(&self, arguments: &[&str]) -> Vec<Value> {
        let text = self.fine(arguments);
        text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
    }

    pub(crate) fn state(&self, id: &str) -> String {
        let job = self.json(&["job", id, "--json"]);
        job["state"].as_str().expect("a job has a state").to_owned()
    }

    pub(crate) fn wait_for(&self, id: &str, state: &str) {
        wait_until(&format!("{id} is {state}"), || self.state(id) == state);
    }

    pub(crate) fn submit_exec(&self, id: &str, script: &str, more: &[&str]) {
        let payload = serde_json::json!({ "argv": ["sh", "-c", script] }).to_string();
        let arguments = ["submit", "--type", "exec", "--id", id, "--payload", &payload];
        self.fine(&[&arguments, more].concat());
    }
}

/// What a process says on standard error, as it comes.
pub(crate) struct Following {
    pub(crate) process: Process,
    lines: std::io::Lines<BufReader<std::process::ChildStderr>>,
}

impl Following {
    /// Reads on until it says this.
    pub(crate) fn says(&mut self, wanted: &str) {
        let mut heard = String::new();
        for line in self.lines.by_ref() {
            let line = line.expect("it writes text");
            if line.contains(wanted) {
                return;
            }
            heard += &format!("{line}\n");
        }
        panic!("it never said {wanted:?}, but:\n{heard}");
    }
}

impl World {
    /// A command that goes on while the test does.
    pub(crate) fn follow(&self, arguments: &[&str]) -> Following {
        let mut child = self
            .command(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary was built for this test");
        let stderr = child.stderr.take().expect("it is piped");
        Following { process: Process(child), lines: BufReader::new(stderr).lines() }
    }
}

impl Process {
    pub(crate) fn terminate(&mut self) {
        self.signal(rustix::process::Signal::TERM);
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let id = i32::try_from(self.0.id()).expect("process ids are small");
        let pid = rustix::process::Pid::from_raw(id).expect("process ids are not zero");
        rustix::process::kill_process(pid, signal).expect("the process is ours");
    }

    /// Its exit code, once it has ended.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.0.wait().expect("the process is ours").code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

pub(crate) fn bellwether() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bellwether"));
    command.env_remove("BELLWETHER_SERVER");
    command
}

/// Looks again and again, because another process has to get there.
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < DEADLINE, "waited in vain until {what}");
        std::thread::yield_now();
    }
}
