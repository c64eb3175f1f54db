//! What many measurements come to, and how it is set out for a reader.

/// The middle of several measurements, which one that went badly does not move.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        odd if odd % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

/// The value that this share of all does not exceed; 0 of none.
pub(crate) fn quantile(sorted: &[u64], share: f64) -> u64 {
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

/// Milliseconds, of nanoseconds.
pub(crate) fn quantile_ms(sorted: &[u64], share: f64) -> f64 {
    quantile(sorted, share) as f64 / 1e6
}

/// A report as a table: under each heading but the first a number, or nothing.
#[derive(Debug)]
pub struct Sheet {
    pub headings: Vec<&'static str>,
    pub rows: Vec<(String, Vec<Option<f64>>)>,
    /// What is to be said below.
    pub closing: String,
}

impl Sheet {
    pub(crate) fn new(headings: &[&'static str]) -> Sheet {
        Sheet { headings: headings.to_vec(), rows: Vec::new(), closing: String::new() }
    }

    pub(crate) fn row(&mut self, name: impl Into<String>, values: &[f64]) {
        self.rows.push((name.into(), values.iter().copied().map(Some).collect()));
    }
}
