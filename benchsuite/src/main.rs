//! dnsdyno against other load generators: the table of the benchmarks, and the order in which they run.
//!
//! Each benchmark runs dnsdyno and its peers in turn on one machine, so that changes of the machine affect all of them;
//! the ratio counts. No benchmark fails because it was slow: a target is reported as met or missed. The report goes to
//! `benchsuite/runs/DATE-HOST/`.
#![forbid(unsafe_code)]

mod capture;
mod churn;
mod connections;
mod cost;
mod figures;
mod flood;
mod held;
mod hours;
mod loopback_comparison;
mod memory;
mod mixed;
mod names;
mod pacing;
mod pairs;
mod programs;
mod report;
mod reported;
mod responder;
mod rig;
mod rig_comparison;
mod scaling;
mod setting;
mod sockets;
mod speed;
mod steady;
mod timer;
mod traffic;
mod usage;
mod veth;
mod windows;
mod world;
mod xdp;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use clap::Parser;

use crate::report::{Machine, RunFolder, Section};
use crate::rig::Rig;
use crate::setting::{Setting, repository};

/// Every benchmark by its name, and the place it runs in. A new one is one file and one line here.
const BENCHMARKS: &[Benchmark] = &[
    Benchmark { name: "sockets", place: RIG, run: sockets::run },
    Benchmark { name: "mixed", place: RIG, run: mixed::run },
    Benchmark { name: "xdp", place: RIG, run: xdp::run },
    Benchmark { name: "xdp-mixed", place: RIG, run: xdp::run_mixed },
    Benchmark { name: "flood", place: RIG, run: flood::run },
    Benchmark { name: "steady", place: RIG, run: steady::run },
    Benchmark { name: "pacing", place: RIG, run: pacing::run },
    Benchmark { name: "scaling", place: RIG, run: scaling::run },
    Benchmark { name: "cost", place: RIG, run: cost::run },
    Benchmark { name: "speed", place: LOOPBACK, run: speed::run },
    Benchmark { name: "memory", place: LOOPBACK, run: memory::run },
    Benchmark { name: "world", place: LOOPBACK, run: world::run },
    Benchmark { name: "tcp-kept", place: CONNECTIONS, run: connections::tcp_kept },
    Benchmark { name: "tcp-each", place: CONNECTIONS, run: connections::tcp_each },
    Benchmark { name: "fallback", place: CONNECTIONS, run: connections::fallback },
    Benchmark { name: "dot-kept", place: CONNECTIONS, run: connections::dot_kept },
    Benchmark { name: "dot-each", place: CONNECTIONS, run: connections::dot_each },
    Benchmark { name: "dot-each-bind", place: CONNECTIONS, run: connections::dot_each_bind },
    Benchmark { name: "doh-kept", place: CONNECTIONS, run: connections::doh_kept },
    Benchmark { name: "doq-kept", place: CONNECTIONS, run: connections::doq_kept },
    Benchmark { name: "doq-kept-hickory", place: CONNECTIONS, run: connections::doq_kept_hickory },
    Benchmark { name: "held", place: CONNECTIONS, run: held::tcp },
    Benchmark { name: "held-dot", place: CONNECTIONS, run: held::dot },
    Benchmark { name: "held-doq", place: CONNECTIONS, run: held::doq },
    Benchmark { name: "churn", place: CONNECTIONS, run: churn::run },
    Benchmark { name: "hours", place: RECORD, run: hours::run },
];

struct Benchmark {
    name: &'static str,
    /// Names all that run in one place.
    place: &'static str,
    run: fn(&Setting) -> anyhow::Result<Section>,
}

/// Two network namespaces with a veth pair: needs root.
const RIG: &str = "rig";
/// The loopback interface and a responder in user space.
const LOOPBACK: &str = "loopback";
/// The loopback interface, transports with connections.
const CONNECTIONS: &str = "connections";
/// A disk, and no network.
const RECORD: &str = "record";

