//! A page in a browser that sends requests to a scheduler on the same machine.

use anyhow::{Result, ensure};
use bellwether_sdk::NewJob;
use bellwether_server::edges::security::access::operations;

use crate::plain_http::send;
use crate::site::Site;

const JSON: (&str, &str) = ("content-type", "application/json");
const HOST: (&str, &str) = ("host", "localhost");

fn path(route: &str) -> String {
    route.replace("{id}", "a").replace("{type}", "t").replace("{*path}", "p")
}

fn is_unsafe(method: &str) -> bool {
    !matches!(method, "GET" | "HEAD")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_leads_here_by_somebody_elses_doing_is_not_served() -> Result<()> {
    let site = Site::new(&[("allowed_hosts", "jobs.example.com, 10.1.1.1")])?;
    let scheduler = site.start().await?;
    // Even with a token, which a page has no way to know.
    let bearer = site.bearer()?;
    let hosts = ["evil.example.com", "localhost.evil.com:80", "10.9.9.9", "127.0.0.1.nip.io", ""];
    let mut tried = 0;
    for (method, route) in operations() {
        for host in hosts {
            let headers = [("host", host), JSON, ("authorization", &bearer)];
            let answer = send(site.http, method, &path(route), &headers, b"").await?;
            ensure!(answer.status == 421, "{method} {route} for {host:?}: {answer:?}");
            ensure!(answer.code() == "unknown_host", "{answer:?}");
            tried += 1;
        }
        let answer =
            send(site.http, method, &path(route), &[JSON, ("authorization", &bearer)], b"").await?;
        ensure!(answer.status == 400, "{method} {route} without a host: {answer:?}");
    }
    let elsewhere = send(site.http, "GET", "http://evil.com/healthz", &[HOST], b"").await?;
    ensure!(elsewhere.status == 421, "{elsewhere:?}");
    for host in ["localhost", "127.0.0.1:7071", "[::1]:7071", "jobs.example.com", "10.1.1.1:80"] {
        let answer = send(site.http, "GET", "/healthz", &[("host", host)], b"").await?;
        ensure!(answer.status == 200, "{host}: {answer:?}");
    }
    eprintln!("{tried} requests under foreign names, none was served");
    scheduler.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_another_site_changes_nothing() -> Result<()> {
    let site = Site::new(&[])?;
    let scheduler = site.start().await?;
    let client = site.client()?;
    client.submit(NewJob::new("t").id("a")).await?;
    // Even with a token, which a page has no way to know.
    let bearer = site.bearer()?;
    let token = ("authorization", bearer.as_str());
    let before = client.status().await?.position;
    let foreign: [&[(&str, &str)]; 5] = [
        &[("origin", "http://evil.example.com")],
        &[("origin", "null")],
        &[("origin", "http://localhost:3000")],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site"), ("origin", "http://localhost")],
    ];
    let forms =
        ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x"];
    let mut tried = 0;
    for (method, route) in operations().filter(|(method, _)| is_unsafe(method)) {
        let path = path(route);
        for page in foreign {
            let headers = [&[HOST, JSON, token], page].concat();
            let answer = send(site.http, method, &path, &headers, b"").await?;
            ensure!(answer.status == 403, "{method} {route} with {page:?}: {answer:?}");
            ensure!(answer.code() == "foreign_origin", "{answer:?}");
            tried += 1;
        }
        for form in forms {
            for body in ["", r#"{"type":"t"}"#] {
                let headers = [HOST, token, ("content-type", form)];
                let sent = send(site.http, method, &path, &headers, body.as_bytes());
                let answer = sent.await?;
                ensure!(answer.status == 415, "{method} {route} as {form}: {answer:?}");
                tried += 1;
            }
        }
        let body = br#"{"type":"t"}"#;
        let answer = send(site.http, method, &path, &[HOST, token], body).await?;
        ensure!(answer.status == 415, "{method} {route} of no type");
    }
    eprintln!("{tried} requests of foreign pages, none was taken");
    ensure!(client.status().await?.position == before, "something has happened");
    // Our own page may.
    let page = [("origin", "http://localhost"), ("sec-fetch-site", "same-origin")];
    let own = [&[HOST, JSON, token], &page[..]].concat();
    let taken = send(site.http, "POST", "/scheduler/jobs", &own, br#"{"type":"t"}"#).await?;
    ensure!(taken.status == 201, "{taken:?}");
    scheduler.stop().await
}
