//! What an interface itself has counted, to hold against what a run believes to have sent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Packets of one interface over a run, those of other programs included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InterfaceCounts {
    /// `eth0`.
    pub name: String,
    /// Packets sent.
    pub sent: u64,
    /// Packets that it dropped instead of sending them.
    pub send_dropped: u64,
    /// Packets that it failed to send.
    pub send_errors: u64,
    /// Packets received.
    pub received: u64,
    /// Packets that came and that it dropped.
    pub receive_dropped: u64,
    /// Packets that came broken.
    pub receive_errors: u64,
}

impl InterfaceCounts {
    /// What the interface has counted so far; `None` where the kernel does not tell.
    pub fn now(name: &str) -> Option<InterfaceCounts> {
        // This file, unlike /sys, is always that of our own network namespace.
        read(&std::fs::read_to_string("/proc/self/net/dev").ok()?, name)
    }

    /// What it has counted since `before`. A counter that went back has begun anew.
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
    fn each_column_is_read_as_what_it_is() {
        let counts = read(TABLE, "lo").unwrap();
        assert_eq!((counts.received, counts.receive_errors, counts.receive_dropped), (10, 1, 2));
        assert_eq!((counts.sent, counts.send_errors, counts.send_dropped), (11, 3, 4));
        assert_eq!(read(TABLE, "eth10").unwrap().sent, 10);
        assert!(read(TABLE, "eth1").is_none() && read("", "lo").is_none());
    }

    #[test]
    fn what_was_before_does_not_count() {
        let before = InterfaceCounts { sent: 4, received: 9, ..InterfaceCounts::default() };
        let now = InterfaceCounts { sent: 10, received: 2, ..InterfaceCounts::default() };
        let since = now.since(&before);
        assert_eq!((since.sent, since.received), (6, 2));
    }

    #[test]
    fn the_loopback_of_this_host_counts() {
        assert!(InterfaceCounts::now("lo").is_some());
    }
}
