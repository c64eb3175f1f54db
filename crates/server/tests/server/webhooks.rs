//! Webhooks, posted to a real server.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bellwether_server::config::{Secret, Webhook};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::fixture::{DEADLINE, Fixture, job};

const SECRET: &str = "a secret that both sides know";

struct Post {
    headers: HeaderMap,
    body: Bytes,
    path: String,
}

impl Post {
    fn event(&self) -> Result<Value> {
        Ok(serde_json::from_slice(&self.body)?)
    }

    fn header(&self, name: &str) -> Result<&str> {
        Ok(self.headers.get(name).with_context(|| name.to_owned())?.to_str()?)
    }
}

/// Answers with what it was told to, then with 200.
struct Receiver {
    address: SocketAddr,
    posts: mpsc::UnboundedReceiver<Post>,
    task: tokio::task::JoinHandle<()>,
}

#[derive(Clone)]
struct Shared {
    posts: mpsc::UnboundedSender<Post>,
    answers: Arc<Mutex<VecDeque<Response>>>,
}

impl Receiver {
    async fn start(address: SocketAddr, answers: Vec<Response>) -> Result<Receiver> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let (sender, posts) = mpsc::unbounded_channel();
        let shared = Shared { posts: sender, answers: Arc::new(Mutex::new(answers.into())) };
        let router = Router::new().fallback(take).with_state(shared);
        let task = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("it serves until it is dropped");
        });
        Ok(Receiver { address, posts, task })
    }

    async fn next(&mut self) -> Result<Post> {
        let post = tokio::time::timeout(DEADLINE, self.posts.recv()).await;
        post.context("nothing was posted in time")?.context("the receiver has ended")
    }

    fn hook(&self) -> Webhook {
        Webhook {
            url: format!("http://{}/hook?x=1", self.address),
            kinds: vec!["job_submitted".to_owned(), "job_cancelled".to_owned()],
            secret: Secret::new(SECRET),
            allow_private: true,
            attempts_max: 10,
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn take(
    State(shared): State<Shared>,
    uri: axum::http::Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let answer = shared.answers.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    // The test may have seen enough.
    drop(shared.posts.send(Post { headers, body, path: uri.to_string() }));
    answer.unwrap_or_else(|| StatusCode::OK.into_response())
}

fn anywhere() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

async fn metric(fixture: &Fixture, name: &str) -> Result<u64> {
    let answer = fixture.get("/metrics").await?;
    let text = std::str::from_utf8(&answer.body)?.to_owned();
    let line = format!("{name}{{sink=\"webhooks\"}} ");
    let value = text.lines().find_map(|text| text.strip_prefix(&line));
    Ok(value.with_context(|| format!("{line} in {text}"))?.parse()?)
}

async fn becomes(fixture: &Fixture, name: &str, wanted: u64) -> Result<()> {
    let wait = async {
        while metric(fixture, name).await? != wanted {
            tokio::task::yield_now().await;
        }
        Ok(())
    };
    tokio::time::timeout(DEADLINE, wait).await.context(name.to_owned())?
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_posted_signed_and_again_until_they_are_taken() -> Result<()> {
    let failing = StatusCode::INTERNAL_SERVER_ERROR;
    let answers = vec![failing.into_response(), failing.into_response()];
    let mut receiver = Receiver::start(anywhere(), answers).await?;
    let mut fixture = Fixture::with(|config| config.webhooks = vec![receiver.hook()]).await?;
    fixture.submit(vec![job("a"), job("b")]).await?;
    let (first, second, third) =
        (receiver.next().await?, receiver.next().await?, receiver.next().await?);
    assert_eq!(first.header("webhook-id")?, third.header("webhook-id")?);
    assert_eq!((&first.body, &second.body), (&third.body, &third.body));
    let event = third.event()?;
    assert_eq!(
        (event["type"].as_str(), event["subject"].as_str()),
        (Some("bellwether.job_submitted"), Some("a"))
    );
    assert_eq!(third.path, "/hook?x=1");
    assert_eq!(third.header("content-type")?, "application/cloudevents+json");

    let (id, time) = (third.header("webhook-id")?, third.header("webhook-timestamp")?);
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(SECRET.as_bytes())?;
    mac.update(format!("{id}.{time}.").as_bytes());
    mac.update(&third.body);
    let signature = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
    assert_eq!(third.header("webhook-signature")?, signature);

    assert_eq!(receiver.next().await?.event()?["subject"], "b");
    becomes(&fixture, "bellwether_sink_written_total", 2).await?;
    assert_eq!(metric(&fixture, "bellwether_sink_failures_total").await?, 2);
    assert_eq!(metric(&fixture, "bellwether_sink_dropped_total").await?, 0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_goes_on_where_it_was() -> Result<()> {
    let mut receiver = Receiver::start(anywhere(), Vec::new()).await?;
    let mut fixture = Fixture::with(|config| config.webhooks = vec![receiver.hook()]).await?;
    fixture.submit(vec![job("a")]).await?;
    assert_eq!(receiver.next().await?.event()?["subject"], "a");
    becomes(&fixture, "bellwether_sink_written_total", 1).await?;

    // The receiver is away for a while, and so is the scheduler.
    let address = receiver.address;
    drop(receiver);
    fixture.submit(vec![job("b")]).await?;
    let mut fixture = fixture.restart().await?;
    fixture.submit(vec![job("c")]).await?;
    let mut receiver = Receiver::start(address, Vec::new()).await?;
    assert_eq!(receiver.next().await?.event()?["subject"], "b");
    assert_eq!(receiver.next().await?.event()?["subject"], "c");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_inside_is_out_of_reach_unless_it_is_allowed() -> Result<()> {
    let mut receiver = Receiver::start(anywhere(), Vec::new()).await?;
    let port = receiver.address.port();
    for url in [
        format!("http://127.0.0.1:{port}/"),
        // A name is looked at once it is resolved.
        format!("http://localhost:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
    ] {
        let hook =
            Webhook { url: url.clone(), allow_private: false, attempts_max: 2, ..receiver.hook() };
        let mut fixture = Fixture::with(|config| config.webhooks = vec![hook]).await?;
        fixture.submit(vec![job("a")]).await?;
        becomes(&fixture, "bellwether_sink_dropped_total", 1).await?;
        assert_eq!(metric(&fixture, "bellwether_sink_failures_total").await?, 2, "{url}");
        // Nobody else has noticed.
        assert_eq!(fixture.worker("w", 1).await?.offer().await?.job_id(), "a");
    }
    assert!(receiver.posts.try_recv().is_err(), "something was posted");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_are_not_followed() -> Result<()> {
    let answer = || (StatusCode::FOUND, [("location", "/elsewhere")]).into_response();
    let mut receiver = Receiver::start(anywhere(), vec![answer(), answer()]).await?;
    let hook = Webhook { attempts_max: 2, ..receiver.hook() };
    let mut fixture = Fixture::with(|config| config.webhooks = vec![hook]).await?;
    fixture.submit(vec![job("a")]).await?;
    becomes(&fixture, "bellwether_sink_dropped_total", 1).await?;
    for _ in 0..2 {
        assert_eq!(receiver.next().await?.path, "/hook?x=1");
    }
    assert!(receiver.posts.try_recv().is_err(), "it was followed");
    Ok(())
}
