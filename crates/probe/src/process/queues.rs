//! The queues of the sockets that belong to the processes of a server, and what was dropped there.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use dnsdyno_sys::netlink::sockets::SocketState;

use crate::accumulated::Accumulated;
use crate::files::FileReader;
use crate::found::{receives, socket_inodes};
use crate::sockets::Seen;
use crate::source::{ReadError, Reading};

/// The sockets of a server.
#[derive(Default)]
pub(super) struct Queues {
    /// Whether a socket is the server's, by its inode: what sockets that were there before are.
    is_own: BTreeMap<u64, bool>,
    /// The names of its UDP sockets: `127.0.0.1:53/0`, `127.0.0.1:53/1`, …
    names: BTreeMap<u64, String>,
    drops: Accumulated,
}

impl Queues {
    /// The series of these sockets, as far as they belong to one of these processes.
    pub(super) fn read(
        &mut self,
        seen: Seen,
        reader: &mut dyn FileReader,
        pids: &[u32],
        reading: &mut Reading,
    ) -> Result<(), ReadError> {
        let seen = self.own(seen, reader, pids)?;
        self.udp(&seen.udp, reading);
        tcp(&seen, reading);
        Ok(())
    }

    /// The receive buffers of these UDP sockets, and how many there are.
    pub(super) fn settings(own: &Seen) -> BTreeMap<String, String> {
        let mut buffers: Vec<u64> = own.udp.iter().filter_map(|socket| socket.receive_buffer_bytes).collect();
        buffers.sort_unstable();
        buffers.dedup();
        let buffers = buffers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let settings = [("udp.receive_buffer_bytes", buffers), ("udp.sockets", own.udp.len().to_string())];
        settings
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    /// Those of these sockets that belong to the server.
    pub(super) fn own(
        &mut self,
        mut seen: Seen,
        reader: &mut dyn FileReader,
        pids: &[u32],
    ) -> Result<Seen, ReadError> {
        self.recognize(&seen, reader, pids)?;
        let is_own = |socket: &SocketState| self.is_own.get(&socket.inode) == Some(&true);
        seen.udp.retain(is_own);
        seen.listening.retain(is_own);
        Ok(seen)
    }

    /// Looks up whose the sockets are, where there are new ones.
    fn recognize(&mut self, seen: &Seen, reader: &mut dyn FileReader, pids: &[u32]) -> Result<(), ReadError> {
        let all: Vec<u64> = seen.udp.iter().chain(&seen.listening).map(|socket| socket.inode).collect();
        if all.iter().all(|inode| self.is_own.contains_key(inode)) {
            return Ok(());
        }
        let folders: Vec<String> = pids.iter().map(|pid| format!("/proc/{pid}/fd/")).collect();
        let files = reader.read(&folders)?;
        self.is_own = all.into_iter().map(|inode| (inode, false)).collect();
        for inode in folders.iter().flat_map(|folder| socket_inodes(files.text(folder))) {
            if let Some(is_own) = self.is_own.get_mut(&inode) {
                *is_own = true;
            }
        }
        Ok(())
    }

    fn udp(&mut self, sockets: &[SocketState], reading: &mut Reading) {
        self.name(sockets);
        let mut highest = 0;
        for socket in sockets {
            let name = self.names.get(&socket.inode).map_or("", String::as_str);
            let drops = socket.drops.unwrap_or(0);
            self.drops.see(socket.inode, drops);
            reading.counter(format!("socket.udp.{name}.drops"), drops);
            reading.gauge(format!("socket.udp.{name}.receive_queue_bytes"), socket.receive_queue);
            highest = highest.max(socket.receive_queue);
        }
        reading.counter("udp.drops", self.drops.total());
        reading.gauge("udp.receive_queue_bytes", highest);
    }

    /// Gives new sockets a name, in the order in which they were made: the lowest number that is free at their address.
    fn name(&mut self, sockets: &[SocketState]) {
        let exist: BTreeSet<u64> = sockets.iter().map(|socket| socket.inode).collect();
        self.names.retain(|inode, _| exist.contains(inode));
        let mut new: Vec<_> =
            sockets.iter().filter(|socket| !self.names.contains_key(&socket.inode)).collect();
        new.sort_by_key(|socket| socket.inode);
        let mut taken: BTreeSet<String> = self.names.values().cloned().collect();
        // At each address, up to which number all are taken.
        let mut tried = BTreeMap::<_, Range<usize>>::new();
        for socket in new {
            let numbers = tried.entry(socket.local).or_insert(0..sockets.len());
            let names = numbers.map(|number| format!("{}/{number}", socket.local));
            if let Some(name) = names.into_iter().find(|name| taken.insert(name.clone())) {
                self.names.insert(socket.inode, name);
            }
        }
    }
}

/// Of the listening sockets, the one that is nearest to its backlog.
fn tcp(own: &Seen, reading: &mut Reading) {
    let share = |socket: &&SocketState| {
        socket.receive_queue.saturating_mul(1_000).checked_div(socket.send_queue).unwrap_or(0)
    };
    let fullest = own.listening.iter().max_by_key(|socket| (share(socket), socket.receive_queue));
    reading.gauge("tcp.accept_queue", fullest.map_or(0, |socket| socket.receive_queue));
    if let Some(backlog) = fullest.map(|socket| socket.send_queue).filter(|backlog| *backlog > 0) {
        reading.gauge("tcp.accept_backlog", backlog);
    }
    // A connection without an inode waits to be accepted.
    let is_own = |socket: &&SocketState| {
        socket.inode != 0 && own.listening.iter().any(|listening| receives(listening.local, socket.local))
    };
    let (mut open, mut sent, mut received) = (0, 0, 0);
    for socket in own.open.iter().filter(is_own) {
        open += 1;
        sent = socket.send_queue.max(sent);
        received = socket.receive_queue.max(received);
    }
    reading.gauge("tcp.open", open);
    reading.gauge("tcp.send_queue_bytes", sent);
    reading.gauge("tcp.receive_queue_bytes", received);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Files;

    /// A process 7 with the sockets 1, 2 and 5.
    struct Links(usize);

    impl FileReader for Links {
        fn read(&mut self, paths: &[String]) -> Result<Files, ReadError> {
            assert_eq!(paths, ["/proc/7/fd/"]);
            self.0 += 1;
            let links = "1 -> socket:[1]\n2 -> socket:[2]\n5 -> socket:[5]\n".to_owned();
            Ok(Files([(paths[0].clone(), links)].into()))
        }
    }

    fn socket(
        local: &str,
        inode: u64,
        receive_queue: u64,
        send_queue: u64,
        drops: Option<u64>,
    ) -> SocketState {
        let local = local.parse().unwrap();
        SocketState { local, inode, receive_queue, send_queue, receive_buffer_bytes: Some(9), drops }
    }

    #[test]
    fn each_udp_socket_has_its_series_and_those_of_others_have_none() {
        let (mut queues, mut reader) = (Queues::default(), Links(0));
        let mut read = |udp: Vec<SocketState>| {
            let mut reading = Reading::default();
            let seen = Seen { udp, ..Seen::default() };
            queues.read(seen, &mut reader, &[7], &mut reading).unwrap();
            (reading, reader.0)
        };
        let at = "127.0.0.1:53";
        let both = |first, second| {
            vec![
                socket(at, 2, 30, 0, Some(second)),
                socket(at, 1, 20, 0, Some(first)),
                socket(at, 3, 99, 0, Some(99)),
            ]
        };
        let (reading, looks) = read(both(4, 5));
        let drops = [
            ("socket.udp.127.0.0.1:53/0.drops", 4),
            ("socket.udp.127.0.0.1:53/1.drops", 5),
            ("udp.drops", 9),
        ];
        assert_eq!(reading.counters, drops.map(|(name, value)| (name.to_owned(), value)).into());
        assert_eq!((reading.gauges["udp.receive_queue_bytes"], looks), (30, 1));
        // Whose they are is known.
        assert_eq!(read(both(6, 5)).1, 1);
        // One is closed and another one is opened: what was dropped stays counted.
        let (reading, looks) = read(vec![socket(at, 2, 0, 0, Some(5)), socket(at, 5, 0, 0, Some(1))]);
        assert_eq!(
            (reading.counters["udp.drops"], reading.counters["socket.udp.127.0.0.1:53/0.drops"], looks),
            (12, 1, 2)
        );
    }

    #[test]
    fn the_fullest_accept_queue_and_the_connections_of_the_server_are_counted() {
        let seen = Seen {
            udp: Vec::new(),
            listening: vec![
                socket("127.0.0.1:53", 1, 8, 10, None),
                socket("[::1]:53", 2, 20, 128, None),
                socket("0.0.0.0:80", 3, 99, 100, None),
            ],
            open: vec![
                socket("127.0.0.1:53", 50, 7, 300, None),
                socket("127.0.0.1:53", 0, 0, 0, None),
                socket("127.0.0.2:53", 51, 0, 9_000, None),
            ],
        };
        let mut reading = Reading::default();
        Queues::default().read(seen, &mut Links(0), &[7], &mut reading).unwrap();
        let gauges = [
            ("tcp.accept_backlog", 10),
            ("tcp.accept_queue", 8),
            ("tcp.open", 1),
            ("tcp.receive_queue_bytes", 7),
            ("tcp.send_queue_bytes", 300),
            ("udp.receive_queue_bytes", 0),
        ];
        assert_eq!(reading.gauges, gauges.map(|(name, value)| (name.to_owned(), value)).into());
    }
}
