//! What is wrong with a text, in words of people: libraries speak to programmers.

use serde_json::error::Category;

use bellwether_core::model::excerpt;

/// What a reader of JSON found.
#[must_use]
pub fn fault(error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    match error.classify() {
        Category::Eof if (line, column) == (1, 0) => "there is nothing in it".to_owned(),
        Category::Eof => format!("it ends too early, at line {line} column {column}"),
        Category::Syntax | Category::Io => {
            format!("line {line} column {column} is not as JSON has it")
        }
        Category::Data => in_our_words(&error.to_string()),
    }
}

/// What a library says of values that do not fit. Each name or value that it quotes is cut short.
#[must_use]
pub fn in_our_words(message: &str) -> String {
    let message = without_place(message);
    let pieces: Vec<_> = message.split_inclusive(['`', '"']).map(excerpt).collect();
    let message = pieces.concat();
    if let Some(field) = message.strip_prefix("missing field ") {
        return format!("{field} is missing");
    }
    let unknown = message.split_once("unknown field ");
    if let Some((name, known)) = unknown.and_then(|(_, rest)| rest.split_once(", expected ")) {
        let known = known.trim_start_matches("one of ");
        return format!("{name} is not known; there is {known}");
    }
    let unfit = message.split_once("invalid type: ").or(message.split_once("invalid value: "));
    if let Some((place, (found, wanted))) =
        unfit.and_then(|(place, rest)| Some((place, rest.split_once(", expected ")?)))
    {
        return format!(
            "{place}{} stands where {} belongs",
            found_word(found),
            wanted_word(wanted)
        );
    }
    let plain = [
        ("invalid digit found in string", "it must be a whole number, 0 or more"),
        ("cannot parse integer from empty string", "it must be a whole number, 0 or more"),
        ("number too large to fit in target type", "the number is too large"),
        ("provided string was not `true` or `false`", "it must be true or false"),
    ];
    plain.iter().fold(message, |message, (theirs, ours)| message.replace(theirs, ours))
}

/// Where it stands is of no use once the text was taken apart.
fn without_place(message: &str) -> &str {
    match message.rsplit_once(" at line ") {
        Some((message, place)) if place.starts_with(|first: char| first.is_ascii_digit()) => {
            message
        }
        _ => message,
    }
}

fn found_word(found: &str) -> String {
    let words = [
        ("string ", "the text "),
        ("integer ", "the number "),
        ("floating point ", "the number "),
        ("boolean ", ""),
        ("sequence", "a list"),
        ("map", "an object"),
        ("unit value", "nothing"),
    ];
    let word = words
        .iter()
        .find_map(|(theirs, ours)| found.strip_prefix(theirs).map(|rest| format!("{ours}{rest}")));
    word.unwrap_or_else(|| found.to_owned())
}

fn wanted_word(wanted: &str) -> &str {
    match wanted {
        "a sequence" => "a list",
        "a map" => "an object with named fields",
        "a string" | "string" => "a text",
        "a boolean" => "true or false",
        wanted if wanted.starts_with("struct ") => "an object with named fields",
        wanted if ["u8", "u16", "u32", "u64", "usize"].contains(&wanted) => {
            "a whole number, 0 or more"
        }
        wanted => wanted,
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Form {
        #[expect(dead_code, reason = "only that it is read counts")]
        argv: Vec<String>,
        #[expect(dead_code, reason = "only that it is read counts")]
        count: Option<u32>,
    }

    #[test]
    fn what_is_wrong_is_told_in_words_of_people() {
        for (text, told) in [
            ("", "there is nothing in it"),
            ("[", "it ends too early, at line 1 column 1"),
            ("no", "line 1 column 2 is not as JSON has it"),
            ("{}", "`argv` is missing"),
            (r#"{"argv":"echo"}"#, r#"the text "echo" stands where a list belongs"#),
            (r#"{"argv":[1]}"#, "the number `1` stands where a text belongs"),
            (
                r#"{"argv":[],"count":-1}"#,
                "the number `-1` stands where a whole number, 0 or more belongs",
            ),
            (r#"{"argv":[],"argh":1}"#, "`argh` is not known; there is `argv` or `count`"),
            (r#"{"argv":{}}"#, "an object stands where a list belongs"),
        ] {
            let error = serde_json::from_str::<Form>(text).expect_err(text);
            assert_eq!(fault(&error), told, "{text}");
        }
    }

    #[test]
    fn long_words_are_cut_short() {
        let text = format!(r#"{{"argv":"{}"}}"#, "x".repeat(10_000));
        let error = serde_json::from_str::<Form>(&text).expect_err("it is no list");
        assert!(fault(&error).len() < 200, "{}", fault(&error));
    }
}
