//! Translates a plan into the description from which its transports are opened.

use std::net::IpAddr;
use std::sync::Arc;

use dnsdyno_plan::{
    Backend, ConnectionPlan, EncryptionPlan, HttpMethod, MixMember, Plan, PortRange, Target, TlsVersions,
    TransportKind, Trust, XdpCopy, XdpMode, XdpPlan,
};
use dnsdyno_queries::{Queries, SourceOf, Sources};
use dnsdyno_sys::xdp::{Attach, CopyMode};
use dnsdyno_transport::sim::SimConfig;
use dnsdyno_transport::tls::{TlsConfig, TlsTrust};
use dnsdyno_transport::{
    Description, Kind, MemberDescription, PartDescription, PartKind, Pause, ProxySource, SourceEnds,
    SourceLimit, XdpDescription,
};

/// The kind of transport that the plan specifies, and its description.
pub(crate) fn describe(plan: &Plan, queries: &Queries) -> (Kind, Description) {
    let alone = Way {
        target: &plan.target,
        transport: plan.transport,
        weight: 1.0,
        clients: plan.clients,
        connections: &plan.connections,
        encryption: &plan.encryption,
    };
    let mut description = description(plan, &alone);
    match (part_kind(plan.transport), plan.mix.is_some()) {
        (Some(kind), false) => match &plan.backend {
            Backend::Xdp(xdp_plan) => {
                description.xdp = xdp(xdp_plan, queries);
                (Kind::Xdp, description)
            }
            Backend::Sockets => (Kind::Part(kind), description),
        },
        (None, false) => {
            description.members = vec![member(plan, &alone, plan.local_ports)];
            (Kind::Mixed, description)
        }
        (_, true) => {
            description.members = members(plan);
            (Kind::Mixed, description)
        }
    }
}

/// Gives the UDP sockets of a description their source addresses, after the number of its clients is known.
pub(crate) fn seat_sources(plan: &Plan, description: &mut Description) {
    let Some(sources) = &plan.sources else { return };
    let of = |description: &Description| source_ends(plan, sources, description.clients);
    description.sources = Some(of(description));
    for member in &mut description.members {
        member.first.description.sources = Some(of(&member.first.description));
    }
}

/// Where each of so many sockets of this process sends from. All sockets of an address have ports of their own.
fn source_ends(plan: &Plan, sources: &Sources, clients: usize) -> SourceEnds {
    let (part, workers) = (plan.part, plan.workers.max(1));
    let end = |own: usize| {
        let (turn, worker) = (own / workers, part.worker((own % workers) as u32));
        let SourceOf { address, place, lap } =
            sources.of_client(turn as u64 * u64::from(part.of) + u64::from(worker));
        let port = plan
            .local_ports
            .map_or(0, |ports| ports.first + (place.wrapping_add(lap) % ports.count() as u64) as u16);
        (address, port)
    };
    let ends: Arc<[(IpAddr, u16)]> = (0..clients).map(end).collect();
    let limits = sources.networks().flat_map(|network| {
        let used = || ends.iter().map(|(address, _)| *address).filter(|address| network.contains(*address));
        let whole = network.network();
        let limit = |address| SourceLimit { address, network: whole.first, length: whole.length };
        [used().min(), used().max()].into_iter().flatten().map(limit).collect::<Vec<_>>()
    });
    let limits = limits.collect();
    SourceEnds { ends, limits }
}

/// Where queries are sent, over what, and how: the whole run, or a member of a mix.
struct Way<'a> {
    target: &'a Target,
    transport: TransportKind,
    weight: f64,
    /// Sockets or clients over all workers of the whole load.
    clients: usize,
    connections: &'a ConnectionPlan,
    encryption: &'a EncryptionPlan,
}

/// The kind of a transport that has one part.
fn part_kind(transport: TransportKind) -> Option<PartKind> {
    match transport {
        TransportKind::Udp => Some(PartKind::Udp),
        TransportKind::Tcp => Some(PartKind::Tcp),
        TransportKind::Dot => Some(PartKind::Dot),
        TransportKind::Doh => Some(PartKind::Doh),
        TransportKind::Doq => Some(PartKind::Doq),
        TransportKind::Doh3 => Some(PartKind::Doh3),
        TransportKind::UdpTcp | TransportKind::Mix => None,
    }
}

