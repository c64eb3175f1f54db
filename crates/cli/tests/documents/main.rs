//! The documents as they are written: every command in them is run, page by page, in the order in which
//! it stands there, and what it prints is compared with what the page shows.
//!
//! - A block of `sh` is a script; each of its commands must succeed.
//! - A block of `console` has commands behind `$ ` and below each what it prints: `...` stands for
//!   anything in a line, and alone in a line for any lines.
//! - `<!-- not run: WHY -->` before a block leaves it out; our own commands in it must still be such that
//!   they could be run. `<!-- run first: COMMANDS -->` is run like a script, for what a page takes for granted.
//!
//! A page has a network, processes and a home of its own, so that commands find the usual ports, and
//! nothing that they start outlives them.

mod page;
mod session;

use page::Page;

macro_rules! pages {
    ($($test:ident: $path:literal, left out $left_out:literal;)+) => {
        $(#[test]
        fn $test() {
            session::check(&Page::read($path), $left_out);
        })+

        const PAGES: &[&str] = &[$($path),+];
    };
}

pages! {
    readme: "README.md", left out 3;
    index: "docs/README.md", left out 0;
    cli: "docs/cli.md", left out 0;
    cluster: "docs/cluster.md", left out 0;
    dashboard: "docs/dashboard.md", left out 0;
    explain: "docs/explain.md", left out 0;
    guarantees: "docs/guarantees.md", left out 1;
    handoff: "docs/handoff.md", left out 0;
    jobs: "docs/jobs.md", left out 0;
    limits: "docs/limits.md", left out 0;
    observability: "docs/observability.md", left out 0;
    operating: "docs/operating.md", left out 2;
    queues: "docs/queues.md", left out 0;
    rest: "docs/rest.md", left out 0;
    runbook: "docs/runbook.md", left out 0;
    runs: "docs/runs.md", left out 0;
    security: "docs/security.md", left out 0;
    simulation: "docs/simulation.md", left out 0;
    tls: "docs/tls.md", left out 0;
}

#[test]
fn every_page_is_tried() {
    let folder = page::root().join("docs");
    for entry in std::fs::read_dir(folder).expect("there are documents") {
        let name = entry.expect("it can be listed").file_name().into_string().expect("a name");
        let path = format!("docs/{name}");
        assert!(
            PAGES.contains(&path.as_str()) || !name.ends_with(".md"),
            "{path} is a page that no test tries"
        );
    }
}
