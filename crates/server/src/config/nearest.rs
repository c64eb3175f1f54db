//! What somebody may have meant.

/// Further off than this is something else.
const DISTANCE_MAX: usize = 4;

/// The candidate that is nearest to the word, with its distance.
pub(super) fn nearest(
    word: &str,
    candidates: impl IntoIterator<Item = &'static str>,
) -> Option<(&'static str, usize)> {
    candidates
        .into_iter()
        .map(|candidate| (candidate, distance(word, candidate)))
        .filter(|(candidate, distance)| *distance <= DISTANCE_MAX.min(candidate.len() / 2))
        .min_by_key(|(_, distance)| *distance)
}

/// Edits between two words: letters put in, left out, changed, or two neighbours swapped.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let changed = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = changed.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_fingers_finds_its_key() {
        let keys = ["max_retry", "retry_base", "data_dir"];
        assert_eq!(nearest("max_rerty", keys), Some(("max_retry", 1)));
        assert_eq!(nearest("datadir", keys), Some(("data_dir", 1)));
        assert_eq!(nearest("something_else", keys), None);
    }
}
