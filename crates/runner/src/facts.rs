//! The facts of this host for a doctor: what a usual run against a server needs, and what there is.

use std::time::Duration;

use dnsdyno_measure::Facts;
use dnsdyno_plan::Draft;
use dnsdyno_probe::facts::{Needs, gather};
use dnsdyno_queries::Sources;
use dnsdyno_record::route::interface_towards;

use crate::error::RunError;
use crate::host::validate;

/// Gathers the facts of this host, in a little more than a second; with a server, also of the way to it, and with
/// networks of source addresses, as `--source-prefix` has them, of their routes. Nothing is sent.
///
/// # Errors
/// The server has no address, the networks cannot be read, or nothing can be read of this host.
pub fn host_facts(server: Option<&str>, sources: Option<&str>) -> Result<Facts, RunError> {
    // A server at this host, of the family of the sources.
    let this_host = if sources.is_some_and(|networks| networks.contains(':')) { "::1" } else { "127.0.0.1" };
    // A run with every default; only its needs are used.
    let plan = validate(&Draft {
        server: Some(server.unwrap_or(this_host).to_owned()),
        i_may_load_this_server: Some(true),
        ask: Some(vec!["example.com".to_owned()]),
        rate: Some("1000".to_owned()),
        source_prefix: sources.map(str::to_owned),
        ..Draft::default()
    })?;
    let target = server.map(|_| plan.target.address.ip());
    let networks = plan.sources.iter().flat_map(Sources::networks).map(|prefix| prefix.network());
    let needs = Needs {
        interface: target.and_then(interface_towards),
        ipv6: target.is_some_and(|address| address.is_ipv6() && !address.is_loopback()),
        receive_buffer_bytes: u64::from(plan.receive_buffer_bytes),
        send_buffer_bytes: u64::from(plan.send_buffer_bytes),
        sources: networks.map(|network| (network.first, network.length)).collect(),
    };
    gather(&needs, LOOK_FOR).map_err(RunError::Facts)
}

/// How long the load of this host is looked at.
const LOOK_FOR: Duration = Duration::from_secs(1);
