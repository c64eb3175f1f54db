//! `bellwether cluster verify`.

use std::time::{Duration, Instant};

use anyhow::bail;
use bellwether_sdk::v1;
use bellwether_wire::json::hex;
use serde_json::json;

use super::Connect;
use crate::exit::Verdict;
use crate::output;

/// Schedulers that follow are a moment behind whoever leads, so they are asked again for so long.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);

type States = Vec<(String, v1::MemberStateResponse)>;

pub(super) async fn run(connect: Connect, json: bool) -> anyhow::Result<Verdict> {
    let client = connect.client().await?;
    let begun = Instant::now();
    loop {
        let mut states = States::new();
        for (address, told) in client.member_states().await {
            states.push((address, told?));
        }
        if states.len() < 2 {
            bail!("there is only one scheduler to ask; --server takes a list with commas");
        }
        let (_, first) = &states[0];
        if states.iter().all(|(_, told)| told.position == first.position) {
            return tell(&states, json);
        }
        if begun.elapsed() > PATIENCE {
            bail!(
                "they were never at the same position within {} s; try again while fewer jobs run",
                PATIENCE.as_secs()
            );
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn tell(states: &States, json: bool) -> anyhow::Result<Verdict> {
    let (_, first) = &states[0];
    let is_equal = |(_, told): &(String, v1::MemberStateResponse)| told.state == first.state;
    let equal = states.iter().all(is_equal);
    if json {
        let each = states.iter().map(|(address, told)| {
            json!({ "scheduler": address, "member": told.member, "state": hex(&told.state) })
        });
        let each: Vec<_> = each.collect();
        output::print_json(
            &json!({ "position": first.position, "equal": equal, "schedulers": each }),
        )?;
    } else {
        let mut text = String::new();
        for (address, told) in states {
            text.push_str(&format!("{address:<28} {:>6} {}\n", told.member, hex(&told.state)));
        }
        text.push_str(&match equal {
            true => format!("all have the same state at position {}\n", first.position),
            false => format!(
                "their states differ at position {}: empty the data directory of the one that is alone \
                 with its state, and let it join again\n",
                first.position
            ),
        });
        output::print(&text)?;
    }
    Ok(if equal { Verdict::Fine } else { Verdict::CheckFailed })
}
