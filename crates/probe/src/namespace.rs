//! The network namespace of a process of this host, seen from inside.

use std::io;
use std::thread::{self, ThreadId};

use dnsdyno_sys::namespace::Namespace;

use crate::files::{FileReader, Files, LocalFiles, links_in};
use crate::source::ReadError;

/// The files of this host as a process in the namespace sees them. The thread that reads is moved into it, for good:
/// the namespace can be read as long as the thread lives, also after its processes have ended.
pub(crate) struct NamespaceFiles {
    namespace: Namespace,
    /// The thread that is in it.
    entered: Option<ThreadId>,
}

impl NamespaceFiles {
    pub(crate) fn of(namespace: Namespace) -> NamespaceFiles {
        NamespaceFiles { namespace, entered: None }
    }
}

impl FileReader for NamespaceFiles {
    fn read(&mut self, paths: &[String]) -> Result<Files, ReadError> {
        let this_thread = thread::current().id();
        if self.entered != Some(this_thread) {
            self.namespace.enter().map_err(|error| ReadError(format!("its network namespace: {error}")))?;
            self.entered = Some(this_thread);
        }
        LocalFiles.read(paths)
    }
}

/// Whether a process is in a network namespace other than that of the reader; `None` where it may not be looked at.
pub(crate) fn is_elsewhere(reader: &mut dyn FileReader, pid: u32) -> Result<Option<bool>, ReadError> {
    let (own, its) = ("/proc/self/ns/".to_owned(), format!("/proc/{pid}/ns/"));
    let files = reader.read(&[own.clone(), its.clone()])?;
    let of = |path: &str| {
        let mut links = links_in(files.text(path));
        links.find(|(name, _)| *name == "net").map(|(_, target)| target.to_owned())
    };
    Ok(of(&own).zip(of(&its)).map(|(own, its)| own != its))
}

/// Runs `work` in the namespace, on a thread of its own: what it opens asks in the namespace wherever it is used later.
pub(crate) fn inside<R: Send>(namespace: &Namespace, work: impl FnOnce() -> R + Send) -> io::Result<R> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, || namespace.enter().map(|()| work()))?;
        thread.join().unwrap_or_else(|_| Err(io::Error::other("a thread has ended early")))
    })
}
