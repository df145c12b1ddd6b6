//! Compiles the programs of `ebpf/` for the kernel's machine, where clang is there to do it.
//!
//! Without clang the build goes on with empty objects, and loading one says what to install:
//! everything but AF_XDP works without. A clang that cannot compile them fails the build.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The programs; `ebpf/NAME.bpf.c` becomes `NAME.o`.
const PROGRAMS: &[&str] = &["ends", "redirect", "reflect", "responder"];

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let sources = root.join("../../ebpf");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let clang = env::var("CLANG").unwrap_or_else(|_| "clang".to_owned());
    println!("cargo::rerun-if-env-changed=CLANG");
    println!("cargo::rerun-if-env-changed=PATH");
    println!("cargo::rerun-if-changed={}", sources.display());
    let has_clang =
        Command::new(&clang).arg("--version").output().is_ok_and(|output| output.status.success());
    for program in PROGRAMS {
        let object = out.join(format!("{program}.o"));
        if has_clang {
            compile(&clang, &sources.join(format!("{program}.bpf.c")), &object);
        } else {
            fs::write(&object, []).expect("cannot write to OUT_DIR");
        }
    }
    if !has_clang {
        // Looks again when a program is installed. To name clang itself would not do: packages give their files a date
        // before this build.
        println!("cargo::rerun-if-changed=/usr/bin");
        println!(
            "cargo::warning={clang} not found: this build will have no AF_XDP (install clang to have it)"
        );
    }
}

fn compile(clang: &str, source: &Path, object: &Path) {
    let output = Command::new(clang)
        // 32-bit instructions (version 3, Linux 5.1) halve the work of the verifier and of the programs.
        // Debug sections would contain paths of this machine. Without them, BTF is not needed either.
        .args(["-O2", "-g0", "-Wall", "-Wextra", "-Werror", "-target", "bpf", "-mcpu=v3", "-c"])
        .arg(source)
        .arg("-o")
        .arg(object)
        .output()
        .unwrap_or_else(|error| panic!("cannot run {clang}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{clang} cannot compile {}:\n{said}", source.display());
}
