//! strace: where the scheduler writes, and killing it there.
//!
//! It counts calls for each thread and each kind of call apart, so a point is named by what is
//! written to, the kind of call, and its number in the thread that gets there first.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use tokio::process::{Child, Command};

use crate::site::{DEADLINE, Site, eventually};

/// Everything by which a process can change a file, a folder or what others hear of it.
const WRITES: &str = "write,writev,pwrite64,pwritev,pwritev2,sendto,sendmsg,sendmmsg,fsync,\
                      fdatasync,sync_file_range,msync,ftruncate,fallocate,copy_file_range,rename,\
                      renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// The journal, its snapshots and whatever else the data directory holds.
    Journal,
    /// The searchable history.
    History,
    /// Sockets, pipes and the wake-ups of other threads.
    Outside,
}

/// A call at which the scheduler is killed, before the call takes effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) place: Place,
    pub(crate) call: String,
    /// From 1.
    pub(crate) number: usize,
    /// Files of the place, as they are called in the data directory; one is the directory itself.
    files: Vec<PathBuf>,
}

impl std::fmt::Display for Point {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {} {}", self.place, self.call, self.number)
    }
}

impl Point {
    pub(crate) fn outside(call: &str, number: usize) -> Point {
        Point { place: Place::Outside, call: call.to_owned(), number, files: Vec::new() }
    }

    fn arguments(&self, data_dir: &Path) -> Vec<String> {
        let Point { call, number, .. } = self;
        let mut words = vec![
            "-e".to_owned(),
            format!("trace={call}"),
            "-e".to_owned(),
            format!("inject={call}:signal=KILL:when={number}"),
        ];
        if self.place != Place::Outside {
            for file in &self.files {
                let path: PathBuf = data_dir.join(file).components().collect();
                words.extend(["-P".to_owned(), path.display().to_string()]);
            }
        }
        words
    }
}

fn base(log: &Path) -> Vec<String> {
    ["-f", "-qq", "-y", "-o"]
        .map(str::to_owned)
        .into_iter()
        .chain([log.display().to_string()])
        .collect()
}

/// Where the trace goes.
pub(crate) fn log(site: &Site) -> PathBuf {
    site.folder().join("trace")
}

/// Words that start a program under a tracer which is no ancestor of it.
pub(crate) fn launching(log: &Path, data_dir: &Path, point: Option<&Point>) -> Vec<String> {
    let mut words = vec!["strace".to_owned(), "-D".to_owned()];
    words.extend(base(log));
    words.extend(match point {
        Some(point) => point.arguments(data_dir),
        None => vec!["-e".to_owned(), format!("trace={WRITES}")],
    });
    words
}

/// Traces a process that runs; ends with it.
#[derive(Debug)]
pub(crate) struct Tracer {
    child: Child,
}

impl Tracer {
    pub(crate) async fn attach(process: u32, site: &Site, point: Option<&Point>) -> Result<Tracer> {
        let mut words = launching(&log(site), &site.data_dir, point);
        words.drain(..2);
        Tracer::attach_with(process, words).await
    }

    /// From now on every write to a file fails as on a disk that can only be read.
    pub(crate) async fn make_read_only(process: u32, site: &Site) -> Result<Tracer> {
        let mut words = base(&log(site));
        words.extend(["-e", "inject=pwrite64:error=EROFS"].map(str::to_owned));
        Tracer::attach_with(process, words).await
    }

    async fn attach_with(process: u32, words: Vec<String>) -> Result<Tracer> {
        let child = Command::new("strace")
            .args(words)
            .args(["-p", &process.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            // It wonders aloud about the kill that it has just dealt.
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .context("failed to start strace; `cargo xtask test` installs it")?;
        let attached = || async { Ok(is_traced(process)?.then_some(())) };
        eventually("strace has attached", attached).await?;
        Ok(Tracer { child })
    }

    /// The process has ended, so this does.
    pub(crate) async fn ended(mut self) -> Result<()> {
        tokio::time::timeout(DEADLINE, self.child.wait()).await??;
        Ok(())
    }
}

/// Whether every thread of the process is.
fn is_traced(process: u32) -> Result<bool> {
    // The process may be killed before anybody has looked.
    let Ok(threads) = std::fs::read_dir(format!("/proc/{process}/task")) else { return Ok(true) };
    for thread in threads {
        // A thread may just have ended.
        let Ok(status) = std::fs::read_to_string(thread?.path().join("status")) else { continue };
        if status.lines().any(|line| line == "TracerPid:\t0") {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Every point that a dry run at the site passed.
pub(crate) fn points(site: &Site) -> Result<Vec<Point>> {
    let text = std::fs::read_to_string(log(site))?;
    let mut calls: BTreeMap<(Place, String), BTreeMap<String, usize>> = BTreeMap::new();
    let mut files: BTreeMap<Place, BTreeSet<PathBuf>> = BTreeMap::new();
    for line in text.lines() {
        let Some((thread, call, target)) = parse(line) else { continue };
        let place = match &target {
            Some(path) => match path.strip_prefix(&site.data_dir) {
                Ok(name) => {
                    let history = name.to_string_lossy().starts_with("registry");
                    let place = if history { Place::History } else { Place::Journal };
                    files.entry(place).or_default().insert(name.to_owned());
                    place
                }
                Err(_) => Place::Outside,
            },
            None => Place::Outside,
        };
        *calls.entry((place, call)).or_default().entry(thread).or_default() += 1;
    }
    ensure!(!calls.is_empty(), "the trace says nothing: {text:?}");
    let mut points = Vec::new();
    for ((place, call), threads) in calls {
        let most = threads.values().copied().max().unwrap_or(0);
        let files: Vec<PathBuf> = files.get(&place).into_iter().flatten().cloned().collect();
        points.extend((1..=most).map(|number| Point {
            place,
            call: call.clone(),
            number,
            files: files.clone(),
        }));
    }
    Ok(points)
}

/// The most calls like this one that a thread made under a tracer that waited for it.
pub(crate) fn calls(log: &Path, point: &Point) -> Result<usize> {
    let text = std::fs::read_to_string(log)?;
    let mut threads: BTreeMap<String, usize> = BTreeMap::new();
    for (thread, _, _) in text.lines().filter_map(parse).filter(|(_, call, _)| *call == point.call)
    {
        *threads.entry(thread).or_default() += 1;
    }
    Ok(threads.into_values().max().unwrap_or(0))
}

/// Thread, name of the call, and the file that it is about: `12 fsync(7</data/journal>) = 0`.
fn parse(line: &str) -> Option<(String, String, Option<PathBuf>)> {
    let (thread, rest) = line.split_once(char::is_whitespace)?;
    let (call, arguments) = rest.trim_start().split_once('(')?;
    if !call.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return None;
    }
    let start = arguments.find(['<', '"'])?;
    let end = arguments[start + 1..].find(['>', '"'])?;
    let target = &arguments[start + 1..start + 1 + end];
    let path = target.starts_with('/').then(|| PathBuf::from(target));
    Some((thread.to_owned(), call.to_owned(), path))
}
