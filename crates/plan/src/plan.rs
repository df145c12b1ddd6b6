//! A plan: all that a run does. Every rule is checked here, once, and every default filled in.

use std::net::{IpAddr, Ipv6Addr};
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use dnsdyno_queries::replay::{CapturedServer, ReplayPlan};
use dnsdyno_queries::{BadLines, QuerySource, Reading, Selection, SourcePrefix, Sources};
use dnsdyno_text::notation::{format_duration_ns, format_size_bytes, parse_duration_ns, parse_size_bytes};
use dnsdyno_wire::{CLASS_IN, MIN_EDNS_SIZE, QueryForm, parse_class};

use crate::addresses::{PortRange, ProxySource};
use crate::backend::Backend;
use crate::connections::ConnectionPlan;
use crate::draft::Draft;
use crate::encryption::EncryptionPlan;
use crate::error::PlanError;
use crate::expect::{Expectation, StopCondition};
use crate::first_pass::FirstPass;
use crate::interval::{check_interval, usual_interval_ns};
use crate::kinds::TransportKind;
use crate::load::{LoadChoice, choose_load};
use crate::messages::{MessagePlan, edns_size_needed, fixed_options};
use crate::mix::{Mix, MixMember, Ways};
use crate::part::Part;
use crate::schedule::{Load, Phase, Shape};
use crate::selection::{selection, source};
use crate::servers::Lookup;
use crate::stop::{Stop, StopLimits};
use crate::target::{Resolve, Target};
use crate::trace::TracePlan;
use crate::usual_workers::{UsualWorkers, query_ns};
use crate::values::{absolute, filled, limited, read_all, read_as, within};
use crate::watch::Watch;
use crate::worker_count::WorkerCount;
use crate::workers::{Note, Over, Workers};

/// What a run does. Made by [`Draft::validate`].
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// A name for the run.
    pub name: Option<String>,
    /// A comment, kept in the record.
    pub note: Option<String>,
    /// The server; the first of several.
    pub target: Target,
    /// The transport; `mix` where members have several.
    pub transport: TransportKind,
    /// The members, where there are several servers or transports.
    pub mix: Mix,
    /// The lifetime of connections, where the transport has any.
    pub connections: ConnectionPlan,
    /// The encryption of connections, where the transport has any.
    pub encryption: EncryptionPlan,
    /// The source of the queries.
    pub source: QuerySource,
    /// What of a capture is replayed, where that is the source.
    pub replay: ReplayPlan,
    /// What is done with malformed lines of the query file.
    pub bad_lines: BadLines,
    /// What is sent of the source, and how often.
    pub selection: Selection,
    /// Whether queries keep the order of their source at any rate (see [`Plan::groups_by_length`]).
    pub keep_order: bool,
    /// What all queries have in common.
    pub form: QueryForm,
    /// What is added to each message when it is sent.
    pub messages: MessagePlan,
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
    /// Threads of this process that send and receive: at least 1, at most `clients`, and at most the closed-loop
    /// window.
    pub workers: usize,
    /// Which of the workers of the whole load they are. Rates, windows and clients are those of the whole load.
    pub part: Part,
    /// Why so many, where the user gave no number.
    pub usual_workers: Option<UsualWorkers>,
    /// Whether the server is asked before the load.
    pub check: bool,
    /// Whether each worker is pinned to its own CPU, where there are enough.
    pub pin: bool,
    /// Whether idle CPUs of this host may sleep deeply while the load runs.
    pub deep_idle: bool,
    /// Sockets of all workers of the whole load (of AF_XDP: source ports), or, where the transport has connections,
    /// clients with one connection each: at least `workers`.
    pub clients: usize,
    /// The address to send from; `None` = the system chooses. Of the same family as the target.
    pub local_address: Option<IpAddr>,
    /// The addresses that UDP sockets are bound to, by client; `None` = `local_address`.
    pub sources: Option<Sources>,
    /// The length of the prefix in bits, where connections use the addresses from `local_address` to its end.
    pub local_prefix: Option<u8>,
    /// The source that the PROXY protocol announces, if it is used.
    pub proxy: Option<ProxySource>,
    /// The ports to send from, at least `clients` of them; `None` = the system chooses.
    pub local_ports: Option<PortRange>,
    /// How packets are sent.
    pub backend: Backend,
    /// The requested receive buffer of each socket, in bytes.
    pub receive_buffer_bytes: u32,
    /// The requested send buffer of each UDP socket, in bytes.
    pub send_buffer_bytes: u32,
    /// Whether responses are neither awaited nor counted. Only in open loop.
    pub send_only: bool,
    /// Whether responses over UDP are taken from any address.
    pub any_source: bool,
    /// The random seed.
    pub seed: u64,
    /// What must be true of the run for it to pass.
    pub expect: Vec<Expectation>,
    /// What must be true of each step or interval.
    pub expect_each: Vec<Expectation>,
    /// What ends the run early, by the figures of its intervals.
    pub stop_when: Vec<StopCondition>,
    /// What ends the run early, at once.
    pub stop_limits: StopLimits,
    /// How the questions are asked before the load, where the answers are held against those of then.
    pub first_pass: Option<FirstPass>,
    /// The trace, where one is written.
    pub trace: Option<TracePlan>,
    /// What is watched beside the load.
    pub watch: Vec<Watch>,
    /// Changes to the user's options, to be reported.
    pub notes: Vec<Note>,
    /// The plan as options, with every default filled in (see [`Plan::to_draft`]).
    pub draft: Draft,
}

