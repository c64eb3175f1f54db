//! Recorded decisions are what the state before them leads to, with or without the terms that
//! older journals do not have.

use bellwether_core::event::{Decision, Event, Loser};
use bellwether_core::model::{Config, Timestamp};
use bellwether_core::verify::Mismatch;
use bellwether_core::why::Because;
use bellwether_core::{Engine, Entry, Lack};
use expect_test::expect;

use crate::script::{World, run};

const SCRIPT: &str = "
    worker w1 slots=2 class=slow; worker w2 slots=2 class=fast
    config shadow=round_robin duration=t:100ms
    submit a; submit b; submit c; submit d
    ack a; ack b; ack c; ack d
    wait 50ms; complete a; complete b; complete c; complete d
    submit e; submit f
    wait 600ms
";

fn changed(change: impl Fn(&mut Decision)) -> Vec<Entry> {
    let (world, _) = run(World::new(Config::default()), SCRIPT);
    let mut journal = world.journal;
    for entry in &mut journal {
        if let Event::Assigned { decision, .. } = &mut entry.event {
            change(decision);
        }
    }
    journal
}

fn mismatches(journal: &[Entry]) -> Vec<Mismatch> {
    let mut engine = Engine::new(Config::default());
    journal.iter().filter_map(|entry| engine.verify(entry).err()).collect()
}

#[test]
fn every_decision_comes_out_again() {
    assert_eq!(mismatches(&changed(|_| ())), []);
}

#[test]
fn decisions_of_before_terms_were_recorded_come_out_again() {
    let old = changed(|decision| {
        decision.basis = None;
        for Loser { finish, terms, .. } in &mut decision.losers {
            (*finish, *terms) = Default::default();
        }
    });
    assert_eq!(mismatches(&old), []);
}

#[test]
fn a_changed_decision_is_told_with_what_it_must_be() {
    let forged = changed(|decision| decision.score.0 += i64::from(decision.losers.len() == 1));
    let found = mismatches(&forged);
    let first = found.first().expect("some decisions had a loser").to_string();
    expect!["the decision at 5 placed job 1 on worker 1; recomputed: the same worker, with score Score(900000), not Score(900001)"]
        .assert_eq(&first);
}

#[test]
fn what_must_be_decided_next_is_known() {
    let journal = changed(|_| ());
    let mut engine = Engine::new(Config::default());
    let is_decision = |entry: &&Entry| matches!(entry.event, Event::Assigned { .. });
    for entry in journal.iter().take_while(|entry| !is_decision(entry)) {
        engine.replay(entry);
    }
    expect![[r#"Some("job a on worker w1, score 900000")"#]]
        .assert_eq(&format!("{:?}", engine.expected_decision(Timestamp(0))));
}

#[test]
fn terms_of_a_decision_add_up_to_its_score() {
    for entry in changed(|_| ()) {
        let Event::Assigned { decision, .. } = entry.event else { continue };
        let basis = decision.basis.expect("it is recorded");
        let weights = basis.weights;
        let sum = |wait: i64, load: i64| {
            (i64::from(weights.wait) * wait
                + i64::from(weights.load) * load
                + i64::from(weights.priority) * basis.priority.0)
                / 1_000
        };
        assert_eq!(sum(basis.terms.wait.0, basis.terms.load.0), decision.score.0);
        for loser in decision.losers {
            assert_eq!(sum(loser.terms.wait.0, loser.terms.load.0), loser.score.0);
        }
    }
}

#[test]
fn another_shadow_policy_starts_afresh() {
    let script = format!("{SCRIPT}\nconfig shadow=round_robin strategy=random");
    let (world, _) = run(World::new(Config::default()), &script);
    assert!(world.engine.state().shadow().decisions > 0, "the same shadow goes on");
    let script = format!("{SCRIPT}\nconfig shadow=least_loaded");
    let (world, _) = run(World::new(Config::default()), &script);
    assert_eq!(world.engine.state().shadow().decisions, 0);
}

#[test]
fn a_waiting_job_is_expected_once_what_it_waits_for_is_done() {
    let script = "
        config duration=t:10s
        worker w1 slots=2; run r: a, b after=a, c after=a+b
        ack a; wait 4s
    ";
    let (world, _) = run(World::new(Config::default()), script);
    let state = world.engine.state();
    let why = |id: &str| state.why(state.job_no(id).expect("it was submitted"), world.now);
    let left = |id: &str| why(id).expected_start.expect("clocks bring it").since(world.now);
    assert_eq!(left("b").to_string(), "5.9 s");
    assert_eq!(left("c").to_string(), "15.9 s");
}

#[test]
fn everything_that_the_nearest_worker_lacks_is_named() {
    let script = "worker w1 cap=x cpu=1000; submit a cap=x+y cpu=2000";
    let (world, _) = run(World::new(Config::default()), script);
    let state = world.engine.state();
    let why = state.why(state.job_no("a").expect("it was submitted"), world.now);
    let Because::Impossible { lacks, .. } = &why.because else { panic!("{why}") };
    let [Lack::Capability(name), Lack::Cpu { wanted: 2_000, has: 1_000 }] = &lacks[..] else {
        panic!("{lacks:?}")
    };
    assert_eq!(name.as_str(), "y");
    let fleet = why.fleet.as_ref().expect("only a worker is missing");
    assert_eq!((fleet.present, fleet.able), (1, 0));
}
