//! Many equal zones: `m0.members.example`, `m1.members.example` …, with or without a catalog of them.
//!
//! All of them share one zone file, in which every name is relative: a hundred thousand zones are a file of some lines,
//! and a line for each zone in the configuration of the server.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

use crate::catalog::{member_name, write_catalog};
use crate::queries::write_queries;
use crate::record::{Data, Name};
use crate::servers::{Served, write_configuration};
use crate::zone::{Zone, check_ttl};
use crate::{DataError, Folder};

/// What `dnsdyno data plain` and `dnsdyno data catalog` make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberOptions {
    /// How many zones.
    pub zones: u32,
    /// How many hosts each has: `h0`, `h1` …, each with an A and an AAAA record.
    pub hosts: u32,
    /// Whether a catalog lists them.
    pub with_catalog: bool,
    /// How many further zones are served that are not in the catalog: `new0`, `new1` …
    pub outside: u32,
    /// The TTL of all records in seconds.
    pub ttl_s: u32,
    /// Of the order of the queries.
    pub seed: u64,
}

/// Equal zones, checked and ready to be written.
#[derive(Debug)]
pub struct MemberData {
    options: MemberOptions,
}

impl MemberData {
    /// Checks the options.
    ///
    /// # Errors
    /// If a number is too large for any server.
    pub fn make(options: &MemberOptions) -> Result<Self, DataError> {
        let MemberOptions { zones, hosts, outside, .. } = *options;
        check_ttl(options.ttl_s)?;
        let all = u64::from(zones) + u64::from(outside);
        if zones == 0 || hosts == 0 {
            return Err(DataError::Option(
                "there is nothing to make: ask for at least one zone and one host".into(),
            ));
        }
        if all > MOST_ZONES {
            return Err(DataError::Option(format!(
                "{all} zones are too many: at most {MOST_ZONES} can be made"
            )));
        }
        if u64::from(hosts) * all > MOST_RECORDS {
            return Err(DataError::Option(format!(
                "{all} zones of {hosts} hosts are {} names: at most {MOST_RECORDS} can be made",
                u64::from(hosts) * all
            )));
        }
        Ok(MemberData { options: options.clone() })
    }

    /// Writes everything, and returns the folder.
    ///
    /// # Errors
    /// If something cannot be written; then nothing is left.
    pub fn write(&self, mut folder: Folder) -> Result<PathBuf, DataError> {
        let MemberOptions { zones, hosts, with_catalog, outside, ttl_s, seed } = self.options;
        folder.write(ZONE_FILE, |out| self.zone(ttl_s).write_for_any_origin(out, self.hosts()))?;
        let names = || {
            let listed = (0..zones).map(|number| format!("m{number}"));
            listed.chain((0..outside).map(|number| format!("new{number}")))
        };
        if with_catalog {
            let members = (0..zones).map(|number| format!("m{number}"));
            let members = members.map(|id| (id.clone(), origin_of(&id)));
            folder.write(CATALOG_FILE, |out| write_catalog(out, CATALOG, members))?;
        }
        let catalog = || {
            with_catalog
                .then(|| Served { is_changeable: true, ..Served::fixed(CATALOG.into(), CATALOG_FILE) })
        };
        write_configuration(&mut folder, || {
            names().map(|id| Served::fixed(origin_of(&id), ZONE_FILE)).chain(catalog())
        })?;
        if outside > 0 {
            for (file, what) in [("add.nsupdate", "add"), ("remove.nsupdate", "del")] {
                folder.write(file, |out| {
                    writeln!(out, "zone {CATALOG}")?;
                    for number in 0..outside {
                        let id = format!("new{number}");
                        let owner = member_name(&id, CATALOG);
                        // A message has 65,535 octets.
                        if number > 0 && number % MEMBERS_A_MESSAGE == 0 {
                            writeln!(out, "send\nzone {CATALOG}")?;
                        }
                        writeln!(out, "update {what} {owner} 0 PTR {}", origin_of(&id))?;
                    }
                    writeln!(out, "send")
                })?;
            }
        }
        // Each host of each zone; in the order of the zones a server would find each in its cache of the one before.
        folder.write("queries.txt", |out| {
            write_queries(out, zones * hosts, seed, |number| {
                format!("h{}.m{}.{MEMBERS} A", number % hosts, number / hosts)
            })
        })?;
        Ok(folder.finish())
    }

    /// The zone that all share.
    fn zone(&self, ttl_s: u32) -> Zone {
        Zone::new(&origin_of("m0"), ttl_s, NAME_SERVERS, true)
    }

    /// The records of its hosts.
    fn hosts(&self) -> impl Iterator<Item = crate::record::Record> {
        let zone = origin_of("m0");
        (0..self.options.hosts).flat_map(move |number| {
            let owner: Name = format!("h{number}.{zone}").into();
            let v4 = Data::A(Ipv4Addr::from(FIRST_V4 + number));
            let v6 = Data::Aaaa(Ipv6Addr::from(FIRST_V6 + u128::from(number)));
            [v4, v6].map(|data| crate::record::Record::new(&owner, data))
        })
    }
}

fn origin_of(id: &str) -> Name {
    format!("{id}.{MEMBERS}.").into()
}

