//! The secrets of TLS sessions in the format of NSS (`SSLKEYLOGFILE`), with which Wireshark decrypts a capture of the
//! run.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustls::KeyLog;

/// A file of secrets, which its owner alone may read. Several runs may write to one.
#[derive(Debug)]
pub(super) struct KeyLogFile(File);

impl KeyLogFile {
    /// Opens the file at its end, or makes it.
    pub(super) fn open(path: &Path) -> io::Result<KeyLogFile> {
        OpenOptions::new().append(true).create(true).mode(0o600).open(path).map(KeyLogFile)
    }
}

impl KeyLog for KeyLogFile {
    /// Writes a line at once, so that those of several workers do not mix. One that cannot be written is left out: the
    /// load does not wait for a disk.
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let _ = (&self.0).write_all(line(label, client_random, secret).as_bytes());
    }
}

/// `CLIENT_TRAFFIC_SECRET_0 <client random> <secret>`
fn line(label: &str, client_random: &[u8], secret: &[u8]) -> String {
    let mut line = label.to_owned();
    for octets in [client_random, secret] {
        line.push(' ');
        for octet in octets {
            // Into a string, which takes everything.
            let _ = write!(line, "{octet:02x}");
        }
    }
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn secrets_are_appended_line_by_line_for_their_owner_alone() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let path = folder.path().join("keys.txt");
        for secret in [[1, 0xab], [2, 0xcd]] {
            KeyLogFile::open(&path).expect("a file").log("CLIENT_RANDOM", &[0, 255], &secret);
        }
        let text = std::fs::read_to_string(&path).expect("the file");
        assert_eq!(text, "CLIENT_RANDOM 00ff 01ab\nCLIENT_RANDOM 00ff 02cd\n");
        let mode = std::fs::metadata(&path).expect("the file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(KeyLogFile::open(folder.path()).is_err());
    }
}
