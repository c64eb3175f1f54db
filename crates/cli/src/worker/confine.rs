//! What commands may do: as whom they run, which of them, within which limits and on which files.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use bellwether_server::config::parse_bytes;
use clap::Args;
use landlock::{
    ABI, Access as _, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetStatus, path_beneath_rules,
};
use rustix::process::{Resource, Rlimit, setrlimit};

use super::cgroup::{self, TreeLimit};
use crate::exit::Verdict;

/// What the rules for files are written for; an older kernel keeps to fewer of them.
const RULES: ABI = ABI::V3;
/// As shells say it.
const NOT_FOUND: u8 = 127;
const NOT_RUN: u8 = 126;

/// A limit of what a process may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Limit {
    name: &'static str,
    value: u64,
}

const LIMITS: [(&str, Resource); 5] = [
    ("memory", Resource::As),
    ("files", Resource::Nofile),
    ("cpu", Resource::Cpu),
    ("processes", Resource::Nproc),
    ("file_size", Resource::Fsize),
];

pub(super) fn limit(text: &str) -> Result<Limit, String> {
    let wanted = "write it as memory=512MiB, files=1024, cpu=60 (seconds), processes=64 or \
                  file_size=1GiB";
    let read = text.split_once('=').and_then(|(name, value)| {
        let (name, _) = LIMITS.into_iter().find(|(known, _)| *known == name)?;
        Some(Limit { name, value: parse_bytes(value).ok()? })
    });
    read.ok_or_else(|| wanted.to_owned())
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

impl Limit {
    /// If a group can hold a command to it with all that it starts.
    fn of_tree(&self) -> Option<TreeLimit> {
        let (controller, file) = match self.name {
            "memory" => ("memory", "memory.max"),
            "processes" => ("pids", "pids.max"),
            _ => return None,
        };
        Some(TreeLimit { controller, file, value: self.value })
    }

    fn set(&self) -> anyhow::Result<()> {
        let known = LIMITS.into_iter().find(|(name, _)| *name == self.name);
        let (name, resource) = known.expect("only known ones are read");
        let value = Some(self.value);
        setrlimit(resource, Rlimit { current: value, maximum: value })
            .with_context(|| format!("failed to limit {name} to {}", self.value))
    }
}

/// Another user, as the system knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct User {
    pub(super) name: String,
    pub(super) home: String,
    pub(super) uid: u32,
    pub(super) gid: u32,
}

/// A name, or a number.
pub(super) fn user(text: &str) -> Result<User, String> {
    let known = std::fs::read_to_string("/etc/passwd")
        .map_err(|error| format!("failed to read /etc/passwd: {error}"))?;
    let users = known.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, uid, gid, _, home, ..] = fields[..] else { return None };
        let (uid, gid) = (uid.parse().ok()?, gid.parse().ok()?);
        Some(User { name: name.to_owned(), home: home.to_owned(), uid, gid })
    });
    let mut users = users.filter(|user| user.name == text || user.uid.to_string() == text);
    users.next().ok_or_else(|| format!("there is no user {text} on this machine"))
}

/// What holds for all commands of a worker.
#[derive(Debug, Default)]
pub(super) struct Confinement {
    pub(super) user: Option<User>,
    pub(super) limits: Vec<Limit>,
    pub(super) read: Vec<PathBuf>,
    pub(super) write: Vec<PathBuf>,
    /// None: any.
    pub(super) allowed: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum NotAllowed {
    #[error("this worker does not run {program}; it runs {}", allowed.join(", "))]
    Command { program: String, allowed: Vec<String> },
    #[error("this worker runs only some commands, and {0} could make another of them")]
    Variable(String),
    #[error("{0} is not found on this worker")]
    NotFound(String),
}

impl Confinement {
    /// Takes out the limits that a group holds a command to with all that it starts.
    pub(super) fn take_tree_limits(&mut self) -> Vec<TreeLimit> {
        let of_trees = self.limits.iter().filter_map(Limit::of_tree).collect();
        self.limits.retain(|limit| limit.of_tree().is_none());
        of_trees
    }

    /// The command that runs the program within all limits, and in this group.
    pub(super) fn command(
        &self,
        program: &Path,
        cell: Option<&Path>,
    ) -> std::io::Result<tokio::process::Command> {
        let mut command = tokio::process::Command::new(program);
        let is_free = self.limits.is_empty() && self.read.is_empty() && self.write.is_empty();
        if !is_free || cell.is_some() {
            command = tokio::process::Command::new(std::env::current_exe()?);
            command.arg("confine");
            if let Some(cell) = cell {
                command.arg("--cgroup").arg(cell);
            }
            for limit in &self.limits {
                command.arg("--limit").arg(limit.to_string());
            }
            for path in &self.read {
                command.arg("--read").arg(path);
            }
            for path in &self.write {
                command.arg("--write").arg(path);
            }
            if let Some(user) = &self.user {
                command.args(["--uid", &user.uid.to_string(), "--gid", &user.gid.to_string()]);
            }
            command.arg("--").arg(program);
        } else if let Some(user) = &self.user {
            command.uid(user.uid).gid(user.gid);
        }
        Ok(command)
    }

