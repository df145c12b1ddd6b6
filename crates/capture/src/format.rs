//! The formats of captures, recognised by their first octets.

/// A format of captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Pcap,
    Pcapng,
    Dnstap,
}

impl Format {
    pub(crate) fn of(first_bytes: &[u8]) -> Option<Self> {
        let mark = first_bytes.first_chunk::<4>()?;
        match u32::from_le_bytes(*mark) {
            // Microseconds and nanoseconds, each in both byte orders, and the format of A. Kuznetzov's libpcap.
            0xa1b2_c3d4 | 0xd4c3_b2a1 | 0xa1b2_3c4d | 0x4d3c_b2a1 | 0xa1b2_cd34 => Some(Format::Pcap),
            0x0a0d_0d0a => Some(Format::Pcapng),
            // The escape of Frame Streams, and the length of a control frame whose type is START or READY.
            0 => match first_bytes.get(8..12)? {
                [0, 0, 0, 2 | 4] => Some(Format::Dnstap),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Whether a file that begins so (unpacked) is a capture. The first 12 octets are enough.
pub fn is_capture(first_bytes: &[u8]) -> bool {
    Format::of(first_bytes).is_some()
}

/// What a file is that is no capture, in the words of an error; empty where it is not known.
pub(crate) fn hint(first_bytes: &[u8]) -> &'static str {
    match first_bytes {
        // An array of three, and the text string "C-DNS" (RFC 8618).
        [0x83, 0x65, b'C', b'-', b'D', b'N', b'S', ..] => {
            ", but C-DNS: convert it with `inspector`, the program of the DNS-STATS compactor"
        }
        [b'B', b'Z', b'h', ..] => {
            ", but compressed with bzip2: unpack it: bzcat FILE | dnsdyno capture show -"
        }
        [0x04, 0x22, 0x4d, 0x18, ..] => {
            ", but compressed with lz4: unpack it: lz4cat FILE | dnsdyno capture show -"
        }
        [b'P', b'K', 3, 4, ..] => ", but a ZIP archive: unpack it first",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_is_recognised_by_its_first_octets() {
        assert!(is_capture(b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00"));
        assert!(is_capture(b"\x0a\x0d\x0d\x0a\x1c\x00\x00\x00"));
        assert!(is_capture(b"\x00\x00\x00\x00\x00\x00\x00\x22\x00\x00\x00\x02"));
        for other in [
            &b""[..],
            b"\0\0\0",
            b"www.example.com A\n",
            b"\0\0\0\0\0\0\0\0\0\0\0\0",
            b"\0\x1d\0\0\x01\0\0\x01",
        ] {
            assert!(!is_capture(other), "{other:?}");
        }
    }
}
