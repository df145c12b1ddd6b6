//! A zone: its SOA, name servers and records, and its file.

use std::fmt::Display;
use std::io::{self, Write};
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::DataError;
use crate::record::{Data, Name, Record, Soa};

/// A zone with one TTL for all records.
#[derive(Debug, Clone)]
pub(crate) struct Zone {
    /// With the final dot.
    pub(crate) origin: Name,
    pub(crate) ttl_s: u32,
    pub(crate) serial: u32,
    /// All but the SOA.
    pub(crate) records: Vec<Record>,
}

impl Zone {
    /// A zone with its name servers `ns01`, `ns02` … and their addresses.
    pub(crate) fn new(origin: &str, ttl_s: u32, name_servers: u32, dual_stack: bool) -> Self {
        let origin: Name = origin.into();
        let mut zone = Zone { ttl_s, serial: 1, records: Vec::new(), origin };
        for number in 1..=name_servers {
            let name: Name = format!("ns{number:02}.{}", zone.origin).into();
            let apex = Name::clone(&zone.origin);
            zone.add(&apex, Data::Ns(Name::clone(&name)));
            zone.add(&name, Data::A(Ipv4Addr::from(FIRST_SERVER_V4 + number)));
            if dual_stack {
                zone.add(&name, Data::Aaaa(Ipv6Addr::from(FIRST_SERVER_V6 + u128::from(number))));
            }
        }
        zone
    }

    pub(crate) fn add(&mut self, owner: &Name, data: Data) {
        self.records.push(Record::new(owner, data));
    }

    /// The SOA record; its server is the first name server.
    pub(crate) fn soa(&self) -> Record {
        let server = self.records.iter().find_map(|record| match &record.data {
            Data::Ns(name) => Some(Name::clone(name)),
            _ => None,
        });
        let server = server.unwrap_or_else(|| Name::clone(&self.origin));
        // A zone without a name server of its own (a catalog) has no mailbox either.
        let mailbox = match server.ends_with(&*self.origin) {
            true => format!("hostmaster.{}", self.origin).into(),
            false => Name::clone(&server),
        };
        let soa = Soa { server, mailbox, serial: self.serial, negative_ttl_s: self.ttl_s };
        Record::new(&self.origin, Data::Soa(soa))
    }

    /// Writes its zone file, with further records of the zone.
    pub(crate) fn write(&self, out: &mut dyn Write, more: impl Iterator<Item = Record>) -> io::Result<()> {
        writeln!(out, "$ORIGIN {}", self.origin)?;
        self.write_for_any_origin(out, more)
    }

    /// Writes its zone file for any origin: all names are relative.
    pub(crate) fn write_for_any_origin(
        &self,
        out: &mut dyn Write,
        more: impl Iterator<Item = Record>,
    ) -> io::Result<()> {
        writeln!(out, "$TTL {}\n{}", self.ttl_s, self.soa().line(&self.origin))?;
        let mut line = |line: &dyn Display| writeln!(out, "{line}");
        self.records.iter().try_for_each(|record| line(&record.line(&self.origin)))?;
        more.into_iter().try_for_each(|record| line(&record.line(&self.origin)))
    }

    /// Writes the zone file of all that it has.
    pub(crate) fn write_all(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write(out, std::iter::empty())
    }
}

/// Refuses a TTL that no record can have.
pub(crate) fn check_ttl(ttl_s: u32) -> Result<(), DataError> {
    match ttl_s <= MOST_TTL_S {
        true => Ok(()),
        false => Err(DataError::Option(format!("--ttl: a TTL is at most {MOST_TTL_S} seconds (RFC 2181)"))),
    }
}

const MOST_TTL_S: u32 = i32::MAX as u32;

/// Before the addresses of name servers, which are for documentation (RFC 5737, RFC 3849): no load goes there.
const FIRST_SERVER_V4: u32 = u32::from_be_bytes([192, 0, 2, 0]);
const FIRST_SERVER_V6: u128 = 0x2001_0db8 << 96;
