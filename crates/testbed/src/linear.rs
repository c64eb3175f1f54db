//! Whether what several saw of one thing could have happened one after the other.
//!
//! Each call took effect at one moment between its beginning and its end, if the thing is linearizable. The
//! search tries every order that the times allow, and remembers where it has been.

use std::collections::HashSet;
use std::fmt;
use std::hash::Hash;

/// Calls of one history at most: which of them are done is kept in as many bits.
pub const CALLS_MAX: usize = 64;

/// What calls do to a thing.
pub trait Model {
    type State: Clone + Eq + Hash;
    type Call;

    fn begin(&self) -> Self::State;

    /// Where the call may lead from here, with the answer that it got; nowhere if it can't have got that.
    fn after(&self, state: &Self::State, call: &Self::Call) -> Vec<Self::State>;
}

/// A call with its times, by any clock that all share.
#[derive(Debug, Clone)]
pub struct Timed<C> {
    pub call: C,
    pub begun: u64,
    /// None if there was no answer: it may have taken effect at any time since, or never.
    pub ended: Option<u64>,
}

/// No order explains the history; this one explains most of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotLinear {
    /// Numbers of the calls that could be put in order.
    pub explained: Vec<usize>,
}

impl fmt::Display for NotLinear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no order explains it; the longest that could be found is {:?}", self.explained)
    }
}

impl std::error::Error for NotLinear {}

/// # Panics
/// With more than [`CALLS_MAX`] calls.
pub fn check_linear<M: Model>(model: &M, history: &[Timed<M::Call>]) -> Result<(), NotLinear> {
    assert!(history.len() <= CALLS_MAX, "{} calls are too many", history.len());
    let mut search =
        Search { model, history, been: HashSet::new(), order: Vec::new(), best: vec![] };
    match search.go_on(0, &model.begin()) {
        true => Ok(()),
        false => Err(NotLinear { explained: search.best }),
    }
}

struct Search<'a, M: Model> {
    model: &'a M,
    history: &'a [Timed<M::Call>],
    been: HashSet<(u64, M::State)>,
    order: Vec<usize>,
    best: Vec<usize>,
}

impl<M: Model> Search<'_, M> {
    /// Whether the rest can be put in order behind what is done.
    fn go_on(&mut self, done: u64, state: &M::State) -> bool {
        if self.order.len() > self.best.len() {
            self.best.clone_from(&self.order);
        }
        let history = self.history;
        let open = || history.iter().enumerate().filter(|(at, _)| done & (1 << at) == 0);
        // All that were answered are explained; the others need not have happened.
        let Some(first_end) = open().filter_map(|(_, timed)| timed.ended).min() else {
            return true;
        };
        if !self.been.insert((done, state.clone())) {
            return false;
        }
        // Whatever has ended before another began comes before it.
        let next: Vec<usize> =
            open().filter(|(_, timed)| timed.begun <= first_end).map(|(at, _)| at).collect();
        for at in next {
            for after in self.model.after(state, &history[at].call) {
                self.order.push(at);
                if self.go_on(done | (1 << at), &after) {
                    return true;
                }
                self.order.pop();
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number that is written and read.
    struct Register;

    #[derive(Debug, Clone, Copy)]
    enum Call {
        Write(u8),
        Read(u8),
    }

    impl Model for Register {
        type State = u8;
        type Call = Call;

        fn begin(&self) -> u8 {
            0
        }

        fn after(&self, state: &u8, call: &Call) -> Vec<u8> {
            match call {
                Call::Write(value) => vec![*value],
                Call::Read(value) if value == state => vec![*value],
                Call::Read(_) => vec![],
            }
        }
    }

    fn holds(history: &[(Call, u64, Option<u64>)]) -> bool {
        let timed = |&(call, begun, ended)| Timed { call, begun, ended };
        check_linear(&Register, &history.iter().map(timed).collect::<Vec<_>>()).is_ok()
    }

    #[test]
    fn calls_at_the_same_time_may_have_happened_in_any_order() {
        use Call::{Read, Write};
        assert!(holds(&[]));
        assert!(holds(&[(Write(1), 0, Some(10)), (Read(1), 5, Some(6)), (Read(1), 7, Some(8))]));
        assert!(holds(&[(Write(1), 0, Some(10)), (Read(0), 5, Some(6)), (Read(1), 7, Some(8))]));
        assert!(holds(&[
            (Write(1), 0, Some(10)),
            (Write(2), 0, Some(10)),
            (Read(1), 11, Some(12)),
            (Read(1), 13, Some(14))
        ]));
    }

    #[test]
    fn planted_histories_are_found_out() {
        use Call::{Read, Write};
        let lost_write = [(Write(1), 0, Some(1)), (Read(0), 2, Some(3))];
        assert!(!holds(&lost_write));
        let went_back = [(Write(1), 0, Some(10)), (Read(1), 2, Some(3)), (Read(0), 4, Some(5))];
        assert!(!holds(&went_back));
        let seen_differently = [
            (Write(1), 0, Some(10)),
            (Write(2), 0, Some(10)),
            (Read(1), 11, Some(12)),
            (Read(2), 13, Some(14)),
        ];
        assert!(!holds(&seen_differently));
        let out_of_thin_air = [(Write(1), 0, Some(1)), (Read(2), 0, Some(3))];
        assert!(!holds(&out_of_thin_air));
        let before_it_was_written = [(Read(1), 0, Some(1)), (Write(1), 2, Some(3))];
        assert!(!holds(&before_it_was_written));
    }

    #[test]
    fn a_call_without_an_answer_may_have_happened_late_or_never_but_once() {
        use Call::{Read, Write};
        assert!(holds(&[(Write(1), 0, None), (Read(0), 5, Some(6))]));
        assert!(holds(&[(Write(1), 0, None), (Read(0), 5, Some(6)), (Read(1), 7, Some(8))]));
        let came_twice = [
            (Write(1), 0, None),
            (Read(1), 1, Some(2)),
            (Write(2), 3, Some(4)),
            (Read(2), 5, Some(6)),
            (Read(1), 7, Some(8)),
        ];
        assert!(!holds(&came_twice));
        assert!(!holds(&[(Write(1), 9, None), (Read(1), 5, Some(6))]));
    }

    #[test]
    fn what_could_be_explained_is_told() {
        let timed = |call, begun, ended| Timed { call, begun, ended: Some(ended) };
        let history = [timed(Call::Write(1), 0, 1), timed(Call::Read(0), 2, 3)];
        let error = check_linear(&Register, &history).unwrap_err();
        assert_eq!(error.explained, [0]);
    }
}
