//! Entry point for `fuzz/`: what another host may print as its files. It returns, whatever the bytes are.

use dnsdyno_measure::Side;

use super::protocol;
use crate::family::family;
use crate::files::{FileReader, Files};
use crate::host::{HostSource, Within};
use crate::process::ProcessSource;
use crate::sockets::Sockets;
use crate::source::{ReadError, Reading, Source};

/// What a host and the processes of a server read from an answer, twice each.
pub fn host_files(answer: &[u8]) -> Vec<Reading> {
    let answer = Answer(String::from_utf8_lossy(answer).into_owned());
    let mut sources: Vec<Box<dyn Source>> = Vec::new();
    for within in [Within::Own, Within::Of(7)] {
        let host = HostSource::new(Box::new(answer.clone()), within, Side::Server, "host".to_owned());
        sources.extend(host.ok().map(|host| Box::new(host) as _));
    }
    let pids = family(&mut answer.clone(), &mut Sockets::Tables("/proc/7/net".to_owned()), 7);
    let pids = pids.unwrap_or_else(|_| vec![7]);
    let process = ProcessSource::new(Box::new(answer), &pids, " at host");
    sources.extend(process.ok().map(|process| Box::new(process) as _));
    sources.iter_mut().flat_map(|source| [source.read(), source.read()]).filter_map(Result::ok).collect()
}

/// Files that are there, whenever they are asked for.
#[derive(Clone)]
struct Answer(String);

impl FileReader for Answer {
    fn read(&mut self, paths: &[String]) -> Result<Files, ReadError> {
        Ok(protocol::files(&self.0, paths))
    }
}
