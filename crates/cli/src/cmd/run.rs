//! `dnsdyno run`: put a load on a server and measure it.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::{SocketAddr, ToSocketAddrs};

use anyhow::Context;
use dnsdyno_plan::{Draft, Host, Plan};

use crate::args::RunFlags;
use crate::exit::{Failure, Outcome};
use crate::screen::tell;
use crate::session::{self, Output};

pub(crate) fn run(flags: RunFlags) -> Outcome {
    let expectations = session::parse_expectations(&flags.output.expect)?;
    let draft = match &flags.plan {
        Some(file) => {
            Draft::read(file).and_then(|draft| draft.overlay(flags.draft)).map_err(Failure::bad_input)?
        }
        None => flags.draft,
    };
    let plan = validate(&draft)?;
    let may_use_sockets = plan.backend.xdp().is_some_and(|xdp| xdp.or_sockets);
    // The same seed, for it is the same run, whatever it leaves by.
    let otherwise = Draft { seed: Some(plan.seed.to_string()), ..draft }.by_sockets();
    let otherwise = may_use_sockets.then(|| validate(&otherwise)).transpose()?;
    for note in &plan.notes {
        tell(&format!("dnsdyno: {note}"));
    }
    let output = Output {
        folder: flags.output.out,
        quiet: flags.output.quiet,
        json: flags.output.json,
        verbose: flags.output.verbose,
    };
    session::run(&plan, otherwise.as_ref(), &output, &expectations)
}

/// Makes a plan of a draft on this machine.
pub(crate) fn validate(draft: &Draft) -> Result<Plan, Failure> {
    let working_dir =
        std::env::current_dir().context("cannot tell the working folder").map_err(Failure::run_failed)?;
    let cores = dnsdyno_sys::thread::allowed_cpus().map_or(1, |cpus| cpus.len().max(1));
    // The standard library's hash maps are seeded by the system: a fresh number without a
    // dependency for it.
    let fresh_seed = RandomState::new().hash_one(std::process::id());
    let host = Host { cores, working_dir: &working_dir, fresh_seed, resolve: &resolve };
    draft.validate(&host).map_err(Failure::bad_input)
}

/// Asks the system's resolver.
fn resolve(name: &str, port: u16) -> Result<Vec<SocketAddr>, String> {
    match (name, port).to_socket_addrs() {
        Ok(addresses) => Ok(addresses.collect()),
        Err(error) => Err(error.to_string()),
    }
}
