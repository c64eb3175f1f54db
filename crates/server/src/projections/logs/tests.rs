use bellwether_core::model::Seq;
use bellwether_wire::v1;
use rusqlite::Connection;

use super::store::{self, Store};
use crate::config::LogLimits;

const LIMITS: LogLimits = LogLimits { attempt_bytes_max: 64 << 10, total_bytes_max: 1 << 20 };

struct Site {
    folder: tempfile::TempDir,
    store: Store,
}

impl Site {
    fn new() -> Site {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("output"), LIMITS, Seq(u64::MAX)).unwrap();
        Site { folder, store }
    }

    fn print(&mut self, job: u64, position: u64, data: &[u8]) {
        let data = bytes::Bytes::copy_from_slice(data);
        let stream = v1::LogStream::Stdout.into();
        let chunk = v1::LogChunk { job, token: job, position: Some(position), stream, at: 1, data };
        self.store.keep(std::iter::once(("w", &chunk))).unwrap();
    }

    fn reader(&self) -> Connection {
        store::open_for_reading(&self.folder.path().join("output")).unwrap()
    }

    /// Pieces as positions and texts.
    fn read(&self, job: u64) -> Vec<(u64, Vec<u8>)> {
        let reader = self.reader();
        let (mut pieces, mut after) = (Vec::new(), 0);
        loop {
            let more = store::read(&reader, job, after).unwrap();
            let Some(last) = more.last() else { return pieces };
            after = last.id;
            pieces.extend(more.into_iter().map(|kept| (kept.position, kept.data)));
        }
    }
}

#[test]
fn what_is_sent_again_is_kept_once() {
    let mut site = Site::new();
    site.print(1, 0, b"one ");
    site.print(1, 0, b"one ");
    site.print(1, 2, b"e two");
    assert_eq!(site.read(1), [(0, b"one ".to_vec()), (4, b"two".to_vec())]);
}

#[test]
fn of_an_attempt_the_beginning_and_the_end_are_kept() {
    let mut site = Site::new();
    let mut position = 0;
    for line in 0..20_000 {
        let text = format!("line {line:05}\n");
        site.print(1, position, text.as_bytes());
        position += text.len() as u64;
    }
    let pieces = site.read(1);
    assert_eq!(pieces[0].1, b"line 00000\n");
    assert_eq!(pieces.last().unwrap().1, b"line 19999\n");
    let kept: usize = pieces.iter().map(|(_, data)| data.len() + 64).sum();
    assert!(kept <= 64 << 10, "{kept}");
    assert!(kept >= 60 << 10, "{kept}");
    let gaps = pieces.windows(2).filter(|two| two[0].0 + 11 != two[1].0).count();
    assert_eq!(gaps, 1, "one part in the middle is cut");
}

#[test]
fn the_output_of_the_oldest_jobs_goes_as_a_whole_and_the_file_stays_small() {
    let mut site = Site::new();
    for job in 1..=200 {
        site.print(job, 0, &[b'x'; 30_000]);
    }
    assert!(site.read(1).is_empty());
    let last: usize = site.read(200).iter().map(|(_, data)| data.len()).sum();
    assert_eq!(last, 30_000);
    let size = std::fs::metadata(site.folder.path().join("output")).unwrap().len();
    assert!(size < 2 << 20, "{size}");
}

#[test]
fn a_cut_at_the_end_is_told_by_an_empty_piece() {
    let mut site = Site::new();
    site.print(1, 0, b"seen");
    site.print(1, 10, b"");
    assert_eq!(site.read(1), [(0, b"seen".to_vec()), (10, Vec::new())]);
    let ends = store::ends(&site.reader(), 1, u64::MAX).unwrap();
    assert_eq!(ends[&(1, "w".to_owned())], 10);
}

#[test]
fn what_came_after_a_journal_that_was_put_back_is_forgotten() {
    let mut site = Site::new();
    site.print(5, 0, b"kept");
    site.print(6, 0, b"has not happened");
    let path = site.folder.path().join("output");
    site.store = Store::open(&path, LIMITS, Seq(5)).unwrap();
    assert_eq!(site.read(5).len(), 1);
    assert!(site.read(6).is_empty());
}

#[test]
fn a_damaged_file_is_set_aside() {
    let mut site = Site::new();
    site.print(1, 0, b"lost");
    let path = site.folder.path().join("other");
    std::fs::write(&path, [b'?'; 20_000]).unwrap();
    site.store = Store::open(&path, LIMITS, Seq(0)).unwrap();
    assert!(site.folder.path().join("other.damaged").exists());
}
