//! dnsdyno against its peers: the table of the benchmarks, and the order in which they run.
//!
//! Each benchmark runs us and the others in turn on one machine, so that what drifts meets all of them alike; what
//! counts is the ratio. Nothing here fails because something was slow: a bar is reported as met or missed. What was
//! found goes to `benchsuite/runs/DATE-HOST/`.
#![forbid(unsafe_code)]

mod capture;
mod memory;
mod pacing;
mod pairs;
mod programs;
mod report;
mod responder;
mod rig;
mod speed;
mod windows;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use clap::Parser;

use crate::report::{Machine, RunFolder, Section};
use crate::rig::Rig;

/// Every benchmark by its name. A new one is one file and one line here.
const BENCHMARKS: &[Benchmark] = &[
    Benchmark { name: "speed", run: speed::run },
    Benchmark { name: "pacing", run: pacing::run },
    Benchmark { name: "memory", run: memory::run },
];

struct Benchmark {
    name: &'static str,
    run: fn(&Setting) -> anyhow::Result<Section>,
}

/// Run dnsdyno and its peers in turn and report medians and ratios.
#[derive(Debug, Parser)]
#[command(name = "dnsdyno-benchsuite", version, max_term_width = 100)]
struct Options {
    /// Which to run: speed, pacing, memory, or all
    #[arg(default_value = ALL)]
    benchmarks: Vec<String>,
    /// How often each program has its turn
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pairs: u32,
    /// How long each turn of speed and pacing lasts
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..))]
    seconds: u32,
    /// How long the run of memory lasts
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    minutes: u32,
    /// What answers: respond (dnsdyno's own), or a real server: nsd, bind, unbound or knot
    #[arg(long, value_name = "SERVER", default_value = responder::OURS)]
    against: String,
    /// The dnsdyno to measure [default: the one beside this program]
    #[arg(long, value_name = "PATH")]
    dnsdyno: Option<PathBuf>,
    /// Where the report goes [default: benchsuite/runs/DATE-HOST]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// What every benchmark is given.
#[derive(Debug)]
pub(crate) struct Setting {
    /// Starts programs and pins them.
    pub(crate) rig: Rig,
    /// The dnsdyno to measure.
    pub(crate) dnsdyno: PathBuf,
    /// A query file that every generator reads: one line, [`programs::QUERY`].
    pub(crate) queries: PathBuf,
    /// The name of what answers, as typed.
    pub(crate) against: String,
    /// Turns of each program.
    pub(crate) pairs: usize,
    /// Length of a turn.
    pub(crate) seconds: u32,
    /// Length of the run of `memory`.
    pub(crate) minutes: u32,
}

fn main() -> ExitCode {
    run(&Options::parse()).unwrap_or_else(|error| {
        eprintln!("benchsuite: {error:#}");
        ExitCode::FAILURE
    })
}

fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let chosen = choose(&options.benchmarks)?;
    let setting = Setting::new(options)?;
    let machine = Machine::look(&setting);
    let folder = RunFolder::make(options.out.as_deref(), &repository().join("benchsuite/runs"))?;

    let mut sections = Vec::new();
    let mut failed = false;
    for benchmark in chosen {
        eprintln!("{}:", benchmark.name);
        // One that cannot be run takes nothing from the others.
        let section = (benchmark.run)(&setting).unwrap_or_else(|error| {
            failed = true;
            eprintln!("benchsuite: {} could not be run: {error:#}", benchmark.name);
            Section::failed(benchmark.name, &error)
        });
        println!("{}", section.to_markdown());
        sections.push(section);
        // Written after each, so that an interrupted evening is not lost.
        folder.write(&machine, &sections)?;
    }
    println!("Report: {}", folder.path().display());
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

impl Setting {
    fn new(options: &Options) -> anyhow::Result<Self> {
        let dnsdyno = match &options.dnsdyno {
            Some(path) => path.clone(),
            None => std::env::current_exe()
                .context("cannot tell where this program is")?
                .with_file_name("dnsdyno"),
        };
        ensure!(
            dnsdyno.is_file(),
            "there is no {}; build it (cargo build --release -p dnsdyno-cli) or name it with --dnsdyno",
            dnsdyno.display()
        );
        let rig = Rig::new(&repository().join("benchsuite/work"))?;
        let queries = rig.work().join("queries.txt");
        std::fs::write(&queries, format!("{}\n", programs::QUERY))
            .with_context(|| format!("cannot write {}", queries.display()))?;
        Ok(Self {
            rig,
            dnsdyno,
            queries,
            against: options.against.clone(),
            pairs: options.pairs as usize,
            seconds: options.seconds,
            minutes: options.minutes,
        })
    }
}

fn choose(names: &[String]) -> anyhow::Result<Vec<&'static Benchmark>> {
    if names.iter().any(|name| name == ALL) {
        return Ok(BENCHMARKS.iter().collect());
    }
    let find = |name: &String| match BENCHMARKS.iter().find(|benchmark| benchmark.name == *name) {
        Some(benchmark) => Ok(benchmark),
        None => {
            let known: Vec<&str> = BENCHMARKS.iter().map(|benchmark| benchmark.name).collect();
            bail!("there is no benchmark {name:?}; there are {}, and {ALL}", known.join(", "))
        }
    };
    names.iter().map(find).collect()
}

/// The clone this program was built in; its report belongs there.
fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

const ALL: &str = "all";

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_table_of_options_is_sound() {
        Options::command().debug_assert();
    }

    #[test]
    fn all_means_every_benchmark_and_a_wrong_name_is_told_with_the_right_ones() {
        assert_eq!(choose(&[ALL.to_owned()]).unwrap().len(), BENCHMARKS.len());
        assert_eq!(choose(&["pacing".to_owned()]).unwrap()[0].name, "pacing");
        let error = choose(&["sped".to_owned()]).err().unwrap().to_string();
        assert!(error.contains("sped") && error.contains("speed, pacing, memory"), "{error}");
    }
}
