//! Workers that may be faster than is known are tried, and those that prove slower lose their jobs.

use bellwether_core::model::Config;

use crate::script::{World, run};

/// What the script ends with.
fn last_line(script: &str) -> String {
    let config = Config { prefetch: 0, ..Config::default() };
    let (world, output) = run(World::new(config), script);
    world.check_promises();
    output.lines().last().unwrap_or_default().to_owned()
}

fn ran(id: &str, kind: &str, worker: &str, seconds: u32) -> String {
    format!("submit {id} type={kind} receiver={worker}; ack {id}; wait {seconds}s; complete {id}\n")
}

#[test]
fn a_class_that_has_not_run_a_type_is_given_one_job_to_show_how_fast_it_is() {
    // The other has been busier, and is as fast for all that is known.
    let past = format!(
        "worker w1 class=one; worker w2 class=two\n{}{}--\n",
        ran("o", "other", "w2", 30),
        ran("a", "t", "w1", 10)
    );
    let tried = last_line(&format!("{past}submit b type=t; decision b"));
    assert!(tried.contains("w2 by predictive: to learn"), "{tried}");
    let found_slow = format!("{past}submit b type=t; ack b; wait 20s; complete b\n");
    let settled = last_line(&format!("{found_slow}submit c type=t; decision c"));
    assert!(settled.contains("w1 by predictive: predicted best"), "{settled}");
}

#[test]
fn what_workers_measure_of_themselves_counts_from_the_first_job() {
    let fleet = "worker w1 class=one speed=500; worker w2 class=two speed=2000\n--\n";
    let first = last_line(&format!("{fleet}submit a; decision a"));
    assert!(first.contains("w2 by predictive: predicted best"), "{first}");
    // Of one class, too.
    let fleet = "worker w1 speed=1000; worker w2 speed=1000; worker w3 speed=4000\n--\n";
    let first = last_line(&format!("{fleet}submit a; decision a"));
    assert!(first.contains("w3 by predictive: predicted best"), "{first}");
}

#[test]
fn a_worker_ten_times_slower_than_its_class_loses_its_jobs() {
    let mut script = "worker w1; worker w2\n".to_owned();
    for round in 0..8 {
        for n in 0..12 {
            script += &ran(&format!("q{round}-{n}"), "t", "w1", 1);
        }
        script += &ran(&format!("s{round}"), "t", "w2", 10);
    }
    // It was less busy in all, so it would be the next one otherwise.
    let next = last_line(&format!("{script}--\nsubmit a type=t; decision a"));
    assert!(next.contains("w1 by predictive: predicted best"), "{next}");
}

#[test]
fn a_worker_four_times_faster_than_its_class_gets_the_jobs() {
    let mut script = format!("worker w1; worker w2\n{}", ran("o", "other", "w2", 900));
    for round in 0..20 {
        for n in 0..4 {
            script += &ran(&format!("u{round}-{n}"), "t", "w1", 4);
        }
        script += &ran(&format!("f{round}"), "t", "w2", 1);
    }
    // It was busier in all, so it would not be the next one otherwise.
    let next = last_line(&format!("{script}--\nsubmit a type=t timeout=1h; decision a"));
    assert!(next.contains("w2 by predictive: predicted best"), "{next}");
}
