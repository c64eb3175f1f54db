//! Where somebody begins to read events.

use bellwether_core::model::Seq;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    Now,
    At(Seq),
    /// Behind one of several events that lie at the same position.
    Within(Seq, usize),
}

impl Start {
    /// Behind the event of this id; none if no event has such an id.
    pub(crate) fn behind(id: &str) -> Option<Start> {
        match id.split_once('.') {
            None => Some(Start::At(Seq(id.parse::<u64>().ok()?.checked_add(1)?))),
            Some((seq, index)) => Some(Start::Within(Seq(seq.parse().ok()?), index.parse().ok()?)),
        }
    }

    pub(crate) fn first(self) -> Option<Seq> {
        match self {
            Start::Now => None,
            Start::At(seq) | Start::Within(seq, _) => Some(seq),
        }
    }

    /// How many of the events at this position were seen before.
    pub(crate) fn seen_at(self, seq: Seq) -> usize {
        match self {
            Start::Within(start, index) if start == seq => index.saturating_add(1),
            Start::Now | Start::At(_) | Start::Within(..) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_tells_where_to_go_on() {
        assert_eq!(Start::behind("42"), Some(Start::At(Seq(43))));
        assert_eq!(Start::behind("42.3"), Some(Start::Within(Seq(42), 3)));
        assert_eq!(Start::behind("42.x"), None);
        assert_eq!(Start::behind("18446744073709551615"), None);
        assert_eq!(Start::Within(Seq(42), 3).seen_at(Seq(42)), 4);
        assert_eq!(Start::Within(Seq(42), 3).seen_at(Seq(43)), 0);
    }
}
