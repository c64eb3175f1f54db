//! Names that users give, as labels: only so many, then `other`.

use bellwether_core::model::Name;
use rustc_hash::FxHashMap;

pub(crate) const OTHER: &str = "other";

/// Something for each of the first names that come, and one for all the rest.
#[derive(Debug, Clone)]
pub(crate) struct Labelled<T> {
    numbers: FxHashMap<Name, usize>,
    named: Vec<(Name, T)>,
    other: T,
    named_max: usize,
    other_used: bool,
}

impl<T: Clone> Labelled<T> {
    pub(crate) fn new(named_max: usize, empty: T) -> Labelled<T> {
        Labelled {
            numbers: FxHashMap::default(),
            named: Vec::new(),
            other: empty,
            named_max,
            other_used: false,
        }
    }

    pub(crate) fn of(&mut self, name: &Name, empty: impl FnOnce() -> T) -> &mut T {
        if let Some(number) = self.numbers.get(name) {
            return &mut self.named[*number].1;
        }
        if self.named.len() == self.named_max {
            self.other_used = true;
            return &mut self.other;
        }
        self.numbers.insert(name.clone(), self.named.len());
        self.named.push((name.clone(), empty()));
        &mut self.named.last_mut().expect("it was pushed a line ago").1
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &Name> {
        self.named.iter().map(|(name, _)| name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        let named = self.named.iter().map(|(name, value)| (name.as_str(), value));
        named.chain(self.other_used.then_some((OTHER, &self.other)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_past_the_bound_share_one_label() {
        let mut counts = Labelled::new(2, 0);
        for name in ["a", "b", "a", "c", "d"] {
            *counts.of(&Name::fixed(name), || 0) += 1;
        }
        let seen: Vec<_> = counts.iter().collect();
        assert_eq!(seen, [("a", &2), ("b", &1), (OTHER, &2)]);
    }
}
