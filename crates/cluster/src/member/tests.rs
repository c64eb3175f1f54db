//! The machine alone: what comes in, what comes out.

use super::*;

const OWN: MemberId = MemberId(1);
const OTHER: MemberId = MemberId(2);
const THIRD: MemberId = MemberId(3);

fn ms(millis: u64) -> Micros {
    Micros::from_millis(millis)
}

fn voters(ids: &[u16]) -> Voters {
    Voters::new(vec![ids.iter().copied().map(MemberId).collect()])
}

fn member_of(ids: &[u16]) -> Member {
    let mut member = Member::new(OWN, 7, Timing::default(), ms(1_000));
    member.handle_voters(ms(1_000), voters(ids));
    member
}

fn acts(member: &mut Member) -> Vec<Act> {
    std::iter::from_fn(|| member.poll()).collect()
}

fn epoch(term: u64) -> Epoch {
    Epoch(term << 16 | u64::from(OWN.0))
}

/// Elected at 1500 ms in the fifth term and confirmed by one of two others.
fn reigning() -> Member {
    let mut member = member_of(&[1, 2, 3]);
    member.handle_elected(ms(1_500), epoch(5));
    member.handle_confirmed(ms(1_502), epoch(5), OTHER, ms(1_501));
    member.handle_barrier(epoch(5));
    assert!(member.handle_ready(ms(1_503), epoch(5)));
    acts(&mut member);
    member
}

#[test]
fn silence_makes_it_ask_and_a_majority_that_is_willing_makes_it_stand() {
    let mut member = member_of(&[1, 2, 3]);
    member.handle_leader(ms(1_100), OTHER, Epoch(1 << 16 | 2));
    let stand_at = member.deadline();
    assert!(stand_at >= ms(1_300), "{stand_at:?}");
    member.handle_tick(ms(1_299));
    assert_eq!(acts(&mut member), []);
    member.handle_tick(stand_at);
    assert_eq!(acts(&mut member), [Act::Ask(Round(1))]);
    member.handle_willing(Round(1), THIRD);
    assert_eq!(acts(&mut member), [Act::Elect]);
    assert_eq!(member.role(), Role::Standing);
}

#[test]
fn one_that_hears_of_a_leader_no_longer_wants_votes() {
    let mut member = member_of(&[1, 2, 3]);
    member.handle_tick(member.deadline());
    assert!(!member.wants_votes(), "nobody has answered yet");
    member.handle_willing(Round(1), THIRD);
    assert!(member.wants_votes());
    member.handle_leader(ms(1_400), OTHER, Epoch(1 << 16 | 2));
    assert!(!member.wants_votes());
}

#[test]
fn a_leader_that_is_heard_is_waited_for_again() {
    let mut member = member_of(&[1, 2, 3]);
    member.handle_leader(ms(1_100), OTHER, Epoch(1 << 16 | 2));
    let before = member.deadline();
    member.handle_leader(ms(1_150), OTHER, Epoch(1 << 16 | 2));
    assert!(member.deadline() > before);
    assert_eq!(member.leader(), Some((OTHER, Epoch(1 << 16 | 2))));
}

#[test]
fn the_word_of_an_older_leader_counts_for_nothing() {
    let mut member = member_of(&[1, 2, 3]);
    member.handle_leader(ms(1_100), OTHER, Epoch(9 << 16 | 2));
    let before = member.deadline();
    member.handle_leader(ms(1_200), THIRD, Epoch(8 << 16 | 3));
    assert_eq!((member.deadline(), member.leader()), (before, Some((OTHER, Epoch(9 << 16 | 2)))));
}

#[test]
fn members_stand_one_after_the_other() {
    let deadline = |id: u16| {
        let mut member = Member::new(MemberId(id), 7, Timing::default(), ms(0));
        member.handle_voters(ms(0), voters(&[1, 2, 3]));
        member.handle_leader(ms(100), MemberId(1), Epoch(1 << 16 | 1));
        member.deadline()
    };
    assert!(deadline(2) < deadline(3));
    assert!(deadline(2) < ms(100 + 200 + 20 + 20 + 1));
}

