//! Files of configuration, replaced in one step.
//!
//! ```text
//!   /etc/nsd/.nsd.conf.dnsdyno-new   written, with mode, owner and attributes of the old file, and synced
//!        │ rename
//!        ▼
//!   /etc/nsd/nsd.conf                at each instant the old or the new content, whole
//! ```

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::{XattrFlags, fgetxattr, flistxattr, fsetxattr};
use rustix::io::Errno;

use crate::error::HostError;
use crate::kernel::is_missing;

/// The content; `None` where there is no such file.
pub(crate) fn read(path: &Path) -> Result<Option<String>, HostError> {
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => return Err(HostError::NotAFile),
        Ok(metadata) if metadata.len() > LONGEST => return Err(HostError::TooLong(LONGEST)),
        Ok(_) => (),
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(HostError::Read(error)),
    }
    let mut octets = Vec::new();
    let file = File::open(path).map_err(HostError::Read)?;
    file.take(LONGEST + 1).read_to_end(&mut octets).map_err(HostError::Read)?;
    if octets.len() as u64 > LONGEST {
        return Err(HostError::TooLong(LONGEST));
    }
    String::from_utf8(octets).map(Some).map_err(|_| HostError::NotText)
}

/// Replaces the content of a file that is there.
pub(crate) fn replace(path: &Path, content: &str) -> Result<(), HostError> {
    if content.len() as u64 > LONGEST {
        return Err(HostError::TooLong(LONGEST));
    }
    let path = fs::canonicalize(path).map_err(HostError::Write)?;
    let old = File::open(&path).map_err(HostError::Write)?;
    if old.metadata().map_err(HostError::Write)?.nlink() > 1 {
        return Err(HostError::HardLink);
    }
    let Some(new) = new_beside(&path) else { return Err(HostError::NotAFile) };
    remove_new(&path);
    let replaced = write_new(&new, content, &old).and_then(|()| {
        fs::rename(&new, &path).and_then(|()| sync_folder_of(&path)).map_err(HostError::Write)
    });
    if replaced.is_err() {
        let _ = fs::remove_file(&new);
    }
    replaced
}

/// Removes what a replacement left that was cut off.
pub(crate) fn remove_new(path: &Path) {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if let Some(new) = new_beside(&path) {
        let _ = fs::remove_file(new);
    }
}

/// Writes the entries of the folder of a path to the disk.
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
}

fn write_new(path: &Path, content: &str, old: &File) -> Result<(), HostError> {
    let metadata = old.metadata().map_err(HostError::Write)?;
    let mut options = OpenOptions::new();
    // Nobody else reads the new content before the file has the old owner and mode.
    options.write(true).create_new(true).mode(0o600);
    let mut new = options.open(path).map_err(HostError::Write)?;
    new.write_all(content.as_bytes()).map_err(HostError::Write)?;
    let written = new.metadata().map_err(HostError::Write)?;
    if (written.uid(), written.gid()) != (metadata.uid(), metadata.gid()) {
        fchown(&new, Some(metadata.uid()), Some(metadata.gid())).map_err(HostError::Write)?;
    }
    // After the owner: a change of the owner may clear bits of the mode.
    let mode = Permissions::from_mode(metadata.mode() & MODE_BITS);
    new.set_permissions(mode).map_err(HostError::Write)?;
    copy_attributes(old, &new)?;
    new.sync_all().map_err(HostError::Write)
}

