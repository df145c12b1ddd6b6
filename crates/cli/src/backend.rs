//! Opens what the queries leave by: sockets, or an interface for AF_XDP; and says which it was.

use std::net::IpAddr;

use anyhow::anyhow;
use dnsdyno_plan::{
    Backend, HttpMethod, Load, MixMember, Plan, Questions, TlsVersions, TransportKind, Trust, XdpCopy,
    XdpMode, XdpPlan, mac_text,
};
use dnsdyno_record::{BackendInfo, XdpInfo};
use dnsdyno_sys::thread;
use dnsdyno_transport::mixed::{Member, Mixed, Part};
use dnsdyno_transport::quic::{self, QuicConfig, QuicTransport};
use dnsdyno_transport::stream::{
    self, DohSetup, DohTransport, DotTransport, Session, StreamConfig, Streams, TcpTransport,
};
use dnsdyno_transport::tls::{Tls, TlsConfig, TlsTrust};
use dnsdyno_transport::udp::{UdpConfig, UdpTransport};
use dnsdyno_transport::xdp::{self, Attach, Attached, CopyMode, Source, XdpConfig, XdpFacts, XdpLine};

use crate::exit::Failure;
use crate::screen::tell;

/// The way to the server, opened.
pub(crate) enum Opened {
    /// Each worker's sockets.
    Sockets(Vec<UdpTransport>),
    /// Each worker's clients.
    Tcp(Vec<TcpTransport>),
    /// The same, over TLS.
    Dot(Vec<DotTransport>),
    /// The same, over HTTP.
    Doh(Vec<DohTransport>),
    /// Each worker's clients over QUIC.
    Doq(Vec<QuicTransport>),
    /// Each worker's ways, where there are several.
    Mixed(Vec<Mixed>),
    /// The interface.
    Xdp(Box<XdpLine>),
}

impl Opened {
    /// How far ahead the start of the run must lie.
    pub(crate) fn preparation_ns(&self, load: &Load) -> u64 {
        match self {
            Opened::Sockets(transports) => dnsdyno_engine::preparation_ns(transports, load),
            Opened::Tcp(transports) => dnsdyno_engine::preparation_ns(transports, load),
            Opened::Dot(transports) => dnsdyno_engine::preparation_ns(transports, load),
            Opened::Doh(transports) => dnsdyno_engine::preparation_ns(transports, load),
            Opened::Doq(transports) => dnsdyno_engine::preparation_ns(transports, load),
            Opened::Mixed(transports) => dnsdyno_engine::preparation_ns(transports, load),
            Opened::Xdp(line) => dnsdyno_engine::preparation_ns(&line.transports, load),
        }
    }
}

/// A plan as it is carried out, with its way to the server.
pub(crate) struct Way {
    /// The plan, with the workers and clients that there are.
    pub(crate) plan: Plan,
    pub(crate) opened: Opened,
    /// What the record says of it.
    pub(crate) info: BackendInfo,
    /// Whether the workers need a table of open files each.
    pub(crate) own_files: bool,
}

/// Opens the way that the plan asks for; where that cannot be had and `otherwise` is a plan that
/// will do, the way of that.
pub(crate) fn open(plan: &Plan, otherwise: Option<&Plan>, questions: &Questions) -> Result<Way, Failure> {
    let Backend::Xdp(wish) = &plan.backend else {
        return by_sockets(plan, None);
    };
    make_room_for_files(plan)?;
    match (xdp::open(&config_of(plan, wish, questions)), otherwise) {
        (Ok(line), _) => Ok(by_xdp(plan, wish, line)),
        (Err(error), Some(otherwise)) => {
            tell(&format!("dnsdyno: sockets, because AF_XDP cannot be had: {error}"));
            by_sockets(otherwise, Some(error.to_string()))
        }
        (Err(error), None) => Err(Failure::run_failed(error)),
    }
}

fn by_sockets(plan: &Plan, why: Option<String>) -> Result<Way, Failure> {
    let own_files = make_room_for_files(plan)?;
    let opened = match plan.transport {
        TransportKind::Udp => Opened::Sockets(open_sockets(plan)?),
        TransportKind::Tcp => Opened::Tcp(open_clients(plan, ())?),
        TransportKind::Dot => Opened::Dot(open_clients(plan, tls_of(plan)?)?),
        TransportKind::Doh => Opened::Doh(open_clients(plan, doh_of(plan)?)?),
        TransportKind::Doq => Opened::Doq(open_quic_clients(plan)?),
        TransportKind::UdpTcp | TransportKind::Mix => Opened::Mixed(open_mix(plan)?),
    };
    Ok(Way { plan: plan.clone(), opened, info: BackendInfo { why, xdp: None }, own_files })
}

