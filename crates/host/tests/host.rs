//! What a host gives out, and when, in each of its states.

mod world;

use bellwether_core::model::{
    Config, Epoch, JobId, JobNo, JobSpec, Micros, Name, Seq, Submission, Timestamp, WallAhead,
    WorkerId, WorkerSpec, WorkerStatus,
};
use bellwether_core::{Command, Engine, Report};
use bellwether_host::{
    BATCHES_IN_FLIGHT_MAX, Failure, Host, Mode, NumberedReport, Observer, Reading, Registration,
    Reply, ReportNumber, SessionInput, SessionKey, SnapshotRule, SnapshotWork, Unavailable,
    Unobserved,
};
use bellwether_journal::{Head, Journal as _, MemoryJournal, MemoryStore, Reader as _, state};

use self::world::{TestEdge, World, reading};

#[test]
fn nobody_is_answered_before_it_is_durable_and_questions_neither() {
    let mut world = World::new(Config::default());
    world.submit("a");
    world.host.handle_look("look");
    world.submit("a");
    let batch = world.host.poll_batch().unwrap();
    assert_eq!(world.answers(), [""; 0]);
    world.append(&batch);
    assert_eq!(world.answers(), ["a done", "look Ok(())", "a rejected"]);
}

#[test]
fn a_snapshot_is_of_where_a_batch_ends_and_nobody_waits_for_it() {
    let mut world = World::new(Config::default());
    world.submit("a");
    world.host.handle_snapshot_wish("snapshot");
    let first = world.host.poll_batch().unwrap();
    let frozen = state::encode(world.host.state());
    world.submit("b");
    assert!(!world.host.must_wait());
    // The chain is known where an append ends, so nothing may be joined to this one.
    assert!(world.host.poll_batch().is_none() && world.host.poll_snapshot().is_none());
    world.append(&first);
    let (head, bytes) = world.take_snapshot();
    assert!(bytes == frozen, "it is of another moment");
    assert_eq!(head.seq, first.last().unwrap().seq);
    assert!(world.host.handle_snapshot_saved(head, true).is_some());
    assert!(world.answers().contains(&format!("snapshot {}", head.seq)));
}

#[test]
fn a_snapshot_of_a_state_that_is_rebuilt_is_abandoned_and_taken_again() {
    let mut world = World::new(Config::default());
    world.host.handle_snapshot_wish("snapshot");
    assert!(world.host.poll_batch().is_none());
    let Some(SnapshotWork::Begin(head)) = world.host.poll_snapshot() else { panic!("it is begun") };
    world.host.handle_failure(Failure::Unknown);
    assert!(matches!(world.host.poll_snapshot(), Some(SnapshotWork::Abandon)));
    assert_eq!(world.host.handle_snapshot_saved(head, false), None);
    world.rebuild();
    world.append_all();
    let (head, bytes) = world.take_snapshot();
    assert_eq!(state::decode(&bytes).unwrap().last_seq(), head.seq);
    world.host.handle_snapshot_saved(head, false);
    assert!(world.answers().contains(&"snapshot not_saved".to_owned()));
}

/// What a host does that has just replayed so many events behind its last snapshot, of which one is a twentieth of
/// what is between two.
fn started_with(replayed: u64) -> Vec<SnapshotWork> {
    let mut world = World::new(Config::default());
    let spec = WorkerSpec::new(WorkerId::fixed("w1"), 1);
    let register = Command::Register { spec, held: vec![], admission: Default::default() };
    world.host.handle_commands(vec![register], None, "w1", &mut Unobserved);
    world.append_all();
    let mut engine = Engine::new(Config::default());
    let mut head = Head::default();
    for record in world.journal.read(Seq(1)).expect("a journal in memory can be read") {
        let record = record.expect("its records are sound");
        record.entries.iter().for_each(|entry| engine.replay(entry));
        head = record.head();
    }
    let saved = Seq(head.seq.0.saturating_sub(replayed));
    let mut host: Host<TestEdge> = Host::new(engine, head, saved, SnapshotRule::every(20));
    host.save_as_follower();
    host.poll_snapshot().into_iter().collect()
}

