//! From draft to plan: every rule is checked here, once, and every default is filled in here.

use std::net::IpAddr;
use std::path::Path;

use dnsdyno_wire::{CLASS_IN, MIN_EDNS_SIZE, QueryForm, parse_class};

use crate::backend::{Backend, SourcePrefix};
use crate::connections::ConnectionPlan;
use crate::draft::Draft;
use crate::encryption::EncryptionPlan;
use crate::error::PlanError;
use crate::interval::{check_interval, usual_interval_ns};
use crate::load::{LoadChoice, choose_load};
use crate::mix::Mix;
use crate::plan::{Note, Plan, PortRange, Stop, TransportKind};
use crate::schedule::Load;
use crate::source::QuestionSource;
use crate::target::{Resolve, Target, Wanted, target_is_harmless};
use crate::units::{
    UnitError, format_duration_ns, format_size_bytes, parse_count, parse_duration_ns, parse_size_bytes,
};

/// What a draft must be told of the machine it runs on, because a plan itself does no input or output.
#[derive(Clone, Copy)]
pub struct Host<'a> {
    /// CPU cores to use, at least 1: the default number of workers.
    pub cores: usize,
    /// What relative paths start from.
    pub working_dir: &'a Path,
    /// A seed nobody used before, for plans that name none.
    pub fresh_seed: u64,
    /// Looks up the addresses of a server that is given by name.
    pub resolve: Resolve<'a>,
}

impl Draft {
    /// Checks every rule, fills in every default, and looks up the server's address.
    ///
    /// Defaults: closed loop with 100 outstanding (with send-only: a flood); one pass through the file
    /// where neither the load nor an option ends the run, 10 s where names were given instead; timeout
    /// 5 s; interval 1 s, or less for short phases; one worker a core, and each on its own; one socket a
    /// worker (AF_XDP: 256 source ports); receive buffer 4 MiB.
    pub fn validate(&self, host: &Host<'_>) -> Result<Plan, PlanError> {
        let source = self.source(host)?;
        let form = self.form()?;
        let LoadChoice { load, shape, stop } = choose_load(self, self.stop()?, &source)?;
        let send_only = self.send_only.unwrap_or(false);
        if send_only && self.outstanding.is_some() {
            return Err(PlanError::SendOnlyClosed);
        }
        let backend = Backend::of(self)?;
        let (mix, transport) = Mix::of(self)?;
        let connections = ConnectionPlan::of(self, transport, &mix)?;
        let encryption = EncryptionPlan::of(self, transport, &mix, host.working_dir)?;
        let threads = self.threads(host, &load, &backend, transport, &connections)?;
        let local_ports = self.local_ports(threads.clients, &backend)?;
        let timeout_ns = self.limited_duration("timeout", &self.timeout, TIMEOUT_NS)?;
        let usual_ns = Limits { default: usual_interval_ns(&load, timeout_ns), ..INTERVAL_NS };
        let interval_ns = self.limited_duration("interval", &self.interval, usual_ns)?;
        check_interval(interval_ns, timeout_ns)?;
        let receive_buffer_bytes = self.receive_buffer()?;
        let seed = self.seed(host)?;
        let (local_address, local_prefix) = self.local_address(transport)?;
        // Last, because this may ask the network.
        let target = self.target(host, transport, self.source_address(local_address, &backend)?)?;
        Ok(Plan {
            name: self.name.clone(),
            note: self.note.clone(),
            target,
            family: self.family.unwrap_or_default(),
            transport,
            mix,
            connections,
            encryption,
            source,
            strict: self.strict.unwrap_or(false),
            keep_order: self.keep_order.unwrap_or(false),
            form,
            load,
            shape,
            stop,
            timeout_ns,
            interval_ns,
            workers: threads.workers,
            pin: self.pin.unwrap_or(true),
            clients: threads.clients,
            local_address,
            local_prefix,
            local_ports,
            backend,
            receive_buffer_bytes,
            send_only,
            seed,
            i_may_load_this_server: self.i_may_load_this_server.unwrap_or(false),
            notes: threads.notes,
        })
    }