fn by_xdp(plan: &Plan, wish: &XdpPlan, line: XdpLine) -> Way {
    let mut plan = plan.clone();
    plan.workers = line.transports.len();
    plan.clients = line.clients();
    // What is kept says what was taken, so that the run repeats itself.
    plan.backend = Backend::Xdp(XdpPlan { or_sockets: false, fits_workers: false, ..wish.clone() });
    let why = wish.or_sockets.then(|| "the interface towards the server takes it".to_owned());
    let info = BackendInfo { why, xdp: Some(info_of(&line.facts)) };
    Way { plan, opened: Opened::Xdp(Box::new(line)), info, own_files: false }
}

fn config_of(plan: &Plan, wish: &XdpPlan, questions: &Questions) -> XdpConfig {
    let source = match (wish.source_prefix, plan.local_address) {
        (Some(prefix), _) => Source::Prefix { first: prefix.first, length: prefix.length },
        (None, Some(address)) => Source::Address(address),
        (None, None) => Source::Route,
    };
    XdpConfig {
        server: plan.target.address,
        interface: wish.interface.clone(),
        source,
        ports: plan.local_ports.map(|ports| (ports.first, ports.last)),
        next_hop: wish.next_hop,
        vlan: wish.vlan,
        attach: match wish.mode {
            XdpMode::Auto => Attach::Auto,
            XdpMode::Native => Attach::Native,
            XdpMode::Generic => Attach::Generic,
        },
        copy: match wish.copy {
            XdpCopy::Auto => CopyMode::Auto,
            XdpCopy::ZeroCopy => CopyMode::ZeroCopy,
            XdpCopy::Copy => CopyMode::Copy,
        },
        workers: plan.workers,
        fits_workers: wish.fits_workers,
        channels: plan.clients,
        longest_message: (0..questions.len()).map(|i| questions.message(i).len()).max().unwrap_or(0),
        send_only: plan.send_only,
    }
}

fn info_of(facts: &XdpFacts) -> XdpInfo {
    XdpInfo {
        interface: facts.interface.clone(),
        queues: facts.queues,
        mode: match facts.attached {
            Attached::Native => "native",
            Attached::Generic => "generic",
        }
        .to_owned(),
        zero_copy: facts.zero_copy,
        source: facts.source,
        first_port: facts.ports.0,
        last_port: facts.ports.1,
        next_hop: mac_text(&facts.next_hop),
        vlan: facts.vlan,
        mtu: facts.mtu as u64,
    }
}

/// Raises the limit of open files to what the sockets need, as far as the host allows; says whether
/// each worker must have a table of files of its own, to which the limit then applies.
fn make_room_for_files(plan: &Plan) -> Result<bool, Failure> {
    // AF_XDP holds a socket for each of its ports, up to a number.
    let needed = match plan.backend {
        // Clients over QUIC share sockets.
        Backend::Sockets if plan.transport == TransportKind::Doq => {
            let sockets = (0..plan.workers).map(|worker| quic::sockets_of(clients_of(plan, worker)));
            sockets.sum::<usize>() as u64 + FILES_BESIDE_SOCKETS
        }
        Backend::Sockets => (plan.clients + plan.udp_sockets().unwrap_or(0)) as u64 + FILES_BESIDE_SOCKETS,
        Backend::Xdp(_) => plan.clients.min(xdp::MOST_HELD) as u64 + FILES_BESIDE_SOCKETS + FILES_OF_QUEUES,
    };
    let (soft, hard) = thread::open_files_limit().map_err(Failure::run_failed)?;
    if needed <= soft || thread::set_open_files_limit(needed).is_ok() {
        return Ok(false);
    }
    // Only what connects opens its sockets on the worker's thread.
    let connects = plan.transport != TransportKind::Udp;
    let most_of_one = clients_of(plan, 0) as u64 + FILES_BESIDE_SOCKETS;
    if connects && thread::set_open_files_limit(most_of_one.max(soft)).is_ok() {
        return Ok(true);
    }
    let clients_each = hard.saturating_sub(FILES_BESIDE_SOCKETS);
    let or_more_workers = match (plan.clients as u64).checked_div(clients_each) {
        Some(whole) if connects => {
            let workers = whole + u64::from(!(plan.clients as u64).is_multiple_of(clients_each));
            format!(", share them among --workers {workers}, each of which may have {hard}")
        }
        _ => String::new(),
    };
    Err(Failure::run_failed(anyhow!(
        "--clients {} needs {needed} open files, and this process may have {soft} (at most {hard}): \
         run `ulimit -n {needed}` first{or_more_workers}, or ask for fewer clients",
        plan.clients
    )))
}

