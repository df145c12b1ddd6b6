//! Properties of a network interface, as the kernel reports them.

mod node;
mod statistics;

use std::ffi::CString;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;

use crate::checked;
pub use node::numa_nodes;
pub use statistics::DriverStatistics;

/// A network interface, as it was when it was looked up.
///
/// It is looked up in the network namespace of the thread that created this value, for as long as the
/// value lives.
#[derive(Debug)]
pub struct Interface {
    name: String,
    index: u32,
    /// Any socket can be used for the calls, and keeps the namespace. It has no address, because the
    /// loopback interface may be down.
    socket: UnixDatagram,
}

/// Whether packets can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    /// They can.
    Up,
    /// The administrator has put the interface down.
    Down,
    /// It is up, and has no link: the cable is out, or the other end is down.
    NoCarrier,
}

/// The receive queues of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channels {
    /// How many it has now.
    pub now: u32,
    /// How many it may have.
    pub most: u32,
    /// Whether each of them is one for sending, too.
    pub are_combined: bool,
}

impl Interface {
    /// The interface with this name; `NotFound` where there is none.
    pub fn named(name: &str) -> io::Result<Self> {
        let c_name = CString::new(name).map_err(|_| io::ErrorKind::NotFound)?;
        // SAFETY: the name is a C string that the call only reads.
        let index = unsafe { libc::if_nametoindex(c_name.as_ptr()) };
        if index == 0 {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(Interface { name: name.to_owned(), index, socket: UnixDatagram::unbound()? })
    }

    /// The interface with this index; `NotFound` where there is none.
    pub fn indexed(index: u32) -> io::Result<Self> {
        let mut name = [0u8; libc::IF_NAMESIZE];
        // SAFETY: the buffer has the length that the call writes at most.
        let found = unsafe { libc::if_indextoname(index, name.as_mut_ptr().cast()) };
        if found.is_null() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let length = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        let name = String::from_utf8_lossy(&name[..length]).into_owned();
        Ok(Interface { name, index, socket: UnixDatagram::unbound()? })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its index.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Its Ethernet address; `Unsupported` where it is no Ethernet interface.
    pub fn mac(&self) -> io::Result<[u8; 6]> {
        let request = self.ask(libc::SIOCGIFHWADDR as _)?;
        // SAFETY: the call was successful, so it has written this member.
        let address = unsafe { request.ifr_ifru.ifru_hwaddr };
        if address.sa_family != libc::ARPHRD_ETHER {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut mac = [0; 6];
        mac.iter_mut().zip(address.sa_data).for_each(|(to, from)| *to = from as u8);
        Ok(mac)
    }

    /// The longest IP packet that it accepts, in bytes.
    pub fn mtu(&self) -> io::Result<usize> {
        let request = self.ask(libc::SIOCGIFMTU as _)?;
        // SAFETY: the call was successful, so it has written this member.
        Ok(unsafe { request.ifr_ifru.ifru_mtu }.max(0) as usize)
    }

    /// Whether packets can be sent. An interface that no longer exists counts as down.
    pub fn link_state(&self) -> LinkState {
        let flags = match self.ask(libc::SIOCGIFFLAGS as _) {
            // SAFETY: the call was successful, so it has written this member.
            Ok(request) => libc::c_int::from(unsafe { request.ifr_ifru.ifru_flags }),
            Err(_) => 0,
        };
        if flags & libc::IFF_UP == 0 {
            return LinkState::Down;
        }
        // The flag "running" follows the link with a delay; the driver knows it at once.
        let mut link = EthtoolValue { command: ETHTOOL_GLINK, value: 0 };
        let has_link = match self.ask_driver(&mut link) {
            Ok(()) => link.value != 0,
            Err(_) => flags & libc::IFF_RUNNING != 0,
        };
        if has_link { LinkState::Up } else { LinkState::NoCarrier }
    }

    /// How many receive queues it has now; 1 where the driver does not report it.
    pub fn queues(&self) -> u32 {
        self.channels().map_or(1, |channels| channels.now)
    }

    /// Its receive queues; an error where the driver does not report them.
    pub fn channels(&self) -> io::Result<Channels> {
        let mut channels = EthtoolChannels { command: ETHTOOL_GCHANNELS, ..EthtoolChannels::default() };
        self.ask_driver(&mut channels)?;
        let are_combined = channels.max_combined > 0 && channels.rx == 0;
        Ok(Channels {
            now: channels.rx.max(channels.combined).max(1),
            most: if are_combined { channels.max_combined } else { channels.max_rx },
            are_combined,
        })
    }

    /// How many packets may wait to be sent, where its queueing discipline goes by that; 0 = it has no such queue.
    pub fn send_queue_length(&self) -> io::Result<u32> {
        let request = self.ask(libc::SIOCGIFTXQLEN as _)?;
        // SAFETY: the call was successful, so it has written this member, which the kernel calls `ifr_qlen` here.
        Ok(unsafe { request.ifr_ifru.ifru_metric }.max(0) as u32)
    }

    /// The name of its driver; `Unsupported` for some virtual interfaces.
    pub fn driver(&self) -> io::Result<String> {
        let mut information = EthtoolDriver { command: ETHTOOL_GDRVINFO, name: [0; 32], rest: [0; 160] };
        self.ask_driver(&mut information)?;
        let length = information.name.iter().position(|byte| *byte == 0).unwrap_or(information.name.len());
        Ok(String::from_utf8_lossy(&information.name[..length]).into_owned())
    }

    /// Whether the kernel joins packets that arrive in a row into one (GRO).
    ///
    /// It is on by default but for pairs of virtual interfaces.
    pub fn joins_arrivals(&self) -> io::Result<bool> {
        let mut gro = EthtoolValue { command: ETHTOOL_GGRO, value: 0 };
        self.ask_driver(&mut gro)?;
        Ok(gro.value != 0)
    }

    /// Switches that on or off; needs the privilege to administer the network.
    pub fn join_arrivals(&self, on: bool) -> io::Result<()> {
        self.ask_driver(&mut EthtoolValue { command: ETHTOOL_SGRO, value: on.into() })
    }

    /// Executes the driver command that `value` starts with, and fills `value` in.
    fn ask_driver<T: EthtoolCommand>(&self, value: &mut T) -> io::Result<()> {
        let mut request = self.request();
        request.ifr_ifru.ifru_data = std::ptr::from_mut(value).cast();
        // SAFETY: the request names the interface and points to a struct of its command's layout,
        // which the call fills in.
        checked(unsafe { libc::ioctl(self.socket.as_raw_fd(), SIOCETHTOOL, &mut request) })?;
        Ok(())
    }

    /// `what` is one of the constants `SIOC...`, whose type differs between C libraries.
    fn ask(&self, what: libc::c_ulong) -> io::Result<libc::ifreq> {
        let mut request = self.request();
        // SAFETY: the request is valid for reads and writes, and names the interface.
        checked(unsafe { libc::ioctl(self.socket.as_raw_fd(), what as libc::Ioctl, &mut request) })?;
        Ok(request)
    }

    fn request(&self) -> libc::ifreq {
        // SAFETY: all-zero is a valid ifreq.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        let longest = request.ifr_name.len() - 1;
        let name = self.name.bytes().take(longest);
        request.ifr_name.iter_mut().zip(name).for_each(|(to, from)| *to = from as libc::c_char);
        request
    }
}

/// A struct of `linux/ethtool.h`, with its command in front.
trait EthtoolCommand {}

impl EthtoolCommand for EthtoolValue {}
impl EthtoolCommand for EthtoolChannels {}
impl EthtoolCommand for EthtoolDriver {}

/// `struct ethtool_value`.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    value: u32,
}

/// `struct ethtool_channels`.
#[repr(C)]
#[derive(Default)]
struct EthtoolChannels {
    command: u32,
    max_rx: u32,
    max_tx: u32,
    max_other: u32,
    max_combined: u32,
    rx: u32,
    tx: u32,
    other: u32,
    combined: u32,
}

/// `struct ethtool_drvinfo`.
#[repr(C)]
struct EthtoolDriver {
    command: u32,
    name: [u8; 32],
    rest: [u8; 160],
}

const SIOCETHTOOL: libc::Ioctl = 0x8946;
const ETHTOOL_GDRVINFO: u32 = 0x03;
const ETHTOOL_GLINK: u32 = 0x0A;
const ETHTOOL_GGRO: u32 = 0x2B;
const ETHTOOL_SGRO: u32 = 0x2C;
const ETHTOOL_GCHANNELS: u32 = 0x3C;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_up_and_has_no_ethernet_peer() {
        let interface = Interface::named("lo").unwrap();
        assert_eq!(Interface::indexed(interface.index()).unwrap().name(), "lo");
        assert_eq!(interface.link_state(), LinkState::Up);
        assert!(interface.mtu().unwrap() >= 1280);
        assert_eq!(interface.mac().unwrap_err().kind(), io::ErrorKind::Unsupported);
        assert!(interface.queues() >= 1);
        let length = std::fs::read_to_string("/sys/class/net/lo/tx_queue_len").unwrap();
        assert_eq!(interface.send_queue_length().unwrap().to_string(), length.trim());
    }

    #[test]
    fn the_queues_of_an_interface_are_those_that_it_was_made_with() {
        if !dnsdyno_lab::require(&[dnsdyno_lab::Need::Root]) {
            return;
        }
        for queues in [1, 2] {
            let pair = dnsdyno_lab::VethPair::new(queues).unwrap();
            let channels = pair.near().enter(|| Interface::named("near").and_then(|near| near.channels()));
            let expected = Channels { now: queues, most: queues, are_combined: false };
            assert_eq!(channels.unwrap().unwrap(), expected);
        }
    }

    #[test]
    fn a_namespace_whose_loopback_is_down_can_be_asked() {
        if !dnsdyno_lab::require(&[dnsdyno_lab::Need::Root]) {
            return;
        }
        let look = || {
            // SAFETY: the call takes no pointer. It concerns this thread alone, which ends with the test.
            checked(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
            Interface::named("lo").map(|lo| (lo.link_state(), lo.mtu().is_ok()))
        };
        let seen = std::thread::spawn(look).join().unwrap();
        assert_eq!(seen.unwrap(), (LinkState::Down, true));
    }

    #[test]
    fn an_interface_that_is_not_there_is_not_found() {
        assert_eq!(Interface::named("no-such-if").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(Interface::named("a\0b").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(Interface::indexed(u32::MAX).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
