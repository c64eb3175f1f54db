//! A scheduler with workers, and a browser that is led by a script.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use bellwether_testbed::cannot_run;
use serde_json::Value;

/// `cargo xtask test` installs the packages there.
const PACKAGES: &str = "target/node";
const BROWSERS: [&str; 2] = ["/usr/bin/chromium", "/usr/bin/google-chrome"];

pub(crate) struct Stage {
    folder: tempfile::TempDir,
    server: Process,
    grpc: String,
    http: String,
    link: String,
    workers: Vec<Process>,
}

/// Killed when dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().expect("it is ours");
        self.0.wait().expect("it was killed");
    }
}

impl Stage {
    pub(crate) fn start(workers: usize) -> Stage {
        let folder = tempfile::tempdir().expect("the temporary folder is writable");
        let any = "127.0.0.1:0";
        let (server, hello) = serve(folder.path(), any, any);
        let text = |key: &str| hello[key].as_str().expect("it is told").to_owned();
        let (grpc, http, link) = (text("grpc"), text("http"), text("dashboard"));
        let mut stage = Stage { folder, server, grpc, http, link, workers: Vec::new() };
        stage.workers = (1..=workers).map(|number| stage.worker(number)).collect();
        stage
    }

    fn bellwether(&self) -> Command {
        let mut command = bellwether(self.folder.path());
        command.env("BELLWETHER_SERVER", format!("http://{}", self.grpc));
        command
    }

    fn worker(&self, number: usize) -> Process {
        let child = self
            .bellwether()
            .args(["worker", "--slots", "4", "--id", &format!("w{number}")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Process(child.expect("the binary was built for this test"))
    }

    /// kill -9, and a new start at the same addresses.
    fn restart(&mut self) {
        self.server.0.kill().expect("it is ours");
        self.server.0.wait().expect("it was killed");
        let (server, _) = serve(self.folder.path(), &self.grpc, &self.http);
        self.server = server;
    }

    fn new_link(&self) -> String {
        let told = self.bellwether().args(["open", "--print"]).output().expect("it was built");
        assert!(told.status.success(), "{told:?}");
        String::from_utf8(told.stdout).expect("a link is text").trim().to_owned()
    }

    /// Runs a script of `browser/`; it fails as the script does.
    pub(crate) fn play(mut self, script: &str) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let packages = root.join(PACKAGES).join("node_modules");
        let Some(browser) = BROWSERS.iter().find(|browser| Path::new(browser).is_file()) else {
            return cannot_run("there is no chromium; `cargo xtask test` installs it");
        };
        if !packages.join("playwright-core").is_dir() {
            return cannot_run("playwright-core is missing; `cargo xtask test` installs it");
        }
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dashboard/browser");
        let token = std::fs::read_to_string(self.data_dir().join("token")).expect("it has one");
        let pictures = std::env::var_os("BELLWETHER_PICTURES").map(|given| root.join(given));
        let child = Command::new("node")
            .arg(path.join(format!("{script}.mjs")))
            .env("BELLWETHER_PACKAGES", packages)
            .env("BELLWETHER_BROWSER", browser)
            .env("BELLWETHER_LINK", &self.link)
            .env("BELLWETHER_HTTP", format!("http://{}", self.http))
            .env("BELLWETHER_TOKEN", token.trim())
            .env("BELLWETHER_PICTURES", pictures.unwrap_or_else(|| self.folder.path().to_owned()))
            .env("HOME", self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut script = Process(child.expect("node is installed"));
        let mut answers = script.0.stdin.take().expect("it is piped");
        let lines = BufReader::new(script.0.stdout.take().expect("it is piped")).lines();
        for line in lines {
            let line = line.expect("a script prints text");
            let answer = match line.as_str() {
                "> restart" => {
                    self.restart();
                    "done".to_owned()
                }
                "> link" => self.new_link(),
                told => {
                    eprintln!("{told}");
                    continue;
                }
            };
            writeln!(answers, "{answer}").expect("the script waits for it");
        }
        let ended = script.0.wait().expect("it is ours");
        assert!(ended.success(), "the script failed; what it saw is above");
    }

    fn data_dir(&self) -> PathBuf {
        self.folder.path().join("data")
    }
}

/// What comments say of types, as TypeScript reads them.
pub(crate) fn check_types() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let compiler = root.join(PACKAGES).join("node_modules/.bin/tsc");
    if !compiler.is_file() {
        return cannot_run("typescript is missing; `cargo xtask test` installs it");
    }
    let project = root.join("crates/dashboard/web/tsconfig.json");
    let told = Command::new(compiler).arg("-p").arg(project).output().expect("it is there");
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stdout));
}

fn bellwether(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bellwether"));
    command.env("HOME", home).env_remove("XDG_RUNTIME_DIR").env_remove("BELLWETHER_UI_FOLDER");
    command
}

fn serve(folder: &Path, grpc: &str, http: &str) -> (Process, Value) {
    let mut child = bellwether(folder)
        .args(["serve", "--json", "--grpc", grpc, "--http", http, "--data-dir"])
        .arg(folder.join("data"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary was built for this test");
    let stdout = child.stdout.take().expect("it is piped");
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line).expect("the scheduler says where it is");
    (Process(child), serde_json::from_str(&line).expect("the scheduler started"))
}
