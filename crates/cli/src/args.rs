//! The command line: parsing, short and long help, man pages and completions are made from these types.
//!
//! The options of a run are those of a [`Draft`], which are flags here and keys in a plan file; the plan checks their
//! values and whether they can be combined. The flags defined here select what is run and where results are written.

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand};
use dnsdyno_plan::expect::METRICS;
use dnsdyno_plan::{Draft, LOAD_HEADING};

use crate::cmd::agent::OnFlags;
use crate::cmd::respond::RespondFlags;
use crate::metrics::MetricsFlags;

/// A dynamometer for DNS servers: sends a known load and measures the server's response
///
/// dnsdyno puts a known load on a DNS server and shows how much the server can handle, how its
/// latency tail grows, where it fails, and whether the load generator itself was the limit.
#[derive(Debug, Parser)]
#[command(name = "dnsdyno", version, styles = STYLES, after_help = after_help(), max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Put a load on a server and measure it
    Run(Box<RunFlags>),
    /// Print the summary of a run again, from its record
    Show(ShowFlags),
    /// Say which bottleneck the evidence of a run shows, and what to change
    Diagnose(crate::cmd::diagnose::DiagnoseFlags),
    /// Write runs as one HTML page that opens without a network
    Report(crate::cmd::report::ReportFlags),
    /// Qualify a server: the highest load that passes stair, burst, function test and long run
    Qualify(Box<crate::cmd::qualify::QualifyFlags>),
    /// Say whether two sets of runs differ, and by how much
    Compare(crate::cmd::compare::CompareFlags),
    /// Follow runs of one kind over time or versions: steps, drifts, and gates for CI
    History(crate::cmd::history::HistoryFlags),
    /// Find the highest load that meets criteria, with its confidence interval
    Find(Box<crate::cmd::find::FindFlags>),
    /// Compare servers and variants of them under the same loads, in turn, as a file says
    Experiment(crate::cmd::experiment::ExperimentFlags),
    /// Find the parameters of kernel, card and server that make a server hold more, and leave the host as it was
    Tune(Box<crate::cmd::tune::TuneFlags>),
    /// Write a run in the format of another program
    Export(crate::cmd::export::ExportFlags),
    /// Say what is in captures of DNS traffic, and cut, filter, merge and convert them
    Capture(crate::cmd::capture::CaptureFlags),
    /// Make zones by rule: of a mobile operator, many with a catalog, telephone numbers
    Data(crate::cmd::data::DataFlags),
    /// Predict the load of a mobile core's clients, before and after a change of records, TTLs or caches
    Epc(crate::cmd::epc::EpcFlags),
    /// Show a folder of runs in a browser
    Serve(crate::cmd::serve::ServeFlags),
    /// Look at this host before a run: what will bias the figures, and the commands that cure it
    Doctor(crate::cmd::doctor::DoctorFlags),
    /// Run a reference DNS server that delays, drops or falsifies responses on request, and counts
    /// what it did
    Respond(Box<RespondFlags>),
    /// Stand between two programs and delay, lose, reorder and limit what passes
    Relay(Box<crate::cmd::relay::RelayFlags>),
    /// Serve an Internet in a box: zones from the root down, with their name servers, distances and faults
    World(Box<crate::cmd::world::WorldFlags>),
    /// Show the counters of hosts, processes and servers that move, without a load
    Watch(crate::cmd::watch::WatchFlags),
    /// Join the records of processes that made parts of one load
    Merge(crate::cmd::merge::MergeFlags),
    /// Write a remark into the record of a run in progress, from another shell
    Note(crate::cmd::note::NoteFlags),
    /// Measure the built-in responder, without any set-up
    Demo(DemoFlags),
    /// Make parts of runs for a coordinator (`--on`), which starts this
    Agent(crate::cmd::agent::AgentFlags),
    /// List the agents that `--on` would use: version, CPUs, clock, what they may load
    Agents(crate::cmd::agent::AgentsFlags),
    /// Say whether files of a release are those that were signed, offline
    Verify(crate::cmd::verify::VerifyFlags),
    /// Make links to this program by the names of the programs whose command lines it accepts: dnsperf,
    /// resperf, resperf-report and queryperf
    InstallLinks(crate::cmd::links::LinksFlags),
}