    fn source(&self, host: &Host<'_>) -> Result<QuestionSource, PlanError> {
        match (self.queries.as_deref(), &self.ask) {
            (Some(_), Some(_)) => Err(PlanError::TwoSources),
            (Some("-"), None) => Ok(QuestionSource::Stdin),
            (Some(path), None) => Ok(QuestionSource::File(host.working_dir.join(path))),
            (None, Some(items)) if !items.is_empty() => Ok(QuestionSource::Given(items.clone())),
            (None, _) => Err(PlanError::NoQueries),
        }
    }

    fn form(&self) -> Result<QueryForm, PlanError> {
        if let Some(size) = self.edns_size.filter(|size| *size < MIN_EDNS_SIZE) {
            return Err(out_of_range("edns-size", size, MIN_EDNS_SIZE, u16::MAX));
        }
        let class = match &self.class {
            None => CLASS_IN,
            Some(text) => parse_class(text).ok_or_else(|| PlanError::Value {
                option: "class",
                text: text.clone(),
                expected: "a class: use IN, CH, HS, ANY or CLASSnnn",
            })?,
        };
        let plain = QueryForm::default();
        Ok(QueryForm {
            recursion_desired: self.recursion_desired.unwrap_or(plain.recursion_desired),
            checking_disabled: self.checking_disabled.unwrap_or(plain.checking_disabled),
            authentic_data: self.authentic_data.unwrap_or(plain.authentic_data),
            dnssec_ok: self.dnssec_ok.unwrap_or(plain.dnssec_ok),
            edns_size: self.edns_size,
            nsid: self.nsid.unwrap_or(plain.nsid),
            class,
        })
    }

    /// What the user said ends the run; nothing is filled in yet.
    fn stop(&self) -> Result<Stop, PlanError> {
        let stop = Stop {
            duration_ns: read("for", &self.duration, parse_duration_ns)?,
            count: read("count", &self.count, parse_count)?,
            passes: self.passes,
        };
        for (option, value) in [("for", stop.duration_ns), ("count", stop.count), ("passes", stop.passes)] {
            if value == Some(0) {
                return Err(PlanError::Zero { option });
            }
        }
        Ok(stop)
    }

    /// Workers and sockets, so that every worker has a socket and, in a closed loop, a query to wait for.
    fn threads(
        &self,
        host: &Host<'_>,
        load: &Load,
        backend: &Backend,
        transport: TransportKind,
        connections: &ConnectionPlan,
    ) -> Result<Threads, PlanError> {
        for (option, value) in [("workers", self.workers), ("clients", self.clients)] {
            match value {
                Some(0) => return Err(PlanError::Zero { option }),
                Some(more) if more > MAX_CLIENTS => return Err(out_of_range(option, more, 1, MAX_CLIENTS)),
                _ => {}
            }
        }
        let outstanding = load.window();
        let asked = self.workers.unwrap_or(host.cores.clamp(1, MAX_CLIENTS));
        let mut threads = Threads { workers: asked, clients: 0, notes: Vec::new() };
        let window = outstanding.map(|outstanding| outstanding as usize);
        for (limited_by, limit) in [("clients", self.clients), ("outstanding", window)] {
            let Some(limit) = limit.filter(|limit| *limit < threads.workers) else { continue };
            threads.workers = limit;
            // Whoever left the number to us need not be told how it was chosen.
            if self.workers.is_some() {
                threads.notes = vec![Note::FewerWorkers { asked, used: limit, limited_by }];
            }
        }
        let queries_each = connections.queries_each.or(connections.queries_each_again);
        let usual = match (backend.xdp(), queries_each, outstanding) {
            (Some(_), ..) => XDP_CLIENTS.max(threads.workers),
            // A connection that ends soon is asked little at once: each query of the window may need its own.
            (None, Some(_), Some(outstanding)) => (outstanding as usize).clamp(threads.workers, MAX_CLIENTS),
            (None, Some(_), None) => SHORT_LIVED_CLIENTS.max(threads.workers),
            (None, None, _) => threads.workers,
        };
        threads.clients = self.clients.unwrap_or(usual);
        // Each worker has its share of the window, and of the sockets.
        let share = outstanding.unwrap_or(0).div_ceil(threads.workers as u32) as usize;
        // With clients beside them, there is a socket a worker.
        let has_both = transport.has_udp() && transport.connects();
        let sockets = if has_both { 1 } else { threads.clients / threads.workers };
        match outstanding {
            Some(outstanding) if share > sockets * IDS_PER_SOCKET && has_both => Err(out_of_range(
                "outstanding",
                u64::from(outstanding),
                1,
                (threads.workers * IDS_PER_SOCKET) as u64,
            )),
            Some(outstanding) if share > sockets * IDS_PER_SOCKET => {
                let needed = threads.workers * share.div_ceil(IDS_PER_SOCKET);
                Err(PlanError::TooManyOutstanding { outstanding, clients: threads.clients, needed })
            }
            _ => Ok(threads),
        }
    }