/// Opens each worker's sockets.
fn open_sockets(plan: &Plan) -> Result<Vec<UdpTransport>, Failure> {
    let config = UdpConfig {
        server: plan.target.address,
        local_address: plan.local_address,
        receive_buffer: plan.receive_buffer_bytes as usize,
        send_only: plan.send_only,
    };
    let mut ports = plan.local_ports.map(|range| range.ports());
    let mut port = || ports.as_mut().and_then(Iterator::next).unwrap_or(0);
    let mut transports = Vec::with_capacity(plan.workers);
    for worker in 0..plan.workers {
        let local_ports: Vec<u16> = (0..clients_of(plan, worker)).map(|_| port()).collect();
        transports.push(UdpTransport::open(&config, &local_ports).map_err(Failure::run_failed)?);
    }
    Ok(transports)
}

/// Makes each worker's clients; they connect when they have something to ask.
fn open_clients<S: Session>(plan: &Plan, session: S::Setup) -> Result<Vec<Streams<S>>, Failure> {
    let server = plan.target.address;
    let local_addresses =
        stream::usable_addresses(server, local_addresses(plan)).map_err(Failure::run_failed)?;
    let config = StreamConfig {
        server,
        local_addresses,
        queries_each: plan.connections.queries_each,
        idle_timeout_ns: plan.connections.idle_timeout_ns,
        timeout_ns: plan.timeout_ns,
        fast_open: plan.connections.fast_open,
        handshake_timeout_ns: plan.encryption.handshake_timeout_ns,
        session,
    };
    let open = |worker| Streams::open(&config, clients_of(plan, worker), worker);
    (0..plan.workers).map(open).collect::<Result<_, _>>().map_err(Failure::run_failed)
}

/// Makes each worker's clients over QUIC, and the sockets that they share.
fn open_quic_clients(plan: &Plan) -> Result<Vec<QuicTransport>, Failure> {
    let server = plan.target.address;
    let config = QuicConfig {
        server,
        local_addresses: stream::usable_addresses(server, local_addresses(plan))
            .map_err(Failure::run_failed)?,
        receive_buffer: plan.receive_buffer_bytes as usize,
        queries_each: plan.connections.queries_each,
        idle_timeout_ns: plan.connections.idle_timeout_ns,
        timeout_ns: plan.timeout_ns,
        handshake_timeout_ns: plan.encryption.handshake_timeout_ns,
        tls: tls_of(plan)?,
    };
    let open = |worker| QuicTransport::open(&config, clients_of(plan, worker), worker);
    (0..plan.workers).map(open).collect::<Result<_, _>>().map_err(Failure::run_failed)
}

/// Opens each worker's ways of a mix, or the two of the fallback.
fn open_mix(plan: &Plan) -> Result<Vec<Mixed>, Failure> {
    let alone = [MixMember { transport: plan.transport, weight: 1.0, port: None }];
    let members = if plan.mix.is_some() { &plan.mix.members[..] } else { &alone };
    let mut of_worker: Vec<Vec<Member>> = (0..plan.workers).map(|_| Vec::new()).collect();
    for member in members {
        let opened = open_member(&plan_of(plan, members, member), member)?;
        of_worker.iter_mut().zip(opened).for_each(|(members, opened)| members.push(opened));
    }
    let mixed = |(worker, members)| Mixed::new(members, plan.seed, worker);
    of_worker.into_iter().enumerate().map(mixed).collect::<Result<_, _>>().map_err(Failure::run_failed)
}

