//! Determinism: the same commands, the same events; and a restart changes nothing but terms.

use bellwether_core::why::Because;
use bellwether_journal::state;
use proptest::prelude::*;

use super::history::{Step, steps, take, tight};
use crate::script::{World, hash, restored};

fn play(steps: &[Step]) -> World {
    let mut world = World::new(tight());
    for step in steps {
        take(&mut world, step);
    }
    world
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Replay, snapshot and verification agree with the live engine.
    #[test]
    fn every_history_can_be_replayed_and_verified(steps in steps(120)) {
        play(&steps).check_promises();
    }

    #[test]
    fn the_same_commands_give_the_same_events(steps in steps(50)) {
        let (one, other) = (play(&steps), play(&steps));
        prop_assert_eq!(&one.journal, &other.journal);
        prop_assert_eq!(hash(&one.engine), hash(&other.engine));
    }

    /// An engine from a snapshot and one from the journal go on alike.
    #[test]
    fn a_restart_from_either_side_goes_on_alike(
        before in steps(60),
        after in steps(30),
    ) {
        let mut from_snapshot = play(&before);
        let mut from_journal = play(&before);
        from_snapshot.restart_from_snapshot();
        from_journal.restart();
        for step in &after {
            take(&mut from_snapshot, step);
            take(&mut from_journal, step);
            prop_assert_eq!(from_snapshot.journal.last(), from_journal.journal.last(), "{:?}", step);
        }
        prop_assert_eq!(&from_snapshot.journal, &from_journal.journal);
        from_snapshot.check_promises();
    }

    /// While no time passes, not even terms differ: the restarted engine decides as the live one.
    /// Unless somebody is held for a faster worker: whether that still pays is looked at now and
    /// then, and at once after a restart.
    #[test]
    fn a_restarted_engine_decides_as_the_live_one(
        before in steps(60),
        after in steps(20),
    ) {
        let mut live = play(&before);
        let mut again = play(&before);
        if holds_somebody(&live) || is_silent(&live) {
            return Ok(());
        }
        // A restart is an absence since the last event, which is to be none.
        let away = live.now.since(live.engine.state().event_time());
        if away > live.engine.state().config().away_after() {
            return Ok(());
        }
        let ticked = (live.tick().batch, again.restart_from_snapshot().batch);
        prop_assert_eq!(ticked.0, ticked.1);
        for step in after.iter().filter(|step| !takes_time(step)) {
            take(&mut live, step);
            take(&mut again, step);
            prop_assert_eq!(live.journal.last(), again.journal.last(), "{:?}", step);
        }
        prop_assert_eq!(&live.journal, &again.journal);
    }

    /// Damaged bytes are refused or give some state; they never end the process.
    #[test]
    fn a_damaged_snapshot_is_no_panic(steps in steps(20), cut in 0..2_000usize) {
        let snapshot = state::encode(play(&steps).engine.state());
        let cut = cut % snapshot.len();
        prop_assert!(state::decode(&snapshot[..cut]).is_err());
    }
}

fn holds_somebody(world: &World) -> bool {
    let state = world.engine.state();
    state.jobs().any(|(no, _)| {
        matches!(state.why(no, world.now).because, Because::Held { .. } | Because::Next { .. })
    })
}

fn takes_time(step: &Step) -> bool {
    matches!(step, Step::Wait(_) | Step::Work(_))
}

#[test]
fn a_restored_engine_has_the_same_hash_again() {
    let world = World::new(tight());
    assert_eq!(hash(&restored(&restored(&world.engine))), hash(&world.engine));
}

/// That a silent worker has spoken is not known for good before the next tick.
fn is_silent(world: &World) -> bool {
    world.engine.state().workers().any(|(_, worker)| worker.silent_since.is_some())
}
