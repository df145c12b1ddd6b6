//! The program that responds from a table which was filled before it was attached.
//!
//! What is in the table is the caller's: here it is slots and chunks of bytes, laid out as
//! `ebpf/responder.bpf.c` reads them.

use std::fmt;
use std::net::SocketAddr;

use aya::maps::{Array, MapError, PerCpuArray};
use aya::{Ebpf, EbpfLoader, Pod, include_bytes_aligned};

use super::program::Attachment;
use super::{Attach, Attached, XdpError, other};
use crate::interface::Interface;

/// The settings that the program is loaded with. Mirrors `struct settings`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Settings {
    /// What hashes start from.
    pub seed: u64,
    /// The records of a negative response; the first two bytes are filled in by the program.
    pub negative: Records,
    /// The number of slots, a power of two, less 1.
    pub slot_mask: u32,
    /// How many of `addresses` count.
    pub address_count: u16,
    /// The length of the zone's name on the wire, in bytes.
    pub apex_length: u16,
    /// Not 0: every name is answered like the empty one.
    pub any_name: u16,
    /// Not 0: the table has wildcards.
    pub has_wildcards: u16,
    /// The UDP payload size in the OPT records of responses, in bytes.
    pub edns_size: u16,
    /// The longest IP packet of the interface, in bytes.
    pub mtu: u16,
    /// The addresses at which it answers.
    pub addresses: [Address; Settings::ADDRESSES_MAX],
}

impl Settings {
    /// How many addresses one program can answer at.
    pub const ADDRESSES_MAX: usize = 16;
}

/// An address and port as packets have them. Mirrors `struct address`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Address {
    ip: [u8; 16],
    port: [u8; 2],
    is_ipv6: u16,
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        let mut ip = [0; 16];
        match address {
            SocketAddr::V4(address) => ip[..4].copy_from_slice(&address.ip().octets()),
            SocketAddr::V6(address) => ip = address.ip().octets(),
        }
        Address { ip, port: address.port().to_be_bytes(), is_ipv6: u16::from(address.is_ipv6()) }
    }
}

/// Records as they go behind a question. Mirrors `struct records`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Records {
    /// Their last 8 bytes.
    pub last: [u8; 8],
    /// Their first chunk.
    pub at: u32,
    /// Their length in bytes: 0, or at least 8.
    pub length: u16,
    /// Their Internet checksum, not inverted, in the order of the packet.
    pub sum: [u8; 2],
    /// How many of them belong to the answer section, in network order.
    pub answers: [u8; 2],
    /// How many belong to the authority section, in network order.
    pub authorities: [u8; 2],
    /// The RCODE, at most 15.
    pub rcode: u8,
    /// A [`RecordsKind`].
    pub kind: u8,
    /// 1: a wildcard lies below the name.
    pub flags: u8,
    /// The length of the name on the wire, in bytes; at most 255.
    pub name_length: u8,
}

impl Records {
    /// The longest records that the program copies, in bytes.
    pub const LONGEST: usize = 19 * size_of::<Chunk>();
}

/// How the program treats [`Records`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RecordsKind {
    /// It copies them.
    Copied = 0,
    /// It copies [`Settings::negative`].
    Negative = 1,
    /// Passed up to the host, unless the client could not receive the response anyway.
    Passed = 2,
}

/// A place of the table. Mirrors `struct slot`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Slot {
    /// What it is found by; 0 where it is empty.
    pub key: u64,
    /// The first chunk of its name.
    pub name_at: u32,
    /// Nothing.
    pub unused: u32,
    /// How a query is answered.
    pub records: Records,
}

impl Slot {
    /// A key is looked for in this many places: from the upper half of the key on, under the mask.
    pub const PROBES: u32 = 8;
}

/// A piece of a name or of records, filled up with 0.
pub type Chunk = [u8; 64];

/// What became of queries. Mirrors `struct counts`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Counts {
    /// Answered NOERROR, with answer records or with TC=1.
    pub found: u64,
    /// Answered NOERROR without an answer record.
    pub nodata: u64,
    /// Answered NXDOMAIN.
    pub nxdomain: u64,
    /// Of all these, with TC=1.
    pub truncated: u64,
    /// Passed up: more than a plain question.
    pub passed_form: u64,
    /// Passed up: a name or type that the table does not know.
    pub passed_name: u64,
    /// Passed up: the response does not fit into the table or the packet.
    pub passed_size: u64,
}

