//! `dnsdyno agent`: make parts of runs for a coordinator, which starts this over SSH, or finds it at a NATS broker; and
//! the agents of a coordinator: `--on`, `dnsdyno agents`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use dnsdyno_cluster::{
    Access, Agent, AgentFacts, BrokerUrl, Cluster, ClusterError, Destination, Faults, NatsAgent, Permission,
    Signer, parse_label, serve_nats,
};
use dnsdyno_plan::Draft;
use dnsdyno_record::ClockOffset;
use dnsdyno_report::{examine, findings_text};
use dnsdyno_runner::{LocalRunner, RunError, Runner, rights_of_a_run};
use dnsdyno_sys::process;
use dnsdyno_text::layout::Table;
use dnsdyno_text::notation::parse_duration_ns;
use dnsdyno_text::units::duration;
use serde_json::json;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};

use crate::exit::{Failure, OK, Outcome};
use crate::message::print_error;
use crate::rights;
use crate::screen::width_of_terminal;

#[derive(Debug, Args)]
#[command(after_help = AGENT_HELP, subcommand_negates_reqs = true, args_conflicts_with_subcommands = true)]
pub(crate) struct AgentFlags {
    #[command(subcommand)]
    pub(crate) command: Option<AgentCommand>,
    /// Serve the coordinator that has started this process, over standard input and output
    #[arg(long, required_unless_present = "nats", conflicts_with = "nats")]
    pub(crate) stdio: bool,
    /// Wait for coordinators at a NATS broker: nats://HOST:PORT or tls://HOST:PORT, with USER:PASSWORD@ or TOKEN@
    /// before the host if wanted
    #[arg(long, value_name = "URL")]
    pub(crate) nats: Option<String>,
    /// With --nats: what this agent is chosen by (--on 'nats://BROKER?KEY=VALUE'); may be given several times
    #[arg(long, value_name = "KEY=VALUE", requires = "nats")]
    pub(crate) label: Vec<String>,
    /// With --nats: its name [default: that of the host]
    #[arg(long, value_name = "NAME", requires = "nats")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) access: AccessFlags,
    /// What this agent may load (TOML) [default: /etc/dnsdyno/agent.toml, or ~/.config/dnsdyno/agent.toml, where there
    /// is one]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Where it keeps the records of its parts until the coordinator has them [default: a folder in ~/.cache/dnsdyno]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// Make the key that signs tasks for agents at a NATS broker, in ~/.config/dnsdyno/agents.key; prints its public
    /// half
    Keys,
}

/// The files for a NATS broker.
#[derive(Debug, Default, Args)]
pub(crate) struct AccessFlags {
    /// For a NATS broker: the file of credentials (.creds, as nsc writes it)
    #[arg(long, value_name = "FILE")]
    pub(crate) nats_creds: Option<PathBuf>,
    /// For a NATS broker with TLS: certificates by which it is known, in place of those of the system (PEM)
    #[arg(long, value_name = "FILE")]
    pub(crate) nats_ca: Option<PathBuf>,
}

impl AccessFlags {
    fn access(&self) -> Access {
        Access { creds: self.nats_creds.clone(), ca: self.nats_ca.clone(), key: None }
    }
}

/// Where a run is made.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Agents")]
pub(crate) struct OnFlags {
    /// Make the load on these hosts together, over SSH: HOST or ssh://USER@HOST:PORT, separated by commas; local:N for
    /// N processes here; exec:COMMAND for containers; nats://BROKER?KEY=VALUE for the agents that wait at a broker;
    /// HOST*2 has twice the share of the others
    #[arg(long, value_name = "AGENTS")]
    pub(crate) on: Option<String>,
    /// With --on: what happens when an agent is lost: end the run, or continue with the others [default: end]
    #[arg(long, value_name = "WHAT", requires = "on")]
    pub(crate) if_an_agent_fails: Option<IfOneFails>,
    /// With --on: refuse to start where the clocks of the agents are not known so well [default: 1ms]
    #[arg(long, value_name = "T", requires = "on")]
    pub(crate) start_within: Option<String>,
    #[command(flatten)]
    pub(crate) access: AccessFlags,
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

    /// Whether the load is made by this process.
    pub(crate) fn is_here(&self) -> bool {
        self.on.is_none()
    }