#[test]
fn a_named_successor_goes_first() {
    let mut member = Member::new(THIRD, 7, Timing::default(), ms(0));
    member.handle_voters(ms(0), voters(&[1, 2, 3]));
    let reign = Epoch(1 << 16 | 1);
    member.handle_leader(ms(100), MemberId(1), reign);
    member.handle_named(ms(110), Epoch(9 << 16));
    assert_eq!(acts(&mut member), [], "that is nobody's reign that it knows of");
    member.handle_named(ms(120), reign);
    assert_eq!(acts(&mut member), [Act::Ask(Round(1))], "its promise is given back");
}

#[test]
fn an_answer_to_an_earlier_round_counts_for_nothing() {
    let mut member = member_of(&[1, 2, 3]);
    member.handle_tick(member.deadline());
    member.handle_tick(member.deadline());
    assert_eq!(acts(&mut member), [Act::Ask(Round(1)), Act::Ask(Round(2))]);
    member.handle_willing(Round(1), OTHER);
    assert_eq!(acts(&mut member), []);
}

#[test]
fn a_single_member_elects_itself_and_its_lease_follows_the_time() {
    let mut member = member_of(&[1]);
    member.handle_tick(member.deadline());
    assert_eq!(acts(&mut member), [Act::Ask(Round(1)), Act::Elect]);
    member.handle_elected(ms(1_500), epoch(1));
    member.handle_barrier(epoch(1));
    assert!(member.handle_ready(ms(1_501), epoch(1)));
    acts(&mut member);
    member.handle_tick(ms(9_000));
    assert_eq!(acts(&mut member), [Act::ExtendLease(ms(9_190)), Act::Beat]);
}

#[test]
fn who_does_not_vote_never_stands() {
    let mut member = member_of(&[2, 3]);
    member.handle_tick(member.deadline());
    assert_eq!((acts(&mut member), member.role()), (vec![], Role::Learning));
}

#[test]
fn a_reign_begins_once_the_past_is_applied_and_a_majority_has_confirmed() {
    let mut member = member_of(&[1, 2, 3]);
    member.handle_elected(ms(1_500), epoch(5));
    assert!(!member.handle_ready(ms(1_501), epoch(5)), "nothing is applied");
    member.handle_barrier(epoch(5));
    assert!(!member.handle_ready(ms(1_501), epoch(5)), "nobody has confirmed it");
    member.handle_confirmed(ms(1_503), epoch(5), THIRD, ms(1_502));
    assert!(member.handle_ready(ms(1_504), epoch(5)));
    assert_eq!(acts(&mut member), [Act::Accede(epoch(5)), Act::ExtendLease(ms(1_502 + 190))]);
    assert_eq!(member.leader(), Some((OWN, epoch(5))));
}

#[test]
fn a_lease_counts_from_when_it_was_asked_for() {
    let mut member = reigning();
    // The answer took long, as after a pause: it extends nothing beyond what was promised then.
    member.handle_confirmed(ms(1_900), epoch(5), OTHER, ms(1_550));
    assert_eq!(acts(&mut member), [Act::ExtendLease(ms(1_740))]);
}

#[test]
fn the_lease_is_that_of_a_majority_not_of_the_quickest() {
    let mut member = Member::new(OWN, 7, Timing::default(), ms(0));
    member.handle_voters(ms(0), voters(&[1, 2, 3, 4, 5]));
    member.handle_elected(ms(10), epoch(1));
    member.handle_confirmed(ms(100), epoch(1), OTHER, ms(90));
    assert_eq!(acts(&mut member), []);
    member.handle_confirmed(ms(100), epoch(1), THIRD, ms(50));
    assert_eq!(acts(&mut member), [Act::ExtendLease(ms(240))]);
    member.handle_confirmed(ms(120), epoch(1), MemberId(4), ms(110));
    assert_eq!(acts(&mut member), [Act::ExtendLease(ms(280))]);
}

