//! EDNS of a message that was received or captured.

use domain::base::Message;
use domain::base::opt::{Opt, UnknownOptData};

/// The OPT record of a message (RFC 6891).
#[derive(Clone, Debug)]
pub struct Edns<'a> {
    /// The size of a UDP response that the sender takes.
    pub size: u16,
    /// The version; 0 is the only one there is.
    pub version: u8,
    /// Whether the DO bit is set.
    pub dnssec_ok: bool,
    options: Opt<&'a [u8]>,
}

impl<'a> Edns<'a> {
    /// The options with their code and data, up to the first that is not valid.
    pub fn options(&self) -> impl Iterator<Item = (u16, &'a [u8])> + '_ {
        let options = self.options.iter::<UnknownOptData<&'a [u8]>>();
        options.map_while(Result::ok).map(|option| (option.code().to_int(), *option.data()))
    }
}

/// The OPT record of a message; `None` where it has none, or cannot be read.
pub fn edns_of(message: &[u8]) -> Option<Edns<'_>> {
    // Nearly all messages without additional records are queries without EDNS.
    if message.get(10..12)? == [0, 0] {
        return None;
    }
    let opt = Message::from_octets(message).ok()?.opt()?;
    let options = opt.opt().clone();
    Some(Edns { size: opt.udp_payload_size(), version: opt.version(), dnssec_ok: opt.dnssec_ok(), options })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_do_bit_and_options_are_read() {
        let head = [0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1];
        let opt = [0, 0, 41, 4, 0xd0, 0, 0, 0x80, 0, 0, 12, 0, 3, 0, 0, 0, 10, 0, 4, 1, 2, 3, 4];
        let query = [&head[..], &opt].concat();
        let edns = edns_of(&query).unwrap();
        assert_eq!((edns.size, edns.version, edns.dnssec_ok), (1232, 0, true));
        assert_eq!(edns.options().collect::<Vec<_>>(), [(3, &[][..]), (10, &[1, 2, 3, 4][..])]);
        for len in 0..query.len() {
            assert!(edns_of(&query[..len]).is_none(), "{len} octets");
        }
    }
}
