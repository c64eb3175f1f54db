//! Pieces of what others wrote, short enough for a message.

use std::borrow::Cow;

/// The longest piece of a text from outside that a message quotes.
pub const EXCERPT_BYTES_MAX: usize = 64;

/// The text, or its beginning with dots behind it, cut at a character.
pub fn excerpt(text: &str) -> Cow<'_, str> {
    if text.len() <= EXCERPT_BYTES_MAX {
        return Cow::Borrowed(text);
    }
    let end = text.floor_char_boundary(EXCERPT_BYTES_MAX);
    Cow::Owned(format!("{}...", &text[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_at_a_character() {
        assert_eq!(excerpt("short"), "short");
        let cut = excerpt(&"é".repeat(40)).into_owned();
        assert_eq!(cut, format!("{}...", "é".repeat(32)));
        let cut = excerpt(&format!("{}é", "x".repeat(63))).into_owned();
        assert_eq!(cut, format!("{}...", "x".repeat(63)));
    }
}
