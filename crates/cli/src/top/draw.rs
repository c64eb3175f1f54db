//! One frame.

use std::collections::VecDeque;

use bellwether_sdk::v1;
use bellwether_wire::words::{counted, span};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph, Sparkline, Wrap};

use super::app::{App, Wish};
use super::panes;

const KEYS: &str =
    "tab list  ↑↓ line  e explain  c cancel  p pause type  r resume  d drain  u undrain  q quit";

pub(super) fn draw(frame: &mut Frame<'_>, app: &App) {
    let rows = [
        Constraint::Length(4),
        Constraint::Length(5),
        Constraint::Fill(3),
        Constraint::Fill(2),
        Constraint::Length(1),
    ];
    let [head, trends, lists, decisions, foot] = Layout::vertical(rows).areas(frame.area());
    draw_head(frame, head, app);
    draw_trends(frame, trends, app);
    let [workers, jobs] =
        Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas(lists);
    panes::workers(frame, workers, app);
    panes::jobs(frame, jobs, app);
    panes::decisions(frame, decisions, app);
    draw_foot(frame, foot, app);
    if let Some(text) = &app.explained {
        draw_explained(frame, text);
    }
}

fn draw_head(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let status = &app.seen.status;
    let jobs: Vec<String> = status
        .jobs
        .iter()
        .filter(|count| count.count > 0)
        .map(|count| format!("{} {}", count.count, count.state().as_str()))
        .collect();
    let mut first = if jobs.is_empty() { "no jobs".to_owned() } else { jobs.join(", ") };
    let second = format!(
        "{}, {} of {} in use  placing by {} with {}, breaker {}  queue {}% filled",
        counted(u64::from(status.workers), "worker"),
        status.slots_used,
        counted(u64::from(status.slots), "slot"),
        status.strategy().as_str(),
        status.predictor().as_str(),
        status.breaker().as_str(),
        status.filled_percent
    );
    if !status.paused_types.is_empty() {
        first.push_str(&format!("  paused: {}", status.paused_types.join(", ")));
    }
    if status.read_only {
        first.push_str("  takes no new work");
    }
    let title = format!(
        " bellwether {} · {} · position {} ",
        status.version,
        part(status),
        status.position
    );
    let lines = vec![Line::from(first), Line::from(second)];
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title(title)), area);
}

/// What the scheduler is among others, and how it does there.
fn part(status: &v1::StatusResponse) -> String {
    let role = status.role();
    match role {
        v1::SchedulerRole::Leader => format!("{}, epoch {}", role.as_str(), status.epoch),
        v1::SchedulerRole::Follower if status.leader.is_empty() => {
            format!("{}, nobody leads", role.as_str())
        }
        v1::SchedulerRole::Follower => format!(
            "{} of {}, epoch {}, {} behind",
            role.as_str(),
            status.leader,
            status.epoch,
            status.behind
        ),
        v1::SchedulerRole::Alone | v1::SchedulerRole::Unspecified => role.as_str().to_owned(),
    }
}

fn draw_trends(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let thirds = [Constraint::Fill(1), Constraint::Fill(1), Constraint::Fill(1)];
    let [queue, rate, waits] = Layout::horizontal(thirds).areas(area);
    let per_second = match app.per_second {
        Some(rate) => format!(" completed {rate:.1}/s "),
        None => " completed ".to_owned(),
    };
    let (p50, p99) = (span(app.seen.wait(50)), span(app.seen.wait(99)));
    trend(frame, queue, format!(" queue {} ", app.seen.queued()), &app.queue, Color::Yellow);
    trend(frame, rate, per_second, &app.rate, Color::Green);
    trend(frame, waits, format!(" wait p50 {p50}, p99 {p99} "), &app.waits, Color::Cyan);
}

fn trend(frame: &mut Frame<'_>, area: Rect, title: String, points: &VecDeque<u64>, colour: Color) {
    let fits = usize::from(area.width.saturating_sub(2));
    let points: Vec<u64> = points.iter().copied().skip(points.len().saturating_sub(fits)).collect();
    let line = Sparkline::default().data(points).style(Style::new().fg(colour));
    frame.render_widget(line.block(Block::bordered().title(title)), area);
}

fn draw_foot(frame: &mut Frame<'_>, area: Rect, app: &App) {
    let line = match &app.asked {
        Some(Wish::Cancel(job)) => Line::from(format!("cancel {job}? y/n")),
        Some(_) => Line::from("sure? y/n"),
        None if app.message.is_empty() => Line::from(KEYS).style(Style::new().fg(Color::DarkGray)),
        None => Line::from(app.message.as_str()).style(Style::new().fg(Color::Yellow)),
    };
    frame.render_widget(line, area);
}

fn draw_explained(frame: &mut Frame<'_>, text: &str) {
    let whole = frame.area();
    let (width, height) = (whole.width * 9 / 10, whole.height * 8 / 10);
    let area = Rect {
        x: whole.x + (whole.width - width) / 2,
        y: whole.y + (whole.height - height) / 2,
        width,
        height,
    };
    frame.render_widget(Clear, area);
    let block = Block::bordered().title(" why (esc closes) ");
    let text = Paragraph::new(text).wrap(Wrap { trim: false });
    frame.render_widget(text.block(block), area);
}
