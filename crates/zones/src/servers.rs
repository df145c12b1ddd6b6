//! The zones of a folder in the words of each server's configuration. PowerDNS reads that of BIND.

use std::io::{self, Write};

use crate::record::Name;
use crate::{DataError, Folder};

/// A zone of a folder.
pub(crate) struct Served {
    pub(crate) origin: Name,
    pub(crate) file: &'static str,
    /// Whether it takes dynamic updates from the server's own host.
    pub(crate) is_changeable: bool,
    /// The most records of one type at one name.
    pub(crate) most_records: usize,
}

impl Served {
    /// A zone that only its file changes.
    pub(crate) fn fixed(origin: Name, file: &'static str) -> Self {
        Served { origin, file, is_changeable: false, most_records: 0 }
    }
}

/// Writes `bind.conf`, `nsd.conf` and `knot.conf`: what a configuration includes. The zones are named anew for each.
pub(crate) fn write_configuration<I>(folder: &mut Folder, zones: impl Fn() -> I) -> Result<(), DataError>
where
    I: Iterator<Item = Served>,
{
    let paths = Paths { folder: folder.shown("") };
    folder.write("bind.conf", |out| zones().try_for_each(|zone| bind(out, &zone, &paths)))?;
    folder.write("nsd.conf", |out| {
        zones().try_for_each(|Served { origin, file, .. }| {
            write!(out, "zone:\n    name: \"{origin}\"\n    zonefile: \"{}\"\n", paths.of(file))
        })
    })?;
    folder.write("knot.conf", |out| {
        if zones().any(|zone| zone.is_changeable) {
            out.write_all(KNOT_UPDATES.as_bytes())?;
        }
        out.write_all(b"zone:\n")?;
        zones().try_for_each(|zone| knot(out, &zone, &paths))
    })
}

/// Absolute paths: no server looks for its zones where the file that it includes is.
struct Paths {
    folder: String,
}

impl Paths {
    fn of(&self, file: &str) -> String {
        format!("{}{file}", self.folder)
    }
}

fn bind(out: &mut dyn Write, zone: &Served, paths: &Paths) -> io::Result<()> {
    // The older word for a primary, which PowerDNS 4.7 needs.
    write!(out, "zone \"{}\" {{ type master; file \"{}\";", zone.origin, paths.of(zone.file))?;
    if zone.is_changeable {
        write!(out, " allow-update {{ localhost; }};")?;
    }
    // An option of BIND 9.18.28 and newer, written only where its default would be passed.
    if zone.most_records > BIND_MOST_RECORDS {
        write!(out, " max-records-per-type 0;")?;
    }
    writeln!(out, " }};")
}

fn knot(out: &mut dyn Write, zone: &Served, paths: &Paths) -> io::Result<()> {
    // Knot DNS leaves the files as they are, also after an update.
    let as_it_is = "zonefile-sync: -1\n    zonefile-load: whole\n    journal-content: none";
    writeln!(out, "  - domain: \"{}\"\n    file: \"{}\"\n    {as_it_is}", zone.origin, paths.of(zone.file))?;
    match zone.is_changeable {
        true => writeln!(out, "    acl: dnsdyno-update"),
        false => Ok(()),
    }
}

const KNOT_UPDATES: &str =
    "acl:\n  - id: dnsdyno-update\n    action: update\n    address: [127.0.0.1, ::1]\n\n";

/// `max-records-per-type` of BIND where it is not set.
const BIND_MOST_RECORDS: usize = 100;
