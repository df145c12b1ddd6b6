//! Name servers: which ones a zone has, their addresses, their distance and their faults.
//!
//! A server is a number, which is its address within the prefix:
//!
//! ```text
//!  0        13             13 + 4·top-level domains      + 8·hosters            + own servers
//!  | root   | registries, 4 each | hosters, room for 8 each | addresses that zones have of their own |
//! ```
//!
//! So the address that was asked says which server it is, and whether a zone is there is looked up from the zone.

use std::net::IpAddr;
use std::time::Duration;

use crate::WorldError;
use crate::draw::{Draw, Purpose};
use crate::name::{Name, below};
use crate::shares::{Fault, Share};
use crate::tree::{Hierarchy, Kind, Zone};

/// The number of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ServerId(pub(crate) u32);

/// A server of a zone, by the name of its NS record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NameServer {
    pub(crate) host: Name,
    pub(crate) id: ServerId,
}

/// What a server is like.
#[derive(Clone, Debug)]
pub(crate) struct Server<'a> {
    /// Its region, and the time that a query and its answer take on the way; `None` where nothing is far.
    pub(crate) region: Option<&'a str>,
    pub(crate) rtt: Duration,
    pub(crate) fault: Option<Fault>,
    /// The longest UDP response that it sends.
    pub(crate) edns_size: u16,
}

impl Hierarchy {
    /// Whether the prefixes have an address for each server.
    pub(crate) fn check_prefixes(&self) -> Result<(), WorldError> {
        let (options, last) = (&self.rules.options, self.server_count() - 1);
        let prefixes = [Some(options.prefix), options.prefix6];
        match prefixes.into_iter().flatten().find(|prefix| prefix.address(last).is_none()) {
            Some(prefix) => Err(WorldError::Option(format!(
                "{prefix} has too few addresses for {} name servers: take a shorter prefix, or fewer --hosters, \
                 --own-servers or --tlds",
                last + 1
            ))),
            None => Ok(()),
        }
    }

    pub(crate) fn server_count(&self) -> u32 {
        self.first_own() + self.rules.options.own_servers
    }

    /// The servers of a zone. None of them is named below a zone that needs it itself to be found, unless there is
    /// glue.
    pub(crate) fn servers_of(&self, zone: &Zone) -> Vec<NameServer> {
        match zone.kind {
            Kind::Root => (0..ROOTS).map(|at| self.root_server(at)).collect(),
            Kind::Tld(tld) | Kind::Suffix(tld) => {
                let registry = self.registry_of(tld);
                (0..REGISTRY_SERVERS).map(|at| self.registry_server(registry, at)).collect()
            }
            Kind::Hoster(hoster) => {
                (0..self.hoster_size(hoster)).map(|at| self.hoster_server(hoster, at)).collect()
            }
            Kind::Leaf if self.has_own_servers(zone) => self.own(zone),
            Kind::Leaf | Kind::Child(_) => self.hosted(zone),
        }
    }

    /// Whether a server has a zone.
    pub(crate) fn has(&self, server: ServerId, zone: &Zone) -> bool {
        let number = server.0;
        match zone.kind {
            Kind::Root => number < ROOTS,
            Kind::Tld(tld) | Kind::Suffix(tld) => {
                (number.checked_sub(ROOTS)).is_some_and(|at| at / REGISTRY_SERVERS == self.registry_of(tld))
            }
            _ if number < self.first_hoster() => false,
            _ => self.servers_of(zone).iter().any(|found| found.id == server),
        }
    }

