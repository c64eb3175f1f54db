//! How fast the classes of workers proved to be.

use std::collections::BTreeMap;

use bellwether_core::model::{Micros, Name};

/// What each class takes, as a multiple of what the classes take on average for the same types.
#[derive(Debug, Default)]
pub(super) struct Slowness(BTreeMap<Name, f64>);

#[derive(Debug, Default, Clone, Copy)]
struct Taken {
    micros: f64,
    jobs: f64,
}

impl Slowness {
    /// From jobs of a type on a class, and what each took.
    pub(super) fn observed<'a>(
        jobs: impl Iterator<Item = (&'a Name, &'a Name, Micros)>,
    ) -> Slowness {
        let mut types: BTreeMap<&Name, BTreeMap<&Name, Taken>> = BTreeMap::new();
        for (kind, class, took) in jobs {
            let taken = types.entry(kind).or_default().entry(class).or_default();
            taken.micros += took.0.max(1) as f64;
            taken.jobs += 1.0;
        }
        let mut ratios: BTreeMap<Name, Taken> = BTreeMap::new();
        // A type that only one class ran says nothing of the others.
        for classes in types.values().filter(|classes| classes.len() > 1) {
            let mean = |taken: &Taken| taken.micros / taken.jobs;
            let usual = classes.values().map(mean).sum::<f64>() / classes.len() as f64;
            for (class, taken) in classes {
                let ratio = ratios.entry((*class).clone()).or_default();
                ratio.micros += mean(taken) / usual * taken.jobs;
                ratio.jobs += taken.jobs;
            }
        }
        Slowness(ratios.into_iter().map(|(class, sum)| (class, sum.micros / sum.jobs)).collect())
    }

    pub(super) fn of(&self, class: &Name) -> f64 {
        self.0.get(class).copied().unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_compared_by_the_types_that_both_ran() {
        let [kind, alone] = ["t", "only-slow"].map(Name::fixed);
        let [fast, slow, other] = ["fast", "slow", "other"].map(Name::fixed);
        let jobs = [
            (&kind, &fast, Micros(100)),
            (&kind, &slow, Micros(300)),
            (&kind, &slow, Micros(300)),
            (&alone, &slow, Micros(9_999)),
        ];
        let slowness = Slowness::observed(jobs.into_iter());
        assert_eq!((slowness.of(&fast), slowness.of(&slow)), (0.5, 1.5));
        assert_eq!(slowness.of(&other), 1.0);
    }
}
