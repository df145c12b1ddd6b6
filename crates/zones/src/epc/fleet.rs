//! The nodes of a mobile core, and the names that lead to them.
//!
//! ```text
//!   topon . s5 . sgw007.site002.region01.node.epc.mnc010.mcc440.3gppnetwork.org.
//!   │       │    └ the canonical name of the node: what two nodes have in common from the right is how close they are
//!   │       └ the interface, a label that is no part of the node's name
//!   └ whether closeness counts (topoff: it does not)
//! ```
//!
//! Four gateways are a site and four sites a region; serving gateways and those to the packet network share sites.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::epc::options::EpcOptions;
use crate::record::{Data, Name, Naptr, Record};
use crate::zone::Zone;

/// All nodes. Those that the change adds are at the end of a list.
#[derive(Debug)]
pub(super) struct Fleet {
    /// The name of the zone.
    pub(super) origin: String,
    pub(super) sgws: Vec<Node>,
    pub(super) pgws: Vec<Node>,
    pub(super) mmes: Vec<Node>,
    pub(super) upfs: Vec<Node>,
    /// How many of each of the first two there are before the change.
    pub(super) sgws_before: usize,
    pub(super) pgws_before: usize,
}

/// A node.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) canonical: Name,
    pub(super) site: usize,
    /// What follows each protocol in its service fields: nothing, network capabilities (`+nc-`), or types of usage
    /// (`+ue-`).
    pub(super) suffix: &'static str,
    topology: &'static str,
}

/// How many digits the numbers in the names have: names are as long as is asked for by zeros in front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Digits {
    pub(super) region: usize,
    pub(super) site: usize,
}

impl Fleet {
    /// The nodes of these options; where the options have a change, with what it adds.
    pub(super) fn new(options: &EpcOptions, digits: Digits) -> Self {
        let origin = options.zone_of("epc");
        let added = |count: u32| if options.addresses.has_change() { count.div_ceil(2) } else { 0 };
        let node = |kind: &str, index: usize, width: usize, suffix, topology| {
            let (site, region) = (index / SITE, index / SITE / REGION);
            let name = format!(
                "{kind}{:0width$}.site{:0sites$}.region{:0regions$}.node.{origin}",
                index + 1,
                site + 1,
                region + 1,
                sites = digits.site,
                regions = digits.region,
            );
            Node { canonical: name.into(), site, suffix, topology }
        };
        let gateways = |kind: &str, count: u32| -> Vec<Node> {
            let before = count as usize;
            let all = before + added(count) as usize;
            let width = all.to_string().len().max(LEAST_DIGITS);
            let gateway = |index: usize| {
                let suffix = if index < before { suffix(index) } else { suffix_of_ipv6(index) };
                node(kind, index, width, suffix, if index % 8 == 5 { "topoff" } else { "topon" })
            };
            (0..all).map(gateway).collect()
        };
        let others = |kind: &str, count: u32, suffix| -> Vec<Node> {
            let width = count.to_string().len().max(LEAST_DIGITS);
            (0..count as usize).map(|index| node(kind, index, width, suffix, "topon")).collect()
        };
        Fleet {
            sgws: gateways("sgw", options.sgws),
            pgws: gateways("pgw", options.pgws),
            mmes: others("mme", options.mmes, ""),
            upfs: others("upf", options.pgws.div_ceil(PGWS_A_UPF), "+nc-nr"),
            sgws_before: options.sgws as usize,
            pgws_before: options.pgws as usize,
            origin,
        }
    }

    /// The serving gateways of the zone before the change, or of that after it.
    pub(super) fn sgws_of(&self, after: bool) -> &[Node] {
        if after { &self.sgws } else { self.sgws.get(..self.sgws_before).unwrap_or(&self.sgws) }
    }

    /// The same of the gateways to the packet network.
    pub(super) fn pgws_of(&self, after: bool) -> &[Node] {
        if after { &self.pgws } else { self.pgws.get(..self.pgws_before).unwrap_or(&self.pgws) }
    }

    /// How many sites have serving gateways before the change.
    pub(super) fn sites(&self) -> usize {
        self.sgws_before.div_ceil(SITE)
    }
}

impl Node {
    /// The name of one of its interfaces.
    pub(super) fn host(&self, interface: &str) -> Name {
        format!("{}.{interface}.{}", self.topology, self.canonical).into()
    }

    pub(super) fn region(&self) -> usize {
        self.site / REGION
    }
}

/// The addresses of hosts in the order in which they are given out.
pub(super) struct Addressing {
    next: u32,
    /// Whether hosts that are there from the beginning have IPv6 addresses.
    dual_stack: bool,
}