#[test]
fn while_members_are_exchanged_both_majorities_must_confirm() {
    let set = |ids: &[u16]| ids.iter().copied().map(MemberId).collect::<BTreeSet<_>>();
    let mut member = Member::new(OWN, 7, Timing::default(), ms(0));
    member.handle_voters(ms(0), Voters::new(vec![set(&[1, 2, 3]), set(&[1, 4, 5])]));
    member.handle_elected(ms(10), epoch(1));
    member.handle_confirmed(ms(20), epoch(1), OTHER, ms(15));
    assert_eq!(acts(&mut member), []);
    member.handle_confirmed(ms(20), epoch(1), MemberId(5), ms(12));
    assert_eq!(acts(&mut member), [Act::ExtendLease(ms(202))]);
}

#[test]
fn confirmations_of_another_epoch_count_for_nothing() {
    let mut member = reigning();
    member.handle_confirmed(ms(1_600), epoch(4), OTHER, ms(1_599));
    assert_eq!(acts(&mut member), []);
}

#[test]
fn a_leader_that_hears_of_no_majority_gives_up() {
    let mut member = reigning();
    member.handle_tick(ms(1_600));
    assert_eq!(acts(&mut member), [Act::Beat]);
    member.handle_tick(ms(1_501 + 190 + 200 + 10));
    assert_eq!(acts(&mut member), [Act::EndLease, Act::StepDown(epoch(5))]);
    assert_eq!(member.leader(), None);
    member.handle_confirmed(ms(1_902), epoch(5), OTHER, ms(1_901));
    assert_eq!(acts(&mut member), [], "what is over does not come back");
    member.handle_elected(ms(1_903), epoch(5));
    assert_eq!(member.role(), Role::Following, "not even if the log has not noticed yet");
    member.handle_tick(member.deadline());
    assert_eq!(acts(&mut member), [Act::StepDown(epoch(5))]);
    member.handle_not_elected(ms(2_010));
    member.handle_elected(ms(2_500), epoch(7));
    assert_eq!(member.role(), Role::Acceding);
}

#[test]
fn its_own_pause_ends_its_reign() {
    let mut member = reigning();
    member.handle_tick(ms(60_000));
    assert_eq!(acts(&mut member), [Act::EndLease, Act::StepDown(epoch(5))]);
}

#[test]
fn a_leader_keeps_its_vote_as_long_as_its_lease_and_loses_its_reign_with_it() {
    let mut member = reigning();
    assert!(!member.handle_vote_asked(ms(1_600)));
    assert!(member.handle_vote_asked(ms(1_701)));
    assert_eq!(acts(&mut member), [Act::EndLease, Act::StepDown(epoch(5))]);
    member.handle_confirmed(ms(1_702), epoch(5), OTHER, ms(1_690));
    assert_eq!(acts(&mut member), [], "a late confirmation must not bring the lease back");
}

#[test]
fn a_follower_keeps_its_promise_and_so_does_one_that_has_just_started() {
    let mut member = member_of(&[1, 2, 3]);
    assert!(!member.handle_vote_asked(ms(1_199)), "it may have promised before it was started");
    assert!(member.handle_vote_asked(ms(1_200)));
    member.handle_leader(ms(1_300), OTHER, Epoch(1 << 16 | 2));
    assert!(!member.would_vote(ms(1_499)));
    assert!(member.would_vote(ms(1_500)));
}

#[test]
fn another_leader_ends_the_reign() {
    let mut member = reigning();
    member.handle_leader(ms(1_800), OTHER, Epoch(6 << 16 | 2));
    assert_eq!(acts(&mut member), [Act::EndLease]);
    member.handle_elected(ms(1_801), epoch(5));
    assert_eq!(member.role(), Role::Following, "the log's older word has been overtaken");
}

#[test]
fn who_resigns_lets_others_go_first() {
    let mut member = reigning();
    member.handle_resigned(ms(1_550));
    assert_eq!(acts(&mut member), [Act::EndLease], "the log is left to the successor for a moment");
    member.handle_tick(ms(1_650));
    assert_eq!(acts(&mut member), [Act::StepDown(epoch(5))]);
    member.handle_not_elected(ms(1_652));
    assert!(member.deadline() >= ms(2_150));
    assert!(member.would_vote(ms(1_653)), "it has nothing left to promise");
    member.handle_leader(ms(1_700), OTHER, Epoch(6 << 16 | 2));
    assert!(member.deadline() < ms(2_000), "another leads, so it takes its turn again");
}
