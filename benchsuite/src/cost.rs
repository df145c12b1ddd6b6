//! What measuring costs: our own loop against a build that neither matches responses nor measures latencies.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, ensure};

use crate::names;
use crate::programs::Generator;
use crate::report::Section;
use crate::rig_comparison::{ANSWERED, Bound, FOR_ANSWERS, RigComparison};
use crate::setting::{Setting, repository};
use crate::veth::{FarEnd, Veth};

pub(crate) fn run(setting: &Setting) -> anyhow::Result<Section> {
    let unmeasured = match &setting.unmeasured {
        Some(path) => path.clone(),
        None => build()?,
    };
    let veth = Veth::new(FarEnd::Reflect, 1)?;
    let target = veth.target(&names::one(&setting.rig)?);
    let cpu = [setting.rig.generator_cpu()];
    let (sockets, xdp) = (crate::sockets::ours(setting), crate::xdp::ours(setting));
    let outcome = RigComparison::on(&veth, setting)
        .with(Generator::dnsdyno(setting, &target, &sockets))
        .with(Generator::ours(setting, &unmeasured, &target, &sockets).named(UNMEASURED, &cpu))
        .with(Generator::dnsdyno(setting, &target, &xdp).named(AF_XDP, &cpu))
        .with(Generator::ours(setting, &unmeasured, &target, &xdp).named(AF_XDP_UNMEASURED, &cpu))
        .run(ANSWERED)?;
    let bars = vec![
        outcome.bar("dnsdyno", UNMEASURED, ANSWERED, Bound::AtLeast(0.85)),
        outcome.bar(AF_XDP, AF_XDP_UNMEASURED, ANSWERED, Bound::AtLeast(0.85)),
    ];
    let method = format!(
        "\"{}\", closed loop, for {} s, everything on one CPU, turns of each: {}. The unmeasured build (cargo feature \
         {FEATURE}) only counts responses. A cost of 15 % is a ratio of 0.85.",
        names::ONE,
        setting.seconds,
        setting.pairs
    );
    Ok(outcome.section("cost", method, FOR_ANSWERS, bars))
}

/// Builds it in a folder of its own, so that the measured one stays.
fn build() -> anyhow::Result<PathBuf> {
    let folder = repository().join("target/unmeasured");
    eprintln!("  building dnsdyno with --features {FEATURE}");
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args([
            "build",
            "--quiet",
            "--release",
            "--locked",
            "--package",
            "dnsdyno-cli",
            "--features",
            FEATURE,
        ])
        .arg("--target-dir")
        .arg(&folder)
        .current_dir(repository())
        .status()
        .context("cannot run cargo; build dnsdyno with the feature yourself and name it with --unmeasured")?;
    ensure!(status.success(), "dnsdyno cannot be built with --features {FEATURE}");
    Ok(folder.join("release/dnsdyno"))
}

const FEATURE: &str = "unmeasured";
const UNMEASURED: &str = "dnsdyno, unmeasured";
const AF_XDP: &str = "dnsdyno AF_XDP";
const AF_XDP_UNMEASURED: &str = "dnsdyno AF_XDP, unmeasured";