impl Addressing {
    pub(super) fn new(first: u32, dual_stack: bool) -> Self {
        Addressing { next: first, dual_stack }
    }

    /// Adds a host with its addresses.
    pub(super) fn add(&mut self, zone: &mut Zone, host: &Name, has_ipv6: bool) {
        zone.add(host, Data::A(Ipv4Addr::from(FIRST_V4 + self.next)));
        if has_ipv6 || self.dual_stack {
            zone.add(host, Data::Aaaa(Ipv6Addr::from(FIRST_V6 + u128::from(self.next))));
        }
        self.next += 1;
    }
}

/// A NAPTR record by the rules of S-NAPTR (RFC 3958): no regular expression.
pub(super) fn naptr(
    owner: &Name,
    (order, preference): (u16, u16),
    flags: &'static str,
    service: &str,
    replacement: &Name,
) -> Record {
    let data = Naptr {
        order,
        preference,
        flags,
        service: service.into(),
        regexp: "".into(),
        replacement: Name::clone(replacement),
    };
    Record::new(owner, Data::Naptr(data))
}

/// Adds the hosts of nodes, and at the name of each node a record for each of its interfaces.
pub(super) fn add_nodes(
    zone: &mut Zone,
    addresses: &mut Addressing,
    nodes: &[Node],
    interfaces: &[(&str, &str)],
    has_ipv6: bool,
) {
    for node in nodes {
        for (service, interface) in interfaces {
            let host = node.host(interface);
            let service = with_suffix(service, node.suffix);
            zone.records.push(naptr(&node.canonical, FIRST_CHOICE, "a", &service, &host));
            addresses.add(zone, &host, has_ipv6);
        }
    }
}

/// A service field whose protocols all have a suffix: it belongs to the protocol that it follows (TS 29.303 annex B).
pub(super) fn with_suffix(service: &str, suffix: &str) -> String {
    let mut parts = service.split(':');
    let node = parts.next().unwrap_or_default();
    parts.fold(node.to_owned(), |field, protocol| format!("{field}:{protocol}{suffix}"))
}

/// What a gateway announces, by its place: at every second site one of four dual connectivity to 5G; at the others one
/// the same with the 5G core, and one a type of usage.
fn suffix(index: usize) -> &'static str {
    match (index % SITE, (index / SITE).is_multiple_of(2)) {
        (2, true) => "+nc-nr",
        (2, false) => "+nc-nr.5gs",
        (3, false) => "+ue-1",
        _ => "",
    }
}

/// What gateways for users with IPv6 alone announce: a capability of the carrier's own.
pub(super) const CAPABILITY_OF_IPV6: &str = "v6";

/// What those that are added announce: [`CAPABILITY_OF_IPV6`], and every second one dual connectivity to 5G too.
fn suffix_of_ipv6(index: usize) -> &'static str {
    if index.is_multiple_of(2) { "+nc-v6" } else { "+nc-nr.v6" }
}

/// Services with their interfaces, at the name of a node (TS 29.303 §7; those that the public facts name).
pub(super) const SGW: &[(&str, &str)] =
    &[("x-3gpp-sgw:x-s5-gtp", "s5"), ("x-3gpp-sgw:x-s8-gtp", "s8"), ("x-3gpp-sgw:x-s11", "s11")];
pub(super) const PGW: &[(&str, &str)] =
    &[("x-3gpp-pgw:x-s5-gtp", "s5"), ("x-3gpp-pgw:x-s8-gtp", "s8"), ("x-3gpp-pgw:x-gn:x-gp", "gn")];
pub(super) const MME: &[(&str, &str)] = &[
    ("x-3gpp-mme:x-s10", "s10"),
    ("x-3gpp-mme:x-s3", "s3"),
    ("x-3gpp-mme:x-s11", "s11"),
    ("x-3gpp-mme:x-gn", "gn"),
];
pub(super) const UPF: &[(&str, &str)] = &[("x-3gpp-upf:x-sxa:x-sxb", "sx")];

/// Order and preference of what is asked first.
pub(super) const FIRST_CHOICE: (u16, u16) = (100, 63_700);

/// Gateways of a kind at a site.
pub(super) const SITE: usize = 4;
/// Sites of a region.
pub(super) const REGION: usize = 4;
const PGWS_A_UPF: u32 = 8;

/// Of the number of a node.
const LEAST_DIGITS: usize = 3;

const FIRST_V4: u32 = u32::from_be_bytes([10, 0, 0, 0]);
const FIRST_V6: u128 = (0x2001_0db8 << 96) + (1 << 32);