    /// The host in a zone with the address of a server, if this name is one.
    pub(crate) fn server_named(&self, zone: &Zone, relative: &[&[u8]]) -> Option<ServerId> {
        let number = |label: &[u8], prefix: &[u8]| -> Option<u32> {
            let digits = std::str::from_utf8(label.strip_prefix(prefix)?).ok()?;
            digits.parse().ok().filter(|number: &u32| number.to_string() == digits)
        };
        let found = match (zone.kind, relative) {
            (Kind::Root, [b"dns-root", [letter]]) => self.root_server(u32::from(letter.checked_sub(b'a')?)),
            (Kind::Tld(tld), [b"dns-nic", [letter]]) => {
                self.registry_server(tld, u32::from(letter.checked_sub(b'a')?).min(REGISTRY_SERVERS))
            }
            (Kind::Hoster(hoster), [label]) => {
                let at = number(label, b"ns")?.checked_sub(1)?;
                (at < self.hoster_size(hoster)).then(|| self.hoster_server(hoster, at))?
            }
            (Kind::Leaf, [label]) if label.starts_with(b"ns") => {
                let all = self.servers_of(zone);
                all.into_iter().find(|server| server.host == below(label, &zone.apex))?
            }
            _ => return None,
        };
        // A letter too far would be a server of others.
        let is_there = match zone.kind {
            Kind::Root => found.id.0 < ROOTS,
            Kind::Tld(tld) => found.id.0 < ROOTS + (tld + 1) * REGISTRY_SERVERS,
            _ => true,
        };
        is_there.then_some(found.id)
    }

    /// The labels of the hosts in a zone that are name servers, as [`server_named`](Self::server_named) takes them.
    pub(crate) fn server_labels(&self, zone: &Zone) -> Vec<Vec<String>> {
        let letters = |count: u32, below: &str| {
            (0..count).map(|at| vec![below.to_owned(), letter(at).to_string()]).collect::<Vec<_>>()
        };
        let numbers = |count: u32| (1..=count).map(|at| vec![format!("ns{at}")]).collect::<Vec<_>>();
        match zone.kind {
            Kind::Root => letters(ROOTS, "dns-root"),
            Kind::Tld(_) => letters(REGISTRY_SERVERS, "dns-nic"),
            Kind::Hoster(hoster) => numbers(self.hoster_size(hoster)),
            Kind::Leaf => {
                numbers(self.servers_of(zone).iter().filter(|s| s.host.ends_with(&zone.apex)).count() as u32)
            }
            Kind::Suffix(_) | Kind::Child(_) => Vec::new(),
        }
    }

    /// The addresses of a server; the second where it has one of IPv6.
    pub(crate) fn addresses(&self, server: ServerId) -> (Option<IpAddr>, Option<IpAddr>) {
        let options = &self.rules.options;
        let is_core = server.0 < self.first_hoster();
        let has_v6 = is_core || self.draw(server).at(Purpose::ServerAaaa).is(self.rules.share(Share::Aaaas));
        let v6 = options.prefix6.filter(|_| has_v6).and_then(|prefix| prefix.address(server.0));
        (options.prefix.address(server.0), v6)
    }

    /// The server with an address.
    pub(crate) fn server_at(&self, address: IpAddr) -> Option<ServerId> {
        let options = &self.rules.options;
        // An IPv6 socket shows addresses of IPv4 in their mapped form.
        let address = address.to_canonical();
        let of = |prefix: crate::prefix::Prefix| prefix.number(address);
        let number = of(options.prefix).or_else(|| options.prefix6.and_then(of))?;
        let server = ServerId(number);
        let (_, v6) = self.addresses(server);
        (number < self.server_count() && (address.is_ipv4() || v6.is_some())).then_some(server)
    }

