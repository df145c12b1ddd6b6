//! Lists the server templates in `testbed/servers`, so that a new file there is a new server without a line of
//! code: writes `templates.rs`, an array of (name, text) with every text embedded.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    // Of the folder that is built: the program of another one may be run where they share a target folder.
    let own = env::var_os("CARGO_MANIFEST_DIR").ok_or_else(|| io::Error::other("cargo gave no folder"))?;
    let folder = Path::new(&own).join("../../testbed/servers").canonicalize()?;
    println!("cargo::rerun-if-changed={}", folder.display());

    let mut templates = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            templates.push((name, path));
        }
    }
    templates.sort();

    let lines: String = templates
        .iter()
        .map(|(name, path)| format!("    ({name:?}, include_str!({:?})),\n", path.display().to_string()))
        .collect();
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo gave no OUT_DIR"))?;
    fs::write(Path::new(&out).join("templates.rs"), format!("&[\n{lines}]\n"))
}
