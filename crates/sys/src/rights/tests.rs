//! Each in a thread of its own, which is all that loses its rights.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::symlink;
use std::process::Command;
use std::thread;

use super::*;

/// The value of a line of this thread's `status`.
fn status(key: &str) -> String {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap();
    let value = |line: &str| Some(line.strip_prefix(key)?.strip_prefix(':')?.trim().to_owned());
    status.lines().find_map(value).unwrap_or_else(|| panic!("no {key} in {status}"))
}

/// The capabilities of a line of this thread's `status`.
fn set(key: &str) -> u64 {
    u64::from_str_radix(&status(key), 16).unwrap()
}

/// What `work` returns in a thread of its own.
fn apart<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(work).join().unwrap())
}

fn error_of<T>(result: io::Result<T>) -> Option<i32> {
    result.err().map(|error| error.raw_os_error().unwrap_or_default())
}

#[test]
fn a_thread_keeps_the_named_capabilities_and_gets_no_others_back() {
    let before = (set("CapEff"), set("CapBnd"));
    apart(|| {
        keep_only(CapabilitySet::NET_ADMIN | CapabilitySet::BPF).unwrap();
        let kept = (CapabilitySet::NET_ADMIN | CapabilitySet::BPF).bits();
        assert_eq!(["CapPrm", "CapEff"].map(set), [before.0 & kept; 2]);
        assert_eq!((set("CapInh"), set("CapAmb")), (0, 0));
        let may_bound = before.0 & CapabilitySet::SETPCAP.bits() != 0;
        assert_eq!(set("CapBnd"), if may_bound { before.1 & kept } else { before.1 });
        // A thread that it starts has no more.
        assert_eq!(apart(|| set("CapPrm")), before.0 & kept);
        keep_only(CapabilitySet::empty()).unwrap();
        assert_eq!((set("CapPrm"), set("CapEff")), (0, 0));
        assert_eq!(keep_only(CapabilitySet::all()).ok().map(|()| set("CapPrm")), Some(0));
    });
    assert_eq!((set("CapEff"), set("CapBnd")), before, "those of the thread that has started it");
}

#[test]
fn a_reader_reads_its_folder_and_nothing_else() {
    let around = tempfile::tempdir().unwrap();
    let folder = around.path().join("runs");
    fs::create_dir(&folder).unwrap();
    let (inside, outside) = (folder.join("inside"), around.path().join("outside"));
    fs::write(&inside, "in").unwrap();
    fs::write(&outside, "out").unwrap();
    symlink(&outside, folder.join("link")).unwrap();
    let kept = apart(|| {
        let kept = only_read(&folder);
        let confined = !kept.iter().any(|kept| matches!(kept, Kept::Files(_)));
        // Through another thread, as those of the server are.
        apart(|| {
            assert_eq!(fs::read_to_string(&inside).unwrap(), "in");
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
            if confined {
                for path in
                    [&outside, &folder.join("link"), &"/etc/passwd".into(), &"/proc/self/status".into()]
                {
                    assert_eq!(error_of(File::open(path)), Some(libc::EACCES), "{path:?}");
                }
            }
            // Denied by both: what is left is that of the one which is asked first.
            for written in [
                error_of(OpenOptions::new().write(true).open(&inside)),
                error_of(OpenOptions::new().append(true).open(&inside)),
                error_of(File::create(folder.join("new"))),
                error_of(fs::create_dir(folder.join("new"))),
                error_of(fs::remove_file(&inside)),
                error_of(fs::rename(&inside, folder.join("other"))),
                error_of(fs::hard_link(&inside, folder.join("other"))),
                error_of(symlink("inside", folder.join("other"))),
            ] {
                assert!(matches!(written, Some(libc::EACCES | libc::ENOSYS)), "{written:?}");
            }
        });
        kept.iter().map(ToString::to_string).collect::<Vec<_>>()
    });
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
    assert_eq!(fs::read_to_string(&inside).unwrap(), "in");
    println!("not given up here: {kept:?}");
}