#[derive(Debug, Default, Args)]
#[command(after_help = EXAMPLES, after_long_help = long_examples())]
pub(crate) struct RunFlags {
    #[command(flatten)]
    pub(crate) draft: Draft,
    /// A plan file (TOML) with any of these, or with pieces of any rate; flags override it
    #[arg(long, value_name = "FILE", help_heading = LOAD_HEADING)]
    pub(crate) plan: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) on: OnFlags,
    #[command(flatten)]
    pub(crate) output: OutputFlags,
    #[command(flatten)]
    pub(crate) metrics: MetricsFlags,
}

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputFlags {
    /// Folder of the record [default: runs/DATE-TIME]
    #[arg(short, long, value_name = "FOLDER", display_order = 0)]
    pub(crate) out: Option<PathBuf>,
    /// Print nothing during the run
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Print lines during the run on a terminal too, one a second; so does NO_COLOR in the environment
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) plain: bool,
    /// Show the rate and CPU use of each worker
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Print the summary as one JSON object, with all intervals
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ShowFlags {
    /// Folders of runs
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Show the rate and CPU use of each worker
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Print one JSON object per run, with all intervals
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the intervals as comma-separated values, one line each
    #[arg(long, conflicts_with_all = ["json", "verbose", "expect"])]
    pub(crate) csv: bool,
    /// With --csv: print the rows of the summary's table, such as the steps of a stair, not the intervals
    #[arg(long, requires = "csv")]
    pub(crate) rows: bool,
    /// Exit with code 1 if this is not true, such as 'loss<0.1%' or 'p99<5ms', and with code 5 if the
    /// generator's own part may decide it; may be repeated
    #[arg(long, value_name = "EXPECTATION")]
    pub(crate) expect: Vec<String>,
    /// The same of each step of the load, or, where it has none, of each interval
    #[arg(long, value_name = "EXPECTATION")]
    pub(crate) expect_each: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DemoFlags {
    /// Folder of the record [default: runs/DATE-TIME]
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Print nothing during the run
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Print lines during the run on a terminal too, one a second; so does NO_COLOR in the environment
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) plain: bool,
    /// Print the summary as one JSON object, with all intervals
    #[arg(long)]
    pub(crate) json: bool,
}

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const EXAMPLES: &str = "\
Examples:
  dnsdyno run -s 127.0.0.1 -d queries.txt --rate 50k --for 30s
  dnsdyno run -s 127.0.0.1:5300 -d queries.txt --outstanding 100 --for 10s
  dnsdyno run -s ::1 --ask 'www.example AAAA' --stair 2k..25k --step 1k --hold 60s
  dnsdyno run -s 127.0.0.1 -d queries.txt --ramp 0..100k --over 60s --expect 'loss<0.1%'";

fn after_help() -> String {
    format!("{}\n{}", crate::programs::help(), crate::exit::HELP)
}

/// The examples, and the metrics of expectations.
fn long_examples() -> String {
    let metrics = METRICS.iter().map(|group| format!("  {}\n      {}\n", group.names, group.meaning));
    format!("{LONG_EXAMPLES}{}", metrics.collect::<String>().trim_end())
}

