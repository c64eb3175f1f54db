//! One history with a bit of everything, kept as text: a change of decisions shows up in review.
//! After a wanted change run the test with `UPDATE_EXPECT=1`.

use std::fmt::Write;
use std::path::Path;

use bellwether_core::Command;
use bellwether_core::model::{Config, Epoch, JobSpec, Submission, TraceParent, WorkerSpec};
use bellwether_journal::file::FileOptions;
use bellwether_journal::{FileJournal, Journal, state};
use expect_test::expect_file;

use crate::script::{World, name, run};

const SCRIPT: &str = "
    worker w1 slots=2 zone=east class=slow; worker w2 slots=2 zone=west class=fast
    worker w3 role=painter loads model=sdxl cpu=4000 memory=1000; worker w4 role=painter loads
    config shadow=round_robin duration=tiny:10ms
    run r: fetch type=io, clean after=fetch, train after=clean priority=high, report after=train+clean
    submit p1 role=painter model=sdxl cpu=2000; submit p2 role=painter model=sdxl cpu=2000
    submit t1 type=tiny; submit t2 type=tiny; submit t3 type=tiny; submit t4 type=tiny
    ack fetch; ack p1; ack t1; ack t2
    wait 20ms; complete t1; complete t2
    wait 600ms; ack t3; ack t4; complete t3; complete t4
    submit pay guarantee=exactly_once key=invoice-7; submit pay guarantee=exactly_once key=invoice-7
    submit mail guarantee=at_most_once delay=2s
    claim pay; complete fetch; ack clean; complete pay result=paid
    wait 3s
    ack mail; fail mail error=bounced
    ack clean; progress clean permille=300 note=scrubbing; fail clean
    wait 1s; ack clean; complete clean; ack train
    ack p2; loaded w4 sdxl took=3s; complete p2; complete p1
    beat w1 load=900 queue=1; drain w2
    submit poison retry=1 escalate=critical+role:painter; submit after-poison after=poison
    submit tidy after=poison on_failure=run
    fail poison; wait 2s; fail poison; wait 1s; fail poison; wait 2s; fail poison
    ack train; silence w1; silence w2
    restart
    wait 31s
    reconnect w1 new; reconnect w2
    pause t; submit late; config strategy=affinity; unpause t
    cancel late; retry poison
    wait 1s; ack poison; complete poison
    config strategy=round_robin hold_max=0
    submit x1; submit x2; submit x3; submit x4; submit x5
    predictor fails; submit y1; submit y2; submit y3; submit y4
    leave w3
    restart snapshot
    wait 12s
";

#[test]
fn the_golden_history_is_as_it_was() {
    let (world, _) = run(World::new(Config::default()), SCRIPT);
    world.check_promises();
    let mut text = String::new();
    for entry in &world.journal {
        let at = entry.at.since(crate::script::START);
        let parent = entry.parent.map_or("-".to_owned(), |parent| parent.to_string());
        writeln!(text, "{:>4} {at} <{parent} {}", entry.seq, world.telling(entry)).unwrap();
    }
    expect_file!["history.txt"].assert_eq(&text);
}

/// Goes on from there, until there is one of every state that a job or a worker can be in.
const MORE: &str = "
    predictor works
    config strategy=predictive shadow=least_loaded hold_max=8 hedge_budget_permille=200
    worker m1 slots=4 class=fast cap=avx+gpu; worker m2 slots=4 class=slow; worker m3; worker m4
    worker m5 slots=2 class=slow cpu=8000 memory=64000; worker m6 role=till slots=30
    worker m7 role=twin slots=30; worker m8 role=twin slots=30
    run dag: d1 type=io sender=etl, d2 after=d1 type=io sender=etl, d3 after=d2+d1, d4 after=d3
    run done: e1 type=io sender=etl, e2 after=e1 type=io
    ack d1; ack e1; wait 40ms; complete e1; wait 5ms; ack e2; wait 70ms; complete e2
    submit nap delay=1h; submit later not_before=9h tags=cheap+night node=n key=night-1
    submit perm; ack perm; fail perm permanently; submit doomed after=perm
    submit gone; cancel gone
    submit once guarantee=at_most_once; ack once; fail once
    submit dead retry=0; fail dead; submit below after=dead
    submit esc retry=0 escalate=high+role:painter; fail esc
    submit back; return back after=2h
    submit again retry=3; fail again
    beat m2 load=1500 queue=9 overloaded; drain m3; leave m4
    submit lost timeout=1h receiver=m5; ack lost; silence m5; wait 32s
    submit stuck role=nobody; submit capable cap=quantum; submit giant cpu=64000 memory=9000000
    pause frozen; submit f1 f2 type=frozen payload_bytes=300
    submit pinned role=nobody; pin pinned w1
    submit paid guarantee=exactly_once key=invoice-8 type=pay role=till; claim paid
    submit busy type=long timeout=3h role=till sender=web; ack busy; progress busy permille=250 note=half
    submit slow role=twin type=novel; wait 600ms; submit fresh role=twin
    predictor fails; submit z1; submit z2; submit z3; submit z4; submit z5
";

/// A history after which the state has something in every place.
fn rich() -> World {
    let mut world = World::new(Config::default());
    let mut spec = WorkerSpec::new(name("keyed"), 1);
    spec.public_key = Some(bellwether_core::model::WorkerKey([7; 32]));
    spec.endpoint = "http://10.0.0.9:7000".to_owned();
    world.register(spec, vec![]);
    let mut job = JobSpec::new(name("traced"), name("t"));
    job.extras_mut().trace_parent =
        Some(TraceParent { trace_id: [1; 16], span_id: [2; 8], flags: 1 });
    job.extras_mut().input_bytes = Some(5 << 20);
    job.payload = "{\"width\":100}".into();
    world.send(Command::Submit(Submission::one(job)));
    let (world, _) = run(world, SCRIPT);
    run(world, MORE).0
}

/// Run once for each format, never again for an old one: `crates/journal/tests/golden.rs` opens what
/// it writes.
#[test]
#[ignore = "writes the golden snapshot and journal"]
fn write_the_golden_state() {
    let world = rich();
    world.check_promises();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../journal/tests/golden");
    let name = format!("v{}.snapshot", state::FORMAT);
    std::fs::write(golden.join(name), state::encode(world.engine.state())).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut journal = FileJournal::open(dir.path(), FileOptions::default()).unwrap();
    for entries in world.journal.chunks(40) {
        journal.append(Epoch(1), journal.head().seq, entries).unwrap();
    }
    drop(journal);
    let bytes = std::fs::read(dir.path().join("journal-00000000000000000000.log")).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    std::fs::write(golden.join("rich.journal"), &bytes[..end]).unwrap();
}
