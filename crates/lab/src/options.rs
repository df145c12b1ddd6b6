//! What a caller may choose about a server: the zone, the address, threads, buffers, and the values that its
//! template leaves open.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use domain::base::Name;

use crate::{Cancel, LabError, Place};

/// How to start a server. `ServerOptions::default()` serves [`Zone::example`] on 127.0.0.1 with one thread.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The zone to serve; with a `stub`, only its origin is used.
    pub zone: Zone,
    /// The local address to listen on. The port is chosen.
    pub address: IpAddr,
    /// The network namespace and the limits of its process.
    pub place: Place,
    /// Worker threads or processes; 0 counts as 1.
    pub threads: u32,
    /// The UDP receive buffer asked of the kernel, where the server has a setting for it (NSD and Unbound do).
    /// Without privileges the kernel caps it at `net.core.rmem_max`.
    pub receive_buffer_bytes: u32,
    /// Resolve the zone's names through the server at this address, instead of serving the zone. Only for a
    /// resolver; that server must be answering already.
    pub stub: Option<SocketAddr>,
    /// Resolve each name from this root down, instead of serving the zone, of which then only the origin is used: `.`
    /// is there in each hierarchy. Only for a resolver that has the part; its servers must be answering already.
    pub hierarchy: Option<Hierarchy>,
    /// The folder in which that of the server is made; `None` = that of temporary files.
    pub within: Option<PathBuf>,
    /// How long the server may take until it answers.
    pub ready_within: Duration,
    /// Calls the start off, also that of a restart.
    pub cancel: Cancel,
    /// Names of further parts of the template to put in.
    pub parts: Vec<String>,
    /// Values instead of the template's `[defaults]`, by name.
    pub values: BTreeMap<String, String>,
    /// Parameters of the server, by their names in its manual, which are set in the configuration that the template
    /// gives.
    pub settings: BTreeMap<String, String>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            zone: Zone::example(),
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            place: Place::default(),
            threads: 1,
            receive_buffer_bytes: RECEIVE_BUFFER_BYTES,
            stub: None,
            hierarchy: None,
            within: None,
            ready_within: READY_WITHIN,
            cancel: Cancel::default(),
            parts: Vec::new(),
            values: BTreeMap::new(),
            settings: BTreeMap::new(),
        }
    }
}

/// A root of its own, from which a resolver resolves names, such as that of `dnsdyno world`. The resolver must be where
/// nothing else can be reached.
#[derive(Debug, Clone)]
pub struct Hierarchy {
    /// The file with the names and addresses of the root's servers.
    pub hints: PathBuf,
    /// The file with the DS and DNSKEY records of the root's key; `None` = the resolver does not validate.
    pub anchor: Option<PathBuf>,
}

/// A zone: its origin, and its master file as text or as a file of the caller's.
#[derive(Debug, Clone)]
pub struct Zone {
    origin: Name<Vec<u8>>,
    pub(crate) content: ZoneContent,
}

/// Where a zone's records are.
#[derive(Debug, Clone)]
pub(crate) enum ZoneContent {
    /// Written to the server's folder.
    Text(String),
    /// Read in place, never written.
    File(PathBuf),
}

impl Zone {
    /// The zone of the testbed, `dyno.example.`: a hundred hosts, the usual kinds of records, a wildcard.
    /// [`example_queries`] asks its names.
    pub fn example() -> Self {
        let text = include_str!("../../../testbed/zones/example.zone").to_owned();
        let origin = Name::from_str(EXAMPLE_ORIGIN).expect("the origin of our own zone is a name");
        Self { origin, content: ZoneContent::Text(text) }
    }

    /// A zone from the text of its master file.
    ///
    /// # Errors
    /// [`LabError::Origin`] when `origin` is not a domain name. The text is the server's to judge.
    pub fn from_text(origin: &str, text: impl Into<String>) -> Result<Self, LabError> {
        Ok(Self { origin: parse_origin(origin)?, content: ZoneContent::Text(text.into()) })
    }

    /// A zone whose master file is read where it is; for zones too large to copy.
    ///
    /// # Errors
    /// [`LabError::Origin`] when `origin` is not a domain name, [`LabError::Io`] when there is no such file.
    pub fn from_file(origin: &str, path: &Path) -> Result<Self, LabError> {
        let origin = parse_origin(origin)?;
        let path = path.canonicalize().map_err(LabError::io(format!("find zone file {}", path.display())))?;
        Ok(Self { origin, content: ZoneContent::File(path) })
    }

    /// The zone's origin as text, with the final dot.
    pub fn origin(&self) -> String {
        self.origin.fmt_with_dot().to_string()
    }

    pub(crate) fn origin_name(&self) -> &Name<Vec<u8>> {
        &self.origin
    }
}

/// Queries for [`Zone::example`] in dnsperf's format, one `name type` a line; some ask for a name that is not there.
pub fn example_queries() -> &'static str {
    include_str!("../../../testbed/queries/example.txt")
}

fn parse_origin(origin: &str) -> Result<Name<Vec<u8>>, LabError> {
    Name::from_str(origin)
        .map_err(|error| LabError::Origin { origin: origin.to_owned(), reason: error.to_string() })
}

const EXAMPLE_ORIGIN: &str = "dyno.example.";

/// Holds some 5,000 small datagrams with the kernel's bookkeeping: a stall of 50 ms at 100,000 a second.
const RECEIVE_BUFFER_BYTES: u32 = 4 << 20;

/// A server with a small zone is up in well under a second; the rest is for a busy CI host.
const READY_WITHIN: Duration = Duration::from_secs(15);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_has_its_final_dot_whether_given_so_or_not() {
        for given in ["dyno.example", "dyno.example."] {
            assert_eq!(Zone::from_text(given, "").expect("a name").origin(), "dyno.example.");
        }
        assert_eq!(Zone::from_text(".", "").expect("the root").origin(), ".");
    }

    #[test]
    fn an_origin_that_is_no_name_is_refused_with_the_text_given() {
        let long = "a".repeat(64);
        let error = Zone::from_text(&long, "").expect_err("a label of 64 bytes");
        assert!(error.to_string().contains(&long), "{error}");
    }

    #[test]
    fn a_zone_file_that_does_not_exist_is_named_in_the_error() {
        let error = Zone::from_file("example.", Path::new("/no/such.zone")).expect_err("no such file");
        assert!(error.to_string().contains("/no/such.zone"), "{error}");
    }
}
