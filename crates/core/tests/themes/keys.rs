//! Workers are who they say: an id belongs to the key that is bound to it.

use expect_test::expect;

use crate::script::check;

#[test]
fn the_first_key_of_an_id_is_the_only_one() {
    check(
        "
        worker w1 key=1
        worker w1 key=2 instance=2
        worker w1 instance=2
        worker w1 key=1 instance=2
        ",
        expect![[r#"
            bind w1 key 1 first_use
            refused: worker w1 is bound to another key than 0202020202020202020202020202020202020202020202020202020202020202; choose another id, or let an operator run `bellwether workers approve w1 0202020202020202020202020202020202020202020202020202020202020202`
            refused: worker w1 is bound to a key; sign with it, or choose another id
        "#]],
    );
}

#[test]
fn who_must_be_approved_says_how() {
    check(
        "
        policy approved
        worker w1 key=1
        worker w1
        approve w1 1 roles=painter types=t
        worker w1 key=1 role=painter types=t
        worker w1 key=1 role=admin types=t instance=2
        worker w1 key=1 role=painter instance=2
        worker w1 key=1 types=u instance=2
        approve w2 2 namespace=elsewhere
        worker w2 key=2
        ",
        expect![[r#"
            refused: worker w1 with the key 0101010101010101010101010101010101010101010101010101010101010101 is not approved; let an operator run `bellwether workers approve w1 0101010101010101010101010101010101010101010101010101010101010101` or `bellwether workers invite w1`
            refused: worker w1 has no key, and workers must be approved here; start it with one (worker_keys)
            bind w1 key 1 approved
            refused: worker w1 claims the role admin, which its key does not carry; let an operator approve it with that role
            refused: worker w1 claims the type any, which its key does not carry; let an operator approve it with that type
            refused: worker w1 claims the type u, which its key does not carry; let an operator approve it with that type
            bind w2 key 2 approved
            refused: worker w2 claims the namespace default, which its key does not carry; let an operator approve it with that namespace
        "#]],
    );
}

#[test]
fn a_ticket_is_for_one_worker_and_once() {
    check(
        "
        policy approved
        invite w1 7; invite w2 8 lasts=1s
        ticket 7; worker w2 key=2
        worker w1 key=1
        worker w1 key=1
        worker w1 key=3 instance=2
        wait 2s
        ticket 8; worker w2 key=2
        ",
        expect![[r#"
            invite w1 | invite w2
            refused: the ticket of worker w2 is not open: it was used, has expired, or is for another id
            bind w1 key 1 approved
            refused: the ticket of worker w1 is not open: it was used, has expired, or is for another id
            refused: the ticket of worker w2 is not open: it was used, has expired, or is for another id
        "#]],
    );
}

#[test]
fn what_a_revoked_worker_held_is_placed_anew() {
    check(
        "
        worker w1 key=1; worker w2 key=2; submit a; ack a
        --
        revoke w1
        effects
        complete a nth=1
        worker w1 key=1
        revoke w3
        approve w1 4
        worker w1 key=1 instance=2
        worker w1 key=4 instance=2
        ",
        expect![[r#"
            revoke key of w1 | attempt a w1 WorkerLost: the key of the worker was revoked | requeue a in 0 us | left w1 | assign a w2
            offer a w1 number 1 | dismiss w1 | offer a w2 number 2
            refused: worker w1 does not hold job 1 with token 6; the attempt was taken away, drop it
            refused: the key of worker w1 was revoked; let an operator approve one anew
            refused: no key is bound to worker w3; see `bellwether workers keys`
            bind w1 key 4 approved
            refused: worker w1 is bound to another key than 0101010101010101010101010101010101010101010101010101010101010101; choose another id, or let an operator run `bellwether workers approve w1 0101010101010101010101010101010101010101010101010101010101010101`
        "#]],
    );
}

#[test]
fn an_approved_key_takes_the_id_from_who_had_it() {
    check(
        "
        worker w1 key=1; submit a; ack a
        --
        approve w1 2
        complete a
        worker w1 key=2 instance=2
        ",
        expect![[r#"
            bind w1 key 2 approved | attempt a w1 WorkerLost: another key was approved for the worker | requeue a in 0 us | left w1
            refused: worker w1 does not hold job 1 with token 4; the attempt was taken away, drop it
            assign a w1
        "#]],
    );
}

#[test]
fn bindings_outlive_a_restart_and_first_ones_are_forgotten_with_their_worker() {
    check(
        "
        config forget_workers_after=1m
        worker w1 key=1; worker w2 key=2; approve w2 2
        leave w1; leave w2
        restart snapshot
        worker w1 key=3
        wait 2m; submit a
        worker w1 key=3
        worker w2 key=3
        ",
        expect![[r#"
            configure v1
            bind w1 key 1 first_use | bind w2 key 2 first_use | bind w2 key 2 approved
            left w1 | left w2
            refused: worker w1 is bound to another key than 0303030303030303030303030303030303030303030303030303030303030303; choose another id, or let an operator run `bellwether workers approve w1 0303030303030303030303030303030303030303030303030303030303030303`
            bind w1 key 3 first_use | assign a w1
            refused: worker w2 is bound to another key than 0303030303030303030303030303030303030303030303030303030303030303; choose another id, or let an operator run `bellwether workers approve w2 0303030303030303030303030303030303030303030303030303030303030303`
        "#]],
    );
}
