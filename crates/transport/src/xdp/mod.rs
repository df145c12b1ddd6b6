//! AF_XDP: packets directly from and to the interface's queues, with headers of our own; the kernel's
//! network stack is bypassed.
//!
//! ```text
//!   worker 0 ── socket of queue 0, 2, ...      channel = source address and port, so that a response
//!   worker 1 ── socket of queue 1, 3, ...      finds its worker whatever queue it was received on
//! ```
//!
//! [`open`] looks up the route to the server in the host's tables, attaches the program that takes the
//! server's responses off the interface, binds a socket to each of its queues, and gives them to the
//! workers. The host keeps all other packets, and the whole interface when the run is over.
//!
//! Where the driver has to copy, AF_XDP is used for receiving only: its ring would send packet by packet,
//! each with a pass through the stack, while a packet socket accepts a batch of messages with our headers
//! and has it segmented behind the stack (twice as fast on a pair of virtual interfaces). Where very many
//! are due at once, the kernel is asked to make and send frames of them, beside its stack (again twice as
//! fast). Without a copy the ring is faster, and is used. The stack silently drops packets for a link that
//! is down, so the link state is checked once a millisecond.

mod addressing;
mod error;
mod forwarding;
pub mod frame;
mod injection;
mod line;
mod open;
mod ports;
mod worker;

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::sync::Arc;

pub use dnsdyno_sys::xdp::{Attach, Attached, CopyMode, XdpError};
pub use error::XdpOpenError;
pub use line::XdpFacts;
pub use worker::XdpTransport;

use addressing::{Addressing, addresses, bits, port_count};
use dnsdyno_sys::interface::{Interface, LinkState};
use dnsdyno_sys::netlink::route;
use dnsdyno_sys::xdp::{Filter, Redirect, Socket, SocketConfig};
use forwarding::Forwarding;
use frame::{Ethernet, Header};
use injection::{Injection, LONGEST_INJECTED};
use line::Line;
use ports::MOST_HELD;

/// How to reach the server.
#[derive(Clone, Debug)]
pub struct XdpConfig {
    /// The server.
    pub server: SocketAddr,
    /// The interface; `None` takes the one that the route leads over.
    pub interface: Option<String>,
    /// Which addresses to send from.
    pub source: Source,
    /// Our ports, first and last, of which as many are used as there are channels; `None` looks for
    /// free ones. Responses to them are taken from the host, so those of the host's own addresses are
    /// reserved during the run (beyond 4,096 they are only checked to be free).
    pub ports: Option<(u16, u16)>,
    /// The Ethernet address of the next hop; `None` looks it up, and makes the host find it.
    pub next_hop: Option<[u8; 6]>,
    /// The 802.1Q tag of the queries. Responses may have a tag or none.
    pub vlan: Option<u16>,
    /// Where the program is to run.
    pub attach: Attach,
    /// Whether to copy packets.
    pub copy: CopyMode,
    /// How many workers share the interface's queues.
    pub workers: usize,
    /// Whether there may be fewer workers where there are fewer queues; otherwise that is an error.
    pub fits_workers: bool,
    /// How many channels the workers have together, at least one each. All have the same number,
    /// so a remainder stays unused.
    pub channels: usize,
    /// The longest message in bytes, to be compared with the interface's MTU.
    pub longest_message: usize,
    /// Whether responses are of no interest; they are then dropped on the interface.
    pub send_only: bool,
}

/// Which addresses to send from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The one that the host would use.
    Route,
    /// One that the interface owns.
    Address(IpAddr),
    /// From this address on to the end of a prefix that is routed to us; as many as are needed for
    /// the ports. A prefix as long as the address is that address only.
    Prefix {
        /// The first address.
        first: IpAddr,
        /// Length of the prefix in bits.
        length: u8,
    },
}

