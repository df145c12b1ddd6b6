//! Questions to the kernel over netlink: sockets, routes, queueing disciplines, network interfaces.
//!
//! A [`Netlink`] socket asks in the network namespace in which it was opened, whatever the thread does later. Messages
//! are framed by `netlink-packet-core`; what they hold is read where it is known, one file each.

pub mod ethtool;
mod generic;
pub mod netdev;
pub mod qdisc;
pub mod route;
pub mod sockets;

use std::io;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NLMSG_DONE, NLMSG_ERROR, NetlinkBuffer, NlaBuffer, NlasIterator,
};
use netlink_sys::{Socket, SocketAddr};

/// A socket to one subsystem of the kernel.
#[derive(Debug)]
struct Netlink {
    socket: Socket,
    buffer: Vec<u8>,
    sequence: u32,
}

/// Whether one object is asked for, or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    One,
    All,
}

impl Netlink {
    fn open(protocol: isize) -> io::Result<Netlink> {
        let mut socket = Socket::new(protocol)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Netlink { socket, buffer: Vec::with_capacity(LONGEST_READ), sequence: 0 })
    }

    /// Sends a request, and passes the content of each message of the reply to `each`.
    fn ask(
        &mut self,
        kind: u16,
        extent: Extent,
        request: &[u8],
        mut each: impl FnMut(&[u8]),
    ) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        // One object is followed by an acknowledgement: that is where its reply ends.
        let flags = NLM_F_REQUEST | if extent == Extent::All { NLM_F_DUMP } else { NLM_F_ACK };
        let length = HEADER + request.len();
        let mut bytes = vec![0; length];
        let mut header = NetlinkBuffer::new(&mut bytes[..]);
        header.set_length(length as u32);
        header.set_message_type(kind);
        header.set_flags(flags);
        header.set_sequence_number(self.sequence);
        bytes[HEADER..].copy_from_slice(request);
        self.socket.send(&bytes, 0)?;
        loop {
            self.buffer.clear();
            self.socket.recv(&mut self.buffer, 0)?;
            if read_messages(&self.buffer, self.sequence, &mut each)? {
                return Ok(());
            }
        }
    }
}

/// Passes on the messages of one read. Returns whether the reply is complete.
fn read_messages(mut rest: &[u8], sequence: u32, each: &mut impl FnMut(&[u8])) -> io::Result<bool> {
    while !rest.is_empty() {
        let message = NetlinkBuffer::new_checked(rest)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
        let content = message.payload();
        // Messages are padded to four octets, except perhaps the last one.
        let length = (message.length() as usize).next_multiple_of(4).clamp(HEADER, rest.len());
        rest = &rest[length..];
        if message.sequence_number() != sequence {
            continue;
        }
        match message.message_type() {
            NLMSG_DONE => return Ok(true),
            NLMSG_ERROR => {
                return match content.first_chunk().map(|code| i32::from_ne_bytes(*code)) {
                    Some(code) if code < 0 => Err(io::Error::from_raw_os_error(code.saturating_neg())),
                    _ => Ok(true),
                };
            }
            _ => each(content),
        }
    }
    Ok(false)
}

/// The attributes in these octets, with their kinds; ends at the first one that is broken.
fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    NlasIterator::new(bytes).map_while(Result::ok).map(|attribute: NlaBuffer<&[u8]>| {
        let length = usize::from(attribute.length()).min(attribute.into_inner().len());
        (attribute.kind(), attribute.into_inner().get(ATTRIBUTE_HEADER..length).unwrap_or_default())
    })
}

/// The first attribute of this kind; empty where there is none.
fn attribute(bytes: &[u8], kind: u16) -> &[u8] {
    attributes(bytes).find(|(its, _)| *its == kind).map_or(&[], |(_, value)| value)
}

/// An attribute as it is sent.
fn encoded(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = (ATTRIBUTE_HEADER + value.len()) as u16;
    let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend_from_slice(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// The number of 32 bits at this octet.
fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

/// The number of 64 bits at this octet.
fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes))
}

/// A text that ends with a zero.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// Octets of the header of a message, and of an attribute.
const HEADER: usize = 16;
const ATTRIBUTE_HEADER: usize = 4;

/// As much as the kernel gives at once.
const LONGEST_READ: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_as_they_were_encoded_and_what_is_broken_ends_them() {
        let mut bytes = [encoded(3, b"abcde"), encoded(4, &7_u32.to_ne_bytes())].concat();
        let read: Vec<_> = attributes(&bytes).collect();
        assert_eq!(read, [(3, &b"abcde"[..]), (4, &7_u32.to_ne_bytes()[..])]);
        assert_eq!(
            (text(b"ab\0c"), u32_at(attribute(&bytes, 4), 0), attribute(&bytes, 9).len()),
            ("ab".into(), Some(7), 0)
        );
        bytes.truncate(bytes.len() - 1);
        assert_eq!(attributes(&bytes).count(), 1);
        assert_eq!(attributes(&[1, 0, 0, 0]).count(), 0);
    }

    #[test]
    fn a_reply_is_complete_at_its_end_and_an_error_is_that_of_the_kernel() {
        let message = |kind: u16, content: &[u8]| {
            let mut bytes = vec![0; HEADER];
            let mut header = NetlinkBuffer::new(&mut bytes[..]);
            header.set_length((HEADER + content.len()) as u32);
            header.set_message_type(kind);
            header.set_sequence_number(5);
            [bytes, content.to_vec()].concat()
        };
        let mut seen = Vec::new();
        let mut each = |content: &[u8]| seen.push(content.to_vec());
        let two = [message(20, b"abcd"), message(20, b"ef")].concat();
        assert!(!read_messages(&two, 5, &mut each).unwrap());
        assert!(read_messages(&message(NLMSG_DONE, &[0; 4]), 5, &mut each).unwrap());
        let error = read_messages(&message(NLMSG_ERROR, &(-libc::EPERM).to_ne_bytes()), 5, &mut each);
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert!(read_messages(&two[..10], 5, &mut each).is_err());
        // The reply to an earlier question, which was given up.
        assert!(!read_messages(&two, 6, &mut each).unwrap());
        assert_eq!(seen, [b"abcd".to_vec(), b"ef".to_vec()]);
    }
}
