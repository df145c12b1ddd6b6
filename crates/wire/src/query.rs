//! How a query is built: once, when the questions are loaded. Afterwards only its ID is patched.

use crate::header::{FLAG_AD, FLAG_CD, FLAG_RD, HEADER_LEN, QUESTION_FIXED_LEN};
use crate::options::EdnsOptions;
use crate::types::{CLASS_IN, TYPE_OPT};

/// An OPT record without options, in octets: root owner, type, class, TTL, length of its data.
pub const OPT_LEN: usize = 11;

/// The UDP payload size announced where EDNS is wanted and no size is given.
///
/// 1232 is the size agreed on at DNS flag day 2020: it passes IPv6's smallest MTU without fragments.
pub const DEFAULT_EDNS_SIZE: u16 = 1232;

/// The smallest EDNS size that means anything: a server must read a smaller one as 512 (RFC 6891 §6.2.3).
pub const MIN_EDNS_SIZE: u16 = 512;

/// What all queries of a run have in common: header bits, EDNS and class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct QueryForm {
    /// The RD bit: ask a resolver to recurse.
    pub recursion_desired: bool,
    /// The CD bit: ask a resolver not to validate.
    pub checking_disabled: bool,
    /// The AD bit: ask a resolver to say whether it validated.
    pub authentic_data: bool,
    /// The DO bit of EDNS: ask for DNSSEC records. Brings EDNS with it.
    pub dnssec_ok: bool,
    /// The UDP payload size announced with EDNS, in bytes; `None` = no EDNS, unless another field needs it.
    pub edns_size: Option<u16>,
    /// The EDNS version; one that a server does not know is answered with BADVERS (RFC 6891 §6.1.3). Any but 0
    /// brings EDNS with it.
    pub edns_version: u8,
    /// An empty NSID option: ask the server for its identifier (RFC 5001). Brings EDNS with it.
    pub nsid: bool,
    /// Further EDNS options, after NSID. Any brings EDNS with it.
    pub options: EdnsOptions,
    /// The class of every question.
    pub class: u16,
}

impl Default for QueryForm {
    /// What dnsperf sends: RD set, class IN, no EDNS.
    fn default() -> QueryForm {
        QueryForm {
            recursion_desired: true,
            checking_disabled: false,
            authentic_data: false,
            dnssec_ok: false,
            edns_size: None,
            edns_version: 0,
            nsid: false,
            options: EdnsOptions::default(),
            class: CLASS_IN,
        }
    }
}

impl QueryForm {
    /// The EDNS size the query truly carries, in bytes; `None` where it has no OPT record.
    #[inline]
    pub fn edns_size_sent(&self) -> Option<u16> {
        let needs_edns = self.dnssec_ok || self.nsid || self.edns_version > 0 || !self.options.is_empty();
        self.edns_size.or_else(|| needs_edns.then_some(DEFAULT_EDNS_SIZE))
    }

    /// How many octets follow the question: those of the OPT record, or 0. The same for every name.
    #[inline]
    pub fn tail_len(&self) -> usize {
        match self.edns_size_sent() {
            Some(_) => OPT_LEN + self.nsid_option().len() + self.options.bytes().len(),
            None => 0,
        }
    }

    /// The length of the whole message for a name of `name_len` octets on the wire.
    #[inline]
    pub fn message_len(&self, name_len: usize) -> usize {
        HEADER_LEN + name_len + QUESTION_FIXED_LEN + self.tail_len()
    }

    /// Appends a whole query to `out`, with ID 0. `name_wire` is a whole uncompressed name in wire format.
    #[inline]
    pub fn encode(&self, name_wire: &[u8], qtype: u16, out: &mut Vec<u8>) {
        out.reserve(self.message_len(name_wire.len()));
        out.extend_from_slice(&self.header());
        out.extend_from_slice(name_wire);
        out.extend_from_slice(&qtype.to_be_bytes());
        out.extend_from_slice(&self.class.to_be_bytes());
        if let Some(size) = self.edns_size_sent() {
            self.encode_opt(size, out);
        }
    }

    /// Appends the OPT record, where queries of this form have one. Returns whether they do; the caller counts it.
    pub fn put_opt(&self, out: &mut Vec<u8>) -> bool {
        let size = self.edns_size_sent();
        if let Some(size) = size {
            self.encode_opt(size, out);
        }
        size.is_some()
    }

    /// ID 0, flags, one question, and the OPT record in the additional section where there is one.
    #[inline]
    fn header(&self) -> [u8; HEADER_LEN] {
        let mut flags = 0;
        for (wanted, bit) in [
            (self.recursion_desired, FLAG_RD),
            (self.authentic_data, FLAG_AD),
            (self.checking_disabled, FLAG_CD),
        ] {
            flags |= if wanted { bit } else { 0 };
        }
        let [high, low] = u16::to_be_bytes(flags);
        let opt_count = u8::from(self.edns_size_sent().is_some());
        [0, 0, high, low, 0, 1, 0, 0, 0, 0, 0, opt_count]
    }

