//! How busy the machine is, for heartbeats.

use std::fs;

/// Looks at `/proc`; on systems without it a machine seems idle.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    busy: u64,
    total: u64,
}

impl Machine {
    /// The share of processor time in use since the last call, in thousandths.
    pub(crate) fn cpu_permille(&mut self) -> u32 {
        let Some((busy, total)) = fs::read_to_string("/proc/stat").ok().and_then(|t| times(&t))
        else {
            return 0;
        };
        let share = permille(busy.saturating_sub(self.busy), total.saturating_sub(self.total));
        (self.busy, self.total) = (busy, total);
        share
    }

    pub(crate) fn memory_permille(&self) -> u32 {
        fs::read_to_string("/proc/meminfo").ok().and_then(|text| used(&text)).unwrap_or(0)
    }
}

fn times(stat: &str) -> Option<(u64, u64)> {
    let fields: Vec<u64> =
        stat.lines().next()?.split_whitespace().skip(1).map_while(|f| f.parse().ok()).collect();
    let idle = fields.get(3)? + fields.get(4)?;
    // Guest time is part of user time already.
    let total: u64 = fields.iter().take(8).sum();
    Some((total - idle, total))
}

fn used(meminfo: &str) -> Option<u32> {
    let find = |name: &str| -> Option<u64> {
        let line = meminfo.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    let (total, available) = (find("MemTotal:")?, find("MemAvailable:")?);
    Some(permille(total.saturating_sub(available), total))
}

fn permille(part: u64, whole: u64) -> u32 {
    if whole == 0 {
        return 0;
    }
    u32::try_from(part.saturating_mul(1_000) / whole).unwrap_or(1_000).min(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_from_the_kernel_s_tables() {
        assert_eq!(times("cpu  10 0 20 60 10 0 0 0 5 0\ncpu0 1"), Some((30, 100)));
        assert_eq!(used("MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 250 kB\n"), Some(750));
        assert_eq!(times("nothing"), None);
    }
}
