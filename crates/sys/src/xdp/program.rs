//! Loads and attaches the programs of `ebpf/`; they are removed when their value is dropped.

use std::error::Error;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};

use aya::maps::{DevMap, Map, MapError, PerCpuArray, XskMap};
use aya::programs::{ProgramError, Xdp};
use aya::{Ebpf, EbpfError, EbpfLoader, Pod, include_bytes_aligned};

use super::link::{self, Link};
use super::{Attach, Attached, Injector, Socket, XdpError, other};
use crate::interface::Interface;

/// The packets that [`Redirect`] passes to our sockets: UDP from the server to us. Mirrors `struct filter` in
/// `ebpf/redirect.bpf.c`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Filter {
    server: [u8; 16],
    local: [u8; 16],
    local_mask: [u8; 16],
    family: u32,
    server_port: u16,
    first_port: u16,
    last_port: u16,
    discard: u16,
}

// SAFETY: a C struct of integers without implicit padding; every bit pattern is a value.
unsafe impl Pod for Filter {}

impl Filter {
    /// Responses of `server` to the addresses in `local`/`prefix` (one address: the prefix is as
    /// long as the address) and our ports `first_port` to `last_port`. `None` where the addresses
    /// are of two families.
    pub fn new(
        server: (IpAddr, u16),
        (local, prefix): (IpAddr, u8),
        (first_port, last_port): (u16, u16),
    ) -> Option<Self> {
        let mut filter = Filter {
            server: [0; 16],
            local: [0; 16],
            local_mask: [0; 16],
            family: 0,
            server_port: server.1,
            first_port,
            last_port,
            discard: 0,
        };
        let prefix = u32::from(prefix);
        match (server.0, local) {
            (IpAddr::V4(server), IpAddr::V4(local)) => {
                let mask = u32::MAX.checked_shl(32u32.saturating_sub(prefix)).unwrap_or(0);
                filter.family = 4;
                filter.server[..4].copy_from_slice(&server.octets());
                filter.local[..4].copy_from_slice(&(local.to_bits() & mask).to_be_bytes());
                filter.local_mask[..4].copy_from_slice(&mask.to_be_bytes());
            }
            (IpAddr::V6(server), IpAddr::V6(local)) => {
                let mask = u128::MAX.checked_shl(128u32.saturating_sub(prefix)).unwrap_or(0);
                filter.family = 6;
                filter.server = server.octets();
                filter.local = (local.to_bits() & mask).to_be_bytes();
                filter.local_mask = mask.to_be_bytes();
            }
            _ => return None,
        }
        Some(filter)
    }

    /// The same packets, dropped: for a run that needs no responses. The host would reply to each
    /// with an ICMP error.
    pub fn discarding(self) -> Self {
        Filter { discard: 1, ..self }
    }
}

/// The program that passes the server's responses to our sockets and all other packets to the host, and that sends for
/// [`Injector`]s.
pub struct Redirect {
    program: Attachment,
    interface: String,
    /// How many injectors there is room for.
    injectors: u32,
}

impl Redirect {
    /// Loads the program and attaches it, with room for a socket on each of `queues` queues, and for so many injectors
    /// (0 on a kernel before 5.18).
    pub fn attach(
        interface: &Interface,
        attach: Attach,
        filter: &Filter,
        (queues, injectors): (u32, u32),
    ) -> Result<Self, XdpError> {
        let injectors = injectors.min(Injector::RINGS);
        let mut loader = EbpfLoader::new();
        loader
            .override_global("FILTER", filter, true)
            .override_global("INJECTS", &injectors, true)
            .map_max_entries("SOCKETS", queues.max(1))
            .map_max_entries("RINGS", injectors.max(1));
        let name_device = |loaded: &mut Ebpf| {
            let Some(device) = loaded.map_mut("DEVICE").filter(|_| injectors > 0) else { return Ok(()) };
            let failed =
                |error: &dyn Error| other(interface.name(), "naming the device to inject into", error);
            let mut device = DevMap::try_from(device).map_err(|error| failed(&error))?;
            device.set(0, interface.index(), None, 0).map_err(|error| failed(&error))
        };
        let program =
            Attachment::prepared(&mut loader, REDIRECT, "redirect", interface, attach, name_device)?;
        Ok(Redirect { program, interface: interface.name().to_owned(), injectors })
    }

