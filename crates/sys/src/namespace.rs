//! Network namespaces: the one of a process can be entered by a thread.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use crate::checked;

/// The network namespace of a process; it exists at least as long as this value.
#[derive(Debug)]
pub struct Namespace(File);

impl Namespace {
    /// That of a process; needs the right to trace it.
    pub fn of_process(pid: u32) -> io::Result<Namespace> {
        File::open(format!("/proc/{pid}/ns/net")).map(Namespace)
    }

    /// Moves the calling thread into it, for good: its sockets, `/proc/thread-self/net` and `/proc/sys/net` are then
    /// those of the namespace. Needs the privilege to administer the host.
    pub fn enter(&self) -> io::Result<()> {
        // SAFETY: the call takes no pointer. It concerns the calling thread alone.
        checked(unsafe { libc::setns(self.0.as_raw_fd(), libc::CLONE_NEWNET) })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_enters_the_namespace_of_a_process_and_the_others_stay() {
        if !dnsdyno_lab::require(&[dnsdyno_lab::Need::Root]) {
            return;
        }
        let here = || std::fs::read_link("/proc/thread-self/ns/net").unwrap();
        let before = here();
        let original = Namespace::of_process(std::process::id()).unwrap();
        let seen = std::thread::spawn(move || {
            // SAFETY: the call takes no pointer. It concerns this thread alone, which ends with the test.
            checked(unsafe { libc::unshare(libc::CLONE_NEWNET) }).unwrap();
            let elsewhere = here();
            original.enter().unwrap();
            (elsewhere, here())
        });
        let (elsewhere, again) = seen.join().unwrap();
        assert_ne!(elsewhere, before);
        assert_eq!((again, here()), (before.clone(), before));
        assert_eq!(Namespace::of_process(u32::MAX).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
