//! What a zone holds at a name, and which names it has.
//!
//! ```text
//!  a leaf    apex: SOA NS A AAAA MX TXT     www, mail and some of a dozen hosts: A AAAA, or CNAME
//!            e0: A AAAA     e1, e2 …: CNAME to e0, e1 … of another zone, which chains of aliases lead over
//!            txt, many: large answers     sip, _sip._udp: NAPTR, SRV     *: a wildcard
//!            ns1 …: its own name servers     dept: the delegation of a child
//! ```

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use bytes::Bytes;
use domain::base::iana::Rtype;
use domain::base::{CharStr, Serial, Ttl};
use domain::rdata::{A, Aaaa, Cname, Mx, Naptr, Ns, Soa, Srv, Txt};

use crate::draw::{Draw, Purpose};
use crate::list::key_of;
use crate::name::{Name, below, labels};
use crate::rrset::{Data, PLACEHOLDER, RrSet};
use crate::shares::Share;
use crate::tree::{CHILD_LABEL, Hierarchy, Kind, Zone};

impl Hierarchy {
    /// What a zone holds at a name in it that no delegation is above: `None` where the name does not exist, and an
    /// empty list where it is there because there are names below it. Of a delegation its NS records. Wildcards are
    /// looked for by their own name.
    pub(crate) fn node(&self, zone: &Zone, name: &Name) -> Option<Vec<RrSet>> {
        let parts = labels(name);
        let relative = parts.get(labels(&zone.apex).len()..)?;
        if relative.is_empty() {
            return Some(self.listed_apex(zone, &parts));
        }
        if let Some(cut) = self.cut(zone, name) {
            return (cut.apex == *name).then(|| vec![self.name_servers(&cut)]);
        }
        if let Some(server) = self.server_named(zone, relative) {
            return Some(self.server_addresses(name, server));
        }
        let captured = self.population.captured();
        let by_rule = match zone.kind {
            Kind::Leaf | Kind::Child(_) if captured.is_some() => None,
            Kind::Root if relative == [b"dns-root"] => Some(Vec::new()),
            Kind::Tld(_) if relative == [b"dns-nic"] => Some(Vec::new()),
            Kind::Leaf => self.leaf(zone, name, relative),
            Kind::Hoster(_) | Kind::Child(_) if relative == [b"www"] => Some(self.host(name)),
            _ => None,
        };
        match captured {
            Some(captured) => captured.node(name, &key_of(parts.iter().copied())).or(by_rule),
            None => self.with_listed(zone, name, &parts, by_rule),
        }
    }

