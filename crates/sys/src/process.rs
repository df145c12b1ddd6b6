//! Processes, as `/proc` shows them: one process, all of them, those that we have marked, and what this one is.
//!
//! ```text
//!   /proc/4711/stat      4711 (named) S 1 4711 …         Stat: name, state, parent, group, CPU time, start
//!   /proc/4711/status    Cpus_allowed_list: 0-3,8        CpuList
//!   /proc/4711/environ   DNSDYNO_EXPERIMENT=/tmp/…       marked: what a program of ours has started
//! ```
//!
//! The number of a process is given to another one after its end. Whatever sends a signal to a process that it did not
//! start itself needs a handle (a pidfd), which stays with the process that it was opened for.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use crate::checked;

/// A process, from the text of its `/proc/PID/stat`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Its number.
    pub pid: u32,
    /// What it calls itself: at most 15 octets, with any characters, also blanks and parentheses.
    pub name: String,
    /// The state in a letter: `R` runs, `S` sleeps, `Z` has ended and its parent does not know it yet.
    pub state: char,
    /// The process that has started it, or that has taken it over.
    pub parent: u32,
    /// Its process group.
    pub group: u32,
    /// CPU time in its own code, in ticks of the kernel ([`crate::clock::ticks_per_second`]), all threads together.
    pub user_ticks: u64,
    /// CPU time in the kernel for it, in ticks.
    pub system_ticks: u64,
    /// CPU time of the children that have ended and that it has waited for, in ticks, in their code and in the kernel.
    pub children_ticks: u64,
    /// Its threads.
    pub threads: u64,
    /// When it started, in ticks since the boot: tells it from another process that later has the same number.
    pub started_ticks: u64,
}

impl Stat {
    /// Reads the text of a `stat`. `None` where the text is not whole.
    pub fn parse(stat: &str) -> Option<Stat> {
        // The name may hold anything, so it ends at the last parenthesis.
        let (pid, rest) = stat.split_once('(')?;
        let (name, rest) = rest.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(Stat {
            pid: pid.trim().parse().ok()?,
            name: name.to_owned(),
            state: fields.first()?.chars().next()?,
            parent: fields.get(PARENT)?.parse().ok()?,
            group: fields.get(GROUP)?.parse().ok()?,
            user_ticks: number(USER_TICKS)?,
            system_ticks: number(SYSTEM_TICKS)?,
            children_ticks: number(CHILDREN_USER_TICKS)?.checked_add(number(CHILDREN_SYSTEM_TICKS)?)?,
            threads: number(THREADS)?,
            started_ticks: number(STARTED)?,
        })
    }

    /// That of a process of this host; `None` where there is none with this number.
    pub fn of(pid: u32) -> Option<Stat> {
        let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The name is what the process chose, and may be cut within a character.
        Stat::parse(&String::from_utf8_lossy(&text))
    }

    /// Whether the process has ended, and only its number is left until its parent has waited for it.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }

    /// Whether it is a thread of the kernel, or the parent of those.
    pub fn is_of_kernel(&self) -> bool {
        self.pid == KERNEL_THREADS || self.parent == KERNEL_THREADS
    }

    /// CPU time of its own, without that of its children, in ticks.
    pub fn own_ticks(&self) -> u64 {
        self.user_ticks.saturating_add(self.system_ticks)
    }
}

/// The numbers of all processes of this host, as far as this user may see them.
pub fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// All processes of this host, also those that have ended and were not waited for.
pub fn all() -> impl Iterator<Item = Stat> {
    pids().filter_map(Stat::of)
}

/// A handle of a process: readable when the process has ended, and never that of another one.
///
/// # Errors
/// There is no process with this number, or too many files are open.
pub fn handle(pid: u32) -> io::Result<OwnedFd> {
    let pid = libc::pid_t::try_from(pid).map_err(|_| io::Error::from_raw_os_error(libc::ESRCH))?;
    // SAFETY: the call takes two integers and touches no memory of ours.
    let opened = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let opened = checked(opened as libc::c_int)?;
    // SAFETY: the kernel has just opened this descriptor for us, and nothing else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(opened) })
}

