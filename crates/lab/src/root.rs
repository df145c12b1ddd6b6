//! Programs of an unpacked root file system: another version of a server, with the libraries that it was built with.
//!
//! ```text
//!   a mount namespace of the process, whose root has
//!     /bin /sbin /lib* /usr /etc   of the unpacked root
//!     everything else              of this host: the folder of the server, zones, /dev, /proc, /tmp
//! ```
//!
//! The unpacked root is read only by the process, and nothing is written to it by this crate: the root of the namespace
//! is a file system in memory, which ends with the process. Its mount point is a folder of the server.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::LabError;

/// An unpacked root file system, such as `mmdebstrap` makes it, or `dpkg-deb -x` of a package and of all that it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    folder: PathBuf,
}

/// One that a process is started from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountedRoot {
    root: Root,
    at: PathBuf,
}

impl Root {
    /// The one in this folder. Nothing is looked for yet.
    pub fn new(folder: &Path) -> Self {
        Root { folder: folder.to_owned() }
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where a program is within the root, by its name or by its path there.
    ///
    /// # Errors
    /// [`LabError::NotInRoot`], with what unpacks the package; [`LabError::RootNeedsRights`] where this user may not
    /// start programs of a root.
    pub(crate) fn find(&self, program: &str, package: &str) -> Result<PathBuf, LabError> {
        // A link may point to where it leads within the root only.
        let is_there = |path: &PathBuf| {
            let within = self.folder.join(path.strip_prefix("/").unwrap_or(path.as_path()));
            within.symlink_metadata().is_ok_and(|found| !found.is_dir())
        };
        let candidates: Vec<PathBuf> = match program.contains('/') {
            true => vec![Path::new("/").join(program)],
            false => FOLDERS.iter().map(|folder| Path::new(folder).join(program)).collect(),
        };
        let found = candidates.into_iter().find(is_there).ok_or_else(|| LabError::NotInRoot {
            program: program.to_owned(),
            package: package.to_owned(),
            root: self.folder.clone(),
        })?;
        match rustix::process::geteuid().is_root() {
            true => Ok(found),
            false => Err(LabError::RootNeedsRights { root: self.folder.clone() }),
        }
    }

    /// The same with an empty folder in `within`, where it is mounted for a process.
    ///
    /// # Errors
    /// [`LabError::Io`] where the folder cannot be made.
    pub(crate) fn mounted_in(&self, within: &Path) -> Result<MountedRoot, LabError> {
        let at = within.join(MOUNT_POINT);
        std::fs::create_dir_all(&at).map_err(LabError::io(format!("make {}", at.display())))?;
        let folder = self.folder.canonicalize();
        let folder = folder.map_err(LabError::io(format!("find {}", self.folder.display())))?;
        Ok(MountedRoot { root: Root { folder }, at })
    }
}

impl MountedRoot {
    /// The words before the command of a process, which is then started in the present folder.
    pub(crate) fn words(&self) -> impl Iterator<Item = OsString> {
        let enter = ["unshare", "--mount", "--", "sh", "-c", ENTER, "enter"].map(OsString::from);
        enter.into_iter().chain([self.root.folder.clone().into(), self.at.clone().into()])
    }
}

/// Where programs are, in the order of a search path.
const FOLDERS: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// In the folder of a server.
const MOUNT_POINT: &str = "root";

/// What the shell of the mount namespace does: arguments are the unpacked root, the mount point, the command. Packages
/// that were unpacked one by one lack the links of the top level, such as `/lib64`.
const ENTER: &str = r#"
set -e
root=$1 top=$2
shift 2
mount -t tmpfs -o mode=755 root "$top"
take() {
    at=$top/${1##*/}
    if [ -e "$at" ] || [ -L "$at" ]; then :
    elif [ -L "$1" ]; then cp -P "$1" "$at"
    elif [ -d "$1" ]; then mkdir "$at"; mount --rbind "$1" "$at"
    fi
}
for from in "$root"/bin "$root"/sbin "$root"/lib* "$root"/usr "$root"/etc; do take "$from"; done
for name in bin sbin lib lib64; do
    if [ ! -e "$top/$name" ] && [ -d "$top/usr/$name" ]; then ln -s "usr/$name" "$top/$name"; fi
done
for from in /*; do
    case $from in /bin | /sbin | /lib* | /usr) ;; *) take "$from" ;; esac
done
exec unshare --root="$top" --wd="$PWD" -- "$@"
"#;

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::{Need, require};

    /// A root with a shell, `usr/bin/tell`, and its libraries, whose version is `version`; as packages leave it that
    /// were unpacked one by one: without the links of the top level.
    fn root_with_shell(folder: &Path, version: &str) {
        let copy = r#"
            set -e
            mkdir -p "$0/usr/bin" "$0/usr/share"
            cp -L "$(command -v sh)" "$0/usr/bin/tell"
            for file in $(ldd "$0/usr/bin/tell" | grep -o '/[^ ]*'); do
                case $file in /usr/*) to=$0$file ;; *) to=$0/usr$file ;; esac
                mkdir -p "${to%/*}"; cp -L "$file" "$to"
            done
            echo "$1" > "$0/usr/share/version""#;
        let made = Command::new("sh").args(["-c", copy]).arg(folder).arg(version).output().unwrap();
        assert!(made.status.success(), "{made:?}");
    }

    #[test]
    fn a_program_of_a_root_sees_its_own_files_and_those_of_the_host() {
        if !require(&[Need::Root]) {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (root, at) = (folder.path().join("root of 1.2"), folder.path().join("at"));
        root_with_shell(&root, "1.2");
        std::fs::write(folder.path().join("zone"), "of the host\n").unwrap();
        let root = Root::new(&root);
        let program = root.find("tell", "none").unwrap();
        assert_eq!(program, Path::new("/usr/bin/tell"));
        let mut words = root.mounted_in(&at).unwrap().words().collect::<Vec<_>>();
        // No program of a full system is there: the shell reads by itself.
        let script =
            "read a < /usr/share/version; read b < zone; echo \"$a $b $PWD\"; [ -e /usr/bin/env ]; echo $?";
        words.extend([program.into(), "-c".into(), script.into()]);
        let command = |words: &[OsString]| {
            Command::new(&words[0]).args(&words[1..]).current_dir(folder.path()).output().unwrap()
        };
        let said = command(&words);
        let expected = format!("1.2 of the host {}\n1\n", folder.path().canonicalize().unwrap().display());
        assert_eq!(String::from_utf8_lossy(&said.stdout), expected, "{said:?}");
        // Nothing is left of it, and nothing was written.
        assert!(std::fs::read_dir(at.join(MOUNT_POINT)).unwrap().next().is_none());
        assert!(!root.folder().join("tmp").exists() && !root.folder().join("lib").exists());
    }

    #[test]
    fn a_program_that_is_not_in_the_root_is_told_with_what_unpacks_it() {
        let folder = tempfile::tempdir().unwrap();
        let said = Root::new(folder.path()).find("named", "bind9").unwrap_err().to_string();
        for words in [&*folder.path().display().to_string(), "has no program named", "mmdebstrap", "bind9"] {
            assert!(said.contains(words), "{words} in {said}");
        }
        // A folder of its name is none.
        std::fs::create_dir_all(folder.path().join("usr/sbin/named")).unwrap();
        assert!(Root::new(folder.path()).find("named", "bind9").is_err());
    }
}