/// Gives a file the extended attributes of another one: access lists, and the label without which a server under
/// SELinux may not read its configuration.
fn copy_attributes(from: &File, to: &File) -> Result<(), HostError> {
    let mut names = vec![0; LONGEST_ATTRIBUTE];
    let length = match flistxattr(from, names.as_mut_slice()) {
        Ok(length) => length,
        // This file system has none.
        Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(()),
        Err(error) => return Err(HostError::Read(error.into())),
    };
    let names = names.get(..length).unwrap_or_default();
    for name in names.split(|octet| *octet == 0).filter(|name| !name.is_empty()) {
        let failed = |error: Errno| HostError::Attribute {
            name: String::from_utf8_lossy(name).into_owned(),
            source: error.into(),
        };
        let (mut value, mut present) = (vec![0; LONGEST_ATTRIBUTE], vec![0; LONGEST_ATTRIBUTE]);
        let length = fgetxattr(from, name, value.as_mut_slice()).map_err(failed)?;
        value.truncate(length);
        let length = fgetxattr(to, name, present.as_mut_slice()).unwrap_or(0);
        present.truncate(length);
        if value != present {
            fsetxattr(to, name, &value, XattrFlags::empty()).map_err(failed)?;
        }
    }
    Ok(())
}

/// The name that the new content has until it takes the place of the old one. It is always the same, so that what a
/// killed process left is found.
fn new_beside(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    Some(path.with_file_name(format!(".{name}.dnsdyno-new")))
}

/// Octets of a file of configuration: more than any that people write.
const LONGEST: u64 = 4 << 20;

/// The largest attribute, and list of their names, that Linux has.
const LONGEST_ATTRIBUTE: usize = 65_536;

/// The permissions within the mode of a file.
const MODE_BITS: u32 = 0o7777;

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn names_in(folder: &TempDir) -> Vec<String> {
        let entries = fs::read_dir(folder.path()).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_replaced_file_keeps_its_mode_and_owner_and_nothing_else_is_left() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("nsd.conf");
        fs::write(&path, "server:\n").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&path, Some(12), Some(34)).unwrap();
        }
        let before = fs::metadata(&path).unwrap();
        // As a killed process has left it.
        fs::write(folder.path().join(".nsd.conf.dnsdyno-new"), "half").unwrap();
        replace(&path, "server:\n  server-count: 4\n").unwrap();
        let after = fs::metadata(&path).unwrap();
        assert_eq!(read(&path).unwrap().unwrap(), "server:\n  server-count: 4\n");
        assert_eq!((after.mode(), after.uid(), after.gid()), (before.mode(), before.uid(), before.gid()));
        assert_eq!(names_in(&folder), ["nsd.conf"]);
    }

    #[test]
    fn attributes_of_a_replaced_file_stay() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("nsd.conf");
        fs::write(&path, "old").unwrap();
        let file = File::open(&path).unwrap();
        if fsetxattr(&file, "user.note", b"kept", XattrFlags::empty()) == Err(Errno::NOTSUP) {
            eprintln!("skipped: the file system of temporary files has no attributes");
            return;
        }
        replace(&path, "new").unwrap();
        let mut value = [0; 16];
        let length = fgetxattr(File::open(&path).unwrap(), "user.note", value.as_mut_slice()).unwrap();
        assert_eq!(&value[..length], b"kept");
    }

    #[test]
    fn a_symbolic_link_stays_and_its_file_is_replaced() {
        let folder = TempDir::new().unwrap();
        let (file, link) = (folder.path().join("a.conf"), folder.path().join("link.conf"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink("a.conf", &link).unwrap();
        replace(&link, "new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::read_link(&link).unwrap(), Path::new("a.conf"));
        assert_eq!(names_in(&folder), ["a.conf", "link.conf"]);
    }

    #[test]
    fn what_cannot_be_restored_is_not_replaced() {
        let folder = TempDir::new().unwrap();
        let (file, second) = (folder.path().join("a.conf"), folder.path().join("b.conf"));
        fs::write(&file, "old").unwrap();
        fs::hard_link(&file, &second).unwrap();
        assert!(matches!(replace(&file, "new"), Err(HostError::HardLink)));
        assert!(matches!(read(folder.path()), Err(HostError::NotAFile)));
        fs::write(&second, [0xff, 0xfe]).unwrap();
        assert!(matches!(read(&second), Err(HostError::NotText)));
        assert_eq!(read(&folder.path().join("none")).unwrap(), None);
        assert_eq!(names_in(&folder), ["a.conf", "b.conf"]);
    }
}
