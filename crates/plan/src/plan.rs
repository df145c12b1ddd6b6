//! A plan: all that a run does. Every rule is checked here, once, and every default filled in.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::Path;

use dnsdyno_wire::{CLASS_IN, MIN_EDNS_SIZE, QueryForm, parse_class};

use crate::addresses::{PortRange, SourcePrefix};
use crate::backend::Backend;
use crate::connections::ConnectionPlan;
use crate::draft::Draft;
use crate::encryption::EncryptionPlan;
use crate::error::PlanError;
use crate::expect::{Expectation, StopCondition};
use crate::interval::{check_interval, usual_interval_ns};
use crate::kinds::TransportKind;
use crate::load::{LoadChoice, choose_load};
use crate::mix::Mix;
use crate::schedule::{Load, Phase, Shape};
use crate::source::{BadLines, QuerySource};
use crate::stop::Stop;
use crate::target::{Resolve, Target, Wanted, target_is_harmless};
use crate::units::{format_duration_ns, format_size_bytes, parse_duration_ns, parse_size_bytes};
use crate::usual_workers::{UsualWorkers, query_ns};
use crate::values::{absolute, filled, limited, read_all, read_as, within};
use crate::workers::{Note, Workers};

/// What a run does. Made by [`Draft::validate`].
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// A name for the run.
    pub name: Option<String>,
    /// A comment, kept in the record.
    pub note: Option<String>,
    /// The server.
    pub target: Target,
    /// The transport.
    pub transport: TransportKind,
    /// The transports of a mix, where `transport` is one.
    pub mix: Mix,
    /// The lifetime of connections, where the transport has any.
    pub connections: ConnectionPlan,
    /// The encryption of connections, where the transport has any.
    pub encryption: EncryptionPlan,
    /// The source of the queries.
    pub source: QuerySource,
    /// What is done with malformed lines of the query file.
    pub bad_lines: BadLines,
    /// Whether queries keep the order of their source at any rate (see [`Plan::groups_by_length`]).
    pub keep_order: bool,
    /// What all queries have in common.
    pub form: QueryForm,
    /// The load over time.
    pub load: Load,
    /// The shape of the curve; `None` in a closed loop.
    pub shape: Option<Shape>,
    /// What ends the run: the first condition that is met, or the end of an open-loop curve.
    pub stop: Stop,
    /// The timeout of a query, in nanoseconds.
    pub timeout_ns: u64,
    /// The length of an interval of the record, in nanoseconds.
    pub interval_ns: u64,
    /// Threads that send and receive: at least 1, at most `clients`, and at most the closed-loop window.
    pub workers: usize,
    /// Why so many, where the user gave no number.
    pub usual_workers: Option<UsualWorkers>,
    /// Whether the server is asked before the load.
    pub check: bool,
    /// Whether each worker is pinned to its own CPU, where there are enough.
    pub pin: bool,
    /// Sockets of all workers (of AF_XDP: source ports), or, where the transport has connections, clients with
    /// one connection each: at least `workers`.
    pub clients: usize,
    /// The address to send from; `None` = the system chooses. Of the same family as the target.
    pub local_address: Option<IpAddr>,
    /// The length of the prefix in bits, where connections use the addresses from `local_address` to its end.
    pub local_prefix: Option<u8>,
    /// The ports to send from, at least `clients` of them; `None` = the system chooses.
    pub local_ports: Option<PortRange>,
    /// How packets are sent.
    pub backend: Backend,
    /// The requested receive buffer of each socket, in bytes.
    pub receive_buffer_bytes: u32,
    /// Whether responses are neither awaited nor counted. Only in open loop.
    pub send_only: bool,
    /// The random seed.
    pub seed: u64,
    /// What must be true of the run for it to pass.
    pub expect: Vec<Expectation>,
    /// What must be true of each step or interval.
    pub expect_each: Vec<Expectation>,
    /// What ends the run early.
    pub stop_when: Vec<StopCondition>,
    /// Changes to the user's options, to be reported.
    pub notes: Vec<Note>,
    /// The plan as options, with every default filled in (see [`Plan::to_draft`]).
    pub draft: Draft,
}

impl Plan {
    /// UDP sockets in addition to clients with connections: one per worker for each member of a mix that uses UDP.
    /// `None` where there are none, or no clients.
    pub fn udp_sockets(&self) -> Option<usize> {
        let has_sockets = |transport| matches!(transport, TransportKind::Udp | TransportKind::UdpTcp);
        let in_mix = self.mix.members.iter().filter(|member| has_sockets(member.transport)).count();
        let members = in_mix + usize::from(self.transport == TransportKind::UdpTcp);
        (members > 0).then_some(members * self.workers)
    }

    /// Whether queries of equal length are grouped: where batches are expected (in closed loop, and from 100,000
    /// queries per second) and the user does not keep the order.
    pub fn groups_by_length(&self) -> bool {
        let peak = |phase: &Phase| phase.rate_from_qps.max(phase.rate_to_qps);
        let batches = self
            .load
            .curve()
            .is_none_or(|curve| curve.phases().iter().map(peak).fold(0.0, f64::max) >= GROUPING_RATE_QPS);
        batches && !self.keep_order
    }

