//! Reads a trace: JSON lines, one job a line, gzipped or not.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use bellwether_core::model::ids::NameError;
use bellwether_core::model::{JobId, Name, RunId};
use flate2::read::MultiGzDecoder;
use serde::Deserialize;

/// What a gzip file starts with.
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Longest line, so that a file that is no trace can't fill the memory.
const LINE_BYTES_MAX: usize = 16 << 20;
/// Some thirty years: sums of times stay far from overflow.
const TIME_MS_MAX: u64 = 1_000_000_000_000;

/// A job of a trace, with what it really took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceJob {
    pub id: JobId,
    /// The job's type.
    pub kind: Name,
    pub submit_ms: u64,
    /// At speed 1.
    pub duration_ms: u64,
    /// Jobs that share it are one DAG.
    pub run: Option<RunId>,
    pub dependencies: Vec<JobId>,
    /// Millicores.
    pub cpu: u32,
    pub payload_bytes: u64,
    pub sender: Option<Name>,
    /// The kind of machine that it was measured on.
    pub worker_class: Option<Name>,
}

#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("failed to read the trace {}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{}:{line}: not a job", path.display())]
    Malformed { path: PathBuf, line: usize, source: serde_json::Error },
    #[error("{}:{line}: bad `{field}`", path.display())]
    BadName { path: PathBuf, line: usize, field: &'static str, source: NameError },
    #[error("{}:{line}: `{field}` is {given}; it must be at most {TIME_MS_MAX}", path.display())]
    TimeTooLarge { path: PathBuf, line: usize, field: &'static str, given: u64 },
    #[error("{}:{line}: the line is longer than {LINE_BYTES_MAX} bytes; is this a trace?", path.display())]
    LongLine { path: PathBuf, line: usize },
    #[error("{}:{line}: job id {id} was used on line {first} already", path.display())]
    DuplicateJob { path: PathBuf, line: usize, id: JobId, first: usize },
    #[error(
        "{}:{line}: job {job} has dependencies but no `run`; jobs of one DAG share a run",
        path.display()
    )]
    DependencyWithoutRun { path: PathBuf, line: usize, job: JobId },
    #[error("the trace {} has no jobs", path.display())]
    Empty { path: PathBuf },
}

/// Every job of the file, in its order.
pub fn read(path: &Path) -> Result<Vec<TraceJob>, TraceError> {
    let fail = |source| TraceError::Read { path: path.to_owned(), source };
    let mut file = BufReader::new(File::open(path).map_err(fail)?);
    let gzipped = file.fill_buf().map_err(fail)?.starts_with(&GZIP_MAGIC);
    if gzipped {
        read_from(path, BufReader::new(MultiGzDecoder::new(file)))
    } else {
        read_from(path, file)
    }
}

/// As [`read`], from an open source; `path` is for messages.
pub fn read_from(path: &Path, mut source: impl BufRead) -> Result<Vec<TraceJob>, TraceError> {
    let mut jobs = Vec::new();
    let mut seen = BTreeMap::new();
    let mut text = Vec::new();
    for line in 1.. {
        text.clear();
        let bytes = source
            .by_ref()
            .take(LINE_BYTES_MAX as u64 + 1)
            .read_until(b'\n', &mut text)
            .map_err(|source| TraceError::Read { path: path.to_owned(), source })?;
        if bytes == 0 {
            break;
        }
        if bytes > LINE_BYTES_MAX {
            return Err(TraceError::LongLine { path: path.to_owned(), line });
        }
        if text.trim_ascii().is_empty() {
            continue;
        }
        let job = parse(path, line, &text)?;
        if let Some(first) = seen.insert(job.id.clone(), line) {
            return Err(TraceError::DuplicateJob {
                path: path.to_owned(),
                line,
                id: job.id,
                first,
            });
        }
        jobs.push(job);
    }
    if jobs.is_empty() {
        return Err(TraceError::Empty { path: path.to_owned() });
    }
    Ok(jobs)
}

