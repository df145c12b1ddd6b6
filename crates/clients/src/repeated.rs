//! Responses that are the same, octet for octet but for their ID, as one read before: they say the same.
//!
//! An authoritative server that does not shuffle its records answers a question with the same octets each time, and to
//! compare them takes a tenth of the time that reading takes. They are compared by a hash of 64 bits with a secret key.

use dnsdyno_measure::CachingClients;
use hashbrown::{DefaultHashBuilder, HashMap};
use std::hash::BuildHasher;
use std::ops::Range;

use crate::ids::{BundleId, QuestionId};
use crate::response::{Held, Reader, Said, Useless, Wanted};
use crate::sets::Known;

/// When more sets than this are kept, all are forgotten, and kept anew from then on. They take 12 MB.
const MOST_HELD: usize = 1 << 20;

/// What a response said.
#[derive(Debug, Clone, Copy)]
struct Repeated {
    bundle: BundleId,
    said: Said,
    /// How many of its records were ignored.
    ignored: u64,
    from: u32,
    length: u32,
}

/// Reads responses, each that is repeated once.
#[derive(Debug, Default)]
pub(crate) struct Responses {
    reader: Reader,
    by_hash: HashMap<u64, Repeated>,
    held: Vec<Held>,
    /// Where the sets of the last response are in `held`.
    last: Range<usize>,
    hasher: DefaultHashBuilder,
}

impl Responses {
    /// Reads a response to the question `asked`, and counts what it says. After it [`held`](Self::held) has its sets.
    pub(crate) fn read(
        &mut self,
        message: &[u8],
        asked: QuestionId,
        wanted: &Wanted,
        known: &mut Known,
        counts: &mut CachingClients,
    ) -> Result<BundleId, Useless> {
        let hash = self.hasher.hash_one((asked, message.get(2..)));
        let repeated = match self.by_hash.get(&hash) {
            Some(repeated) => {
                counts.ignored += repeated.ignored;
                *repeated
            }
            None => {
                let before = counts.ignored;
                let (bundle, said) = self.reader.read(message, asked, wanted, known, counts)?;
                self.keep(hash, bundle, said, counts.ignored - before)
            }
        };
        match repeated.said {
            Said::Records => counts.answers += 1,
            Said::NoName => counts.no_name += 1,
            Said::NoData => counts.no_data += 1,
        }
        self.last = repeated.from as usize..(repeated.from + repeated.length) as usize;
        Ok(repeated.bundle)
    }

    /// The sets of the response that was read last, with that of the question at their end: so it is stored last, and
    /// the others of the response do not evict it from a small cache.
    pub(crate) fn held(&self) -> &[Held] {
        self.held.get(self.last.clone()).unwrap_or_default()
    }

    fn keep(&mut self, hash: u64, bundle: BundleId, said: Said, ignored: u64) -> Repeated {
        let held = self.reader.held();
        if self.held.len() + held.len() > MOST_HELD {
            self.by_hash.clear();
            self.held.clear();
        }
        let (from, length) = (self.held.len() as u32, held.len() as u32);
        self.held.extend_from_slice(held);
        let repeated = Repeated { bundle, said, ignored, from, length };
        self.by_hash.insert(hash, repeated);
        repeated
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::description::Lookups;

    #[test]
    fn a_response_with_another_id_is_read_once_and_counted_twice() {
        let naptr = b"\xc0\x0c\0\x23\0\x01\0\0\0\x3c\0\x0c\0\x01\0\x01\x01u\x00\x03!a!\0";
        let message = [&b"\0\x01\x84\0\0\x01\0\x01\0\0\0\0\x03www\0\0\x23\0\x01"[..], naptr].concat();
        let (mut responses, mut known, mut counts) =
            (Responses::default(), Known::default(), CachingClients::default());
        let wanted = Wanted::Gateways(Lookups::default());
        let asked = known.names.question_of_wire(b"\x03www\0\0\x23\0\x01").unwrap();
        let mut read = |message: &[u8], responses: &mut Responses| {
            responses.read(message, asked, &wanted, &mut known, &mut counts)
        };
        let first = read(&message, &mut responses);
        let held = responses.held().to_vec();
        let second = read(&[&[9, 9], &message[2..]].concat(), &mut responses);
        assert_eq!((first, held.as_slice()), (second, responses.held()));
        assert_eq!((held.len(), responses.by_hash.len()), (1, 1));
        let other = [&message[..message.len() - naptr.len() + 9], &[5], &naptr[10..]].concat();
        read(&other, &mut responses).unwrap();
        assert_eq!((responses.held()[0].ttl_s, held[0].ttl_s), (5, 60));
        // A broken one is never kept.
        assert_eq!(read(&message[..40], &mut responses), Err(Useless::Malformed));
        assert_eq!(read(&message[..40], &mut responses), Err(Useless::Malformed));
        assert_eq!((counts.answers, counts.ignored), (3, 3));
    }
}
