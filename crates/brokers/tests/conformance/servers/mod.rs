//! The real servers, as child processes with their data in temporary folders.

pub(crate) mod certificate;
pub(crate) mod nats;
pub(crate) mod rabbitmq;
pub(crate) mod redis;
pub(crate) mod sqlite;
pub(crate) mod zeromq;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};

use anyhow::Result;
use bellwether_brokers::Address;

pub(crate) fn loopback(port: u16) -> Address {
    Address { host: "127.0.0.1".to_owned(), port }
}

/// The port of a server that speaks HTTP, and nothing else, until the test ends.
pub(crate) fn web_server() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            // Who has hung up needs no answer.
            let answered = stream
                .write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
                .and_then(|()| stream.shutdown(Shutdown::Write))
                .and_then(|()| stream.read_to_end(&mut Vec::new()));
            drop(answered);
        }
    });
    Ok(port)
}