/// The members of a mix. They divide the local ports among them.
fn members(plan: &Plan) -> Vec<MemberDescription> {
    let mut ports = plan.local_ports;
    let of = |one: &MixMember| {
        let way = Way {
            target: &one.target,
            transport: one.transport,
            weight: one.weight,
            clients: plan.clients_of(one),
            connections: &one.connections,
            encryption: &one.encryption,
        };
        let described = member(plan, &way, ports);
        if let Some(ports) = &mut ports {
            ports.first = ports.first.saturating_add(way.clients as u16);
        }
        described
    };
    plan.mix.members.iter().map(of).collect()
}

/// A member with one part, or with UDP and a fallback to TCP. Beside clients with connections, a worker has one UDP
/// socket.
fn member(plan: &Plan, way: &Way<'_>, local_ports: Option<PortRange>) -> MemberDescription {
    let part = |kind, clients, queries_each| {
        let local_ports = own_ports(plan, local_ports, way.clients);
        let description = Description { clients, queries_each, local_ports, ..description(plan, way) };
        PartDescription { kind, description }
    };
    let own_clients = plan.part.share(way.clients);
    let each = way.connections.queries_each;
    let (first, fallback) = match part_kind(way.transport) {
        Some(kind) => (part(kind, own_clients, each), None),
        None => {
            let again = way.connections.queries_each_again;
            (part(PartKind::Udp, plan.workers, each), Some(part(PartKind::Tcp, own_clients, again)))
        }
    };
    MemberDescription { weight: way.weight, first, fallback }
}

/// The ports of this process, where `clients` of the whole load have these: each process those of its own clients.
fn own_ports(plan: &Plan, ports: Option<PortRange>, clients: usize) -> Option<(u16, u16)> {
    let PortRange { first, last } = ports?;
    let ports = |clients: usize| u16::try_from(clients).unwrap_or(u16::MAX);
    let own = first.saturating_add(ports(plan.part.before(clients)));
    // One process has all, those that no client needs too.
    let end = own.saturating_add(ports(plan.part.share(clients).saturating_sub(1)));
    Some((own, if plan.part.is_whole() { last } else { end.min(last) }))
}

/// The description of one transport.
fn description(plan: &Plan, way: &Way<'_>) -> Description {
    let encryption = way.encryption;
    Description {
        server: way.target.address,
        workers: plan.workers,
        clients: plan.part.share(way.clients),
        local_address: plan.local_address,
        local_prefix: plan.local_prefix,
        sources: None,
        local_ports: own_ports(plan, plan.local_ports, way.clients),
        proxy: plan.proxy.map(|source| ProxySource {
            first: source.prefix.first,
            length: source.prefix.length,
            port: source.port,
        }),
        receive_buffer: plan.receive_buffer_bytes as usize,
        send_buffer: plan.send_buffer_bytes as usize,
        send_only: plan.send_only,
        any_source: plan.any_source,
        timeout_ns: plan.timeout_ns,
        queries_each: way.connections.queries_each,
        idle_timeout_ns: way.connections.idle_timeout_ns,
        fast_open: way.connections.fast_open,
        handshake_timeout_ns: encryption.handshake_timeout_ns,
        tls: TlsConfig {
            server: way.target.address,
            asked: way.target.asked.clone(),
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
            key_log: encryption.key_log.clone(),
        },
        http_path: encryption.http_path.clone(),
        http_get: encryption.http_method == HttpMethod::Get,
        members: Vec::new(),
        xdp: XdpDescription::default(),
        sim: SimConfig::default(),
        sim_pause: Pause::default(),
        seed: plan.seed,
    }
}

fn xdp(xdp_plan: &XdpPlan, queries: &Queries) -> XdpDescription {
    XdpDescription {
        interface: xdp_plan.interface.clone(),
        source_prefix: xdp_plan.source_prefix.map(|prefix| (prefix.first, prefix.length)),
        next_hop: xdp_plan.next_hop,
        vlan: xdp_plan.vlan,
        attach: match xdp_plan.mode {
            XdpMode::Auto => Attach::Auto,
            XdpMode::Native => Attach::Native,
            XdpMode::Generic => Attach::Generic,
        },
        copy: match xdp_plan.copy {
            XdpCopy::Auto => CopyMode::Auto,
            XdpCopy::ZeroCopy => CopyMode::ZeroCopy,
            XdpCopy::Copy => CopyMode::Copy,
        },
        fits_workers: xdp_plan.fits_workers,
        longest_message: (0..queries.len()).map(|i| queries.message(i).len()).max().unwrap_or(0)
            + queries.maker().map_or(0, |maker| maker.longest_addition()),
    }
}

