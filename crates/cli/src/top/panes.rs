//! The lists: workers, jobs, decisions.

use bellwether_sdk::v1;
use bellwether_wire::words::span;
use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Color, Style, Stylize as _};
use ratatui::widgets::{Block, Cell, Row, Table};

use super::app::{App, Focus, kind};

/// Cells of the bar that shows how full a worker is.
const BAR: u32 = 8;

pub(super) fn workers(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let rows = app.seen.workers.iter().map(|worker| {
        let spec = worker.spec.clone().unwrap_or_default();
        let beat = worker.beat.unwrap_or_default();
        let held = u32::try_from(worker.held.len()).unwrap_or(u32::MAX);
        let status = worker.status().as_str();
        vec![
            Cell::from(spec.id),
            Cell::from(status).style(colour(status)),
            Cell::from(format!("{} {held}/{}", bar(held, spec.slots), spec.slots)),
            Cell::from(format!("{}%", beat.load_permille / 10)),
            Cell::from(span(worker.busy)),
        ]
    });
    let widths = [
        Constraint::Fill(2),
        Constraint::Length(11),
        Constraint::Length(14),
        Constraint::Length(5),
        Constraint::Length(8),
    ];
    let headings = ["worker", "status", "slots", "load", "worked"];
    list(frame, area, app, Focus::Workers, rows.collect(), &widths, &headings);
}

pub(super) fn jobs(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let rows = app.seen.jobs.iter().map(|job| {
        let state = job.state().as_str();
        let age = app.seen.at_micros.saturating_sub(job.submitted_at);
        vec![
            Cell::from(job.spec.as_ref().map_or("", |spec| &spec.id).to_owned()),
            Cell::from(kind(job).to_owned()),
            Cell::from(state).style(colour(state)),
            Cell::from(span(age)),
        ]
    });
    let widths =
        [Constraint::Fill(2), Constraint::Fill(1), Constraint::Length(9), Constraint::Length(8)];
    let headings = ["job", "type", "state", "age"];
    list(frame, area, app, Focus::Jobs, rows.collect(), &widths, &headings);
}

pub(super) fn decisions(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let rows = app.seen.decisions.iter().map(|decision| {
        let score = |millionths: i64| format!("{:.3}", millionths as f64 / 1e6);
        let reason = decision.reason.unwrap_or_default();
        let chosen = decision.candidates.first();
        vec![
            Cell::from(decision.job_id.clone()),
            Cell::from(decision.worker.clone()),
            Cell::from(reason.kind().as_str()),
            Cell::from(chosen.map_or_else(String::new, |chosen| score(chosen.score))),
            Cell::from(span(decision.predicted_duration)),
            Cell::from(runner_up(decision)),
        ]
    });
    let widths = [
        Constraint::Fill(2),
        Constraint::Fill(1),
        Constraint::Length(19),
        Constraint::Length(6),
        Constraint::Length(8),
        Constraint::Fill(2),
    ];
    let headings = ["decision for", "worker", "because", "score", "takes", "runner-up"];
    list(frame, area, app, Focus::Decisions, rows.collect(), &widths, &headings);
}

fn runner_up(decision: &v1::ExplainedDecision) -> String {
    decision.runner_up.as_ref().map_or_else(String::new, |second| {
        let behind = second.behind as f64 / 1e6;
        let term = second.term().as_str();
        let in_term = if term.is_empty() { "" } else { " in " };
        format!("{} {behind:.3} behind{in_term}{term}", second.worker)
    })
}

fn list(
    frame: &mut Frame<'_>,
    area: Rect,
    app: &App,
    focus: Focus,
    rows: Vec<Vec<Cell<'_>>>,
    widths: &[Constraint],
    headings: &[&'static str],
) {
    let chosen = app.chosen(focus);
    let focused = app.focus == focus;
    // Borders and the headings take three lines; the chosen line stays in sight.
    let fits = usize::from(area.height.saturating_sub(3)).max(1);
    let first = (chosen + 1).saturating_sub(fits);
    let rows = rows.into_iter().enumerate().skip(first).take(fits).map(|(at, cells)| {
        let style = if focused && at == chosen { Style::new().reversed() } else { Style::new() };
        Row::new(cells).style(style)
    });
    let border = if focused { Style::new().fg(Color::Cyan) } else { Style::new() };
    let table = Table::new(rows, widths.iter().copied())
        .header(Row::new(headings.iter().copied()).bold())
        .block(Block::bordered().border_style(border));
    frame.render_widget(table, area);
}

fn bar(held: u32, slots: u32) -> String {
    let full = (held.min(slots) * BAR).checked_div(slots).unwrap_or(0);
    (0..BAR).map(|cell| if cell < full { '█' } else { '░' }).collect()
}

fn colour(word: &str) -> Style {
    let colour = match word {
        "completed" | "idle" => Color::Green,
        "running" | "offered" | "busy" => Color::Cyan,
        "failed" | "dead_lettered" | "unreachable" => Color::Red,
        "draining" | "overloaded" | "silent" => Color::Yellow,
        _ => Color::Reset,
    };
    Style::new().fg(colour)
}