impl Plan {
    /// UDP sockets in addition to clients with connections, over all workers of this process. `None` where there are
    /// none, or no clients.
    pub fn udp_sockets(&self) -> Option<usize> {
        let has_sockets = |transport| matches!(transport, TransportKind::Udp | TransportKind::UdpTcp);
        let sockets = |member: &MixMember| match member.transport {
            TransportKind::UdpTcp => self.workers,
            _ => self.part.share(self.clients_of(member)),
        };
        let sockets = match self.mix.is_some() {
            true => self.mix.members.iter().filter(|member| has_sockets(member.transport)).map(sockets).sum(),
            false => self.workers * usize::from(has_sockets(self.transport)),
        };
        (self.transport.connects() && sockets > 0).then_some(sockets)
    }

    /// Sockets, or, where any member has connections, clients with connections, over all members and all workers of
    /// this process.
    pub fn total_clients(&self) -> usize {
        match self.mix.is_some() {
            true => self
                .mix
                .members
                .iter()
                .filter(|one| self.is_client(one))
                .map(|one| self.part.share(self.clients_of(one)))
                .sum(),
            false => self.part.share(self.clients),
        }
    }

    /// Sockets or clients of a member in the whole load, at least one per worker: its own number, or its part by weight
    /// of those of the run. Where others have connections, a member with UDP alone has a socket for each worker.
    pub fn clients_of(&self, member: &MixMember) -> usize {
        let shares = |one: &MixMember| one.clients.is_none() && self.is_client(one);
        let weights = self.mix.members.iter().filter(|one| shares(one)).map(|one| one.weight);
        let share = || (self.clients as f64 * member.weight / weights.sum::<f64>()).round() as usize;
        let clients = member.clients.unwrap_or_else(|| if shares(member) { share() } else { 0 });
        clients.max(self.part.of as usize)
    }