    /// A draft of the whole plan: validated again, it gives the same plan. It includes changes made after
    /// validation from what only the host knows.
    pub fn to_draft(&self) -> Draft {
        Draft {
            workers: Some(self.workers),
            clients: Some(self.clients),
            backend: Some(self.backend.word().to_owned()),
            ..self.draft.clone()
        }
    }
}

/// What validation needs from the host, because a plan itself does no input or output.
#[derive(Clone, Copy)]
pub struct Host<'a> {
    /// CPUs of this process, at least 1.
    pub cores: usize,
    /// The start of relative paths.
    pub working_dir: &'a Path,
    /// A new random seed, for plans without one.
    pub fresh_seed: u64,
    /// Looks up the addresses of a server given by name.
    pub resolve: Resolve<'a>,
    /// Whether an address is one of this host, and a server there needs CPUs too.
    pub is_local: &'a dyn Fn(IpAddr) -> bool,
}

impl Draft {
    /// Checks every rule, fills in every default, and looks up the server's address.
    ///
    /// Defaults: closed loop with 100 outstanding (with send-only: a flood); one pass through the file
    /// where neither the load nor an option ends the run, 10 s where names were given instead; timeout
    /// 5 s; interval 1 s, or less for short phases; as many workers as the load needs, at most one per CPU, or per two
    /// if the server is on this host, each pinned to its own; one socket per CPU (AF_XDP: 256 source ports); receive
    /// buffer 4 MiB.
    pub fn validate(&self, host: &Host<'_>) -> Result<Plan, PlanError> {
        let mut draft = self.clone();
        let expect = read_all("expect", &draft.expect, Expectation::parse)?;
        let expect_each = read_all("expect-each", &draft.expect_each, Expectation::parse_of_part)?;
        let stop_when = read_all("stop-when", &draft.stop_when, StopCondition::parse)?;
        let source = source(&mut draft, host.working_dir)?;
        let form = form(&mut draft)?;
        let backend = Backend::of(&mut draft)?;
        let (mix, transport) = Mix::of(&mut draft)?;
        let transports = mix.transports(transport);
        self.refuse_unusable(transport, &transports)?;
        let LoadChoice { load, shape, stop } = choose_load(&draft, Stop::of(&draft)?, &source)?;
        let send_only = *draft.send_only.get_or_insert(false);
        if !send_only {
            draft.outstanding = load.window();
        }
        draft.duration = draft.duration.take().or(stop.duration_ns.map(format_duration_ns));
        draft.passes = stop.passes;
        let connections = ConnectionPlan::of(&mut draft, transport, &transports)?;
        let encryption = EncryptionPlan::of(&mut draft, &transports, host.working_dir)?;
        let timeout_ns = filled("timeout", &mut draft.timeout, "5s", parse_duration_ns)?;
        limited("timeout", timeout_ns, TIMEOUT_NS, format_duration_ns)?;
        let usual = format_duration_ns(usual_interval_ns(&load, timeout_ns));
        let interval_ns = filled("interval", &mut draft.interval, &usual, parse_duration_ns)?;
        limited("interval", interval_ns, INTERVAL_NS, format_duration_ns)?;
        check_interval(interval_ns, timeout_ns)?;
        let buffer_bytes = filled("receive-buffer", &mut draft.receive_buffer, "4M", parse_size_bytes)?;
        limited("receive-buffer", buffer_bytes, BUFFER_BYTES, format_size_bytes)?;
        let seed = read_as("seed", &draft.seed, |text| text.parse().ok(), SEED)?.unwrap_or(host.fresh_seed);
        draft.seed = Some(seed.to_string());
        let (local_address, local_prefix) =
            read_as("local-address", &draft.local_address, address_or_prefix, ADDRESS)?.unzip();
        // Late, because this may send queries to a resolver.
        let target = target(&mut draft, host, transport, local_address, &backend)?;
        let query_ns = query_ns(transport, &mix, &connections);
        let usual = UsualWorkers::of(host.cores, (host.is_local)(target.address.ip()), &load, query_ns);
        let Workers { workers, clients, usual, notes } =
            Workers::of(&mut draft, usual, &load, &backend, transport, &connections)?;
        let local_ports = local_ports(&draft, clients, &backend)?;
        Ok(Plan {
            name: draft.name.clone(),
            note: draft.note.clone(),
            target,
            transport,
            mix,
            connections,
            encryption,
            source,
            bad_lines: bad_lines(&mut draft),
            keep_order: *draft.keep_order.get_or_insert(false),
            form,
            load,
            shape,
            stop,
            timeout_ns,
            interval_ns,
            workers,
            usual_workers: usual,
            check: *draft.check.get_or_insert(!send_only),
            pin: *draft.pin.get_or_insert(true),
            clients,
            local_address,
            local_prefix: local_prefix.flatten(),
            local_ports,
            backend,
            receive_buffer_bytes: buffer_bytes as u32,
            send_only,
            seed,
            expect,
            expect_each,
            stop_when,
            notes,
            draft,
        })
    }
}

