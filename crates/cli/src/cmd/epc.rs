//! `dnsdyno epc predict`: the load of clients with caches, by arithmetic.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use dnsdyno_clients::predict::{Case, Change, Forecast, Serving};
use dnsdyno_clients::{Kinds, Policy};
use dnsdyno_report::{prediction_json, prediction_text};
use dnsdyno_text::notation::parse_duration_ns;

use crate::cmd::data::{number, part};
use crate::exit::{Failure, OK, Outcome};
use crate::screen::width_of_terminal;

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EpcFlags {
    #[command(subcommand)]
    command: EpcCommand,
}

#[derive(Debug, Subcommand)]
enum EpcCommand {
    /// Say what load the clients of a description will put on a server, before and after a change;
    /// nothing is sent
    #[command(after_help = EXAMPLES)]
    Predict(PredictFlags),
}

#[derive(Debug, Args)]
struct PredictFlags {
    /// The description of the clients, as for `run --source epc:FILE`
    #[arg(value_name = "FILE")]
    description: PathBuf,
    /// The description after a change of the records, such as after/description.json of `data epc --ip v6-added`: what
    /// its zones hold and what its users look for; clients, caches and rates are those of FILE
    #[arg(long, value_name = "FILE")]
    after: Option<PathBuf>,
    /// Of descriptions of several kinds of clients: the kind
    #[arg(long, value_name = "NAME")]
    kind: Option<String>,
    /// After the change: how many clients there are
    #[arg(long, value_name = "N", value_parser = number)]
    clients: Option<u32>,
    /// After the change: entries of each cache
    #[arg(long, value_name = "N", value_parser = number)]
    entries: Option<u32>,
    /// After the change: what a full cache evicts
    #[arg(long, value_name = "POLICY")]
    policy: Option<PolicyName>,
    /// After the change: the TTL of all records in seconds
    #[arg(long, value_name = "SECONDS", value_parser = number)]
    ttl: Option<u32>,
    /// After the change: attaches a second (or lookups of hosts)
    #[arg(long, value_name = "RATE")]
    attaches: Option<f64>,
    /// After the change: handovers a second
    #[arg(long, value_name = "RATE")]
    handovers: Option<f64>,
    /// TTLs of the curves in seconds [default: that of the records, a fifth of it, five times it]
    #[arg(long, value_name = "SECONDS", value_delimiter = ',', value_parser = number)]
    curve_ttl: Vec<u32>,
    /// The largest response over UDP: that of the clients, or of the server if it allows less
    #[arg(long, value_name = "BYTES", default_value_t = 1232)]
    edns_size: u16,
    /// After the change: how long the server takes for a response, such as 4s: clients ask again when their time is
    /// over
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    response_time: Option<f64>,
    /// After the change: the part of the queries that is never answered, such as 5%
    #[arg(long, value_name = "PERCENT", value_parser = part)]
    lost: Option<f64>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PolicyName {
    /// The entry with the smallest remaining TTL
    Ttl,
    /// That which was stored first
    Fifo,
    /// That which was used the longest time ago
    Lru,
    /// That which was used least often
    Lfu,
}

pub(crate) fn epc(flags: &EpcFlags) -> Outcome {
    let EpcCommand::Predict(flags) = &flags.command;
    let forecast = predict(flags)?;
    let mut out = std::io::stdout().lock();
    match flags.json {
        true => writeln!(out, "{:#}", prediction_json(&forecast)),
        false => write!(out, "{}", prediction_text(&forecast, width_of_terminal())),
    }
    .map_err(Failure::run_failed)?;
    Ok(OK)
}

fn predict(flags: &PredictFlags) -> Result<Forecast, Failure> {
    let read = |path: &Path| {
        let kinds = Kinds::read(path).map_err(Failure::bad_input)?;
        kinds.one(flags.kind.as_deref()).map_err(Failure::bad_input)
    };
    let now = Case::new(read(&flags.description)?, flags.edns_size).map_err(Failure::bad_input)?;
    let (change, serving) = (flags.change(), flags.serving());
    let records = flags.after.as_deref().map(read).transpose()?;
    let after = match (records, change == Change::default() && serving == flags.edns_size.into()) {
        (None, true) => None,
        (None, false) => Some(now.with(&change).and_then(|case| case.served(serving))),
        (Some(records), _) => {
            let description = now.description().clone().with_records_of(records);
            Some(Case::new(description, serving).and_then(|case| case.with(&change)))
        }
    };
    let after = after.transpose().map_err(Failure::bad_input)?;
    Forecast::new(now, after, &flags.curve_ttl).map_err(Failure::bad_input)
}

/// A time in seconds.
fn seconds(text: &str) -> anyhow::Result<f64> {
    Ok(parse_duration_ns(text)? as f64 / 1e9)
}

impl PredictFlags {
    fn serving(&self) -> Serving {
        let at_once = Serving::from(self.edns_size);
        Serving {
            response_s: self.response_time.unwrap_or(at_once.response_s),
            lost: self.lost.unwrap_or(at_once.lost),
            ..at_once
        }
    }

    fn change(&self) -> Change {
        Change {
            clients: self.clients,
            entries: self.entries,
            policy: self.policy.map(|policy| match policy {
                PolicyName::Ttl => Policy::Ttl,
                PolicyName::Fifo => Policy::Fifo,
                PolicyName::Lru => Policy::Lru,
                PolicyName::Lfu => Policy::Lfu,
            }),
            ttl_s: self.ttl,
            attaches: self.attaches,
            handovers: self.handovers,
            ttl_factor: None,
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  dnsdyno data epc --out zones --per-answer 93 --ip v6-added
  dnsdyno epc predict zones/description.json --entries 2000
  dnsdyno epc predict zones/description.json --after zones/after/description.json
  dnsdyno epc predict zones/description.json --response-time 4s --lost 5%
  dnsdyno epc predict zones/description.json --ttl 600 --curve-ttl 60,300,3600 --json

Exit codes: 0 predicted, 2 the flags or the description cannot be used.";
