//! Installs what the tests need on a fresh Debian machine, and only what is missing.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::console;
use crate::invocation::Invocation;

/// A Debian package, and the program that shows it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DebianPackage {
    package: &'static str,
    program: &'static str,
}

const DEBIAN_PACKAGES: [DebianPackage; 13] = [
    // Runs the commands of the documentation.
    DebianPackage { package: "curl", program: "curl" },
    // Mounts the small disks that fill up.
    DebianPackage { package: "mount", program: "mount" },
    // Kills the server at a chosen system call.
    DebianPackage { package: "strace", program: "strace" },
    // The queues that jobs are read from.
    DebianPackage { package: "redis-server", program: "redis-server" },
    DebianPackage { package: "nats-server", program: "nats-server" },
    DebianPackage { package: "rabbitmq-server", program: "rabbitmqctl" },
    // Holds a log that several schedulers share.
    DebianPackage { package: "postgresql-15", program: "postgres" },
    // Elects one of them.
    DebianPackage { package: "zookeeper", program: "zookeeper.jar" },
    // Scrapes the metrics, and checks them and the alert rules.
    DebianPackage { package: "prometheus", program: "promtool" },
    // Shows the dashboard, led by scripts.
    DebianPackage { package: "chromium", program: "chromium" },
    DebianPackage { package: "nodejs", program: "node" },
    DebianPackage { package: "npm", program: "npm" },
    // Keeps decisions and executions.
    DebianPackage { package: "clickhouse-server", program: "clickhouse-server" },
];

/// Where Debian keeps servers, which is not on everybody's search path.
const SERVER_FOLDERS: [&str; 3] = ["/usr/sbin", "/usr/lib/postgresql/15/bin", "/usr/share/java"];

/// Beside the build, where the tests look for it.
const PYTHON: &str = "target/python";
const PYTHON_PACKAGES: [&str; 4] =
    ["cryptography==50.0.2", "nats-py==2.16.0", "redis==8.1.0", "schemathesis==4.32.5"];

/// The same for the browser's.
const NODE: &str = "target/node";
const NODE_PACKAGES: [&str; 6] = [
    "@preact/signals@2.11.4",
    "axe-core@4.14.0",
    "htm@3.1.1",
    "playwright-core@1.65.1",
    "preact@11.2.0",
    "typescript@7.0.2",
];

pub(crate) fn install_missing(root: &Path) -> Result<()> {
    let search_path = std::env::var_os("PATH").unwrap_or_default();
    let missing = missing(&DEBIAN_PACKAGES, &search_path);
    if !missing.is_empty() {
        install_packages(root, &missing, &search_path)?;
    }
    if !Invocation::cargo(&["nextest", "--version"]).succeeds(root) {
        console::say("==> installing cargo-nextest, which runs the tests");
        Invocation::cargo(&["install", "cargo-nextest", "--locked"])
            .run(root)
            .context("failed to install cargo-nextest; see https://nexte.st for other ways")?;
    }
    install_python(root, &search_path)?;
    install_node(root)
}

/// What leads the browser, and what judges whether everybody can use a page.
fn install_node(root: &Path) -> Result<()> {
    let wanted = NODE_PACKAGES.join("\n");
    let folder = root.join(NODE);
    let installed = folder.join("installed");
    if std::fs::read_to_string(&installed).is_ok_and(|there| there == wanted) {
        return Ok(());
    }
    console::say("==> installing packages for the browser, which the tests need");
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("failed to make {}", folder.display()))?;
    Invocation::new("npm", &["install", "--silent", "--no-save", "--no-audit", "--no-fund"])
        .arguments(&["--prefix", NODE])
        .arguments(&NODE_PACKAGES)
        .run(root)
        .with_context(|| format!("failed to install {} from npm", NODE_PACKAGES.join(", ")))?;
    std::fs::write(&installed, wanted)
        .with_context(|| format!("failed to write {}", installed.display()))
}

/// The example workers in Python and the attack on the REST interface run in a virtual
/// environment of their own.
fn install_python(root: &Path, search_path: &OsStr) -> Result<()> {
    let python = format!("{PYTHON}/bin/python3");
    let wanted = PYTHON_PACKAGES.join("\n");
    let installed = root.join(PYTHON).join("installed");
    if std::fs::read_to_string(&installed).is_ok_and(|there| there == wanted) {
        return Ok(());
    }
    let probe = Invocation::new("python3", &["-c", "import ensurepip, venv"]);
    if !is_installed("python3", search_path) || !probe.succeeds(root) {
        install_packages(root, &["python3", "python3-venv"], search_path)?;
    }
    console::say("==> installing Python packages, which the tests need");
    Invocation::new("python3", &["-m", "venv", "--clear", PYTHON]).run(root)?;
    Invocation::new(&python, &["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        .arguments(&PYTHON_PACKAGES)
        .run(root)
        .with_context(|| format!("failed to install {} from PyPI", PYTHON_PACKAGES.join(", ")))?;
    std::fs::write(&installed, wanted)
        .with_context(|| format!("failed to write {}", installed.display()))
}

fn missing(packages: &[DebianPackage], search_path: &OsStr) -> Vec<&'static str> {
    packages
        .iter()
        .filter(|package| !is_installed(package.program, search_path))
        .map(|package| package.package)
        .collect()
}

fn is_installed(program: &str, search_path: &OsStr) -> bool {
    let mut folders = std::env::split_paths(search_path).chain(SERVER_FOLDERS.map(PathBuf::from));
    folders.any(|folder| folder.join(program).is_file())
}

fn install_packages(root: &Path, packages: &[&str], search_path: &OsStr) -> Result<()> {
    let list = packages.join(" ");
    if !is_installed("apt-get", search_path) {
        bail!("the tests need {list}, and there is no apt-get here; install it by hand");
    }
    let prefix: &[&str] = if is_root(root)? {
        &[]
    } else if is_installed("sudo", search_path) {
        &["sudo"]
    } else {
        bail!("the tests need {list}; as root, run: apt-get install {list}");
    };
    console::say(&format!("==> installing {list}, which the tests need"));
    let install = ["apt-get", "install", "-y", "--no-install-recommends"];
    with_prefix(prefix, &["apt-get", "update"]).run(root)?;
    with_prefix(prefix, &install)
        .arguments(packages)
        .run(root)
        .with_context(|| format!("failed to install {list}; install it by hand and try again"))
}

fn with_prefix(prefix: &[&str], command: &[&str]) -> Invocation {
    let words: Vec<&str> = prefix.iter().chain(command).copied().collect();
    let (program, arguments) = words.split_first().expect("a command has a program");
    Invocation::new(program, arguments)
}

fn is_root(root: &Path) -> Result<bool> {
    Ok(Invocation::new("id", &["-u"]).output(root)?.trim() == "0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary_tree::TemporaryTree;

    #[test]
    fn only_packages_whose_program_is_nowhere_on_the_path_are_missing() {
        let tree = TemporaryTree::new(&[("bin/strace", "")]);
        let path = tree.root().join("bin");
        let packages = [
            DebianPackage { package: "strace", program: "strace" },
            DebianPackage { package: "absent-server", program: "no-such-program" },
        ];
        assert_eq!(missing(&packages, path.as_os_str()), ["absent-server"]);
    }

    #[test]
    fn sudo_goes_before_the_command() {
        let update = with_prefix(&["sudo"], &["apt-get", "update"]);
        assert_eq!(update.to_string(), "sudo apt-get update");
    }
}
