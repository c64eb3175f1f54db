//! What the scheduler takes of its machine, and how far its history is behind, seen from outside.

use std::collections::VecDeque;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bellwether_sdk::{Client, v1};

use super::promises::Promises;
use crate::http::{get, metric};

/// How often the lag is looked at; a fifth of a second is how exact it is.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);
/// How often the rest is: every so many looks.
const LOOKS_PER_SIZE: u64 = 5;
/// A scheduler that does not answer for so long is down or stopped.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// Positions that are remembered: for ten minutes.
const POSITIONS_MAX: usize = 3_000;

/// The largest of what was seen in a minute.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sizes {
    pub(super) lag_seconds: f64,
    pub(super) rows: u64,
    pub(super) rss_bytes: u64,
    pub(super) files: u64,
    pub(super) disk_bytes: u64,
}

#[derive(Debug)]
pub(super) struct Gauge {
    pub(super) client: Client,
    pub(super) http: String,
    pub(super) data_dir: PathBuf,
    pub(super) process: Arc<AtomicU32>,
    pub(super) promises: Arc<Promises>,
    pub(super) positions: Positions,
}

impl Gauge {
    /// Looks until then.
    pub(super) async fn look_until(&mut self, end: Instant) -> Sizes {
        let mut sizes = Sizes::default();
        let mut looks = 0;
        while Instant::now() < end {
            let next = (Instant::now() + LOOK_INTERVAL).min(end);
            let begun = Instant::now();
            if let Some(lag) = self.lag().await
                && self.promises.is_calm_since(begun)
            {
                sizes.lag_seconds = sizes.lag_seconds.max(lag.as_secs_f64());
            }
            if looks % LOOKS_PER_SIZE == 0 {
                self.look(&mut sizes).await;
            }
            looks += 1;
            tokio::time::sleep_until(next.into()).await;
        }
        sizes
    }

    async fn look(&self, sizes: &mut Sizes) {
        let process = self.process.load(Ordering::Relaxed);
        sizes.rss_bytes = sizes.rss_bytes.max(resident(process).unwrap_or(0));
        let files = std::fs::read_dir(format!("/proc/{process}/fd"));
        sizes.files = sizes.files.max(files.map_or(0, |files| files.count() as u64));
        sizes.disk_bytes = sizes.disk_bytes.max(bytes_in(&self.data_dir));
        let status = tokio::time::timeout(ANSWER_WITHIN, self.client.status()).await;
        if let Ok(Ok(status)) = status {
            let ended = |count: &&v1::StateCount| count.state().has_ended();
            let rows = status.jobs.iter().filter(ended).map(|count| count.count).sum();
            sizes.rows = sizes.rows.max(rows);
        }
    }

    /// How old the oldest event is that the history does not have.
    async fn lag(&mut self) -> Option<Duration> {
        let page = tokio::time::timeout(ANSWER_WITHIN, get(&self.http, "/metrics")).await.ok()?;
        let metrics = page.ok()?;
        let position = metric(&metrics, "bellwether_journal_position").ok()?;
        let behind = metric(&metrics, "bellwether_registry_lag_events").ok()?;
        Some(self.positions.lag(Instant::now(), position, position.saturating_sub(behind)))
    }
}

/// Where the journal was, and when.
#[derive(Debug, Default)]
pub(super) struct Positions(VecDeque<(Instant, u64)>);

impl Positions {
    fn lag(&mut self, now: Instant, position: u64, written: u64) -> Duration {
        self.0.push_back((now, position));
        if self.0.len() > POSITIONS_MAX {
            self.0.pop_front();
        }
        if written >= position {
            return Duration::ZERO;
        }
        // Between two looks the journal grew evenly, as far as we know.
        let after = self.0.partition_point(|(_, position)| *position <= written);
        let (later, above) = self.0[after.min(self.0.len() - 1)];
        let Some((earlier, below)) = after.checked_sub(1).map(|before| self.0[before]) else {
            return now.saturating_duration_since(later);
        };
        let share = (written - below) as f64 / (above - below).max(1) as f64;
        let moment = earlier + later.saturating_duration_since(earlier).mul_f64(share.min(1.0));
        now.saturating_duration_since(moment)
    }
}

fn resident(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kilobytes * 1_024)
}

/// As du counts. What vanishes meanwhile takes nothing.
fn bytes_in(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let sizes = entries.flatten().filter_map(|entry| {
        let about = entry.metadata().ok()?;
        Some(if about.is_dir() { bytes_in(&entry.path()) } else { about.blocks() * 512 })
    });
    sizes.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lag_is_the_age_of_the_oldest_event_that_is_missing() {
        let (begun, second) = (Instant::now(), Duration::from_secs(1));
        let mut positions = Positions::default();
        assert_eq!(positions.lag(begun, 100, 100), Duration::ZERO);
        assert_eq!(positions.lag(begun + second, 200, 200), Duration::ZERO);
        assert_eq!(positions.lag(begun + 2 * second, 300, 200), second);
        let lag = positions.lag(begun + 3 * second, 300, 250).as_secs_f64();
        assert!((1.49..1.51).contains(&lag), "{lag}");
    }
}