fn source(draft: &mut Draft, working_dir: &Path) -> Result<QuerySource, PlanError> {
    match (&mut draft.queries, &draft.ask) {
        (Some(_), Some(_)) => Err(PlanError::TwoSources),
        (Some(path), None) if path == "-" => Ok(QuerySource::Stdin),
        (Some(path), None) => Ok(QuerySource::File(absolute(path, working_dir))),
        (None, Some(items)) if !items.is_empty() => Ok(QuerySource::Given(items.clone())),
        (None, _) => Err(PlanError::NoQueries),
    }
}

fn bad_lines(draft: &mut Draft) -> BadLines {
    match (*draft.strict.get_or_insert(false), *draft.lenient.get_or_insert(false)) {
        (true, _) => BadLines::Refuse,
        (false, true) => BadLines::SkipAll,
        (false, false) => BadLines::SkipFew,
    }
}

fn form(draft: &mut Draft) -> Result<QueryForm, PlanError> {
    Ok(QueryForm {
        recursion_desired: *draft.recursion_desired.get_or_insert(true),
        checking_disabled: *draft.checking_disabled.get_or_insert(false),
        authentic_data: *draft.authentic_data.get_or_insert(false),
        dnssec_ok: *draft.dnssec_ok.get_or_insert(false),
        edns_size: within("edns-size", draft.edns_size, u64::from(MIN_EDNS_SIZE)..=u64::from(u16::MAX))?,
        edns_version: *draft.edns_version.get_or_insert(0),
        nsid: *draft.nsid.get_or_insert(false),
        class: read_as("class", &draft.class, parse_class, CLASS)?.unwrap_or(CLASS_IN),
    })
}

fn local_ports(draft: &Draft, clients: usize, backend: &Backend) -> Result<Option<PortRange>, PlanError> {
    let range = read_as("local-ports", &draft.local_ports, PortRange::parse, PORTS)?;
    // Each address of a prefix has all the ports; their number is checked when they are opened.
    let has_addresses = backend.xdp().is_some_and(|xdp| xdp.source_prefix.is_some());
    match range.map(|range| range.count()).filter(|held| *held < clients && !has_addresses) {
        Some(held) => {
            let ports = draft.local_ports.clone().unwrap_or_default();
            Err(PlanError::TooFewPorts { ports, held, clients })
        }
        None => Ok(range),
    }
}

/// The source address; for connections also its prefix.
fn address_or_prefix(text: &str) -> Option<(IpAddr, Option<u8>)> {
    match SourcePrefix::parse(text) {
        Some(prefix) => Some((prefix.first, (!prefix.is_host()).then_some(prefix.length))),
        None => text.parse().ok().map(|address| (address, None)),
    }
}

fn target(
    draft: &mut Draft,
    host: &Host<'_>,
    transport: TransportKind,
    local_address: Option<IpAddr>,
    backend: &Backend,
) -> Result<Target, PlanError> {
    let server = draft.server.as_deref().ok_or(PlanError::NoServer)?;
    let family = *draft.family.get_or_insert_default();
    let prefix = backend.xdp().and_then(|xdp| xdp.source_prefix);
    let local_address = local_address.or(prefix.map(|prefix| prefix.first));
    let wanted =
        Wanted { server, port: draft.port, usual_port: transport.default_port(), family, local_address };
    let target = wanted.find(host.resolve)?;
    let address = target.address.ip();
    if draft.i_may_load_this_server != Some(true) && !target_is_harmless(address) {
        return Err(PlanError::MayNotLoad { address });
    }
    (draft.server, draft.port) = (Some(target.asked.clone()), Some(target.address.port()));
    Ok(target)
}

const SEED: &str = "a whole number from 0 to 18446744073709551615";
const CLASS: &str = "a class: use IN, CH, HS, ANY or CLASSnnn";
const PORTS: &str = "a range of ports from 1 to 65535: write it like 20000..29999";
const ADDRESS: &str =
    "an address: write an IPv4 or IPv6 address of this host, or ADDRESS/LENGTH over connections";

const SECOND_NS: u64 = 1_000_000_000;

/// No resolver retries for ten minutes. The default, 5 s, is that of dnsperf.
const TIMEOUT_NS: RangeInclusive<u64> = 1_000_000..=600 * SECOND_NS;

/// Below 10 ms a record would have more lines than queries.
const INTERVAL_NS: RangeInclusive<u64> = 10_000_000..=3600 * SECOND_NS;

/// Up to half of the maximum of the socket option, a signed 32-bit number that Linux doubles. The default, 4 MiB,
/// holds tens of thousands of responses, so that a worker that gets no CPU for some milliseconds loses none.
const BUFFER_BYTES: RangeInclusive<u64> = 1..=1 << 30;

/// Below this rate queries are sent one by one, and grouping them gains nothing.
const GROUPING_RATE_QPS: f64 = 100_000.0;

#[cfg(test)]
mod tests;