    /// Where it runs.
    pub fn attached(&self) -> Attached {
        self.program.attached
    }

    /// From now on the responses received by the socket's queue are passed to the socket.
    pub fn give(&mut self, socket: &Socket) -> Result<(), XdpError> {
        let name = self.interface.clone();
        let failed = |error: MapError| other(&name, "handing a queue to a socket", error);
        let map = self.program.loaded.map_mut("SOCKETS").ok_or(XdpError::OtherObject)?;
        let mut sockets = XskMap::try_from(map).map_err(failed)?;
        sockets.set(socket.queue(), socket.as_fd().as_raw_fd(), 0).map_err(failed)
    }

    /// Injector `number` of those that there is room for; `None` where the kernel or the driver cannot inject frames.
    /// Whether the other end can receive them is in [`netdev`](crate::netlink::netdev).
    pub fn injector(&mut self, number: u32) -> Option<Injector> {
        if number >= self.injectors {
            return None;
        }
        let program: &mut Xdp = self.program.loaded.program_mut("redirect")?.try_into().ok()?;
        let program = program.fd().ok()?.as_fd().try_clone_to_owned().ok()?;
        let Map::Array(rings) = self.program.loaded.map("RINGS")? else { return None };
        Injector::new(program, rings.fd().as_fd(), number).ok()
    }

    /// IP fragments of responses that were passed to the host since the program was attached. They
    /// were not paired: a response was larger than a packet of the path.
    pub fn fragments(&self) -> u64 {
        let counts = self.program.loaded.map("COUNTS");
        let counts = counts.and_then(|map| PerCpuArray::<_, u64>::try_from(map).ok());
        let values = counts.and_then(|counts| counts.get(&COUNT_FRAGMENTS, 0).ok());
        values.map_or(0, |values| values.iter().sum())
    }
}

/// The program that sends every query back as its response: the cheapest possible server.
pub struct Reflect {
    program: Attachment,
}

impl Reflect {
    /// Loads the program and attaches it; it answers queries to `port`.
    ///
    /// On a pair of veth interfaces responses arrive only while an XDP program is attached to
    /// the other end as well.
    pub fn attach(interface: &Interface, attach: Attach, port: u16) -> Result<Self, XdpError> {
        let mut loader = EbpfLoader::new();
        loader.override_global("PORT", &port, true);
        Ok(Reflect { program: Attachment::new(&mut loader, REFLECT, "reflect", interface, attach)? })
    }

    /// Where it runs.
    pub fn attached(&self) -> Attached {
        self.program.attached
    }
}

/// A loaded program on an interface.
pub(super) struct Attachment {
    // Dropped in this order: the link to the interface first.
    link: Option<Link>,
    pub(super) loaded: Ebpf,
    pub(super) attached: Attached,
}

impl Attachment {
    pub(super) fn new(
        loader: &mut EbpfLoader<'_>,
        object: &[u8],
        name: &'static str,
        interface: &Interface,
        attach: Attach,
    ) -> Result<Self, XdpError> {
        Self::prepared(loader, object, name, interface, attach, |_| Ok(()))
    }

    /// The same; `prepare` fills the maps before the first packet can arrive.
    pub(super) fn prepared(
        loader: &mut EbpfLoader<'_>,
        object: &[u8],
        name: &'static str,
        interface: &Interface,
        attach: Attach,
        prepare: impl FnOnce(&mut Ebpf) -> Result<(), XdpError>,
    ) -> Result<Self, XdpError> {
        // Relocations against the running kernel's types are not used.
        let mut loaded = loader.btf(None).load(object).map_err(|error| refused_load(interface, error))?;
        prepare(&mut loaded)?;
        let program = loaded.program_mut(name).ok_or(XdpError::OtherObject)?;
        let program: &mut Xdp = program.try_into().map_err(|error| refused_program(interface, error))?;
        load(program).map_err(|error| refused_program(interface, error))?;
        let fd = program.fd().map_err(|error| refused_program(interface, error))?.as_fd();
        let native = || link::attach(fd, interface.index(), false).map(|link| (link, Attached::Native));
        let generic = || link::attach(fd, interface.index(), true).map(|link| (link, Attached::Generic));
        let (link, attached) = match attach {
            Attach::Native => native(),
            Attach::Generic => generic(),
            // A driver refuses for reasons of its own (no XDP, an MTU or offload that it cannot
            // combine with it); only "another program is attached" is not one of them.
            Attach::Auto => native().or_else(|error| if is_taken(&error) { Err(error) } else { generic() }),
        }
        .map_err(|error| refused_attach(interface, error))?;
        Ok(Attachment { link: Some(link), loaded, attached })
    }

