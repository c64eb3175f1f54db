//! Compresses the files of `web/` and lists them, so that cargo alone builds the dashboard.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};

const MAP_OPENING: &str = "<script type=\"importmap\">";
const MAP_CLOSING: &str = "</script>";
/// Where the page names the modules that it needs, so that none waits for another to be read.
const MODULES: &str = "<!-- modules -->";

fn main() -> Result<()> {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("web");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    println!("cargo::rerun-if-changed={}", root.display());
    let mut paths = Vec::new();
    collect(&root, &mut paths)?;
    paths.sort();
    let names: Vec<String> = paths.iter().map(|path| name(&root, path)).collect();
    let mut table = String::from("pub(crate) const ASSETS: &[Asset] = &[\n");
    let mut page_policy = String::new();
    for (index, (path, name)) in paths.iter().zip(&names).enumerate() {
        let mut bytes = std::fs::read(path)?;
        if name == "index.html" {
            let text = String::from_utf8(bytes).context("the page is text")?;
            page_policy = policy(&text)?;
            bytes = text.replace(MODULES, &preloads(&names)).into_bytes();
        }
        let etag = STANDARD.encode(&Sha256::digest(&bytes)[..12]);
        let file = out.join(format!("{index}.gz"));
        std::fs::write(&file, compress(&bytes)?)?;
        let length = bytes.len();
        writeln!(
            table,
            "    Asset {{ path: {name:?}, etag: \"\\\"{etag}\\\"\", length: {length}, \
             gzip: include_bytes!({file:?}) }},"
        )?;
    }
    writeln!(table, "];\n\npub(crate) const POLICY: &str = {page_policy:?};")?;
    std::fs::write(out.join("assets.rs"), table)?;
    Ok(())
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension != "json" && extension != "ts")
        {
            found.push(path);
        }
    }
    Ok(())
}

fn name(root: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(root).expect("it was found there");
    inside.to_string_lossy().replace('\\', "/")
}

/// What the page may do: nothing but run our own modules and ask our own server. The map of modules is
/// the one thing that browsers take only inside the page, so its hash is named.
fn policy(page: &str) -> Result<String> {
    let (_, rest) = page.split_once(MAP_OPENING).context("the page has a map of modules")?;
    let (map, _) = rest.split_once(MAP_CLOSING).context("the map of modules ends")?;
    let hash = STANDARD.encode(Sha256::digest(map.as_bytes()));
    Ok(format!(
        "default-src 'none'; script-src 'self' 'sha256-{hash}'; style-src 'self'; img-src 'self'; \
         connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types bellwether"
    ))
}

fn preloads(names: &[String]) -> String {
    let ours = names.iter().filter(|name| name.ends_with(".js"));
    let needed = ours.filter(|name| !name.ends_with("uplot.js") && !name.contains("/threads/"));
    let link = |name: &String| format!("<link rel=\"modulepreload\" href=\"/ui/assets/{name}\">\n");
    needed.map(link).collect()
}

fn compress(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish()
}
