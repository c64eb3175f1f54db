//! Counts by size, in plain numbers: whoever observes owns it.

/// Where one bucket ends and the next begins.
#[derive(Debug)]
pub(crate) struct Scale {
    /// Upper ends, in the unit that is observed; beyond the last everything is counted together.
    pub(crate) bounds: &'static [u64],
    /// How many of those make one of the unit that is shown.
    pub(crate) per_unit: f64,
}

/// Six a decade, so that a quantile read from it is off by a fifth at most: 1 us to 1000 s.
pub(crate) static SPANS: Scale = Scale {
    bounds: &[
        10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1_000, 1_500, 2_000, 3_000, 5_000,
        7_000, 10_000, 15_000, 20_000, 30_000, 50_000, 70_000, 100_000, 150_000, 200_000, 300_000,
        500_000, 700_000, 1_000_000, 1_500_000, 2_000_000, 3_000_000, 5_000_000, 7_000_000,
        10_000_000, 15_000_000, 20_000_000, 30_000_000, 60_000_000, 120_000_000, 300_000_000,
        1_000_000_000,
    ],
    per_unit: 1e6,
};

/// Four a decade, for what is kept per type: 1 ms to 10 h.
pub(crate) static LONG_SPANS: Scale = Scale {
    bounds: &[
        1_000, 2_000, 3_000, 5_000, 10_000, 20_000, 30_000, 50_000, 100_000, 200_000, 300_000,
        500_000, 1_000_000, 2_000_000, 3_000_000, 5_000_000, 10_000_000, 20_000_000, 30_000_000,
        60_000_000, 120_000_000, 300_000_000, 600_000_000, 1_800_000_000, 3_600_000_000,
        36_000_000_000,
    ],
    per_unit: 1e6,
};

/// Nanoseconds: what the engine needs for one command.
pub(crate) static SHORT_SPANS: Scale = Scale {
    bounds: &[
        200, 300, 500, 700, 1_000, 1_500, 2_000, 3_000, 5_000, 7_000, 10_000, 15_000, 20_000,
        30_000, 50_000, 70_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000, 5_000_000,
        10_000_000, 20_000_000, 50_000_000, 100_000_000, 1_000_000_000,
    ],
    per_unit: 1e9,
};

pub(crate) static COUNTS: Scale = Scale {
    bounds: &[
        1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500, 1_000, 2_000, 3_000, 5_000, 10_000, 20_000,
        50_000, 100_000, 200_000,
    ],
    per_unit: 1.0,
};

/// Thousandths: how far off a prediction was, as a share of what really happened.
pub(crate) static SHARES: Scale = Scale {
    bounds: &[10, 20, 50, 100, 150, 200, 250, 300, 400, 500, 750, 1_000, 2_000, 5_000, 10_000],
    per_unit: 1e3,
};

#[derive(Debug, Clone)]
pub(crate) struct Histogram {
    scale: &'static Scale,
    /// One more than there are bounds.
    counts: Vec<u64>,
    sum: u64,
}

impl Histogram {
    pub(crate) fn new(scale: &'static Scale) -> Histogram {
        Histogram { scale, counts: vec![0; scale.bounds.len() + 1], sum: 0 }
    }

    pub(crate) fn observe(&mut self, value: u64) {
        self.counts[self.scale.bounds.partition_point(|bound| *bound < value)] += 1;
        self.sum = self.sum.saturating_add(value);
    }

    /// The upper end of each bucket, and how many were not above it; the last is all of them.
    pub(super) fn buckets(&self) -> impl Iterator<Item = (Option<f64>, u64)> {
        let ends = self.scale.bounds.iter().map(|bound| Some(*bound as f64 / self.scale.per_unit));
        ends.chain([None]).zip(&self.counts).scan(0, |below, (end, count)| {
            *below += count;
            Some((end, *below))
        })
    }

    /// 0 if nothing was observed.
    pub(super) fn mean(&self) -> f64 {
        self.sum() / self.counts.iter().sum::<u64>().max(1) as f64
    }

    pub(super) fn sum(&self) -> f64 {
        self.sum as f64 / self.scale.per_unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_counted_where_its_bound_says() {
        let mut histogram = Histogram::new(&COUNTS);
        for value in [1, 2, 4, 1_000_000] {
            histogram.observe(value);
        }
        let below = |end: f64| {
            histogram.buckets().find(|(bound, _)| *bound == Some(end)).map(|(_, count)| count)
        };
        assert_eq!((below(1.0), below(3.0), below(5.0)), (Some(1), Some(2), Some(3)));
        assert_eq!(histogram.buckets().last(), Some((None, 4)));
        assert_eq!(histogram.sum(), 1_000_007.0);
    }

    #[test]
    fn bounds_rise() {
        for scale in [&SPANS, &LONG_SPANS, &SHORT_SPANS, &COUNTS, &SHARES] {
            assert!(scale.bounds.is_sorted_by(|a, b| a < b));
        }
    }
}