    /// The names of a zone with records, its delegations among them, and those between; not sorted.
    pub(crate) fn names(&self, zone: &Zone) -> Vec<Name> {
        let put_together =
            |host: Vec<String>| host.iter().fold(zone.apex.clone(), |parent, label| below(label, &parent));
        let servers = self.server_labels(zone).into_iter().map(put_together);
        let mut names: Vec<Name> = [zone.apex.clone()].into_iter().chain(servers).collect();
        match zone.kind {
            Kind::Root => {
                names.push(below("dns-root", &zone.apex));
                names.extend((0..self.population.tld_count()).map(|tld| self.population.tld(tld)));
            }
            Kind::Tld(tld) => {
                names.push(below("dns-nic", &zone.apex));
                names.extend(self.hosters_of(tld).map(|label| below(label, &zone.apex)));
                let zones =
                    (0..self.population.zones_of(tld)).map(|number| self.population.label_of(tld, number));
                names.extend(zones.map(|label| below(label, &zone.apex)));
            }
            Kind::Leaf | Kind::Child(_) if self.population.captured().is_some() => {}
            Kind::Hoster(_) | Kind::Child(_) => names.push(below("www", &zone.apex)),
            Kind::Leaf => {
                let hosts = LEAF_LABELS.iter().chain([&CHILD_LABEL]).map(|label| below(label, &zone.apex));
                let chain = (0..self.rules.options.chain).map(|at| below(format!("e{at}"), &zone.apex));
                let sip = below("_sip", &below("_udp", &zone.apex));
                names.extend(hosts.chain(chain).chain([sip]).filter(|name| self.node(zone, name).is_some()));
            }
            Kind::Suffix(_) => {}
        }
        names.extend(self.listed_names(zone));
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The NS records of a zone, as in the zone itself and in its parent.
    pub(crate) fn name_servers(&self, zone: &Zone) -> RrSet {
        let servers = self.servers_of(zone);
        let data = servers.into_iter().map(|server| Data::Ns(Ns::new(server.host))).collect();
        let ttl_s = match zone.kind {
            Kind::Root => 518_400,
            Kind::Tld(_) | Kind::Suffix(_) => 172_800,
            _ => 86_400,
        };
        RrSet::new(&zone.apex, Rtype::NS, ttl_s, data)
    }

    /// The address records of a name server.
    pub(crate) fn server_addresses(&self, host: &Name, server: crate::servers::ServerId) -> Vec<RrSet> {
        let (v4, v6) = self.addresses(server);
        let set = |address: IpAddr| match address {
            IpAddr::V4(address) => RrSet::new(host, Rtype::A, SERVER_TTL_S, vec![Data::A(A::new(address))]),
            IpAddr::V6(address) => {
                RrSet::new(host, Rtype::AAAA, SERVER_TTL_S, vec![Data::Aaaa(Aaaa::new(address))])
            }
        };
        v4.into_iter().chain(v6).map(set).collect()
    }

    /// The start of authority of a zone. Its TTL is also that of negative answers (RFC 2308), so that it is the same in
    /// all answers.
    pub(crate) fn soa(&self, zone: &Zone) -> RrSet {
        if let Some(soa) = self.captured_soa(zone) {
            return soa;
        }
        let first =
            self.servers_of(zone).into_iter().next().map_or_else(Name::root_bytes, |server| server.host);
        let minimum = match zone.is_registry() {
            true => 900,
            false => {
                NEGATIVE_TTLS_S
                    [zone.draw.at(Purpose::NegativeTtl).below(NEGATIVE_TTLS_S.len() as u64) as usize]
            }
        };
        let [refresh, retry, expire, minimum] = [7_200, 900, 1_209_600, minimum].map(Ttl::from_secs);
        let mailbox = below("hostmaster", &zone.apex);
        let soa = Soa::new(first, mailbox, Serial(1), refresh, retry, expire, minimum);
        RrSet::new(&zone.apex, Rtype::SOA, minimum.as_secs(), vec![Data::Soa(soa)])
    }

    /// The start of authority that a capture shows, with the TTL that its negative answers have.
    fn captured_soa(&self, zone: &Zone) -> Option<RrSet> {
        let captured = self.population.captured()?;
        let mut set = captured.set(&zone.apex, &key_of(labels(&zone.apex)), Rtype::SOA)?;
        let Some(Data::Soa(soa)) = set.data.first() else { return None };
        set.ttl_s = set.ttl_s.min(soa.minimum().as_secs());
        Some(set)
    }

    fn apex(&self, zone: &Zone) -> Vec<RrSet> {
        let mut sets = vec![self.soa(zone), self.name_servers(zone)];
        if let Some(captured) = self.population.captured()
            && !matches!(zone.kind, Kind::Hoster(_))
        {
            let shown = captured.node(&zone.apex, &key_of(labels(&zone.apex))).unwrap_or_default();
            // A placeholder is not needed where these are, and an alias cannot be beside them.
            let is_beside = |set: &RrSet| ![Rtype::SOA, Rtype::CNAME, PLACEHOLDER].contains(&set.rtype);
            sets.extend(shown.into_iter().filter(is_beside));
            return sets;
        }
        if zone.is_registry() {
            return sets;
        }
        sets.extend(self.host(&zone.apex));
        if zone.kind == Kind::Leaf {
            let policy = self.text(&zone.apex, b"v=spf1 mx -all".to_vec());
            sets.push(policy);
            if self.has_mail(zone) {
                let mx = Data::Mx(Mx::new(10, below("mail", &zone.apex)));
                sets.push(self.set(&zone.apex, Rtype::MX, vec![mx]));
            }
        }
        sets
    }

    /// What an apex holds, with what a list asks for there that it has not by rule. It is no alias.
    fn listed_apex(&self, zone: &Zone, parts: &[&[u8]]) -> Vec<RrSet> {
        let mut sets = self.apex(zone);
        let list = self.population.list();
        for rtype in list.and_then(|list| list.types(&key_of(parts.iter().copied()))).into_iter().flatten() {
            if rtype != Rtype::CNAME && sets.iter().all(|set| set.rtype != rtype) {
                sets.extend(self.listed(zone, &zone.apex, rtype));
            }
        }
        sets
    }

    /// What a leaf holds by rule below its apex.
    fn leaf(&self, zone: &Zone, name: &Name, relative: &[&[u8]]) -> Option<Vec<RrSet>> {
        let has = |purpose: Purpose, share: Share| zone.draw.at(purpose).is(self.rules.share(share));
        if let [b"_udp", b"_sip"] = relative {
            let srv = Data::Srv(Srv::new(10, 60, 5060, below("e0", &zone.apex)));
            return has(Purpose::Naptr, Share::Naptr).then(|| vec![self.set(name, Rtype::SRV, vec![srv])]);
        }
        let [label] = relative else { return None };
        if let Some(place) = self.chain_place(label) {
            return Some(if place == 0 { self.host(name) } else { vec![self.alias_to(name, place - 1)] });
        }
        match *label {
            b"www" => Some(self.host_or_alias(zone, name)),
            b"mail" => self.has_mail(zone).then(|| self.host(name)),
            b"txt" => has(Purpose::Large, Share::Large).then(|| vec![self.large_text(name)]),
            b"many" => has(Purpose::Large, Share::Large).then(|| vec![self.many_addresses(name)]),
            b"sip" => has(Purpose::Naptr, Share::Naptr).then(|| vec![self.naptr(zone, name)]),
            b"_udp" => has(Purpose::Naptr, Share::Naptr).then(Vec::new),
            b"*" => has(Purpose::Wildcard, Share::Wildcard).then(|| self.host(name)),
            label if LEAF_LABELS.iter().any(|known| known.as_bytes() == label) => {
                let exists = self.draw_of_name(name).at(Purpose::Exists).is(HOST_SHARE);
                exists.then(|| self.host_or_alias(zone, name))
            }
            _ => None,
        }
    }

    /// The place of a name that chains of aliases lead over: 0 has addresses.
    fn chain_place(&self, label: &[u8]) -> Option<u32> {
        let digits = label.strip_prefix(b"e")?;
        let [digit @ b'0'..=b'9'] = digits else { return None };
        let place = u32::from(digit - b'0');
        (place < self.rules.options.chain).then_some(place)
    }

    fn has_mail(&self, zone: &Zone) -> bool {
        zone.draw.at(Purpose::Mail).is(MAIL_SHARE)
    }

    fn host_or_alias(&self, zone: &Zone, name: &Name) -> Vec<RrSet> {
        let draw = self.draw_of_name(name);
        if !draw.at(Purpose::Cname).is(self.rules.share(Share::Cname)) {
            return self.host(name);
        }
        if draw.at(Purpose::CnameAway).is(self.rules.share(Share::Away)) {
            let place = draw.at(Purpose::ChainLength).below(self.rules.options.chain.into());
            return vec![self.alias_to(name, place as u32)];
        }
        let target = Data::Cname(Cname::new(below("e0", &zone.apex)));
        vec![self.set(name, Rtype::CNAME, vec![target])]
    }

    /// An alias of a name at a place of a chain in another zone, from where it leads over lower places only: it ends.
    fn alias_to(&self, name: &Name, place: u32) -> RrSet {
        let zone = self.population.drawn_zone(self.draw_of_name(name).at(Purpose::ChainZone));
        let target = below(format!("e{place}"), &zone);
        self.set(name, Rtype::CNAME, vec![Data::Cname(Cname::new(target))])
    }

    /// Addresses, of documentation and of benchmarks: nothing is there.
    fn host(&self, name: &Name) -> Vec<RrSet> {
        let draw = self.draw_of_name(name);
        let count = draw.at(Purpose::AddressCount).pick(&ADDRESS_COUNTS).unwrap_or(1);
        let mut sets = vec![self.addresses_v4(name, count)];
        if draw.at(Purpose::Aaaa).is(self.rules.share(Share::Aaaa)) {
            let address = |at: u64| {
                let host = u128::from(draw.at(Purpose::Address).nth(at).value());
                Data::Aaaa(Aaaa::new(Ipv6Addr::from(DOCUMENTATION | host)))
            };
            sets.push(self.set(name, Rtype::AAAA, (0..count).map(address).collect()));
        }
        sets
    }

    fn addresses_v4(&self, name: &Name, count: u64) -> RrSet {
        let first = self.draw_of_name(name).at(Purpose::Address).below(BENCHMARKING_SIZE) as u32;
        // In a row, so that no address is there twice.
        let address = |at: u32| Ipv4Addr::from(BENCHMARKING + (first + at) % BENCHMARKING_SIZE as u32);
        let data = (0..count as u32).map(|at| Data::A(A::new(address(at)))).collect();
        self.set(name, Rtype::A, data)
    }

    fn many_addresses(&self, name: &Name) -> RrSet {
        // 16 octets each in a response: about 1,400 to 1,600.
        let count = 87 + self.draw_of_name(name).at(Purpose::Many).below(MOST_RECORDS - 86);
        self.addresses_v4(name, count)
    }

    fn large_text(&self, name: &Name) -> RrSet {
        let draw = self.draw_of_name(name);
        let size = 1_400 + draw.at(Purpose::LargeSize).below(2_101);
        let letter = |at: u64| b'a' + draw.nth(at).below(26) as u8;
        self.text(name, (0..size).map(letter).collect())
    }

    fn text(&self, name: &Name, text: Vec<u8>) -> RrSet {
        let strings =
            text.chunks(255).flat_map(|part| [part.len() as u8].into_iter().chain(part.iter().copied()));
        let octets: Bytes = strings.collect::<Vec<u8>>().into();
        let data = Txt::from_octets(octets).map(Data::Txt).into_iter().collect();
        self.set(name, Rtype::TXT, data)
    }

    fn naptr(&self, zone: &Zone, name: &Name) -> RrSet {
        let string = |text: &'static str| {
            CharStr::from_octets(Bytes::from_static(text.as_bytes())).unwrap_or_else(|_| CharStr::empty())
        };
        let target = below("_sip", &below("_udp", &zone.apex));
        let record = |preference: u16, flags, service, target| {
            let (flags, service) = (string(flags), string(service));
            Data::Naptr(Naptr::new(10, preference, flags, service, CharStr::empty(), target))
        };
        let to_srv = record(10, "s", "SIP+D2U", target);
        let to_host = record(20, "a", "SIP+D2T", below("e0", &zone.apex));
        self.set(name, Rtype::NAPTR, vec![to_srv, to_host])
    }

