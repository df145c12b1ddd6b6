//! Decodes the Huffman code of HPACK and QPACK (RFC 7541, appendix B).
//!
//! The code is canonical: the lengths of the codes define the codes, because those of one length are
//! consecutive in the order of their symbols.

/// Appends the decoded text to `out`; `None` where `bytes` are invalid.
pub(crate) fn decode(bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (mut code, mut length) = (0u32, 0usize);
    for byte in bytes {
        for bit in (0..8).rev() {
            code = code << 1 | u32::from(byte >> bit & 1);
            length += 1;
            if length > LONGEST {
                return None;
            }
            let Level { first_code, first_place, count } = LEVELS[length];
            let place = code.wrapping_sub(first_code);
            if place < count {
                // The end-of-string symbol must not occur.
                out.push(u8::try_from(SYMBOLS[(first_place + place) as usize]).ok()?);
                (code, length) = (0, 0);
            }
        }
    }
    // The last byte is filled with the first bits of the end-of-string symbol, which are ones.
    (length < 8 && code == (1 << length) - 1).then_some(())
}

/// The codes of one length.
#[derive(Clone, Copy)]
struct Level {
    first_code: u32,
    /// Where their symbols start among all.
    first_place: u32,
    count: u32,
}

/// All symbols, those with the shortest codes first.
const SYMBOLS: [u16; 257] = {
    let mut symbols = [0; 257];
    let (mut place, mut length) = (0, 1);
    while length <= LONGEST {
        let mut symbol = 0;
        while symbol < 257 {
            if LENGTHS[symbol] as usize == length {
                symbols[place] = symbol as u16;
                place += 1;
            }
            symbol += 1;
        }
        length += 1;
    }
    symbols
};

const LEVELS: [Level; LONGEST + 1] = {
    let mut levels = [Level { first_code: 0, first_place: 0, count: 0 }; LONGEST + 1];
    let (mut code, mut place, mut length) = (0, 0, 1);
    while length <= LONGEST {
        let (mut count, mut symbol) = (0, 0);
        while symbol < 257 {
            count += (LENGTHS[symbol] as usize == length) as u32;
            symbol += 1;
        }
        levels[length] = Level { first_code: code, first_place: place, count };
        code = (code + count) << 1;
        place += count;
        length += 1;
    }
    levels
};

const LONGEST: usize = 30;

/// The length of each byte's code in bits, and of the end-of-string symbol's.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28,
    28, 28, 28,
    // From the space on:
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    // From @ on:
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    // From ` on:
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    // Beyond ASCII:
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22,
    23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22,
    22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27,
    24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26,
    27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    // End of string:
    30,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> Option<String> {
        let mut out = Vec::new();
        decode(bytes, &mut out).map(|()| String::from_utf8_lossy(&out).into_owned())
    }

    #[test]
    fn the_examples_of_the_standard_are_read() {
        let cases: [(&[u8], &str); 5] = [
            (&[0x64, 0x02], "302"),
            (&[0xae, 0xc3, 0x77, 0x1a, 0x4b], "private"),
            (&[0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff], "www.example.com"),
            (&[0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf], "no-cache"),
            (&[], ""),
        ];
        cases.into_iter().for_each(|(bytes, text)| assert_eq!(decoded(bytes).as_deref(), Some(text)));
    }

    #[test]
    fn invalid_huffman_codes_are_rejected() {
        // Invalid padding, padding of a whole byte, and the end-of-string symbol.
        for bytes in [&[0x64, 0x02, 0x00][..], &[0x64, 0x02, 0xff], &[0xff, 0xff, 0xff, 0xff]] {
            assert_eq!(decoded(bytes), None, "{bytes:x?}");
        }
    }

    #[test]
    fn every_code_leads_to_one_symbol() {
        let capacity: u64 = LENGTHS.iter().map(|length| 1 << (LONGEST - usize::from(*length))).sum();
        assert_eq!(capacity, 1 << LONGEST, "the code is complete");
    }
}
