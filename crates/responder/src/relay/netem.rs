//! Whether the kernel can delay by itself (netem, a queueing discipline), from what it tells of itself.
//!
//! The relay never uses it: it delays what passes through its sockets. But who has netem can delay a whole interface
//! without a relay, and so should know of it.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;

/// Whether this kernel has netem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelNetem {
    /// It is built in, or there is a module.
    Present,
    /// The kernel was built without it, or its module is not installed.
    Absent,
    /// The kernel does not tell.
    Unknown,
}

impl KernelNetem {
    /// Looks, and changes nothing: to try it would load the module.
    pub fn look() -> KernelNetem {
        KernelNetem::look_under(Path::new("/"))
    }

    /// What it means for who wants a delay.
    pub fn sentence(self) -> &'static str {
        match self {
            KernelNetem::Present => {
                "this kernel has netem too, which delays all that leaves an interface: tc qdisc add dev NAME root \
                 netem delay 10ms"
            }
            KernelNetem::Absent => "this kernel has no netem",
            KernelNetem::Unknown => "whether this kernel has netem is not known",
        }
    }

    fn look_under(root: &Path) -> KernelNetem {
        if root.join("sys/module/sch_netem").exists() {
            return KernelNetem::Present;
        }
        let release = fs::read_to_string(root.join("proc/sys/kernel/osrelease")).unwrap_or_default();
        let release = release.trim();
        let modules = root.join("lib/modules").join(release);
        for list in ["modules.builtin", "modules.dep"] {
            let names = fs::read_to_string(modules.join(list)).unwrap_or_default();
            if names
                .lines()
                .any(|line| line.split(':').next().is_some_and(|name| name.contains("/sch_netem.ko")))
            {
                return KernelNetem::Present;
            }
        }
        let config = configuration(root, release);
        match config.lines().find_map(|line| line.strip_prefix("CONFIG_NET_SCH_NETEM=")) {
            Some("y") => KernelNetem::Present,
            // A module that the lists do not have.
            Some(_) => KernelNetem::Absent,
            None if config.contains("CONFIG_NET_SCHED") => KernelNetem::Absent,
            None => KernelNetem::Unknown,
        }
    }
}

/// The options that the kernel was built with, where they are told.
fn configuration(root: &Path, release: &str) -> String {
    let mut text = String::new();
    if let Ok(file) = File::open(root.join("proc/config.gz")) {
        let _ = GzDecoder::new(file).take(LONGEST).read_to_string(&mut text);
    }
    if text.is_empty() {
        text = fs::read_to_string(root.join(format!("boot/config-{release}"))).unwrap_or_default();
    }
    text
}

/// Octets of a configuration: the longest have some hundred thousand.
const LONGEST: u64 = 4 << 20;

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn looks(files: &[(&str, &str)]) -> KernelNetem {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in [("proc/sys/kernel/osrelease", "6.1.0\n")].iter().chain(files) {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let mut bytes = text.as_bytes().to_vec();
            if name.ends_with(".gz") {
                let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
                packed.write_all(&bytes).unwrap();
                bytes = packed.finish().unwrap();
            }
            fs::write(path, bytes).unwrap();
        }
        KernelNetem::look_under(root.path())
    }

    #[test]
    fn it_is_found_loaded_as_a_module_and_built_in() {
        let module = "kernel/net/sched/sch_netem.ko.xz: kernel/lib/x.ko\n";
        assert_eq!(looks(&[("lib/modules/6.1.0/modules.dep", module)]), KernelNetem::Present);
        assert_eq!(looks(&[("lib/modules/6.0.0/modules.dep", module)]), KernelNetem::Unknown);
        assert_eq!(
            looks(&[("lib/modules/6.1.0/modules.builtin", "kernel/net/sched/sch_netem.ko\n")]),
            KernelNetem::Present
        );
        assert_eq!(looks(&[("sys/module/sch_netem/refcnt", "0")]), KernelNetem::Present);
        assert_eq!(
            looks(&[("proc/config.gz", "CONFIG_NET_SCHED=y\nCONFIG_NET_SCH_NETEM=y\n")]),
            KernelNetem::Present
        );
    }

    #[test]
    fn it_is_absent_only_where_the_kernel_tells() {
        let without = "CONFIG_NET_SCHED=y\n# CONFIG_NET_SCH_NETEM is not set\n";
        assert_eq!(looks(&[("proc/config.gz", without)]), KernelNetem::Absent);
        assert_eq!(looks(&[("boot/config-6.1.0", without)]), KernelNetem::Absent);
        assert_eq!(
            looks(&[("boot/config-6.1.0", "CONFIG_NET_SCHED=y\nCONFIG_NET_SCH_NETEM=m\n")]),
            KernelNetem::Absent
        );
        assert_eq!(looks(&[]), KernelNetem::Unknown);
    }
}