    fn local_ports(&self, clients: usize, backend: &Backend) -> Result<Option<PortRange>, PlanError> {
        let Some(text) = &self.local_ports else { return Ok(None) };
        let range = parse_ports(text).ok_or_else(|| PlanError::Value {
            option: "local-ports",
            text: text.clone(),
            expected: "a range of ports from 1 to 65535: write it like 20000..29999",
        })?;
        // Each address of a prefix has all the ports; how many there are is seen when it is opened.
        let has_addresses = backend.xdp().is_some_and(|xdp| xdp.source_prefix.is_some());
        if range.count() < clients && !has_addresses {
            return Err(PlanError::TooFewPorts { ports: text.clone(), held: range.count(), clients });
        }
        Ok(Some(range))
    }

    fn limited_duration(
        &self,
        option: &'static str,
        text: &Option<String>,
        limits: Limits,
    ) -> Result<u64, PlanError> {
        let given = read(option, text, parse_duration_ns)?.unwrap_or(limits.default);
        if (limits.min..=limits.max).contains(&given) {
            return Ok(given);
        }
        let [given, min, max] = [given, limits.min, limits.max].map(format_duration_ns);
        Err(PlanError::OutOfRange { option, given, min, max })
    }

    fn receive_buffer(&self) -> Result<u32, PlanError> {
        let given = read("receive-buffer", &self.receive_buffer, parse_size_bytes)?;
        let given = given.unwrap_or(DEFAULT_RECEIVE_BUFFER_BYTES);
        match u32::try_from(given) {
            Ok(bytes) if (1..=MAX_RECEIVE_BUFFER_BYTES).contains(&bytes) => Ok(bytes),
            _ => Err(PlanError::OutOfRange {
                option: "receive-buffer",
                given: format_size_bytes(given),
                min: "1".to_owned(),
                max: format_size_bytes(u64::from(MAX_RECEIVE_BUFFER_BYTES)),
            }),
        }
    }

    fn seed(&self, host: &Host<'_>) -> Result<u64, PlanError> {
        match &self.seed {
            None => Ok(host.fresh_seed),
            Some(text) => text.parse().map_err(|_| PlanError::Value {
                option: "seed",
                text: text.clone(),
                expected: "a whole number from 0 to 18446744073709551615",
            }),
        }
    }

    /// The address to send from; of connections also the prefix up to whose end they start.
    fn local_address(&self, transport: TransportKind) -> Result<(Option<IpAddr>, Option<u8>), PlanError> {
        let Some(text) = &self.local_address else { return Ok((None, None)) };
        if let Some(SourcePrefix { first, length }) = SourcePrefix::parse(text) {
            let is_one = length == if first.is_ipv4() { 32 } else { 128 };
            return match transport {
                _ if is_one => Ok((Some(first), None)),
                TransportKind::Udp => Err(PlanError::NoConnections { option: "local-address", transport }),
                _ => Ok((Some(first), Some(length))),
            };
        }
        let expected =
            "an address: write an IPv4 or IPv6 address of this machine, over connections also ADDRESS/LENGTH";
        let wrong = |_| PlanError::Value { option: "local-address", text: text.clone(), expected };
        text.parse().map(|address| (Some(address), None)).map_err(wrong)
    }