    /// What makes the runs: this process, or the agents, which are started now.
    pub(crate) fn runner(&self) -> Result<Box<dyn Runner>, Failure> {
        match &self.on {
            None => Ok(Box::new(LocalRunner)),
            Some(on) => Ok(Box::new(cluster(on, self.faults()?, &self.access)?)),
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
    #[command(flatten)]
    pub(crate) access: AccessFlags,
}

pub(crate) fn agent(flags: &AgentFlags) -> Outcome {
    if let Some(AgentCommand::Keys) = flags.command {
        return make_key();
    }
    rights::keep(rights_of_a_run(true));
    let permission = Permission::of_host(flags.config.as_deref()).map_err(Failure::bad_input)?;
    let folder = flags.folder.clone().unwrap_or_else(usual_folder);
    forget_old_records(&folder);
    let folder = folder.join(format!("agent-{}", std::process::id()));
    let agent = Agent { permission, folder, runner: runner_of_this_host };
    if let Some(url) = &flags.nats {
        return wait_at_broker(flags, url, agent);
    }
    match dnsdyno_cluster::serve(agent).map_err(Failure::run_failed)? {
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

/// Serves coordinators at a broker until a signal comes; a second one ends the process at once.
fn wait_at_broker(flags: &AgentFlags, url: &str, agent: Agent) -> Outcome {
    let bad = |why: String| Failure::bad_input(anyhow::anyhow!(why));
    let url = BrokerUrl::parse(url).map_err(|why| bad(format!("--nats: {why}")))?;
    if url.is_choice() {
        return Err(bad("--nats: the labels of an agent are given by --label KEY=VALUE".to_owned()));
    }
    let labels = flags.label.iter().map(|label| parse_label(label)).collect::<Result<_, _>>();
    let labels = labels.map_err(|why| bad(format!("--label: {why}")))?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        register_conditional_shutdown(signal, 128 + signal, Arc::clone(&stop))
            .and_then(|_| register(signal, Arc::clone(&stop)))
            .map_err(Failure::run_failed)?;
    }
    let log = |words: &str| print_error(&format!("dnsdyno agent: {words}"));
    let agent =
        NatsAgent { agent, url, access: flags.access.access(), name: flags.name.clone(), labels, log };
    serve_nats(agent, &|| stop.load(Ordering::Relaxed)).map_err(failed)?;
    Ok(OK)
}

fn make_key() -> Outcome {
    let path = Signer::usual_path();
    let public = Signer::create(&path).map_err(Failure::bad_input)?.public();
    let mut out = std::io::stdout().lock();
    let text = format!(
        "The private half is in {path}. On the host of each agent that may make your runs, put the public half into \
         /etc/dnsdyno/agent.toml:\n\ntrusted-keys = [\"{public}\"]\n",
        path = path.display()
    );
    out.write_all(text.as_bytes()).map_err(Failure::run_failed)?;
    Ok(OK)
}

/// Lists agents: what they are, how well their clocks are known, and what a doctor finds on their hosts.
pub(crate) fn agents(flags: &AgentsFlags) -> Outcome {
    let mut cluster = cluster(&flags.on, Faults::default(), &flags.access)?;
    let examined = cluster.examine().map_err(failed)?;
    let examined: Vec<_> = examined.into_iter().map(|(number, facts)| (number, facts.map(examine))).collect();
    let mut out = std::io::stdout().lock();
    let all: Vec<_> = cluster.agents().collect();
    let host_of = |number: usize| all[number].1.host.as_str();
    if flags.json {
        for (destination, facts, clock) in &all {
            let of_host = examined.iter().find(|(number, _)| host_of(*number) == facts.host);
            let findings = of_host.and_then(|(_, examination)| Some(&examination.as_ref()?.findings));
            let line =
                json!({ "agent": destination.name, "facts": facts, "clock": clock, "findings": findings });
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
    let wall_clock = |facts: &AgentFacts| facts.wall_clock_bound_ns.map_or("not kept".to_owned(), duration);
    table.right("wall clock ±", 6, column(&|(_, facts, _)| wall_clock(facts)));
    table.left("may load", 5, column(&|(_, facts, _)| facts.permission.clone()));
    let mut text = String::new();
    let width = width_of_terminal();
    table.write(&mut text, width);
    for (number, examination) in &examined {
        text.extend(["\n", host_of(*number), "\n"]);
        match examination {
            Some(examination) => findings_text(&mut text, examination, width),
            None => text.push_str("  not looked at: it makes a run, or its facts cannot be read\n"),
        }
    }
    write!(out, "{text}").map_err(Failure::run_failed)?;
    Ok(OK)
}

fn cluster(on: &str, faults: Faults, access: &AccessFlags) -> Result<Cluster, Failure> {
    let destinations = Destination::parse_list(on).map_err(Failure::bad_input)?;
    Cluster::connect(destinations, faults, &access.access(), runner_of_this_host).map_err(failed)
}

fn runner_of_this_host() -> Box<dyn Runner> {
    Box::new(LocalRunner)
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

/// Removes the folders of agents that have ended, once they have been there for so long that nobody will want them.
fn forget_old_records(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix("agent-")?.parse::<u32>().ok());
        let age =
            entry.metadata().and_then(|found| found.modified()).ok().and_then(|then| then.elapsed().ok());
        let is_old = age.is_some_and(|age| age > KEPT_FOR);
        if is_old && pid.is_some_and(|pid| process::Stat::of(pid).is_none()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// How long the record of an agent is kept that its coordinator has not received.
const KEPT_FOR: Duration = Duration::from_secs(14 * 24 * 3_600);

const AGENT_HELP: &str = "\
An agent is started by its coordinator, `dnsdyno run --on HOST`, over SSH; nothing has to run on its host before. It
makes its part of each run, sends its record as it grows, and ends with the connection. If it hears nothing of its
coordinator, it ends its load within 5 seconds.

With --nats it waits at a NATS broker, and serves one coordinator after another. There each task must be signed by a key
that its configuration trusts: `dnsdyno agent keys` makes one, on the coordinator's host.

What it may load is decided on its own host, by its configuration:

  targets = [\"192.0.2.53\", \"198.51.100.0/24\"]
  most-qps = \"200k\"
  longest = \"10m\"
  trusted-keys = [\"BASE64\"]

Examples:
  dnsdyno agent keys
  dnsdyno agent --nats nats://broker:4222 --label site=tyo

Exit codes: 0 the coordinator has ended, or a signal has; 2 the configuration is not valid; 3 the broker refuses.";

const AGENTS_HELP: &str = "\
Examples:
  dnsdyno agents lg1,lg2,lg3
  dnsdyno agents local:2
  dnsdyno agents 'nats://broker?site=tyo'

Exit codes: 0 all have answered; 2 the list is not valid; 3 one has not answered.";
