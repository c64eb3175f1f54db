//! The real binary under clients and workers that are broken, forbidden, greedy or too many: typed
//! errors, bounded memory, nothing lost, and everybody else is served. See docs/guarantees.md.

mod access;
mod attack;
mod browser;
mod bug;
mod crowd;
mod flood;
mod garbage;
mod hog;
mod hostile;
mod local_token;
mod memory;
mod plain_http;
mod raw;
#[path = "../crash/site.rs"]
#[expect(dead_code, reason = "the tests of crashes use the rest")]
mod site;
mod stranger;
mod who_acted;