#[test]
fn whoever_had_much_to_replay_saves_it_at_once() {
    assert!(started_with(0).is_empty(), "there is nothing new");
    assert!(matches!(started_with(1)[..], [SnapshotWork::Begin(_)]));
}

#[test]
fn at_most_two_batches_are_out_and_each_answers_for_itself() {
    let mut world = World::new(Config::default());
    world.submit("a");
    let first = world.host.poll_batch().unwrap();
    world.submit("b");
    let second = world.host.poll_batch().unwrap();
    world.submit("c");
    assert_eq!(BATCHES_IN_FLIGHT_MAX, 2);
    assert!(world.host.poll_batch().is_none());
    world.append(&first);
    assert_eq!(world.answers(), ["a done"]);
    world.append(&second);
    world.append_all();
    assert_eq!(world.answers(), ["b done", "c done"]);
}

#[test]
fn a_full_disk_refuses_until_there_is_space_and_keeps_the_settings() {
    let settings = Config { max_retry: 9, ..Config::default() };
    let mut world = World::new(settings.clone());
    let live = Config { max_retry: 11, ..settings };
    let configure = Command::Configure { config: Box::new(live.clone()), expected_version: None };
    world.host.handle_commands(vec![configure], None, "set", &mut Unobserved);
    world.append_all();
    world.store.limit(Some(0));
    world.submit("a");
    world.append_all();
    assert_eq!(world.answers(), ["set done", "a disk_full"]);
    assert!(world.host.must_wait(), "what comes waits for the state");
    world.rebuild();
    world.submit("b");
    assert_eq!(world.answers(), ["b disk_full"]);
    let probe_at = world.host.next_deadline().unwrap();
    assert!(!world.host.must_probe());
    world.pass(probe_at.since(world.host.now()));
    assert!(world.host.must_probe());
    world.store.limit(None);
    world.host.handle_probe(true, &mut Unobserved);
    world.submit("c");
    world.append_all();
    assert_eq!(world.answers(), ["c done"]);
    assert_eq!(*world.host.state().config(), live);
}

#[test]
fn an_open_outcome_is_told_as_unknown_and_a_clean_failure_as_unchanged() {
    for (failure, told) in [(Failure::Unknown, "outcome_unknown"), (Failure::Misplaced, "rebuilt")]
    {
        let mut world = World::new(Config::default());
        world.submit("a");
        world.host.poll_batch().unwrap();
        world.host.handle_failure(failure);
        assert_eq!(world.answers(), [format!("a {told}")]);
        world.rebuild();
        world.submit("b");
        world.append_all();
        assert_eq!(world.answers(), ["b done"]);
    }
}

#[test]
fn a_host_that_another_has_deposed_falls_silent() {
    let mut world = World::new(Config::default());
    world.submit("a");
    let batch = world.host.poll_batch().unwrap();
    MemoryJournal::open(&world.store).unwrap();
    world.append(&batch);
    assert_eq!(world.host.mode(), Mode::Deposed);
    world.submit("b");
    world.host.handle_look("look");
    assert_eq!(world.answers(), ["a outcome_unknown", "b not_leader", "look Err(\"not_leader\")"]);
    assert!(world.host.poll_batch().is_none() && world.host.next_deadline().is_none());
    world.host.handle_durable(world.journal.head(), &batch, &mut Unobserved);
    assert_eq!(world.answers(), [""; 0]);
}

