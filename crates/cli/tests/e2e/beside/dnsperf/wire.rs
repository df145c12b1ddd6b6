//! The queries on the wire: those of ours are the original's, octet by octet, but for their IDs.

use std::net::UdpSocket;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::{original, write_files};
use crate::support::{DNSDYNO, Workplace};

/// Each flag that changes a query, and files with each kind of name and type.
const FLAGS: &[&str] = &[
    "-d q.txt",
    "-d names.txt",
    "-d types.txt",
    "-d mixed.txt",
    "-d q.txt -e",
    "-d q.txt -D",
    "-d names.txt -e -D",
    "-d q.txt -E 10:0011223344556677",
    "-d q.txt -E 65546:00 -D",
    "-d types.txt -E 65001:ab",
    "-d q.bin -B",
];

/// The same with a signature.
const SIGNED: &[&str] = &[
    "-y key:c2VjcmU=",
    "-y hmac-md5:Key.Example.:c2VjcmU=",
    "-y hmac-sha1:key:c2VjcmU=",
    "-y hmac-sha224:key:c2VjcmU=",
    "-y hmac-sha256:key:c2VjcmU= -e",
    "-y hmac-sha384:key:c2VjcmU= -D",
    "-y hmac-sha512:key:c2VjcmU= -E 10:0011223344556677",
];

/// The messages that a program sends, in their order.
fn sent_by(program: &Path, first: &[&str], work: &Workplace, flags: &str) -> Vec<Vec<u8>> {
    let sink = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = sink.local_addr().unwrap().port().to_string();
    sink.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            let (mut messages, mut buffer) = (Vec::new(), [0; 4_096]);
            loop {
                // What was sent before the end is in the socket by then.
                let was_over = is_over.load(Ordering::Acquire);
                match sink.recv(&mut buffer) {
                    Ok(length) => messages.push(buffer[..length].to_vec()),
                    Err(_) if was_over => return messages,
                    Err(_) => {}
                }
            }
        });
        let ran = Command::new("timeout")
            .arg("30")
            .arg(program)
            .args(first)
            .args(["-s", "127.0.0.1", "-p", &port, "-t", ".1"])
            .args(flags.split(' '))
            .current_dir(work.path(""))
            .output()
            .unwrap();
        is_over.store(true, Ordering::Release);
        assert!(ran.status.success(), "{flags}: {}", String::from_utf8_lossy(&ran.stderr));
        receiver.join().unwrap()
    })
}

/// The messages of ours and of the original, each changed by `mask`; `None` without an original.
fn both(work: &Workplace, flags: &str, mask: fn(&mut [u8])) -> Option<[Vec<Vec<u8>>; 2]> {
    let original = original()?;
    let mut sent = [
        sent_by(Path::new(DNSDYNO), &["dnsperf", "-O", "record=off"], work, flags),
        sent_by(&original, &[], work, flags),
    ];
    sent.iter_mut().flatten().for_each(|message| mask(message));
    Some(sent)
}

fn without_id(message: &mut [u8]) {
    message[..2].fill(0);
}

/// Without ID, time and what depends on the time: a TSIG record ends with time (6), fudge (2), length of the MAC (2),
/// MAC, ID (2), error (2), length of other data (2).
fn without_id_and_time(message: &mut [u8]) {
    without_id(message);
    let end = message.len();
    let is_signature = |length: &usize| {
        let start = end.checked_sub(length + 16)?;
        (message[start + 6..start + 10] == [1, 44, 0, *length as u8]).then_some(start)
    };
    let start = [16, 20, 28, 32, 48, 64].iter().find_map(is_signature).expect("a signature");
    message[start..start + 6].fill(0);
    message[start + 10..end - 4].fill(0);
}

#[test]
fn queries_are_those_of_dnsperf_octet_by_octet() {
    let work = Workplace::new();
    write_files(&work);
    for flags in FLAGS {
        let Some([ours, originals]) = both(&work, flags, without_id) else { return };
        assert!(!ours.is_empty());
        assert_eq!(ours, originals, "{flags}");
    }
}

#[test]
fn signed_queries_are_those_of_dnsperf_but_for_their_time() {
    let work = Workplace::new();
    write_files(&work);
    for flags in SIGNED {
        let flags = format!("-d q.txt {flags}");
        let Some([ours, originals]) = both(&work, &flags, without_id_and_time) else { return };
        assert_eq!((ours.len(), &ours), (10, &originals), "{flags}");
    }
}
