//! The packet counters of an interface, to compare with the number of queries sent.

use serde::{Deserialize, Serialize};

/// Packets of one interface during a run, including those of other programs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InterfaceCounts {
    /// `eth0`.
    pub name: String,
    /// Packets sent.
    pub sent: u64,
    /// Packets dropped before sending.
    pub send_dropped: u64,
    /// Packets not sent because of errors.
    pub send_errors: u64,
    /// Packets received.
    pub received: u64,
    /// Received packets dropped.
    pub receive_dropped: u64,
    /// Packets received with errors.
    pub receive_errors: u64,
}

impl InterfaceCounts {
    /// The present counters of the interface; `None` where the kernel does not provide them.
    pub fn now(name: &str) -> Option<InterfaceCounts> {
        // Unlike /sys, this file always belongs to our own network namespace.
        read(&std::fs::read_to_string("/proc/self/net/dev").ok()?, name)
    }

    /// The difference to `before`. A counter that is lower than before was reset.
    pub fn since(self, before: &InterfaceCounts) -> InterfaceCounts {
        let less = |now: u64, before: u64| now.checked_sub(before).unwrap_or(now);
        InterfaceCounts {
            sent: less(self.sent, before.sent),
            send_dropped: less(self.send_dropped, before.send_dropped),
            send_errors: less(self.send_errors, before.send_errors),
            received: less(self.received, before.received),
            receive_dropped: less(self.receive_dropped, before.receive_dropped),
            receive_errors: less(self.receive_errors, before.receive_errors),
            name: self.name,
        }
    }
}

/// `name: bytes packets errs drop fifo frame compressed multicast  bytes packets errs drop …`
fn read(table: &str, name: &str) -> Option<InterfaceCounts> {
    let line = table.lines().find_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'))?;
    let counts: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let &[_, received, receive_errors, receive_dropped, _, _, _, _, _, sent, send_errors, send_dropped, ..] =
        counts.as_slice()
    else {
        return None;
    };
    let name = name.to_owned();
    Some(InterfaceCounts { name, sent, send_dropped, send_errors, received, receive_dropped, receive_errors })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
Inter-|   Receive                                     |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier
    lo: 1000 10 1 2 0 0 0 0 1000 11 3 4 0 0 0 0
 eth10: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16
";

    #[test]
    fn each_column_is_read_into_its_counter() {
        let counts = read(TABLE, "lo").unwrap();
        assert_eq!((counts.received, counts.receive_errors, counts.receive_dropped), (10, 1, 2));
        assert_eq!((counts.sent, counts.send_errors, counts.send_dropped), (11, 3, 4));
        assert_eq!(read(TABLE, "eth10").unwrap().sent, 10);
        assert!(read(TABLE, "eth1").is_none() && read("", "lo").is_none());
    }

    #[test]
    fn only_the_difference_counts() {
        let before = InterfaceCounts { sent: 4, received: 9, ..InterfaceCounts::default() };
        let now = InterfaceCounts { sent: 10, received: 2, ..InterfaceCounts::default() };
        let since = now.since(&before);
        assert_eq!((since.sent, since.received), (6, 2));
    }

    #[test]
    fn the_loopback_of_this_host_is_read() {
        assert!(InterfaceCounts::now("lo").is_some());
    }
}
