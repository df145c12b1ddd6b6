//! The header of a record: what is known of a run before the first query is sent.

use std::path::Path;

use dnsdyno_measure::Watched;
use dnsdyno_plan::{Load, MixMember, Plan, mac_text};
use dnsdyno_queries::Loaded;
use dnsdyno_record::{BackendInfo, Check, Header, Headline, MemberInfo, Phase, XdpInfo, command_line};
use dnsdyno_sys::xdp::Attached;
use dnsdyno_text::notation::format_rate_qps;
use dnsdyno_transport::xdp::XdpFacts;

/// What was seen before the load.
pub(crate) struct Prepared<'a> {
    /// What the queries are sent with.
    pub(crate) backend: BackendInfo,
    /// What the servers have answered.
    pub(crate) checks: Vec<Check>,
    /// What is watched.
    pub(crate) watched: Vec<Watched>,
    /// What trials have said of the number of workers.
    pub(crate) workers_reason: Option<&'a str>,
}

/// The header of a run that is recorded in `folder` and starts at `started_unix_ns`.
pub(crate) fn header_of(
    plan: &Plan,
    loaded: &Loaded,
    prepared: Prepared<'_>,
    folder: Option<&Path>,
    started_unix_ns: u64,
) -> Header {
    let load = match (&plan.load, &plan.shape) {
        (Load::Closed { .. }, _) if plan.send_only => "flood, as fast as this host can send".to_owned(),
        (Load::Closed { outstanding }, _) => format!("closed loop, {outstanding} outstanding"),
        (Load::OfSource, _) => "at the instants of the source".to_owned(),
        (Load::Limited { outstanding, most_qps }, _) => {
            format!("closed loop, {outstanding} outstanding, at most {} qps", format_rate_qps(*most_qps))
        }
        (Load::Open { window, .. }, shape) => {
            let shape = shape.as_ref().map_or_else(|| "open loop".to_owned(), ToString::to_string);
            window.map_or_else(|| shape.clone(), |window| format!("{shape}, at most {window} outstanding"))
        }
    };
    let phases =
        plan.load.curve().map_or_else(Vec::new, |curve| curve.phases().iter().map(phase_of).collect());
    let headline = if plan.load.is_open() { Headline::Response } else { Headline::Service };
    let name = folder.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    let Prepared { backend, checks, watched, workers_reason } = prepared;
    let usual = || plan.usual_workers.map(|usual| usual.to_string());
    Header {
        agents: Vec::new(),
        run_id: format!("{name}-{:08x}", (started_unix_ns ^ plan.seed) as u32),
        started_unix_ns,
        command_line: command_line(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        name: plan.name.clone(),
        note: plan.note.clone(),
        interval_ns: plan.interval_ns,
        timeout_ns: plan.timeout_ns,
        headline,
        types: loaded.queries.types().to_vec(),
        phases,
        has_slopes: plan.load.curve().is_some_and(|curve| has_slopes(curve.phases())),
        target: target_of(plan),
        address: plan.target.address,
        transport: plan.transport.to_string(),
        mix: plan.mix.members.iter().map(|member| member_info(plan, member)).collect(),
        backend,
        workers: plan.workers as u32,
        workers_reason: workers_reason.map(str::to_owned).or_else(usual),
        clients: plan.total_clients() as u32,
        udp_sockets: plan.udp_sockets().map(|sockets| sockets as u32),
        client_kinds: Vec::new(),
        queries: loaded.queries.len() as u64,
        queries_hash: Some(loaded.hash.clone()),
        bad_lines: loaded.bad_lines,
        send_only: plan.send_only,
        load,
        checks,
        watched,
    }
}

/// The details of AF_XDP for the record.
pub(crate) fn xdp_info(facts: &XdpFacts) -> XdpInfo {
    XdpInfo {
        interface: facts.interface.clone(),
        queues: facts.queues,
        mode: match facts.attached {
            Attached::Native => "native",
            Attached::Generic => "generic",
        }
        .to_owned(),
        zero_copy: facts.zero_copy,
        injects: facts.injects,
        source: facts.source,
        first_port: facts.ports.0,
        last_port: facts.ports.1,
        next_hop: mac_text(&facts.next_hop),
        vlan: facts.vlan,
        mtu: facts.mtu as u64,
    }
}

fn member_info(plan: &Plan, member: &MixMember) -> MemberInfo {
    MemberInfo {
        name: member.name.clone(),
        transport: member.transport.to_string(),
        server: member.target.asked.clone(),
        share: plan.mix.share(member),
        address: member.target.address,
    }
}

/// The servers as the user gave them: the first ones of many.
fn target_of(plan: &Plan) -> String {
    let mut servers: Vec<String> = Vec::new();
    let members = &plan.mix.members;
    for one in members {
        let is_twin =
            |other: &&MixMember| other.transport == one.transport && other.target.asked == one.target.asked;
        let has_twins = members.iter().filter(is_twin).any(|twin| twin.target != one.target);
        let name = if has_twins { one.target.with_port() } else { one.target.asked.clone() };
        if !servers.contains(&name) {
            servers.push(name);
        }
    }
    match servers.len().checked_sub(SERVERS_NAMED) {
        None if servers.is_empty() => plan.target.asked.clone(),
        Some(more @ 1..) => format!("{} and {more} more", servers[..SERVERS_NAMED].join(", ")),
        _ => servers.join(", "),
    }
}

/// A line has no room for the names of more.
const SERVERS_NAMED: usize = 3;

/// Whether the rate changes within one of several phases by more than a tenth of the highest rate. A search by ramp has
/// many phases that change little.
fn has_slopes(phases: &[dnsdyno_plan::Phase]) -> bool {
    let highest = phases.iter().map(|phase| phase.rate_from_qps.max(phase.rate_to_qps)).fold(0.0, f64::max);
    let change = |phase: &dnsdyno_plan::Phase| (phase.rate_to_qps - phase.rate_from_qps).abs();
    phases.len() > 1 && phases.iter().any(|phase| change(phase) > highest / 10.0)
}

fn phase_of(phase: &dnsdyno_plan::Phase) -> Phase {
    Phase { label: phase.label.clone(), from_ns: phase.from_ns, to_ns: phase.to_ns }
}
