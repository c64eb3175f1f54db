//! A worker for jobs of type `resize`, with progress, cancellation and every kind of outcome.

use std::time::Duration;

use bellwether_sdk::{Context, Outcome, Worker};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let address = std::env::var("BELLWETHER_SERVER");
    Worker::builder(address.as_deref().unwrap_or("http://127.0.0.1:7070"))
        .slots(4)
        .role("ImageService")
        .job("resize", resize)
        .run()
        .await?;
    Ok(())
}

async fn resize(context: Context) -> Outcome {
    let size = String::from_utf8_lossy(context.payload()).into_owned();
    if size.is_empty() {
        // No retry will make a payload appear.
        return Outcome::cancel("the payload must be a size as [640,480]");
    }
    if !disk_has_room() {
        return Outcome::snooze(Duration::from_secs(30));
    }
    for percent in [25, 50, 75] {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(50)) => {}
            () = context.cancelled() => return Outcome::cancel("cancelled"),
        }
        context.progress(percent * 10, "resizing");
    }
    // The same for every attempt: whoever stores the picture can tell a repetition by it.
    let key = context.idempotency_token();
    Outcome::done(format!("{{\"stored\":\"{key}\"}}"))
}

fn disk_has_room() -> bool {
    true
}
