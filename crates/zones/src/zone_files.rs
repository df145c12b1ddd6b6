//! For tests: zone files as another reader understands them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::str::FromStr;

use domain::base::Name;
use domain::rdata::ZoneRecordData;
use domain::zonefile::inplace::{Entry, Zonefile};

/// The records of a zone file: owner, type and data as text, with absolute names.
pub(crate) fn read_zone(text: &str, origin: &str) -> Vec<(String, String, String)> {
    let mut file = Zonefile::from(text);
    file.set_origin(Name::from_str(origin).unwrap());
    let mut records = Vec::new();
    while let Some(entry) = file.next_entry().unwrap() {
        let Entry::Record(record) = entry else { panic!("an entry that is no record") };
        let owner = record.owner().to_string();
        let data = match record.data() {
            ZoneRecordData::Naptr(naptr) => format!(
                "{} {} \"{}\" \"{}\" \"{}\" {}",
                naptr.order(),
                naptr.preference(),
                naptr.flags(),
                naptr.services(),
                naptr.regexp(),
                dotted(&naptr.replacement().to_string())
            ),
            ZoneRecordData::Srv(srv) => format!(
                "{} {} {} {}",
                srv.priority(),
                srv.weight(),
                srv.port(),
                dotted(&srv.target().to_string())
            ),
            ZoneRecordData::Ns(ns) => dotted(&ns.nsdname().to_string()),
            ZoneRecordData::Ptr(ptr) => dotted(&ptr.ptrdname().to_string()),
            other => other.to_string(),
        };
        records.push((dotted(&owner), record.rtype().to_string(), data));
    }
    records
}

/// The text form of `domain` leaves the final dot out.
fn dotted(name: &str) -> String {
    if name.ends_with('.') { name.to_owned() } else { format!("{name}.") }
}

/// The files of a folder and their texts, by path.
pub(crate) fn texts(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(at) = waiting.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => waiting.push(path),
                false => {
                    let name = path.strip_prefix(folder).unwrap().display().to_string();
                    found.insert(name, fs::read_to_string(&path).unwrap());
                }
            }
        }
    }
    found
}
