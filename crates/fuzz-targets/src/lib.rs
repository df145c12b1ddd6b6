//! What is fuzzed: everything that reads bytes of a server, of a file of somebody else, or of a user.
//!
//! Each function takes any bytes and returns; it panics where a property of the reader does not hold. `make fuzz` calls
//! it with bytes that libFuzzer makes, `tests/corpus.rs` with those that are kept in `fuzz/corpus/`.
#![forbid(unsafe_code)]

mod capture;
mod clients;
mod experiment;
mod folder;
mod frames;
mod http2;
mod http3;
mod messages;
mod note;
mod plain;
mod plan;
mod queries;
mod record;
mod response;
mod results;
mod search;
mod server;
mod statistics;
mod whole_message;

pub use capture::{dnstap, pcap};
pub use clients::{client_answers, clients_file};
pub use dnsdyno_cluster::fuzz::{agent_frames, agent_parts, agent_permission};
pub use dnsdyno_transport::fuzz::{
    doq_stream, hpack, http2_frames, quic_packets, tcp_stream, tls_records, tls_session,
};
pub use experiment::{experiment_file, journal};
pub use frames::xdp_frame;
pub use http2::http2_against_h2;
pub use http3::{http3_stream, qpack};
pub use messages::{checked_response, updates};
pub use note::pending_note;
pub use plan::plan;
pub use queries::{query_file, query_text, tsig_key, zone_file};
pub use record::{packed_run, run_file};
pub use response::response_peek;
pub use results::{history_folder, imported_result};
pub use search::search_result;
pub use server::{responder_zone, server_query, world_source};
pub use statistics::{host_files, server_statistics};
pub use whole_message::{message_records, peek_against_domain};

/// What is done with an input; it panics where a property does not hold.
pub type Target = fn(&[u8]);

/// Every target with its name, which is that of its corpus.
pub const TARGETS: &[(&str, Target)] = &[
    ("response_peek", response_peek),
    ("tls_records", tls_records),
    ("tls_session", tls_session),
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
    ("tsig_key", tsig_key),
    ("server_statistics", server_statistics),
    ("message_records", message_records),
    ("peek_against_domain", peek_against_domain),
    ("server_query", server_query),
    ("responder_zone", responder_zone),
    ("world_source", world_source),
    ("tcp_stream", tcp_stream),
    ("xdp_frame", xdp_frame),
    ("http2_against_h2", http2_against_h2),
    ("client_answers", client_answers),
    ("clients_file", clients_file),
    ("imported_result", imported_result),
    ("history_folder", history_folder),
    ("host_files", host_files),
    ("experiment_file", experiment_file),
    ("journal", journal),
    ("agent_frames", agent_frames),
    ("agent_parts", agent_parts),
    ("agent_permission", agent_permission),
];
