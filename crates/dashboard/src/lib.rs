//! The dashboard: the files of `web/`, compressed in the build, for a server to hand out.
//!
//! They are plain ES modules, styles and one page; nothing is compiled and nothing is loaded from
//! elsewhere. What others wrote lies in `web/vendor`, byte for byte as it was published, and
//! `vendored.json` says which version it is.
//!
//! Deliberately absent: routes, and any data. Pages ask the REST interface, as everybody does.

use std::borrow::Cow;
use std::io::Read as _;

use flate2::read::GzDecoder;

include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// In builds for development: a folder to take the files from, so that a change needs no build.
const FOLDER_VARIABLE: &str = "BELLWETHER_UI_FOLDER";

/// A file of the dashboard.
#[derive(Debug, Clone)]
pub struct Asset {
    /// Below `web/`.
    pub path: &'static str,
    /// In quotes, as the header has it.
    pub etag: &'static str,
    /// Bytes before they were compressed.
    pub length: usize,
    pub gzip: &'static [u8],
}

impl Asset {
    pub fn content_type(&self) -> &'static str {
        content_type(self.path)
    }

    /// For those who take nothing compressed.
    pub fn plain(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.length);
        GzDecoder::new(self.gzip).read_to_end(&mut bytes).expect("the build has compressed it");
        bytes
    }
}

/// Every file.
pub fn assets() -> &'static [Asset] {
    ASSETS
}

/// None if there is no file of this name.
pub fn asset(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}

/// The one page; the modules that it loads make every view of it.
pub fn page() -> &'static Asset {
    asset("index.html").expect("the build would have failed without it")
}

/// The content security policy of the page.
pub fn policy() -> &'static str {
    POLICY
}

/// The file as it is in the folder that somebody works in. Never in a release.
pub fn draft(path: &str) -> Option<(&'static str, Cow<'static, [u8]>)> {
    if !cfg!(debug_assertions) || path.split('/').any(|part| part == "..") {
        return None;
    }
    let folder = std::env::var_os(FOLDER_VARIABLE)?;
    let bytes = std::fs::read(std::path::Path::new(&folder).join(path)).ok()?;
    Some((content_type(path), bytes.into()))
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest as _, Sha256};

    /// Of all files together, compressed.
    const GZIP_BYTES_MAX: usize = 120_000;

    #[test]
    fn all_files_together_are_small() {
        let total: usize = assets().iter().map(|asset| asset.gzip.len()).sum();
        assert!(total <= GZIP_BYTES_MAX, "{total} bytes");
    }

    #[test]
    fn what_others_wrote_is_as_it_was_published() {
        let list = include_str!("../web/vendor/vendored.json");
        let list: Vec<serde_json::Value> = serde_json::from_str(list).unwrap();
        let files = assets().iter().filter(|asset| asset.path.starts_with("vendor/"));
        assert_eq!(files.count(), list.len());
        for entry in list {
            let file = format!("vendor/{}", entry["file"].as_str().unwrap());
            let hash = Sha256::digest(asset(&file).unwrap().plain());
            let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hash, entry["sha256"].as_str().unwrap(), "{file}");
        }
    }

    #[test]
    fn every_module_that_is_imported_is_there() {
        for asset in assets().iter().filter(|asset| asset.path.starts_with("app/")) {
            let text = String::from_utf8(asset.plain()).unwrap();
            let imports = text.lines().filter_map(|line| line.split_once(" from \"./"));
            for (_, rest) in imports {
                let name = rest.split('"').next().unwrap();
                let folder = asset.path.rsplit_once('/').unwrap().0;
                assert!(super::asset(&format!("{folder}/{name}")).is_some(), "{name}");
            }
        }
    }

    #[test]
    fn the_policy_lets_nothing_in_from_elsewhere() {
        assert!(!policy().contains("unsafe"), "{}", policy());
        assert!(!policy().contains("http"), "{}", policy());
        assert!(policy().contains("require-trusted-types-for 'script'"));
    }
}
