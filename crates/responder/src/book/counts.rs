//! Counters of messages and of connections.

use serde::Serialize;

/// Messages, by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub struct Counts {
    /// Messages received, of any kind.
    pub received: u64,
    /// End: the regular response was sent (once or twice).
    pub answered: u64,
    /// End: not answered, on command.
    pub dropped: u64,
    /// End: not answered, because the queue of the limit was full, on command.
    pub over_limit: u64,
    /// End: answered with a wrong ID, on command.
    pub wrong_ids: u64,
    /// End: answered with a wrong question, on command.
    pub wrong_questions: u64,
    /// End: answered with another answer, on command.
    pub wrong_answers: u64,
    /// End: answered with garbage, on command.
    pub garbage: u64,
    /// End: the connection was reset on this query, on command.
    pub resets: u64,
    /// End: the connection was reset in the middle of this response, on command.
    pub cuts: u64,
    /// End: answered with a wrong length before it, on command.
    pub wrong_lengths: u64,
    /// End: answered with HTTP status 500, on command.
    pub server_errors: u64,
    /// End: the stream was reset on this query, on command.
    pub stream_resets: u64,
    /// End: received on a connection that is silent, on command.
    pub silenced: u64,
    /// End: shorter than a DNS header.
    pub ignored_short: u64,
    /// End: a response itself (QR=1).
    pub ignored_responses: u64,
    /// End: the kernel did not accept the response.
    pub send_errors: u64,
    /// End: the connection or stream ended before the response (closed by the client, or on command
    /// by another query).
    pub lost_with_connection: u64,
    /// End: too many bytes of responses were held already.
    pub over_bound: u64,
    /// End: still held when the responder stopped.
    pub held_at_stop: u64,
    /// Not an end: responses sent a second time, on command.
    pub duplicated: u64,
    /// Not an end: regular responses sent one byte at a time, on command.
    pub dribbled: u64,
    /// Not an end: responses sent after a later one, on command.
    pub reordered: u64,
    /// Not an end: queries received before their handshake had ended (0-RTT).
    pub early: u64,
    /// Not an end: queries held by the stall.
    pub stalled: u64,
    /// Not an end: regular responses with TC=1.
    pub truncated: u64,
    /// Not an end: queries that were answered FORMERR.
    pub malformed: u64,
}

/// What happened to connections. Each that was accepted ends as exactly one of
/// [`Connections::ended`]; the difference is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub struct Connections {
    /// Accepted from the kernel (DoQ: first packets of a connection).
    pub accepted: u64,
    /// End: closed at once because too many were open.
    pub turned_away: u64,
    /// End: closed by us after the idle timeout.
    pub closed_idle: u64,
    /// End: closed by the client, regularly.
    pub closed_by_client: u64,
    /// End: reset by the client, or abandoned by it without closing.
    pub lost: u64,
    /// End: closed by us, because the client violated TLS, HTTP or QUIC; failed handshakes are not
    /// included.
    pub closed_for_error: u64,
    /// End: closed by us after so many responses or after GOAWAY, on command.
    pub closed_on_command: u64,
    /// End: reset by us, on command.
    pub reset_on_command: u64,
    /// End: the handshake failed, or the client closed during it.
    pub handshakes_failed: u64,
    /// End: the handshake was ended with an alert, on command.
    pub tls_alerts: u64,
    /// End: still open when the responder stopped.
    pub open_at_stop: u64,
    /// Not an end: full handshakes.
    pub handshakes_full: u64,
    /// Not an end: handshakes that resumed an earlier session, without early data.
    pub handshakes_resumed: u64,
    /// Not an end: handshakes that resumed an earlier session, with early data accepted (0-RTT).
    pub handshakes_early: u64,
    /// Not an end: connections whose handshake got no reply, on command.
    pub handshakes_withheld: u64,
    /// Not an end: connections that were silent, on command.
    pub silent: u64,
    /// Not an end: connections on which GOAWAY was sent, on command.
    pub goaways: u64,
    /// Not an end: calls of `accept` that failed (most often because no file descriptor was left);
    /// they gave no connection.
    pub accept_errors: u64,
    /// Of these, the calls that failed because the thread had as many files open as the host allows.
    pub out_of_files: u64,
}

/// Adds the named fields of one struct to those of another.
macro_rules! add_fields {
    ($to:expr, $from:expr; $($field:ident)+) => { $( $to.$field += $from.$field; )+ };
}

impl Counts {
    /// Messages that have ended. `received` less this are held.
    pub fn ended(&self) -> u64 {
        let falsified = self.wrong_ids + self.wrong_questions + self.wrong_answers + self.garbage;
        let sent = self.answered + falsified + self.wrong_lengths;
        let broken = self.resets + self.cuts + self.server_errors + self.stream_resets;
        let silent =
            self.dropped + self.over_limit + self.silenced + self.ignored_short + self.ignored_responses;
        let failed = self.send_errors + self.lost_with_connection + self.over_bound + self.held_at_stop;
        sent + broken + silent + failed
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Counts) {
        add_fields!(self, other;
            received answered dropped over_limit wrong_ids wrong_questions wrong_answers garbage resets cuts
            wrong_lengths server_errors stream_resets silenced ignored_short ignored_responses send_errors
            lost_with_connection over_bound held_at_stop duplicated dribbled reordered early stalled
            truncated malformed
        );
    }
}

impl Connections {
    /// Connections that have ended. `accepted` less this are open.
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
            out_of_files
        );
    }
}

#[cfg(test)]
mod tests {
    use serde::de::DeserializeOwned;

    use super::*;

    /// Each field has a different value: a missing or swapped field is detected.
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
