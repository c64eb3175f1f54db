//! Generates the messages, and the gRPC stubs that the features ask for, without a protoc.

use std::error::Error;
use std::path::PathBuf;

use prost::Message as _;

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("../../proto");
    let files = ["job", "journal", "worker", "client", "snapshot", "members", "cluster"]
        .map(|name| root.join("bellwether/v1").join(name).with_extension("proto"));
    for file in &files {
        println!("cargo::rerun-if-changed={}", file.display());
    }

    let descriptors = protox::compile(&files, [&root])?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    // What schedulers say to each other is nobody else's business.
    let public = protox::compile(&files[..files.len() - 1], [&root])?;
    std::fs::write(out.join("descriptors.bin"), public.encode_to_vec())?;

    let wanted = |feature: &str| std::env::var_os(format!("CARGO_FEATURE_{feature}")).is_some();
    tonic_prost_build::configure()
        .build_client(wanted("CLIENT"))
        .build_server(wanted("SERVER"))
        .bytes(".")
        .compile_fds(descriptors)?;
    Ok(())
}