/// A line as it is written.
#[derive(Deserialize)]
struct Line {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    submit_ms: u64,
    duration_ms: u64,
    run: Option<String>,
    #[serde(default)]
    dependencies: Vec<String>,
    #[serde(default)]
    cpu: u32,
    #[serde(default)]
    payload_bytes: u64,
    sender: Option<String>,
    worker_class: Option<String>,
}

fn parse(path: &Path, line: usize, text: &[u8]) -> Result<TraceJob, TraceError> {
    let raw: Line = serde_json::from_slice(text.trim_ascii())
        .map_err(|source| TraceError::Malformed { path: path.to_owned(), line, source })?;
    for (field, given) in [("submit_ms", raw.submit_ms), ("duration_ms", raw.duration_ms)] {
        if given > TIME_MS_MAX {
            return Err(TraceError::TimeTooLarge { path: path.to_owned(), line, field, given });
        }
    }
    let name = |field, text: &str| {
        Name::new(text).map_err(|source| TraceError::BadName {
            path: path.to_owned(),
            line,
            field,
            source,
        })
    };
    let optional = |field, text: Option<&str>| text.map(|text| name(field, text)).transpose();
    let job = TraceJob {
        id: name("id", &raw.id)?.into(),
        kind: name("type", &raw.kind)?,
        submit_ms: raw.submit_ms,
        duration_ms: raw.duration_ms,
        run: optional("run", raw.run.as_deref())?.map(RunId::from),
        dependencies: raw
            .dependencies
            .iter()
            .map(|text| name("dependencies", text).map(JobId::from))
            .collect::<Result<_, _>>()?,
        cpu: raw.cpu,
        payload_bytes: raw.payload_bytes,
        sender: optional("sender", raw.sender.as_deref())?,
        worker_class: optional("worker_class", raw.worker_class.as_deref())?,
    };
    if job.run.is_none() && !job.dependencies.is_empty() {
        return Err(TraceError::DependencyWithoutRun { path: path.to_owned(), line, job: job.id });
    }
    Ok(job)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const GOOD: &str = r#"{"id":"a","type":"t","submit_ms":5,"duration_ms":7}"#;

    fn read_text(text: &str) -> Result<Vec<TraceJob>, String> {
        read_from(Path::new("t.jsonl"), text.as_bytes())
            .map_err(|error| format!("{:#}", anyhow::Error::from(error)))
    }

    #[test]
    fn fields_that_are_not_known_have_defaults() {
        let jobs = read_text(&format!("{GOOD}\n\n")).expect("a good trace");
        assert_eq!(jobs.len(), 1);
        assert_eq!((jobs[0].submit_ms, jobs[0].duration_ms, jobs[0].cpu), (5, 7, 0));
        assert_eq!(jobs[0].run, None);
    }

    #[test]
    fn gzip_is_told_by_its_content_not_its_name() {
        let path = std::env::temp_dir().join(format!("bellwether-trace-{}", std::process::id()));
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(GOOD.as_bytes()).unwrap();
        std::fs::write(&path, packed.finish().unwrap()).unwrap();
        let jobs = read(&path);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(jobs.unwrap()[0].id.as_str(), "a");
    }

    #[test]
    fn errors_name_file_and_line() {
        let check = |text: &str, wanted: &str| {
            let error = read_text(text).expect_err(text);
            assert!(error.contains(wanted), "{error}");
        };
        check(&format!("{GOOD}\n{{\"id\":3}}"), "t.jsonl:2: not a job: ");
        check(&GOOD.replace("\"t\"", "\"\""), "t.jsonl:1: bad `type`: a name is empty");
        check(&format!("{GOOD}\n{GOOD}"), "t.jsonl:2: job id a was used on line 1 already");
        check(
            &GOOD.replace("\"submit_ms\"", "\"dependencies\":[\"b\"],\"submit_ms\""),
            "t.jsonl:1: job a has dependencies but no `run`",
        );
        check(
            &GOOD.replace(":7", ":1000000000001"),
            "t.jsonl:1: `duration_ms` is 1000000000001; it must be at most 1000000000000",
        );
        check("\n", "the trace t.jsonl has no jobs");
        let error = read(Path::new("/no/such/trace")).unwrap_err().to_string();
        assert_eq!(error, "failed to read the trace /no/such/trace");
    }
}
