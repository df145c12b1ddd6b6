//! The options that dnsperf and resperf have in common: where the queries go to, over which transport, and what each
//! message carries. They are read in steps, in the order in which the originals find mistakes, because a program checks
//! options of its own between them.

use std::fs::{self, File};
use std::net::{IpAddr, SocketAddr};

use dnsdyno_plan::{Draft, HttpMethod, TransportKind};
use dnsdyno_queries::{QueriesFormat, TsigText};

use crate::options::{Given, Refusal};
use crate::server::{self, Family};
use crate::signing;
use crate::suppress::Suppress;
use crate::uri::Uri;
use crate::values::Value;

/// The transport, and what HTTPS needs.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    pub(crate) suppress: Suppress,
    pub(crate) mode: TransportKind,
    uri: Uri,
    uses_post: bool,
    sni: Option<String>,
    pub(crate) resumes_sessions: bool,
    key_log: Option<String>,
    queries_each: Option<u32>,
    buffer_kb: Option<u32>,
}

/// The addresses of both sides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Addresses {
    pub(crate) server: SocketAddr,
    local: Option<IpAddr>,
    /// Of the first socket; 0 = any.
    pub(crate) local_port: u16,
}

/// The file of the queries, and what each message carries beside its question.
#[derive(Clone, Debug)]
pub(crate) struct Messages {
    pub(crate) file: Option<String>,
    tsig: Option<TsigText>,
    edns_option: Option<String>,
    has_edns: bool,
    dnssec_ok: bool,
}

impl Network {
    /// Reads them; `letter` is the option of the transport.
    pub(crate) fn read(given: &Given, letter: char) -> Result<Network, Refusal> {
        let long = |name| given.get_long(name).and_then(Value::text);
        let suppress = long("suppress").map_or(Ok(Suppress::default()), Suppress::read)?;
        let mode = match given.get(letter).and_then(Value::text) {
            None | Some("udp") => TransportKind::Udp,
            Some("tcp") => TransportKind::Tcp,
            Some("tls" | "dot") => TransportKind::Dot,
            Some("doh") => TransportKind::Doh,
            Some(_) => return Err(Refusal::Warned("invalid socket mode".into())),
        };
        let warned = |what: &str| Refusal::Warned(format!("invalid DNS-over-HTTPS {what}"));
        let uri = Uri::read(long("doh-uri").unwrap_or(USUAL_URI)).ok_or_else(|| warned("URI"))?;
        let uses_post = match long("doh-method").unwrap_or("GET") {
            "GET" => false,
            "POST" => true,
            _ => return Err(warned("method")),
        };
        let sni = long("tls-sni").map(str::to_owned);
        let resumes_sessions = given.has_long("tls-session-resumption");
        let is_logged = given.has_long("tls-sslkeylogfile");
        let key_log = std::env::var(KEY_LOG).ok().filter(|path| is_logged && !path.is_empty());
        let queries_each = given.get_long("num-queries-per-conn").and_then(Value::number);
        let buffer_kb = given.get('b').and_then(Value::number);
        Ok(Network {
            suppress,
            mode,
            uri,
            uses_post,
            sni,
            resumes_sessions,
            key_log,
            queries_each,
            buffer_kb,
        })
    }

    /// Puts them into the draft of a run with so many sockets or connections.
    pub(crate) fn apply(&self, clients: u32, draft: &mut Draft) {
        let (mode, is_doh) = (self.mode, self.mode == TransportKind::Doh);
        draft.transport = Some(mode);
        draft.clients = Some(clients as usize);
        draft.queries_per_connection = self.queries_each.filter(|_| mode.connects());
        let buffer_bytes = |kb: u32| (u64::from(kb) * 1024).min(LARGEST_BUFFER_BYTES).to_string();
        draft.receive_buffer = self.buffer_kb.map(buffer_bytes);
        draft.send_buffer.clone_from(&draft.receive_buffer);
        // Their sockets are not connected.
        draft.any_source = (mode == TransportKind::Udp).then_some(true);
        if mode.is_encrypted() {
            // The originals accept any certificate.
            (draft.insecure, draft.resumption) = (Some(true), Some(self.resumes_sessions));
            draft.tls_key_log.clone_from(&self.key_log);
            // Over HTTPS it is the authority, too.
            draft.sni = self.sni.clone().or(is_doh.then(|| self.uri.host.clone()));
        }
        if is_doh {
            draft.http_method = Some(if self.uses_post { HttpMethod::Post } else { HttpMethod::Get });
            draft.http_path = Some(self.uri.path.clone());
        }
    }
}

