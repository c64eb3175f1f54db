//! Who did what is in the events, and who was not let in is counted.

use anyhow::{Context as _, Result, ensure};
use bellwether_sdk::{Client, NewJob, Security};
use bellwether_server::edges::security::tokens::{Holder, Role, issue};
use serde_json::Value;
use tokio::process::Command;

use crate::plain_http::send;
use crate::site::Site;

struct Office {
    site: Site,
    ci: String,
    ops: String,
}

impl Office {
    fn new() -> Result<Office> {
        let mut site = Site::new(&[])?;
        let (ci, ci_line) = issue(&Holder::new("ci", &[Role::Submitter]))?;
        let (ops, ops_line) = issue(&Holder::new("ops", &[Role::Operator, Role::Viewer]))?;
        let tokens = site.folder().join("tokens");
        bellwether_testbed::write_secret(&tokens, format!("{ci_line}\n{ops_line}\n"))?;
        site.set("tokens", &tokens.display().to_string());
        Ok(Office { site, ci, ops })
    }

    fn client(&self, token: &str) -> Result<Client> {
        let security = Security { token: Some(token.to_owned()), ..Security::default() };
        Ok(Client::builder(self.site.url()).security(security).lazy()?)
    }

    async fn as_ops(&self, words: &[&str]) -> Result<String> {
        let output = Command::new(env!("CARGO_BIN_EXE_bellwether"))
            .args(words)
            .env("BELLWETHER_SERVER", self.site.url())
            .env("BELLWETHER_TOKEN", &self.ops)
            .kill_on_drop(true)
            .output()
            .await?;
        ensure!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    }

    async fn audit(&self, words: &[&str]) -> Result<Vec<(String, String, String)>> {
        let words = [&["audit", "--json"], words].concat();
        let text = self.as_ops(&words).await?;
        let field = |line: &Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
        text.lines()
            .map(|line| {
                let line: Value = serde_json::from_str(line)?;
                ensure!(field(&line, "peer").starts_with("127."), "{line}");
                Ok((field(&line, "actor"), field(&line, "action"), field(&line, "subject")))
            })
            .collect()
    }
}

fn act(actor: &str, action: &str, subject: &str) -> (String, String, String) {
    (actor.to_owned(), action.to_owned(), subject.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_says_who_did_what_through_a_crash_and_a_restart() -> Result<()> {
    let office = Office::new()?;
    let scheduler = office.site.start().await?;
    office.client(&office.ci)?.submit(NewJob::new("t").id("a")).await?;
    office.as_ops(&["cancel", "a", "--reason", "not needed"]).await?;
    let all = [act("ci", "job_submitted", "a"), act("ops", "job_cancelled", "a")];
    ensure!(office.audit(&[]).await? == all, "{:?}", office.audit(&[]).await?);
    ensure!(office.audit(&["--actor", "ops"]).await? == all[1..]);
    ensure!(office.audit(&["--action", "job_submitted"]).await? == all[..1]);
    ensure!(office.audit(&["--until", "2020-01-01T00:00:00Z"]).await?.is_empty());
    let told = office.as_ops(&["audit"]).await?;
    ensure!(told.contains("ops (127.") && told.contains("a: not needed"), "{told}");

    let job: Value = serde_json::from_str(&office.as_ops(&["job", "a", "--json"]).await?)?;
    ensure!(job["submitted_by"] == "ci" && job["changed_by"] == "ops", "{job}");
    let bearer = format!("Bearer {}", office.ops);
    let headers = [("host", "localhost"), ("authorization", bearer.as_str())];
    let path = "/scheduler/events?from=1&follow=false&actor=ci";
    let events = send(office.site.http, "GET", path, &headers, b"").await?;
    ensure!(events.body.matches("\"actor\":\"ci\"").count() == 1, "{}", events.body);

    // Numbers stand for the same names after a crash, and after a restart from a snapshot.
    scheduler.kill().await?;
    let scheduler = office.site.start().await?;
    office.client(&office.ci)?.submit(NewJob::new("t").id("b")).await?;
    scheduler.stop().await?;
    let scheduler = office.site.start().await?;
    office.client(&office.ci)?.submit(NewJob::new("t").id("c")).await?;
    let of_ci = office.audit(&["--actor", "ci"]).await?;
    let wanted = ["a", "b", "c"].map(|id| act("ci", "job_submitted", id));
    ensure!(of_ci == wanted, "{of_ci:?}");
    let named = office.as_ops(&["events", "--kind", "actor_named", "--json"]).await?;
    ensure!(named.lines().count() == 2, "{named}");
    scheduler.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn those_who_are_not_let_in_are_counted_and_fill_no_log() -> Result<()> {
    let office = Office::new()?;
    let scheduler = office.site.start().await?;
    let began = std::time::Instant::now();
    for _ in 0..300 {
        let host = [("host", "localhost")];
        let answer = send(office.site.http, "GET", "/scheduler/status", &host, b"").await?;
        ensure!(answer.status == 401);
    }
    ensure!(office.client(&office.ci)?.pause("t").await.is_err());
    let seconds = began.elapsed().as_secs() as usize + 2;
    let bearer = format!("Bearer {}", office.ops);
    let headers = [("host", "localhost"), ("authorization", bearer.as_str())];
    let metrics = send(office.site.http, "GET", "/metrics", &headers, b"").await?.body;
    let count = |cause: &str| -> Result<u64> {
        let name = format!("bellwether_denied_total{{cause=\"{cause}\"}} ");
        let line = metrics.lines().find_map(|line| line.strip_prefix(&name));
        Ok(line.context("it is counted")?.parse()?)
    };
    ensure!(count("no_token")? == 300 && count("role")? == 1, "{metrics}");
    scheduler.stop().await?;
    let log = std::fs::read_to_string(office.site.folder().join("stderr"))?;
    let told = log.matches("not let in").count();
    ensure!(told >= 1 && told <= 10 * seconds, "{told} lines in {seconds} s");
    Ok(())
}