    /// An address of the family that queries are to be sent from, where the user says it.
    fn source_address(
        &self,
        local_address: Option<IpAddr>,
        backend: &Backend,
    ) -> Result<Option<IpAddr>, PlanError> {
        let prefix = backend.xdp().and_then(|xdp| xdp.source_prefix);
        match (local_address, prefix) {
            (Some(_), Some(_)) => Err(PlanError::TwoLocals),
            (local, prefix) => Ok(local.or(prefix.map(|prefix| prefix.first))),
        }
    }

    fn target(
        &self,
        host: &Host<'_>,
        transport: TransportKind,
        local_address: Option<IpAddr>,
    ) -> Result<Target, PlanError> {
        let server = self.server.as_deref().ok_or(PlanError::NoServer)?;
        let family = self.family.unwrap_or_default();
        let wanted =
            Wanted { server, port: self.port, usual_port: transport.default_port(), family, local_address };
        let target = wanted.find(host.resolve)?;
        let address = target.address.ip();
        if self.i_may_load_this_server != Some(true) && !target_is_harmless(address) {
            return Err(PlanError::MayNotLoad { address });
        }
        Ok(target)
    }
}

/// How many threads and sockets a run has.
struct Threads {
    workers: usize,
    clients: usize,
    notes: Vec<Note>,
}

/// Reads an optional value, and says of which option it is where it is wrong.
pub(crate) fn read<T>(
    option: &'static str,
    text: &Option<String>,
    parse: impl Fn(&str) -> Result<T, UnitError>,
) -> Result<Option<T>, PlanError> {
    text.as_deref().map(parse).transpose().map_err(|source| PlanError::Unit { option, source })
}

/// `A..B`, `A-B` or one port.
fn parse_ports(text: &str) -> Option<PortRange> {
    let (first, last) = text.split_once("..").or_else(|| text.split_once('-')).unwrap_or((text, text));
    let port = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port > 0);
    let range = PortRange { first: port(first)?, last: port(last)? };
    (range.first <= range.last).then_some(range)
}

fn out_of_range<T: ToString>(option: &'static str, given: T, min: T, max: T) -> PlanError {
    PlanError::OutOfRange { option, given: given.to_string(), min: min.to_string(), max: max.to_string() }
}

/// A default between two limits.
#[derive(Clone, Copy)]
struct Limits {
    min: u64,
    default: u64,
    max: u64,
}

const MILLISECOND_NS: u64 = 1_000_000;
const SECOND_NS: u64 = 1_000 * MILLISECOND_NS;

/// 5 s is what dnsperf waits. Ten minutes are longer than any resolver tries.
const TIMEOUT_NS: Limits = Limits { min: MILLISECOND_NS, default: 5 * SECOND_NS, max: 600 * SECOND_NS };

/// Below 10 ms a record would hold more lines than queries.
const INTERVAL_NS: Limits = Limits { min: 10 * MILLISECOND_NS, default: SECOND_NS, max: 3600 * SECOND_NS };

/// Room for tens of thousands of answers, so that a worker that is away for some milliseconds loses none.
const DEFAULT_RECEIVE_BUFFER_BYTES: u64 = 4 << 20;

/// Half of what the system's option, a signed 32-bit number, can say: Linux doubles it.
const MAX_RECEIVE_BUFFER_BYTES: u32 = 1 << 30;

/// A message ID has 16 bits.
const IDS_PER_SOCKET: usize = 1 << 16;

/// Source ports of AF_XDP: enough for a card, and for a server with a socket a core, to spread
/// the queries evenly over some tens of queues.
const XDP_CLIENTS: usize = 256;

/// Clients whose connections end soon, where only a rate is given: so many may wait for an answer at once.
const SHORT_LIVED_CLIENTS: usize = 1_000;

/// Each socket needs a port of its own.
const MAX_CLIENTS: usize = 65_535;

#[cfg(test)]
mod tests;
