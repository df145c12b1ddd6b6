//! The responder in the kernel: a program on the interface answers what was worked out
//! beforehand, and everything else goes up to the sockets. The two are one server, with one book.
//!
//! ```text
//!   query ──► XDP program ── a name of the map, fits ──► answer, from the driver
//!                  │
//!                  └── anything else ──► host ──► UDP and TCP sockets of the responder
//! ```
//!
//! In the kernel: every name and type of the zone, NODATA and NXDOMAIN with the SOA, aliases,
//! wildcards but those of aliases, TC=1, EDNS. Up to the sockets: TCP; other opcodes, classes and EDNS
//! versions, transfers, malformed queries; names outside the zone, or more than 16 labels below
//! what exists (in a zone with wildcards); answers over 1,216 bytes; what does not
//! fit behind the query in its buffer (drivers keep different room there; a pair of veth
//! interfaces keeps little); fragments, IPv4 options and IPv6 extension headers, two VLAN tags.
//!
//! What the program answers has not been through the host: no firewall has seen it, the checksum
//! of the query has not been verified, and whether the driver got rid of the answer is not known.

mod table;

use std::io;
use std::net::SocketAddr;

use dnsdyno_sys::interface::{Interface, LinkState};
use dnsdyno_sys::xdp::{Attach, Counts, Respond, Settings, XdpError};

use crate::book::InKernel;
use crate::config::{Config, Error};
use crate::faults::Faults;
use crate::server::{Responder, Running};

use table::Table;

/// What a responder in the kernel is to be.
#[derive(Clone, Debug)]
pub struct XdpConfig {
    /// The interface on which queries come, in the network namespace of the calling thread.
    pub interface: String,
    /// Whether the program runs in the driver or in the kernel's stack.
    pub attach: Attach,
    /// The responder beside it: addresses (of the interface, each by itself), rule, threads. It
    /// must have no faults, and another rule than [`Rule::FixedSize`](crate::Rule::FixedSize).
    pub responder: Config,
}

/// Starts responders in the kernel.
#[derive(Debug)]
pub struct XdpResponder;

/// Why a responder does not start in the kernel.
#[derive(Debug, thiserror::Error)]
pub enum XdpStartError {
    /// The responder beside it does not start.
    #[error(transparent)]
    Responder(#[from] Error),
    /// A fault was asked for.
    #[error(
        "the kernel can only answer at once and right: leave out the faults (delay, loss, wrong answers, stall), \
         or --xdp"
    )]
    Faults,
    /// The rule cannot be worked out beforehand.
    #[error(
        "answers of a fixed size depend on the question and cannot be worked out beforehand: leave out --size, or \
         --xdp; a zone with long TXT records gives long answers too"
    )]
    FixedSize,
    /// An address stands for many.
    #[error(
        "{address} stands for every address of the host, and the kernel must not answer for others: name the \
         addresses of the interface (see `ip address`), each with --listen"
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
    /// The interface cannot be asked.
    #[error("cannot ask the interface {interface}: {source}")]
    Interface {
        /// The interface.
        interface: String,
        /// What the system said.
        source: io::Error,
    },
    /// The build had no clang.
    #[error(
        "this dnsdyno was built without clang, so it has no program for the kernel: install clang (Debian: \
         apt-get install clang) and build again, or leave out --xdp"
    )]
    NotBuilt,
    /// The process lacks a capability.
    #[error(
        "--xdp needs privilege ({what}: {source}): run as root, or give the program CAP_NET_ADMIN, CAP_BPF and \
         CAP_PERFMON (setcap), or leave out --xdp"
    )]
    NoPrivilege {
        /// What was refused.
        what: &'static str,
        /// What the system said.
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
    /// Whether what was asked for is impossible anywhere, and not only here and now.
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
    /// gone when [`Running`] is stopped or dropped, or the process ends, however it does.
    ///
    /// On a pair of veth interfaces answers come back only to an end that has an XDP program (any):
    /// the kernel wakes no other, GRO or not.
    pub fn start(config: XdpConfig) -> Result<Running, XdpStartError> {
        let XdpConfig { interface, attach, responder } = config;
        if responder.faults != (Faults { seed: responder.faults.seed, ..Faults::default() }) {
            return Err(XdpStartError::Faults);
        }
        let mut table = Table::of(&responder.rule).ok_or(XdpStartError::FixedSize)?;
        check_addresses(&responder)?;
        let (interface, mtu) = look_up(&interface)?;
        // The sockets first: they know the port, and what the program passes up has to go somewhere.
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

/// The interface, and the longest IP packet that it takes.
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
    /// The advice is another than for a run over AF_XDP.
    fn from(error: XdpError) -> Self {
        match error {
            XdpError::NotBuilt => XdpStartError::NotBuilt,
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