/// What a CPU counts and works with. Mirrors `struct desk`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Desk {
    counts: Counts,
    words: [u64; 32],
    query: [u64; 5],
    records: [u64; 3],
}

// SAFETY: C structs of integers and bytes without implicit padding; every bit pattern is a value.
unsafe impl Pod for Settings {}
// SAFETY: as above.
unsafe impl Pod for Slot {}
// SAFETY: as above.
unsafe impl Pod for Desk {}

/// The program on its interface.
pub struct Respond {
    program: Attachment,
}

impl Respond {
    /// Loads the program, fills its table and attaches it. `slots` are as many as
    /// [`Settings::slot_mask`] says.
    ///
    /// On a pair of veth interfaces responses arrive only while an XDP program is attached to
    /// the other end as well: with GRO alone they lie there until something else wakes it.
    pub fn attach(
        interface: &Interface,
        attach: Attach,
        settings: &Settings,
        slots: &[Slot],
        chunks: &[Chunk],
    ) -> Result<Self, XdpError> {
        let mut loader = EbpfLoader::new();
        loader
            .override_global("SETTINGS", settings, true)
            .map_max_entries("SLOTS", slots.len().max(1) as u32)
            .map_max_entries("CHUNKS", chunks.len().max(1) as u32);
        let fill = |loaded: &mut Ebpf| {
            let used = |slot: &&Slot| slot.key != 0;
            let places = (0..).zip(slots).filter(|(_, slot)| used(slot));
            fill(loaded, "SLOTS", places, interface)?;
            fill(loaded, "CHUNKS", (0..).zip(chunks), interface)
        };
        let program = Attachment::prepared(&mut loader, RESPONDER, "respond", interface, attach, fill)?;
        Ok(Respond { program })
    }

    /// Where it runs.
    pub fn attached(&self) -> Attached {
        self.program.attached
    }

    /// Detaches it from the interface; its counters can still be read.
    pub fn detach(&mut self) {
        self.program.detach();
    }

    /// What it has done since it was attached, on all CPUs.
    pub fn counts(&self) -> Counts {
        let desks = self.program.loaded.map("DESK");
        let desks = desks.and_then(|map| PerCpuArray::<_, Desk>::try_from(map).ok());
        let desks = desks.and_then(|desks| desks.get(&0, 0).ok());
        desks.map_or_else(Counts::default, |desks| {
            desks.iter().fold(Counts::default(), |sum, desk| sum.plus(&desk.counts))
        })
    }
}

impl fmt::Debug for Respond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Respond").field("attached", &self.program.attached).finish_non_exhaustive()
    }
}

impl Counts {
    /// Queries that were answered.
    pub fn answered(&self) -> u64 {
        self.found + self.nodata + self.nxdomain
    }

    /// Queries that were recognised as ours and passed up.
    pub fn passed(&self) -> u64 {
        self.passed_form + self.passed_name + self.passed_size
    }

    fn plus(self, other: &Counts) -> Counts {
        Counts {
            found: self.found + other.found,
            nodata: self.nodata + other.nodata,
            nxdomain: self.nxdomain + other.nxdomain,
            truncated: self.truncated + other.truncated,
            passed_form: self.passed_form + other.passed_form,
            passed_name: self.passed_name + other.passed_name,
            passed_size: self.passed_size + other.passed_size,
        }
    }
}

fn fill<'a, T: Pod>(
    loaded: &mut Ebpf,
    name: &'static str,
    values: impl Iterator<Item = (u32, &'a T)>,
    interface: &Interface,
) -> Result<(), XdpError> {
    let failed = |error: MapError| other(interface.name(), "filling a map", error);
    let map = loaded.map_mut(name).ok_or(XdpError::OtherObject)?;
    let mut array = Array::<_, T>::try_from(map).map_err(failed)?;
    for (index, value) in values {
        array.set(index, value, 0).map_err(failed)?;
    }
    Ok(())
}

/// The object that `scripts/build-ebpf` made.
const RESPONDER: &[u8] = include_bytes_aligned!("../../../../ebpf/objects/responder.o");