/// The handles of the processes of a group that have not ended.
pub fn running_in_group(group: u32) -> Vec<OwnedFd> {
    let is_one = |pid: u32| Stat::of(pid).is_some_and(|stat| stat.group == group && !stat.has_ended());
    // Looked at again: the number may have gone to another process before the handle was opened.
    let handle_of = |pid: u32| handle(pid).ok().filter(|_| is_one(pid));
    pids().filter(|pid| is_one(*pid)).filter_map(handle_of).collect()
}

/// A process that has a variable in its environment.
#[derive(Debug)]
pub struct Marked {
    /// Its number.
    pub pid: u32,
    /// What it calls itself.
    pub name: String,
    /// Its handle: a signal that is sent through it meets this process, or none.
    pub handle: OwnedFd,
}

/// The processes but this one that were started with this variable in their environment and have not ended, as far as
/// this user may read it. A process that was just started has it a moment after the start.
pub fn marked(variable: &OsStr, value: &OsStr) -> Vec<Marked> {
    let mark = [variable.as_bytes(), b"=", value.as_bytes()].concat();
    pids().filter(|pid| *pid != std::process::id()).filter_map(|pid| of_mark(pid, &mark)).collect()
}

/// The handle is opened before the environment is read: if the number goes to another process in between, the handle is
/// of one that has ended, which no signal meets.
fn of_mark(pid: u32, mark: &[u8]) -> Option<Marked> {
    let handle = handle(pid).ok()?;
    // That of a process that has ended is empty.
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    if !environment.split(|octet| *octet == 0).any(|variable| variable == mark) {
        return None;
    }
    let name = Stat::of(pid).map_or_else(String::new, |stat| stat.name);
    Some(Marked { pid, name, handle })
}

/// A list of CPUs, as the kernel writes it: `0-3,8`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuList(Vec<RangeInclusive<usize>>);

impl CpuList {
    /// Reads a list; `None` where it is empty, or is none.
    pub fn parse(list: &str) -> Option<CpuList> {
        let range = |item: &str| {
            let (first, last) = item.split_once('-').unwrap_or((item, item));
            let (first, last) = (first.parse::<usize>().ok()?, last.parse().ok()?);
            (first <= last).then_some(first..=last)
        };
        list.trim().split(',').map(range).collect::<Option<_>>().map(CpuList)
    }

    /// The CPUs that a process may run on, from the text of its `/proc/PID/status`.
    pub fn allowed_in(status: &str) -> Option<CpuList> {
        CpuList::parse(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?)
    }

    /// The CPUs that a process of this host may run on; `None` where there is no such process.
    pub fn allowed_to(pid: u32) -> Option<CpuList> {
        let status = fs::read(format!("/proc/{pid}/status")).ok()?;
        CpuList::allowed_in(&String::from_utf8_lossy(&status))
    }

    /// Whether this CPU is in it.
    pub fn contains(&self, cpu: usize) -> bool {
        self.0.iter().any(|cpus| cpus.contains(&cpu))
    }

    /// The numbers of its CPUs.
    pub fn numbers(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().cloned().flatten()
    }

