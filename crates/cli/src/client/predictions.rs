//! `bellwether predictions`: how long jobs are expected to take, and how good that has been.

use bellwether_sdk::v1;
use bellwether_wire::json::Predictions;
use bellwether_wire::words::span;
use clap::Args;

use super::{Connect, block_on};
use crate::exit::Verdict;
use crate::output::{self, Table, percent};

/// Show how long jobs of each type are expected to take, and how good such predictions have been.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connect: Connect,
    /// Only this type, with the classes of workers
    #[arg(value_name = "TYPE")]
    kind: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    block_on(async move {
        let client = arguments.connect.client().await?;
        let kind = arguments.kind.unwrap_or_default();
        let known = client.predictions(&kind).await?;
        if arguments.json {
            output::print_json(&Predictions::from(known))?;
        } else {
            output::print(&readable(&known, !kind.is_empty()))?;
        }
        Ok(Verdict::Fine)
    })
}

fn readable(known: &v1::PredictionsResponse, classes: bool) -> String {
    let predictor = known.predictor().as_str();
    let mut text = format!("predictor {predictor}, breaker {}\n", known.breaker().as_str());
    let headings = ["type", "takes", "confidence", "samples", "within 25%", "error", "usually", ""];
    let mut table = Table::new(&headings);
    for known in &known.types {
        table.row(vec![
            known.r#type.clone(),
            span(known.estimate),
            format!("{}%", known.confidence_percent),
            known.samples.to_string(),
            share(known),
            format!("{}%", known.recent_error_percent),
            format!("{}%", known.usual_error_percent),
            if known.drifting { "drifting".to_owned() } else { String::new() },
        ]);
        for class in known.classes.iter().filter(|_| classes) {
            table.row(vec![
                format!("  on {}", class.class),
                span(class.estimate),
                format!("{}%", class.confidence_percent),
                class.samples.to_string(),
            ]);
        }
    }
    text.push_str(&table.render());
    if known.more {
        text.push_str("there are more types; name one to see it\n");
    }
    text
}

fn share(known: &v1::TypePrediction) -> String {
    match known.judged {
        0 => "-".to_owned(),
        _ => percent(f64::from(known.within_25_permille) / 1e3),
    }
}
