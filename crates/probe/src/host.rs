//! The kernel of a host: its counters, in one network namespace, and its parameters.
//!
//! ```text
//!   files of /proc/net   ── network ──┐
//!   /proc, /sys          ── system  ──┼─► Reading, at each end of an interval
//!   cpu.stat             ── cgroup  ──┤
//!   netlink, ioctl       ── interfaces┘   (this host only)
//!   /proc/sys            ── settings ───► Watched, once
//! ```

mod interfaces;
mod network;
mod settings;
mod system;

use std::collections::BTreeMap;

use dnsdyno_measure::{Side, Watched, WatchedKind};
use dnsdyno_sys::namespace::Namespace as Entrance;

use self::interfaces::Interfaces;
pub(crate) use self::network::full_buffers;
pub(crate) use self::system::steal_ns;
use crate::cgroup::Cgroup;
use crate::files::{FileReader, LocalFiles, exists};
use crate::found::is_local;
use crate::namespace::{NamespaceFiles, inside, is_elsewhere};
use crate::opened::{Opening, Whose};
use crate::source::{OpenError, ReadError, Reading, Source};
use crate::thing::{Namespace, Thing};

pub(crate) fn open(pid: Option<u32>, opening: &mut Opening<'_>) -> Result<(), OpenError> {
    if let Some(gone) = pid.filter(|pid| !exists(&format!("/proc/{pid}"))) {
        return Err(OpenError::new(format!("this host has no process {gone}")));
    }
    let elsewhere = match pid {
        Some(pid) if is_elsewhere(&mut LocalFiles, pid)? != Some(false) => Some(pid),
        _ => None,
    };
    let process = elsewhere.map_or("/proc/self".to_owned(), |pid| format!("/proc/{pid}"));
    let namespace = Namespace::of_network(&mut LocalFiles, &process)?;
    let (source, whose) = match elsewhere {
        Some(pid) => {
            let name = namespace.as_ref().map(|namespace| namespace.name());
            (namespace_of(pid)?, Whose::of(opening.loaded().is_in(name), None))
        }
        None => {
            let is_shared = opening.targets.addresses.iter().any(|target| is_local(target.ip()));
            let side = if is_shared { Side::Both } else { Side::Generator };
            let of = pid.map_or("self".to_owned(), |pid| pid.to_string());
            let source = HostSource::new(Box::new(LocalFiles), Within::Own, side, "this host".to_owned())?;
            (source.with_group(&format!("/proc/{of}"))?.with_interfaces(), Whose::Known(side))
        }
    };
    opening.add(Box::new(source), Thing::Host(namespace), whose);
    Ok(())
}

/// The network namespace of a process of this host, read from inside where that is allowed.
fn namespace_of(pid: u32) -> Result<HostSource, OpenError> {
    let comm = format!("/proc/{pid}/comm");
    let files = LocalFiles.read(std::slice::from_ref(&comm))?;
    let label = format!("the network namespace of {} ({pid})", files.text(&comm).trim());
    // Parameters that all namespaces share can be read in the first one only.
    let shared = settings::read(&mut LocalFiles, settings::Whose::Host)?;
    let entered = Entrance::of_process(pid).and_then(|entrance| {
        let handle = Entrance::of_process(pid)?;
        let reader = Box::new(NamespaceFiles::of(handle));
        inside(&entrance, || {
            HostSource::new(reader, Within::Entered(pid), Side::Server, label.clone())
                .map(HostSource::with_interfaces)
        })
    });
    let mut source = match entered {
        Ok(source) => source?,
        Err(error) => {
            let mut source = HostSource::new(Box::new(LocalFiles), Within::Of(pid), Side::Server, label)?;
            source.watched.missing.push(format!(
                "network interfaces and parameters of the network namespace of process {pid}: it cannot be entered \
                 ({error}); run as root"
            ));
            source
        }
    };
    for (name, value) in shared {
        source.watched.settings.entry(name).or_insert(value);
    }
    Ok(source)
}

/// The network namespace whose counters are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Within {
    /// That in which the files are read.
    Own,
    /// That of a process, from outside.
    Of(u32),
    /// That of a process; the thread that reads is in it.
    Entered(u32),
}

impl Within {
    /// The folder of its counters.
    fn folder(self) -> String {
        match self {
            Within::Own => "/proc/net".to_owned(),
            Within::Of(pid) => format!("/proc/{pid}/net"),
            Within::Entered(_) => "/proc/thread-self/net".to_owned(),
        }
    }
}

/// The kernel of a host, by its files.
pub(crate) struct HostSource {
    watched: Watched,
    reader: Box<dyn FileReader>,
    /// Where the counters of the network namespace are.
    folder: String,
    paths: Vec<String>,
    cgroup: Option<Cgroup>,
    interfaces: Option<Interfaces>,
}