    /// How many CPUs it has; `None` beyond what can be counted.
    pub fn count(&self) -> Option<u64> {
        let of = |cpus: &RangeInclusive<usize>| (cpus.end() - cpus.start()).checked_add(1);
        let count = self.0.iter().try_fold(0_usize, |count, cpus| count.checked_add(of(cpus)?))?;
        u64::try_from(count).ok()
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, cpus) in self.0.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            match (cpus.start(), cpus.end()) {
                (first, last) if first == last => write!(f, "{comma}{first}")?,
                (first, last) => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

/// The number of the user whose rights this process has.
pub fn effective_user() -> u32 {
    // SAFETY: the call takes nothing, touches no memory, and cannot fail.
    unsafe { libc::geteuid() }
}

/// Whether this process ignores a signal.
pub fn ignores_signal(signal: i32) -> bool {
    // SAFETY: an all-zero sigaction is a valid one.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: the null pointer means that nothing is changed; `action` is valid for the write of what holds now.
    let result = unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) };
    result == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Lets a signal that this process was started to ignore end it, as others do.
pub fn stop_ignoring(signal: i32) {
    if ignores_signal(signal) {
        // SAFETY: the default action calls nothing of this process.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// The parent of the kernel's threads.
const KERNEL_THREADS: u32 = 2;

/// Fields of `stat` after the name, counted from the state.
const PARENT: usize = 1;
const GROUP: usize = 2;
const USER_TICKS: usize = 11;
const SYSTEM_TICKS: usize = 12;
const CHILDREN_USER_TICKS: usize = 13;
const CHILDREN_SYSTEM_TICKS: usize = 14;
const THREADS: usize = 17;
const STARTED: usize = 19;

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};
    use std::time::Duration;

    const TEXT: &str =
        "4711 (named) S 1 4712 4711 0 -1 4194560 100 0 0 0 250 50 4 3 20 0 5 0 100 1000 20 184 1 1 0 0\n";

    #[test]
    fn the_fields_of_a_process_are_read() {
        let expected = Stat {
            pid: 4_711,
            name: "named".to_owned(),
            state: 'S',
            parent: 1,
            group: 4_712,
            user_ticks: 250,
            system_ticks: 50,
            children_ticks: 7,
            threads: 5,
            started_ticks: 100,
        };
        assert_eq!((Stat::parse(TEXT), expected.own_ticks()), (Some(expected), 300));
    }

    #[test]
    fn a_process_is_read_whatever_its_name_is() {
        for name in ["a) b (c", "", ") S 1 2", "(", "4 (x) Z 1", "two\nlines", "nsd: server 1", "caf\u{fffd}"]
        {
            let stat = Stat::parse(&TEXT.replace("named", name)).unwrap();
            assert_eq!((stat.name.as_str(), stat.state, stat.parent), (name, 'S', 1));
        }
    }

    #[test]
    fn a_text_that_is_cut_or_is_none_is_no_process() {
        let whole = &TEXT[..TEXT.find(" 100 1000").unwrap() + 4];
        assert!(Stat::parse(whole).is_some());
        // Cut within the last field it would be another number: what is read from /proc is never cut there.
        for cut in 0..whole.len() - 3 {
            assert_eq!(Stat::parse(&whole[..cut]), None, "{:?}", &whole[..cut]);
        }
        for text in
            [TEXT.replace("4711 (", "x ("), TEXT.replace(" 250 ", " -1 "), TEXT.replace(" 4 3 ", " 4 x ")]
        {
            assert_eq!(Stat::parse(&text), None, "{text}");
        }
        let too_much = TEXT.replace(" 4 3 ", &format!(" {} 1 ", u64::MAX));
        assert_eq!(Stat::parse(&too_much), None);
    }

    #[test]
    fn a_process_that_has_ended_and_a_thread_of_the_kernel_are_told_from_others() {
        let with = |state: &str, parent: &str| {
            let stat = Stat::parse(&TEXT.replace(") S 1", &format!(") {state} {parent}"))).unwrap();
            (stat.has_ended(), stat.is_of_kernel())
        };
        assert_eq!(
            [with("R", "7"), with("Z", "7"), with("X", "7")],
            [(false, false), (true, false), (true, false)]
        );
        assert_eq!(with("I", "2"), (false, true));
        assert!(Stat::parse(&TEXT.replace("4711 (", "2 (")).unwrap().is_of_kernel());
    }

    #[test]
    fn this_process_is_among_all_and_has_a_parent() {
        let own = Stat::of(std::process::id()).unwrap();
        assert_eq!((own.pid, own.has_ended()), (std::process::id(), false));
        assert_eq!(own.parent, std::os::unix::process::parent_id());
        assert!(all().any(|process| process.pid == own.pid && process.started_ticks == own.started_ticks));
        assert_eq!(Stat::of(u32::MAX), None);
    }

    /// A child that lives until it is killed, in a group of its own, with a variable in its environment.
    fn child(value: &str) -> Child {
        let mut command = Command::new("sleep");
        command.arg("1000").env("DNSDYNO_SYS_TEST", value).stdin(Stdio::null());
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn().unwrap()
    }

    /// Those with the mark as soon as there is one: the new program has its environment a moment after the fork.
    fn found(value: &str) -> Vec<Marked> {
        let look = |_| {
            std::thread::sleep(Duration::from_millis(10));
            Some(marked("DNSDYNO_SYS_TEST".as_ref(), value.as_ref())).filter(|found| !found.is_empty())
        };
        (0..500).find_map(look).unwrap_or_default()
    }

    #[test]
    fn only_processes_with_the_very_mark_are_found_and_none_that_has_ended() {
        let value = format!("{}-mark", std::process::id());
        let (mut ours, mut theirs) = (child(&value), child(&format!("{value}-of-another")));
        let seen = found(&value);
        assert_eq!(seen.len(), 1, "{seen:?}");
        assert_eq!((seen[0].pid, seen[0].name.as_str()), (ours.id(), "sleep"));
        ours.kill().unwrap();
        // Killed and not waited for, it is still in /proc.
        let is_zombie = (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            Stat::of(ours.id()).unwrap().has_ended()
        });
        assert!(is_zombie);
        assert!(marked("DNSDYNO_SYS_TEST".as_ref(), value.as_ref()).is_empty());
        ours.wait().unwrap();
        assert!(theirs.try_wait().unwrap().is_none());
        theirs.kill().unwrap();
        theirs.wait().unwrap();
    }

