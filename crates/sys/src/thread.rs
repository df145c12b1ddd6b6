//! What a thread asks of the scheduler, and what it got.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::checked;

/// The CPUs that this thread may run on, lowest first.
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    // SAFETY: an all-zero cpu_set_t is a valid, empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is valid for writes of the size given; 0 means the calling thread.
    checked(unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) })?;
    // SAFETY: every index is below CPU_SETSIZE, so it lies within the set.
    Ok((0..libc::CPU_SETSIZE as usize).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect())
}

/// Binds the calling thread to one CPU.
pub fn pin_to_cpu(cpu: usize) -> io::Result<()> {
    run_on_cpus(&[cpu])
}

/// Lets the calling thread run on these CPUs only; at least one must exist.
pub fn run_on_cpus(cpus: &[usize]) -> io::Result<()> {
    // SAFETY: an all-zero cpu_set_t is a valid, empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for cpu in cpus {
        if *cpu >= libc::CPU_SETSIZE as usize {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        // SAFETY: `cpu` is below CPU_SETSIZE, checked above.
        unsafe { libc::CPU_SET(*cpu, &mut set) };
    }
    // SAFETY: `set` is valid for reads of the size given; 0 means the calling thread.
    checked(unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) })?;
    Ok(())
}

/// Asks the kernel to wake the calling thread within `slack_ns` of its timers.
///
/// The default of 50 µs lets it gather wake-ups, which a paced sender would see as lateness.
pub fn set_timer_slack_ns(slack_ns: u64) -> io::Result<()> {
    // SAFETY: PR_SET_TIMERSLACK takes one integer and touches no memory of ours.
    checked(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack_ns as libc::c_ulong, 0, 0, 0) })?;
    Ok(())
}

/// Lets the calling thread take its CPU from nobody when it wakes: it waits until the CPU is free, or for its turn. Its
/// children do the same. A thread to which the user has given another policy keeps it.
pub fn give_way() -> io::Result<()> {
    // The calls themselves: musl's functions say that there are none.
    // SAFETY: the call touches no memory of ours; 0 means the calling thread.
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) };
    if checked(policy as libc::c_int)? == libc::SCHED_OTHER {
        // The kernel's `struct sched_param` is a priority alone.
        let priority: libc::c_int = 0;
        // SAFETY: the call only reads `priority`.
        let done = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_BATCH, &priority) };
        checked(done as libc::c_int)?;
    }
    Ok(())
}

/// How many files this process may have open: the soft limit, and the hard one above it.
pub fn open_files_limit() -> io::Result<(u64, u64)> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid rlimit that the call may write to.
    checked(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) })?;
    Ok((limit.rlim_cur, limit.rlim_max))
}

/// Raises the soft limit of open files; fails above the hard limit for want of privilege.
pub fn set_open_files_limit(soft: u64) -> io::Result<()> {
    let (_, hard) = open_files_limit()?;
    let limit = libc::rlimit { rlim_cur: soft, rlim_max: hard.max(soft) };
    // SAFETY: `limit` is a valid rlimit that the call only reads.
    checked(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) })?;
    Ok(())
}

/// Gives the calling thread a table of open files of its own, which begins as a copy of the
/// process's.
///
/// The limit of open files holds for a table, so several threads may together have more than a
/// process may raise its limit to. What either side opens from here on, the other cannot use; what
/// was open before stays open until both have closed it.
pub fn own_open_files() -> io::Result<()> {
    // SAFETY: unshare(2) with CLONE_FILES touches no memory of ours; every descriptor that this
    // thread owns is in the copy under the same number.
    checked(unsafe { libc::unshare(libc::CLONE_FILES) })?;
    Ok(())
}

/// Gives the calling thread an empty table of open files of its own; only the standard streams are in it.
///
/// For a thread that opens all its files itself, where [`own_open_files`] would keep those of others open. The thread
/// must not have, nor later get, anything that owns a file which was opened elsewhere: its number means another file
/// here. Needs Linux 5.9 or later.
pub fn empty_open_files() -> io::Result<()> {
    let (first, last) = (libc::STDERR_FILENO as libc::c_uint + 1, libc::c_uint::MAX);
    // SAFETY: close_range(2) touches no memory of ours; with CLOSE_RANGE_UNSHARE what it closes stays open for the
    // other threads.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, last, libc::CLOSE_RANGE_UNSHARE) };
    checked(done as libc::c_int)?;
    Ok(())
}

/// Whether a call failed because the caller's table of open files is full.
pub fn is_out_of_files(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EMFILE)
}

/// Raises the soft limit of open files to `wanted`, or as far as the hard limit allows. Returns the soft limit then.
pub fn raise_open_files_limit(wanted: u64) -> io::Result<u64> {
    let (soft, hard) = open_files_limit()?;
    if soft < wanted && set_open_files_limit(wanted).is_err() {
        set_open_files_limit(hard)?;
    }
    Ok(open_files_limit()?.0)
}

