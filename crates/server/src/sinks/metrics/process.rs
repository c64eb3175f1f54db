//! What the system says of this process, under the names that everybody uses.

use super::text::Text;

/// Linux tells processor time to programs in hundredths, whatever its own clock does.
const TICKS_PER_SECOND: f64 = 100.0;

pub(super) fn write(text: &mut Text) {
    if let Some(kilobytes) = resident_kilobytes() {
        let help = "Memory in use";
        text.gauge("process_resident_memory_bytes", help, kilobytes * 1_024);
    }
    if let Some(seconds) = processor_seconds() {
        text.counter("process_cpu_seconds_total", "Time on processors", seconds);
    }
    if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
        text.gauge("process_open_fds", "Open files and sockets", open.count());
    }
}

fn resident_kilobytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

fn processor_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name comes first and may hold anything; the fields behind it are numbered from 3.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / TICKS_PER_SECOND)
}
