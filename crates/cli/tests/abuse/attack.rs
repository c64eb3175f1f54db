//! Every HTTP operation and every RPC, asked by everybody who may not: without a token, with a guess,
//! with one that has expired, is for another namespace or lacks the role, under a foreign name, from a
//! foreign page, as a form. What the run finds out is the table in docs/security.md.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use bellwether_server::edges::security::access;
use bellwether_server::edges::security::tokens::{Holder, Role, issue};
use bellwether_wire::FILE_DESCRIPTOR_SET;
use prost::Message as _;

use crate::plain_http::send;
use crate::raw::{channel, let_in};
use crate::site::{Scheduler, Site};

const HOST: (&str, &str) = ("host", "localhost");
const JSON: (&str, &str) = ("content-type", "application/json");
/// No JSON and no message: whoever is let in changes nothing with it.
const NONSENSE: &[u8] = b"{";
/// Beside what the OpenAPI document describes.
const BESIDE: [&str; 8] = [
    "GET /healthz",
    "GET /metrics",
    "GET /readyz",
    "GET /scheduler/openapi.json",
    "GET /",
    "GET /ui",
    "GET /ui/",
    "GET /ui/{*path}",
];
/// What speaks of itself, not of us.
const OF_OTHERS: [&str; 3] = [
    "/grpc.health.v1.Health/Check",
    "/grpc.health.v1.Health/Watch",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
];
const SECTION: &str = "## Who may do what";
/// What an item of a path may be; the rest describes all of them.
const METHODS: [&str; 5] = ["get", "put", "post", "patch", "delete"];
const UPDATE: &str = "UPDATE_EXPECT";

/// A scheduler, and everybody who comes to it.
struct Attacked {
    site: Site,
    scheduler: Scheduler,
    roles: Vec<(Role, String)>,
    /// Who has all roles, and yet may nothing.
    outsiders: Vec<(&'static str, Option<String>)>,
}

impl Attacked {
    async fn start() -> Result<Attacked> {
        let mut site = Site::new(&[])?;
        let mut lines = String::new();
        let mut bearer = |holder: &Holder| {
            let (token, line) = issue(holder)?;
            lines += &format!("{line}\n");
            anyhow::Ok(format!("Bearer {token}"))
        };
        let mut roles = Vec::new();
        for role in Role::ALL {
            roles.push((role, bearer(&Holder::new(role.as_str(), &[role]))?));
        }
        let everything = Holder::new("everything", &Role::ALL);
        let expires = Some("2020-01-01T00:00:00Z".parse()?);
        let outsiders = vec![
            ("no token", None),
            ("a guess", Some("Bearer bellwether-00".to_owned())),
            ("expired", Some(bearer(&Holder { expires, ..everything.clone() })?)),
            (
                "other namespace",
                Some(bearer(&Holder { namespace: "other".to_owned(), ..everything })?),
            ),
        ];
        let tokens = site.folder().join("tokens");
        bellwether_testbed::write_secret(&tokens, lines)?;
        site.set("tokens", &tokens.display().to_string());
        let scheduler = site.start().await?;
        Ok(Attacked { site, scheduler, roles, outsiders })
    }

    fn bearer(&self, wanted: Role) -> &str {
        let found = self.roles.iter().find(|(role, _)| *role == wanted);
        found.map(|(_, bearer)| bearer.as_str()).expect("every role has one")
    }

    async fn http(
        &self,
        operation: &str,
        headers: &[(&str, &str)],
        bearer: Option<&str>,
    ) -> Result<u16> {
        let (method, route) = operation.split_once(' ').context("a method and a route")?;
        let path = route.replace("{id}", "x").replace("{type}", "x").replace("{*path}", "x");
        let path = if path.ends_with("/events") { format!("{path}?follow=false") } else { path };
        let token = bearer.map(|bearer| ("authorization", bearer));
        let headers: Vec<_> = headers.iter().copied().chain(token).collect();
        let body = if method == "GET" { b"" } else { NONSENSE };
        Ok(send(self.site.http, method, &path, &headers, body).await?.status)
    }

    async fn position(&self) -> Result<u64> {
        let headers = [HOST, ("authorization", self.bearer(Role::Viewer))];
        let status = send(self.site.http, "GET", "/scheduler/status", &headers, b"").await?;
        status.json()?["position"].as_u64().context("a position")
    }

