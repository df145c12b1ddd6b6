//! Which CPUs are near an interface, on a host whose CPUs reach its card at different costs (NUMA).

use std::fs;
use std::path::Path;

use super::Interface;
use crate::process::CpuList;

impl Interface {
    /// The CPUs of the node that its card is connected to; `None` where it has no card, or the host has one node.
    pub fn near_cpus(&self) -> Option<CpuList> {
        near_cpus(Path::new("/sys"), &self.name)
    }
}

/// The nodes of this host; `None` where it does not say.
pub fn numa_nodes() -> Option<u64> {
    nodes(Path::new("/sys"))
}

fn near_cpus(sys: &Path, interface: &str) -> Option<CpuList> {
    if nodes(sys)? < 2 {
        return None;
    }
    let device = sys.join("class/net").join(interface).join("device");
    // A virtio card is a device of its PCI device.
    let node = ["numa_node", "../numa_node"].into_iter().find_map(|file| node_of(&device.join(file)))?;
    let list = sys.join(format!("devices/system/node/node{node}/cpulist"));
    CpuList::parse(&fs::read_to_string(list).ok()?)
}

/// A node is a number; a device that belongs to none says -1.
fn node_of(file: &Path) -> Option<u32> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// Nodes are listed as CPUs are.
fn nodes(sys: &Path) -> Option<u64> {
    let list = fs::read_to_string(sys.join("devices/system/node/online")).ok()?;
    CpuList::parse(&list)?.count()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// A folder like `/sys`, with these files.
    fn sys(files: &[(&str, &str)]) -> TempDir {
        let sys = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = sys.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        sys
    }

    const TWO_NODES: [(&str, &str); 3] = [
        ("devices/system/node/node0/cpulist", "0-7\n"),
        ("devices/system/node/node1/cpulist", "8-15\n"),
        ("devices/system/node/online", "0-1\n"),
    ];

    #[test]
    fn the_cpus_near_an_interface_are_those_of_its_node() {
        let mut files = TWO_NODES.to_vec();
        files.push(("class/net/eth0/device/numa_node", "1\n"));
        files.push(("class/net/eth1/device/numa_node", "-1\n"));
        files.push(("class/net/eth2/device/x", ""));
        files.push(("class/net/eth2/numa_node", "0\n"));
        let folder = sys(&files);
        let sys = folder.path();
        let near = near_cpus(sys, "eth0").unwrap();
        assert_eq!([7, 8, 15, 16].map(|cpu| near.contains(cpu)), [false, true, true, false]);
        assert_eq!(near.to_string(), "8-15");
        assert!(near_cpus(sys, "eth1").is_none() && near_cpus(sys, "lo").is_none());
        assert!(near_cpus(sys, "eth2").unwrap().contains(0));
        assert_eq!(nodes(sys), Some(2));
    }

    #[test]
    fn on_a_host_with_one_node_no_cpu_is_nearer_than_others() {
        let online = ("devices/system/node/online", "0\n");
        let files = [TWO_NODES[0], online, ("class/net/eth0/device/numa_node", "0\n")];
        let folder = sys(&files);
        let sys = folder.path();
        assert!(near_cpus(sys, "eth0").is_none());
        assert_eq!(nodes(sys), Some(1));
        assert_eq!(nodes(&sys.join("class")), None);
    }
}
