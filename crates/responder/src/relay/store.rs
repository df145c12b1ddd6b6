//! Memory for what is held: slots of four sizes, in pieces that are allocated as they are needed and used again.
//!
//! A packet costs no allocation of its own, and all slots together are bounded: a path that is given more than it can
//! hold drops, and says so, instead of taking the memory of the host.

/// The slots.
#[derive(Debug)]
pub(crate) struct Store {
    sizes: [Slots; SIZES.len()],
    /// Octets that may still be allocated.
    left: usize,
}

/// The slots of one size.
#[derive(Debug)]
struct Slots {
    size: usize,
    pieces: Vec<Box<[u8]>>,
    free: Vec<u32>,
}

/// Where octets are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    size: u8,
    slot: u32,
    length: u32,
}

impl Store {
    /// An empty store of at most `most` octets, rounded down to whole pieces.
    pub(crate) fn new(most: usize) -> Store {
        Store { sizes: SIZES.map(|size| Slots { size, pieces: Vec::new(), free: Vec::new() }), left: most }
    }

    /// Keeps a copy of `bytes`, at most [`LONGEST`]; `None` where no slot is left that they fit into.
    #[inline]
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Option<Place> {
        for (number, slots) in self.sizes.iter_mut().enumerate() {
            if bytes.len() > slots.size {
                continue;
            }
            if slots.free.is_empty() {
                slots.grow(&mut self.left);
            }
            let Some(slot) = slots.free.pop() else { continue };
            let place = Place { size: number as u8, slot, length: bytes.len() as u32 };
            slots.of(place)?.copy_from_slice(bytes);
            return Some(place);
        }
        None
    }

    /// What is kept there.
    #[inline]
    pub(crate) fn get(&self, place: Place) -> &[u8] {
        let found = self.sizes.get(usize::from(place.size)).and_then(|slots| {
            let (piece, start) = slots.position(place);
            slots.pieces.get(piece)?.get(start..start + place.length as usize)
        });
        found.unwrap_or_default()
    }

    /// Gives the slot back.
    #[inline]
    pub(crate) fn free(&mut self, place: Place) {
        if let Some(slots) = self.sizes.get_mut(usize::from(place.size)) {
            slots.free.push(place.slot);
        }
    }

    /// Whether `length` octets can be kept.
    pub(crate) fn has_room(&self, length: usize) -> bool {
        let fits = |slots: &&Slots| slots.size >= length;
        self.sizes.iter().filter(fits).any(|slots| !slots.free.is_empty() || self.left >= PIECE)
    }
}

impl Slots {
    /// Allocates one piece more, where that is allowed.
    fn grow(&mut self, left: &mut usize) {
        let Some(rest) = left.checked_sub(PIECE) else { return };
        *left = rest;
        let first = self.pieces.len() * self.in_a_piece();
        self.pieces.push(vec![0; PIECE].into());
        self.free.extend((first..first + self.in_a_piece()).rev().map(|slot| slot as u32));
    }

    fn in_a_piece(&self) -> usize {
        PIECE / self.size
    }

    fn position(&self, place: Place) -> (usize, usize) {
        let slot = place.slot as usize;
        (slot / self.in_a_piece(), slot % self.in_a_piece() * self.size)
    }

    fn of(&mut self, place: Place) -> Option<&mut [u8]> {
        let (piece, start) = self.position(place);
        self.pieces.get_mut(piece)?.get_mut(start..start + place.length as usize)
    }
}

/// Octets of a slot: a query or a short answer, a packet of Ethernet, a piece of a stream, the longest datagram.
const SIZES: [usize; 4] = [256, 1_536, 16_384, LONGEST];

/// The most that one slot holds: more than a UDP datagram can have.
pub(crate) const LONGEST: usize = 65_536;

/// Octets of the smallest slot: what most DNS messages take.
pub(crate) const SMALLEST: usize = SIZES[0];

/// Octets that are allocated at a time. The kernel gives their memory page by page, when it is first used.
pub(crate) const PIECE: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_returned_whatever_its_length() {
        let mut store = Store::new(64 * PIECE);
        let lengths = [0, 1, 255, 256, 257, 1_536, 1_537, 16_384, 16_385, 65_507, LONGEST];
        let messages: Vec<Vec<u8>> =
            lengths.iter().enumerate().map(|(i, n)| (0..*n).map(|at| (at * 7 + i) as u8).collect()).collect();
        let places: Vec<Place> = messages.iter().map(|bytes| store.put(bytes).unwrap()).collect();
        for (place, bytes) in places.iter().zip(&messages) {
            assert_eq!(store.get(*place), bytes);
        }
        assert_eq!(store.put(&[0; LONGEST + 1]), None);
    }

    #[test]
    fn its_memory_is_bounded_and_used_again() {
        let mut store = Store::new(2 * PIECE + PIECE / 2);
        let message = [7; 100];
        let mut places = Vec::new();
        while let Some(place) = store.put(&message) {
            places.push(place);
        }
        assert_eq!(places.len(), 2 * PIECE / SMALLEST);
        assert!(!store.has_room(100) && !store.has_room(1_000));
        // A slot that was given back is enough for a short one, and not for a long one.
        store.free(places.pop().unwrap());
        assert!(store.has_room(100) && !store.has_room(1_000));
        assert_eq!(store.put(&[8; 1_000]), None);
        let again = store.put(&[9; 100]).unwrap();
        assert_eq!(store.get(again), [9; 100]);
        assert!(places.iter().all(|place| store.get(*place) == message));
    }

    #[test]
    fn a_short_message_takes_a_long_slot_before_it_is_dropped() {
        let mut store = Store::new(PIECE);
        let long = store.put(&[1; 10_000]).unwrap();
        let short = store.put(&[2; 10]).unwrap();
        assert_eq!((store.get(long).len(), store.get(short)), (10_000, &[2; 10][..]));
    }
}
