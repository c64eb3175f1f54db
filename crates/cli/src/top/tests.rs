//! Frames of fixed data, and what keys do.

use bellwether_sdk::v1;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use expect_test::expect;

use super::app::{App, Focus, Wish};
use super::frame;
use super::gather::Seen;

const NOW: u64 = 1_800_000_000_000_000;

fn worker(id: &str, status: v1::WorkerStatus, held: usize) -> v1::Worker {
    let spec = v1::WorkerSpec { id: id.to_owned(), slots: 4, ..Default::default() };
    let held_job = |n| v1::HeldJob { id: format!("job-{n}"), ..Default::default() };
    v1::Worker {
        status: status.into(),
        spec: Some(spec),
        beat: Some(v1::Heartbeat { load_permille: 450, ..Default::default() }),
        held: (0..held).map(held_job).collect(),
        busy: 61_000_000,
        ..Default::default()
    }
}

fn job(id: &str, state: v1::JobState) -> v1::Job {
    let requirements = v1::Requirements { r#type: "resize".to_owned(), ..Default::default() };
    let spec =
        v1::JobSpec { id: id.to_owned(), requirements: Some(requirements), ..Default::default() };
    let submitted_at = NOW - 2_500_000;
    v1::Job { state: state.into(), spec: Some(spec), submitted_at, ..Default::default() }
}

fn seen() -> Seen {
    let candidate = |worker: &str, score| v1::Candidate {
        worker: worker.to_owned(),
        score,
        ..Default::default()
    };
    let decision = v1::ExplainedDecision {
        job_id: "job-1".to_owned(),
        r#type: "resize".to_owned(),
        worker: "w2".to_owned(),
        reason: Some(v1::Reason {
            kind: v1::reason::Kind::PredictedBest.into(),
            ..Default::default()
        }),
        predicted_duration: 1_200_000,
        candidates: vec![candidate("w2", 900_000), candidate("w1", 750_000)],
        runner_up: Some(v1::RunnerUp {
            worker: "w1".to_owned(),
            behind: 150_000,
            term: v1::ScoreTerm::Load.into(),
        }),
        ..Default::default()
    };
    let count = |state: v1::JobState, count| v1::StateCount { state: state.into(), count };
    Seen {
        at_micros: NOW,
        status: v1::StatusResponse {
            version: "0.1.0".to_owned(),
            role: v1::SchedulerRole::Alone.into(),
            position: 1_234,
            jobs: vec![count(v1::JobState::Ready, 7), count(v1::JobState::Completed, 90)],
            workers: 2,
            slots: 8,
            slots_used: 3,
            strategy: v1::Strategy::Predictive.into(),
            predictor: v1::PredictorKind::Auto.into(),
            breaker: v1::BreakerState::Closed.into(),
            paused_types: vec!["encode".to_owned()],
            ..Default::default()
        },
        workers: vec![
            worker("w1", v1::WorkerStatus::Busy, 3),
            worker("w2", v1::WorkerStatus::Draining, 0),
        ],
        jobs: vec![job("job-9", v1::JobState::Ready), job("job-1", v1::JobState::Running)],
        decisions: vec![decision],
        waits: vec![4_000, 9_000, 120_000],
    }
}

fn app() -> App {
    let mut app = App::default();
    let mut before = seen();
    before.at_micros -= 1_000_000;
    before.status.jobs[1].count = 50;
    app.see(before);
    app.see(seen());
    app
}

fn press(app: &mut App, code: KeyCode) -> Option<Wish> {
    app.press(KeyEvent::new(code, KeyModifiers::NONE))
}

#[test]
fn a_frame_shows_queue_rates_workers_and_decisions() {
    expect![[r#"
        ┌ bellwether 0.1.0 · alone · position 1234 ────────────────────────────────────────────────────────┐
        │7 ready, 90 completed  paused: encode                                                             │
        │2 workers, 3 of 8 slots in use  placing by predictive with auto, breaker closed  queue 0% filled  │
        └──────────────────────────────────────────────────────────────────────────────────────────────────┘
        ┌ queue 7 ──────────────────────┐┌ completed 40.0/s ──────────────┐┌ wait p50 9.00 ms, p99 120 ms ─┐
        │██                             ││█                               ││██                             │
        │██                             ││█                               ││██                             │
        │██                             ││█                               ││██                             │
        └───────────────────────────────┘└────────────────────────────────┘└───────────────────────────────┘
        ┌────────────────────────────────────────────────┐┌────────────────────────────────────────────────┐
        │worker status      slots          load  worked  ││job                 type      state     age     │
        │w1     busy        ██████░░ 3/4   45%   61.0 s  ││job-9               resize    ready     2.5 s   │
        │w2     draining    ░░░░░░░░ 0/4   45%   61.0 s  ││job-1               resize    running   2.5 s   │
        │                                                ││                                                │
        │                                                ││                                                │
        │                                                ││                                                │
        └────────────────────────────────────────────────┘└────────────────────────────────────────────────┘
        ┌──────────────────────────────────────────────────────────────────────────────────────────────────┐
        │decision for             worker       because             score  takes    runner-up               │
        │job-1                    w2           predicted_best      0.900  1.2 s    w1 0.150 behind in load │
        │                                                                                                  │
        │                                                                                                  │
        └──────────────────────────────────────────────────────────────────────────────────────────────────┘
        tab list  ↑↓ line  e explain  c cancel  p pause type  r resume  d drain  u undrain  q quit
    "#]].assert_eq(&frame(&app(), 100, 24).expect("it is drawn in memory"));
}

#[test]
fn keys_act_on_the_chosen_line() {
    let mut app = app();
    assert_eq!(press(&mut app, KeyCode::Char('d')), Some(Wish::Drain("w1".to_owned())));
    assert_eq!(press(&mut app, KeyCode::Down), None);
    assert_eq!(press(&mut app, KeyCode::Char('u')), Some(Wish::Undrain("w2".to_owned())));
    assert_eq!(press(&mut app, KeyCode::Char('p')), None);
    assert_eq!(press(&mut app, KeyCode::Tab), None);
    assert_eq!(app.focus, Focus::Jobs);
    assert_eq!(press(&mut app, KeyCode::Char('p')), Some(Wish::Pause("resize".to_owned())));
    assert_eq!(press(&mut app, KeyCode::Char('r')), Some(Wish::Unpause("encode".to_owned())));
    assert_eq!(press(&mut app, KeyCode::Char('e')), Some(Wish::Explain("job-9".to_owned())));
    assert_eq!(press(&mut app, KeyCode::Char('q')), Some(Wish::Quit));
}

#[test]
fn a_job_is_cancelled_only_after_a_yes() {
    let mut app = app();
    press(&mut app, KeyCode::Tab);
    assert_eq!(press(&mut app, KeyCode::Char('c')), None);
    assert!(frame(&app, 100, 24).expect("it is drawn in memory").contains("cancel job-9? y/n"));
    assert_eq!(press(&mut app, KeyCode::Char('n')), None);
    press(&mut app, KeyCode::Char('c'));
    assert_eq!(press(&mut app, KeyCode::Char('y')), Some(Wish::Cancel("job-9".to_owned())));
}

#[test]
fn an_explanation_lies_over_the_rest_until_it_is_closed() {
    let mut app = app();
    app.explained = Some("job-9 waits for slots".to_owned());
    assert!(frame(&app, 100, 24).expect("it is drawn in memory").contains("job-9 waits for slots"));
    assert_eq!(press(&mut app, KeyCode::Esc), None);
    assert!(!frame(&app, 100, 24).expect("it is drawn in memory").contains("waits for slots"));
    assert_eq!(press(&mut app, KeyCode::Esc), Some(Wish::Quit));
}
