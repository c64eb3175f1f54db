//! An explanation as text: first the sentence, then what it rests on.

use bellwether_sdk::v1;
use bellwether_sdk::v1::shortage::What;
use bellwether_wire::words::span;

use super::time_text::time_text;
use crate::output::Table;

/// `paint` colours the words for states, where the text goes to a terminal.
pub(crate) fn explanation(told: &v1::Explanation, paint: impl Fn(&str) -> String) -> String {
    if !told.array.is_empty() {
        return array(told);
    }
    if told.job == 0 {
        let mut text = format!("{}\n", told.summary);
        if let Some(refused) = &told.refused {
            let rejection = refused.rejection.clone().unwrap_or_default();
            let at = time_text(refused.at).unwrap_or_default();
            text.push_str(&format!("  refused      {at} [{}]\n", rejection.code));
            if rejection.retry_after > 0 {
                let span = span(rejection.retry_after);
                text.push_str(&format!("  try again    after {span}\n"));
            }
        }
        return text;
    }
    let state = paint(told.state().as_str());
    let mut text = format!("{}  {}  {state}\n  {}\n", told.id, told.r#type, told.summary);
    if let Some(waiting) = &told.waiting_for {
        for (name, value) in waiting_lines(waiting, told.now) {
            text.push_str(&format!("  {name:<12} {value}\n"));
        }
    }
    if !told.changed_by.is_empty() {
        text.push_str(&format!("  changed by   {}\n", told.changed_by));
    }
    if let Some(refused) = &told.refused {
        let rejection = refused.rejection.clone().unwrap_or_default();
        let at = time_text(refused.at).unwrap_or_default();
        text.push_str(&format!("  also refused {at}: {}\n", rejection.message));
    }
    for (number, attempt) in (1..).zip(&told.attempts) {
        text.push_str(&attempt_text(number, attempt, &paint(attempt.state().as_str())));
    }
    text
}

/// The parts of an array, and of those that wait one as an example.
fn array(told: &v1::Explanation) -> String {
    let mut text = format!("{}[*]\n  {}\n", told.id, told.summary);
    for part in told.array.iter().filter(|part| !part.summary.is_empty()) {
        text.push_str(&format!("  {:<12} {}\n", part.jobs, part.summary));
    }
    text
}

/// The parts of what a job waits for, by name.
pub(crate) fn waiting_lines(waiting: &v1::WaitingFor, now: u64) -> Vec<(&'static str, String)> {
    let mut lines = vec![("waits for", waiting.reason().as_str().replace('_', " "))];
    for open in &waiting.dependencies {
        lines.push(("", format!("{} ({})", open.id, open.state().as_str())));
    }
    let from_now = |at: u64| match at.checked_sub(now) {
        Some(0) | None => "now".to_owned(),
        Some(left) => format!("in about {}", span(left)),
    };
    if waiting.until > 0 {
        lines.push(("until", from_now(waiting.until)));
    }
    if let Some(nearest) = &waiting.nearest {
        let lacks: Vec<String> = nearest.lacks.iter().map(shortage).collect();
        let mut line = nearest.worker.clone();
        if !lacks.is_empty() {
            line.push_str(&format!(": {}", lacks.join(", ")));
        }
        if nearest.available_at > 0 {
            line.push_str(&format!("; room {}", from_now(nearest.available_at)));
        }
        lines.push(("nearest", line));
    }
    if let Some(full) = &waiting.key {
        lines.push(("key", format!("{}: {} of {} taken", full.key, full.used, full.limit)));
        if !full.holders.is_empty() {
            lines.push(("held by", full.holders.join(", ")));
        }
        lines.push(("line", format!("{} of the key go first", full.ahead)));
    }
    if waiting.workers > 0 {
        lines.push(("workers", format!("{} there, {} able", waiting.workers, waiting.able)));
    }
    for (name, workers) in [
        ("draining", &waiting.draining),
        ("overloaded", &waiting.overloaded),
        ("unreachable", &waiting.unreachable),
        ("silent", &waiting.silent),
    ] {
        if !workers.is_empty() {
            lines.push((name, workers.join(", ")));
        }
    }
    if waiting.ahead > 0 {
        let (ahead, own) = (waiting.ahead, waiting.ahead_in_class);
        lines.push(("place", format!("{ahead} go first, {own} of them ask for the same")));
    }
    if waiting.expected_start > 0 {
        lines.push(("starts", from_now(waiting.expected_start)));
    }
    lines
}

fn shortage(lack: &v1::Shortage) -> String {
    let what = lack.what();
    match what {
        What::Role | What::Capability | What::Model => {
            format!("lacks the {} {}", what.as_str(), lack.name)
        }
        What::Type => format!("has no handler for the type {}", lack.name),
        What::Cpu => format!("{} of {} millicores", lack.has, lack.wanted),
        What::Memory => format!("{} of {} bytes of memory", lack.has, lack.wanted),
        What::Slots => "no free slot".to_owned(),
        What::Queue => {
            format!("room for {} in its queue, {} would be there", lack.has, lack.wanted)
        }
        What::Draining
        | What::Overloaded
        | What::Unreachable
        | What::Silent
        | What::Slower
        | What::Unspecified => format!("is {}", what.as_str()),
    }
}

fn attempt_text(number: u32, attempt: &v1::ExplainedAttempt, state: &str) -> String {
    let hedge = if attempt.hedge { ", a hedge" } else { "" };
    let worker = &attempt.worker;
    let mut text = format!("attempt {number} on {worker}, token {}{hedge}: {state}", attempt.token);
    match attempt.ending.strip_prefix("it failed") {
        _ if attempt.state() == v1::AttemptState::Completed || attempt.ending.is_empty() => {}
        // The state says so already.
        Some(more) => text.push_str(more),
        None => text.push_str(&format!(", {}", attempt.ending)),
    }
    text.push('\n');
    let Some(decision) = &attempt.decision else { return text };
    text.push_str(&format!("  {}\n", decision.words));
    text.push_str(&format!("  {}\n", expected_and_happened(attempt, decision)));
    if decision.candidates.len() > 1 {
        for line in candidates(decision).lines() {
            text.push_str(&format!("    {line}\n"));
        }
    }
    if let Some(shadow) = &decision.shadow {
        let verb = if shadow.agrees { "agreed" } else { "would have taken" };
        let worker = &shadow.worker;
        let finish = span(shadow.finish);
        text.push_str(&format!("  the shadow policy {verb}: {worker}, done after {finish}\n"));
    }
    text
}

fn expected_and_happened(
    attempt: &v1::ExplainedAttempt,
    decision: &v1::ExplainedDecision,
) -> String {
    let mut text = format!(
        "expected     start after {}, run {}",
        span(decision.predicted_wait),
        span(decision.predicted_duration)
    );
    if attempt.started_at > 0 {
        text.push_str(&format!("; started after {}", span(attempt.actual_wait)));
    }
    if attempt.started_at > 0 && attempt.ended_at > 0 {
        text.push_str(&format!(", ran {}", span(attempt.actual_duration)));
    }
    text
}

/// The candidates, best first, with their scores split.
pub(crate) fn candidates(decision: &v1::ExplainedDecision) -> String {
    let split = decision.weights.is_some();
    let mut table = match split {
        true => Table::new(&["candidate", "score", "wait", "load", "priority", "done after"]),
        false => Table::new(&["candidate", "score"]),
    };
    let score = |millionths: i64| format!("{:.3}", millionths as f64 / 1e6);
    for (rank, candidate) in decision.candidates.iter().enumerate() {
        let mark = if rank == 0 { " *" } else { "" };
        let mut row = vec![format!("{}{mark}", candidate.worker), score(candidate.score)];
        if split {
            row.extend([candidate.wait, candidate.load, candidate.priority].map(score));
            row.push(span(candidate.finish));
        }
        table.row(row);
    }
    if let Some(weights) = &decision.weights {
        let weight = |thousandths: u32| format!("{:.1}", f64::from(thousandths) / 1e3);
        let at_most = [weights.wait, weights.load, weights.priority].map(weight);
        let mut row = vec!["at most".to_owned(), String::new()];
        row.extend(at_most);
        table.row(row);
    }
    table.render()
}