/// Opens the interface for a run: a transport for each worker. Call it in the network namespace of the run; it
/// may take two seconds where a neighbour must be found.
///
/// # Errors
/// Where the host has no route to the server, or refuses what is needed.
pub fn open(config: &XdpConfig) -> Result<Vec<XdpTransport>, XdpOpenError> {
    let plan = Plan::new(config)?;
    let queues = plan.interface.queues();
    // The kernel refuses a second program too, but only after a second run would have chosen the ports
    // of the first.
    if route::has_xdp_program(plan.interface.index()).unwrap_or(false) {
        return Err(XdpError::OtherProgram { interface: plan.interface.name().to_owned() }.into());
    }
    let workers = plan.workers(config, queues)?;
    let (addressing, ports, held) = plan.hold_ports(config, (workers, (config.channels / workers).max(1)))?;
    let (first, prefix) = plan.source;
    let filter = Filter::new((config.server.ip(), config.server.port()), (first, prefix), ports)
        .ok_or(XdpOpenError::TwoFamilies { source_address: first, server: config.server.ip() })?;
    let filter = if config.send_only { filter.discarding() } else { filter };
    let index = plan.interface.index();
    let injects = config.longest_message <= LONGEST_INJECTED && injection::is_possible_on(index);
    let injectors = if injects { workers as u32 } else { 0 };
    let mut redirect = Redirect::attach(&plan.interface, config.attach, &filter, (queues, injectors))?;
    let attached = redirect.attached();
    let sockets = bind_all(&plan, config, &mut redirect, queues)?;
    let zero_copy = sockets.iter().all(Socket::is_zero_copy);
    let injections: Vec<_> = (0..workers)
        .map(|number| if zero_copy { None } else { Injection::open(&mut redirect, number, index) })
        .collect();
    let facts = XdpFacts {
        interface: plan.interface.name().to_owned(),
        queues,
        attached,
        zero_copy,
        injects: injections.iter().all(Option::is_some),
        source: first,
        ports,
        next_hop: plan.ethernet.next_hop,
        vlan: config.vlan,
        mtu: plan.mtu,
    };
    let line = Arc::new(Line { facts, redirect, _ports: held });
    make_workers(&plan, config, addressing, (sockets, injections), &line)
}

/// A socket for each queue, each already fed by the program.
fn bind_all(
    plan: &Plan,
    config: &XdpConfig,
    redirect: &mut Redirect,
    queues: u32,
) -> Result<Vec<Socket>, XdpOpenError> {
    let mut sockets = Vec::with_capacity(queues as usize);
    for queue in 0..queues {
        let socket_config = SocketConfig {
            queue,
            copy: config.copy,
            rx_frames: RX_FRAMES,
            tx_frames: TX_FRAMES,
            frame_size: if plan.mtu + LONGEST_ETHERNET <= SMALL_FRAME { 2_048 } else { 4_096 },
        };
        let socket = Socket::bind(&plan.interface, redirect.attached(), &socket_config)?;
        redirect.give(&socket)?;
        sockets.push(socket);
    }
    Ok(sockets)
}

/// The sockets, channels and forwarding of each worker.
fn make_workers(
    plan: &Plan,
    config: &XdpConfig,
    addressing: Addressing,
    (sockets, injections): (Vec<Socket>, Vec<Option<Injection>>),
    line: &Arc<Line>,
) -> Result<Vec<XdpTransport>, XdpOpenError> {
    let workers = injections.len();
    let failed = |what| move |reason| XdpOpenError::Tables { what, reason };
    let forwardings = Forwarding::for_all(workers).map_err(failed("the socket limit"))?;
    let mut hands: Vec<Vec<Socket>> = (0..workers).map(|_| Vec::new()).collect();
    for (number, socket) in sockets.into_iter().enumerate() {
        hands[number % workers].push(socket);
    }
    let each = addressing.all() / workers;
    let mut transports = Vec::with_capacity(workers);
    let parts = hands.into_iter().zip(forwardings).zip(injections);
    for (number, ((sockets, forwarding), injection)) in parts.enumerate() {
        let first = number * each;
        let headers = (first..first + each)
            .map(|channel| Header::new(&plan.ethernet, addressing.source_of(channel), config.server))
            .collect();
        let interface = Interface::indexed(plan.interface.index()).map_err(failed("the interfaces"))?;
        let transport = XdpTransport::new(worker::Parts {
            number,
            sockets,
            headers,
            addressing,
            forwarding,
            injection,
            interface,
            mtu: plan.mtu,
            send_only: config.send_only,
            line: Arc::clone(line),
        });
        transports.push(transport.map_err(failed("the socket limit"))?);
    }
    Ok(transports)
}

