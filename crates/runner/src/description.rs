//! Translates a plan into the description from which its transports are opened.

use dnsdyno_plan::{
    Backend, HttpMethod, MixMember, Plan, Queries, TlsVersions, TransportKind, Trust, XdpCopy, XdpMode,
    XdpPlan,
};
use dnsdyno_sys::xdp::{Attach, CopyMode};
use dnsdyno_transport::sim::SimConfig;
use dnsdyno_transport::tls::{TlsConfig, TlsTrust};
use dnsdyno_transport::{
    Description, Kind, MemberDescription, PartDescription, PartKind, Pause, XdpDescription,
};

/// The kind of transport that the plan specifies, and its description.
pub(crate) fn describe(plan: &Plan, queries: &Queries) -> (Kind, Description) {
    let mut description = common(plan, queries);
    if let Backend::Xdp(_) = plan.backend {
        return (Kind::Xdp, description);
    }
    if let Some(kind) = part_kind(plan.transport) {
        return (Kind::Part(kind), description);
    }
    let alone = [MixMember { transport: plan.transport, weight: 1.0, port: None }];
    let members = if plan.mix.is_some() { &plan.mix.members[..] } else { &alone };
    description.members = members.iter().map(|one| member(plan, members, one, &description)).collect();
    (Kind::Mixed, description)
}

/// The kind of a transport that has one part.
fn part_kind(transport: TransportKind) -> Option<PartKind> {
    match transport {
        TransportKind::Udp => Some(PartKind::Udp),
        TransportKind::Tcp => Some(PartKind::Tcp),
        TransportKind::Dot => Some(PartKind::Dot),
        TransportKind::Doh => Some(PartKind::Doh),
        TransportKind::Doq => Some(PartKind::Doq),
        TransportKind::UdpTcp | TransportKind::Mix => None,
    }
}

/// A member of a mix. The clients of the run are divided by weight, with at least one per worker; a worker has one UDP
/// socket.
fn member(plan: &Plan, members: &[MixMember], member: &MixMember, of_all: &Description) -> MemberDescription {
    let weights = members.iter().filter(|other| other.transport.connects()).map(|other| other.weight);
    let share = member.weight / weights.sum::<f64>();
    let clients = ((plan.clients as f64 * share).round() as usize).max(plan.workers);
    let part = |kind, clients, queries_each| {
        let mut description = Description { clients, queries_each, members: Vec::new(), ..of_all.clone() };
        description.server.set_port(member.port(plan.target.address.port()));
        description.tls.server = description.server;
        PartDescription { kind, description }
    };
    let (each, each_fallback) = (plan.connections.queries_each, plan.connections.queries_each_again);
    let sockets = || part(PartKind::Udp, plan.workers, each);
    let (first, fallback) = match part_kind(member.transport) {
        Some(PartKind::Udp) => (sockets(), None),
        Some(kind) => (part(kind, clients, each), None),
        None => (sockets(), Some(part(PartKind::Tcp, clients, each_fallback))),
    };
    MemberDescription { weight: member.weight, first, fallback }
}

/// The description that is common to all transports.
fn common(plan: &Plan, queries: &Queries) -> Description {
    let encryption = &plan.encryption;
    Description {
        server: plan.target.address,
        workers: plan.workers,
        clients: plan.clients,
        local_address: plan.local_address,
        local_prefix: plan.local_prefix,
        local_ports: plan.local_ports.map(|ports| (ports.first, ports.last)),
        receive_buffer: plan.receive_buffer_bytes as usize,
        send_only: plan.send_only,
        timeout_ns: plan.timeout_ns,
        queries_each: plan.connections.queries_each,
        idle_timeout_ns: plan.connections.idle_timeout_ns,
        fast_open: plan.connections.fast_open,
        handshake_timeout_ns: encryption.handshake_timeout_ns,
        tls: TlsConfig {
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
        },
        http_path: encryption.http_path.clone(),
        http_get: encryption.http_method == HttpMethod::Get,
        members: Vec::new(),
        xdp: plan.backend.xdp().map_or_else(XdpDescription::default, |xdp_plan| xdp(xdp_plan, queries)),
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
        longest_message: (0..queries.len()).map(|i| queries.message(i).len()).max().unwrap_or(0),
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
        let loaded = plan.source.load(plan.form, plan.bad_lines).unwrap();
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
