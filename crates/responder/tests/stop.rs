//! Stopping leaves nothing behind. Alone in its process, because it counts its threads.

mod common;

use std::time::{Duration, Instant};

use dnsdyno_responder::{Config, Responder};

fn thread_count() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// Join returns a moment before the kernel takes a thread that has ended off its list.
fn wait_until_gone(thread_count_before: usize) {
    let start = Instant::now();
    while thread_count() > thread_count_before && start.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn stopping_and_dropping_leave_no_thread_no_socket_and_a_free_port() {
    let before = (thread_count(), open_files());
    for is_dropped in [false, true] {
        let running = common::start(|config| config.threads = 3);
        let address = running.address();
        common::ask_all(&running, 4, 100);
        let connection = std::net::TcpStream::connect(address).unwrap();
        // Three of UDP, three of TCP.
        assert_eq!(thread_count(), before.0 + 6);
        let start = Instant::now();
        if is_dropped {
            drop(running)
        } else {
            drop(running.stop())
        }
        assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
        drop(connection);
        wait_until_gone(before.0);
        assert_eq!((thread_count(), open_files()), before);
        drop(Responder::start(Config { listen: address, ..Config::default() }).unwrap());
    }
}