/// What follows from the tables of the host and the configuration.
struct Plan {
    interface: Interface,
    ethernet: Ethernet,
    /// The first address to send from, and the length of the prefix that it is in.
    source: (IpAddr, u8),
    mtu: usize,
}

impl Plan {
    fn new(config: &XdpConfig) -> Result<Self, XdpOpenError> {
        let server = config.server.ip();
        let tables = |what| move |reason| XdpOpenError::Tables { what, reason };
        let mut named = config.interface.as_deref().map(find_interface).transpose()?;
        if let (None, SocketAddr::V6(v6)) = (&named, config.server)
            && v6.scope_id() != 0
        {
            named = Some(Interface::indexed(v6.scope_id()).map_err(tables("the interfaces"))?);
        }
        // An interface that is down has no routes; "no route" would be misleading.
        if let Some(interface) = named.as_ref().filter(|found| found.link_state() == LinkState::Down) {
            return Err(XdpError::InterfaceDown { interface: interface.name().to_owned() }.into());
        }
        let route =
            route::route_to(server, named.as_ref().map(Interface::index)).map_err(tables("the routes"))?;
        let no_route = XdpOpenError::NoRoute { server };
        let is_given = config.next_hop.is_some() && config.source != Source::Route;
        let interface = match (named, route) {
            (_, Some(route)) if route.is_local => return Err(XdpOpenError::OnThisHost { server }),
            // Where everything is given no route is needed.
            (Some(interface), route) if route.is_some() || is_given => interface,
            (None, Some(route)) => Interface::indexed(route.interface).map_err(tables("the interfaces"))?,
            _ => return Err(no_route),
        };
        let name = || interface.name().to_owned();
        if interface.link_state() == LinkState::Down {
            return Err(XdpError::InterfaceDown { interface: name() }.into());
        }
        let ours = interface.mac().map_err(|_| XdpOpenError::NotEthernet { interface: name() })?;
        let source = choose_source(config, &interface, route)?;
        let next_hop = match config.next_hop {
            Some(mac) => mac,
            None => {
                let next_hop = route.map_or(server, |route| route.next_hop);
                route::find_neighbour(interface.index(), next_hop)
                    .map_err(tables("the neighbours"))?
                    .ok_or_else(|| XdpOpenError::NoNeighbour { interface: name(), next_hop })?
            }
        };
        let ethernet = Ethernet { ours, next_hop, vlan: config.vlan };
        let mtu = interface.mtu().map_err(tables("the interfaces"))?;
        let needed = config.longest_message + if server.is_ipv4() { 28 } else { 48 };
        if needed > mtu {
            return Err(XdpOpenError::MtuTooSmall { interface: name(), mtu, needed });
        }
        Ok(Plan { interface, ethernet, source, mtu })
    }

    /// How many workers there are.
    fn workers(&self, config: &XdpConfig, queues: u32) -> Result<usize, XdpOpenError> {
        let workers = config.workers.max(1);
        if workers > queues as usize && !config.fits_workers {
            let interface = self.interface.name().to_owned();
            return Err(XdpOpenError::TooManyWorkers { workers, queues, interface });
        }
        Ok(workers.min(queues as usize))
    }