impl Addresses {
    /// Reads them.
    pub(crate) fn read(given: &Given, mode: TransportKind) -> Result<Addresses, Refusal> {
        let text = |letter| given.get(letter).and_then(Value::text);
        let port = |letter| given.get(letter).and_then(Value::number).unwrap_or(0) as u16;
        let family = Family::read(text('f').unwrap_or("any"))?;
        let server_port = Some(port('p')).filter(|port| *port > 0).unwrap_or(mode.default_port());
        let server = server::server(family, text('s').unwrap_or(USUAL_SERVER), server_port)?;
        Ok(Addresses { server, local: server::local(text('a'))?, local_port: port('x') })
    }

    /// Finds out whether the local addresses of so many sockets can be used.
    pub(crate) fn check(&self, mode: TransportKind, clients: u32) -> Result<(), Refusal> {
        server::check_local(self.server, self.local, self.local_port, clients, mode == TransportKind::Udp)
    }

    /// Puts them into the draft of a run with so many sockets or connections. The port of a connection cannot be used
    /// again at once, so the system chooses those.
    pub(crate) fn apply(&self, mode: TransportKind, clients: u32, draft: &mut Draft) {
        draft.server = Some(server::with_zone(self.server));
        draft.port = Some(self.server.port());
        draft.local_address = self.local.map(|address| address.to_string());
        let first = u64::from(self.local_port);
        let is_chosen = first > 0 && !mode.connects();
        // More than there are is told by the check, as the original tells it when it opens its sockets.
        let last = (first + u64::from(clients)).saturating_sub(1);
        draft.local_ports = is_chosen.then(|| format!("{first}..{last}"));
    }
}

impl Messages {
    /// Reads them, and sees whether the file can be read.
    pub(crate) fn read(given: &Given) -> Result<Messages, Refusal> {
        let text = |letter| given.get(letter).and_then(Value::text);
        let file = text('d').map(str::to_owned);
        if let Some(name) = &file
            && !is_readable(name)
        {
            return Err(Refusal::Fatal(format!("unable to open file: {name}")));
        }
        let tsig = text('y').map(signing::tsig).transpose()?.map(TsigText::from);
        let edns_option = text('E').map(signing::edns_option).transpose()?;
        let dnssec_ok = given.has('D');
        let has_edns = given.has('e') || dnssec_ok || edns_option.is_some();
        Ok(Messages { file, tsig, edns_option, has_edns, dnssec_ok })
    }

    /// Puts them into a draft.
    pub(crate) fn apply(&self, draft: &mut Draft) {
        draft.queries = Some(match self.file.as_deref() {
            None => "-".to_owned(),
            // A file of that name: alone it would be standard input.
            Some("-") => "./-".to_owned(),
            Some(name) => name.to_owned(),
        });
        draft.queries_format = Some(QueriesFormat::Dnsperf);
        (draft.lenient, draft.keep_order) = (Some(true), Some(true));
        draft.edns_size = self.has_edns.then_some(EDNS_SIZE);
        draft.dnssec_ok = self.dnssec_ok.then_some(true);
        draft.edns_option = self.edns_option.clone().map(|option| vec![option]);
        draft.tsig.clone_from(&self.tsig);
        // The originals do not look at the signatures of answers.
        draft.tsig_verify = self.tsig.as_ref().map(|_| false);
    }
}

/// The value of `-O record`.
pub(crate) fn recorded(given: &Given) -> Result<bool, Refusal> {
    match given.get_long("record").and_then(Value::text) {
        None | Some("on") => Ok(true),
        Some("off") => Ok(false),
        Some(text) => Err(Refusal::Usage(format!("invalid on|off: {text}"))),
    }
}

/// Whether a file can be opened. A pipe is not opened for that: its writer would see it closed, and one without a
/// writer would be waited for.
pub(crate) fn is_readable(name: &str) -> bool {
    fs::metadata(name).is_ok_and(|metadata| match metadata.is_file() {
        true => File::open(name).is_ok(),
        false => !metadata.is_dir(),
    })
}

/// The variable that names the file of TLS secrets.
const KEY_LOG: &str = "SSLKEYLOGFILE";

const USUAL_SERVER: &str = "127.0.0.1";
const USUAL_URI: &str = "https://localhost/dns-query";

/// The payload size of the originals.
const EDNS_SIZE: u16 = 4_096;

/// The limit of our plans.
const LARGEST_BUFFER_BYTES: u64 = 1 << 30;
