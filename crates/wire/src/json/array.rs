//! Arrays: one job over a range, a list or the lines of a file.

use bellwether_core::model::excerpt;
use serde_json::Value;

use crate::malformed::{Malformed, at_most};

/// Elements of one array.
pub const ARRAY_MAX: usize = 1_000_000;
/// Begins the name of a file of which each line is an element.
const FILE: char = '@';

/// What an array is over.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Items {
    Range { from: u64, step: u64, count: usize },
    List(Vec<Value>),
}

/// Reads a file that an array names.
pub type ReadFile<'a> = &'a mut dyn FnMut(&str) -> Result<String, String>;

/// Nobody's files are read: who sends a document from elsewhere means its own.
pub fn no_files(_: &str) -> Result<String, String> {
    Err("only the command line reads files; send its lines as a list".to_owned())
}

impl Items {
    pub(super) fn read(given: &Value, files: ReadFile<'_>) -> Result<Items, Malformed> {
        let items = match given {
            Value::Array(list) => Items::listed(list.clone())?,
            Value::String(text) => match text.strip_prefix(FILE) {
                Some(path) => Items::lines(&files(path).map_err(|why| unreadable(text, &why))?)?,
                None => Items::range(text)?,
            },
            _ => return Err(wrong(given)),
        };
        at_most("array", items.len(), ARRAY_MAX)?;
        if items.len() == 0 {
            return Err(Malformed::not_allowed("array", "empty", "it must have an element"));
        }
        Ok(items)
    }

    fn listed(list: Vec<Value>) -> Result<Items, Malformed> {
        let plain = |item: &Value| item.is_string() || item.is_number() || item.is_boolean();
        match list.iter().position(|item| !plain(item)) {
            None => Ok(Items::List(list)),
            Some(place) => {
                const WANTED: &str = "it must be a text, a number, true or false";
                Err(Malformed::not_allowed(&format!("array[{place}]"), &list[place], WANTED))
            }
        }
    }

    /// Empty lines are no elements.
    fn lines(text: &str) -> Result<Items, Malformed> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let count = lines.clone().count();
        at_most("array", count, ARRAY_MAX)?;
        Ok(Items::List(lines.map(Value::from).collect()))
    }

    /// `FROM-TO` or `FROM-TO:STEP`; anything else with commas is a list.
    fn range(text: &str) -> Result<Items, Malformed> {
        let wrong = || wrong(&Value::from(text));
        let (ends, step) = text.split_once(':').unwrap_or((text, "1"));
        let numbers = ends.split_once('-').and_then(|(from, to)| {
            Some((from.parse::<u64>().ok()?, to.parse::<u64>().ok()?, step.parse::<u64>().ok()?))
        });
        match numbers {
            Some((from, to, step)) if from <= to && step > 0 => {
                let count = (to - from) / step;
                let count = usize::try_from(count).unwrap_or(usize::MAX).saturating_add(1);
                Ok(Items::Range { from, step, count })
            }
            Some(_) => Err(wrong()),
            None if text.contains(',') => {
                Items::listed(text.split(',').map(|item| Value::from(item.trim())).collect())
            }
            None => Err(wrong()),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Items::Range { count, .. } => *count,
            Items::List(list) => list.len(),
        }
    }

    /// What the element at this place is, and what stands in the brackets of its name.
    pub(super) fn at(&self, place: usize) -> (Value, u64) {
        match self {
            Items::Range { from, step, .. } => {
                let number = from + step * place as u64;
                (Value::from(number), number)
            }
            Items::List(list) => (list[place].clone(), place as u64 + 1),
        }
    }

    /// Whether an element has this in its brackets.
    pub(super) fn has(&self, label: u64) -> bool {
        match self {
            Items::Range { from, step, count } => {
                let behind = label.checked_sub(*from);
                behind.is_some_and(|by| by % step == 0 && ((by / step) as usize) < *count)
            }
            Items::List(list) => (1..=list.len() as u64).contains(&label),
        }
    }
}

fn wrong(given: &Value) -> Malformed {
    const WANTED: &str =
        "it must be a range as 1-1000 or 1-1000:10, a list, or a file of lines as @names.txt";
    Malformed::not_allowed("array", given, WANTED)
}

fn unreadable(name: &str, why: &str) -> Malformed {
    Malformed::new(
        "array",
        crate::malformed::Problem::Unreadable {
            what: excerpt(name).into_owned(),
            why: why.to_owned(),
        },
    )
}

/// The name of an element.
pub(super) fn element(name: &str, label: u64) -> String {
    format!("{name}[{label}]")
}

/// An element's name apart: of `a[3]` the array and the label.
pub(super) fn parted(element: &str) -> Option<(&str, u64)> {
    let (name, label) = element.strip_suffix(']')?.rsplit_once('[')?;
    Some((name, label.parse().ok()?))
}

/// The array that the job of this id is an element of.
pub fn array_of(id: &str) -> Option<&str> {
    parted(id).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(given: Value) -> Result<Items, String> {
        Items::read(&given, &mut no_files).map_err(|why| why.to_string())
    }

    #[test]
    fn ranges_lists_and_files_have_elements() {
        let range = read(json!("5-20:5")).unwrap();
        assert_eq!((range.len(), range.at(3)), (4, (json!(20), 20)));
        assert!(range.has(10) && !range.has(11) && !range.has(25) && !range.has(0));
        let list = read(json!("x, y")).unwrap();
        assert_eq!((list.len(), list.at(1)), (2, (json!("y"), 2)));
        let mut files = |_: &str| Ok("one\n\n two \n".to_owned());
        let lines = Items::read(&json!("@names.txt"), &mut files).unwrap();
        assert_eq!(lines, Items::List(vec![json!("one"), json!("two")]));
        assert_eq!(read(json!("1-1000000")).unwrap().len(), ARRAY_MAX);
    }

    #[test]
    fn what_is_no_array_is_refused() {
        for given in [json!("9-1"), json!("1-5:0"), json!("abc"), json!(5), json!([]), json!([[1]])]
        {
            assert!(read(given.clone()).is_err(), "{given}");
        }
        let many = read(json!("1-1000001")).unwrap_err();
        assert_eq!(many, "array: has 1000001 entries; at most 1000000 are allowed");
        let file = read(json!("@x")).unwrap_err();
        assert!(file.contains("only the command line reads files"), "{file}");
    }

    #[test]
    fn elements_are_known_by_their_brackets() {
        assert_eq!(parted("run/a[3]"), Some(("run/a", 3)));
        assert_eq!(parted("run/a[x]"), None);
        assert_eq!(parted("run/a"), None);
        assert_eq!(array_of("r/a[17]"), Some("r/a"));
    }
}
