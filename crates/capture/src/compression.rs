//! Compressed files: gzip, zstd and xz, recognised by their first octets.

use std::io::{self, BufReader, Read};

use flate2::read::MultiGzDecoder;
use liblzma::read::XzDecoder;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// gzip (RFC 1952), also of several members.
    Gzip,
    /// Zstandard (RFC 8878), also of several frames.
    Zstd,
    /// xz, also of several streams.
    Xz,
}

impl Compression {
    /// The compression whose mark a file begins with.
    pub fn of(first_bytes: &[u8]) -> Option<Self> {
        match first_bytes {
            [0x1f, 0x8b, 0x08, ..] => Some(Compression::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Compression::Zstd),
            // A skippable frame, which pzstd writes first.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Compression::Zstd),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Compression::Xz),
            _ => None,
        }
    }

    /// The compression that the ending of a file's name says: `gz`, `zst` or `xz`.
    pub fn by_extension(extension: &str) -> Option<Self> {
        match extension {
            "gz" => Some(Compression::Gzip),
            "zst" | "zstd" => Some(Compression::Zstd),
            "xz" => Some(Compression::Xz),
            _ => None,
        }
    }
}

/// Unpacks a file of any supported compression, recognised by its first octets, while it is read; any other file is
/// given as it is.
pub fn unpack(mut input: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let mut head = Vec::with_capacity(MARK_BYTES);
    input.by_ref().take(MARK_BYTES as u64).read_to_end(&mut head)?;
    let compression = Compression::of(&head);
    let whole = io::Cursor::new(head).chain(input);
    Ok(match compression {
        None => Box::new(whole),
        Some(Compression::Gzip) => Box::new(MultiGzDecoder::new(buffered(whole))),
        Some(Compression::Zstd) => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(buffered(whole))?;
            decoder.window_log_max(MAX_ZSTD_WINDOW_LOG)?;
            Box::new(decoder)
        }
        Some(Compression::Xz) => {
            let stream =
                liblzma::stream::Stream::new_stream_decoder(MAX_XZ_BYTES, liblzma::stream::CONCATENATED)?;
            Box::new(XzDecoder::new_stream(buffered(whole), stream))
        }
    })
}

fn buffered<R: Read>(input: R) -> BufReader<R> {
    BufReader::with_capacity(BUFFER_BYTES, input)
}

/// The longest mark, that of xz.
const MARK_BYTES: usize = 6;

const BUFFER_BYTES: usize = 128 << 10;

/// What `zstd --long` writes: a window of 128 MiB is the largest that its own program unpacks unasked.
const MAX_ZSTD_WINDOW_LOG: u32 = 27;

/// `xz -9` needs 65 MiB to unpack.
const MAX_XZ_BYTES: u64 = 128 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const TEXT: &[u8] = b"www.example.com A\n";

    fn unpacked(packed: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        unpack(Box::new(io::Cursor::new(packed)))?.read_to_end(&mut out)?;
        Ok(out)
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn xz(text: &[u8]) -> Vec<u8> {
        let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn files_of_several_members_frames_or_streams_are_unpacked_whole() {
        let zstd = |text: &[u8]| zstd::encode_all(text, 1).unwrap();
        for pack in [gzip as fn(&[u8]) -> Vec<u8>, zstd, xz] {
            assert_eq!(unpacked([pack(TEXT), pack(TEXT)].concat()).unwrap(), [TEXT, TEXT].concat());
        }
    }

    #[test]
    fn what_is_not_compressed_is_given_as_it_is() {
        for text in [&b""[..], b"a", TEXT] {
            assert_eq!(unpacked(text.to_vec()).unwrap(), text);
        }
    }

    #[test]
    fn a_compressed_file_that_is_cut_short_is_an_error() {
        let zstd = zstd::encode_all(TEXT, 1).unwrap();
        for packed in [gzip(TEXT), zstd, xz(TEXT)] {
            assert!(unpacked(packed[..packed.len() - 5].to_vec()).is_err());
        }
    }
}