/// The name of the catalog.
const CATALOG: &str = "catalog.example.";

const MEMBERS: &str = "members.example";
const ZONE_FILE: &str = "member.zone";
const CATALOG_FILE: &str = "catalog.zone";
const NAME_SERVERS: u32 = 2;

/// Of hosts; nothing is sent there.
const FIRST_V4: u32 = u32::from_be_bytes([10, 0, 0, 1]);
const FIRST_V6: u128 = (0x2001_0db8 << 96) + (1 << 32);

const MOST_ZONES: u64 = 1_000_000;
const MOST_RECORDS: u64 = 10_000_000;
const MEMBERS_A_MESSAGE: u32 = 500;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::zone_files::{read_zone, texts};

    fn made(options: &MemberOptions) -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        MemberData::make(options).unwrap().write(Folder::make(&place.path().join("data")).unwrap()).unwrap();
        place
    }

    const SMALL: MemberOptions =
        MemberOptions { zones: 20, hosts: 3, with_catalog: true, outside: 1_001, ttl_s: 60, seed: 1 };

    #[test]
    fn the_catalog_is_one_by_the_rules_of_rfc_9432() {
        let place = made(&SMALL);
        let text = fs::read_to_string(place.path().join("data/catalog.zone")).unwrap();
        let records = read_zone(&text, CATALOG);
        let of = |rtype: &str| -> Vec<_> { records.iter().filter(|(_, kind, _)| kind == rtype).collect() };
        // One SOA, one name server that does not exist, the version as one string.
        assert_eq!((of("SOA").len(), of("NS").len()), (1, 1));
        assert_eq!(of("NS")[0].2, "invalid.");
        assert_eq!(
            of("TXT"),
            [&("version.catalog.example.".to_owned(), "TXT".to_owned(), "\"2\"".to_owned())]
        );
        // Each member has a label of its own and one PTR record, and no zone is in it twice.
        let members = of("PTR");
        assert_eq!(members.len(), 20);
        for (owner, _, zone) in &members {
            let id = owner.strip_suffix(".zones.catalog.example.").unwrap();
            assert_eq!((format!("{id}.members.example."), id.contains('.')), (zone.clone(), false));
        }
        let distinct: std::collections::HashSet<_> = members.iter().map(|(_, _, zone)| zone).collect();
        assert_eq!(distinct.len(), 20);
        assert_eq!(records.len(), 23);
    }

    #[test]
    fn the_shared_file_has_relative_names_only_and_each_query_has_its_host() {
        let place = made(&SMALL);
        let text = fs::read_to_string(place.path().join("data/member.zone")).unwrap();
        assert!(!text.contains("members.example"), "{text}");
        let records = read_zone(&text, "m7.members.example.");
        let queries = fs::read_to_string(place.path().join("data/queries.txt")).unwrap();
        let asked: std::collections::BTreeSet<&str> = queries.lines().collect();
        assert_eq!((asked.len(), queries.lines().count()), (60, 60));
        for host in 0..3 {
            assert!(asked.contains(&*format!("h{host}.m7.members.example A")));
            let is_there = |(owner, rtype, _): &(String, String, String)| {
                *owner == format!("h{host}.m7.members.example.") && rtype == "A"
            };
            assert!(records.iter().any(is_there), "{records:?}");
        }
    }

    #[test]
    fn each_zone_is_in_each_configuration_once_and_those_outside_are_in_the_scripts() {
        let place = made(&SMALL);
        let read = |name: &str| fs::read_to_string(place.path().join("data").join(name)).unwrap();
        for (file, mark) in [("bind.conf", "zone \""), ("nsd.conf", "name: \""), ("knot.conf", "domain: \"")]
        {
            let text = read(file);
            let zones: std::collections::HashSet<_> =
                text.lines().filter_map(|line| line.split_once(mark)?.1.split('"').next()).collect();
            assert_eq!(zones.len(), 20 + 1_001 + 1, "{file}");
            assert_eq!(text.matches(mark).count(), zones.len(), "{file}");
        }
        let (add, remove) = (read("add.nsupdate"), read("remove.nsupdate"));
        assert_eq!((add.matches("update add").count(), remove.matches("update del").count()), (1_001, 1_001));
        assert_eq!(add.lines().filter(|line| *line == "send").count(), 3);
    }

    #[test]
    fn the_same_options_give_the_same_bytes_and_another_seed_another_order() {
        let (one, again) = (made(&SMALL), made(&SMALL));
        let other = made(&MemberOptions { seed: 2, ..SMALL });
        let of = |place: &tempfile::TempDir| {
            let mut texts = texts(&place.path().join("data"));
            let here = place.path().display().to_string();
            texts.values_mut().for_each(|text| *text = text.replace(&here, ""));
            texts
        };
        assert_eq!(of(&one), of(&again));
        assert_ne!(of(&one)["queries.txt"], of(&other)["queries.txt"]);
    }

    #[test]
    fn too_many_are_refused_with_the_bound() {
        for (zones, hosts, words) in
            [(0, 1, "at least one"), (1_000_001, 1, "1000000"), (1_000_000, 11, "10000000")]
        {
            let error = MemberData::make(&MemberOptions { zones, hosts, outside: 0, ..SMALL }).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}