/// Opens each worker's part of a member, whose own plan this is.
fn open_member(plan: &Plan, member: &MixMember) -> Result<Vec<Member>, Failure> {
    let sockets = || Ok(open_sockets(&Plan { clients: plan.workers, ..plan.clone() })?.into_iter());
    let weight = member.weight;
    let alone = |first| Member { weight, first, second: None };
    Ok(match member.transport {
        TransportKind::Udp | TransportKind::Mix => sockets()?.map(Part::Udp).map(alone).collect(),
        TransportKind::Tcp => open_clients(plan, ())?.into_iter().map(Part::Tcp).map(alone).collect(),
        TransportKind::Dot => {
            open_clients(plan, tls_of(plan)?)?.into_iter().map(Part::Dot).map(alone).collect()
        }
        TransportKind::Doh => {
            open_clients(plan, doh_of(plan)?)?.into_iter().map(Box::new).map(Part::Doh).map(alone).collect()
        }
        TransportKind::Doq => {
            let boxed = open_quic_clients(plan)?.into_iter().map(Box::new);
            boxed.map(Part::Doq).map(alone).collect()
        }
        TransportKind::UdpTcp => {
            let halves = sockets()?.zip(open_clients(plan, ())?);
            let both =
                |(first, second)| Member { weight, first: Part::Udp(first), second: Some(Part::Tcp(second)) };
            halves.map(both).collect()
        }
    })
}

/// The plan of a member as if it were alone. The clients of the run are dealt out by weight, and each
/// worker has one at least.
fn plan_of(plan: &Plan, members: &[MixMember], member: &MixMember) -> Plan {
    let weights = members.iter().filter(|other| other.transport.connects()).map(|other| other.weight);
    let share = member.weight / weights.sum::<f64>();
    let mut own = plan.clone();
    own.transport = member.transport;
    own.clients = ((plan.clients as f64 * share).round() as usize).max(plan.workers);
    own.target.address.set_port(member.port(plan.target.address.port()));
    if member.transport == TransportKind::UdpTcp {
        own.connections.queries_each = plan.connections.queries_each_again;
    }
    own
}

/// TLS as the plan has it.
fn tls_of(plan: &Plan) -> Result<Tls, Failure> {
    let encryption = &plan.encryption;
    let config = TlsConfig {
        server: plan.target.address,
        asked: plan.target.asked.clone(),
        server_name: encryption.server_name.clone(),
        trust: match &encryption.trust {
            Trust::System => TlsTrust::System,
            Trust::File(path) => TlsTrust::File(path.clone()),
            Trust::Anything => TlsTrust::Anything,
        },
        tls12: encryption.versions != TlsVersions::Only13,
        tls13: encryption.versions != TlsVersions::Only12,
        resumption: encryption.resumption,
        early_data: encryption.early_data,
    };
    Tls::new(&config).map_err(Failure::bad_input)
}

/// HTTP as the plan has it.
fn doh_of(plan: &Plan) -> Result<DohSetup, Failure> {
    let tls = tls_of(plan)?;
    // What a browser would say: the name, and the port where it is not the usual one.
    let name = match tls.server_name().to_str().into_owned() {
        address if address.contains(':') => format!("[{address}]"),
        name => name,
    };
    let port = plan.target.address.port();
    let authority = if port == TransportKind::Doh.default_port() { name } else { format!("{name}:{port}") };
    let is_get = plan.encryption.http_method == HttpMethod::Get;
    Ok(DohSetup { tls, authority, path: plan.encryption.http_path.clone(), is_get })
}

/// The addresses that the plan allows to send from: none where the system chooses.
fn local_addresses(plan: &Plan) -> impl Iterator<Item = IpAddr> {
    let first = plan.local_address.map(|address| match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    });
    let is_v4 = plan.local_address.is_some_and(|address| address.is_ipv4());
    let host_bits = plan.local_prefix.map_or(0, |length| if is_v4 { 32 - length } else { 128 - length });
    let hosts = 1u128.checked_shl(u32::from(host_bits)).unwrap_or(0).wrapping_sub(1);
    let last = first.map(|first| (first | hosts).min(first.saturating_add(MOST_ADDRESSES - 1)));
    first.into_iter().zip(last).flat_map(|(first, last)| first..=last).map(move |bits| match is_v4 {
        true => IpAddr::V4((bits as u32).into()),
        false => IpAddr::V6(bits.into()),
    })
}

/// Sockets, or clients, of one worker.
fn clients_of(plan: &Plan, worker: usize) -> usize {
    plan.clients / plan.workers + usize::from(worker < plan.clients % plan.workers)
}

/// Addresses of a prefix that are looked at: each has tens of thousands of ports.
const MOST_ADDRESSES: u128 = 1 << 12;

/// Descriptors that a run has beside its sockets: standard streams, the record, epoll, and the
/// scheduler's account of each worker.
const FILES_BESIDE_SOCKETS: u64 = 64;

/// Those of AF_XDP's queues and of the bells between their workers, on the largest cards.
const FILES_OF_QUEUES: u64 = 1_024;
