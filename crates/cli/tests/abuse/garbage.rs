//! Bytes that mean nothing, and too many of them.

use anyhow::{Result, ensure};
use bellwether_sdk::{Client, NewJob};
use bytes::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tonic::Code;

use crate::memory;
use crate::raw::{call, channel};
use crate::site::{DEADLINE, Site};

const METHODS: [&str; 5] = [
    "/bellwether.v1.Scheduler/Submit",
    "/bellwether.v1.Scheduler/GetJob",
    "/bellwether.v1.Scheduler/Cancel",
    "/bellwether.v1.Scheduler/SetConfig",
    SESSION,
];
const SESSION: &str = "/bellwether.v1.WorkerLink/Session";

async fn still_works(client: &Client, id: &str) -> Result<()> {
    ensure!(client.submit(NewJob::new("idle").id(id)).await?.id() == id);
    ensure!(client.job(id, 0).await?.id() == id);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_messages_are_refused_one_by_one() -> Result<()> {
    let site = Site::new(&[])?;
    let scheduler = site.start().await?;
    let client = site.client()?;
    let messages: [&[u8]; 6] = [
        // A length that goes beyond the end.
        &[0x0a, 0xff, 0xff, 0xff, 0x7f, 1, 2],
        // A number that never ends.
        &[0xff; 16],
        // A wire type that does not exist.
        &[0x0f, 0, 0],
        // A nested message that is cut off.
        &[0x0a, 4, 0x12, 9, 1, 1],
        // Text that is not UTF-8, in the id of a job.
        &[0x0a, 6, 0x12, 4, 0x0a, 2, 0xc3, 0x28],
        b"GET / HTTP/1.1\r\n\r\n",
    ];
    let channel = channel(&site).await?;
    let bearer = site.bearer()?;
    let bearer = Some(bearer.as_str());
    let mut refused = 0;
    for method in METHODS {
        for message in messages {
            let status =
                match call(channel.clone(), bearer, method, Bytes::from_static(message)).await {
                    Err(status) => status,
                    // It has asked who that is, and hung up on what was no answer.
                    Ok(_) if method == SESSION => {
                        refused += 1;
                        continue;
                    }
                    // What can be read as fields that nobody knows is an empty message.
                    Ok(_) => continue,
                };
            let expected = [
                Code::Internal,
                Code::InvalidArgument,
                Code::NotFound,
                Code::FailedPrecondition,
                Code::Cancelled,
            ];
            ensure!(expected.contains(&status.code()), "{method} {message:?}: {status:?}");
            refused += 1;
        }
    }
    ensure!(refused >= METHODS.len() * (messages.len() - 1), "only {refused} were refused");
    let status = call(channel, bearer, "/bellwether.v1.Scheduler/NoSuch", Bytes::new()).await;
    ensure!(status.is_err_and(|status| status.code() == Code::PermissionDenied));
    still_works(&client, "after").await?;
    scheduler.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_on_the_port_harms_nobody_else() -> Result<()> {
    let site = Site::new(&[])?;
    let scheduler = site.start().await?;
    let client = site.client()?;
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    let then = |more: &[u8]| [preface.as_slice(), more].concat();
    let said: Vec<Vec<u8>> = vec![
        b"GET / HTTP/1.0\r\n\r\n".to_vec(),
        vec![0; 65_536],
        (0..=255).cycle().take(100_000).collect(),
        // A frame of 16 MiB, a frame of a kind that does not exist, settings of a wrong size.
        then(&[0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1]),
        then(&[0, 0, 4, 0x77, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4]),
        then(&[0, 0, 5, 4, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5]),
        // Headers that decompress to nonsense, on a stream that clients may not open.
        then(&[0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 4, 1, 4, 0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff]),
    ];
    for bytes in said {
        let mut stream = TcpStream::connect(site.address()).await?;
        // It may hang up before it has heard everything.
        drop(stream.write_all(&bytes).await);
        drop(stream.shutdown().await);
        let mut answer = Vec::new();
        let closed = tokio::time::timeout(DEADLINE, stream.read_to_end(&mut answer)).await;
        ensure!(closed.is_ok(), "the connection stays open");
        ensure!(answer.len() < 4_096, "{} bytes of answer", answer.len());
    }
    still_works(&client, "after").await?;
    scheduler.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_is_refused_by_name_and_costs_no_memory() -> Result<()> {
    let site = Site::new(&[("message_bytes_max", "4MiB")])?;
    let scheduler = site.start().await?;
    let client = site.client()?;
    still_works(&client, "before").await?;
    let before = memory::now(&scheduler)?;
    let large = |bytes: usize| NewJob::new("idle").id("large").payload(vec![0; bytes]);
    let error = client.submit(large((1 << 20) + 1)).await.expect_err("above payload_bytes_max");
    ensure!(error.code() == Some("payload_too_large"), "{error}");
    ensure!(error.to_string().contains("payload_bytes_max"), "{error}");
    for _ in 0..20 {
        let error = client.submit(large(32 << 20)).await.expect_err("above message_bytes_max");
        ensure!(matches!(error.code(), Some("out_of_range" | "too_large")), "{error:?}");
    }
    let grown = memory::peak(&scheduler)?.saturating_sub(before);
    ensure!(grown < 64 << 20, "{grown} bytes more for messages that were refused");
    ensure!(client.job("large", 0).await.is_err_and(|error| error.code() == Some("unknown_job")));
    still_works(&client, "after").await?;
    scheduler.stop().await
}
