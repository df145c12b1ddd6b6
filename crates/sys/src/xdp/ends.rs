//! Programs for the ends of a virtual cable on which a generator is measured alone.

use aya::{EbpfLoader, include_bytes_aligned};

use super::program::Attachment;
use super::{Attach, XdpError};
use crate::interface::Interface;

/// A program that passes everything to the host.
///
/// A pair of veth interfaces delivers the responses of [`Reflect`](super::Reflect) only to an end that
/// has a program too; this one costs the least.
pub struct Pass {
    _program: Attachment,
}

impl Pass {
    /// Loads the program and attaches it.
    pub fn attach(interface: &Interface, attach: Attach) -> Result<Self, XdpError> {
        let mut loader = EbpfLoader::new();
        Ok(Pass { _program: Attachment::new(&mut loader, ENDS, "pass", interface, attach)? })
    }
}

/// A program that drops UDP packets to one port, and passes the rest: a sink for a flood of queries.
pub struct Discard {
    _program: Attachment,
}

impl Discard {
    /// Loads the program and attaches it; it drops packets to `port`.
    pub fn attach(interface: &Interface, attach: Attach, port: u16) -> Result<Self, XdpError> {
        let mut loader = EbpfLoader::new();
        loader.override_global("PORT", &port, true);
        Ok(Discard { _program: Attachment::new(&mut loader, ENDS, "drop", interface, attach)? })
    }
}

/// The object that `scripts/build-ebpf` made.
const ENDS: &[u8] = include_bytes_aligned!("../../../../ebpf/objects/ends.o");
