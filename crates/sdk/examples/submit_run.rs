//! Submits a run of three jobs and waits for the last.
//!
//! Start a scheduler with `bellwether serve` and the worker of `resize_worker.rs` first.

use bellwether_sdk::{Client, NewJob, Run, v1};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let address = std::env::var("BELLWETHER_SERVER");
    let client = Client::connect(address.as_deref().unwrap_or("http://127.0.0.1:7070")).await?;
    let name = bellwether_sdk::new_id();
    let id = |node: &str| format!("{name}/{node}");
    let job = |node: &str| NewJob::new("resize").id(id(node)).node(node).payload("[640,480]");
    let run = Run::named(&name)
        .job(job("small"))
        .job(job("large").priority(v1::Priority::High))
        .job(job("both").after(id("small")).after(id("large")));
    let accepted = client.submit_run(run).await?;
    eprintln!("durable at position {}", accepted.position);

    let last = client.wait(&id("both")).await?;
    eprintln!("{} ended: {:?} {:?}", last.id(), last.state(), last.result());
    Ok(())
}
