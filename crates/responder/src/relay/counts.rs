//! What a relay did, to be held against what was seen on both sides of it.

use serde::Serialize;
use serde_json::{Value, json};

use crate::book::{Buckets, Times};
use crate::relay::toward::Toward;

/// All that one relay did, up to some instant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RelayCounts {
    /// From clients to the server.
    pub to_server: WayCounts,
    /// From the server to clients.
    pub to_client: WayCounts,
    /// The UDP clients.
    pub clients: ClientCounts,
    /// The TCP connections.
    pub connections: RelayConnections,
    /// Datagrams that the kernel dropped because the relay did not read them in time: the relay was too slow.
    pub kernel_drops: u64,
    /// When the path was changed, and to what: the first thousand changes.
    pub changes: Vec<Change>,
    /// Further changes.
    pub changes_not_listed: u64,
    /// Why the relay ended early, if it did.
    pub failures: Vec<String>,
}

/// What passed in one direction.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WayCounts {
    /// Datagrams.
    pub datagrams: Datagrams,
    /// How late datagrams were sent: from the instant at which each was due to the one at which the kernel had taken
    /// it. That is the error of the delay.
    pub late: Times,
    /// Octets of streams that were passed on.
    pub stream_octets: u64,
    /// How late octets of streams were written: from the instant at which they were due.
    pub stream_late: Times,
}

/// Datagrams, by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub struct Datagrams {
    /// Received by the relay.
    pub received: u64,
    /// End: passed on.
    pub passed: u64,
    /// End: lost, on command.
    pub lost: u64,
    /// End: dropped by the full queue of the rate limit, on command.
    pub queue_full: u64,
    /// End: dropped, because the relay's memory was full.
    pub over_bound: u64,
    /// End: dropped, because the relay had no socket for a further client.
    pub no_socket: u64,
    /// End: the kernel did not accept it.
    pub send_errors: u64,
    /// End: still held when the relay stopped.
    pub held_at_stop: u64,
    /// Not an end: passed on a second time, on command.
    pub duplicated: u64,
    /// Not an end: sent without the delay, on command.
    pub at_once: u64,
    /// Octets of UDP received, without headers.
    pub octets: u64,
    /// Not an end: ICMP errors (such as "port unreachable") from the other end; the kernel may report several as one.
    pub refused: u64,
}

/// A change of the path. What was received before it has the delay that it had; what is received after it has the new
/// one, and overtakes that if the new one is shorter and the order is not kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// When it was made, in nanoseconds since the start of the relay.
    pub at_ns: u64,
    /// The same on the wall clock, in nanoseconds since 1970.
    pub at_unix_ns: u64,
    /// What the path does to queries from then on.
    pub to_server: String,
    /// What it does to responses.
    pub to_client: String,
    /// What had become of the datagrams to the server until then.
    pub to_server_before: Datagrams,
    /// What had become of those to clients.
    pub to_client_before: Datagrams,
}

/// UDP clients, each with a socket of its own towards the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClientCounts {
    /// Sockets that were opened.
    pub opened: u64,
    /// The most at the same time.
    pub most: u64,
    /// Closed after the idle timeout.
    pub closed_idle: u64,
    /// Closed earlier, to make room for another client: all that it had asked was answered.
    pub closed_early: u64,
}

/// TCP connections of clients, each with one to the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RelayConnections {
    /// Accepted from the kernel.
    pub accepted: u64,
    /// End: closed at once, because too many were open.
    pub turned_away: u64,
    /// End: both sides have closed it.
    pub closed: u64,
    /// End: one side has reset it, which was passed on.
    pub reset: u64,
    /// End: the server did not accept the connection; the client's was reset.
    pub refused: u64,
    /// End: still open when the relay stopped.
    pub open_at_stop: u64,
    /// Not an end: calls of `accept` that failed (most often because no file descriptor was left).
    pub accept_errors: u64,
}

impl Datagrams {
    /// Datagrams that have ended. `received` less this are held.
    pub fn ended(&self) -> u64 {
        let on_command = self.lost + self.queue_full;
        self.passed + on_command + self.over_bound + self.no_socket + self.send_errors + self.held_at_stop
    }

    /// Dropped by the relay, and not on command.
    pub fn own_losses(&self) -> u64 {
        self.over_bound + self.no_socket + self.send_errors
    }
}

