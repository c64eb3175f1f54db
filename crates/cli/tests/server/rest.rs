//! REST by hand.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use bellwether_sdk::Security;
use serde_json::Value;

use crate::fixture::World;

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("REST answers with JSON")
    }
}

impl World {
    /// One request on a connection of its own; the path begins below `/scheduler`.
    pub(crate) fn rest(&self, method: &str, path: &str, body: &str) -> Answer {
        self.request(method, &format!("/scheduler{path}"), body)
    }

    pub(crate) fn request(&self, method: &str, path: &str, body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.http).expect("the scheduler listens");
        let length = body.len();
        let token = Security::default().token_for(&self.http).expect("it is ours alone");
        let token = token.expect("the scheduler has made a token");
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             authorization: Bearer {token}\r\nif-match: *\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        let status = head.split_whitespace().nth(1).and_then(|code| code.parse().ok());
        Answer { status: status.expect("a status"), body: body.to_owned() }
    }
}
