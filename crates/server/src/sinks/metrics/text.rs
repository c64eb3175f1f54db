//! Prometheus' text format.

use std::fmt::{Display, Write as _};

use super::histogram::Histogram;

pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// Families one after the other, each with its samples behind it.
#[derive(Debug, Default)]
pub(super) struct Text {
    out: String,
    family: &'static str,
}

/// A name and a value of it.
pub(super) type Label<'a> = (&'static str, &'a str);

impl Text {
    pub(super) fn into_string(self) -> String {
        self.out
    }

    /// Begins a family. The name is the whole name, with unit and `_total`.
    pub(super) fn family(&mut self, name: &'static str, kind: Kind, help: &str) -> &mut Text {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        self.add(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
        self.family = name;
        self
    }

    pub(super) fn sample(&mut self, labels: &[Label<'_>], value: impl Display) -> &mut Text {
        self.out.push_str(self.family);
        self.labels(labels, None);
        self.add(format_args!(" {value}\n"));
        self
    }

    pub(super) fn counter(&mut self, name: &'static str, help: &str, value: impl Display) {
        self.family(name, Kind::Counter, help).sample(&[], value);
    }

    pub(super) fn gauge(&mut self, name: &'static str, help: &str, value: impl Display) {
        self.family(name, Kind::Gauge, help).sample(&[], value);
    }

    pub(super) fn distribution(&mut self, name: &'static str, help: &str, histogram: &Histogram) {
        self.family(name, Kind::Histogram, help).buckets(&[], histogram);
    }

    pub(super) fn buckets(&mut self, labels: &[Label<'_>], histogram: &Histogram) {
        let name = self.family;
        let mut all = 0;
        for (end, count) in histogram.buckets() {
            let end = end.map_or_else(|| "+Inf".to_owned(), |end| end.to_string());
            self.add(format_args!("{name}_bucket"));
            self.labels(labels, Some(("le", &end)));
            self.add(format_args!(" {count}\n"));
            all = count;
        }
        self.add(format_args!("{name}_sum"));
        self.labels(labels, None);
        self.add(format_args!(" {}\n{name}_count", histogram.sum()));
        self.labels(labels, None);
        self.add(format_args!(" {all}\n"));
    }

    fn labels(&mut self, labels: &[Label<'_>], last: Option<Label<'_>>) {
        let mut before = '{';
        for (name, value) in labels.iter().copied().chain(last) {
            self.add(format_args!("{before}{name}=\""));
            for character in value.chars() {
                match character {
                    '\\' => self.out.push_str("\\\\"),
                    '"' => self.out.push_str("\\\""),
                    '\n' => self.out.push_str("\\n"),
                    other => self.out.push(other),
                }
            }
            self.out.push('"');
            before = ',';
        }
        if before == ',' {
            self.out.push('}');
        }
    }

    fn add(&mut self, text: std::fmt::Arguments<'_>) {
        self.out.write_fmt(text).expect("writing to a string does not fail");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_labels_are_escaped() {
        let mut text = Text::default();
        text.family("a_total", Kind::Counter, "Help").sample(&[("type", "say \"\\\"")], 3);
        let text = text.into_string();
        assert!(text.ends_with("a_total{type=\"say \\\"\\\\\\\"\"} 3\n"), "{text}");
    }
}
