//! What is fuzzed: everything that reads bytes of a server, of a file of somebody else, or of a user.
//!
//! Each function takes any bytes and returns; it panics where a property of the reader does not hold. `make fuzz` calls
//! it with bytes that libFuzzer makes, `tests/corpus.rs` with those that are kept in `fuzz/corpus/`.
#![forbid(unsafe_code)]

mod capture;
mod folder;
mod http3;
mod messages;
mod note;
mod plan;
mod queries;
mod record;
mod response;
mod search;
mod statistics;

pub use capture::{dnstap, pcap};
pub use dnsdyno_transport::fuzz::{doq_stream, hpack, http2_frames, quic_packets, tls_records};
pub use http3::{http3_stream, qpack};
pub use messages::{checked_response, updates};
pub use note::pending_note;
pub use plan::plan;
pub use queries::{query_file, query_text, zone_file};
pub use record::{packed_run, run_file};
pub use response::response_peek;
pub use search::search_result;
pub use statistics::server_statistics;

/// What is done with an input; it panics where a property does not hold.
pub type Target = fn(&[u8]);

/// Every target with its name, which is that of its corpus.
pub const TARGETS: &[(&str, Target)] = &[
    ("response_peek", response_peek),
    ("tls_records", tls_records),
    ("http2_frames", http2_frames),
    ("hpack", hpack),
    ("http3_stream", http3_stream),
    ("qpack", qpack),
    ("quic_packets", quic_packets),
    ("doq_stream", doq_stream),
    ("run_file", run_file),
    ("packed_run", packed_run),
    ("search_result", search_result),
    ("pending_note", pending_note),
    ("plan", plan),
    ("pcap", pcap),
    ("dnstap", dnstap),
    ("query_text", query_text),
    ("query_file", query_file),
    ("zone_file", zone_file),
    ("updates", updates),
    ("checked_response", checked_response),
    ("server_statistics", server_statistics),
];
