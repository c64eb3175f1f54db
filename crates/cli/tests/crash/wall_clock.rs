//! A wall clock that can be set for one process. Its C library is told another time, so that the
//! binary is the one that everybody runs.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use bellwether_testbed::cannot_run;

use crate::site::Site;

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

#[derive(Debug)]
pub(crate) struct WallClock {
    ahead: File,
    micros: i64,
}

impl WallClock {
    /// The clock of the schedulers that are started on this site; none if there is no compiler.
    pub(crate) fn of(site: &mut Site) -> Result<Option<WallClock>> {
        let (library, ahead) = (site.folder().join("clock.so"), site.folder().join("ahead"));
        if !build(site.folder(), &library)? {
            cannot_run("there is no C compiler to make a wall clock with");
            return Ok(None);
        }
        std::fs::write(&ahead, 0_i64.to_ne_bytes())?;
        site.set_variable("LD_PRELOAD", library.to_str().context("a plain path")?);
        site.set_variable("WALL_CLOCK_AHEAD", ahead.to_str().context("a plain path")?);
        Ok(Some(WallClock { ahead: File::options().write(true).open(ahead)?, micros: 0 }))
    }

    /// Sets it forwards, or back.
    pub(crate) fn step(&mut self, seconds: i64) -> Result<()> {
        self.micros += seconds * 1_000_000;
        // In one piece, because the scheduler reads it all the time.
        ensure!(self.ahead.write_at(&self.micros.to_ne_bytes(), 0)? == 8);
        Ok(())
    }

    /// What it shows, since 1970.
    pub(crate) fn now(&self) -> Result<Duration> {
        let real = SystemTime::now().duration_since(UNIX_EPOCH)?;
        let ahead = Duration::from_micros(self.micros.unsigned_abs());
        Ok(if self.micros < 0 { real - ahead } else { real + ahead })
    }
}

fn build(folder: &Path, library: &Path) -> Result<bool> {
    let source = folder.join("clock.c");
    std::fs::write(&source, LIBRARY)?;
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).args([library, &source]).arg("-ldl");
    match compiler.output() {
        Ok(output) => {
            ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Ok(true)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.into()),
    }
}
