//! What was behind a worker's failures, in words: the first of each kind.

use dnsdyno_measure::{ConnectionEnd, Explanation, HandshakeFailure, Key, NotSentReason, StreamFailure};

/// The explanations of a worker. The words of a kind are made once, so a failure that is repeated costs nothing.
#[derive(Debug, Default)]
pub struct Explained {
    /// A bit for each kind.
    known: u64,
    all: Vec<Explanation>,
}

impl Explained {
    /// A handshake failed.
    pub(crate) fn handshake(&mut self, why: HandshakeFailure, words: impl FnOnce() -> String) {
        if self.is_first(why.place()) {
            self.all.push(Explanation::of_handshake(why, words()));
        }
    }

    /// A stream ended without a response.
    pub(crate) fn stream(&mut self, why: StreamFailure, words: impl FnOnce() -> String) {
        if self.is_first(STREAMS + why.place()) {
            self.all.push(Explanation::of_stream(why, words()));
        }
    }

    /// An established connection ended.
    pub(crate) fn end(&mut self, end: ConnectionEnd, words: impl FnOnce() -> String) {
        if self.is_first(ENDS + end.place()) {
            self.all.push(Explanation::of_end(end, words()));
        }
    }

    /// Queries were not sent.
    pub(crate) fn not_sent(&mut self, why: NotSentReason, words: impl FnOnce() -> String) {
        if self.is_first(NOT_SENT + why.place()) {
            self.all.push(Explanation::of_not_sent(why, words()));
        }
    }

    /// Hands all over.
    pub(crate) fn take(&mut self) -> Vec<Explanation> {
        std::mem::take(&mut self.all)
    }

    fn is_first(&mut self, kind: usize) -> bool {
        let bit = 1 << kind;
        let is_first = self.known & bit == 0;
        self.known |= bit;
        is_first
    }
}

/// The bits of the kinds.
const STREAMS: usize = 16;
const ENDS: usize = 32;
const NOT_SENT: usize = 48;
const _: () = {
    assert!(HandshakeFailure::ALL.len() <= STREAMS && StreamFailure::ALL.len() <= ENDS - STREAMS);
    assert!(ConnectionEnd::ALL.len() <= NOT_SENT - ENDS && NotSentReason::ALL.len() <= 64 - NOT_SENT);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_words_of_each_kind_are_kept_and_no_others_are_made() {
        let mut explained = Explained::default();
        explained.stream(StreamFailure::Status, || "404".to_owned());
        explained.stream(StreamFailure::Status, || unreachable!("made once"));
        explained.end(ConnectionEnd::Protocol, || "a frame".to_owned());
        explained.handshake(HandshakeFailure::Alert, || "an alert".to_owned());
        explained.not_sent(NotSentReason::NoStream, || "no stream".to_owned());
        let about: Vec<_> = explained.take().into_iter().map(|one| (one.about, one.words)).collect();
        let expected = [
            ("stream.status", "404"),
            ("connection.protocol", "a frame"),
            ("handshake.alert", "an alert"),
            ("not_sent.no_stream", "no stream"),
        ];
        assert_eq!(about, expected.map(|(about, words)| (about.to_owned(), words.to_owned())));
    }
}