    fn set(&self, name: &Name, rtype: Rtype, data: Vec<Data>) -> RrSet {
        let ttl_s = self.rules.ttl_s(self.draw_of_name(name).nth(rtype.to_int().into()));
        RrSet::new(name, rtype, ttl_s, data)
    }

    fn draw_of_name(&self, name: &Name) -> Draw {
        self.rules.draw.of(name.as_slice())
    }

    /// Puts what a list asks for at a name in the place of what is there by rule.
    fn with_listed(
        &self,
        zone: &Zone,
        name: &Name,
        parts: &[&[u8]],
        by_rule: Option<Vec<RrSet>>,
    ) -> Option<Vec<RrSet>> {
        let Some(list) = self.population.list() else { return by_rule };
        let key = key_of(parts.iter().copied());
        let Some(types) = list.types(&key) else {
            return by_rule.or_else(|| list.has(&key).then(Vec::new));
        };
        let sets: Vec<RrSet> = types.flat_map(|rtype| self.listed(zone, name, rtype)).collect();
        // An alias has no other records.
        if let Some(alias) = sets.iter().find(|set| set.rtype == Rtype::CNAME) {
            return Some(vec![alias.clone()]);
        }
        match (sets.is_empty(), by_rule) {
            (true, Some(by_rule)) if !by_rule.is_empty() => Some(by_rule),
            (true, _) => Some(self.host(name)),
            (false, _) => Some(sets),
        }
    }