    #[test]
    fn a_handle_is_of_the_process_that_it_was_opened_for() {
        let mut child = child("handle");
        let handle = handle(child.id()).unwrap();
        let signal = |number: i32| {
            use std::os::fd::AsRawFd;
            // SAFETY: the null pointer stands for the usual information; the call touches no memory of ours.
            unsafe {
                let fd = handle.as_raw_fd();
                libc::syscall(libc::SYS_pidfd_send_signal, fd, number, std::ptr::null::<libc::siginfo_t>(), 0)
            }
        };
        assert_eq!(running_in_group(child.id()).len(), 1);
        assert_eq!(signal(libc::SIGKILL), 0);
        child.wait().unwrap();
        assert!(running_in_group(child.id()).is_empty());
        assert_eq!(signal(0), -1, "it has ended, and its number is free");
        assert_eq!(super::handle(u32::MAX).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }

    #[test]
    fn lists_of_cpus_are_read_and_counted() {
        let list = CpuList::parse("0-3,8\n").unwrap();
        let has = [0, 3, 4, 8].map(|cpu| list.contains(cpu));
        assert_eq!((has, list.count()), ([true, true, false, true], Some(5)));
        assert_eq!(CpuList::parse("0").and_then(|list| list.count()), Some(1));
        assert_eq!(["", "3-1", "x", "1,", "0-x"].map(|list| CpuList::parse(list).is_none()), [true; 5]);
        assert_eq!(CpuList::parse(&format!("0-{}", usize::MAX)).and_then(|list| list.count()), None);
        assert_eq!(CpuList::allowed_in("Name:\tx\nCpus_allowed_list:\t0-3,8\n"), Some(list));
        assert_eq!(CpuList::allowed_in("Name:\tx\n"), None);
    }

    #[test]
    fn the_cpus_of_this_process_are_those_that_the_scheduler_names() {
        let cpus = std::thread::spawn(|| crate::thread::allowed_cpus().unwrap()).join().unwrap();
        let list = CpuList::allowed_to(std::process::id()).unwrap();
        assert!(cpus.iter().all(|cpu| list.contains(*cpu)), "{cpus:?} {list:?}");
    }

    #[test]
    fn the_user_and_the_signals_are_those_that_the_kernel_has_noted() {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let words = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(effective_user().to_string(), words("Uid:")[1]);
        let ignored = u64::from_str_radix(&words("SigIgn:")[0], 16).unwrap();
        // The runtime of Rust ignores SIGPIPE.
        assert!(ignores_signal(libc::SIGPIPE) && !ignores_signal(libc::SIGSEGV) && !ignores_signal(1_000));
        for signal in [libc::SIGPIPE, libc::SIGSEGV, libc::SIGHUP] {
            assert_eq!(ignores_signal(signal), ignored & (1 << (signal - 1)) != 0, "{signal}");
        }
        // SAFETY: to ignore a signal calls nothing of this process.
        unsafe { libc::signal(libc::SIGURG, libc::SIG_IGN) };
        assert!(ignores_signal(libc::SIGURG));
        stop_ignoring(libc::SIGURG);
        assert!(!ignores_signal(libc::SIGURG));
    }
}
