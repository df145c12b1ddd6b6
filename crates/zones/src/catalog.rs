//! Catalog zones (RFC 9432): a zone that lists zones.

use std::io::{self, Write};

use crate::record::{Data, Name, Record};
use crate::zone::Zone;

/// Writes the catalog `origin` of these members: each with an identifier of its own, a label.
pub(crate) fn write_catalog(
    out: &mut dyn Write,
    origin: &str,
    members: impl Iterator<Item = (String, Name)>,
) -> io::Result<()> {
    let mut catalog = Zone::new(origin, 0, 0, false);
    let apex = Name::clone(&catalog.origin);
    // A catalog is not for resolvers: it has a name server that does not exist.
    catalog.add(&apex, Data::Ns("invalid.".into()));
    catalog.add(&format!("version.{origin}").into(), Data::Txt("2"));
    let members =
        members.map(|(id, zone)| Record { owner: member_name(&id, origin).into(), data: Data::Ptr(zone) });
    catalog.write(out, members)
}

/// The name whose PTR record is that of a member.
pub(crate) fn member_name(id: &str, origin: &str) -> String {
    format!("{id}.zones.{origin}")
}