    /// Records of a type that a list asks for.
    fn listed(&self, zone: &Zone, name: &Name, rtype: Rtype) -> Vec<RrSet> {
        let only = |sets: Vec<RrSet>| sets.into_iter().filter(|set| set.rtype == rtype).collect::<Vec<_>>();
        match rtype {
            Rtype::A => only(self.host(name)),
            Rtype::AAAA => {
                let found = only(self.host(name));
                let host = u128::from(self.draw_of_name(name).at(Purpose::Address).value());
                let one = || {
                    self.set(name, rtype, vec![Data::Aaaa(Aaaa::new(Ipv6Addr::from(DOCUMENTATION | host)))])
                };
                if found.is_empty() { vec![one()] } else { found }
            }
            Rtype::CNAME => {
                let own = labels(name).last().and_then(|label| self.chain_place(label));
                // One that chains lead over leads to lower places only, and the lowest to none: they end.
                let places = own.unwrap_or(self.rules.options.chain);
                if places == 0 {
                    return self.host(name);
                }
                let place = self.draw_of_name(name).at(Purpose::ChainLength).below(places.into());
                vec![self.alias_to(name, place as u32)]
            }
            Rtype::MX => vec![self.set(name, rtype, vec![Data::Mx(Mx::new(10, below("e0", &zone.apex)))])],
            Rtype::TXT => vec![self.text(name, b"v=spf1 mx -all".to_vec())],
            Rtype::NAPTR => vec![self.naptr(zone, name)],
            Rtype::SRV => {
                let srv = Srv::new(10, 60, 5060, below("e0", &zone.apex));
                vec![self.set(name, rtype, vec![Data::Srv(srv)])]
            }
            _ => Vec::new(),
        }
    }