impl RelayConnections {
    /// Connections that have ended. `accepted` less this are open.
    pub fn ended(&self) -> u64 {
        self.turned_away + self.closed + self.reset + self.refused + self.open_at_stop
    }
}

impl RelayCounts {
    pub(crate) fn way_mut(&mut self, toward: Toward) -> &mut WayCounts {
        if toward == Toward::Server { &mut self.to_server } else { &mut self.to_client }
    }

    /// All as JSON; the same fields as here.
    pub fn to_json(&self, buckets: Buckets) -> Value {
        json!({
            "to_server": self.to_server.to_json(buckets),
            "to_client": self.to_client.to_json(buckets),
            "clients": self.clients,
            "connections": self.connections,
            "kernel_drops": self.kernel_drops,
            "changes": self.changes,
            "changes_not_listed": self.changes_not_listed,
            "failures": self.failures,
        })
    }

    /// What makes the path another one than was asked for, a sentence each; none where it was that path.
    pub fn warnings(&self) -> Vec<String> {
        let mut said = self.failures.clone();
        if self.kernel_drops > 0 {
            said.push(format!(
                "the relay was too slow: the kernel dropped {} datagrams before it read them; lower the rate, give \
                 it a CPU of its own, or raise net.core.rmem_max",
                self.kernel_drops
            ));
        }
        let both = |of: fn(&Datagrams) -> u64| of(&self.to_server.datagrams) + of(&self.to_client.datagrams);
        let losses = [
            (both(|ways| ways.over_bound), "did not fit into the relay's memory; raise --memory"),
            (
                both(|ways| ways.no_socket),
                "came from more clients than the relay may have sockets for; raise --max-clients",
            ),
            (both(|ways| ways.send_errors), "were not accepted by the kernel when they were sent"),
        ];
        let lost = losses.into_iter().filter(|(count, _)| *count > 0);
        said.extend(lost.map(|(count, why)| format!("the relay itself lost {count} datagrams: they {why}")));
        for (way, name) in [(&self.to_server, "server"), (&self.to_client, "client")] {
            let late_ns = way.late.quantile_ns(0.99).unwrap_or(0);
            if late_ns > LATE_NS {
                said.push(format!(
                    "one datagram in a hundred was sent to the {name} more than {} µs late; lower the rate, or give \
                     the relay a CPU of its own",
                    late_ns / 1_000
                ));
            }
        }
        if self.connections.turned_away > 0 {
            said.push(format!(
                "{} connections were closed at once, because too many were open; raise --max-connections",
                self.connections.turned_away
            ));
        }
        said
    }
}

impl WayCounts {
    fn to_json(&self, buckets: Buckets) -> Value {
        json!({
            "datagrams": self.datagrams,
            "late": self.late.to_json(buckets),
            "stream_octets": self.stream_octets,
            "stream_late": self.stream_late.to_json(buckets),
        })
    }
}

/// A datagram that is later than this is not on the path that was asked for.
const LATE_NS: u64 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_counts_once() {
        let mut value = serde_json::to_value(Datagrams::default()).unwrap();
        for (number, field) in value.as_object_mut().unwrap().values_mut().enumerate() {
            *field = (1u64 << number).into();
        }
        let counts: Datagrams = serde_json::from_value(value.clone()).unwrap();
        let not_ends = ["received", "duplicated", "at_once", "octets", "refused"];
        let ends: u64 = value
            .as_object()
            .unwrap()
            .iter()
            .filter(|(name, _)| !not_ends.contains(&name.as_str()))
            .filter_map(|(_, value)| value.as_u64())
            .sum();
        assert_eq!(counts.ended(), ends);
    }

    #[test]
    fn a_path_that_was_as_asked_for_is_not_warned_of_and_any_other_is() {
        let mut counts = RelayCounts::default();
        counts.to_server.datagrams =
            Datagrams { received: 9, passed: 5, lost: 3, queue_full: 1, ..Datagrams::default() };
        counts.to_server.late.record(20_000);
        assert_eq!(counts.warnings(), Vec::<String>::new());
        counts.kernel_drops = 7;
        counts.to_client.datagrams.over_bound = 2;
        counts.to_client.late.record(300_000);
        let said = counts.warnings();
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(said[0].contains("too slow") && said[0].contains(" 7 datagrams"), "{said:?}");
        assert!(said[1].contains("2 datagrams") && said[1].contains("--memory"), "{said:?}");
        assert!(said[2].contains("to the client"), "{said:?}");
    }
}