    /// Distance and fault of a server.
    pub(crate) fn server(&self, server: ServerId) -> Server<'_> {
        let options = &self.rules.options;
        let (draw, is_core) = (self.draw(server), server.0 < self.first_hoster());
        let region = options.rtt.draw(draw, is_core);
        let fault = (!is_core).then(|| self.drawn_fault(draw.at(Purpose::ServerFault), &Fault::OF_SERVERS));
        let edns_size = draw.at(Purpose::EdnsSize).pick(&EDNS_SIZES).unwrap_or(1_232);
        Server {
            region: region.map(|(region, _)| &*region.name),
            rtt: region.map_or(Duration::ZERO, |(_, rtt)| rtt),
            fault: fault.flatten(),
            edns_size: if is_core { 1_232 } else { edns_size },
        }
    }

    /// How a server fails for a zone that is delegated to it.
    pub(crate) fn lame(&self, zone: &Zone, server: ServerId) -> Option<Fault> {
        let can_be = matches!(zone.kind, Kind::Leaf | Kind::Child(_));
        let draw = zone.draw.nth(server.0.into()).at(Purpose::Lame);
        can_be.then(|| self.drawn_fault(draw, &Fault::LAME)).flatten()
    }

    /// Whether a zone has more keys than fit into a usual UDP response.
    pub(crate) fn has_large_keys(&self, zone: &Zone) -> bool {
        let is_drawn = zone.draw.at(Purpose::LargeKeys).is(self.rules.options.fault.get(Fault::LargeDnskey));
        is_drawn && !zone.is_registry() && self.is_signed(zone)
    }

    /// Whether a UDP query to a server is lost: by its octets and where it comes from, so that the same query is lost
    /// again, and a retry with another ID is another one.
    pub(crate) fn is_lost(&self, server: ServerId, query: &[u8], peer_port: u16) -> bool {
        let share = self.rules.options.loss;
        share > 0.0 && self.draw(server).nth(peer_port.into()).of(query).at(Purpose::Loss).is(share)
    }

    /// What a server is called, where its name does not depend on a zone: of one that zones have of their own, its
    /// number.
    pub(crate) fn server_text(&self, server: ServerId) -> String {
        let number = server.0;
        let text = |server: NameServer| crate::name::text(&server.host);
        if number < ROOTS {
            return text(self.root_server(number));
        }
        if number < self.first_hoster() {
            let at = number - ROOTS;
            return text(self.registry_server(at / REGISTRY_SERVERS, at % REGISTRY_SERVERS));
        }
        match number.checked_sub(self.first_own()) {
            Some(own) => format!("own {own}"),
            None => {
                let at = number - self.first_hoster();
                text(self.hoster_server(at / HOSTER_ROOM, at % HOSTER_ROOM))
            }
        }
    }

    fn drawn_fault(&self, draw: Draw, kinds: &[Fault]) -> Option<Fault> {
        let mut left = draw.unit();
        kinds.iter().copied().find(|fault| {
            left -= self.rules.options.fault.get(*fault);
            left < 0.0
        })
    }

    fn draw(&self, server: ServerId) -> Draw {
        self.rules.draw.of(b"name server").nth(server.0.into())
    }

    fn root_server(&self, at: u32) -> NameServer {
        let host = below(letter(at).to_string(), &below("dns-root", &Name::root_bytes()));
        NameServer { host, id: ServerId(at) }
    }

    fn registry_server(&self, registry: u32, at: u32) -> NameServer {
        let host = below(letter(at).to_string(), &below("dns-nic", &self.population.tld(registry)));
        NameServer { host, id: ServerId(ROOTS + registry * REGISTRY_SERVERS + at) }
    }

    fn hoster_server(&self, hoster: u32, at: u32) -> NameServer {
        let host = below(format!("ns{}", at + 1), &self.hoster_zone(hoster).apex);
        NameServer { host, id: ServerId(self.first_hoster() + hoster * HOSTER_ROOM + at) }
    }

    /// Whether the name servers of a leaf are in it. Of a capture they are not: it may show other records there.
    fn has_own_servers(&self, leaf: &Zone) -> bool {
        self.population.captured().is_none()
            && leaf.draw.at(Purpose::OwnServers).is(self.rules.share(Share::Own))
    }

    /// Servers in the zone itself.
    fn own(&self, zone: &Zone) -> Vec<NameServer> {
        let all = u64::from(self.rules.options.own_servers);
        let count = 2 + zone.draw.at(Purpose::ServerCount).below(2);
        let first = zone.draw.at(Purpose::FirstServer).below(all);
        // Up to three steps of less than a third of all: no server twice.
        let step = 1 + zone.draw.at(Purpose::ServerStep).below((all / 3).max(1));
        let server = |at: u64| NameServer {
            host: below(format!("ns{}", at + 1), &zone.apex),
            id: ServerId(self.first_own() + ((first + at * step) % all) as u32),
        };
        (0..count).map(server).collect()
    }

    /// Servers of a hoster, in a row of all that it has.
    fn hosted(&self, zone: &Zone) -> Vec<NameServer> {
        let hoster = self.drawn_hoster(zone.draw.at(Purpose::Hoster));
        let size = self.hoster_size(hoster);
        let count =
            2 + zone.draw.at(Purpose::ServerCount).below(u64::from(size.min(MOST_SERVERS)) - 1) as u32;
        let first = zone.draw.at(Purpose::FirstServer).below(size.into()) as u32;
        (0..count).map(|at| self.hoster_server(hoster, (first + at) % size)).collect()
    }

    fn hoster_size(&self, hoster: u32) -> u32 {
        let draw = self.rules.draw.nth(hoster.into()).at(Purpose::HosterSize);
        2 + draw.below(u64::from(HOSTER_ROOM) - 1) as u32
    }

    /// The registry that a top-level domain is with: half have one of their own, the others one of a larger one.
    fn registry_of(&self, tld: u32) -> u32 {
        let draw = self.rules.draw.nth(tld.into()).at(Purpose::Registry);
        if draw.is(0.5) { tld } else { draw.at(Purpose::Registry).below(u64::from(tld) + 1) as u32 }
    }

    fn first_hoster(&self) -> u32 {
        ROOTS + self.population.tld_count() * REGISTRY_SERVERS
    }

    fn first_own(&self) -> u32 {
        self.first_hoster() + self.rules.options.hosters * HOSTER_ROOM
    }
}

