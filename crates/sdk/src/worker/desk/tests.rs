use std::sync::Arc;

use super::*;
use tokio::sync::mpsc;

const EXACTLY: v1::Guarantee = v1::Guarantee::ExactlyOnce;
const AT_LEAST: v1::Guarantee = v1::Guarantee::AtLeastOnce;

/// Offers these tokens to a desk; a job has its token's number.
fn desk(slots: u32, guarantee: v1::Guarantee, tokens: &[u64]) -> Desk {
    let mut desk = Desk::new(slots, None);
    for &token in tokens {
        desk.offered(context(token, guarantee));
    }
    desk
}

fn context(token: u64, guarantee: v1::Guarantee) -> Context {
    let (sender, _) = mpsc::unbounded_channel();
    let spec = v1::JobSpec { guarantee: guarantee.into(), ..Default::default() };
    let offer = v1::Offer { job: token, token, spec: Some(spec), ..Default::default() };
    Context::new(offer, sender, Arc::default())
}

fn start_all(desk: &mut Desk) -> Vec<u64> {
    std::iter::from_fn(|| desk.next_to_start().map(|context| context.token())).collect()
}

fn sent(desk: &mut Desk) -> String {
    let words: Vec<String> = desk
        .take_reports()
        .iter()
        .map(|report| {
            let word = match report.report.as_ref().unwrap() {
                Kind::Acknowledge(_) => "ack",
                Kind::Claim(_) => "claim",
                Kind::HandOff(_) => "hand_off",
                Kind::Progress(_) => "progress",
                Kind::Complete(_) => "complete",
                Kind::Fail(fail) if fail.cause() == v1::FailureCause::Returned => "return",
                Kind::Fail(_) => "fail",
            };
            format!("{word} {}", report.token)
        })
        .collect();
    words.join(", ")
}

fn held(desk: &Desk) -> Vec<u64> {
    desk.held().iter().map(|attempt| attempt.token).collect()
}

#[test]
fn only_what_starts_is_acknowledged() {
    let mut desk = desk(1, AT_LEAST, &[1, 2]);
    assert_eq!(start_all(&mut desk), [1]);
    assert_eq!(sent(&mut desk), "ack 1");
    desk.finished(1, Outcome::done("x"));
    assert_eq!(start_all(&mut desk), [2]);
    assert_eq!(sent(&mut desk), "complete 1, ack 2");
}

#[test]
fn exactly_once_starts_with_the_grant() {
    let mut desk = desk(1, EXACTLY, &[1, 2]);
    assert!(start_all(&mut desk).is_empty());
    assert_eq!(sent(&mut desk), "claim 1");
    desk.granted(2);
    assert!(start_all(&mut desk).is_empty(), "nobody claimed 2");
    desk.granted(1);
    assert_eq!(start_all(&mut desk), [1]);
}

#[test]
fn a_refused_claim_frees_its_slot() {
    let mut desk = desk(1, EXACTLY, &[1, 2]);
    start_all(&mut desk);
    assert!(desk.revoked(1).is_none());
    start_all(&mut desk);
    assert_eq!(sent(&mut desk), "claim 1, claim 2");
}

#[test]
fn a_waiting_offer_can_be_taken_away() {
    let mut desk = desk(1, AT_LEAST, &[1, 2, 3]);
    start_all(&mut desk);
    desk.revoked(2);
    desk.finished(1, Outcome::done(""));
    assert_eq!(start_all(&mut desk), [3]);
}

#[test]
fn a_revoked_attempt_keeps_its_slot_until_it_has_stopped_and_its_result_is_dropped() {
    let mut desk = desk(1, AT_LEAST, &[1, 2]);
    start_all(&mut desk);
    sent(&mut desk);
    desk.revoked(1);
    assert_eq!(held(&desk), [2]);
    assert!(start_all(&mut desk).is_empty());
    desk.finished(1, Outcome::done(""));
    assert_eq!(start_all(&mut desk), [2]);
    assert_eq!(sent(&mut desk), "ack 2");
}

#[test]
fn results_are_held_until_confirmed_and_sent_again_after_a_reconnect() {
    let mut desk = desk(2, AT_LEAST, &[1, 2, 3]);
    start_all(&mut desk);
    desk.finished(1, Outcome::done("x"));
    assert_eq!(sent(&mut desk), "ack 1, ack 2, complete 1");
    desk.confirmed(2);
    assert_eq!(held(&desk), [1, 2, 3]);
    desk.reconnected();
    assert_eq!(sent(&mut desk), "ack 1, complete 1, ack 2");
    desk.confirmed(2);
    assert_eq!(held(&desk), [2, 3], "numbers start again with the connection");
}

#[test]
fn a_result_that_the_scheduler_has_already_is_not_sent_again() {
    let mut desk = desk(1, AT_LEAST, &[1]);
    start_all(&mut desk);
    desk.finished(1, Outcome::done("x"));
    sent(&mut desk);
    desk.revoked(1);
    desk.reconnected();
    assert_eq!(sent(&mut desk), "");
    assert!(desk.is_clear());
}

#[test]
fn draining_gives_back_what_has_not_started() {
    let mut desk = desk(1, AT_LEAST, &[1, 2]);
    start_all(&mut desk);
    desk.drain();
    desk.offered(context(3, AT_LEAST));
    assert_eq!(sent(&mut desk), "ack 1, return 2, return 3");
    assert!(!desk.is_clear());
    desk.finished(1, Outcome::done(""));
    assert_eq!(sent(&mut desk), "complete 1");
    desk.confirmed(4);
    assert!(desk.is_clear());
}

#[test]
fn large_results_are_spread_over_messages() {
    let mut desk = desk(3, AT_LEAST, &[1, 2, 3]);
    start_all(&mut desk);
    for token in 1..=3 {
        desk.finished(token, Outcome::done(vec![0; 700_000]));
    }
    assert_eq!(sent(&mut desk), "ack 1, ack 2, ack 3, complete 1");
    assert_eq!(sent(&mut desk), "complete 2");
}

#[test]
fn of_progress_the_latest_is_told_and_none_after_the_end() {
    let mut desk = desk(1, AT_LEAST, &[1]);
    let context = desk.next_to_start().unwrap();
    context.progress(100, "");
    context.progress(200, "half of it");
    desk.progressed(1);
    desk.release_progress();
    assert_eq!(sent(&mut desk), "ack 1, progress 1");
    context.progress(300, "");
    desk.progressed(1);
    desk.finished(1, Outcome::done(""));
    desk.release_progress();
    assert_eq!(sent(&mut desk), "complete 1");
}

#[test]
fn an_oversize_result_is_a_permanent_failure() {
    let mut desk = desk(1, AT_LEAST, &[1]);
    start_all(&mut desk);
    desk.finished(1, Outcome::done(vec![0; (1 << 20) + 1]));
    assert_eq!(sent(&mut desk), "ack 1, fail 1");
}
