//! What a release build of a revision costs from nothing: time, processor time and size.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::console;
use crate::invocation::Invocation;

/// Linux tells processor time to programs in hundredths of a second.
const TICKS_PER_S: f64 = 100.0;
const BYTES_PER_MB: f64 = 1e6;

#[derive(Debug, Clone, Copy)]
struct Cost {
    took_s: f64,
    processor_s: f64,
    megabytes: f64,
}

/// One after another, each in a checkout and a target folder of its own. Compare processor time where
/// others use the machine.
pub(crate) fn run(root: &Path, revisions: &[String]) -> Result<()> {
    ensure!(!revisions.is_empty(), "name the revisions to build, that of before first");
    let headings = ["revision", "s", "processor s", "MB", "ratio", "of processor time"];
    let mut rows = vec![headings.map(str::to_owned).to_vec()];
    let mut first = None;
    for revision in revisions {
        let checkout = Checkout::add(root, revision)?;
        let cost = checkout.build()?;
        let before: Cost = *first.get_or_insert(cost);
        rows.push(vec![
            revision.clone(),
            format!("{:.0}", cost.took_s),
            format!("{:.0}", cost.processor_s),
            format!("{:.1}", cost.megabytes),
            format!("{:.2}", cost.took_s / before.took_s),
            format!("{:.2}", cost.processor_s / before.processor_s),
        ]);
    }
    console::table(&rows);
    Ok(())
}

/// A worktree beside the temporary files, removed when dropped.
struct Checkout<'a> {
    root: &'a Path,
    folder: PathBuf,
}

impl<'a> Checkout<'a> {
    fn add(root: &'a Path, revision: &str) -> Result<Checkout<'a>> {
        let folder = std::env::temp_dir().join(format!("bellwether-build-{}", std::process::id()));
        let path = folder.to_string_lossy().into_owned();
        Invocation::new("git", &["worktree", "add", "--detach", &path, revision]).run(root)?;
        Ok(Checkout { root, folder })
    }

    fn build(&self) -> Result<Cost> {
        let target = self.folder.join("target");
        let cargo = |arguments: &[&str]| {
            Invocation::cargo(arguments).environment("CARGO_TARGET_DIR", &target.to_string_lossy())
        };
        // Not the speed of the network.
        cargo(&["fetch", "--locked"]).run(&self.folder)?;
        let (begun, spent) = (Instant::now(), processor_seconds()?);
        cargo(&["build", "--release", "--locked"]).run(&self.folder)?;
        let binary = std::fs::metadata(target.join("release/bellwether"))?;
        Ok(Cost {
            took_s: begun.elapsed().as_secs_f64(),
            processor_s: processor_seconds()? - spent,
            megabytes: binary.len() as f64 / BYTES_PER_MB,
        })
    }
}

impl Drop for Checkout<'_> {
    fn drop(&mut self) {
        let path = self.folder.to_string_lossy().into_owned();
        let removed = Invocation::new("git", &["worktree", "remove", "--force", &path]);
        if let Err(error) = removed.run(self.root) {
            console::complain(&format!("{path} stays behind: {error:#}"));
        }
    }
}

/// Of all children that have ended, with theirs.
fn processor_seconds() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, fields) = stat.rsplit_once(") ").context("/proc/self/stat has no name")?;
    // cutime and cstime are the 16th and 17th fields, and the state is the third.
    let ticks = fields.split(' ').skip(13).take(2).map(str::parse::<f64>);
    Ok(ticks.sum::<Result<f64, _>>()? / TICKS_PER_S)
}
