//! `dnsdyno agent`: make parts of runs for a coordinator, which starts this over SSH; and the agents of a coordinator:
//! `--on`, `dnsdyno agents`.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use dnsdyno_cluster::{Agent, AgentFacts, Cluster, ClusterError, Destination, Faults, Permission};
use dnsdyno_plan::Draft;
use dnsdyno_record::ClockOffset;
use dnsdyno_runner::{LocalRunner, RunError, Runner};
use dnsdyno_text::layout::Table;
use dnsdyno_text::notation::parse_duration_ns;
use dnsdyno_text::units::duration;
use serde_json::json;

use crate::exit::{Failure, OK, Outcome};
use crate::message::print_error;
use crate::screen::width_of_terminal;

#[derive(Debug, Args)]
#[command(after_help = AGENT_HELP)]
pub(crate) struct AgentFlags {
    /// Serve the coordinator that has started this process, over standard input and output
    #[arg(long, required = true)]
    pub(crate) stdio: bool,
    /// What this agent may load (TOML) [default: /etc/dnsdyno/agent.toml, or ~/.config/dnsdyno/agent.toml, where there is
    /// one]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Where it keeps the records of its parts until the coordinator has them [default: a folder in ~/.cache/dnsdyno]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
}

/// Where a run is made.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Agents")]
pub(crate) struct OnFlags {
    /// Make the load on these hosts together, over SSH: HOST or ssh://USER@HOST:PORT, separated by commas; local:N for N
    /// processes here; exec:COMMAND for containers; HOST*2 has twice the share of the others
    #[arg(long, value_name = "AGENTS")]
    pub(crate) on: Option<String>,
    /// With --on: what happens when an agent is lost: end the run, or continue with the others [default: end]
    #[arg(long, value_name = "WHAT", requires = "on")]
    pub(crate) if_an_agent_fails: Option<IfOneFails>,
    /// With --on: refuse to start where the clocks of the agents are not known so well [default: 1ms]
    #[arg(long, value_name = "T", requires = "on")]
    pub(crate) start_within: Option<String>,
}

/// What happens when an agent is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum IfOneFails {
    End,
    Continue,
}

impl OnFlags {
    /// The same for a run with these options: a mistake in them is told before an agent is started.
    pub(crate) fn runner_for(&self, draft: &Draft) -> Result<Box<dyn Runner>, Failure> {
        LocalRunner.validate(draft)?;
        self.runner()
    }

    /// What makes the runs: this process, or the agents, which are started now.
    pub(crate) fn runner(&self) -> Result<Box<dyn Runner>, Failure> {
        match &self.on {
            None => Ok(Box::new(LocalRunner)),
            Some(on) => Ok(Box::new(Cluster::connect(destinations(on)?, self.faults()?).map_err(failed)?)),
        }
    }

    fn faults(&self) -> Result<Faults, Failure> {
        let within = self.start_within.as_deref().map(parse_duration_ns).transpose();
        let within =
            within.map_err(|error| Failure::bad_input(anyhow::anyhow!("--start-within: {error}")))?;
        let usual = Faults::default();
        Ok(Faults {
            goes_on: self.if_an_agent_fails == Some(IfOneFails::Continue),
            start_within_ns: within.unwrap_or(usual.start_within_ns),
        })
    }
}

#[derive(Debug, Args)]
#[command(after_help = AGENTS_HELP)]
pub(crate) struct AgentsFlags {
    /// The agents, as for `dnsdyno run --on`
    #[arg(value_name = "AGENTS")]
    pub(crate) on: String,
    /// Print one JSON object for each
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn agent(flags: &AgentFlags) -> Outcome {
    let permission = Permission::of_host(flags.config.as_deref()).map_err(Failure::bad_input)?;
    let folder = flags.folder.clone().unwrap_or_else(usual_folder);
    let folder = folder.join(format!("agent-{}", std::process::id()));
    match dnsdyno_cluster::serve(Agent { permission, folder }).map_err(Failure::run_failed)? {
        None => {}
        Some(kept) => {
            let kept = kept.display();
            print_error(&format!(
                "dnsdyno: the coordinator has not received the record whole: it is in {kept}"
            ));
        }
    }
    Ok(OK)
}

/// Lists agents: what they are, and how well their clocks are known.
pub(crate) fn agents(flags: &AgentsFlags) -> Outcome {
    let cluster = Cluster::connect(destinations(&flags.on)?, Faults::default()).map_err(failed)?;
    let mut out = std::io::stdout().lock();
    let all: Vec<_> = cluster.agents().collect();
    if flags.json {
        for (destination, facts, clock) in all {
            let line = json!({ "agent": destination.name, "facts": facts, "clock": clock });
            writeln!(out, "{line}").map_err(Failure::run_failed)?;
        }
        return Ok(OK);
    }
    let column =
        |cell: &dyn Fn(&(&Destination, &AgentFacts, ClockOffset)) -> String| all.iter().map(cell).collect();
    let mut table = Table::default();
    table.left("agent", 0, column(&|(destination, ..)| destination.name.clone()));
    table.left("host", 3, column(&|(_, facts, _)| facts.host.clone()));
    table.left("version", 1, column(&|(_, facts, _)| facts.version.clone()));
    table.right("CPUs", 0, column(&|(_, facts, _)| facts.cpus.to_string()));
    table.left("kernel", 4, column(&|(_, facts, _)| facts.kernel.clone()));
    table.left(
        "AF_XDP",
        2,
        column(&|(_, facts, _)| if facts.may_use_xdp { "possible" } else { "needs root" }.to_owned()),
    );
    table.right("clock ±", 0, column(&|(.., clock)| duration(clock.bound_ns)));
    table.left("may load", 5, column(&|(_, facts, _)| facts.permission.clone()));
    let mut text = String::new();
    table.write(&mut text, width_of_terminal());
    write!(out, "{text}").map_err(Failure::run_failed)?;
    Ok(OK)
}

fn destinations(on: &str) -> Result<Vec<Destination>, Failure> {
    Destination::parse_list(on).map_err(Failure::bad_input)
}

fn failed(error: ClusterError) -> Failure {
    RunError::from(error).into()
}

/// Where an agent keeps its records: of its user, and of nobody else.
fn usual_folder() -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    cache.or_else(home).unwrap_or_else(std::env::temp_dir).join("dnsdyno")
}

const AGENT_HELP: &str = "\
An agent is started by its coordinator, `dnsdyno run --on HOST`, over SSH; nothing has to run on its host before. It
makes its part of each run, sends its record as it grows, and ends with the connection. If it hears nothing of its
coordinator, it ends its load within 5 seconds.

What it may load is decided on its own host, by its configuration:

  targets = [\"192.0.2.53\", \"198.51.100.0/24\"]
  most-qps = \"200k\"
  longest = \"10m\"

Exit codes: 0 the coordinator has ended; 2 the configuration is not valid.";

const AGENTS_HELP: &str = "\
Examples:
  dnsdyno agents lg1,lg2,lg3
  dnsdyno agents local:2

Exit codes: 0 all have answered; 2 the list is not valid; 3 one has not answered.";