    /// The names that a zone has of a list or a capture, and those between, its delegations among them and nothing
    /// below those.
    fn listed_names(&self, zone: &Zone) -> Vec<Name> {
        let Some(list) = self.population.names() else { return Vec::new() };
        let key = key_of(labels(&zone.apex));
        let depth = labels(&zone.apex).len();
        let end = if key.is_empty() { list.len() } else { list.first_after(&key) };
        let (mut at, mut names) = (list.first_from(&key), Vec::<Name>::new());
        while at < end {
            let mut name = Name::root_bytes();
            let mut next = at + 1;
            for (place, label) in list.labels(at).enumerate() {
                name = below(label, &name);
                // Those of one list follow each other, so the same name is close.
                if place >= depth && names.last() != Some(&name) {
                    names.push(name.clone());
                }
                if place >= depth && self.cut(zone, &name).is_some() {
                    next = list.first_after(&key_of(labels(&name)));
                    break;
                }
            }
            at = next;
        }
        names
    }
}

/// BIND takes no more records of one type at a name (`max-records-per-type`).
const MOST_RECORDS: u64 = 100;

/// Labels of hosts in leaves; www is always there, mail, txt, many, sip and * by a draw for the zone.
const LEAF_LABELS: [&str; 19] = [
    "www", "mail", "txt", "many", "sip", "_udp", "*", "api", "app", "blog", "cdn", "dev", "ftp", "img",
    "login", "m", "news", "shop", "static",
];

/// Of the hosts without a share of their own, those that a zone has.
const HOST_SHARE: f64 = 0.35;

/// Zones that take mail.
const MAIL_SHARE: f64 = 0.7;

/// Addresses of a host, with their shares.
const ADDRESS_COUNTS: [(f64, u64); 4] = [(0.6, 1), (0.25, 2), (0.05, 3), (0.1, 4)];

/// 198.18.0.0/15, for benchmarks (RFC 2544, RFC 6890).
const BENCHMARKING: u32 = u32::from_be_bytes([198, 18, 0, 0]);
const BENCHMARKING_SIZE: u64 = 1 << 17;

/// 2001:db8::/32, for documentation (RFC 3849).
const DOCUMENTATION: u128 = 0x2001_0db8 << 96;

/// Of the addresses of name servers.
const SERVER_TTL_S: u32 = 86_400;

