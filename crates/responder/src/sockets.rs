//! Opens the sockets of a responder.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;

use dnsdyno_sys::socket as sys_socket;
use socket2::{Domain, Socket, Type};

use crate::config::{Config, Error};
use crate::kind::Transport;

/// Open sockets, all on one port.
pub(crate) struct Sockets {
    pub(crate) address: SocketAddr,
    pub(crate) udp: Vec<UdpSocket>,
    pub(crate) tcp: Option<mio::net::TcpListener>,
}

impl Sockets {
    pub(crate) fn open(config: &Config, listen: SocketAddr) -> Result<Sockets, Error> {
        if listen.port() != 0 {
            return Sockets::open_at(config, listen);
        }
        for _ in 0..PORT_TRIES {
            match Sockets::open_at(config, listen) {
                // Free for UDP, but not for TCP: the kernel gives another one next time.
                Err(Error::PortInUse { .. }) => {}
                result => return result,
            }
        }
        Err(Error::NoFreePort { address: listen, tries: PORT_TRIES })
    }

    fn open_at(config: &Config, listen: SocketAddr) -> Result<Sockets, Error> {
        // First without sharing: otherwise the socket could join another program's that shares the
        // port too.
        let joins_others = config.share_port && listen.port() != 0;
        let first = open_udp(config, Transport::Udp, listen, joins_others)?;
        let address = first.local_addr().map_err(|source| listen_error(Transport::Udp, listen, source))?;
        let mut udp = vec![first];
        if config.threads > 1 || config.share_port {
            udp.clear();
            for _ in 0..config.threads {
                udp.push(open_udp(config, Transport::Udp, address, true)?);
            }
        }
        let tcp = config.tcp.then(|| open_first_tcp(config, Transport::Tcp, address)).transpose()?;
        Ok(Sockets { address, udp, tcp })
    }
}

/// A UDP socket that does not share its port.
pub(crate) fn open_alone(
    config: &Config,
    transport: Transport,
    listen: SocketAddr,
) -> Result<UdpSocket, Error> {
    open_udp(config, transport, listen, false)
}

fn open_udp(
    config: &Config,
    transport: Transport,
    listen: SocketAddr,
    shared: bool,
) -> Result<UdpSocket, Error> {
    let open = || -> io::Result<UdpSocket> {
        let socket = Socket::new(Domain::for_address(listen), Type::DGRAM, None)?;
        socket.set_reuse_port(shared)?;
        socket.bind(&listen.into())?;
        report_local_addresses(&socket, listen);
        sys_socket::set_receive_buffer(&socket, config.receive_buffer_bytes)?;
        sys_socket::set_send_buffer(&socket, config.send_buffer_bytes)?;
        Ok(socket.into())
    };
    open().map_err(|source| listen_error(transport, listen, source))
}

/// Lets the kernel say which address each packet was sent to, where that is not plain: the response comes from it.
pub(crate) fn report_local_addresses(socket: &impl AsFd, listen: SocketAddr) {
    if listen.ip().is_unspecified() {
        sys_socket::report_local_addresses(socket);
    }
}

/// The first of the listening sockets at an address.
pub(crate) fn open_first_tcp(
    config: &Config,
    transport: Transport,
    listen: SocketAddr,
) -> Result<mio::net::TcpListener, Error> {
    if config.share_port || config.threads == 1 {
        return open_tcp(transport, listen, config.share_port);
    }
    // First without sharing, as with UDP.
    let alone = open_tcp(transport, listen, false)?;
    let address = alone.local_addr().map_err(|source| listen_error(transport, listen, source))?;
    drop(alone);
    open_tcp(transport, address, true)
}

pub(crate) fn open_tcp(
    transport: Transport,
    listen: SocketAddr,
    shared: bool,
) -> Result<mio::net::TcpListener, Error> {
    let open = || -> io::Result<mio::net::TcpListener> {
        let socket = Socket::new(Domain::for_address(listen), Type::STREAM, None)?;
        // So that it can be started again while old connections wait to be forgotten.
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(shared)?;
        socket.bind(&listen.into())?;
        socket.listen(TCP_BACKLOG)?;
        socket.set_nonblocking(true)?;
        Ok(mio::net::TcpListener::from_std(socket.into()))
    };
    open().map_err(|source| listen_error(transport, listen, source))
}

fn listen_error(transport: Transport, address: SocketAddr, source: io::Error) -> Error {
    let advice = match source.kind() {
        io::ErrorKind::AddrInUse => return Error::PortInUse { transport, address },
        io::ErrorKind::PermissionDenied => {
            "; ports below 1024 need root or CAP_NET_BIND_SERVICE, use a higher one"
        }
        io::ErrorKind::AddrNotAvailable => "; no interface of this host has the address (see 'ip address')",
        _ => "",
    };
    Error::Listen { transport, address, source, advice }
}

/// Threads at most: more than the cores of any host we know of are a typing error.
pub(crate) const MOST_THREADS: usize = 1024;

/// How often a port that is free for UDP may be in use for TCP before this is given up.
const PORT_TRIES: usize = 64;

/// Connections that wait to be accepted; the host's `net.core.somaxconn` may allow fewer.
const TCP_BACKLOG: i32 = 4096;
