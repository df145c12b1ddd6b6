//! Whether a server that seems silent over UDP answers from another address: a host with several addresses does, where
//! the server does not bind each of them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use dnsdyno_transport::Description;
use dnsdyno_wire::{HEADER_LEN, peek, same_question};

/// Sends the question once more, from a socket that takes what comes from anywhere. The address of the answer, if it is
/// not the server's.
pub(super) fn answering_address(question: &[u8], description: &Description) -> Option<SocketAddr> {
    let server = description.server;
    let wildcard = match server {
        SocketAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::from(Ipv6Addr::UNSPECIFIED),
    };
    // A link-local address needs its interface, and no host answers a neighbour from elsewhere by mistake.
    let socket = UdpSocket::bind((description.local_address.unwrap_or(wildcard), 0)).ok()?;
    socket.send_to(question, server).ok()?;
    let end = Instant::now() + WAIT;
    let mut buffer = vec![0; usize::from(u16::MAX)];
    loop {
        let left = end.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
        socket.set_read_timeout(Some(left)).ok()?;
        let (length, from) = socket.recv_from(&mut buffer).ok()?;
        let Some(response) = peek(&buffer[..length]).ok().filter(|response| response.is_response()) else {
            continue;
        };
        let asked = question.get(HEADER_LEN..).and_then(|rest| rest.get(..response.question.len()));
        let is_ours = question.get(..2) == Some(&response.id.to_be_bytes())
            && asked.is_some_and(|asked| same_question(response.question, asked));
        if is_ours {
            return Some(from).filter(|from| *from != server);
        }
    }
}

/// How long it may take to answer.
const WAIT: Duration = Duration::from_secs(1);
