//! Integers and strings as HPACK and QPACK write them (RFC 7541, 5; RFC 9204, 4.1).

use crate::huffman;

/// Reads an integer whose first octet has `bits` bits of it. `None` where it is not complete, or longer than anything
/// that it could be the length of.
#[inline]
pub fn read_integer(rest: &mut &[u8], bits: u32) -> Option<usize> {
    let (first, mut after) = rest.split_first()?;
    let most = (1usize << bits) - 1;
    let mut value = usize::from(*first) & most;
    if value == most {
        let mut shift = 0;
        loop {
            let (byte, further) = after.split_first()?;
            after = further;
            value += usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
            // More than four octets are longer than any header may be.
            if shift > 21 {
                return None;
            }
        }
    }
    *rest = after;
    Some(value)
}

/// Reads a string into `text`. Its length has `bits` bits in the first octet; the bit before them says whether it is in
/// the Huffman code.
#[inline]
pub fn read_string(rest: &mut &[u8], bits: u32, text: &mut Vec<u8>) -> Option<()> {
    let is_huffman = rest.first()? & (1 << bits) != 0;
    let length = read_integer(rest, bits)?;
    let (bytes, after) = rest.split_at_checked(length)?;
    *rest = after;
    text.clear();
    if is_huffman {
        return huffman::decode(bytes, text);
    }
    text.extend_from_slice(bytes);
    Some(())
}

/// Appends an integer whose first octet has `bits` bits of it, beside these `flags`.
#[inline]
pub fn put_integer(block: &mut Vec<u8>, flags: u8, bits: u32, value: usize) {
    let most = (1usize << bits) - 1;
    if value < most {
        return block.push(flags | value as u8);
    }
    block.push(flags | most as u8);
    let mut left = value - most;
    while left >= 0x80 {
        block.push(left as u8 | 0x80);
        left >>= 7;
    }
    block.push(left as u8);
}

/// Appends a string as it is, its length with 7 bits in the first octet.
#[inline]
pub fn put_string(block: &mut Vec<u8>, text: &[u8]) {
    put_integer(block, 0, 7, text.len());
    block.extend_from_slice(text);
}

/// Appends a number in decimal digits as a string.
#[inline]
pub fn put_decimal(block: &mut Vec<u8>, number: usize) {
    let (mut digits, mut at, mut left) = ([0; 20], 20, number);
    loop {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    put_string(block, &digits[at..]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            bits in 1..8u32,
            value in 0..1usize << 28,
            text in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let mut block = Vec::new();
            put_integer(&mut block, 0, bits, value);
            put_string(&mut block, &text);
            put_decimal(&mut block, value);
            let (mut rest, mut read) = (&block[..], Vec::new());
            prop_assert_eq!(read_integer(&mut rest, bits), Some(value));
            prop_assert_eq!(read_string(&mut rest, 7, &mut read), Some(()));
            prop_assert_eq!(&read, &text);
            prop_assert_eq!(read_string(&mut rest, 7, &mut read), Some(()));
            prop_assert_eq!(String::from_utf8_lossy(&read), value.to_string());
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn what_is_cut_is_refused(bits in 1..8u32, value in 0..1usize << 28) {
            let mut block = Vec::new();
            put_integer(&mut block, 0, bits, value);
            prop_assert_eq!(read_integer(&mut &block[..block.len() - 1], bits), None);
        }
    }

    #[test]
    fn an_integer_that_is_no_length_of_anything_is_refused() {
        assert_eq!(
            read_integer(&mut &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f][..], 7),
            None
        );
        assert_eq!(read_string(&mut &[0x7f, 0xff, 0xff, 0xff, 0x7f, b'x'][..], 7, &mut Vec::new()), None);
    }
}