/// How long negative answers of a leaf are kept.
const NEGATIVE_TTLS_S: [u32; 4] = [60, 300, 900, 3_600];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::text;
    use crate::tree::tests::{hierarchy, listed, name};

    fn leaf(world: &Hierarchy, number: u64) -> Zone {
        world.path(&world.population.nth_zone(number)).pop().unwrap()
    }

    fn types(sets: Option<Vec<RrSet>>) -> Vec<Rtype> {
        sets.unwrap_or_default().iter().map(|set| set.rtype).collect()
    }

    #[test]
    fn the_names_of_a_zone_are_those_at_which_it_has_something() {
        let world = hierarchy("--zones 300 --tlds 5 --share child=50%,large=50%,naptr=50%,wildcard=50%");
        let leaves = (0..100).map(|number| leaf(&world, number));
        let more = [world.root(), world.hoster_zone(1), world.path(&world.population.tld(2)).pop().unwrap()];
        for zone in leaves.chain(more) {
            let names = world.names(&zone);
            for found in &names {
                assert!(world.node(&zone, found).is_some(), "{} in {}", text(found), text(&zone.apex));
            }
            for label in
                LEAF_LABELS.iter().chain(&["e0", "e3", "e4", "ns1", "ns3", "dept", "nothing", "dns-nic"])
            {
                let asked = below(label, &zone.apex);
                assert_eq!(world.node(&zone, &asked).is_some(), names.contains(&asked), "{}", text(&asked));
            }
        }
    }

    #[test]
    fn shares_of_hosts_hold_and_chains_lead_down() {
        let world =
            hierarchy("--zones 20k --share cname=40%,away=50%,aaaa=30%,wildcard=20%,large=5%,naptr=7%");
        let zones: Vec<Zone> = (0..10_000).map(|number| leaf(&world, number)).collect();
        let share = |is: &dyn Fn(&Zone) -> bool| zones.iter().filter(|zone| is(zone)).count() as f64 / 1e4;
        let at = |zone: &Zone, label: &str| types(world.node(zone, &below(label, &zone.apex)));
        let www = share(&|zone| at(zone, "www") == [Rtype::CNAME]);
        let aaaa = share(&|zone| at(zone, "e0").contains(&Rtype::AAAA));
        let wildcards = share(&|zone| !at(zone, "*").is_empty());
        let (large, naptr) =
            (share(&|zone| at(zone, "many") == [Rtype::A]), share(&|z| at(z, "sip") == [Rtype::NAPTR]));
        for (found, asked) in [(www, 0.4), (aaaa, 0.3), (wildcards, 0.2), (large, 0.05), (naptr, 0.07)] {
            assert!((found - asked).abs() < 0.02, "{found} for {asked}");
        }
        let away = share(&|zone| {
            let sets = world.node(zone, &below("www", &zone.apex)).unwrap();
            matches!(&sets[0].data[0], Data::Cname(to) if !to.cname().ends_with(&zone.apex))
        });
        assert!((away - 0.2).abs() < 0.02, "{away}");
        for zone in &zones[..200] {
            let mut at = below("e3", &zone.apex);
            for place in (0..3).rev() {
                let zone = world.path(&at).pop().unwrap();
                let sets = world.node(&zone, &at).unwrap();
                let Data::Cname(to) = &sets[0].data[0] else { panic!("{}", text(&at)) };
                at = to.cname().clone();
                assert!(text(&at).starts_with(&format!("e{place}.")));
            }
        }
    }

    #[test]
    fn a_list_has_each_of_its_names_with_the_types_that_it_names() {
        let world = listed(
            "",
            &[
                "a.b.shop.co.uk MX",
                "a.b.shop.co.uk TXT",
                "x.shop.co.uk CNAME",
                "shop.co.uk",
                "plain.example.com",
                "www.example.com AAAA",
                "odd.example.com TLSA",
                "com",
            ],
        );
        let at = |asked: &str| {
            let asked = name(asked);
            let zone = world.path(&asked).pop().unwrap();
            world.node(&zone, &asked).map(|sets| sets.iter().map(|set| set.rtype).collect::<Vec<_>>())
        };
        assert_eq!(at("a.b.shop.co.uk"), Some(vec![Rtype::MX, Rtype::TXT]));
        assert_eq!((at("b.shop.co.uk"), at("x.shop.co.uk")), (Some(vec![]), Some(vec![Rtype::CNAME])));
        assert_eq!((at("www.example.com"), at("c.shop.co.uk")), (Some(vec![Rtype::AAAA]), None));
        assert!(
            at("plain.example.com").unwrap().contains(&Rtype::A)
                && at("odd.example.com").unwrap().contains(&Rtype::A)
        );
        let names = |apex: &str| {
            let zone = world.path(&name(apex)).pop().unwrap();
            world.names(&zone).iter().map(text).collect::<Vec<_>>()
        };
        let shop = names("shop.co.uk");
        assert!(
            ["a.b.shop.co.uk.", "b.shop.co.uk.", "shop.co.uk."]
                .iter()
                .all(|name| shop.contains(&name.to_string()))
        );
        assert!(
            names("co.uk").contains(&"shop.co.uk.".to_owned())
                && !names("uk").contains(&"shop.co.uk.".to_owned())
        );
        assert!(names("uk").contains(&"co.uk.".to_owned()));
    }

    #[test]
    fn large_answers_have_the_size_that_is_told() {
        let world = hierarchy("--zones 100 --tlds 5 --share large=100%");
        for number in 0..100 {
            let zone = leaf(&world, number);
            let sets = world.node(&zone, &below("txt", &zone.apex)).unwrap();
            let Data::Txt(txt) = &sets[0].data[0] else { panic!() };
            assert!((1_400..=3_500).contains(&txt.text::<Vec<u8>>().len()));
            let many = world.node(&zone, &below("many", &zone.apex)).unwrap()[0].data.len();
            assert!((87..=100).contains(&many), "{many}");
        }
    }
}