#[test]
fn the_settings_of_a_first_start_hold_although_its_first_append_fails() {
    for failure in [Failure::Full, Failure::Misplaced] {
        let store = MemoryStore::new();
        let journal = MemoryJournal::open(&store).unwrap();
        let engine = Engine::new(Config::default());
        let mut host = Host::new(engine, Head::default(), Seq(0), SnapshotRule::every(1_000_000));
        let settings = Config { max_retry: 9, ..Config::default() };
        host.reign(reading(1), journal.epoch(), Some(settings), &mut Unobserved);
        let mut world = World { host, store, journal, now: 1 };
        world.host.poll_batch().unwrap();
        world.host.handle_failure(failure);
        world.rebuild();
        world.pass(Micros::from_secs(1));
        world.host.handle_probe(true, &mut Unobserved);
        world.append_all();
        assert_eq!(world.host.state().config().max_retry, 9, "{failure:?}");
        world.rebuild();
        assert_eq!(world.host.state().config().max_retry, 9, "{failure:?}");
    }
}

#[test]
fn a_follower_applies_and_reigns_with_the_settings_of_the_journal() {
    let mut world = World::new(Config { max_retry: 9, ..Config::default() });
    world.submit("a");
    world.append_all();
    let engine = Engine::new(Config { ..Config::default() });
    let mut follower: Host<TestEdge> =
        Host::new(engine, Head::default(), Seq(0), SnapshotRule::every(1_000_000));
    for record in world.journal.read(Seq(1)).expect("a journal in memory can be read") {
        let record = record.expect("its records are sound");
        follower.handle_entries(&record.entries, record.head());
    }
    follower.handle_commands(vec![Command::Tick], None, "tick", &mut Unobserved);
    let Some(Reply::Settled("tick", Err(why))) = follower.poll_reply() else { panic!("no answer") };
    assert_eq!(why, Unavailable::Following);
    follower.reign(reading(world.now), Epoch(2), None, &mut Unobserved);
    assert_eq!((follower.mode(), follower.epoch()), (Mode::Reigning, Epoch(2)));
    assert_eq!(follower.state().config().max_retry, 9);
    assert!(follower.state().job_no("a").is_some());
}

/// A running job on a worker that is heard of no more.
fn with_running_job(world: &mut World) {
    world.submit("a");
    let spec = WorkerSpec::new(WorkerId::fixed("w"), 1);
    let worker = spec.id.clone();
    let input = SessionInput {
        worker: worker.clone(),
        register: Some(Registration {
            spec,
            held: Vec::new(),
            connection: 0,
            admission: Default::default(),
            link: (),
            by: None,
        }),
        before: Vec::new(),
        reports: Vec::new(),
        malformed: Vec::new(),
        after: Vec::new(),
        last_report: ReportNumber(0),
    };
    world.host.handle_session(SessionKey(1), input, &mut Unobserved);
    let attempt = world.attempt();
    let report = Command::Report { worker, attempt, report: Report::Acknowledge };
    world.host.handle_commands(vec![report], None, "acknowledge", &mut Unobserved);
    world.append_all();
    assert_eq!(world.answers(), ["a done", "acknowledge done"]);
}

#[test]
fn after_an_absence_everybody_has_a_full_term_and_is_heard_before_time_passes() {
    let mut world = World::new(Config::default());
    with_running_job(&mut world);
    let lease = world.host.state().config().unreachable_after;
    world.pass(lease.times(10));
    world.host.handle_tick(|()| false, &mut Unobserved);
    for _ in 0..100 {
        world.pass(Micros(lease.0 / 110));
        world.host.handle_tick(|()| false, &mut Unobserved);
    }
    assert_eq!(world.statuses(), [WorkerStatus::Open], "it has most of a term behind it");
    for _ in 0..20 {
        world.pass(Micros(lease.0 / 110));
        world.host.handle_tick(|()| false, &mut Unobserved);
    }
    assert_eq!(world.statuses(), [WorkerStatus::Unreachable]);
}

