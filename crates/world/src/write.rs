//! A small world as zone files, with the configuration of Knot DNS that loads them: so another server can say what the
//! world says.

use std::collections::BTreeSet;
use std::path::PathBuf;

use dnsdyno_zones::Folder;
use domain::base::iana::Class;
use domain::base::zonefile_fmt::{DisplayKind, ZonefileFmt};
use domain::base::{Record, Ttl};

use crate::WorldError;
use crate::denial::{Chain, MOST_CHAINED};
use crate::name::{Name, text};
use crate::rrset::RrSet;
use crate::sign::param;
use crate::tree::{Kind, Zone};
use crate::world::World;

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The folder.
    pub folder: PathBuf,
    /// Zones, of which each has a file: the root, top-level domains, hosters and all that they delegate.
    pub zones: u64,
    /// Records, signatures among them.
    pub records: u64,
}

impl World {
    /// Writes each zone to a file, signed ones with their signatures.
    ///
    /// # Errors
    /// If a zone is too large to have a chain of proofs, or something cannot be written; then nothing is left.
    pub fn write(&self, mut folder: Folder) -> Result<Written, WorldError> {
        let zones = self.all_zones()?;
        let mut records = 0;
        for zone in &zones {
            let lines = self.zone_lines(zone)?;
            records += lines.len() as u64;
            folder.write(&file_of(zone), |out| lines.iter().try_for_each(|line| writeln!(out, "{line}")))?;
        }
        let shown: Vec<_> = zones.iter().map(|zone| folder.shown(&file_of(zone))).collect();
        folder.write("knot.conf", |out| {
            writeln!(out, "zone:")?;
            for (zone, file) in zones.iter().zip(&shown) {
                // The files are complete: nothing is to be signed, checked against the time, or written back.
                writeln!(
                    out,
                    "  - domain: \"{}\"\n    file: \"{file}\"\n    zonefile-sync: -1",
                    text(&zone.apex)
                )?;
            }
            Ok(())
        })?;
        folder.write("root.hints", |out| out.write_all(self.root_hints().as_bytes()))?;
        Ok(Written { folder: folder.finish(), zones: zones.len() as u64, records })
    }

    /// All zones, from the root down.
    fn all_zones(&self) -> Result<Vec<Zone>, WorldError> {
        let hierarchy = &self.hierarchy;
        let mut zones = vec![hierarchy.root()];
        let mut at = 0;
        while let Some(zone) = zones.get(at).cloned() {
            if hierarchy.most_names(&zone) > MOST_CHAINED {
                return Err(WorldError::Option(format!(
                    "{} has more than {MOST_CHAINED} names, which are answered online and not written: make fewer \
                     zones, such as --zones 100",
                    text(&zone.apex)
                )));
            }
            let names = hierarchy.names(&zone);
            let cuts =
                names.iter().filter_map(|name| hierarchy.cut(&zone, name).filter(|cut| cut.apex == *name));
            zones.extend(cuts);
            at += 1;
        }
        Ok(zones)
    }

    /// The records of a zone as lines.
    fn zone_lines(&self, zone: &Zone) -> Result<Vec<String>, WorldError> {
        let hierarchy = &self.hierarchy;
        let is_signed = hierarchy.is_signed(zone);
        let names = hierarchy.names(zone);
        let mut sets: Vec<RrSet> =
            names.iter().flat_map(|name| hierarchy.node(zone, name).unwrap_or_default()).collect();
        let cuts: Vec<Zone> = names.iter().skip(1).filter_map(|name| hierarchy.cut(zone, name)).collect();
        if is_signed {
            let signed = cuts.iter().filter(|cut| hierarchy.is_signed(cut));
            sets.extend(signed.map(|cut| self.signer.ds(hierarchy, cut)));
            sets.push(self.signer.dnskey(hierarchy, zone));
            sets.extend(hierarchy.has_nsec3(zone).then(|| param(zone)));
            sets.extend(Chain::of(hierarchy, zone).records(hierarchy, zone).unwrap_or_default());
            sets = self.signer.with_signatures(hierarchy, zone, sets);
        }
        sets.extend(self.glue(zone, &cuts));
        let lines =
            sets.iter().flat_map(|set| set.data.iter().map(move |data| (set, data))).map(|(set, data)| {
                let record = Record::new(&set.owner, Class::IN, Ttl::from_secs(set.ttl_s), data);
                record.display_zonefile(DisplayKind::Simple).to_string()
            });
        Ok(lines.collect())
    }