#[test]
fn a_reader_answers_where_it_listens_and_makes_no_socket_process_or_code() {
    let folder = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let client = thread::spawn(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        said
    });
    let filtered = apart(|| {
        let kept = only_read(folder.path());
        let filtered = !kept.iter().any(|kept| matches!(kept, Kept::Calls(_)));
        apart(|| {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(b"hello").unwrap();
        });
        if filtered {
            assert_eq!(error_of(Command::new("true").spawn()), Some(libc::ENOSYS));
            assert_eq!(error_of(UdpSocket::bind("127.0.0.1:0")), Some(libc::ENOSYS));
            assert_eq!(error_of(TcpListener::bind("127.0.0.1:0")), Some(libc::ENOSYS));
            assert_eq!(error_of(TcpStream::connect(address)), Some(libc::ENOSYS));
            for (name, call) in DENIED {
                // SAFETY: the filter answers before the kernel looks at an argument; null pointers and the number of no
                // file would be refused otherwise.
                let result = unsafe { libc::syscall(*call, -1, 0, 0, 0, 0, 0) };
                assert_eq!(error_of(crate::checked(result as libc::c_int)), Some(libc::ENOSYS), "{name}");
            }
            assert_eq!(code_page().err(), Some(libc::ENOSYS));
        }
        filtered
    });
    assert_eq!(client.join().unwrap(), "hello");
    if !filtered {
        println!("skipped in part: this kernel takes no filter of system calls");
    }
}

#[test]
fn what_a_sandbox_around_it_refuses_is_told_and_the_rest_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("inside"), "in").unwrap();
    let told = apart(|| {
        let kept = only_read(folder.path());
        // The first filter refuses the calls that the second one needs.
        let again = only_read(folder.path());
        assert_eq!(fs::read_to_string(folder.path().join("inside")).unwrap(), "in");
        kept.is_empty().then(|| again.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
    });
    let Some(told) = told else { return println!("skipped: this host refuses some of it from the start") };
    let words = [
        "its capabilities stay (",
        "programs that it starts",
        "no Landlock (",
        "no filter of system calls (",
    ];
    for words in words {
        assert!(told.contains(words), "{told}");
    }
}

/// Whether memory of code can be had.
fn code_page() -> Result<(), i32> {
    let code = libc::PROT_READ | libc::PROT_EXEC;
    // SAFETY: a new mapping of no file touches no memory of ours; where there is one it is never used.
    let page = unsafe {
        libc::mmap(std::ptr::null_mut(), 4_096, code, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
    };
    if page == libc::MAP_FAILED {
        Err(io::Error::last_os_error().raw_os_error().unwrap_or_default())
    } else {
        Ok(())
    }
}

#[test]
fn no_program_gets_more_rights_than_the_thread_that_starts_it() {
    let told = apart(|| {
        deny_new_privileges().unwrap();
        let output = Command::new("cat").arg("/proc/self/status").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    });
    assert!(told.contains("NoNewPrivs:\t1"), "{told}");
}

/// What somebody who has taken over a server would ask for.
const DENIED: &[(&str, libc::c_long)] = &[
    ("bpf", libc::SYS_bpf),
    ("capset", libc::SYS_capset),
    ("chroot", libc::SYS_chroot),
    ("clone3", libc::SYS_clone3),
    ("connect", libc::SYS_connect),
    ("delete_module", libc::SYS_delete_module),
    ("execve", libc::SYS_execve),
    ("execveat", libc::SYS_execveat),
    ("finit_module", libc::SYS_finit_module),
    ("init_module", libc::SYS_init_module),
    ("io_uring_setup", libc::SYS_io_uring_setup),
    ("keyctl", libc::SYS_keyctl),
    ("kill", libc::SYS_kill),
    ("memfd_create", libc::SYS_memfd_create),
    ("mount", libc::SYS_mount),
    ("open_by_handle_at", libc::SYS_open_by_handle_at),
    ("perf_event_open", libc::SYS_perf_event_open),
    ("pidfd_getfd", libc::SYS_pidfd_getfd),
    ("process_vm_writev", libc::SYS_process_vm_writev),
    ("ptrace", libc::SYS_ptrace),
    ("seccomp", libc::SYS_seccomp),
    ("setns", libc::SYS_setns),
    ("socket", libc::SYS_socket),
    ("truncate", libc::SYS_truncate),
    ("unshare", libc::SYS_unshare),
    ("userfaultfd", libc::SYS_userfaultfd),
];