#[test]
fn nobody_is_blamed_for_an_offer_that_a_slow_journal_has_kept_back() {
    let mut world = World::new(Config::default());
    for id in ["w1", "w2"] {
        let spec = WorkerSpec::new(WorkerId::fixed(id), 1);
        let register = Command::Register { spec, held: vec![], admission: Default::default() };
        world.host.handle_commands(vec![register], None, id, &mut Unobserved);
    }
    world.append_all();
    world.submit("a");
    let batch = world.host.poll_batch().unwrap();
    let offers = |world: &World| world.host.state().job(JobNo(1)).unwrap().offers().len();
    for _ in 0..8 {
        world.pass(Micros::from_millis(200));
        world.host.handle_tick(|()| false, &mut Unobserved);
    }
    assert_eq!(offers(&world), 1, "it has not left yet");
    world.append(&batch);
    for _ in 0..4 {
        world.pass(Micros::from_millis(200));
        world.host.handle_tick(|()| false, &mut Unobserved);
    }
    assert_eq!(offers(&world), 1, "there was no time to answer");
    for _ in 0..4 {
        world.pass(Micros::from_millis(200));
        world.host.handle_tick(|()| false, &mut Unobserved);
    }
    assert_eq!(offers(&world), 2, "now it is quiet");
}

/// Counts how often a driver was late.
#[derive(Default)]
struct Late(u32);

impl Observer for Late {
    fn late(&mut self, _away: Micros) {
        self.0 += 1;
    }

    fn slow_journal(&mut self, _took: Micros) {
        self.0 += 1;
    }
}

#[test]
fn a_driver_that_had_nothing_to_wait_for_is_not_late() {
    let mut world = World::new(Config::default());
    let mut late = Late::default();
    world.now += 3_600_000_000;
    world.host.handle_time(reading(world.now), &mut late);
    assert_eq!(late.0, 0, "nobody waited for it");
    with_running_job(&mut world);
    world.now += 3_600_000_000;
    world.host.handle_time(reading(world.now), &mut late);
    assert_eq!(late.0, 1, "a worker could have been given up");
}

#[test]
fn an_absence_while_the_journal_writes_is_counted_once() {
    let mut world = World::new(Config::default());
    with_running_job(&mut world);
    world.submit("b");
    let batch = world.host.poll_batch().unwrap();
    let mut late = Late::default();
    world.now += 60_000_000;
    world.host.handle_time(reading(world.now), &mut late);
    let journal = &mut world.journal;
    let head = journal.append(journal.epoch(), journal.head().seq, &batch).unwrap();
    world.host.handle_durable(head, &batch, &mut late);
    assert_eq!(late.0, 1);
}

#[test]
fn whoever_waits_is_told_of_a_job_that_was_forgotten_as_it_ended() {
    let mut world = World::new(Config { retain_jobs: 0, ..Config::default() });
    world.submit("a");
    world.append_all();
    world.host.handle_wait(vec![JobId::fixed("a")], false, &(), "waiting");
    let cancel = Command::Cancel { job: JobId::fixed("a"), reason: String::new() };
    world.host.handle_commands(vec![cancel], None, "cancel", &mut Unobserved);
    world.append_all();
    assert!(world.host.state().job(JobNo(1)).is_none(), "it is forgotten");
    let ((), ended) = world.host.poll_watched().expect("somebody waits");
    assert_eq!((ended.no, ended.job, ended.seq), (JobNo(1), None, world.journal.head().seq));
}

#[test]
fn a_driver_that_is_always_late_still_lets_time_pass() {
    let mut world = World::new(Config::default());
    let mut job = JobSpec::new(JobId::fixed("a"), Name::fixed("render"));
    job.extras_mut().delay = Micros::from_secs(3);
    let commands = vec![Command::Submit(Submission::one(job))];
    world.host.handle_commands(commands, None, "a", &mut Unobserved);
    for _ in 0..7 {
        world.pass(Micros::from_millis(700));
        world.host.handle_tick(|()| false, &mut Unobserved);
    }
    assert_eq!(world.host.state().ready_jobs(), 1);
}