#[cfg(test)]
mod tests {
    use dnsdyno_plan::Draft;

    use super::*;

    fn description_of(toml: &str) -> (Kind, Description) {
        let draft =
            Draft::from_toml(&format!("server = \"127.0.0.1\"\nask = [\"www.example A\"]\n{toml}")).unwrap();
        let plan = crate::host::validate(&draft).unwrap();
        let loaded = plan.source.load(&plan.reading()).unwrap();
        describe(&plan, &loaded.queries)
    }

    #[test]
    fn a_transport_with_one_part_is_that_part() {
        let (kind, description) =
            description_of("transport = \"doh\"\nworkers = 2\nclients = 5\ninsecure = true");
        assert_eq!(kind, Kind::Part(PartKind::Doh));
        assert_eq!((description.server.port(), description.clients, description.clients_of(0)), (443, 5, 3));
        assert!(matches!(description.tls.trust, TlsTrust::Anything) && description.members.is_empty());
    }

    #[test]
    fn clients_of_a_mix_are_divided_by_weight_and_udp_has_a_socket_per_worker() {
        let (kind, description) =
            description_of("mix = \"udp=10,tcp=30,udp+tcp=10,dot@8853=10\"\nworkers = 2\nclients = 50");
        assert_eq!(kind, Kind::Mixed);
        let first = description.members.iter().map(|member| &member.first);
        let first: Vec<_> =
            first.map(|part| (part.kind, part.description.clients, part.description.server.port())).collect();
        assert_eq!(
            first,
            [
                (PartKind::Udp, 2, 53),
                (PartKind::Tcp, 30, 53),
                (PartKind::Udp, 2, 53),
                (PartKind::Dot, 10, 8853)
            ]
        );
        let fallback: Vec<_> =
            description.members.iter().filter_map(|member| member.fallback.as_ref()).collect();
        let [fallback] = fallback[..] else { panic!("{fallback:?}") };
        let each = fallback.description.queries_each;
        assert_eq!((fallback.kind, fallback.description.clients, each), (PartKind::Tcp, 10, Some(1)));
    }

    #[test]
    fn several_servers_are_members_with_ports_and_settings_of_their_own() {
        let more = "workers = 1\nclients = 5\nlocal-ports = \"20000..20004\"";
        let toml = format!("server = \"127.0.0.1=4,127.0.0.2:5300=1\"\nask = [\"a.test\"]\n{more}");
        let plan = crate::host::validate(&Draft::from_toml(&toml).unwrap()).unwrap();
        let loaded = plan.source.load(&plan.reading()).unwrap();
        let (kind, description) = describe(&plan, &loaded.queries);
        let of = |member: &MemberDescription| {
            let part = &member.first.description;
            (part.server.to_string(), part.tls.asked.clone(), part.clients, part.local_ports)
        };
        let members: Vec<_> = description.members.iter().map(of).collect();
        assert_eq!(kind, Kind::Mixed);
        assert_eq!(members[0], ("127.0.0.1:53".into(), "127.0.0.1".into(), 4, Some((20_000, 20_004))));
        assert_eq!(members[1], ("127.0.0.2:5300".into(), "127.0.0.2".into(), 1, Some((20_004, 20_004))));
    }

    #[test]
    fn a_fallback_is_a_mix_of_one_member() {
        let (kind, description) = description_of("transport = \"udp+tcp\"\nworkers = 1\nclients = 7");
        assert_eq!((kind, description.members.len()), (Kind::Mixed, 1));
        assert_eq!(description.members[0].fallback.as_ref().map(|part| part.description.clients), Some(7));
    }

    #[test]
    fn the_description_of_af_xdp_has_the_longest_query() {
        let (kind, description) = description_of("backend = \"xdp\"\ninterface = \"eth7\"");
        assert_eq!((kind, description.xdp.interface.as_deref()), (Kind::Xdp, Some("eth7")));
        // A header of 12 bytes, the name, type and class.
        assert_eq!(description.xdp.longest_message, 12 + 13 + 4);
    }
}
