//! System calls that a thread may make, by a filter in the kernel (seccomp).
//!
//! The filter names what is allowed. Everything else fails with `ENOSYS`, as on a kernel that does not have it, so that
//! a C library which tries a newer call goes back to the older one. No call of the list takes a path to write to, makes
//! a socket, or starts a program; where the arguments decide that, they are in the filter.

use std::io;

/// Why system calls are not filtered.
#[derive(Debug, thiserror::Error)]
pub enum NotFiltered {
    /// The list is not written for this kind of CPU.
    #[error("there is none for this kind of CPU")]
    Architecture,
    /// The kernel has no filters, or a container refuses more of them.
    #[error("{0}")]
    Refused(#[source] io::Error),
    /// The filter was not made: a mistake in it.
    #[error("{0}")]
    Filter(String),
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
pub(super) use supported::only_those_of_a_reader;

/// Nothing is denied here.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
pub(super) fn only_those_of_a_reader() -> Result<(), NotFiltered> {
    Err(NotFiltered::Architecture)
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
mod supported {
    use std::collections::BTreeMap;

    use libc::{c_int, c_long};
    use seccompiler::SeccompCmpArgLen::Dword;
    use seccompiler::SeccompCmpOp::{Eq, MaskedEq};
    use seccompiler::{
        BackendError, BpfProgram, Error, SeccompAction, SeccompCondition, SeccompFilter, SeccompRule,
        TargetArch,
    };

    use super::NotFiltered;

    /// Lets the calling thread, and those that it starts, make only the system calls of a server of files.
    pub(in super::super) fn only_those_of_a_reader() -> Result<(), NotFiltered> {
        let program = of_a_reader().map_err(|error| NotFiltered::Filter(error.to_string()))?;
        seccompiler::apply_filter(&program).map_err(|error| match error {
            Error::Prctl(source) | Error::Seccomp(source) => NotFiltered::Refused(source),
            other => NotFiltered::Filter(other.to_string()),
        })
    }

    fn of_a_reader() -> Result<BpfProgram, BackendError> {
        let of = TargetArch::try_from(std::env::consts::ARCH)?;
        let mut rules: BTreeMap<c_long, Vec<SeccompRule>> = BTreeMap::new();
        for calls in [FILES, CONNECTIONS, EVENTS, MEMORY, THREADS, TIME, OLDER] {
            rules.extend(calls.iter().map(|call| (*call, Vec::new())));
        }
        // Opened to read, and nothing is created or cut short.
        let written = libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC;
        rules.insert(libc::SYS_openat, vec![with_bits(2, written, libc::O_RDONLY)?]);
        #[cfg(target_arch = "x86_64")]
        rules.insert(libc::SYS_open, vec![with_bits(1, written, libc::O_RDONLY)?]);
        // A thread, not a process, and in the namespaces that this one is in. The flags of clone3 cannot be seen: a C
        // library that has it refused takes this one.
        let clone = libc::CLONE_THREAD | namespaces();
        rules.insert(libc::SYS_clone, vec![with_bits(0, clone, libc::CLONE_THREAD)?]);
        // No memory of code beside that of the program.
        for call in [libc::SYS_mmap, libc::SYS_mprotect] {
            rules.insert(call, vec![with_bits(2, libc::PROT_EXEC, 0)?]);
        }
        let commands = [libc::F_GETFD, libc::F_SETFD, libc::F_GETFL, libc::F_SETFL, libc::F_DUPFD_CLOEXEC];
        rules.insert(
            libc::SYS_fcntl,
            commands.into_iter().map(|command| equal(1, command)).collect::<Result<_, _>>()?,
        );
        rules.insert(libc::SYS_prctl, vec![equal(0, libc::PR_SET_NAME)?]);
        // A signal to itself: the end after a fault that cannot be survived.
        let own = std::process::id() as c_int;
        rules.insert(libc::SYS_tgkill, vec![equal(0, own)?]);
        let denied = SeccompAction::Errno(libc::ENOSYS as u32);
        SeccompFilter::new(rules, denied, SeccompAction::Allow, of)?.try_into()
    }

    /// Matches a call whose argument of this number, of 32 bits, has this value.
    fn equal(argument: u8, value: c_int) -> Result<SeccompRule, BackendError> {
        SeccompRule::new(vec![SeccompCondition::new(argument, Dword, Eq, u64::from(value as u32))?])
    }

    /// Matches a call whose argument of this number has, of the bits of `mask`, those of `value`.
    fn with_bits(argument: u8, mask: c_int, value: c_int) -> Result<SeccompRule, BackendError> {
        let (mask, value) = (u64::from(mask as u32), u64::from(value as u32));
        SeccompRule::new(vec![SeccompCondition::new(argument, Dword, MaskedEq(mask), value)?])
    }

    fn namespaces() -> c_int {
        libc::CLONE_NEWCGROUP
            | libc::CLONE_NEWIPC
            | libc::CLONE_NEWNET
            | libc::CLONE_NEWNS
            | libc::CLONE_NEWPID
            | libc::CLONE_NEWUSER
            | libc::CLONE_NEWUTS
    }

    /// Beside those that open files.
    const FILES: &[c_long] = &[
        libc::SYS_close,
        libc::SYS_faccessat,
        libc::SYS_flock,
        libc::SYS_fstat,
        libc::SYS_getcwd,
        libc::SYS_getdents64,
        libc::SYS_lseek,
        libc::SYS_newfstatat,
        libc::SYS_pread64,
        libc::SYS_read,
        libc::SYS_readlinkat,
        libc::SYS_readv,
        libc::SYS_statx,
        libc::SYS_write,
        libc::SYS_writev,
    ];

    /// Of a socket that listens.
    const CONNECTIONS: &[c_long] = &[
        libc::SYS_accept4,
        libc::SYS_getpeername,
        libc::SYS_getsockname,
        libc::SYS_getsockopt,
        libc::SYS_recvfrom,
        libc::SYS_recvmsg,
        libc::SYS_sendmsg,
        libc::SYS_sendto,
        libc::SYS_shutdown,
    ];

    const EVENTS: &[c_long] = &[libc::SYS_epoll_ctl, libc::SYS_epoll_pwait, libc::SYS_ppoll];

    /// Beside those that may make memory of code.
    const MEMORY: &[c_long] = &[libc::SYS_brk, libc::SYS_madvise, libc::SYS_mremap, libc::SYS_munmap];

    /// Beside those that start one.
    const THREADS: &[c_long] = &[
        libc::SYS_exit,
        libc::SYS_exit_group,
        libc::SYS_futex,
        libc::SYS_getpid,
        libc::SYS_gettid,
        libc::SYS_rseq,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sched_getaffinity,
        libc::SYS_sched_yield,
        libc::SYS_set_robust_list,
        libc::SYS_sigaltstack,
    ];

    const TIME: &[c_long] = &[
        libc::SYS_clock_gettime,
        libc::SYS_clock_nanosleep,
        libc::SYS_getrandom,
        libc::SYS_nanosleep,
        libc::SYS_restart_syscall,
    ];

    /// Those that only the oldest kind of CPU has, which some C libraries use there.
    #[cfg(target_arch = "x86_64")]
    const OLDER: &[c_long] = &[
        libc::SYS_access,
        libc::SYS_epoll_wait,
        libc::SYS_lstat,
        libc::SYS_poll,
        libc::SYS_readlink,
        libc::SYS_stat,
    ];

    #[cfg(not(target_arch = "x86_64"))]
    const OLDER: &[c_long] = &[];
}
