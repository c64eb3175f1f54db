//! One history with a bit of everything, kept as text: a change of decisions shows up in review.
//! After a wanted change run the test with `UPDATE_EXPECT=1`.

use std::fmt::Write;

use bellwether_core::model::Config;
use expect_test::expect_file;

use crate::script::{World, run};

const SCRIPT: &str = "
    worker w1 slots=2 zone=east class=slow; worker w2 slots=2 zone=west class=fast
    worker w3 role=painter loads model=sdxl cpu=4000 memory=1000; worker w4 role=painter loads
    config shadow=round_robin duration=tiny:10ms
    run r: fetch type=io, clean after=fetch, train after=clean priority=high, report after=train+clean
    submit p1 role=painter model=sdxl cpu=2000; submit p2 role=painter model=sdxl cpu=2000
    submit t1 type=tiny; submit t2 type=tiny; submit t3 type=tiny; submit t4 type=tiny
    ack fetch; ack p1; ack t1; ack t2
    wait 20ms; complete t1; complete t2
    wait 600ms
    submit pay guarantee=exactly_once key=invoice-7; submit pay guarantee=exactly_once key=invoice-7
    submit mail guarantee=at_most_once delay=2s
    claim pay; complete fetch; complete pay result=paid
    wait 3s
    ack mail; fail mail error=bounced
    ack clean; progress clean permille=300 note=scrubbing; fail clean
    wait 2s; ack clean; complete clean
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
