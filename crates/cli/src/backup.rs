//! `bellwether backup`: everything that a scheduler keeps, in a file.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use bellwether_sdk::v1;
use bellwether_server::backup::{
    PackError, Parts, Restored, Source, Unpacker, Until, pack, write_part,
};
use bellwether_server::config::JournalKind;
use clap::Args;
use serde_json::json;

use crate::archive::Backend;
use crate::client::{Connect, block_on};
use crate::exit::Verdict;
use crate::output;
use crate::restore::moment;
use crate::serve::keep_to_ourselves;

/// Save everything that a scheduler keeps to a file that `restore` takes, while it works.
///
/// The journal with all decisions, results and attempts, output, keys and tokens, as of one moment. It
/// comes from the scheduler, so a token with the role operator is enough. The file is verified: it is
/// unpacked beside itself once, every hash is checked and the journal is replayed. It holds secrets, and
/// has mode 0600.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connect: Connect,
    /// The file to write, or to verify
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Take it from a data directory that no scheduler works on
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Only verify a file that is there
    #[arg(long, conflicts_with = "data_dir")]
    check: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    keep_to_ourselves();
    let file = &arguments.file;
    let restored = if arguments.check {
        verify(file)?
    } else {
        anyhow::ensure!(!file.is_dir(), "{} is a folder; name a file", file.display());
        let unfinished = file.with_extension("unfinished");
        match &arguments.data_dir {
            Some(dir) => of_directory(dir, &unfinished)?,
            None => of_scheduler(&arguments.connect, &unfinished)?,
        }
        let restored = verify(&unfinished)?;
        std::fs::rename(&unfinished, file)
            .with_context(|| format!("failed to write {}", file.display()))?;
        restored
    };
    let bytes = std::fs::metadata(file)?.len();
    let (position, from) = (restored.head.seq.0, restored.first.0);
    if arguments.json {
        let (chain, at) = (restored.head.chain.to_string(), moment(restored.at));
        output::print_json(&json!({
            "position": position, "from": from, "at": at, "chain": chain, "bytes": bytes,
        }))?;
    } else {
        let shown = file.display();
        output::print(&format!(
            "{shown} has everything up to position {position}, verified ({bytes} bytes)\n"
        ))?;
    }
    Ok(Verdict::Fine)
}

fn of_scheduler(connect: &Connect, path: &Path) -> anyhow::Result<()> {
    let mut to = Unfinished::create(path)?;
    block_on(async {
        let client = connect.client().await?;
        client.backup(|part| to.write(&part)).await
    })?;
    to.finish()
}

fn of_directory(dir: &Path, path: &Path) -> anyhow::Result<()> {
    let mut to = Unfinished::create(path)?;
    from_directory(dir, &path.with_extension("copies"), |part| to.write(&part))?;
    to.finish()
}

/// Gives all parts of a backup of the directory; `scratch` can be made and is removed again.
pub(crate) fn from_directory(
    dir: &Path,
    scratch: &Path,
    mut take: impl FnMut(v1::BackupPart) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let backend = Backend::of(dir)?;
    let reader = backend.inspect(dir)?;
    let journal = match backend {
        Backend::File => JournalKind::File,
        Backend::Sqlite => JournalKind::Sqlite,
    };
    let taken_at = u64::try_from(jiff::Timestamp::now().as_microsecond()).unwrap_or_default();
    let scratch = scratch.to_owned();
    let source = Source { dir, journal, reader: reader.as_ref(), scratch, taken_at };
    // Why it was not taken says more than that it was not.
    let mut failed = None;
    let packed = pack(&source, &mut |part| {
        take(part).map_err(|error| {
            failed = Some(error);
            PackError::NotTaken
        })
    });
    match (packed, failed) {
        (_, Some(error)) => Err(error),
        (packed, None) => Ok(packed.map(drop)?),
    }
}

/// Makes a data directory of it beside the file, and removes it again.
fn verify(file: &Path) -> anyhow::Result<Restored> {
    let beside = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = tempfile::Builder::new()
        .prefix(".backup-check-")
        .tempdir_in(beside.unwrap_or(Path::new(".")))
        .context("failed to make a folder to verify the backup in")?;
    unpack(file, &folder.path().join("data"), Until::End)
        .with_context(|| format!("{} is of no use", file.display()))
}

pub(crate) fn unpack(file: &Path, into: &Path, until: Until) -> anyhow::Result<Restored> {
    let from = File::open(file).with_context(|| format!("failed to open {}", file.display()))?;
    let mut unpacker = Unpacker::new(into, until);
    for part in Parts::new(BufReader::new(from)) {
        let part = part.with_context(|| format!("{} can't be read", file.display()))?;
        unpacker.take(part)?;
    }
    Ok(unpacker.finish()?)
}

/// A file that gets its name when it is whole and on the disk.
struct Unfinished {
    file: BufWriter<File>,
    path: PathBuf,
}

impl Unfinished {
    fn create(path: &Path) -> anyhow::Result<Unfinished> {
        let file =
            File::create(path).with_context(|| format!("failed to make {}", path.display()))?;
        Ok(Unfinished { file: BufWriter::new(file), path: path.to_owned() })
    }

    fn write(&mut self, part: &v1::BackupPart) -> anyhow::Result<()> {
        write_part(&mut self.file, part)
            .with_context(|| format!("failed to write {}", self.path.display()))
    }

    fn finish(mut self) -> anyhow::Result<()> {
        let synced = self.file.flush().and_then(|()| self.file.get_ref().sync_all());
        synced.with_context(|| format!("failed to write {}", self.path.display()))
    }
}
