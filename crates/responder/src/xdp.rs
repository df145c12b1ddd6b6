//! The responder in the kernel: a program on the interface sends responses that were made in advance, and
//! passes everything else up to the sockets. The two are one server, with one book.
//!
//! ```text
//!   query ──► XDP program ── a name of the map, fits ──► response, from the driver
//!                  │
//!                  └── anything else ──► host ──► UDP and TCP sockets of the responder
//! ```
//!
//! In the kernel: every name and type of the zone, NODATA and NXDOMAIN with the SOA, aliases, wildcards
//! but those of aliases, TC=1, EDNS. Up to the sockets: TCP; other opcodes, classes and EDNS versions,
//! transfers, malformed queries; names outside the zone, or more than 16 labels below what exists (in a
//! zone with wildcards); responses over 1,216 bytes; responses for which the packet's buffer has no space
//! before or after the query; more than 16 EDNS options; fragments, IPv4 options and IPv6 extension headers,
//! two VLAN tags.
//!
//! A response grows into the space before the packet (its head room) where there is none after it: veth
//! leaves less than a cache line after a packet and 200 bytes before it, so the program moves the head of
//! the packet.
//!
//! The program's responses do not pass through the host: no firewall has seen them, the checksum of the
//! query was not verified, and whether the driver could send them is not known.

mod table;

use std::io;
use std::net::SocketAddr;

use dnsdyno_sys::interface::{Interface, LinkState};
use dnsdyno_sys::xdp::{Attach, Counts, Respond, Settings, XdpError};

use crate::book::InKernel;
use crate::config::{Config, Error};
use crate::server::{Responder, Running};

use table::Table;

/// The configuration of a responder in the kernel.
#[derive(Clone, Debug)]
pub struct XdpConfig {
    /// The interface that receives the queries, in the network namespace of the calling thread.
    pub interface: String,
    /// Whether the program runs in the driver or in the kernel's stack.
    pub attach: Attach,
    /// The responder with the sockets: addresses (of the interface, each separately), rule, threads.
    /// It must have no faults, and another rule than [`Rule::FixedSize`](crate::Rule::FixedSize).
    pub responder: Config,
}

/// Starts responders in the kernel.
#[derive(Debug)]
pub struct XdpResponder;

/// Why a responder does not start in the kernel.
#[derive(Debug, thiserror::Error)]
pub enum XdpStartError {
    /// The responder with the sockets does not start.
    #[error(transparent)]
    Responder(#[from] Error),
    /// Faults were given.
    #[error(
        "--xdp cannot be combined with faults (delay, loss, wrong answers, stall): the kernel only sends correct \
         responses, and at once"
    )]
    Faults,
    /// The responses of the rule cannot be made in advance.
    #[error(
        "--xdp cannot be combined with --size: responses of a fixed size depend on the query, and the kernel only \
         sends responses made in advance; a zone with long TXT records gives long responses too"
    )]
    FixedSize,
    /// A wildcard address.
    #[error(
        "{address} is a wildcard address, and the kernel must not answer for every address: give the addresses \
         of the interface (see `ip address`), each with --listen"
    )]
    AnyAddress {
        /// What was asked for.
        address: SocketAddr,
    },
    /// Too many addresses.
    #[error("{count} addresses; the program in the kernel answers at up to {}", Settings::ADDRESSES_MAX)]
    TooManyAddresses {
        /// What was asked for.
        count: usize,
    },
    /// There is no such interface.
    #[error("there is no interface {interface}: see `ip link`")]
    NoInterface {
        /// What was asked for.
        interface: String,
    },
    /// The interface is down.
    #[error("{interface} is down: `ip link set {interface} up`")]
    InterfaceDown {
        /// The interface.
        interface: String,
    },
    /// The interface cannot be read.
    #[error("cannot read the interface {interface}: {source}")]
    Interface {
        /// The interface.
        interface: String,
        /// What the system reported.
        source: io::Error,
    },
    /// The object of the program lacks what this build expects of it.
    #[error(
        "this dnsdyno was built with another program for the kernel than it expects: run scripts/build-ebpf and \
         build again, or remove --xdp"
    )]
    OtherObject,
    /// The process lacks a capability.
    #[error(
        "--xdp needs privileges ({what}: {source}): run as root, or give the program CAP_NET_ADMIN, CAP_BPF and \
         CAP_PERFMON (setcap), or remove --xdp"
    )]
    NoPrivilege {
        /// What was refused.
        what: &'static str,
        /// What the system reported.
        source: io::Error,
    },
    /// The kernel is too old, or built without.
    #[error(
        "this kernel has no {what}: --xdp needs Linux 5.15 or later with CONFIG_BPF_SYSCALL; leave it out"
    )]
    KernelLacks {
        /// What it lacks.
        what: &'static str,
    },
    /// Anything else that the kernel refused.
    #[error(transparent)]
    Xdp(XdpError),
}