    /// Detaches the program from the interface; its maps can still be read.
    pub(super) fn detach(&mut self) {
        self.link = None;
    }
}

/// Loads a program into the kernel. The kernel's verifier gives up with EAGAIN when a signal is pending for the thread,
/// which may happen on a loaded host; another attempt can succeed.
fn load(program: &mut Xdp) -> Result<(), ProgramError> {
    for _ in 1..LOAD_ATTEMPTS {
        match program.load() {
            Err(ProgramError::LoadError { io_error, .. })
                if io_error.raw_os_error() == Some(libc::EAGAIN) => {}
            result => return result,
        }
    }
    program.load()
}

/// What the user can do about a program that could not be attached.
fn refused_attach(interface: &Interface, error: io::Error) -> XdpError {
    let name = interface.name().to_owned();
    match error.raw_os_error() {
        _ if is_taken(&error) => XdpError::OtherProgram { interface: name },
        Some(libc::EPERM | libc::EACCES) => {
            XdpError::NoPrivilege { what: "attaching a program", source: error }
        }
        Some(libc::EOPNOTSUPP | libc::ERANGE) => XdpError::NoDriverSupport { interface: name, source: error },
        Some(libc::ENODEV) => XdpError::NoInterface { interface: name },
        _ => other(&name, "attaching a program", error),
    }
}

fn is_taken(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EBUSY | libc::EEXIST))
}

fn refused_load(interface: &Interface, error: EbpfError) -> XdpError {
    match error {
        EbpfError::MapError(MapError::CreateError { io_error, .. }) => {
            refused_call(interface, "making a map", io_error)
        }
        EbpfError::MapError(MapError::SyscallError(error)) => {
            refused_call(interface, "filling a map", error.io_error)
        }
        EbpfError::ProgramError(error) => refused_program(interface, error),
        error => other(interface.name(), "reading the program", error),
    }
}

fn refused_program(interface: &Interface, error: ProgramError) -> XdpError {
    match error {
        ProgramError::LoadError { io_error, verifier_log } => match io_error.kind() {
            io::ErrorKind::PermissionDenied if io_error.raw_os_error() == Some(libc::EPERM) => {
                XdpError::NoPrivilege { what: "loading a program", source: io_error }
            }
            _ => {
                let log = verifier_log.to_string();
                let reason = format!("{io_error}\n{}", last_lines(&log, LOG_LINES));
                other(interface.name(), "loading a program", reason)
            }
        },
        ProgramError::SyscallError(error) => refused_call(interface, "loading a program", error.io_error),
        error => other(interface.name(), "loading a program", error),
    }
}

/// The end of a text: at most this many lines.
fn last_lines(text: &str, most: usize) -> &str {
    let text = text.trim_end();
    let start = text.rmatch_indices('\n').nth(most - 1).map_or(0, |(at, _)| at + 1);
    &text[start..]
}

fn refused_call(interface: &Interface, what: &'static str, error: io::Error) -> XdpError {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => XdpError::NoPrivilege { what, source: error },
        Some(libc::ENOSYS) => XdpError::KernelLacks { what: "BPF" },
        _ => other(interface.name(), what, error),
    }
}

/// The objects that `scripts/build-ebpf` made.
const REDIRECT: &[u8] = include_bytes_aligned!("../../../../ebpf/objects/redirect.o");
const REFLECT: &[u8] = include_bytes_aligned!("../../../../ebpf/objects/reflect.o");

/// Attempts to load a program: the same number as libbpf.
const LOAD_ATTEMPTS: usize = 5;

/// Lines of the verifier's log in an error. The whole log can have several thousand; the reason is at its end.
const LOG_LINES: usize = 10;

/// The place of the fragments' counter in the map `COUNTS`.
const COUNT_FRAGMENTS: u32 = 0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_only_the_last_lines_of_the_log() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc");
        assert_eq!(last_lines("a\nb", 2), "a\nb");
        assert_eq!(last_lines("", 2), "");
    }
}
