//! Where a value of a host is.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use dnsdyno_servers::tuning::DeviceGroup;
use dnsdyno_text::shown;
use serde::{Deserialize, Serialize};

/// Where a value is. Its text says how a person reaches it: `net.core.rmem_max`, `ethtool -G eth0 rx`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Item {
    /// A file of the kernel: its text is the value, without the end of the line. Where the kernel shows a choice
    /// (`always [madvise] never`), the value is the word in brackets.
    Kernel {
        /// Below `/proc/sys`, `/sys` or `/proc/irq`.
        path: PathBuf,
    },
    /// A file of configuration: its whole content is the value. It must be there, and be text in UTF-8. It is replaced
    /// in one step; its mode, owner and extended attributes stay, and symbolic links are followed.
    File {
        /// An absolute path.
        path: PathBuf,
    },
    /// A setting of a network interface, as `ethtool` shows and sets it.
    Device {
        /// The interface, such as `eth0`.
        interface: String,
        /// Which of its settings.
        group: DeviceGroup,
        /// The name that `ethtool` takes for it: `rx`, `rx-usecs`, `gro`, `combined`.
        key: String,
    },
}

impl Item {
    /// Whether such a place may be changed at all; if not, says which ones may.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        match self {
            Item::Kernel { path } => {
                let is_below = |root: &&str| path.strip_prefix(root).is_ok_and(|rest| rest != Path::new(""));
                match is_plain(path) && KERNEL_ROOTS.iter().any(is_below) {
                    true => Ok(()),
                    false => {
                        Err("values of the kernel are files below /proc/sys, /sys or /proc/irq, without `..`")
                    }
                }
            }
            Item::File { path } if is_plain(path) && path.file_name().is_some() => Ok(()),
            Item::File { .. } => Err("a file of configuration is named by its absolute path, without `..`"),
            Item::Device { interface, key, .. } => {
                let is_name = |text: &str| !text.is_empty() && !text.starts_with('-');
                let of_key = |c: char| c.is_ascii_alphanumeric() || c == '-';
                let of_interface = |c: char| c.is_ascii_graphic() && c != '/';
                let is_interface = is_name(interface)
                    && interface.len() <= LONGEST_INTERFACE
                    && interface.chars().all(of_interface);
                match is_interface && is_name(key) && key.chars().all(of_key) {
                    true => Ok(()),
                    false => {
                        Err("an interface has a name such as eth0, and its setting one such as rx-usecs")
                    }
                }
            }
        }
    }

    /// Whether the value is one of a network namespace: it is gone with it.
    pub(crate) fn is_of_namespace(&self) -> bool {
        match self {
            Item::Kernel { path } if path.starts_with("/sys") => {
                path.components().any(|part| part.as_os_str() == "net")
            }
            Item::Kernel { path } => path.starts_with("/proc/sys/net"),
            Item::File { .. } => false,
            Item::Device { .. } => true,
        }
    }

    /// Whether the value may be in messages. The content of a file of configuration may have secrets in it.
    pub(crate) fn is_told(&self) -> bool {
        !matches!(self, Item::File { .. })
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Item::Kernel { path } => match name_of_sysctl(path) {
                Some(name) => f.write_str(&shown(&name, LONGEST_SHOWN)),
                None => f.write_str(&shown(&path.to_string_lossy(), LONGEST_SHOWN)),
            },
            Item::File { path } => f.write_str(&shown(&path.to_string_lossy(), LONGEST_SHOWN)),
            Item::Device { interface, group, key } => {
                let text = format!("ethtool {} {interface} {key}", group.option_to_set());
                f.write_str(&shown(&text, LONGEST_SHOWN))
            }
        }
    }
}

/// Whether a path is absolute text without `.` and `..`.
fn is_plain(path: &Path) -> bool {
    let mut parts = path.components();
    parts.next() == Some(Component::RootDir)
        && parts.all(|part| matches!(part, Component::Normal(_)))
        && path.to_str().is_some_and(|text| !text.contains('\0'))
}

/// The name that `sysctl` has for a file. `None` where it has none, or where a dot within a part makes it unclear.
fn name_of_sysctl(path: &Path) -> Option<String> {
    let name = path.strip_prefix("/proc/sys").ok()?.to_str()?;
    (!name.contains('.')).then(|| name.replace('/', "."))
}

/// Where values of the kernel are.
const KERNEL_ROOTS: [&str; 3] = ["/proc/sys", "/sys", "/proc/irq"];

/// Octets of the name of an interface: one less than `IFNAMSIZ` of Linux.
const LONGEST_INTERFACE: usize = 15;

/// Characters of a name in a message.
const LONGEST_SHOWN: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(path: &str) -> Item {
        Item::Kernel { path: path.into() }
    }

    fn device(interface: &str, key: &str) -> Item {
        Item::Device { interface: interface.to_owned(), group: DeviceGroup::Ring, key: key.to_owned() }
    }

    #[test]
    fn only_files_below_three_folders_are_values_of_the_kernel() {
        for path in ["/proc/sys/net/core/rmem_max", "/sys/class/net/eth0/mtu", "/proc/irq/24/smp_affinity"] {
            assert_eq!(kernel(path).check(), Ok(()), "{path}");
        }
        for path in
            ["/proc/sys", "/proc/1/oom_adj", "/etc/passwd", "/sys/../etc/passwd", "proc/sys/vm/swappiness"]
        {
            assert!(kernel(path).check().is_err(), "{path}");
        }
        assert!(Item::File { path: "etc/named.conf".into() }.check().is_err());
        assert!(Item::File { path: "/etc/../etc/named.conf".into() }.check().is_err());
        assert_eq!(Item::File { path: "/etc/named.conf".into() }.check(), Ok(()));
    }

    #[test]
    fn what_ethtool_could_take_for_an_option_is_no_name() {
        assert_eq!(device("eth0.100", "rx-usecs").check(), Ok(()));
        for (interface, key) in
            [("-s", "rx"), ("eth0", "-rx"), ("", "rx"), ("eth0", ""), ("a/b", "rx"), ("e 0", "rx")]
        {
            assert!(device(interface, key).check().is_err(), "{interface} {key}");
        }
    }

    #[test]
    fn values_of_a_namespace_are_known() {
        let of_namespace = ["/proc/sys/net/core/somaxconn", "/sys/class/net/eth0/tx_queue_len"];
        assert!(of_namespace.iter().all(|path| kernel(path).is_of_namespace()));
        let of_host =
            ["/proc/sys/vm/swappiness", "/sys/kernel/mm/transparent_hugepage/enabled", "/proc/irq/9/x"];
        assert!(!of_host.iter().any(|path| kernel(path).is_of_namespace()));
        assert!(device("eth0", "rx").is_of_namespace());
        assert!(!Item::File { path: "/etc/net".into() }.is_of_namespace());
    }

    #[test]
    fn an_item_has_the_name_by_which_a_person_reaches_it() {
        assert_eq!(kernel("/proc/sys/net/core/rmem_max").to_string(), "net.core.rmem_max");
        let dotted = "/proc/sys/net/ipv4/conf/eth0.100/rp_filter";
        assert_eq!(kernel(dotted).to_string(), dotted);
        assert_eq!(device("eth0", "rx").to_string(), "ethtool -G eth0 rx");
    }
}
