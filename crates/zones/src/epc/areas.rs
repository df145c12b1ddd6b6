//! Tracking areas: which gateways serve them, in which order.
//!
//! The name of a tracking area has the low byte of its code first, so that one wildcard stands for all codes with the
//! same high byte: one RRset at the server, and up to 256 in the cache of a client.

use crate::epc::fleet::{FIRST_CHOICE, Fleet, Node, REGION, SITE, naptr, with_suffix};
use crate::epc::options::EpcOptions;
use crate::record::{Name, Record};

/// A name with the records of tracking areas.
#[derive(Debug)]
pub(super) struct Area {
    /// The name, or a wildcard.
    pub(super) owner: Name,
    /// The name that a client asks for; of a wildcard, one of them.
    pub(super) asked: Name,
    /// The high byte, and the low byte if it is that of one area.
    pub(super) bytes: (u8, Option<u8>),
    /// Its place in the list of areas, which decides on the nearest site.
    index: usize,
}

/// The codes, ascending in each high byte. They are spread over high bytes from 10 (hexadecimal) on, as long as there
/// are more: 64 codes each.
pub(super) fn codes(tacs: u32) -> Vec<u16> {
    let high_bytes = tacs.div_ceil(CODES_A_BYTE).min(256);
    let mut codes = Vec::new();
    for place in 0..high_bytes {
        let high = ((FIRST_HIGH_BYTE + place) % 256) << 8;
        // What is left is spread evenly over the high bytes that are left.
        let done = u32::try_from(codes.len()).unwrap_or(u32::MAX);
        let wanted = (tacs - done.min(tacs)).div_ceil(high_bytes - place) as usize;
        let valid = (1..=256).map(|low| high + low % 256).filter(|code| !RESERVED.contains(code));
        codes.extend(valid.take(wanted).filter_map(|code| u16::try_from(code).ok()));
    }
    codes
}

/// The names that these codes have records at.
pub(super) fn areas(options: &EpcOptions, codes: &[u16], origin: &str) -> Vec<Area> {
    let mut areas: Vec<Area> = Vec::new();
    for code in codes {
        let [high, low] = code.to_be_bytes();
        let asked: Name = format!("tac-lb{low:02x}.tac-hb{high:02x}.tac.{origin}").into();
        let index = areas.len();
        if options.each_tac {
            areas.push(Area { owner: Name::clone(&asked), asked, bytes: (high, Some(low)), index });
        } else if areas.last().is_none_or(|last| last.bytes.0 != high) {
            let owner = format!("*.tac-hb{high:02x}.tac.{origin}").into();
            areas.push(Area { owner, asked, bytes: (high, None), index });
        }
    }
    areas
}

impl Area {
    /// The answer with `count` records: the area's MMEs, then its serving gateways from the nearest on, some of them
    /// with several hosts if there are fewer gateways than records. After a change half as many again.
    pub(super) fn answer(&self, fleet: &Fleet, count: usize, after: bool) -> Vec<Record> {
        let home = self.index % fleet.sites();
        let mmes = MMES_AN_AREA.min(fleet.mmes.len()).min(count - 1);
        let mut answer: Vec<Record> = (0..mmes)
            .filter_map(|at| fleet.mmes.get((self.index * MMES_AN_AREA + at) % fleet.mmes.len()))
            .map(|mme| naptr(&self.owner, FIRST_CHOICE, "a", "x-3gpp-mme:x-s3:x-s10", &mme.host("s10")))
            .collect();
        let before = fleet.sgws_of(false);
        let gateways = count - mmes;
        answer.extend((0..gateways).map(|at| self.candidate(before, home, home * SITE, at)));
        if after && let Some(added) = fleet.sgws.get(fleet.sgws_before..).filter(|added| !added.is_empty()) {
            answer.extend((0..count / 2).map(|at| self.candidate(added, home, self.index, at)));
        }
        answer
    }

    /// The candidate at a place of the list that begins with the gateway `first`.
    fn candidate(&self, gateways: &[Node], home: usize, first: usize, at: usize) -> Record {
        // Indices are taken modulo the length.
        let gateway = &gateways[(first + at) % gateways.len()];
        let (order, preference) = match () {
            () if gateway.site == home => FIRST_CHOICE,
            () if gateway.region() == home / REGION => (100, 65_400),
            () => (200, 65_510),
        };
        let host = gateway.host(&interface(at / gateways.len()));
        let service = with_suffix(SERVING, gateway.suffix);
        naptr(&self.owner, (order, preference), "a", &service, &host)
    }
}

/// How many hosts for S5 each of `gateways` has if an answer names so many.
pub(super) fn hosts_each(count: usize, gateways: usize) -> usize {
    count.div_ceil(gateways)
}

/// The label of the S5 interface of a gateway: its further hosts are numbered.
pub(super) fn interface(number: usize) -> String {
    if number == 0 { "s5".to_owned() } else { format!("s5-{number:02}") }
}

/// The service of a serving gateway in the answer for a tracking area.
const SERVING: &str = "x-3gpp-sgw:x-s5-gtp:x-s8-gtp";

const CODES_A_BYTE: u32 = 64;
const FIRST_HIGH_BYTE: u32 = 0x10;
const RESERVED: [u32; 2] = [0x0000, 0xfffe];
const MMES_AN_AREA: usize = 2;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::epc::options::MOST_TACS;

    #[test]
    fn codes_are_distinct_and_never_reserved_up_to_the_last_one() {
        for tacs in [1, 63, 64, 65, 200, 1_000, 16_384, 20_000, 65_280, MOST_TACS] {
            let codes = codes(tacs);
            let distinct: HashSet<u16> = codes.iter().copied().collect();
            assert_eq!((codes.len(), distinct.len()), (tacs as usize, tacs as usize));
            assert!(!distinct.contains(&0) && !distinct.contains(&0xfffe));
        }
        let bytes: HashSet<u8> = codes(200).iter().map(|code| code.to_be_bytes()[0]).collect();
        assert_eq!(bytes, HashSet::from([0x10, 0x11, 0x12, 0x13]));
    }
}
