//! `bellwether top`: the scheduler at a glance, and the most urgent keys.
//!
//! What is seen is asked for once a second; what is drawn is a function of that alone.

mod app;
mod draw;
mod gather;
mod panes;
mod terminal;
#[cfg(test)]
mod tests;

use std::time::Duration;

use clap::Args;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use crate::client::{Connect, block_on, span};
use crate::exit::Verdict;
use crate::output;
use app::App;

/// Watch the scheduler in the terminal: queue, rates, workers, decisions.
///
/// Keys: tab chooses a list, arrows a line; e explains, c cancels, p pauses the job's type and r
/// resumes it, d drains a worker and u undoes it, q quits.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connect: Connect,
    /// Time between two looks: seconds, or with a unit as 500ms
    #[arg(long, value_name = "SPAN", default_value = "1s", value_parser = interval)]
    interval: Duration,
    /// Print one frame as text, and end
    #[arg(long)]
    once: bool,
    /// Columns of the frame that is printed
    #[arg(long, value_name = "N", default_value_t = 110, requires = "once", value_parser = clap::value_parser!(u16).range(60..=500))]
    width: u16,
    /// Lines of the frame that is printed
    #[arg(long, value_name = "N", default_value_t = 36, requires = "once", value_parser = clap::value_parser!(u16).range(20..=500))]
    height: u16,
}

fn interval(text: &str) -> Result<Duration, String> {
    let given = span(text)?;
    let possible = Duration::from_millis(100)..=Duration::from_secs(60);
    if possible.contains(&given) {
        Ok(given)
    } else {
        Err("it must be from 100ms to 60s".to_owned())
    }
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    block_on(async move {
        let client = arguments.connect.client().await?;
        if arguments.once {
            let mut app = App::default();
            app.see(gather::gather(&client).await?);
            output::print(&frame(&app, arguments.width, arguments.height)?)?;
        } else {
            terminal::watch(&client, arguments.interval).await?;
        }
        Ok(Verdict::Fine)
    })
}

/// One frame as text.
fn frame(app: &App, width: u16, height: u16) -> anyhow::Result<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height))?;
    terminal.draw(|frame| draw::draw(frame, app))?;
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for line in buffer.content().chunks(usize::from(width)) {
        let line: String = line.iter().map(|cell| cell.symbol()).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    Ok(text)
}