    /// The operations that there are, by the scheduler's own description.
    async fn operations(&self) -> Result<Vec<String>> {
        let headers = [HOST, ("authorization", self.bearer(Role::Viewer))];
        let document =
            send(self.site.http, "GET", "/scheduler/openapi.json", &headers, b"").await?;
        let document = document.json()?;
        let mut operations: Vec<String> = BESIDE.map(str::to_owned).into();
        for (path, item) in document["paths"].as_object().context("paths")? {
            let methods = item.as_object().context("methods")?.keys();
            let methods = methods.filter(|name| METHODS.contains(&name.as_str()));
            operations.extend(methods.map(|method| format!("{} {path}", method.to_uppercase())));
        }
        operations.sort_unstable();
        operations.dedup();
        let mut known: Vec<String> =
            access::operations().map(|(method, route)| format!("{method} {route}")).collect();
        known.sort_unstable();
        ensure!(operations == known, "served: {operations:?}, in the table: {known:?}");
        Ok(operations)
    }
}

fn is_denied(status: u16) -> bool {
    status == 401 || status == 403
}

/// The methods that the schema has, and those of others that are served beside them.
fn rpcs() -> Result<Vec<String>> {
    let schema = prost_types::FileDescriptorSet::decode(FILE_DESCRIPTOR_SET)?;
    let mut rpcs: Vec<String> = OF_OTHERS.map(str::to_owned).into();
    for file in &schema.file {
        for service in &file.service {
            let path = format!("/{}.{}", file.package(), service.name());
            rpcs.extend(service.method.iter().map(|method| format!("{path}/{}", method.name())));
        }
    }
    rpcs.sort_unstable();
    Ok(rpcs)
}

/// Who was let in, by what was asked; nobody at all is the first.
type Table = BTreeMap<String, Vec<bool>>;

#[tokio::test(flavor = "multi_thread")]
async fn nobody_gets_through_who_may_not() -> Result<()> {
    let attacked = Attacked::start().await?;
    let operations = attacked.operations().await?;
    let before = attacked.position().await?;
    let mut tried = BTreeMap::<&str, u32>::new();
    for operation in &operations {
        try_outside(&attacked, operation, &mut tried).await?;
    }
    ensure!(attacked.position().await? == before, "something has happened");
    let mut table = Table::new();
    for operation in operations {
        let mut let_in = Vec::new();
        for bearer in callers(&attacked) {
            let_in.push(!is_denied(attacked.http(&operation, &[HOST, JSON], bearer).await?));
        }
        table.insert(operation, let_in);
    }
    try_rpcs(&attacked, &mut tried, &mut table).await?;
    let text = render(&table);
    eprintln!("{text}\n{tried:?}: none got through");
    attacked.scheduler.stop().await?;
    compare(&text)
}

/// Nobody, then one of each role.
fn callers(attacked: &Attacked) -> impl Iterator<Item = Option<&str>> {
    let roles = attacked.roles.iter().map(|(_, bearer)| Some(bearer.as_str()));
    std::iter::once(None).chain(roles)
}

async fn try_outside(
    attacked: &Attacked,
    operation: &str,
    tried: &mut BTreeMap<&'static str, u32>,
) -> Result<()> {
    let open = attacked.http(operation, &[HOST, JSON], None).await? != 401;
    for (who, bearer) in attacked.outsiders.iter().filter(|_| !open) {
        let status = attacked.http(operation, &[HOST, JSON], bearer.as_deref()).await?;
        ensure!(is_denied(status), "{operation} with {who}: {status}");
        *tried.entry(who).or_default() += 1;
    }
    // Those who may do it, but not so.
    let operator = Some(attacked.bearer(Role::Operator));
    let submitter = Some(attacked.bearer(Role::Submitter));
    for bearer in [operator, submitter] {
        let foreign = [("host", "evil.example.com"), JSON];
        let status = attacked.http(operation, &foreign, bearer).await?;
        ensure!(status == 421, "{operation} under a foreign name: {status}");
        *tried.entry("foreign host").or_default() += 1;
        if operation.starts_with("GET ") {
            continue;
        }
        let page = [HOST, JSON, ("origin", "https://evil.example.com")];
        let status = attacked.http(operation, &page, bearer).await?;
        ensure!(status == 403, "{operation} from a foreign page: {status}");
        *tried.entry("foreign origin").or_default() += 1;
        let form = [HOST, ("content-type", "application/x-www-form-urlencoded")];
        let status = attacked.http(operation, &form, bearer).await?;
        ensure!(status == 415 || status == 403, "{operation} as a form: {status}");
        *tried.entry("form").or_default() += 1;
    }
    Ok(())
}

async fn try_rpcs(
    attacked: &Attacked,
    tried: &mut BTreeMap<&'static str, u32>,
    table: &mut Table,
) -> Result<()> {
    let channel = channel(&attacked.site).await?;
    for rpc in rpcs()? {
        let open = let_in(channel.clone(), None, &rpc).await?;
        for (who, bearer) in attacked.outsiders.iter().filter(|_| !open) {
            let entered = let_in(channel.clone(), bearer.as_deref(), &rpc).await?;
            ensure!(!entered, "{rpc} with {who}");
            *tried.entry(who).or_default() += 1;
        }
        let mut row = Vec::new();
        for bearer in callers(attacked) {
            row.push(let_in(channel.clone(), bearer, &rpc).await?);
        }
        table.insert(rpc.trim_start_matches('/').to_owned(), row);
    }
    // A browser speaks no gRPC; what it can send to that port is not even heard.
    let address = attacked.site.address();
    let token = ("authorization", attacked.bearer(Role::Submitter));
    let form = [HOST, token, ("content-type", "application/x-www-form-urlencoded")];
    let heard = send(address, "POST", "/bellwether.v1.Scheduler/Submit", &form, NONSENSE).await;
    ensure!(heard.is_err(), "{heard:?}");
    *tried.entry("form").or_default() += 1;
    Ok(())
}

fn render(table: &Table) -> String {
    let mut text = "| | no token |".to_owned();
    for role in Role::ALL {
        text += &format!(" {} |", role.as_str());
    }
    text += &format!("\n|{}\n", " --- |".repeat(2 + Role::ALL.len()));
    for (what, let_in) in table {
        text += &format!("| `{what}` |");
        for may in let_in {
            text += if *may { " yes |" } else { " |" };
        }
        text += "\n";
    }
    text
}

/// The documentation says what the run has found out.
fn compare(table: &str) -> Result<()> {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/security.md");
    let docs = std::fs::read_to_string(&path)?;
    let (before, _) = docs.split_once(SECTION).context("the section is missing")?;
    let wanted = format!(
        "{before}{SECTION}\n\nWritten by the test that tries it, `attack.rs`. What is not here, nobody \
         may.\n\n{table}"
    );
    if docs == wanted {
        return Ok(());
    }
    if std::env::var_os(UPDATE).is_some() {
        return Ok(std::fs::write(path, wanted)?);
    }
    bail!("docs/security.md says otherwise; {UPDATE}=1 writes it anew:\n{table}")
}
