//! What the driver of a network interface counts, which netlink does not have: `ethtool -S`.

use std::io;
use std::os::fd::AsRawFd;

use super::{Interface, SIOCETHTOOL};
use crate::checked;

/// The counters of the driver of an interface; reads into the same memory each time.
#[derive(Debug)]
pub struct DriverStatistics {
    interface: Interface,
    names: Vec<String>,
    /// `struct ethtool_stats`: the command and the number of counters, then the counters.
    values: Vec<u64>,
}

impl DriverStatistics {
    /// Those of an interface; `None` where its driver has none.
    pub fn of(interface: Interface) -> Option<DriverStatistics> {
        let mut statistics = DriverStatistics { interface, names: Vec::new(), values: Vec::new() };
        statistics.names = statistics.read_names().ok()?;
        (!statistics.names.is_empty()).then_some(statistics)
    }

    /// The interface.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// The counters now, by the names of the driver.
    pub fn read(&mut self) -> io::Result<impl Iterator<Item = (&str, u64)>> {
        // Drivers have other counters after their number of queues was changed.
        if self.count()? != self.names.len() {
            self.names = self.read_names()?;
        }
        self.values.clear();
        self.values.resize(1 + ROOM, 0);
        self.values[0] = pair(ETHTOOL_GSTATS, self.names.len() as u32);
        // SAFETY: the kernel writes one number for each counter that the driver has. It had at most `MOST` of them
        // just now, and the buffer has room for many times as many.
        unsafe { self.ask(self.values.as_ptr().cast()) }?;
        let names = self.names.iter().map(String::as_str);
        Ok(names.zip(self.values[1..].iter().copied()))
    }

    /// How many counters the driver has; 0 where they are more than this program reads.
    fn count(&self) -> io::Result<usize> {
        // struct ethtool_sset_info: command, reserved, the sets asked for as a mask of 64 bits, their sizes.
        let mut sizes = [u64::from(ETHTOOL_GSSET_INFO), 1 << ETH_SS_STATS, 0];
        // SAFETY: one set is asked for, so that the kernel writes the mask and one size of 32 bits.
        unsafe { self.ask(sizes.as_mut_ptr().cast_const().cast()) }?;
        let size = sizes[2].to_ne_bytes().first_chunk().map_or(0, |size| u32::from_ne_bytes(*size)) as usize;
        Ok(if sizes[1] == 0 || size > MOST { 0 } else { size })
    }

    fn read_names(&self) -> io::Result<Vec<String>> {
        let count = self.count()?;
        if count == 0 {
            return Ok(Vec::new());
        }
        // struct ethtool_gstrings: command, set, number of strings; then the strings.
        let mut bytes = vec![0_u8; STRINGS + ROOM * NAME];
        bytes[..4].copy_from_slice(&ETHTOOL_GSTRINGS.to_ne_bytes());
        bytes[4..8].copy_from_slice(&ETH_SS_STATS.to_ne_bytes());
        bytes[8..12].copy_from_slice(&(count as u32).to_ne_bytes());
        // SAFETY: as for the counters; a name has 32 octets.
        unsafe { self.ask(bytes.as_mut_ptr().cast_const().cast()) }?;
        let name = |bytes: &[u8]| {
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(NAME);
            String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
        };
        Ok(bytes[STRINGS..].chunks(NAME).take(count).map(name).collect())
    }

    /// Has the driver execute a command.
    ///
    /// # Safety
    /// `command` points to the command's struct, with room for everything that it writes.
    unsafe fn ask(&self, command: *const libc::c_char) -> io::Result<()> {
        let mut request = self.interface.request();
        request.ifr_ifru.ifru_data = command.cast_mut();
        // SAFETY: the request names the interface; the rest is promised by the caller.
        checked(unsafe { libc::ioctl(self.interface.socket.as_raw_fd(), SIOCETHTOOL, &mut request) })?;
        Ok(())
    }
}

/// Two numbers of 32 bits, one after the other.
fn pair(first: u32, second: u32) -> u64 {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&first.to_ne_bytes());
    bytes[4..].copy_from_slice(&second.to_ne_bytes());
    u64::from_ne_bytes(bytes)
}

/// Counters that are read of a driver at most, and that the buffers have room for: their number may grow between two
/// calls.
const MOST: usize = 2_048;
const ROOM: usize = 16 * MOST;

/// Of `linux/ethtool.h`.
const ETHTOOL_GSTRINGS: u32 = 0x1B;
const ETHTOOL_GSTATS: u32 = 0x1D;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
const ETH_SS_STATS: u32 = 1;
const STRINGS: usize = 12;
const NAME: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_has_no_driver_that_counts_and_a_veth_counts() {
        assert!(DriverStatistics::of(Interface::named("lo").unwrap()).is_none());
        if !dnsdyno_lab::require(&[dnsdyno_lab::Need::Root]) {
            return;
        }
        let pair = dnsdyno_lab::VethPair::new(1).unwrap();
        let read = pair.near().enter(|| {
            let interface = Interface::named(pair.near().interface).unwrap();
            let mut statistics = DriverStatistics::of(interface).unwrap();
            statistics.read().unwrap().map(|(name, value)| (name.to_owned(), value)).collect::<Vec<_>>()
        });
        let read = read.unwrap();
        let peer = read.iter().find(|(name, _)| name == "peer_ifindex");
        assert!(peer.is_some_and(|(_, index)| *index > 0), "{read:?}");
    }
}
