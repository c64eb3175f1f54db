//! Addresses of things.

use axum::http::HeaderValue;

pub(super) fn job(id: &str) -> HeaderValue {
    under("jobs", id)
}

pub(super) fn run(id: &str) -> HeaderValue {
    under("runs", id)
}

pub(super) fn operation(id: &str) -> HeaderValue {
    under("operations", id)
}

/// Relative to the server, with the name as one segment whatever is in it.
fn under(folder: &str, name: &str) -> HeaderValue {
    let mut link = format!("/scheduler/{folder}/");
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                link.push(char::from(byte));
            }
            other => link.push_str(&format!("%{other:02X}")),
        }
    }
    HeaderValue::try_from(link).expect("what is left is ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_segment() {
        assert_eq!(job("nightly/fetch é"), "/scheduler/jobs/nightly%2Ffetch%20%C3%A9");
    }
}
