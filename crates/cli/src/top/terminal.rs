//! The terminal itself: taken over, watched for keys, and given back however it ends.

use std::time::Duration;

use anyhow::Context as _;
use bellwether_sdk::{Client, ClientError};
use crossterm::event::{Event, KeyEventKind};
use ratatui::DefaultTerminal;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::app::{App, Wish};
use super::{draw, gather};
use crate::client::explain_text;

/// Keys that may wait to be seen to.
const KEYS_MAX: usize = 64;

pub(super) async fn watch(client: &Client, interval: Duration) -> anyhow::Result<()> {
    let mut app = App::default();
    // Before the terminal is taken over, so that it is told in the usual way if nobody answers.
    app.see(gather::gather(client).await?);
    // Also gives the terminal back if there is a panic.
    let mut terminal = ratatui::try_init().context(
        "failed to take over the terminal; without one, `top --once` prints what it shows",
    )?;
    let ended = follow(client, &mut terminal, app, interval).await;
    ratatui::restore();
    ended
}

async fn follow(
    client: &Client,
    terminal: &mut DefaultTerminal,
    mut app: App,
    interval: Duration,
) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut events = events()?;
    let mut looks = tokio::time::interval(interval);
    looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        terminal.draw(|frame| draw::draw(frame, &app))?;
        tokio::select! {
            _ = terminate.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
            _ = looks.tick() => match gather::gather(client).await {
                Ok(seen) => app.see(seen),
                Err(error) => app.message = crate::exit::once(&error),
            },
            event = events.recv() => {
                let Some(event) = event else { return Ok(()) };
                let Event::Key(key) = event else { continue };
                if key.kind != KeyEventKind::Press {
                    continue;
                }
                match app.press(key) {
                    Some(Wish::Quit) => return Ok(()),
                    Some(wish) => fulfil(client, &mut app, wish).await,
                    None => {}
                }
            }
        }
    }
}

/// Keys and changes of size, from a thread of its own: reading them blocks.
fn events() -> std::io::Result<mpsc::Receiver<Event>> {
    let (sender, receiver) = mpsc::channel(KEYS_MAX);
    std::thread::Builder::new().name("keys".to_owned()).spawn(move || {
        while let Ok(event) = crossterm::event::read() {
            if sender.blocking_send(event).is_err() {
                return;
            }
        }
    })?;
    Ok(receiver)
}

async fn fulfil(client: &Client, app: &mut App, wish: Wish) {
    let done: Result<String, ClientError> = match wish {
        Wish::Quit => return,
        Wish::Explain(job) => match client.explain(&job, 0).await {
            Ok(told) => {
                app.explained = Some(explain_text::explanation(&told, str::to_owned));
                return;
            }
            Err(error) => Err(error),
        },
        Wish::Cancel(job) => {
            let refused = client.cancel(vec![job.clone()], "from top").await;
            refused.map(|refused| match refused.into_iter().next() {
                Some((_, why)) => why.to_string(),
                None => format!("{job} is cancelled"),
            })
        }
        Wish::Pause(kind) => client.pause(&kind).await.map(|()| format!("{kind} is paused")),
        Wish::Unpause(kind) => client.unpause(&kind).await.map(|()| format!("{kind} goes on")),
        Wish::Drain(worker) => {
            client.drain(&worker).await.map(|()| format!("{worker} takes no more jobs"))
        }
        Wish::Undrain(worker) => {
            client.undrain(&worker).await.map(|()| format!("{worker} takes jobs again"))
        }
    };
    app.message = done.unwrap_or_else(|error| error.to_string());
}