    /// Whether the sockets of a member count as the clients of the run.
    fn is_client(&self, member: &MixMember) -> bool {
        member.transport.connects() || !self.transport.connects()
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

    /// How the source is read.
    pub fn reading(&self) -> Reading {
        Reading {
            form: self.form,
            bad_lines: self.bad_lines,
            selection: self.selection.clone(),
            seed: self.seed,
            groups_by_length: self.groups_by_length(),
            bounds: Arc::default(),
        }
    }

    /// A draft of the whole plan: validated again, it gives the same plan. It includes changes made after
    /// validation from what only the host knows.
    pub fn to_draft(&self) -> Draft {
        Draft {
            workers: Some(WorkerCount::Number(self.workers)),
            // Those of a capture, or of a description, are counted anew.
            clients: match &self.source {
                QuerySource::Capture if !self.replay.has_clients => None,
                QuerySource::Clients(clients) if !clients.has_sockets => None,
                _ => Some(self.clients),
            },
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
        let (stop_limits, stop_when) = StopLimits::read(&draft.stop_when)
            .map_err(|source| PlanError::Expectation { option: "stop-when", source })?;
        let watch = Watch::of(&mut draft, host.working_dir)?;
        let source = source(&mut draft, host.working_dir)?;
        let replay = replay(&mut draft, host.working_dir)?;
        let selection = selection(&mut draft)?;
        let backend = Backend::of(&mut draft)?;
        let ways = Ways::of(&mut draft)?;
        let (transport, transports) = (ways.transport(), ways.transports());
        self.refuse_unusable(transport, &transports)?;
        let LoadChoice { load, shape, stop } = choose_load(&draft, Stop::of(&draft)?, &source, &selection)?;
        let send_only = *draft.send_only.get_or_insert(false);
        if !send_only {
            draft.outstanding = load.window();
        }
        draft.duration = draft.duration.take().or(stop.duration_ns.map(format_duration_ns));
        draft.passes = stop.passes;
        let connections = ConnectionPlan::of(&mut draft, transport, &transports)?;
        let encryption = EncryptionPlan::of(&mut draft, &transports, host.working_dir)?;
        let usual = if draft.source.is_some() { "3s" } else { "5s" };
        let timeout_ns = filled("timeout", &mut draft.timeout, usual, parse_duration_ns)?;
        limited("timeout", timeout_ns, TIMEOUT_NS, format_duration_ns)?;
        let usual = format_duration_ns(usual_interval_ns(&load, timeout_ns));
        let interval_ns = filled("interval", &mut draft.interval, &usual, parse_duration_ns)?;
        limited("interval", interval_ns, INTERVAL_NS, format_duration_ns)?;
        check_interval(interval_ns, timeout_ns)?;
        let buffer_bytes = filled("receive-buffer", &mut draft.receive_buffer, "4M", parse_size_bytes)?;
        limited("receive-buffer", buffer_bytes, BUFFER_BYTES, format_size_bytes)?;
        let send_buffer_bytes = filled("send-buffer", &mut draft.send_buffer, "1M", parse_size_bytes)?;
        limited("send-buffer", send_buffer_bytes, BUFFER_BYTES, format_size_bytes)?;
        let seed = read_as("seed", &draft.seed, |text| text.parse().ok(), SEED)?.unwrap_or(host.fresh_seed);
        draft.seed = Some(seed.to_string());
        let sources = read_as("source-prefix", &draft.source_prefix, Sources::parse, SOURCES)?;
        let messages = MessagePlan::of(&mut draft, host.working_dir, seed, sources.as_ref())?;
        let form = form(&mut draft, &messages)?;
        let (local_address, local_prefix) =
            read_as("local-address", &draft.local_address, address_or_prefix, ADDRESS)?.unzip();
        // Late, because this may send queries to a resolver.
        let prefix = sources.as_ref().and_then(|sources| sources.networks().next());
        let lookup = Lookup {
            resolve: host.resolve,
            working_dir: host.working_dir,
            local_address: local_address.or(prefix.map(|prefix| prefix.first)),
        };
        let (target, mix) = ways.members(&mut draft, self, &lookup)?;
        if mix.is_some() && backend.xdp().is_some() {
            return Err(PlanError::Unusable { option: "backend", sentence: ONE_SERVER.to_owned() });
        }
        let query_ns = query_ns(transport, &mix, &connections);
        let is_local = mix.servers().chain([&target]).any(|target| (host.is_local)(target.address.ip()));
        let usual = UsualWorkers::of(host.cores, is_local, &load, query_ns);
        let over = Over {
            backend: &backend,
            transport,
            mix: &mix,
            connections: &connections,
            sources: sources.as_ref(),
        };
        let Workers { part, clients, usual, notes } = Workers::of(&mut draft, usual, &load, &over)?;
        let local_ports = local_ports(&draft, clients, sources.is_some())?;
        let workers = part.workers as usize;
        let first_pass = FirstPass::of(&mut draft)?;
        let trace = TracePlan::of(&mut draft, host.working_dir)?;
        let proxy = read_as("proxy-protocol", &draft.proxy_protocol, ProxySource::parse, PROXY)?;
        let plan = Plan {
            name: draft.name.clone(),
            note: draft.note.clone(),
            target,
            transport,
            mix,
            connections,
            encryption,
            source,
            replay,
            bad_lines: bad_lines(&mut draft),
            selection,
            keep_order: *draft.keep_order.get_or_insert(false),
            form,
            messages,
            load,
            shape,
            stop,
            timeout_ns,
            interval_ns,
            workers,
            part,
            usual_workers: usual,
            check: *draft.check.get_or_insert(!send_only),
            pin: *draft.pin.get_or_insert(true),
            deep_idle: *draft.deep_idle.get_or_insert(false),
            clients,
            local_address,
            sources: sources.filter(|_| backend.xdp().is_none()),
            local_prefix: local_prefix.flatten(),
            proxy,
            local_ports,
            backend,
            receive_buffer_bytes: buffer_bytes as u32,
            send_buffer_bytes: send_buffer_bytes as u32,
            send_only,
            any_source: *draft.any_source.get_or_insert(false),
            seed,
            expect,
            expect_each,
            stop_when,
            stop_limits,
            first_pass,
            trace,
            watch,
            notes,
            draft,
        };
        plan.refuse_too_few(None)?;
        Ok(plan)
    }
}

fn replay(draft: &mut Draft, working_dir: &Path) -> Result<ReplayPlan, PlanError> {
    let file = match &mut draft.replay {
        Some(path) if path != "-" => Some(absolute(path, working_dir)),
        _ => None,
    };
    let speed = read_as("speed", &draft.speed, factor, SPEED)?.unwrap_or(1.0);
    let wrong = |text: &String| PlanError::Value {
        option: "captured-server",
        text: text.clone(),
        expected: CAPTURED_SERVER,
    };
    let servers = draft.captured_server.iter().flatten();
    let servers = servers.map(|text| CapturedServer::parse(text).ok_or_else(|| wrong(text)));
    Ok(ReplayPlan {
        file,
        speed,
        servers: servers.collect::<Result<_, _>>()?,
        check_answers: draft.check_answers.unwrap_or(false),
        has_clients: draft.replay.is_some() && draft.clients.is_some(),
    })
}

fn factor(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|factor: &f64| *factor > 0.0 && *factor <= FASTEST)
}

fn bad_lines(draft: &mut Draft) -> BadLines {
    match (*draft.strict.get_or_insert(false), *draft.lenient.get_or_insert(false)) {
        (true, _) => BadLines::Refuse,
        (false, true) => BadLines::SkipAll,
        (false, false) => BadLines::SkipFew,
    }
}

fn form(draft: &mut Draft, messages: &MessagePlan) -> Result<QueryForm, PlanError> {
    Ok(QueryForm {
        recursion_desired: *draft.recursion_desired.get_or_insert(true),
        checking_disabled: *draft.checking_disabled.get_or_insert(false),
        authentic_data: *draft.authentic_data.get_or_insert(false),
        dnssec_ok: *draft.dnssec_ok.get_or_insert(false),
        edns_size: within("edns-size", draft.edns_size, u64::from(MIN_EDNS_SIZE)..=u64::from(u16::MAX))?
            .or(edns_size_needed(messages)),
        edns_version: *draft.edns_version.get_or_insert(0),
        nsid: *draft.nsid.get_or_insert(false),
        options: fixed_options(draft)?,
        class: read_as("class", &draft.class, parse_class, CLASS)?.unwrap_or(CLASS_IN),
    })
}

fn local_ports(draft: &Draft, clients: usize, has_addresses: bool) -> Result<Option<PortRange>, PlanError> {
    let range = read_as("local-ports", &draft.local_ports, PortRange::parse, PORTS)?;
    // Each address of a prefix has all the ports; their number is checked when they are opened.
    match range.map(|range| range.count()).filter(|held| *held < clients && !has_addresses) {
        Some(held) => {
            let ports = draft.local_ports.clone().unwrap_or_default();
            Err(PlanError::TooFewPorts { ports, held, clients })
        }
        None => Ok(range),
    }
}

/// The source address; for connections also its prefix. The zone of a link-local address is that of the server.
fn address_or_prefix(text: &str) -> Option<(IpAddr, Option<u8>)> {
    if let Some((address, zone)) = text.split_once('%') {
        let address: Ipv6Addr = address.parse().ok()?;
        let is_one = address.is_unicast_link_local() && !zone.is_empty() && !zone.contains('/');
        return is_one.then_some((address.into(), None));
    }
    match SourcePrefix::parse(text) {
        Some(prefix) => Some((prefix.first, (!prefix.is_host()).then_some(prefix.length))),
        None => text.parse().ok().map(|address| (address, None)),
    }
}

const SPEED: &str = "a factor above 0, at most 1000000";
const FASTEST: f64 = 1e6;
const CAPTURED_SERVER: &str =
    "the address of a server in the capture: write ADDRESS, ADDRESS:PORT or [IPV6]:PORT";
const SEED: &str = "a whole number from 0 to 18446744073709551615";
const CLASS: &str = "a class: use IN, CH, HS, ANY or CLASSnnn";
const ONE_SERVER: &str = "cannot be used with several servers: AF_XDP sends to one; remove it";
const PORTS: &str = "a range of ports from 1 to 65535: write it like 20000..29999";
const SOURCES: &str = "a list of prefixes of one family: write it like 10.1.0.0/16, or 10.1.0.0/16=3,10.9.0.1/32=1 \
                       for weights";
const PROXY: &str = "an address: write ADDRESS, ADDRESS:PORT or [IPV6]:PORT, or ADDRESS/LENGTH for a prefix";
const ADDRESS: &str =
    "an address: write an IPv4 or IPv6 address of this host, or ADDRESS/LENGTH over connections";

const SECOND_NS: u64 = 1_000_000_000;

/// No resolver retries for ten minutes. The default, 5 s, is that of dnsperf.
const TIMEOUT_NS: RangeInclusive<u64> = 1_000_000..=600 * SECOND_NS;

/// Below 10 ms a record would have more lines than queries.
pub(crate) const INTERVAL_NS: RangeInclusive<u64> = 10_000_000..=3600 * SECOND_NS;

/// Up to half of the maximum of the socket option, a signed 32-bit number that Linux doubles. The default, 4 MiB,
/// holds tens of thousands of responses, so that a worker that gets no CPU for some milliseconds loses none.
const BUFFER_BYTES: RangeInclusive<u64> = 1..=1 << 30;

/// Below this rate queries are sent one by one, and grouping them gains nothing.
const GROUPING_RATE_QPS: f64 = 100_000.0;

#[cfg(test)]
mod tests;
