//! Names on the command line, and what they stand for.

use bellwether_core::Word;
use bellwether_sim::trace::Load;

pub(crate) fn parse_word<W: Word>(text: &str) -> Result<W, String> {
    W::of(text).ok_or_else(|| format!("it must be one of {}", W::WORDS.join(", ")))
}

pub(crate) fn parse_load(text: &str) -> Result<Load, String> {
    let share: f64 = text.parse().map_err(|_| "not a number; write it as 0.8".to_owned())?;
    Load::new(share).map_err(|error| error.to_string())
}