/// Run dnsdyno and its peers in turn and report medians and ratios.
#[derive(Debug, Parser)]
#[command(name = "dnsdyno-benchsuite", version, max_term_width = 100)]
struct Options {
    /// Which to run: names as in benchsuite/README.md, rig (all on the veth pair), loopback, connections, record,
    /// or all
    #[arg(default_value = ALL)]
    benchmarks: Vec<String>,
    /// Number of turns of each program
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pairs: u32,
    /// Length of each turn, in seconds
    #[arg(long, value_name = "S", default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..))]
    seconds: u32,
    /// Queries that dnsdyno keeps outstanding on sockets
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    outstanding: u32,
    /// Queries that dnsdyno keeps outstanding over AF_XDP
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..))]
    xdp_outstanding: u32,
    /// Length of the runs of memory and churn, in minutes
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    minutes: u32,
    /// The server on the loopback: respond (dnsdyno's own), or a real one: nsd, bind, unbound or knot
    #[arg(long, value_name = "SERVER", default_value = responder::OURS)]
    against: String,
    /// The dnsdyno to measure [default: the one in the folder of this program]
    #[arg(long, value_name = "PATH")]
    dnsdyno: Option<PathBuf>,
    /// A dnsdyno built with --features unmeasured, for cost [default: built when needed]
    #[arg(long, value_name = "PATH")]
    unmeasured: Option<PathBuf>,
    /// Folder of the report [default: benchsuite/runs/DATE-HOST]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

fn main() -> ExitCode {
    run(&Options::parse()).unwrap_or_else(|error| {
        eprintln!("benchsuite: {error:#}");
        ExitCode::FAILURE
    })
}

fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let chosen = choose(&options.benchmarks)?;
    rig::stop_on_signals()?;
    let setting = options.setting()?;
    let machine = Machine::look(&setting);
    let folder = RunFolder::make(options.out.as_deref(), &repository().join("benchsuite/runs"))?;

    let mut sections = Vec::new();
    let mut failed = false;
    for benchmark in chosen {
        eprintln!("{}:", benchmark.name);
        // A benchmark that fails does not stop the others.
        let section = (benchmark.run)(&setting).unwrap_or_else(|error| {
            failed = true;
            eprintln!("benchsuite: {} could not be run: {error:#}", benchmark.name);
            Section::failed(benchmark.name, &error)
        });
        println!("{}", section.to_markdown());
        sections.push(section);
        // Written after each benchmark, so that an interrupted run keeps its results.
        folder.write(&machine, &sections)?;
        ensure!(
            !rig::stopped(),
            "stopped by a signal; the finished benchmarks are in {}",
            folder.path().display()
        );
    }
    println!("Report: {}", folder.path().display());
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

impl Options {
    fn setting(&self) -> anyhow::Result<Setting> {
        let dnsdyno = match &self.dnsdyno {
            Some(path) => path.clone(),
            None => std::env::current_exe()
                .context("cannot find the folder of this program")?
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
        Ok(Setting {
            rig,
            dnsdyno,
            queries,
            against: self.against.clone(),
            pairs: self.pairs as usize,
            seconds: self.seconds,
            outstanding: self.outstanding,
            xdp_outstanding: self.xdp_outstanding,
            unmeasured: self.unmeasured.clone(),
            minutes: self.minutes,
        })
    }
}

/// The benchmarks that `words` name, in the order of the table, each once.
fn choose(words: &[String]) -> anyhow::Result<Vec<&'static Benchmark>> {
    let named =
        |benchmark: &Benchmark, word: &str| word == ALL || word == benchmark.name || word == benchmark.place;
    for word in words {
        if !BENCHMARKS.iter().any(|benchmark| named(benchmark, word)) {
            let known: Vec<&str> = BENCHMARKS.iter().map(|benchmark| benchmark.name).collect();
            bail!(
                "there is no benchmark {word:?}; there are {}; {RIG}, {LOOPBACK}, {CONNECTIONS} and {RECORD} name \
                 all of one place, {ALL} names all",
                known.join(", ")
            );
        }
    }
    Ok(BENCHMARKS.iter().filter(|benchmark| words.iter().any(|word| named(benchmark, word))).collect())
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
        let place = choose(&[LOOPBACK.to_owned(), "speed".to_owned(), "cost".to_owned()]).unwrap();
        let names: Vec<&str> = place.iter().map(|benchmark| benchmark.name).collect();
        assert_eq!(names, ["cost", "speed", "memory", "world"]);
        let error = choose(&["sped".to_owned()]).err().unwrap().to_string();
        assert!(error.contains("sped") && error.contains("sockets, mixed, xdp"), "{error}");
    }
}
