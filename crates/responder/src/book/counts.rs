//! Counters: what became of messages, and what became of connections.

use serde::Serialize;

/// Messages, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub struct Counts {
    /// Messages that came, whatever they were.
    pub received: u64,
    /// End: the proper answer was sent (once or twice).
    pub answered: u64,
    /// End: not answered, on command.
    pub dropped: u64,
    /// End: answered with a wrong ID, on command.
    pub wrong_ids: u64,
    /// End: answered with a wrong question, on command.
    pub wrong_questions: u64,
    /// End: answered with garbage, on command.
    pub garbage: u64,
    /// End: the connection was reset on this query, on command.
    pub resets: u64,
    /// End: the connection was reset in the middle of this answer, on command.
    pub cuts: u64,
    /// End: answered with a wrong length before it, on command.
    pub wrong_lengths: u64,
    /// End: answered with HTTP status 500, on command.
    pub server_errors: u64,
    /// End: the stream was reset on this query, on command.
    pub stream_resets: u64,
    /// End: came on a connection that is silent, on command.
    pub silenced: u64,
    /// End: shorter than a DNS header.
    pub ignored_short: u64,
    /// End: an answer itself (QR=1).
    pub ignored_responses: u64,
    /// End: the kernel would not take the answer.
    pub send_errors: u64,
    /// End: the connection or stream was gone before its answer (closed by the client, or ended on
    /// command by another query).
    pub lost_with_connection: u64,
    /// End: held too many bytes of answers to hold this one too.
    pub over_bound: u64,
    /// End: still held when the responder stopped.
    pub held_at_stop: u64,
    /// Beside: answers sent a second time, on command.
    pub duplicated: u64,
    /// Beside: proper answers sent one byte at a time, on command.
    pub dribbled: u64,
    /// Beside: answers that another one overtook, on command.
    pub reordered: u64,
    /// Beside: queries that came before their handshake had ended (0-RTT).
    pub early: u64,
    /// Beside: queries held by the stall.
    pub stalled: u64,
    /// Beside: proper answers with TC=1.
    pub truncated: u64,
    /// Beside: queries that were answered FORMERR.
    pub malformed: u64,
}

/// What happened to connections. Each that was accepted ends as exactly one of
/// [`Connections::ended`]; the difference is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub struct Connections {
    /// Taken from the kernel (DoQ: first packets of a connection).
    pub accepted: u64,
    /// End: closed at once because too many were open.
    pub turned_away: u64,
    /// End: closed by us after they had been idle.
    pub closed_idle: u64,
    /// End: closed by the client, in order.
    pub closed_by_client: u64,
    /// End: reset by the client, or given up by it without a word.
    pub lost: u64,
    /// End: closed by us, because the client broke the rules of TLS, HTTP or QUIC; failed handshakes
    /// are not among them.
    pub closed_for_error: u64,
    /// End: closed by us after so many answers or after GOAWAY, on command.
    pub closed_on_command: u64,
    /// End: reset by us, or broken off, on command.
    pub reset_on_command: u64,
    /// End: the handshake failed, or the client left in the middle of it.
    pub handshakes_failed: u64,
    /// End: the handshake was ended with an alert, on command.
    pub tls_alerts: u64,
    /// End: still open when the responder stopped.
    pub open_at_stop: u64,
    /// Beside: full handshakes that were done.
    pub handshakes_full: u64,
    /// Beside: handshakes that resumed an earlier session, without early data.
    pub handshakes_resumed: u64,
    /// Beside: handshakes that resumed an earlier session, with early data taken (0-RTT).
    pub handshakes_early: u64,
    /// Beside: connections whose handshake got no answer, on command.
    pub handshakes_withheld: u64,
    /// Beside: connections that were silent, on command.
    pub silent: u64,
    /// Beside: connections on which GOAWAY was said, on command.
    pub goaways: u64,
    /// Beside: calls of `accept` that failed (most often for want of file descriptors); they brought
    /// no connection.
    pub accept_errors: u64,
}

/// Adds the named fields of one struct to those of another.
macro_rules! add_fields {
    ($to:expr, $from:expr; $($field:ident)+) => { $( $to.$field += $from.$field; )+ };
}

impl Counts {
    /// Messages that have come to an end. `received` less this are held.
    pub fn ended(&self) -> u64 {
        let sent = self.answered + self.wrong_ids + self.wrong_questions + self.garbage + self.wrong_lengths;
        let broken = self.resets + self.cuts + self.server_errors + self.stream_resets;
        let silent = self.dropped + self.silenced + self.ignored_short + self.ignored_responses;
        let failed = self.send_errors + self.lost_with_connection + self.over_bound + self.held_at_stop;
        sent + broken + silent + failed
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Counts) {
        add_fields!(self, other;
            received answered dropped wrong_ids wrong_questions garbage resets cuts wrong_lengths
            server_errors stream_resets silenced ignored_short ignored_responses send_errors
            lost_with_connection over_bound held_at_stop duplicated dribbled reordered early stalled
            truncated malformed
        );
    }
}

impl Connections {
    /// Connections that have come to an end. `accepted` less this are open.
    pub fn ended(&self) -> u64 {
        let by_client = self.closed_by_client + self.lost + self.handshakes_failed;
        let by_rule = self.turned_away + self.closed_idle + self.closed_for_error + self.open_at_stop;
        by_client + by_rule + self.closed_on_command + self.reset_on_command + self.tls_alerts
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Connections) {
        add_fields!(self, other;
            accepted turned_away closed_idle closed_by_client lost closed_for_error closed_on_command
            reset_on_command handshakes_failed tls_alerts open_at_stop handshakes_full
            handshakes_resumed handshakes_early handshakes_withheld silent goaways accept_errors
        );
    }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;

    use super::*;

    /// Each field its own value: a field left out, or mixed up, shows.
    fn numbered<T: Serialize + DeserializeOwned + Default>() -> T {
        let mut value = serde_json::to_value(T::default()).unwrap();
        for (number, field) in value.as_object_mut().unwrap().values_mut().enumerate() {
            *field = (number as u64 + 1).into();
        }
        serde_json::from_value(value).unwrap()
    }

    fn doubles<T: Serialize>(once: &T, twice: &T) -> bool {
        let (once, twice) = (serde_json::to_value(once).unwrap(), serde_json::to_value(twice).unwrap());
        let names = once.as_object().unwrap();
        names.iter().all(|(name, value)| twice[name].as_u64() == value.as_u64().map(|n| 2 * n))
    }

    #[test]
    fn merging_adds_every_field() {
        let counts: Counts = numbered();
        let connections: Connections = numbered();
        let (mut more_counts, mut more_connections) = (counts, connections);
        more_counts.merge(&counts);
        more_connections.merge(&connections);
        assert!(doubles(&counts, &more_counts), "{more_counts:?}");
        assert!(doubles(&connections, &more_connections), "{more_connections:?}");
    }
}
