//! What was behind a counted failure, in words.

use serde::{Deserialize, Serialize};

use crate::{ConnectionEnd, HandshakeFailure, NotSentReason, StreamFailure};

/// What was behind a counted failure: the first of its kind, in words for a user.
///
/// The counters say how often and for which reason; this says what exactly, for example on which date a certificate
/// expired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// The counter that it belongs to: `handshake.untrusted`, `stream.status`, `connection.protocol`.
    pub about: String,
    /// One sentence without a full stop, which may contain text of the server.
    pub words: String,
}

impl Explanation {
    /// Of a failed handshake.
    pub fn of_handshake(why: HandshakeFailure, words: impl Into<String>) -> Self {
        Explanation { about: format!("handshake.{}", why.key()), words: words.into() }
    }

    /// Of a stream without a response.
    pub fn of_stream(why: StreamFailure, words: impl Into<String>) -> Self {
        Explanation { about: format!("stream.{}", why.key()), words: words.into() }
    }

    /// Of queries that were not sent.
    pub fn of_not_sent(why: NotSentReason, words: impl Into<String>) -> Self {
        Explanation { about: format!("not_sent.{}", why.key()), words: words.into() }
    }

    /// Of the end of an established connection.
    pub fn of_end(end: ConnectionEnd, words: impl Into<String>) -> Self {
        Explanation { about: format!("connection.{}", end.key()), words: words.into() }
    }
}

/// Adds those explanations whose counter has none yet.
pub fn add_explanations(known: &mut Vec<Explanation>, more: impl IntoIterator<Item = Explanation>) {
    for explanation in more {
        if known.iter().all(|known| known.about != explanation.about) {
            known.push(explanation);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_explanation_of_a_counter_is_kept() {
        let first = Explanation::of_handshake(HandshakeFailure::Certificate, "expired on 2026-01-02");
        let second = Explanation::of_handshake(HandshakeFailure::Certificate, "expired on 2026-01-03");
        let other = Explanation::of_stream(StreamFailure::Status, "HTTP status 404");
        let mut known = vec![first.clone()];
        add_explanations(&mut known, [second, other.clone()]);
        assert_eq!(known, [first, other]);
        assert_eq!(known[0].about, "handshake.certificate");
    }
}