    /// Where the program is that the job names. A worker that runs only some looks for it by its own
    /// PATH: that of the job could lead elsewhere.
    pub(super) fn program<'a>(
        &self,
        program: &str,
        mut variables: impl Iterator<Item = &'a String>,
    ) -> Result<PathBuf, NotAllowed> {
        if self.allowed.is_empty() {
            return Ok(PathBuf::from(program));
        }
        if !self.allowed.iter().any(|allowed| allowed == program) {
            let (program, allowed) = (program.to_owned(), self.allowed.clone());
            return Err(NotAllowed::Command { program, allowed });
        }
        if let Some(name) = variables.find(|name| *name == "PATH" || name.starts_with("LD_")) {
            return Err(NotAllowed::Variable(name.clone()));
        }
        if program.contains('/') {
            return Ok(PathBuf::from(program));
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&path).map(|folder| folder.join(program));
        let mut found = found.filter(|file| file.is_file());
        found.next().ok_or_else(|| NotAllowed::NotFound(program.to_owned()))
    }
}

/// Take on limits, then become the command.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[arg(long)]
    cgroup: Option<PathBuf>,
    #[arg(long, value_parser = limit)]
    limit: Vec<Limit>,
    #[arg(long)]
    read: Vec<PathBuf>,
    #[arg(long)]
    write: Vec<PathBuf>,
    #[arg(long)]
    uid: Option<u32>,
    #[arg(long)]
    gid: Option<u32>,
    #[arg(last = true, required = true)]
    argv: Vec<OsString>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    // First: later neither the files nor the rights for it may be there.
    if let Some(cell) = &arguments.cgroup {
        cgroup::join(cell)?;
    }
    if !arguments.read.is_empty() || !arguments.write.is_empty() {
        keep_to(&arguments.read, &arguments.write)?;
    }
    for limit in &arguments.limit {
        limit.set()?;
    }
    let [program, rest @ ..] = &arguments.argv[..] else { anyhow::bail!("name a command") };
    let mut command = std::process::Command::new(program);
    command.args(rest);
    if let Some(gid) = arguments.gid {
        command.gid(gid);
    }
    if let Some(uid) = arguments.uid {
        command.uid(uid);
    }
    // It returns only if it fails.
    let error = command.exec();
    eprintln!("failed to start {}: {error}", program.display());
    let missing = error.kind() == std::io::ErrorKind::NotFound;
    Ok(Verdict::CommandFailed(if missing { NOT_FOUND } else { NOT_RUN }))
}

/// From here on these files can be read and executed, those written, and no others.
fn keep_to(read: &[PathBuf], write: &[PathBuf]) -> anyhow::Result<()> {
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(RULES))?
        .create()?
        .add_rules(path_beneath_rules(read, AccessFs::from_read(RULES)))?
        .add_rules(path_beneath_rules(write, AccessFs::from_all(RULES)))?
        .restrict_self()
        .context("failed to keep it to its files")?;
    anyhow::ensure!(
        status.ruleset != RulesetStatus::NotEnforced,
        "this kernel can't keep commands to some files (it has no Landlock); leave out --read and --write"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_have_a_name_and_a_size() {
        assert_eq!(limit("memory=1MiB").unwrap(), Limit { name: "memory", value: 1 << 20 });
        assert_eq!(limit("files=100").unwrap().to_string(), "files=100");
        for wrong in ["memory", "memory=x", "colour=1"] {
            assert!(limit(wrong).unwrap_err().contains("memory=512MiB"), "{wrong}");
        }
    }

    #[test]
    fn a_group_takes_the_limits_that_it_can_hold_a_tree_to() {
        let limits = ["memory=1MiB", "files=9", "processes=4"].map(|text| limit(text).unwrap());
        let mut confinement = Confinement { limits: limits.into(), ..Confinement::default() };
        let of_trees = confinement.take_tree_limits();
        assert_eq!(
            of_trees.iter().map(|limit| limit.file).collect::<Vec<_>>(),
            ["memory.max", "pids.max"]
        );
        assert_eq!(confinement.limits, [limit("files=9").unwrap()]);
    }

    #[test]
    fn users_are_known_by_name_and_number() {
        let root = user("root").unwrap();
        assert_eq!((root.uid, user("0").unwrap()), (0, root.clone()));
        assert!(user("nobody-of-this-name").is_err());
    }

    #[test]
    fn only_what_is_allowed_is_run_and_from_where_the_worker_says() {
        let allowed = vec!["ls".to_owned()];
        let confinement = Confinement { allowed, ..Confinement::default() };
        let none: [String; 0] = [];
        assert!(confinement.program("ls", none.iter()).unwrap().is_absolute());
        let told = confinement.program("rm", none.iter()).unwrap_err().to_string();
        assert_eq!(told, "this worker does not run rm; it runs ls");
        let path = ["PATH".to_owned()];
        assert!(confinement.program("ls", path.iter()).is_err());
    }
}
