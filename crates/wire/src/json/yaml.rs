//! YAML as the JSON that it stands for.

use serde_json::Value;

/// What names that stand for other parts of the text may add up to: ten short lines of them can stand
/// for more than fits into memory.
const REPEATED_MAX: usize = 20_000;

/// Null if there is nothing in it. The error says what is wrong where.
pub fn from_yaml(text: &str) -> Result<Value, String> {
    let options = serde_saphyr::options! {
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: REPEATED_MAX },
        // As YAML 1.2 has it: y, no and off are words.
        strict_booleans: true,
    };
    let read: Result<Option<Value>, _> = serde_saphyr::from_str_with_options(text, options);
    read.map(Option::unwrap_or_default).map_err(|error| in_one_line(&error.to_string()))
}

/// The library adds an excerpt of the text, and speaks of its own types.
fn in_one_line(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default().trim_start_matches("error: ");
    line.replace("cannot deserialize null into string; use Option<String>", "a key has no name")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_true_and_false_are_booleans() {
        for word in ["y", "n", "yes", "no", "on", "off", "Y", "N", "Yes", "NO", "On", "OFF"] {
            let text = format!("{word}: {word}\nlist: [{word}, true]\nblock:\n  - {word}\n");
            let read = serde_json::json!({word: word, "list": [word, true], "block": [word]});
            assert_eq!(from_yaml(&text).unwrap(), read, "{word}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_in_a_line() {
        let told = from_yaml("a: [").unwrap_err();
        assert_eq!(told, "line 1 column 4: unclosed bracket '['");
        assert_eq!(from_yaml(": :").unwrap_err(), "line 1 column 1: a key has no name");
    }

    #[test]
    fn what_stands_for_too_much_is_refused() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..9 {
            let before = format!("*a{}", level - 1);
            text += &format!("a{level}: &a{level} [{}]\n", [before.as_str(); 8].join(", "));
        }
        assert!(from_yaml(&text).is_err());
        assert_eq!(from_yaml("a: &a [1]\nb: *a").unwrap(), serde_json::json!({"a": [1], "b": [1]}));
        assert_eq!(from_yaml("# nothing").unwrap(), Value::Null);
    }
}