#[test]
fn time_follows_the_monotonic_clock_and_the_wall_clock_is_a_fact() {
    let mut world = World::new(Config::default());
    let before = world.host.now();
    for (wall, ahead) in [(3_600, 3_599), (5, 3), (6, 3)] {
        world.now += 1_000_000;
        let wall = Timestamp(1 + wall * 1_000_000);
        let reading = Reading { monotonic: Micros(world.now), wall };
        world.host.handle_time(reading, &mut Unobserved);
        assert_eq!(world.host.state().wall_ahead(), WallAhead(ahead * 1_000_000));
    }
    assert_eq!(world.host.now().since(before), Micros::from_secs(3));
}

#[test]
fn a_reign_begins_where_the_journal_ends_if_the_wall_clock_is_behind_that() {
    let mut world = World::new(Config::default());
    world.pass(Micros::from_secs(100));
    world.submit("a");
    world.append_all();
    let mut engine = Engine::new(Config::default());
    for record in world.journal.read(Seq(1)).expect("a journal in memory can be read") {
        record.unwrap().entries.iter().for_each(|entry| engine.replay(entry));
    }
    let mut heir: Host<TestEdge> =
        Host::new(engine, world.journal.head(), Seq(0), SnapshotRule::every(1_000_000));
    let last = heir.state().event_time();
    heir.reign(reading(5), Epoch(2), None, &mut Unobserved);
    assert_eq!(heir.now(), last);
    heir.handle_time(reading(5_000_005), &mut Unobserved);
    assert_eq!(heir.now(), last + Micros::from_secs(5));
    let ahead = heir.state().wall_ahead();
    assert_eq!(ahead.on_the_wall(heir.now()), Timestamp(5_000_005));
}

#[test]
fn without_its_lease_a_host_tells_nothing_until_it_holds_again() {
    let mut world = World::new(Config::default());
    world.host.handle_look("look");
    world.host.handle_lease(Micros(100), Micros(100));
    assert_eq!(world.answers(), [""; 0]);
    world.submit("a");
    world.append_all();
    assert_eq!(world.answers(), [""; 0]);
    world.host.handle_lease(Micros(110), Micros(200));
    assert_eq!(world.answers(), ["look Ok(())", "a done"]);
}

#[test]
fn whoever_waits_for_a_host_that_is_deposed_is_told_that_nobody_knows() {
    let mut world = World::new(Config::default());
    world.host.handle_lease(Micros(100), Micros(100));
    world.submit("kept");
    world.append_all();
    world.host.handle_look("look");
    world.submit("open");
    world.host.handle_failure(Failure::Deposed);
    let mut told = world.answers();
    told.sort_unstable();
    assert_eq!(told, ["kept outcome_unknown", "look Err(\"not_leader\")", "open outcome_unknown"]);
}

/// What is left to tell this host's workers: what was done of their reports, or why they must go.
fn told(world: &mut World) -> Vec<String> {
    let mut told = Vec::new();
    world.host.drain_outgoing(&mut Unobserved, |(), message| {
        told.push(match message {
            Ok(message) => format!("done {}", message.reports_done.0),
            Err(end) => format!("ended: {end}"),
        });
        true
    });
    told
}

/// A worker reports and closes its side; before it is answered the lease has run out.
fn with_unanswered_report() -> World {
    let mut world = World::new(Config::default());
    with_running_job(&mut world);
    told(&mut world);
    let report = NumberedReport {
        number: ReportNumber(1),
        attempt: world.attempt(),
        report: Report::Progress { permille: 1, note: String::new() },
    };
    let input = SessionInput {
        worker: WorkerId::fixed("w"),
        register: None,
        before: Vec::new(),
        reports: vec![report],
        malformed: Vec::new(),
        after: Vec::new(),
        last_report: ReportNumber(1),
    };
    world.host.handle_session(SessionKey(1), input, &mut Unobserved);
    world.host.handle_session_closed(SessionKey(1));
    world.append_all();
    world.host.handle_lease(Micros(100), Micros(100));
    assert_eq!(told(&mut world), [""; 0]);
    world
}