    /// The channels of `(workers, each)` as addresses and ports that no other program uses.
    fn hold_ports(
        &self,
        config: &XdpConfig,
        workers: (usize, usize),
    ) -> Result<(Addressing, (u16, u16), ports::Held), XdpOpenError> {
        let asked = workers.0 * workers.1;
        let many = addresses(self.source);
        let scope = if is_link_local(self.source.0) { self.interface.index() } else { 0 };
        let row = |first: u16, count: usize| (first, first + (count - 1) as u16);
        let with = |ports| Addressing::new(config.server, self.source.0, ports, workers);
        let sources = |addressing: Addressing| {
            (0..asked).map(move |channel| match addressing.source_of(channel) {
                SocketAddr::V6(v6) => SocketAddrV6::new(*v6.ip(), v6.port(), 0, scope).into(),
                v4 => v4,
            })
        };
        let taken = |ports::Taken { source, reason }| XdpOpenError::PortTaken { ours: source, reason };
        let Some(given) = config.ports else {
            // All addresses are used first: that is what a prefix is given for.
            let count = asked.div_ceil(many);
            let most = usize::from(u16::MAX - ports::FIRST_TRIED) + 1;
            if count > most {
                return Err(XdpOpenError::TooManyChannels { asked, most: most.saturating_mul(many) });
            }
            let (first, held) =
                ports::find(count as u16, |first| sources(with(row(first, count)))).map_err(taken)?;
            let ports = row(first, count);
            return Ok((with(ports), ports, held));
        };
        let most = many.saturating_mul(port_count(given));
        if asked > most {
            return Err(XdpOpenError::TooManyChannels { asked, most });
        }
        // No more ports than are used: the others are left to the host.
        let ports = row(given.0, port_count(given).min(asked));
        let held = ports::hold(sources(with(ports))).map_err(taken)?;
        Ok((with(ports), ports, held))
    }
}

fn find_interface(name: &str) -> Result<Interface, XdpOpenError> {
    Interface::named(name).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => XdpError::NoInterface { interface: name.to_owned() }.into(),
        _ => XdpOpenError::Tables { what: "the interfaces", reason: error },
    })
}

fn is_link_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local())
}

/// The first address to send from, and the prefix that it is in.
fn choose_source(
    config: &XdpConfig,
    interface: &Interface,
    route: Option<route::Route>,
) -> Result<(IpAddr, u8), XdpOpenError> {
    let server = config.server.ip();
    let (address, prefix) = match config.source {
        Source::Route => {
            let source = route.and_then(|route| route.source).ok_or(XdpOpenError::NoRoute { server })?;
            (source, bits(source))
        }
        Source::Address(address) => (address, bits(address)),
        Source::Prefix { first, length } => (first, length.min(bits(first))),
    };
    if address.is_ipv4() != server.is_ipv4() {
        return Err(XdpOpenError::TwoFamilies { source_address: address, server });
    }
    if let Source::Address(address) = config.source {
        let owned = route::addresses_of(interface.index());
        let owned = owned.map_err(|reason| XdpOpenError::Tables { what: "the addresses", reason })?;
        if !owned.contains(&address) {
            return Err(XdpOpenError::NotOurAddress { address, interface: interface.name().to_owned() });
        }
    }
    Ok((address, prefix))
}

/// Responses that may wait on a queue: two milliseconds at a million a second. The kernel uses all frames
/// in turn, so more of them would be less likely to be in the CPU's cache.
const RX_FRAMES: u32 = 2_048;

/// Queries that may wait to be sent by a queue. Frames that were returned last are used first.
const TX_FRAMES: u32 = 1_024;

/// Bytes of a received packet that fit into a frame of 2,048.
const SMALL_FRAME: usize = 2_048 - 256;

/// An Ethernet header with one VLAN tag.
const LONGEST_ETHERNET: usize = 18;
