//! A wall clock that can be set for one process. Its C library is told another time, so that the
//! binary is the one that everybody runs.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Adds the microseconds that the file holds to what the wall clock shows, and to nothing else.
const LIBRARY: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static volatile int64_t *ahead;
static int (*real)(clockid_t, struct timespec *);

__attribute__((constructor)) static void open_ahead(void) {
    real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int file = open(getenv("WALL_CLOCK_AHEAD"), O_RDONLY);
    ahead = mmap(0, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
}

int clock_gettime(clockid_t clock, struct timespec *shown) {
    int result = real(clock, shown);
    if (clock == CLOCK_REALTIME && ahead && ahead != MAP_FAILED) {
        int64_t nanos = shown->tv_nsec + (*ahead % 1000000) * 1000;
        shown->tv_sec += *ahead / 1000000 + (nanos < 0 ? -1 : nanos / 1000000000);
        shown->tv_nsec = nanos < 0 ? nanos + 1000000000 : nanos % 1000000000;
    }
    return result;
}
"#;

/// The wall clock of the processes that are started with its variables.
#[derive(Debug)]
pub struct WallClock {
    library: PathBuf,
    file: PathBuf,
    ahead: File,
    micros: i64,
}

impl WallClock {
    /// Its files are in this folder. None where there is no C compiler.
    ///
    /// # Errors
    /// When a file can't be written, or the compiler fails.
    pub fn in_folder(folder: &Path) -> io::Result<Option<WallClock>> {
        let (library, file) = (folder.join("clock.so"), folder.join("ahead"));
        if !build(folder, &library)? {
            return Ok(None);
        }
        std::fs::write(&file, 0_i64.to_ne_bytes())?;
        let ahead = File::options().write(true).open(&file)?;
        Ok(Some(WallClock { library, file, ahead, micros: 0 }))
    }

    /// Variables of the environment of whoever is to live by it.
    #[must_use]
    pub fn variables(&self) -> [(&'static str, String); 2] {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        [("LD_PRELOAD", text(&self.library)), ("WALL_CLOCK_AHEAD", text(&self.file))]
    }

    /// Sets it forwards, or back.
    ///
    /// # Errors
    /// When its file can't be written.
    pub fn step(&mut self, seconds: i64) -> io::Result<()> {
        self.micros += seconds * 1_000_000;
        // In one piece, because it is read all the time.
        self.ahead.write_all_at(&self.micros.to_ne_bytes(), 0)
    }

    /// What it shows, since 1970.
    #[must_use]
    pub fn now(&self) -> Duration {
        let real = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let ahead = Duration::from_micros(self.micros.unsigned_abs());
        if self.micros < 0 { real.saturating_sub(ahead) } else { real + ahead }
    }
}

fn build(folder: &Path, library: &Path) -> io::Result<bool> {
    let source = folder.join("clock.c");
    std::fs::write(&source, LIBRARY)?;
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).args([library, &source]).arg("-ldl");
    match compiler.output() {
        Ok(output) if output.status.success() => Ok(true),
        Ok(output) => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