#[test]
fn a_report_that_waits_for_the_lease_is_answered_by_nobody_who_was_deposed() {
    let mut world = with_unanswered_report();
    world.host.handle_lease(Micros(110), Micros(200));
    assert_eq!(told(&mut world), ["done 1"]);

    let mut world = with_unanswered_report();
    world.host.handle_failure(Failure::Deposed);
    let told_at_last = told(&mut world);
    assert!(told_at_last.iter().all(|told| told.starts_with("ended")), "{told_at_last:?}");

    let mut world = with_unanswered_report();
    world.host.handle_stop();
    let told_at_last = told(&mut world);
    assert!(told_at_last.iter().all(|told| told.starts_with("ended")), "{told_at_last:?}");
}

#[test]
fn a_host_that_stepped_down_follows_and_reigns_again() {
    let mut world = World::new(Config::default());
    world.submit("a");
    world.append_all();
    world.host.handle_failure(Failure::Deposed);
    // All of it is committed, so it goes on with the state that it has.
    assert!(!world.host.is_ahead());
    world.host.follow(reading(world.now), None);
    assert_eq!(world.host.mode(), Mode::Following);
    world.answers();
    world.submit("b");
    assert_eq!(world.answers(), ["b not_leader"]);

    let mut other = MemoryJournal::open(&world.store).unwrap();
    let mut leader = Host::<TestEdge>::new(
        Engine::new(Config::default()),
        Head::default(),
        Seq(0),
        SnapshotRule::every(1_000_000),
    );
    for record in other.read(Seq(1)).unwrap() {
        let record = record.expect("its records are sound");
        leader.handle_entries(&record.entries, record.head());
    }
    leader.reign(reading(5), other.epoch(), None, &mut Unobserved);
    let job = JobSpec::new(JobId::fixed("c"), Name::fixed("render"));
    let submit = vec![Command::Submit(Submission::one(job))];
    leader.handle_commands(submit, None, "c", &mut Unobserved);
    let batch = leader.poll_batch().unwrap();
    let head = other.append(other.epoch(), other.head().seq, &batch).unwrap();
    world.host.handle_entries(&batch, head);
    world.journal = MemoryJournal::open(&world.store).unwrap();
    let epoch = world.journal.epoch();
    world.host.reign(reading(world.now), epoch, None, &mut Unobserved);
    world.append_all();
    assert!(world.host.state().job_no("c").is_some());
    world.submit("d");
    world.append_all();
    assert_eq!(world.answers(), ["d done"]);
}

#[test]
fn whoever_leads_again_forgets_how_late_it_was_when_it_led_before() {
    let mut world = World::new(Config::default());
    with_running_job(&mut world);
    let lease = world.host.state().config().unreachable_after;
    // Time passes, and nothing is written down that tells of it.
    for _ in 0..10 {
        world.pass(Micros(lease.0 / 20));
        world.host.handle_tick(|()| false, &mut Unobserved);
    }
    assert_eq!(world.host.poll_batch(), None);
    world.host.handle_failure(Failure::Deposed);
    // Meanwhile the wall clock is set back.
    let later = |micros| Reading { monotonic: Micros(micros), wall: Timestamp(1) };
    world.host.follow(later(world.now), None);
    world.host.reign(later(world.now), Epoch(2), None, &mut Unobserved);
    for _ in 0..21 {
        world.now += lease.0 / 20;
        world.host.handle_time(later(world.now), &mut Unobserved);
        world.host.handle_tick(|()| false, &mut Unobserved);
    }
    assert_eq!(world.statuses(), [WorkerStatus::Unreachable]);
}

#[test]
#[should_panic(expected = "all is durable first")]
fn a_host_that_is_ahead_does_not_follow_with_what_may_not_have_happened() {
    let mut world = World::new(Config::default());
    world.submit("a");
    world.host.handle_failure(Failure::Deposed);
    assert!(world.host.is_ahead());
    world.host.follow(reading(world.now), None);
}