impl HostSource {
    /// The host, or a network namespace of it, whose files this reads.
    ///
    /// # Errors
    /// The host cannot be reached, or has no counters.
    pub(crate) fn new(
        mut reader: Box<dyn FileReader>,
        namespace: Within,
        side: Side,
        label: String,
    ) -> Result<HostSource, ReadError> {
        let whose = match namespace {
            Within::Of(_) => settings::Whose::Host,
            Within::Own | Within::Entered(_) => settings::Whose::HostAndNamespace,
        };
        let folder = namespace.folder();
        let in_namespace = network::FILES.map(|name| format!("{folder}/{name}"));
        let paths = in_namespace.into_iter().chain(system::FILES.map(str::to_owned)).collect();
        let settings = settings::read(&mut *reader, whose)?;
        let version = settings::kernel(&mut *reader)?;
        let mut source = HostSource {
            watched: Watched {
                kind: WatchedKind::Host,
                side,
                label,
                software: None,
                version,
                settings,
                unset: Vec::new(),
                missing: Vec::new(),
            },
            reader,
            folder,
            paths,
            cgroup: None,
            interfaces: None,
        };
        source.note_missing()?;
        if namespace == Within::Own {
            source.describe_interfaces()?;
        }
        match namespace {
            Within::Of(pid) | Within::Entered(pid) => source.with_group(&format!("/proc/{pid}")),
            Within::Own => Ok(source),
        }
    }

    /// With the control group of a process, by its folder in `/proc`.
    fn with_group(mut self, process: &str) -> Result<HostSource, ReadError> {
        self.cgroup = Cgroup::of(&mut *self.reader, process)?;
        if let Some(cgroup) = &self.cgroup {
            self.paths.extend_from_slice(cgroup.paths());
            self.watched.settings.extend(cgroup.settings.clone());
        }
        Ok(self)
    }

    /// With the network interfaces of the namespace of this thread.
    fn with_interfaces(mut self) -> HostSource {
        let path = format!("{}/dev", self.folder);
        let files = self.reader.read(std::slice::from_ref(&path)).unwrap_or_default();
        let mut interfaces = Interfaces::open(network::interface_names(files.text(&path)));
        self.watched.settings.append(&mut interfaces.settings);
        self.watched.missing.append(&mut interfaces.missing);
        self.interfaces = Some(interfaces);
        self
    }

    /// Says which files are not there.
    fn note_missing(&mut self) -> Result<(), ReadError> {
        let files = self.reader.read(&self.paths)?;
        if files.text(&format!("{}/snmp", self.folder)).is_empty() {
            return Err(ReadError(format!("{}/snmp cannot be read: there are no counters", self.folder)));
        }
        let expected = EXPECTED.map(|(name, what)| match name.starts_with('/') {
            true => (name.to_owned(), what),
            false => (format!("{}/{name}", self.folder), what),
        });
        let missing = expected.iter().filter(|(path, _)| files.text(path).is_empty());
        self.watched.missing.extend(missing.map(|(path, what)| format!("{what}: {path} cannot be read")));
        Ok(())
    }

    /// What the files of a host tell of its interfaces.
    fn describe_interfaces(&mut self) -> Result<(), ReadError> {
        let paths = INTERFACE_FILES.map(|(file, _)| format!("/sys/class/net/*/{file}"));
        let files = self.reader.read(&paths)?;
        let mut settings = BTreeMap::new();
        for (path, text) in files.under("/sys/class/net/") {
            let mut parts = path.split('/').skip(4);
            let (Some(name), Some(file)) = (parts.next(), parts.next()) else { continue };
            let value = text.trim();
            if let Some((_, setting)) = INTERFACE_FILES.iter().find(|(its, _)| *its == file) {
                // A link that is down has the speed -1.
                if value.parse::<u64>().is_ok() {
                    settings.insert(format!("interface.{name}.{setting}"), value.to_owned());
                }
            }
        }
        self.watched.settings.append(&mut settings);
        Ok(())
    }
}

impl Source for HostSource {
    fn watched(&self) -> &Watched {
        &self.watched
    }

    fn watched_mut(&mut self) -> &mut Watched {
        &mut self.watched
    }

    fn read(&mut self) -> Result<Reading, ReadError> {
        let files = self.reader.read(&self.paths)?;
        if files.text(&format!("{}/snmp", self.folder)).is_empty() {
            return Err(ReadError(format!("{}/snmp is gone", self.folder)));
        }
        let mut reading = Reading::default();
        network::read(&files, &self.folder, &mut reading);
        system::read(&files, &mut reading);
        if let Some(cgroup) = &self.cgroup {
            cgroup.read(&files, &mut reading);
        }
        if let Some(interfaces) = &mut self.interfaces {
            interfaces.read(&mut reading);
        }
        Ok(reading)
    }
}

/// Files whose absence is said, with what they tell; others exist on few hosts.
const EXPECTED: [(&str, &str); 6] = [
    ("netstat", "counters of TCP"),
    ("snmp6", "counters of IPv6"),
    ("softnet_stat", "the backlog of each CPU"),
    ("/proc/stat", "CPU time"),
    ("/proc/softirqs", "software interrupts"),
    ("/proc/pressure/cpu", "pressure (PSI)"),
];

/// Files of an interface, and the settings that they are.
const INTERFACE_FILES: [(&str, &str); 2] = [("mtu", "mtu"), ("speed", "speed_mbps")];
