//! DNS bytes: what a load generator must know of a message, and no more.
//!
//! Six small things live here, and none of them opens a socket, reads a clock or keeps state:
//!
//! - [`encode_name`] and [`name_to_text`]: domain names between text and wire;
//! - [`parse_type`], [`type_name`], [`rcode_name`] and their kin: the numbers of DNS and their mnemonics;
//! - [`QueryForm`]: how a query is built once, to be sent many times with only its ID patched ([`patch_id`]);
//! - [`peek`]: ID, flags, extended RCODE and question of a response, without parsing the rest;
//! - [`Additional`]: where the records of the additional section are: OPT, TSIG;
//! - [`zone_text`] and [`next_entry`]: the text of a zone file as the parser of `domain` reads it, and its entries.
//!
//! A query as [`QueryForm::encode`] writes it:
//!
//! ```text
//! 0        2        4                          12                      12+q       12+q+tail
//! +--------+--------+--------------------------+------------------------+----------+
//! | ID = 0 | flags  | four section counts      | name, type, class      | OPT, or  |
//! |        |        |                          | (the question)         | nothing  |
//! +--------+--------+--------------------------+------------------------+----------+
//! ```
#![forbid(unsafe_code)]

mod answer_digest;
mod edns;
mod header;
mod name;
mod options;
mod peek;
mod query;
mod records;
mod types;
mod zone_entry;
mod zone_text;

pub use answer_digest::AnswerDigest;
pub use edns::{Edns, edns_of};
pub use header::{FLAG_AD, FLAG_CD, FLAG_QR, FLAG_RD, FLAG_TC, HEADER_LEN, QUESTION_FIXED_LEN};
pub use name::{MAX_LABEL_LEN, MAX_NAME_LEN, NameError, encode_name, name_to_text};
pub use options::{EdnsOptions, OPTION_HEAD_LEN};
pub use peek::{Malformed, Peek, peek, peek_id, same_question};
pub use query::{DEFAULT_EDNS_SIZE, MIN_EDNS_SIZE, OPT_LEN, QueryForm, patch_id};
pub use records::{Additional, CanonicalName, RecordAt, Records};
pub use types::{
    CLASS_IN, TYPE_A, TYPE_AAAA, TYPE_ANY, TYPE_AXFR, TYPE_CNAME, TYPE_IXFR, TYPE_NAPTR, TYPE_NS, TYPE_OPT,
    TYPE_SIG, TYPE_SOA, TYPE_SRV, TYPE_TSIG, TYPE_TXT, class_name, parse_class, parse_type, parse_type_bytes,
    rcode_name, tsig_error_name, type_name,
};
pub use zone_entry::{EntryError, next_entry};
pub use zone_text::{has_open_parenthesis, ttl_seconds, zone_text};
