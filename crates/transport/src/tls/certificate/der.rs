//! DER (ITU-T X.690), as far as certificates need it: elements with definite lengths, one after another.

/// An element: its tag, and what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Element<'a> {
    pub(super) tag: u8,
    pub(super) content: &'a [u8],
}

impl<'a> Element<'a> {
    /// The elements in this one.
    pub(super) fn elements(self) -> Elements<'a> {
        Elements(self.content)
    }
}

/// Elements that are read in turn. They end at the first one that is broken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elements<'a>(pub(super) &'a [u8]);

impl<'a> Elements<'a> {
    /// The next element, if it has this tag; else nothing is read.
    pub(super) fn next_of(&mut self, tag: u8) -> Option<Element<'a>> {
        let mut rest = *self;
        let element = rest.next().filter(|element| element.tag == tag)?;
        *self = rest;
        Some(element)
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Element<'a>;

    fn next(&mut self) -> Option<Element<'a>> {
        let (&[tag, first], rest) = self.0.split_first_chunk()?;
        if tag & MULTIPLE_OCTETS == MULTIPLE_OCTETS {
            return None;
        }
        // Below 128 it is the length itself, else the number of octets that hold it; 0 of them is BER's.
        let (octets, rest) = match first & !LONG {
            number if first & LONG != 0 => rest.split_at_checked(usize::from(number))?,
            _ => (&[][..], rest),
        };
        let length = match octets {
            [] if first & LONG == 0 => usize::from(first),
            [] => return None,
            octets if octets.len() > LONGEST_LENGTH => return None,
            octets => octets.iter().fold(0, |length, octet| length << 8 | usize::from(*octet)),
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some(Element { tag, content })
    }
}

pub(super) const BOOLEAN: u8 = 0x01;
pub(super) const INTEGER: u8 = 0x02;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const OBJECT_IDENTIFIER: u8 = 0x06;
pub(super) const BMP_STRING: u8 = 0x1e;
pub(super) const UTC_TIME: u8 = 0x17;
pub(super) const GENERALIZED_TIME: u8 = 0x18;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;

/// The tags of texts whose octets are UTF-8, or ASCII: UTF8String, NumericString, PrintableString, TeletexString,
/// VideotexString, IA5String, GraphicString, VisibleString, GeneralString.
pub(super) const TEXTS: [u8; 9] = [0x0c, 0x12, 0x13, 0x14, 0x15, 0x16, 0x19, 0x1a, 0x1b];

/// The tag of field `number` that is given by its number; `constructed` where elements are in it.
pub(super) const fn field(number: u8, constructed: bool) -> u8 {
    0x80 | number | if constructed { 0x20 } else { 0 }
}

/// The bits of a tag that has more octets, which certificates do not have.
const MULTIPLE_OCTETS: u8 = 0x1f;

/// The bit of a length that has octets of its own.
const LONG: u8 = 0x80;

/// Octets of the length of what fits into memory.
const LONGEST_LENGTH: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_read_in_turn_and_end_at_a_broken_one() {
        let long = [&[OCTET_STRING, 0x81, 130][..], &[7; 130]].concat();
        let bytes = [&[SEQUENCE, 3, INTEGER, 1, 5][..], &long, &[INTEGER, 9, 1]].concat();
        let mut elements = Elements(&bytes);
        assert_eq!(elements.next_of(SET), None);
        let sequence = elements.next_of(SEQUENCE).unwrap();
        assert_eq!(sequence.elements().next(), Some(Element { tag: INTEGER, content: &[5] }));
        assert_eq!(elements.next().unwrap().content.len(), 130);
        assert_eq!((elements.next(), elements.next()), (None, None));
    }

    #[test]
    fn lengths_without_an_end_or_beyond_the_octets_are_broken() {
        let broken = [
            &[SEQUENCE][..],
            &[SEQUENCE, 0x80, 0, 0],
            &[SEQUENCE, 0x85, 0, 0, 0, 0, 1, 9],
            &[0x1f, 1, 0],
            &[4, 0x82, 1],
        ];
        for bytes in broken {
            assert_eq!(Elements(bytes).next(), None, "{bytes:02x?}");
        }
    }
}
