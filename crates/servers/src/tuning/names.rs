//! Words and paths that stand for what is tuned.

use std::path::PathBuf;

/// The words of what is tuned beside servers, in the order in which it is shown.
pub const HOST_WORDS: [&str; 5] = ["kernel", "card", "cpu", "memory", "limits"];

/// The file of a parameter of the kernel: `/proc/sys/net/core/rmem_max` of `net.core.rmem_max`.
///
/// As in sysctl(8), a slash within a name stands for a dot of it, because interfaces have such names:
/// `net.ipv4.conf.eth0/100.rp_filter` is of the interface `eth0.100`.
pub fn sysctl_path(name: &str) -> PathBuf {
    let swapped = name.chars().map(|letter| match letter {
        '.' => '/',
        '/' => '.',
        other => other,
    });
    PathBuf::from(format!("/proc/sys/{}", swapped.collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_of_the_kernel_has_its_file_also_where_an_interface_has_a_dot() {
        for (name, path) in [
            ("net.core.rmem_max", "/proc/sys/net/core/rmem_max"),
            ("net.ipv4.conf.eth0/100.rp_filter", "/proc/sys/net/ipv4/conf/eth0.100/rp_filter"),
            ("fs.file-max", "/proc/sys/fs/file-max"),
        ] {
            assert_eq!(sysctl_path(name), PathBuf::from(path));
        }
    }
}