impl XdpStartError {
    /// Whether the configuration is impossible anywhere, not only on this host at this time.
    pub fn is_bad_input(&self) -> bool {
        use XdpStartError as Error;
        matches!(
            self,
            Error::Faults | Error::FixedSize | Error::AnyAddress { .. } | Error::TooManyAddresses { .. }
        )
    }
}

impl XdpResponder {
    /// Starts a responder, and a program on the interface that answers for it. The program is
    /// detached when [`Running`] is stopped or dropped, or when the process ends in any way.
    ///
    /// On a pair of veth interfaces responses reach only an end that has an XDP program (any): the
    /// kernel wakes no other, with GRO or without.
    pub fn start(config: XdpConfig) -> Result<Running, XdpStartError> {
        let XdpConfig { interface, attach, responder } = config;
        if !responder.faults.are_none() {
            return Err(XdpStartError::Faults);
        }
        let mut table = Table::of(&responder.rule).ok_or(XdpStartError::FixedSize)?;
        check_addresses(&responder)?;
        let (interface, mtu) = look_up(&interface)?;
        // The sockets first: they know the port, and the program passes queries up to them.
        let mut running = Responder::start(responder)?;
        table.set_place(running.addresses(), mtu);
        let program = Respond::attach(&interface, attach, &table.settings, &table.slots, &table.chunks);
        running.answer_in_kernel(program.map_err(XdpStartError::from)?);
        Ok(running)
    }
}

fn check_addresses(config: &Config) -> Result<(), XdpStartError> {
    let count = 1 + config.listen_also.len();
    if count > Settings::ADDRESSES_MAX {
        return Err(XdpStartError::TooManyAddresses { count });
    }
    let mut addresses = [config.listen].into_iter().chain(config.listen_also.iter().copied());
    match addresses.find(|address| address.ip().is_unspecified()) {
        Some(address) => Err(XdpStartError::AnyAddress { address }),
        None => Ok(()),
    }
}

/// The interface, and its MTU.
fn look_up(name: &str) -> Result<(Interface, usize), XdpStartError> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => XdpStartError::NoInterface { interface: name.to_owned() },
        _ => XdpStartError::Interface { interface: name.to_owned(), source },
    };
    let interface = Interface::named(name).map_err(failed)?;
    if interface.link_state() == LinkState::Down {
        return Err(XdpStartError::InterfaceDown { interface: name.to_owned() });
    }
    let mtu = interface.mtu().map_err(failed)?;
    Ok((interface, mtu))
}

impl From<XdpError> for XdpStartError {
    /// The advice differs from that for a run over AF_XDP.
    fn from(error: XdpError) -> Self {
        match error {
            XdpError::OtherObject => XdpStartError::OtherObject,
            XdpError::NoPrivilege { what, source } => XdpStartError::NoPrivilege { what, source },
            XdpError::KernelLacks { what } => XdpStartError::KernelLacks { what },
            XdpError::NoInterface { interface } => XdpStartError::NoInterface { interface },
            XdpError::InterfaceDown { interface } => XdpStartError::InterfaceDown { interface },
            error => XdpStartError::Xdp(error),
        }
    }
}

impl From<Counts> for InKernel {
    fn from(counts: Counts) -> Self {
        InKernel {
            found: counts.found,
            nodata: counts.nodata,
            nxdomain: counts.nxdomain,
            truncated: counts.truncated,
            passed_form: counts.passed_form,
            passed_name: counts.passed_name,
            passed_size: counts.passed_size,
        }
    }
}
