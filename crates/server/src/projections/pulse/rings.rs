//! The last fifteen minutes by second, and the last day by minute.

use std::collections::VecDeque;

use serde::Serialize;
use utoipa::ToSchema;

use super::tally::Tally;

const SECONDS_MAX: usize = 15 * 60;
const MINUTES_MAX: usize = 24 * 60;

/// How it was when a second ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Gauges {
    pub(crate) waiting: u32,
    pub(crate) delayed: u32,
    pub(crate) ready: u32,
    pub(crate) running: u32,
    pub(crate) workers: u32,
    pub(crate) slots: u32,
    pub(crate) slots_used: u32,
}

#[derive(Debug, Clone)]
struct Point {
    /// When it ended, in seconds since 1970.
    at: u64,
    gauges: Gauges,
    counts: [u32; 10],
    spans: [Option<f32>; 4],
}

impl Point {
    fn new(at: u64, gauges: Gauges, tally: &Tally) -> Point {
        let counts = [
            tally.submitted,
            tally.started,
            tally.completed,
            tally.failed,
            tally.dropped,
            tally.retried,
            tally.hedged,
            tally.drifts,
            tally.predictions,
            tally.near,
        ];
        let (wait, whole) = (&tally.wait, &tally.whole);
        let spans =
            [wait.quantile(0.5), wait.quantile(0.99), whole.quantile(0.5), whole.quantile(0.99)];
        Point { at, gauges, counts, spans }
    }
}

#[derive(Debug, Default)]
pub(super) struct Rings {
    seconds: VecDeque<Point>,
    minutes: VecDeque<Point>,
    /// Of the minute that goes on.
    minute: Tally,
}

impl Rings {
    /// Takes in what happened since the last time.
    pub(super) fn push(&mut self, at: u64, gauges: Gauges, tally: &Tally) {
        // A beat that comes early belongs to the next second.
        let at = self.seconds.back().map_or(at, |last| at.max(last.at + 1));
        let minute = at / 60;
        if self.seconds.back().is_some_and(|last| last.at / 60 < minute) {
            let done = std::mem::take(&mut self.minute);
            push(&mut self.minutes, MINUTES_MAX, Point::new(minute * 60, gauges, &done));
        }
        self.minute.join(tally);
        push(&mut self.seconds, SECONDS_MAX, Point::new(at, gauges, tally));
    }

    pub(super) fn series(&self, step: Step) -> Series {
        let points = match step {
            Step::Second => &self.seconds,
            Step::Minute => &self.minutes,
        };
        let count = |place: usize| points.iter().map(|point| point.counts[place]).collect();
        let span = |place: usize| points.iter().map(|point| point.spans[place]).collect();
        let gauge = |read: fn(&Gauges) -> u32| points.iter().map(|p| read(&p.gauges)).collect();
        Series {
            step: step.seconds(),
            at: points.iter().map(|point| point.at).collect(),
            submitted: count(0),
            started: count(1),
            completed: count(2),
            failed: count(3),
            dropped: count(4),
            retried: count(5),
            hedged: count(6),
            drifts: count(7),
            predictions: count(8),
            near: count(9),
            wait_p50: span(0),
            wait_p99: span(1),
            whole_p50: span(2),
            whole_p99: span(3),
            waiting: gauge(|gauges| gauges.waiting),
            delayed: gauge(|gauges| gauges.delayed),
            ready: gauge(|gauges| gauges.ready),
            running: gauge(|gauges| gauges.running),
            workers: gauge(|gauges| gauges.workers),
            slots: gauge(|gauges| gauges.slots),
            slots_used: gauge(|gauges| gauges.slots_used),
        }
    }
}

fn push(points: &mut VecDeque<Point>, points_max: usize, point: Point) {
    if points.len() >= points_max {
        points.pop_front();
    }
    points.push_back(point);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Second,
    Minute,
}

impl Step {
    fn seconds(self) -> u32 {
        match self {
            Step::Second => 1,
            Step::Minute => 60,
        }
    }
}

/// How it was over time: one list for each figure, all equally long, oldest first. They begin with the
/// process of the scheduler.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Series {
    /// Seconds from one to the next.
    step: u32,
    /// When each ended, in seconds since 1970. One is missing where the scheduler was too busy.
    at: Vec<u64>,
    /// Jobs submitted within it.
    submitted: Vec<u32>,
    /// Attempts that began to run.
    started: Vec<u32>,
    completed: Vec<u32>,
    /// Jobs that failed for good or were dead-lettered.
    failed: Vec<u32>,
    /// Jobs that were cancelled or skipped.
    dropped: Vec<u32>,
    retried: Vec<u32>,
    hedged: Vec<u32>,
    /// Times that predictions of a type were found to have become worse.
    drifts: Vec<u32>,
    /// Predictions that were tested by what happened.
    predictions: Vec<u32>,
    /// Those within a quarter of what it took.
    near: Vec<u32>,
    /// Seconds from when a job could be placed until a worker was chosen; null if there was none.
    wait_p50: Vec<Option<f32>>,
    wait_p99: Vec<Option<f32>>,
    /// Seconds from submission to end.
    whole_p50: Vec<Option<f32>>,
    whole_p99: Vec<Option<f32>>,
    /// Jobs that waited for others when it ended.
    waiting: Vec<u32>,
    delayed: Vec<u32>,
    ready: Vec<u32>,
    /// Jobs that were with a worker.
    running: Vec<u32>,
    workers: Vec<u32>,
    slots: Vec<u32>,
    slots_used: Vec<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_add_up_to_minutes_and_both_are_bounded() {
        let mut rings = Rings::default();
        let tally = Tally { completed: 2, ..Tally::default() };
        let days = 3 * 24 * 60 * 60;
        for at in 0..days {
            rings.push(at, Gauges::default(), &tally);
        }
        let seconds = rings.series(Step::Second);
        assert_eq!(seconds.at.len(), SECONDS_MAX);
        assert_eq!(seconds.completed.last(), Some(&2));
        let minutes = rings.series(Step::Minute);
        assert_eq!(minutes.at.len(), MINUTES_MAX);
        assert!(minutes.completed.iter().all(|completed| *completed == 120));
        assert_eq!(minutes.at.last(), Some(&(days / 60 * 60 - 60)));
    }
}