    /// The OPT record (RFC 6891 §6.1.2): its class is the size, its TTL holds RCODE, version and the DO bit.
    #[inline]
    fn encode_opt(&self, size: u16, out: &mut Vec<u8>) {
        const ROOT: u8 = 0;
        const DNSSEC_OK: u8 = 0x80;
        let (nsid, others) = (self.nsid_option(), self.options.bytes());
        out.push(ROOT);
        out.extend_from_slice(&TYPE_OPT.to_be_bytes());
        out.extend_from_slice(&size.to_be_bytes());
        out.extend_from_slice(&[0, self.edns_version, if self.dnssec_ok { DNSSEC_OK } else { 0 }, 0]);
        out.extend_from_slice(&((nsid.len() + others.len()) as u16).to_be_bytes());
        out.extend_from_slice(nsid);
        out.extend_from_slice(others);
    }

    #[inline]
    fn nsid_option(&self) -> &'static [u8] {
        if self.nsid { &NSID_OPTION } else { &[] }
    }
}

/// Writes `id` into the first two octets of a message. A message shorter than that is left as it is.
#[inline]
pub fn patch_id(message: &mut [u8], id: u16) {
    if let Some(head) = message.first_chunk_mut::<2>() {
        *head = id.to_be_bytes();
    }
}

/// The empty NSID option: code 3, length 0 (RFC 5001 §2.1).
const NSID_OPTION: [u8; 4] = [0, 3, 0, 0];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode_name;
    use domain::base::iana::{Class, Rtype};
    use domain::base::opt::AllOptData;
    use domain::base::{Message, Name};
    use proptest::prelude::*;

    fn any_form() -> impl Strategy<Value = QueryForm> {
        (any::<[bool; 5]>(), prop::option::of(any::<u16>()), any::<u8>(), any::<u16>()).prop_map(
            |([rd, cd, ad, dnssec, nsid], edns_size, edns_version, class)| QueryForm {
                recursion_desired: rd,
                checking_disabled: cd,
                authentic_data: ad,
                dnssec_ok: dnssec,
                edns_size,
                edns_version,
                nsid,
                options: EdnsOptions::default(),
                class,
            },
        )
    }

    #[test]
    fn the_plainest_query_is_header_and_question() {
        let mut out = Vec::new();
        QueryForm::default().encode(b"\x01a\0", 28, &mut out);
        assert_eq!(out, b"\0\0\x01\0\0\x01\0\0\0\0\0\0\x01a\0\0\x1c\0\x01");
    }

    #[test]
    fn dnssec_nsid_or_a_version_alone_bring_edns_of_1232() {
        let plain = QueryForm::default();
        assert_eq!(plain.edns_size_sent(), None);
        assert_eq!(plain.tail_len(), 0);
        assert_eq!(QueryForm { dnssec_ok: true, ..plain }.edns_size_sent(), Some(1232));
        assert_eq!(QueryForm { nsid: true, ..plain }.edns_size_sent(), Some(1232));
        assert_eq!(QueryForm { edns_version: 1, ..plain }.edns_size_sent(), Some(1232));
        assert_eq!(QueryForm { nsid: true, edns_size: Some(4096), ..plain }.edns_size_sent(), Some(4096));
    }

    #[test]
    fn patching_touches_only_the_first_two_octets() {
        let mut message = [9u8; 5];
        patch_id(&mut message, 0x1234);
        assert_eq!(message, [0x12, 0x34, 9, 9, 9]);
        let mut short = [7u8; 1];
        patch_id(&mut short, 0x1234);
        assert_eq!(short, [7]);
    }

    proptest! {
        #[test]
        fn the_domain_crate_reads_back_what_was_asked_for(
            form in any_form(), qtype in any::<u16>(), id in any::<u16>(), text in "[a-z]{1,20}(\\.[a-z]{1,20}){0,4}"
        ) {
            let mut name_wire = Vec::new();
            encode_name(text.as_bytes(), &mut name_wire).unwrap();
            let mut bytes = Vec::new();
            form.encode(&name_wire, qtype, &mut bytes);
            prop_assert_eq!(bytes.len(), form.message_len(name_wire.len()));
            patch_id(&mut bytes, id);

            let message = Message::from_octets(bytes).unwrap();
            let header = message.header();
            prop_assert_eq!(header.id(), id);
            prop_assert_eq!(header.rd(), form.recursion_desired);
            prop_assert_eq!(header.cd(), form.checking_disabled);
            prop_assert_eq!(header.ad(), form.authentic_data);
            prop_assert!(!header.qr() && !header.tc() && !header.aa() && !header.ra());

            let question = message.sole_question().unwrap();
            prop_assert_eq!(question.qname().to_string(), text.parse::<Name<Vec<u8>>>().unwrap().to_string());
            prop_assert_eq!(question.qtype(), Rtype::from_int(qtype));
            prop_assert_eq!(question.qclass(), Class::from_int(form.class));

            let opt = message.opt();
            prop_assert_eq!(opt.as_ref().map(|opt| opt.udp_payload_size()), form.edns_size_sent());
            if let Some(opt) = opt {
                prop_assert_eq!(opt.dnssec_ok(), form.dnssec_ok);
                prop_assert_eq!(opt.version(), form.edns_version);
                let options: Vec<_> =
                    opt.opt().iter::<AllOptData<_, Name<_>>>().map(Result::unwrap).collect();
                prop_assert_eq!(options.len(), usize::from(form.nsid));
                prop_assert!(options.iter().all(|option| matches!(option, AllOptData::Nsid(_))));
            }
            let counts = message.header_counts();
            prop_assert_eq!((counts.ancount(), counts.nscount()), (0, 0));
        }
    }
}
