//! Whether JSON that somebody wrote can be read by everybody else. The grammar allows more than
//! readers take: numbers beyond those of a computer, halves of characters, lists in lists without
//! end. Whoever is shown one such value can't read all that stands around it either.

use memchr::{memchr, memchr2};

/// Deeper than this, many readers give up. There is room left for what stands around it.
pub const NESTING_MAX: usize = 100;

/// What a reader has to cope with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Legibility {
    /// How deep lists and objects lie in each other.
    pub(super) nesting: usize,
    /// Every number is one of a computer, and every text has whole characters.
    pub(super) plain: bool,
}

impl Legibility {
    /// Of one value that is JSON by its grammar.
    pub(super) fn of(json: &str) -> Legibility {
        let bytes = json.as_bytes();
        let (mut at, mut depth) = (0, 0_usize);
        let mut seen = Legibility { nesting: 0, plain: true };
        while let Some(byte) = bytes.get(at) {
            at += 1;
            match byte {
                b'[' | b'{' => {
                    depth += 1;
                    seen.nesting = seen.nesting.max(depth);
                }
                b']' | b'}' => depth = depth.saturating_sub(1),
                b'"' => at += text(&bytes[at..], &mut seen.plain),
                b'-' | b'0'..=b'9' => at += number(&json[at - 1..], &mut seen.plain),
                _ => {}
            }
        }
        seen
    }

    pub(super) fn is_shallow(self) -> bool {
        self.nesting <= NESTING_MAX
    }

    pub(super) fn is_for_everybody(self) -> bool {
        self.plain && self.is_shallow()
    }
}

/// The bytes up to behind the closing quote.
fn text(bytes: &[u8], plain: &mut bool) -> usize {
    let mut at = 0;
    while let Some(found) = memchr2(b'"', b'\\', &bytes[at..]) {
        at += found + 1;
        if bytes[at - 1] == b'"' {
            return at;
        }
        let (escaped, whole) = escape(&bytes[at..]);
        *plain &= whole;
        at = (at + escaped).min(bytes.len());
    }
    bytes.len()
}

/// The bytes behind the backslash, and whether they are a whole character.
fn escape(bytes: &[u8]) -> (usize, bool) {
    let unit = |bytes: &[u8]| {
        let digits = bytes.strip_prefix(b"u")?.get(..4)?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    match unit(bytes) {
        Some(0xd800..=0xdbff) => {
            let second = bytes.get(5..).and_then(|bytes| bytes.strip_prefix(b"\\"));
            let paired = second.and_then(unit).is_some_and(|unit| (0xdc00..0xe000).contains(&unit));
            (if paired { 11 } else { 5 }, paired)
        }
        Some(0xdc00..=0xdfff) => (5, false),
        Some(_) => (5, true),
        None => (1, true),
    }
}

/// The bytes behind the first.
fn number(text: &str, plain: &mut bool) -> usize {
    const DIGITS_SAFE: usize = 300;
    let is_part = |byte: u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    let length = text.bytes().position(|byte| !is_part(byte)).unwrap_or(text.len());
    let number = &text[..length];
    if length > DIGITS_SAFE || number.contains(['e', 'E']) {
        *plain &= number.parse::<f64>().is_ok_and(f64::is_finite);
    }
    length - 1
}

pub(super) fn breaks_lines(json: &str) -> bool {
    memchr2(b'\n', b'\r', json.as_bytes()).is_some()
}

/// The same value without a line break: between the parts of a value, blanks mean nothing, and within
/// its texts they are escaped or no line breaks.
pub(super) fn on_one_line(json: &str) -> String {
    let mut line = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(quote) = memchr(b'"', rest.as_bytes()) {
        let (between, quoted) = rest.split_at(quote);
        line.extend(between.split_ascii_whitespace());
        let end = 1 + text(&quoted.as_bytes()[1..], &mut true);
        line.push_str(&quoted[..end]);
        rest = &quoted[end..];
    }
    line.extend(rest.split_ascii_whitespace());
    line
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use serde_json::value::RawValue;

    use super::*;

    #[test]
    fn everybody_can_read_what_we_can_read() {
        let cases = [
            "1e999",
            "-1e999",
            "1e308",
            "1e-999",
            "[1,2e400]",
            "18446744073709551616",
            r#""\ud800""#,
            r#""\ud83d\ude00""#,
            r#""\ud83dx""#,
            r#""\ude00""#,
            r#""\ud800\n""#,
            r#""\ud800\ud800\udc00""#,
            r#""\\ud800""#,
            r#"{"\ud800":1}"#,
            r#""a\"b1e999""#,
            r#"{"a":[true,false,null,-0.5E+3]}"#,
            "0",
            "-0",
            r#""""#,
            "[]",
            r#""1e999""#,
        ];
        let mut cases: Vec<String> = cases.map(str::to_owned).into();
        cases.push("9".repeat(308));
        cases.push("9".repeat(310));
        cases.push(format!("0.{}1", "0".repeat(400)));
        for case in cases {
            serde_json::from_str::<&RawValue>(&case).expect("the grammar allows it");
            let read = serde_json::from_str::<Value>(&case).is_ok();
            assert_eq!(Legibility::of(&case).plain, read, "{case}");
        }
    }

    #[test]
    fn nesting_is_counted_outside_of_texts() {
        assert_eq!(Legibility::of(r#"{"a":[[1],[2,"[[[["]]}"#).nesting, 3);
        let deep = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(Legibility::of(&deep(NESTING_MAX)).is_shallow());
        assert!(!Legibility::of(&deep(NESTING_MAX + 1)).is_shallow());
        assert!(!Legibility::of(&deep(1_000_000)).is_shallow());
    }

    #[test]
    fn one_line_is_the_same_value() {
        let text = "{\r\n  \"a b\\\" c\": [1,\n 2 ],\t\"d\": \"x  y\"\n}\n";
        let line = on_one_line(text);
        assert_eq!(line, r#"{"a b\" c":[1,2],"d":"x  y"}"#);
    }
}
