//! Names as small numbers.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::model::Name;
use crate::model::limits::INTERNED_MAX;

/// Number 0 stands for everything else: names not seen yet, no name, and all names that came
/// after the first [`INTERNED_MAX`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Interner {
    /// The name of number 1 comes first.
    pub(super) names: Vec<Name>,
    numbers: HashMap<Name, u32, FxBuildHasher>,
}

impl Interner {
    pub(super) fn intern(&mut self, name: &Name) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        if self.names.len() >= INTERNED_MAX {
            return 0;
        }
        self.names.push(name.clone());
        let number = u32::try_from(self.names.len()).expect("INTERNED_MAX fits 32 bits");
        self.numbers.insert(name.clone(), number);
        number
    }

    pub(super) fn lookup(&self, name: &Name) -> u32 {
        self.numbers.get(name).copied().unwrap_or(0)
    }

    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> + use<> {
        1..=u32::try_from(self.names.len()).expect("INTERNED_MAX fits 32 bits")
    }

    pub(super) fn name(&self, number: u32) -> Option<&Name> {
        self.names.get((number as usize).checked_sub(1)?)
    }
}

impl From<Vec<Name>> for Interner {
    fn from(names: Vec<Name>) -> Interner {
        let numbers = (1..).zip(&names).map(|(number, name)| (name.clone(), number)).collect();
        Interner { names, numbers }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_past_the_bound_are_everything_else() {
        let mut interner = Interner::default();
        for n in 0..INTERNED_MAX {
            interner.intern(&Name::fixed(&format!("t{n}")));
        }
        assert_eq!(interner.intern(&Name::fixed("one too many")), 0);
        assert_eq!(interner.intern(&Name::fixed("t7")), 8);
        assert_eq!(interner.name(8), Some(&Name::fixed("t7")));
        assert_eq!(interner.name(0), None);
    }
}
