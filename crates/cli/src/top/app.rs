//! What is shown and what keys do to it. No terminal and no network here.

use std::collections::VecDeque;

use bellwether_sdk::v1;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::gather::Seen;

/// Looks that the small graphs go back.
const TREND_POINTS: usize = 120;

#[derive(Debug, Default)]
pub(super) struct App {
    pub(super) seen: Seen,
    pub(super) queue: VecDeque<u64>,
    pub(super) rate: VecDeque<u64>,
    pub(super) waits: VecDeque<u64>,
    /// Completed jobs a second, between the last two looks.
    pub(super) per_second: Option<f64>,
    pub(super) focus: Focus,
    /// The chosen line of each list.
    pub(super) chosen: [usize; 3],
    pub(super) explained: Option<String>,
    pub(super) message: String,
    /// Waits for a yes.
    pub(super) asked: Option<Wish>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Focus {
    #[default]
    Workers,
    Jobs,
    Decisions,
}

/// What a key asks of the scheduler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wish {
    Quit,
    Explain(String),
    Cancel(String),
    Pause(String),
    Unpause(String),
    Drain(String),
    Undrain(String),
}

impl App {
    /// Takes over a new look.
    pub(super) fn see(&mut self, seen: Seen) {
        let before = &self.seen;
        let micros = seen.at_micros.saturating_sub(before.at_micros);
        if before.at_micros > 0 && micros > 0 {
            let done = seen.completed().saturating_sub(before.completed());
            let rate = done as f64 * 1e6 / micros as f64;
            self.per_second = Some(rate);
            push(&mut self.rate, rate.round() as u64);
        }
        push(&mut self.queue, seen.queued());
        push(&mut self.waits, seen.wait(50) / 1_000);
        self.seen = seen;
        for (focus, chosen) in Focus::ALL.into_iter().zip(&mut self.chosen) {
            let last = length(&self.seen, focus).saturating_sub(1);
            *chosen = (*chosen).min(last);
        }
    }

    /// What the key asks for, if that is more than another view.
    pub(super) fn press(&mut self, key: KeyEvent) -> Option<Wish> {
        self.message.clear();
        if let Some(wish) = self.asked.take() {
            return (key.code == KeyCode::Char('y')).then_some(wish);
        }
        match key.code {
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(Wish::Quit),
            KeyCode::Char('q') => Some(Wish::Quit),
            KeyCode::Esc if self.explained.take().is_some() => None,
            KeyCode::Esc => Some(Wish::Quit),
            KeyCode::Tab => {
                self.focus = self.focus.next();
                None
            }
            KeyCode::Up | KeyCode::Char('k') => {
                self.step(|chosen| chosen.saturating_sub(1));
                None
            }
            KeyCode::Down | KeyCode::Char('j') => {
                self.step(|chosen| chosen + 1);
                None
            }
            KeyCode::Char('e') | KeyCode::Enter => Some(Wish::Explain(self.job()?)),
            KeyCode::Char('c') => {
                self.asked = Some(Wish::Cancel(self.job()?));
                None
            }
            KeyCode::Char('p') => Some(Wish::Pause(self.kind()?)),
            KeyCode::Char('r') => Some(Wish::Unpause(self.paused_kind()?)),
            KeyCode::Char('d') => Some(Wish::Drain(self.worker()?)),
            KeyCode::Char('u') => Some(Wish::Undrain(self.worker()?)),
            _ => None,
        }
    }

    pub(super) fn chosen(&self, focus: Focus) -> usize {
        self.chosen[focus as usize]
    }

    fn step(&mut self, step: impl Fn(usize) -> usize) {
        let last = length(&self.seen, self.focus).saturating_sub(1);
        let chosen = &mut self.chosen[self.focus as usize];
        *chosen = step(*chosen).min(last);
    }

    /// The job of the chosen line; a worker's is the first that it holds.
    fn job(&self) -> Option<String> {
        match self.focus {
            Focus::Workers => {
                let worker = self.seen.workers.get(self.chosen(Focus::Workers))?;
                worker.held.first().map(|held| held.id.clone())
            }
            Focus::Jobs => {
                let job = self.seen.jobs.get(self.chosen(Focus::Jobs))?;
                job.spec.as_ref().map(|spec| spec.id.clone())
            }
            Focus::Decisions => {
                let decision = self.seen.decisions.get(self.chosen(Focus::Decisions))?;
                Some(decision.job_id.clone())
            }
        }
    }

    fn kind(&self) -> Option<String> {
        match self.focus {
            Focus::Workers => None,
            Focus::Jobs => {
                let job = self.seen.jobs.get(self.chosen(Focus::Jobs))?;
                Some(kind(job).to_owned())
            }
            Focus::Decisions => {
                let decision = self.seen.decisions.get(self.chosen(Focus::Decisions))?;
                Some(decision.r#type.clone())
            }
        }
    }

    /// The type of the chosen line if it is paused, or the only one that is.
    fn paused_kind(&self) -> Option<String> {
        let paused = &self.seen.status.paused_types;
        let chosen = self.kind().filter(|kind| paused.contains(kind));
        chosen.or_else(|| paused.first().filter(|_| paused.len() == 1).cloned())
    }

    fn worker(&self) -> Option<String> {
        match self.focus {
            Focus::Workers => {
                let worker = self.seen.workers.get(self.chosen(Focus::Workers))?;
                worker.spec.as_ref().map(|spec| spec.id.clone())
            }
            Focus::Jobs => None,
            Focus::Decisions => {
                let decision = self.seen.decisions.get(self.chosen(Focus::Decisions))?;
                Some(decision.worker.clone())
            }
        }
    }
}

impl Focus {
    pub(super) const ALL: [Focus; 3] = [Focus::Workers, Focus::Jobs, Focus::Decisions];

    fn next(self) -> Focus {
        match self {
            Focus::Workers => Focus::Jobs,
            Focus::Jobs => Focus::Decisions,
            Focus::Decisions => Focus::Workers,
        }
    }
}

pub(super) fn kind(job: &v1::Job) -> &str {
    job.spec.as_ref().map_or("", |spec| spec.kind())
}

fn length(seen: &Seen, focus: Focus) -> usize {
    match focus {
        Focus::Workers => seen.workers.len(),
        Focus::Jobs => seen.jobs.len(),
        Focus::Decisions => seen.decisions.len(),
    }
}

fn push(points: &mut VecDeque<u64>, point: u64) {
    if points.len() >= TREND_POINTS {
        points.pop_front();
    }
    points.push_back(point);
}
