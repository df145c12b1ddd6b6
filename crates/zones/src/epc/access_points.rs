//! Access points: the chain of an access point's name to the gateways of the packet network.
//!
//! ```text
//!   internet.apn… ─NAPTR ""─► a.v1.internet.apn… ─NAPTR "s"─► _pgw.001.node… ─SRV─► topon.s5.pgw001… ─► A, AAAA
//!                 ─NAPTR ""─► b.v2.internet.apn… ─NAPTR "s"─► _pgw.005.node… ─SRV─► …
//!                 ─NAPTR "a"────────────────────────────────────────────────────► topon.sx.upf001… ─► A, AAAA
//! ```
//!
//! A client asks for all branches, because closeness counts more than the order of the records (TS 29.303 annex B.2).

use crate::epc::fleet::{FIRST_CHOICE, Fleet, Node, SITE, naptr, with_suffix};
use crate::record::{Data, Name, Srv};
use crate::zone::Zone;

/// An access point.
#[derive(Debug)]
pub(super) struct AccessPoint {
    pub(super) name: Name,
    /// The branches of users without special demands.
    pub(super) plain_branches: Vec<Name>,
}

/// Adds the SRV records of all gateways and the chains of all access points.
pub(super) fn add_access_points(
    zone: &mut Zone,
    fleet: &Fleet,
    names: &[String],
    after: bool,
) -> Vec<AccessPoint> {
    let gateways = fleet.pgws_of(after);
    for (index, gateway) in gateways.iter().enumerate() {
        let owner = service_name(fleet, index);
        zone.add(&owner, target(100, gateway));
        // The next gateway of the site with the same abilities stands in.
        let site = gateways.iter().skip(index + 1).take_while(|other| other.site == gateway.site);
        if let Some(standby) = site.into_iter().find(|other| other.suffix == gateway.suffix) {
            zone.add(&owner, target(200, standby));
        }
    }
    names.iter().enumerate().map(|(place, name)| add_chain(zone, fleet, gateways, place, name)).collect()
}

fn add_chain(zone: &mut Zone, fleet: &Fleet, gateways: &[Node], place: usize, name: &str) -> AccessPoint {
    let name: Name = format!("{name}.apn.{}", fleet.origin).into();
    // All gateways serve the first access point; of the others each is served by a fifth, from the begin of a site on,
    // where a gateway without special abilities is.
    let serves = |list: std::ops::Range<usize>, index: usize| {
        let (length, at) = (list.len(), index - list.start);
        let sites = length.div_ceil(SITE);
        let first = place % sites * SITE;
        place == 0 || (at + length - first) % length < length.div_ceil(5)
    };
    let before = 0..fleet.pgws_before;
    let added = fleet.pgws_before..gateways.len();
    let serving: Vec<(usize, &Node)> = gateways
        .iter()
        .enumerate()
        .filter(|(index, _)| {
            let list = if before.contains(index) { before.clone() } else { added.clone() };
            serves(list, *index)
        })
        .collect();

    let mut access_point = AccessPoint { name: Name::clone(&name), plain_branches: Vec::new() };
    for (branch, suffix, parity, preference) in BRANCHES {
        let leads_to: Vec<&(usize, &Node)> = serving
            .iter()
            .filter(|(_, node)| node.suffix == *suffix)
            .filter(|(_, node)| parity.is_none_or(|parity| node.site % 2 == parity))
            .collect();
        if leads_to.is_empty() {
            continue;
        }
        let owner: Name = format!("{branch}.{name}").into();
        let service = with_suffix("x-3gpp-pgw:x-s5-gtp:x-s8-gtp", suffix);
        zone.records.push(naptr(&name, (100, *preference), "", &service, &owner));
        for (index, _) in &leads_to {
            let target = service_name(fleet, *index);
            zone.records.push(naptr(&owner, (100, 65_510), "s", &service, &target));
        }
        if suffix.is_empty() {
            access_point.plain_branches.push(owner);
        }
    }
    for upf in fleet.upfs.iter().cycle().skip(place).take(UPFS_AN_ACCESS_POINT.min(fleet.upfs.len())) {
        let service = with_suffix("x-3gpp-upf:x-sxb", upf.suffix);
        zone.records.push(naptr(&name, FIRST_CHOICE, "a", &service, &upf.host("sx")));
    }
    access_point
}

/// The name of the SRV records of a gateway.
pub(super) fn service_name(fleet: &Fleet, index: usize) -> Name {
    format!("_pgw.{index:03}.node.{}", fleet.origin).into()
}

fn target(priority: u16, gateway: &Node) -> Data {
    Data::Srv(Srv { priority, weight: 100, port: GTP_CONTROL, target: gateway.host("s5") })
}

/// The branches: label, what its gateways announce, the parity of their sites if it counts, preference.
const BRANCHES: &[(&str, &str, Option<usize>, u16)] = &[
    ("a.v1", "", Some(0), 63_700),
    ("b.v2", "", Some(1), 65_510),
    ("5g.v1", "+nc-nr", None, 65_400),
    ("5gs.v1", "+nc-nr.5gs", None, 65_400),
    ("ue.v1", "+ue-1", None, 65_513),
    ("v6.v1", "+nc-v6", None, 65_513),
    ("5gv6.v1", "+nc-nr.v6", None, 65_513),
];

const UPFS_AN_ACCESS_POINT: usize = 2;

/// The port of the control plane of GTP.
const GTP_CONTROL: u16 = 2123;
