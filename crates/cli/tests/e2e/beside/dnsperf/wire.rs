//! The queries on the wire: those of ours are the original's, octet by octet, but for their IDs.

use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use dnsdyno_wire::HEADER_LEN;

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

/// Names with escapes, and the octets that dnsperf 2.16 sends for them. Before 2.15 it read `\DDD` to base 7.
pub(super) const ESCAPES: [(&str, &[u8]); 8] = [
    (r"\000\255.x", b"\x02\x00\xff\x01x\0"),
    (r"\009", b"\x01\x09\0"),
    (r"\046a.x", b"\x02.a\x01x\0"),
    (r"\092\.x", b"\x03\\.x\0"),
    (r"\200\249\250.x", b"\x03\xc8\xf9\xfa\x01x\0"),
    (r"a\001\001a.\\", b"\x04a\x01\x01a\x01\\\0"),
    (r"\2555", b"\x02\xff5\0"),
    (r"\255", b"\x01\xff\0"),
];

/// Those that it refuses.
pub(super) const BAD_ESCAPES: [&str; 10] =
    [r"\256", r"\260.x", r"\299", r"a\256b.x", r"\300", r"\3000", r"\399.x", r"\400", r"\999", r"a.\999.b"];

/// A zone and a command of an update, and what dnsperf 2.16 sends of it after header and question; nothing where it
/// refuses it.
pub(super) const UPDATES: [(&str, &str, Option<&[u8]>); 12] = [
    ("example.com", r"delete a\255b A", Some(b"\x03a\xffb\xc0\x0c\0\x01\0\xff\0\0\0\0\0\0")),
    ("example.com", r"delete a\256b A", None),
    ("example.com", r"delete a\25x A", None),
    ("example.com", r"delete a\3x A", None),
    ("example.com", r"prohibit a\300b", None),
    ("example.com", r"require a\999.example.com. A", None),
    (
        "example.com",
        r"add x 9 CNAME a\255b",
        Some(b"\x01x\xc0\x0c\0\x05\0\x01\0\0\0\x09\0\x06\x03a\xffb\xc0\x0c"),
    ),
    ("example.com", r"add x 9 CNAME a\256b", None),
    ("example.com", "add x 9 TXT \"a\\255b\"", Some(b"\x01x\xc0\x0c\0\x10\0\x01\0\0\0\x09\0\x04\x03a\xffb")),
    ("example.com", "add x 9 TXT \"a\\256b\"", None),
    ("ex\\256ample.com", "delete x A", None),
    ("e\\255ample.com", "delete x A", Some(b"\x01x\xc0\x0c\0\x01\0\xff\0\0\0\0\0\0")),
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
fn escapes_are_the_octets_of_dnsperf_2_16() {
    let work = Workplace::new();
    write_files(&work);
    let mut programs = vec![(PathBuf::from(DNSDYNO), vec!["dnsperf", "-O", "record=off"])];
    // The installed one may be older.
    programs.extend(std::env::var_os("DNSDYNO_ORIGINAL").map(|path| (path.into(), Vec::new())));
    for (program, first) in programs {
        let sent = |flags: &str| sent_by(&program, &first, &work, flags);
        let name = |message: &Vec<u8>| message[HEADER_LEN..message.len() - 4].to_vec();
        let names: Vec<_> = sent("-d escapes.txt").iter().map(name).collect();
        assert_eq!(names, ESCAPES.map(|(_, octets)| octets), "{program:?}");
        let names: Vec<_> = sent("-d badescapes.txt").iter().map(name).collect();
        assert_eq!(names, [b"\x01\xff\0"], "{program:?}");
        // The question is the zone with the type SOA, and each zone here has 13 octets on the wire.
        let records = |message: Vec<u8>| message[HEADER_LEN + 17..].to_vec();
        let updates: Vec<_> = sent("-u -d updateescapes.txt").into_iter().map(records).collect();
        let expected: Vec<_> = UPDATES.into_iter().filter_map(|(_, _, octets)| octets).collect();
        assert_eq!(updates, expected, "{program:?}");
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