    /// The addresses of name servers that are in a zone and not of it: below one of its delegations.
    fn glue(&self, zone: &Zone, cuts: &[Zone]) -> Vec<RrSet> {
        let hierarchy = &self.hierarchy;
        let mut hosts: BTreeSet<Name> = BTreeSet::new();
        let servers = cuts.iter().flat_map(|cut| hierarchy.servers_of(cut));
        let below_cut = servers.filter(|server| {
            server.host.ends_with(&zone.apex)
                && hierarchy.cut(zone, &server.host).is_some()
                && hosts.insert(server.host.clone())
        });
        below_cut.flat_map(|server| hierarchy.server_addresses(&server.host, server.id)).collect()
    }
}

/// The file of a zone; the labels of a list that no file should have are shown by their numbers.
fn file_of(zone: &Zone) -> String {
    if zone.kind == Kind::Root {
        return "zones/root.zone".to_owned();
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '.';
    let name: String = text(&zone.apex)
        .chars()
        .map(|c| if is_plain(c) { c.to_string() } else { format!("%{:02x}", u32::from(c)) })
        .collect();
    format!("zones/{name}zone")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use domain::base::iana::Rtype;
    use domain::zonefile::inplace::{Entry, Zonefile};

    use super::*;
    use crate::options::tests::options;

    fn written(flags: &str) -> (tempfile::TempDir, Written, World) {
        let place = tempfile::tempdir().unwrap();
        let world = World::new(&options(flags)).unwrap();
        let written = world.write(Folder::make(&place.path().join("out")).unwrap()).unwrap();
        (place, written, world)
    }

    #[test]
    fn each_zone_is_a_file_that_reads_back_with_all_its_records() {
        let flags =
            "--zones 40 --tlds 3 --hosters 5 --signed=50% --share large=50%,naptr=50%,wildcard=50%,child=50%";
        let (_place, written, world) = written(flags);
        let files: Vec<_> =
            fs::read_dir(written.folder.join("zones")).unwrap().map(|file| file.unwrap().path()).collect();
        // The root, three top-level domains, five hosters, forty zones, and about twenty children.
        assert!(files.len() as u64 == written.zones && (60..78).contains(&written.zones), "{written:?}");
        let mut records = 0;
        let mut types = BTreeSet::new();
        for file in &files {
            let mut reader = Zonefile::load(&mut fs::File::open(file).unwrap()).unwrap();
            reader.set_origin(domain::base::Name::root());
            while let Some(entry) = reader.next_entry().unwrap() {
                let Entry::Record(record) = entry else { panic!() };
                records += 1;
                types.insert(record.rtype().to_int());
            }
        }
        assert_eq!(records, written.records);
        let all = [
            Rtype::SOA,
            Rtype::NS,
            Rtype::A,
            Rtype::CNAME,
            Rtype::TXT,
            Rtype::NAPTR,
            Rtype::SRV,
            Rtype::DS,
            Rtype::DNSKEY,
            Rtype::RRSIG,
            Rtype::NSEC,
            Rtype::NSEC3,
            Rtype::NSEC3PARAM,
        ];
        assert!(all.iter().all(|rtype| types.contains(&rtype.to_int())), "{types:?}");
        let configuration = fs::read_to_string(written.folder.join("knot.conf")).unwrap();
        assert_eq!(configuration.matches("- domain: ").count() as u64, written.zones);
        assert!(world.trust_anchor().unwrap().contains(" IN DNSKEY 257 3 "));
    }

    #[test]
    fn a_world_that_is_not_written_says_which_zone_is_too_large() {
        let place = tempfile::tempdir().unwrap();
        let world = World::new(&options("--zones 10k --tlds 2")).unwrap();
        let error = world.write(Folder::make(&place.path().join("out")).unwrap()).unwrap_err();
        assert!(error.is_bad_input() && error.to_string().contains("com. has more than"), "{error}");
        assert!(!place.path().join("out").exists());
    }
}
