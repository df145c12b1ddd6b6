//! Fragments of IP datagrams, put together.

use std::collections::HashMap;
use std::net::IpAddr;

use dnsdyno_measure::{CaptureCounts, SkipReason};
use etherparse::IpNumber;
use etherparse::defrag::IpDefragBuf;

use crate::link::Fragment;

/// The datagrams of which not all fragments were captured yet.
#[derive(Default)]
pub(crate) struct Fragments {
    open: HashMap<Key, Datagram>,
    opened: u64,
}

/// What the fragments of a datagram have in common (RFC 791, RFC 8200).
type Key = (IpAddr, IpAddr, u32, IpNumber);

struct Datagram {
    so_far: IpDefragBuf,
    /// Frames: a fragment within a tunnel may itself be of several.
    frames: u64,
    /// Its place in the order in which datagrams were opened.
    number: u64,
    at_unix_ns: u64,
}

impl Fragments {
    /// Adds a fragment, which was in so many frames; gives what the datagram carries when it is complete, and in how
    /// many frames it was.
    pub(crate) fn add(
        &mut self,
        addresses: (IpAddr, IpAddr),
        fragment: &Fragment<'_>,
        (at_unix_ns, frames): (u64, u64),
        counts: &mut CaptureCounts,
    ) -> Option<(Vec<u8>, u64)> {
        let key = (addresses.0, addresses.1, fragment.identification, fragment.protocol);
        if self.open.get(&key).is_some_and(|open| at_unix_ns.abs_diff(open.at_unix_ns) > LONGEST_WAIT_NS) {
            self.forget(key, counts);
        }
        if !self.open.contains_key(&key) {
            self.make_room(counts);
        }
        let datagram = self.open.entry(key).or_insert_with(|| {
            self.opened += 1;
            Datagram {
                so_far: IpDefragBuf::new(fragment.protocol, Vec::new(), Vec::new()),
                frames: 0,
                number: self.opened,
                at_unix_ns,
            }
        });
        datagram.frames += frames;
        if datagram.so_far.add(fragment.offset, fragment.more_follow, fragment.payload).is_err() {
            // It contradicts the others: none of them can be believed.
            self.forget(key, counts);
            return None;
        }
        if !datagram.so_far.is_complete() {
            return None;
        }
        self.open.remove(&key).map(|datagram| (datagram.so_far.take_bufs().0, datagram.frames))
    }

    /// Counts what was never completed.
    pub(crate) fn finish(&mut self, counts: &mut CaptureCounts) {
        let frames = self.open.drain().map(|(_, datagram)| datagram.frames).sum();
        counts.skipped.add(SkipReason::Fragment, frames);
    }

    fn make_room(&mut self, counts: &mut CaptureCounts) {
        if self.open.len() < MAX_OPEN {
            return;
        }
        let oldest = self.open.iter().min_by_key(|(_, datagram)| datagram.number).map(|(key, _)| *key);
        if let Some(key) = oldest {
            counts.forgotten += 1;
            self.forget(key, counts);
        }
    }

    fn forget(&mut self, key: Key, counts: &mut CaptureCounts) {
        let frames = self.open.remove(&key).map_or(0, |datagram| datagram.frames);
        counts.skipped.add(SkipReason::Fragment, frames);
    }
}

/// With 64 kB each at most 16 MiB.
const MAX_OPEN: usize = 256;

/// After this a system has forgotten a fragment and may use its identification again (RFC 8200, 4.5).
const LONGEST_WAIT_NS: u64 = 60_000_000_000;