/// The kernel's account of how long the thread that opened it stood in the run queue.
///
/// Needs scheduler statistics in the kernel (`/proc/thread-self/schedstat`); without them the
/// wait reads as 0.
#[derive(Debug)]
pub struct RunQueueClock {
    schedstat: Option<File>,
}

impl RunQueueClock {
    /// The account of the calling thread.
    pub fn of_this_thread() -> Self {
        RunQueueClock { schedstat: File::open("/proc/thread-self/schedstat").ok() }
    }

    /// Nanoseconds that the thread was ready to run and had no CPU, since it started.
    pub fn waited_ns(&self) -> u64 {
        // "time on CPU, time waiting, timeslices"; read in place, without allocating.
        let mut text = [0u8; 96];
        let length = self.schedstat.as_ref().and_then(|file| file.read_at(&mut text, 0).ok()).unwrap_or(0);
        let mut fields = text[..length].split(|byte| *byte == b' ');
        fields.nth(1).and_then(|field| std::str::from_utf8(field).ok()?.parse().ok()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_is_allowed_one_cpu() {
        std::thread::spawn(|| {
            let cpu = allowed_cpus().unwrap()[0];
            pin_to_cpu(cpu).unwrap();
            assert_eq!(allowed_cpus().unwrap(), [cpu]);
            assert!(pin_to_cpu(1 << 20).is_err());
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_thread_that_gives_way_is_one_of_batches() {
        std::thread::spawn(|| {
            give_way().unwrap();
            let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
            let policy = stat.rsplit(')').next().unwrap().split_whitespace().nth(38);
            assert_eq!(policy, Some("3"), "{stat}");
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_thread_with_files_of_its_own_may_open_as_many_as_the_limit_beside_the_others() {
        use std::os::fd::AsRawFd;
        let open_here = File::open("/proc/self/stat").unwrap();
        let opened_there = std::thread::spawn(move || {
            own_open_files().unwrap();
            // What was open before still is.
            let before = std::fs::read_link(format!("/proc/thread-self/fd/{}", open_here.as_raw_fd()));
            assert!(before.unwrap().ends_with("stat"));
            drop(open_here);
            let files: Vec<_> = (0..64).map(|_| File::open("/proc/self/maps").unwrap()).collect();
            let highest = files.iter().map(AsRawFd::as_raw_fd).max().unwrap();
            let name = std::fs::read_link(format!("/proc/thread-self/fd/{highest}")).unwrap();
            assert!(name.ends_with("maps"), "{name:?}");
            highest
        })
        .join()
        .unwrap();
        // The highest of 64 is beyond what other tests have open, and here it is nothing.
        let here = std::fs::read_link(format!("/proc/thread-self/fd/{opened_there}"));
        assert!(here.is_err() || !here.unwrap().ends_with("maps"));
    }

    #[test]
    fn a_thread_that_begins_without_files_keeps_no_file_of_others_open() {
        use std::io::Read;
        use std::sync::mpsc;
        let (mut read, write) = std::io::pipe().unwrap();
        let ((ready_in, ready), (end, end_out)) = (mpsc::channel(), mpsc::channel::<()>());
        let other = std::thread::spawn(move || {
            empty_open_files().unwrap();
            // Its table has the standard streams and what it opened itself.
            let own = File::open("/proc/self/stat").unwrap();
            let open = std::fs::read_dir("/proc/thread-self/fd").unwrap().count();
            ready_in.send(open).unwrap();
            end_out.recv().unwrap();
            drop(own);
        });
        // The directory that it reads is open too.
        assert!(ready.recv().unwrap() <= 5);
        // The last writer is closed while the other thread still runs.
        drop(write);
        assert_eq!(read.read(&mut [0]).unwrap(), 0);
        end.send(()).unwrap();
        other.join().unwrap();
    }

    #[test]
    fn two_threads_on_one_cpu_wait_for_each_other() {
        if File::open("/proc/thread-self/schedstat").is_err() {
            println!("skipped: this kernel keeps no scheduler statistics");
            return;
        }
        let cpu = allowed_cpus().unwrap()[0];
        let busy = move || {
            pin_to_cpu(cpu).unwrap();
            let clock = RunQueueClock::of_this_thread();
            let before = clock.waited_ns();
            let end = crate::clock::monotonic_ns() + 300_000_000;
            while crate::clock::monotonic_ns() < end {
                std::hint::spin_loop();
            }
            clock.waited_ns() - before
        };
        let other = std::thread::spawn(busy);
        let waited = std::thread::spawn(busy).join().unwrap() + other.join().unwrap();
        assert!(waited > 50_000_000, "both were busy for 300 ms on one CPU and waited {waited} ns");
    }
}
