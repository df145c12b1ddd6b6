//! Socket options and counters that the standard library does not offer.

use std::os::fd::{AsFd, AsRawFd};
use std::{fs, io};

use crate::checked;

/// Makes room for `bytes` of waiting packets, past the host's limit where we have the privilege.
///
/// Returns the size that the kernel set, which includes its own overhead (it doubles the given size).
pub fn set_receive_buffer(socket: &impl AsFd, bytes: usize) -> io::Result<usize> {
    set_buffer(socket, libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, bytes)
}

/// The same for packets that wait to be sent.
pub fn set_send_buffer(socket: &impl AsFd, bytes: usize) -> io::Result<usize> {
    set_buffer(socket, libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, bytes)
}

/// Packets that the kernel dropped at this socket since it was made, for want of buffer.
pub fn drops(socket: &impl AsFd) -> io::Result<u64> {
    // struct sk_meminfo: nine u32, the last one counts drops (linux/sock_diag.h).
    let mut meminfo = [0u32; 9];
    get(socket, libc::SOL_SOCKET, libc::SO_MEMINFO, &mut meminfo)?;
    Ok(u64::from(meminfo[8]))
}

/// Asks for ICMP errors, each with the packet that caused it (see [`crate::udp::ErrorQueue`]).
pub fn report_icmp_errors(socket: &impl AsFd, ipv6: bool) -> io::Result<()> {
    if ipv6 {
        set(socket, libc::SOL_IPV6, libc::IPV6_RECVERR, 1)
    } else {
        set(socket, libc::SOL_IP, libc::IP_RECVERR, 1)
    }
}

/// Whether the kernel can cut one long send into packets of equal size (UDP GSO).
pub fn can_segment(socket: &impl AsFd) -> bool {
    let mut size = [0i32; 1];
    get(socket, libc::SOL_UDP, libc::UDP_SEGMENT, &mut size).is_ok()
}

/// Lets the kernel pass on packets of equal size in one piece (UDP GRO); false where it cannot.
pub fn join_received(socket: &impl AsFd) -> bool {
    set(socket, libc::SOL_UDP, libc::UDP_GRO, 1).is_ok()
}

/// Lets the kernel note when each packet is received (see [`crate::udp::Receiver::arrival_wall_ns`]); false where it
/// cannot.
pub fn stamp_arrivals(socket: &impl AsFd) -> bool {
    set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1).is_ok()
}

/// Lets the kernel say with each received packet which address it was sent to (see
/// [`crate::udp::Receiver::addresses`]); false where it cannot. Of use where the socket has a wildcard address.
pub fn report_local_addresses(socket: &impl AsFd) -> bool {
    // A socket of IPv6 takes only the second, and reports with it what was sent over IPv4 too.
    let v4 = set(socket, libc::SOL_IP, libc::IP_PKTINFO, 1).is_ok();
    set(socket, libc::SOL_IPV6, libc::IPV6_RECVPKTINFO, 1).is_ok() || v4
}

/// Lets the kernel note when packets leave, of which that is asked (see [`crate::udp::Sender::send_stamped`]); false
/// where it cannot. A note has no copy of the packet.
pub fn stamp_departures(socket: &impl AsFd) -> bool {
    let flags =
        libc::SOF_TIMESTAMPING_SOFTWARE | libc::SOF_TIMESTAMPING_OPT_ID | libc::SOF_TIMESTAMPING_OPT_TSONLY;
    // The stamps of received packets are those of `stamp_arrivals`: a kernel from 6.12 on need not add others to them.
    [flags | libc::SOF_TIMESTAMPING_OPT_RX_FILTER, flags]
        .into_iter()
        .any(|flags| set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, flags as i32).is_ok())
}

/// The first and the last local port that sockets get which ask for none (`net.ipv4.ip_local_port_range`); Linux' usual
/// ones where that cannot be read.
pub fn local_ports() -> (u16, u16) {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut ends = range.split_whitespace().map_while(|end| end.parse().ok());
    ends.next().zip(ends.next()).unwrap_or((32_768, 60_999))
}

/// Lets a socket be bound to an address that is not configured on this host.
///
/// # Errors
/// Those of the kernel.
pub fn bind_any_address(socket: &impl AsFd) -> io::Result<()> {
    // A socket of IPv4 takes only the first, and one of IPv6 both.
    let v4 = set(socket, libc::SOL_IP, libc::IP_FREEBIND, 1);
    set(socket, libc::SOL_IPV6, libc::IPV6_FREEBIND, 1).or(v4)
}

/// Lets what is written first travel with the SYN (TCP Fast Open), where the server is known to
/// take it; false where the kernel cannot.
pub fn write_before_connected(socket: &impl AsFd) -> bool {
    set(socket, libc::SOL_TCP, libc::TCP_FASTOPEN_CONNECT, 1).is_ok()
}

fn set_buffer(socket: &impl AsFd, force: i32, plain: i32, bytes: usize) -> io::Result<usize> {
    let asked = bytes.min(i32::MAX as usize / 2) as i32;
    if set(socket, libc::SOL_SOCKET, force, asked).is_err() {
        set(socket, libc::SOL_SOCKET, plain, asked)?;
    }
    let mut given = [0i32; 1];
    get(socket, libc::SOL_SOCKET, plain, &mut given)?;
    Ok(given[0] as usize)
}

pub(crate) fn set(socket: &impl AsFd, level: i32, option: i32, value: i32) -> io::Result<()> {
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: the pointer and the length describe one i32 that lives during the call.
    checked(unsafe {
        libc::setsockopt(
            fd,
            level,
            option,
            std::ptr::from_ref(&value).cast(),
            size_of::<i32>() as libc::socklen_t,
        )
    })?;
    Ok(())
}

fn get<T: Copy, const N: usize>(
    socket: &impl AsFd,
    level: i32,
    option: i32,
    value: &mut [T; N],
) -> io::Result<()> {
    let fd = socket.as_fd().as_raw_fd();
    let mut length = size_of_val(value) as libc::socklen_t;
    // SAFETY: the pointer and the length describe `value`, which the kernel may write to; only
    // integers are asked for here, for which every bit pattern is valid.
    checked(unsafe { libc::getsockopt(fd, level, option, value.as_mut_ptr().cast(), &mut length) })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn a_full_buffer_drops_and_the_counter_says_how_many() {
        let small = UdpSocket::bind("127.0.0.1:0").unwrap();
        small.set_nonblocking(true).unwrap();
        set_receive_buffer(&small, 4096).unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        for _ in 0..500 {
            sender.send_to(&[0; 100], small.local_addr().unwrap()).unwrap();
        }
        let mut received = 0;
        while small.recv(&mut [0; 200]).is_ok() {
            received += 1;
        }
        assert!(received > 0 && received < 500);
        assert_eq!(drops(&small).unwrap(), 500 - received);
    }

    #[test]
    fn a_buffer_is_at_least_what_was_asked_or_what_the_host_allows() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(set_receive_buffer(&socket, 65_536).unwrap() >= 65_536);
        assert!(set_send_buffer(&socket, 65_536).unwrap() >= 65_536);
    }
}
