//! A host whose values are read and written.

use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::io;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use crate::error::HostError;
use crate::item::Item;
use crate::{device, file, kernel};

/// Whatever has values. What is decided about them is tested on an imagined one.
pub(crate) trait Host {
    /// The item by the name that it keeps: symbolic links to a file of configuration are followed.
    fn resolved(&self, item: &Item) -> Result<Item, HostError>;

    /// The value; `None` where the host does not have it.
    fn read(&mut self, item: &Item) -> Result<Option<String>, HostError>;

    /// Writes the value. What it became may be something else.
    fn write(&mut self, item: &Item, value: &str) -> Result<(), HostError>;

    /// Takes away what a write that was cut off left beside the value.
    fn clean_up(&mut self, item: &Item);
}

/// This host, as the calling thread sees it.
#[derive(Debug)]
pub(crate) struct ThisHost {
    /// What stands before the paths of the kernel: `/`, but in tests.
    root: PathBuf,
    sysfs: Sysfs,
    has_namespace: bool,
}

/// Where `/sys` is. It shows the network interfaces of the namespace in which it was mounted, not of the one that asks.
#[derive(Debug)]
enum Sysfs {
    Usual,
    /// A mount for the namespace of this thread, which no other process sees.
    Own(OwnedFd),
    /// There is none for the namespace of this thread.
    Unseen,
}

impl ThisHost {
    /// The host for a thread that is in the namespace in which its process was started.
    pub(crate) fn usual(root: &Path) -> ThisHost {
        ThisHost { root: root.to_owned(), sysfs: Sysfs::Usual, has_namespace: true }
    }

    /// The host for a thread that has entered another namespace.
    pub(crate) fn of_entered_namespace(root: &Path) -> ThisHost {
        let sysfs = match root == Path::new("/") {
            true => own_sysfs().map_or(Sysfs::Unseen, Sysfs::Own),
            false => Sysfs::Usual,
        };
        ThisHost { sysfs, ..ThisHost::usual(root) }
    }

    /// The host whose namespace is no more: it does not have the values of that.
    pub(crate) fn without_namespace(root: &Path) -> ThisHost {
        ThisHost { has_namespace: false, ..ThisHost::usual(root) }
    }

    /// Where a file of the kernel is for this thread.
    fn place_of(&self, item: &Item, path: &Path) -> Result<PathBuf, HostError> {
        match (&self.sysfs, path.strip_prefix("/sys")) {
            (Sysfs::Own(mount), Ok(below)) => {
                Ok(PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd())).join(below))
            }
            (Sysfs::Unseen, Ok(_)) if item.is_of_namespace() => Err(HostError::UnseenSysfs),
            _ => Ok(self.root.join(path.strip_prefix("/").unwrap_or(path))),
        }
    }
}

impl Host for ThisHost {
    fn resolved(&self, item: &Item) -> Result<Item, HostError> {
        item.check().map_err(HostError::Place)?;
        match item {
            Item::File { path } => {
                let path = fs::canonicalize(path).map_err(HostError::Read)?;
                Ok(Item::File { path })
            }
            item => Ok(item.clone()),
        }
    }

    fn read(&mut self, item: &Item) -> Result<Option<String>, HostError> {
        item.check().map_err(HostError::Place)?;
        if item.is_of_namespace() && !self.has_namespace {
            return Ok(None);
        }
        match item {
            Item::Kernel { path } => kernel::read(&self.place_of(item, path)?),
            Item::File { path } => file::read(path),
            Item::Device { interface, group, key } => device::read(interface, *group, key),
        }
    }

    fn write(&mut self, item: &Item, value: &str) -> Result<(), HostError> {
        item.check().map_err(HostError::Place)?;
        match item {
            Item::Kernel { path } => kernel::write(&self.place_of(item, path)?, value),
            Item::File { path } => file::replace(path, value),
            Item::Device { interface, group, key } => device::write(interface, *group, key, value),
        }
    }

    fn clean_up(&mut self, item: &Item) {
        if let Item::File { path } = item {
            file::remove_new(path);
        }
    }
}

/// Mounts `/sys` for the namespace of the calling thread, without a place in the tree of files.
fn own_sysfs() -> io::Result<OwnedFd> {
    let sysfs = fsopen("sysfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&sysfs)?;
    fsmount(&sysfs, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
}
