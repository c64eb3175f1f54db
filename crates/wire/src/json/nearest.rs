//! What somebody may have meant.

/// Further off than this is something else.
const DISTANCE_MAX: usize = 4;
/// Longer than this is nobody's slip: to compare two words costs the product of their lengths.
const WORD_BYTES_MAX: usize = 64;

/// The known word that is nearest to a mistyped one, with its distance: letters put in, left out,
/// changed, or swapped with their neighbour.
pub fn nearest<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<(&'a str, usize)> {
    if word.len() > WORD_BYTES_MAX {
        return None;
    }
    known
        .into_iter()
        .map(|candidate| (candidate, strsim::osa_distance(word, candidate)))
        .filter(|(candidate, distance)| *distance <= DISTANCE_MAX.min(candidate.len() / 2))
        .min_by_key(|(_, distance)| *distance)
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
        assert_eq!(nearest(&"max_retry".repeat(8), keys), None);
    }
}
