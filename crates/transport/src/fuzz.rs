//! Entry points for `fuzz/`: what a server may send, as we read it. Each returns, whatever the bytes are.

pub use crate::quic::fuzzing::{doq_stream, quic_packets};
pub use crate::stream::dot_fuzzing::tls_session;
pub use crate::stream::fuzzing::{tcp_stream, tls_records};
pub use crate::stream::http_fuzzing::{hpack, http2_answers, http2_frames};
