//! How to see that a server serves: it answers a query over UDP or TCP with a record, or a command succeeds.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::str::FromStr;
use std::time::Duration;

use domain::base::iana::{Rcode, Rtype};
use domain::base::{Message, MessageBuilder, Name};
use serde::Deserialize;

/// The table `ready` of a template.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "ReadyFields")]
pub(crate) struct ReadyTemplate {
    /// Each of these must succeed before it counts as started.
    pub(crate) checks: Vec<ReadyCheck>,
    /// Text in the log (any case) that means: the port is in use.
    pub(crate) port_taken: Vec<String>,
}

/// One thing to try until it succeeds.
#[derive(Debug, Clone)]
pub(crate) enum ReadyCheck {
    /// A query of this type for the zone's origin gets a record.
    Query(ReadyTransport, Rtype),
    /// This program with its arguments, with placeholders, succeeds.
    Command(Vec<String>),
}

impl ReadyTemplate {
    /// Whether it is seen by the answers of the server.
    pub(crate) fn is_by_queries(&self) -> bool {
        self.checks.iter().any(|check| matches!(check, ReadyCheck::Query(..)))
    }
}

/// The table as it is written: `type` and `transports`, or `command`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadyFields {
    #[serde(rename = "type")]
    rtype: Option<String>,
    #[serde(default)]
    transports: Vec<ReadyTransport>,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    port_taken: Vec<String>,
}

impl TryFrom<ReadyFields> for ReadyTemplate {
    type Error = String;

    fn try_from(fields: ReadyFields) -> Result<Self, String> {
        let ReadyFields { rtype, transports, command, port_taken } = fields;
        let checks = match (rtype, command) {
            (Some(rtype), command) if command.is_empty() && !transports.is_empty() => {
                let rtype =
                    Rtype::from_str(&rtype).map_err(|_| format!("the type {rtype:?} is not known"))?;
                transports.into_iter().map(|transport| ReadyCheck::Query(transport, rtype)).collect()
            }
            (None, command) if !command.is_empty() && transports.is_empty() => {
                vec![ReadyCheck::Command(command)]
            }
            _ => return Err("[ready] has `type` and `transports`, or `command`".to_owned()),
        };
        Ok(ReadyTemplate { checks, port_taken })
    }
}

/// A transport for these queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ReadyTransport {
    /// One datagram in each direction.
    Udp,
    /// One connection for one query.
    Tcp,
}

/// Asks `server` for `name` and `rtype` once, and waits for the answer so long.
///
/// # Errors
/// What was received instead of NOERROR with at least one answer record, as text: nothing, a refusal,
/// another RCODE.
pub(crate) fn ask(
    transport: ReadyTransport,
    server: SocketAddr,
    name: &Name<Vec<u8>>,
    rtype: Rtype,
    within: Duration,
) -> Result<(), String> {
    let query = encode(name, rtype)?;
    let answer = match transport {
        ReadyTransport::Udp => over_udp(server, query.as_slice(), within),
        ReadyTransport::Tcp => over_tcp(server, query.as_slice(), within),
    };
    let answer = answer.map_err(|error| format!("{transport:?} to {server}: {error}"))?;
    judge(&query, answer).map_err(|reason| format!("{transport:?} to {server}: {reason}"))
}

fn encode(name: &Name<Vec<u8>>, rtype: Rtype) -> Result<Message<Vec<u8>>, String> {
    let mut builder = MessageBuilder::new_vec();
    builder.header_mut().set_id(QUERY_ID);
    builder.header_mut().set_rd(true);
    let mut question = builder.question();
    question.push((name, rtype)).map_err(|error| error.to_string())?;
    Ok(question.into_message())
}

fn judge(query: &Message<Vec<u8>>, answer: Vec<u8>) -> Result<(), String> {
    let answer = Message::from_octets(answer).map_err(|error| error.to_string())?;
    if !answer.is_answer(query) {
        return Err("a response to another question".to_owned());
    }
    match (answer.header().rcode(), answer.header_counts().ancount()) {
        (Rcode::NOERROR, 0) => Err("NOERROR without an answer record".to_owned()),
        (Rcode::NOERROR, _) => Ok(()),
        (rcode, _) => Err(rcode.to_string()),
    }
}

fn over_udp(server: SocketAddr, query: &[u8], within: Duration) -> io::Result<Vec<u8>> {
    let any: IpAddr =
        if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(within))?;
    socket.send(query)?;
    let mut buffer = vec![0; usize::from(u16::MAX)];
    let length = socket.recv(&mut buffer)?;
    buffer.truncate(length);
    Ok(buffer)
}

fn over_tcp(server: SocketAddr, query: &[u8], within: Duration) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&server, within)?;
    stream.set_read_timeout(Some(within))?;
    let length = u16::try_from(query.len()).map_err(io::Error::other)?;
    stream.write_all(&[&length.to_be_bytes(), query].concat())?;
    let mut prefix = [0; 2];
    stream.read_exact(&mut prefix)?;
    let mut answer = vec![0; usize::from(u16::from_be_bytes(prefix))];
    stream.read_exact(&mut answer)?;
    Ok(answer)
}

/// Each question has a connected socket of its own, so one ID does for all.
const QUERY_ID: u16 = 0x6c61;

/// A server on loopback answers in well under a millisecond; one that is still loading is retried. One that works
/// longer on each answer would never be heard with a fixed time: it is doubled each time that it has passed, up to
/// [`LONGEST_WAIT`].
pub(crate) const FIRST_WAIT: Duration = Duration::from_millis(250);

/// See [`FIRST_WAIT`].
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(5);