fn letter(at: u32) -> char {
    char::from(b'a' + (at % 26) as u8)
}

const ROOTS: u32 = 13;
const REGISTRY_SERVERS: u32 = 4;

/// Name servers that a hoster has at most.
const HOSTER_ROOM: u32 = 8;

/// Name servers that a zone has at most.
const MOST_SERVERS: u32 = 4;

/// The longest UDP responses of servers, with their shares: what DNS flag day 2020 asks for, what was usual before, and
/// what firewalls leave.
const EDNS_SIZES: [(f64, u16); 3] = [(0.75, 1_232), (0.2, 4_096), (0.05, 512)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::{labels, text};
    use crate::tree::tests::hierarchy;

    fn leaves(world: &Hierarchy, count: u64) -> impl Iterator<Item = Zone> {
        (0..count).map(|number| world.path(&world.population.nth_zone(number)).pop().unwrap())
    }

    #[test]
    fn each_server_of_a_zone_has_it_and_its_name_leads_to_its_address() {
        let world = hierarchy("--zones 3k --share child=50%");
        world.check_prefixes().unwrap();
        let names = leaves(&world, 150).map(|zone| below("dept", &zone.apex));
        for zone in names.flat_map(|name| world.path(&name)) {
            let servers = world.servers_of(&zone);
            let distinct: std::collections::HashSet<_> = servers.iter().map(|server| server.id).collect();
            assert!(distinct.len() == servers.len() && servers.len() >= 2, "{}", text(&zone.apex));
            for server in &servers {
                assert!(world.has(server.id, &zone));
                let home = world.path(&server.host).pop().unwrap();
                let parts = labels(&server.host);
                let relative = &parts[labels(&home.apex).len()..];
                assert_eq!(world.server_named(&home, relative), Some(server.id), "{}", text(&server.host));
                let (v4, v6) = world.addresses(server.id);
                assert_eq!((world.server_at(v4.unwrap()), v6), (Some(server.id), None));
            }
            let others = (0..world.server_count()).filter(|n| world.has(ServerId(*n), &zone)).count();
            assert_eq!(others, servers.len(), "{}", text(&zone.apex));
        }
    }

    #[test]
    fn names_of_servers_are_those_that_lead_to_one() {
        let world = hierarchy("--zones 3k");
        let zones = leaves(&world, 50).flat_map(|zone| world.path(&zone.apex)).chain([world.hoster_zone(2)]);
        for zone in zones {
            for host in world.server_labels(&zone) {
                let relative: Vec<&[u8]> = host.iter().map(|label| label.as_bytes()).collect();
                assert!(world.server_named(&zone, &relative).is_some(), "{host:?} in {}", text(&zone.apex));
            }
        }
        let tld = world.path(&world.population.tld(1)).pop().unwrap();
        for relative in
            [&[b"dns-nic".as_slice(), b"e"][..], &[b"dns-nic", b"A"], &[b"dns-nic"], &[b"dns-nic", b"aa"]]
        {
            assert_eq!(world.server_named(&tld, relative), None);
        }
        assert_eq!(world.server_named(&world.root(), &[b"dns-root", b"n"]), None);
    }

    #[test]
    fn shares_of_faults_and_of_own_servers_hold_and_the_core_has_none() {
        let world =
            hierarchy("--zones 20k --own-servers 20k --fault lame=6%,silent=5%,tcp-only=10% --share own=40%");
        let own =
            leaves(&world, 20_000).filter(|zone| world.servers_of(zone)[0].id.0 >= world.first_own()).count();
        assert!((7_720..8_280).contains(&own), "{own}");
        let count = |fault| {
            let servers = world.first_own()..world.server_count();
            servers.filter(|n| world.server(ServerId(*n)).fault == Some(fault)).count()
        };
        assert!(
            (875..1_125).contains(&count(Fault::Silent)) && (1_830..2_170).contains(&count(Fault::TcpOnly))
        );
        assert_eq!(count(Fault::Slow), 0);
        assert!((0..world.first_hoster()).all(|n| world.server(ServerId(n)).fault.is_none()));
        let delegations: Vec<_> = leaves(&world, 20_000)
            .flat_map(|zone| world.servers_of(&zone).into_iter().map(move |server| (zone.clone(), server.id)))
            .collect();
        let lame =
            delegations.iter().filter(|(zone, server)| world.lame(zone, *server).is_some()).count() as f64;
        assert!((lame / delegations.len() as f64 - 0.06).abs() < 0.005, "{lame} of {}", delegations.len());
        let tld = world.path(&world.population.tld(0)).pop().unwrap();
        assert!((0..world.server_count()).all(|n| world.lame(&tld, ServerId(n)).is_none()));
    }

    #[test]
    fn addresses_of_ipv6_are_those_that_servers_have() {
        let world = hierarchy("--zones 1k --prefix6 fd00:64::/64 --share aaaa-servers=50%");
        let with = (world.first_hoster()..world.server_count())
            .filter(|n| world.addresses(ServerId(*n)).1.is_some())
            .count() as f64;
        let all = f64::from(world.server_count() - world.first_hoster());
        assert!((with / all - 0.5).abs() < 0.04, "{with} of {all}");
        for number in 0..world.server_count() {
            let six = "fd00:64::".parse::<std::net::Ipv6Addr>().unwrap();
            let address = std::net::Ipv6Addr::from(u128::from(six) + u128::from(number) + 1);
            let has = world.addresses(ServerId(number)).1.is_some();
            assert_eq!(world.server_at(address.into()).is_some(), has);
        }
        assert_eq!(world.server_at("10.127.255.254".parse().unwrap()), None);
        let error = hierarchy("--zones 1k --prefix 10.0.0.0/24").check_prefixes().unwrap_err();
        assert!(error.to_string().contains("10.0.0.0/24"), "{error}");
    }

    #[test]
    fn a_lost_query_is_lost_again_and_shares_of_loss_hold() {
        let world = hierarchy("--zones 1k --loss 5%");
        let lost = |id: u16| world.is_lost(ServerId(20), &id.to_be_bytes(), 4_000);
        let count = (0..10_000).filter(|id| lost(*id)).count();
        assert!((420..580).contains(&count), "{count}");
        assert!((0..100).all(|id| lost(id) == lost(id)));
        assert!(!hierarchy("--zones 1k").is_lost(ServerId(20), b"x", 1));
    }
}
