//! Shared code of the tests: simulated runs, and an HTTP client that sends exactly the given bytes.
#![allow(dead_code)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use dnsdyno_plan::Draft;
use dnsdyno_runner::{Control, FinishedRun, Keep, RunJob, Runner, SimConfig, SimulatedRunner};

/// A short run that overloads a server for 3,000 queries per second, changed by the test.
fn draft(change: impl FnOnce(&mut Draft)) -> Draft {
    let mut draft = Draft {
        server: Some("127.0.0.1".into()),
        ask: Some(vec!["www.example A".into()]),
        rate: Some("4k".into()),
        duration: Some("500ms".into()),
        timeout: Some("100ms".into()),
        interval: Some("100ms".into()),
        seed: Some("7".into()),
        ..Draft::default()
    };
    change(&mut draft);
    draft
}

/// Writes the record of a simulated run to a folder.
pub(crate) fn simulated(folder: &Path, change: impl FnOnce(&mut Draft)) -> FinishedRun {
    let server = SimConfig { service_ns: 1_000_000_000 / 3_000, queue: 5, ..SimConfig::default() };
    let mut runner = SimulatedRunner { server };
    let plans = runner.validate(&draft(change)).unwrap();
    let job = RunJob::new(&plans, Keep::Folder(folder.to_owned()));
    runner.run(&job, &Control::default(), &mut ()).unwrap()
}

/// A response.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Got {
    /// The value of a header field.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// Sends a request as it is, and reads the response to its end.
pub(crate) fn get(address: SocketAddr, request: &str) -> Got {
    let text = String::from_utf8_lossy(&exchange(address, request.as_bytes())).into_owned();
    let (head, body) =
        text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no response to {request:?}: {text:?}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
    Got { status, head: head.to_owned(), body: body.to_owned() }
}

/// Sends bytes, and reads until the server closes the connection.
pub(crate) fn exchange(address: SocketAddr, request: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONGEST_WAIT)).unwrap();
    // A server that refuses a request may close the connection before it has read all of it.
    let _ = stream.write_all(request);
    let mut response = Vec::new();
    let _ = stream.read_to_end(&mut response);
    response
}

/// Longer than any response takes, so that a test of a server that does not answer ends.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
