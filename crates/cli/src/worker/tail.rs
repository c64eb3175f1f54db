//! What a command prints: all of it goes to the job's log as it comes, and its end to the result.

use std::collections::VecDeque;
use std::time::Duration;

use bellwether_sdk::Context;
use bellwether_sdk::v1::LogStream;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::task::JoinHandle;

use super::secrets::Mask;

/// Bytes that are kept of each of the two outputs for the result: the last ones.
const OUTPUT_BYTES_MAX: usize = 64 << 10;
const READ_BYTES: usize = 16 << 10;
/// How long output may still come once the command has ended and its group was killed.
const OUTPUT_GRACE: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(super) struct Tail {
    pub(super) text: String,
    pub(super) truncated: bool,
    /// Bytes that were cut off in front.
    pub(super) cut: u64,
}

/// Reads to the end on a task of its own, so that the command never blocks on a full pipe.
pub(super) fn follow(
    pipe: Option<impl AsyncRead + Unpin + Send + 'static>,
    stream: LogStream,
    context: &Context,
    mask: Mask,
) -> JoinHandle<std::io::Result<Tail>> {
    let context = context.clone();
    tokio::spawn(read(pipe, mask, move |data| context.print(stream, data)))
}

pub(super) async fn collected(reading: JoinHandle<std::io::Result<Tail>>) -> Tail {
    let abort = reading.abort_handle();
    let lost =
        |why: String| Tail { text: format!("(output lost: {why})"), truncated: true, cut: 0 };
    match tokio::time::timeout(OUTPUT_GRACE, reading).await {
        Ok(Ok(Ok(tail))) => tail,
        Ok(Ok(Err(error))) => lost(error.to_string()),
        Ok(Err(_)) | Err(_) => {
            abort.abort();
            lost("another process holds it open".to_owned())
        }
    }
}

async fn read(
    pipe: Option<impl AsyncRead + Unpin>,
    mut mask: Mask,
    print: impl Fn(&[u8]),
) -> std::io::Result<Tail> {
    let Some(mut pipe) = pipe else { return Ok(Tail::default()) };
    let mut kept = VecDeque::new();
    let mut cut = 0;
    let mut keep = |shown: &[u8]| {
        print(shown);
        kept.extend(shown);
        let excess = kept.len().saturating_sub(OUTPUT_BYTES_MAX);
        cut += excess as u64;
        kept.drain(..excess);
    };
    let mut buffer = vec![0; READ_BYTES];
    loop {
        let read = pipe.read(&mut buffer).await?;
        if read == 0 {
            break;
        }
        keep(&mask.cover(&buffer[..read]));
    }
    keep(&mask.finish());
    let text = String::from_utf8_lossy(kept.make_contiguous()).into_owned();
    Ok(Tail { text, truncated: cut > 0, cut })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn of_long_output_the_end_is_kept_and_all_of_it_printed() {
        let mut long = vec![b'x'; 100_000];
        long.extend(b"end\n");
        let printed = std::cell::Cell::new(0);
        let print = |data: &[u8]| printed.set(printed.get() + data.len());
        let tail = read(Some(&long[..]), Mask::default(), print).await.unwrap();
        assert!(tail.truncated);
        assert_eq!(tail.cut, 100_004 - OUTPUT_BYTES_MAX as u64);
        assert_eq!(tail.text.len(), OUTPUT_BYTES_MAX);
        assert!(tail.text.ends_with("xend\n"));
        assert_eq!(printed.get(), long.len());
    }
}
