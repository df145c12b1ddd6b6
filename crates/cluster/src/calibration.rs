//! How fast an agent's host is, against the others: so that each gets its share of a load that wants all CPUs.
//!
//! One CPU sends datagrams of the size of a query to itself over loopback, and receives them. What that costs is what
//! most of a load over UDP costs: system calls and the kernel's way of a datagram. It is no limit of the host, and only
//! compared.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::OnceLock;
use std::time::Duration;

use dnsdyno_sys::clock::monotonic_ns as now_ns;

use crate::deal::Hand;

/// Datagrams a second of one CPU: measured once by a process, whoever asks how often. `None` if this host has no
/// loopback.
pub(crate) fn speed() -> Option<f64> {
    static SPEED: OnceLock<Option<f64>> = OnceLock::new();
    *SPEED.get_or_init(|| measured().ok())
}

fn measured() -> io::Result<f64> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.connect(socket.local_addr()?)?;
    socket.set_read_timeout(Some(Duration::from_nanos(MEASURED_FOR_NS)))?;
    let mut octets = [0; QUERY_OCTETS];
    let began_ns = now_ns();
    let (mut datagrams, mut took_ns) = (0_u64, 0);
    while took_ns < MEASURED_FOR_NS {
        for _ in 0..BURST {
            socket.send(&octets)?;
        }
        for _ in 0..BURST {
            socket.recv(&mut octets)?;
        }
        datagrams += BURST;
        took_ns = now_ns() - began_ns;
    }
    Ok(datagrams as f64 * 1e9 / took_ns as f64)
}

/// Puts the speeds of hosts into their hands, as multiples of the slowest one in steps of a quarter: what differs by
/// less is noise. Nothing changes where one is not known.
pub(crate) fn weigh(hands: &mut [Hand], speeds: &[Option<f64>]) {
    let Some(speeds) = speeds.iter().copied().collect::<Option<Vec<f64>>>() else { return };
    let slowest = speeds.iter().copied().fold(f64::INFINITY, f64::min);
    for (hand, speed) in hands.iter_mut().zip(speeds) {
        hand.speed = (speed / slowest * 4.0).round() / 4.0;
    }
}

/// How long is measured, what is sent at once, and octets of a datagram.
const MEASURED_FOR_NS: u64 = 100_000_000;
const BURST: u64 = 16;
const QUERY_OCTETS: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_has_a_speed() {
        assert!(speed().is_some_and(|speed| speed > 100.0));
        assert_eq!(speed(), speed());
    }

    #[test]
    fn speeds_are_compared_in_quarters_and_only_where_all_are_known() {
        let speeds_of = |speeds: &[Option<f64>]| -> Vec<f64> {
            let mut hands = vec![Hand { weight: None, cpus: 4, speed: 1.0 }; speeds.len()];
            weigh(&mut hands, speeds);
            hands.iter().map(|hand| hand.speed).collect()
        };
        assert_eq!(speeds_of(&[Some(300e3), Some(305e3), Some(640e3)]), [1.0, 1.0, 2.25]);
        assert_eq!(speeds_of(&[Some(300e3), None]), [1.0, 1.0]);
    }
}
