//! A progress bar on standard error. It hides itself where that is no terminal.

use indicatif::{ProgressBar, ProgressStyle};

/// How many steps pass between two drawings at least: a step may be shorter than a microsecond.
const STEPS_PER_UPDATE: u64 = 256;

pub(crate) struct Progress {
    bar: ProgressBar,
    pending: u64,
}

impl Progress {
    pub(crate) fn new(steps: u64, unit: &'static str) -> Progress {
        let template = format!("{{msg:>14}} [{{bar:30}}] {{pos}}/{{len}} {unit}, {{eta}} left");
        let style = ProgressStyle::with_template(&template).expect("the template is well-formed");
        let bar = ProgressBar::new(steps).with_style(style.progress_chars("=> "));
        Progress { bar, pending: 0 }
    }

    /// For work of which nobody knows how long it is.
    pub(crate) fn endless(unit: &'static str) -> Progress {
        let template = format!("{{msg:>14}} {{spinner}} {{pos}} {unit}, {{per_sec}}");
        let style = ProgressStyle::with_template(&template).expect("the template is well-formed");
        Progress { bar: ProgressBar::no_length().with_style(style), pending: 0 }
    }

    pub(crate) fn step(&mut self, doing: &'static str) {
        self.pending += 1;
        if self.pending >= STEPS_PER_UPDATE {
            self.show(doing);
        }
    }

    /// For steps that take long, and for several threads.
    pub(crate) fn reached(&self, position: u64) {
        self.bar.set_position(position);
    }

    fn show(&mut self, doing: &'static str) {
        self.bar.set_message(doing);
        self.bar.inc(self.pending);
        self.pending = 0;
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