const LONG_EXAMPLES: &str = "\
Examples:
  dnsdyno run -s 127.0.0.1 -d queries.txt --rate 50k --for 30s
  dnsdyno run -s 127.0.0.1:5300 -d queries.txt --outstanding 100 --for 10s
  dnsdyno run -s ::1 --ask 'www.example AAAA' --stair 2k..25k --step 1k --hold 60s
  dnsdyno run -s 127.0.0.1 -d queries.txt --ramp 0..100k --over 60s --expect 'loss<0.1%'
  dnsdyno run -s 192.0.2.53 -d queries.txt --backend xdp --outstanding 1000 --for 30s
  dnsdyno run -s 192.0.2.53 -d queries.txt --transport tcp --clients 10 --rate 20k --for 30s
  dnsdyno run -s 192.0.2.53 -d queries.txt --transport udp+tcp --edns-size 1232 --rate 5k --for 30s
  dnsdyno run -s 192.0.2.53 -d queries.txt --mix udp=60,tcp=15,dot=25 --rate 20k --for 30s
  dnsdyno run -s 192.0.2.53 -d queries.txt --transport dot --ca ca.pem --rate 20k --for 30s
  dnsdyno run -s dns.example -d queries.txt --transport doh --http-method get --outstanding 100 --for 30s

Repeat a run from its record:
  dnsdyno run --plan runs/NAME/plan.toml

A plan file has the same options as the flags, and may have several pieces:
  server = \"127.0.0.1\"
  queries = \"queries.txt\"
  [[piece]]
  rate = \"1k\"
  for = \"10s\"
  [[piece]]
  rate = \"1k..20k\"
  for = \"30s\"

Expectations (--expect, --expect-each) and conditions (--stop-when) are a metric, one of
< <= > >= =, and a bound: 'p99<5ms', 'loss=0', 'servfail<0.1%', 'rate>10k', 'generator=ok'; a
condition may have a time: 'loss>1% for 3s'. They are kept in the plan: `dnsdyno run --plan
runs/NAME/plan.toml` repeats the run with its expectations. The metrics:
";

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definitions_of_the_flags_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn options_that_are_not_given_stay_unset() {
        let Command::Run(flags) = Cli::parse_from(["dnsdyno", "run"]).command else { panic!("no run") };
        assert_eq!(flags.draft, Draft::default());
    }

    #[test]
    fn a_flag_and_the_plan_key_of_the_same_name_are_equivalent() {
        let typed = "dnsdyno run -s 127.0.0.1:5300 -d q.txt --stair 1k..5k --step 1k --hold 10s -t 2s \
                     -c 4 --backend xdp --interface eth0 --next-hop 2:0:0:0:0:1 --vlan 7 --source-prefix ::/0 \
                     --xdp-mode native --xdp-copy copy --no-pin --no-rd \
                     --do --edns-size 1232 --local-ports 2000..2003 --name n --insecure --ca c --sni s \
                     --tls-version 1.3 --no-resumption --early-data --tls-key-log k --handshake-timeout 1s \
                     --http-method get --http-path /q --transport udp+tcp --tcp-edns none";
        let Command::Run(flags) = Cli::parse_from(typed.split_whitespace()).command else { panic!("no run") };
        let file = "server = \"127.0.0.1:5300\"\nqueries = \"q.txt\"\nstair = \"1k..5k\"\nstep = \"1k\"\n\
                    hold = \"10s\"\ntimeout = \"2s\"\nclients = 4\nbackend = \"xdp\"\ninterface = \"eth0\"\n\
                    next-hop = \"2:0:0:0:0:1\"\nvlan = 7\nsource-prefix = \"::/0\"\nxdp-mode = \"native\"\n\
                    xdp-copy = \"copy\"\npin = false\nrecursion-desired = false\n\
                    dnssec-ok = true\nedns-size = 1232\nlocal-ports = \"2000..2003\"\nname = \"n\"\n\
                    insecure = true\nca = \"c\"\nsni = \"s\"\ntls-version = \"1.3\"\nresumption = false\n\
                    early-data = true\ntls-key-log = \"k\"\nhandshake-timeout = \"1s\"\n\
                    http-method = \"get\"\nhttp-path = \"/q\"\n\
                    transport = \"udp+tcp\"\ntcp-edns = \"none\"";
        assert_eq!(flags.draft, Draft::from_toml(file).unwrap());
    }
}
