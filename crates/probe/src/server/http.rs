//! Asks a server over HTTP: one request at a time, with a bound on the time and on the size of the answer.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dnsdyno_text::secret::without_credentials;
use dnsdyno_text::shown;
use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};
use ureq::{Agent, Error};

use crate::source::{OpenError, ReadError};

/// A server that is asked over HTTP.
pub(super) struct Http {
    agent: Agent,
    /// `http://127.0.0.1:8053`, without a path.
    base: String,
    /// The name of a header and what proves who asks.
    key: Option<(&'static str, String)>,
}

/// Why there is no page.
#[derive(Debug)]
pub(super) enum NoPage {
    /// The server does not know it: status 404.
    Unknown(ReadError),
    /// Anything else.
    Other(ReadError),
}

impl From<NoPage> for ReadError {
    fn from(error: NoPage) -> ReadError {
        match error {
            NoPage::Unknown(error) | NoPage::Other(error) => error,
        }
    }
}

impl From<ReadError> for NoPage {
    fn from(error: ReadError) -> NoPage {
        NoPage::Other(error)
    }
}

/// An answer with status 200.
pub(super) struct Answer {
    /// The program that answered, as it says.
    pub(super) program: String,
    pub(super) body: String,
}

impl Http {
    /// Whatever the path of a URL is: who asks for a certain page says so.
    pub(super) fn new(url: &str, key: Option<(&'static str, String)>) -> Result<Http, OpenError> {
        let (base, _) = split(url);
        if base.contains('@') {
            return Err(OpenError::new(
                "leave user and password out of the URL, and put a key into keys=FILE",
            ));
        }
        let config = Agent::config_builder()
            .timeout_global(Some(LONGEST_EXCHANGE))
            .http_status_as_error(false)
            // A redirection could lead to another host, with the key.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .max_response_header_size(LONGEST_HEADER_BYTES)
            .user_agent("dnsdyno");
        let config = match url.starts_with("https:") {
            true => config.tls_config(tls()?),
            false => config,
        };
        Ok(Http { agent: config.build().into(), base: base.to_owned(), key })
    }

    /// With the key in a file, sent in a header.
    pub(super) fn with_key(url: &str, header: &'static str, file: Option<&Path>) -> Result<Http, OpenError> {
        let read = |path: &Path| {
            let text = fs::read_to_string(path).map_err(|error| error.to_string());
            let text = text.map(|text| text.trim().to_owned());
            // Everything else could not be sent in a header.
            let is_key =
                |text: &String| !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_graphic());
            text.and_then(|text| {
                is_key(&text).then_some(text).ok_or_else(|| "there is no key in it".to_owned())
            })
            .map_err(|why| OpenError::new(format!("the file {} cannot be used: {why}", path.display())))
        };
        Http::new(url, file.map(read).transpose()?.map(|key| (header, key)))
    }

    /// Gets a page.
    ///
    /// # Errors
    /// There is none, for a reason that the user can act on.
    pub(super) fn get(&self, path: &str, accept: &str) -> Result<Answer, ReadError> {
        self.find(path, accept).map_err(ReadError::from)
    }

    /// The same, for a page that not every version of a server has.
    ///
    /// # Errors
    /// As for [`Http::get`].
    pub(super) fn find(&self, path: &str, accept: &str) -> Result<Answer, NoPage> {
        let place = format!("{}{path}", self.base);
        let shown_place = without_credentials(&place);
        let of = |error: &Error| ReadError(format!("{shown_place}: {}", reason(error)));
        let mut request = self.agent.get(&place).header("Accept", accept);
        if let Some((name, key)) = &self.key {
            request = request.header(*name, key);
        }
        let mut response = request.call().map_err(|error| of(&error))?;
        let program =
            response.headers().get("server").and_then(|name| name.to_str().ok()).unwrap_or_default();
        let program = shown(program, LONGEST_NAME).into_owned();
        let status = response.status().as_u16();
        if status != 200 {
            let reason = refusal(status, &program, self.key.is_some());
            let error = ReadError(format!("{shown_place}: {reason}"));
            return Err(if status == 404 { NoPage::Unknown(error) } else { NoPage::Other(error) });
        }
        let body =
            response.body_mut().with_config().limit(LONGEST_BODY_BYTES).lossy_utf8(true).read_to_string();
        Ok(Answer { program, body: body.map_err(|error| of(&error))? })
    }
}

impl Answer {
    /// For an answer that is not what the kind of server would send: who is there instead.
    pub(super) fn is_not(&self, expected: &str) -> ReadError {
        let begins = shown(self.body.trim_start(), LONGEST_NAME);
        let who = match self.program.as_str() {
            "" => format!("what answers there sends {begins:?}"),
            program => format!("{program:?} answers there{}", hint(program)),
        };
        ReadError(format!("the answer is not {expected}: {who}"))
    }
}

/// `http://host:1/path` as the part before its path, and the path.
pub(super) fn split(url: &str) -> (&str, &str) {
    let begins = url.find("://").map_or(0, |at| at + 3);
    url.split_at(url[begins..].find('/').map_or(url.len(), |at| begins + at))
}

fn reason(error: &Error) -> String {
    match error {
        Error::Timeout(_) => format!("no answer within {} s", LONGEST_EXCHANGE.as_secs()),
        Error::BodyExceedsLimit(_) => format!("the answer is longer than {} MiB", LONGEST_BODY_BYTES >> 20),
        Error::HostNotFound => "this host has no address".to_owned(),
        Error::Io(error) if error.kind() == ErrorKind::ConnectionRefused => NOTHING.to_owned(),
        Error::ConnectionFailed => NOTHING.to_owned(),
        Error::Io(error) => error.to_string(),
        Error::Protocol(_) => "what answers there does not speak HTTP, or closed the connection".to_owned(),
        error => shown(&error.to_string(), LONGEST_REASON).into_owned(),
    }
}

/// What a status other than 200 means to the user.
fn refusal(status: u16, program: &str, has_key: bool) -> String {
    let who = if program.is_empty() { String::new() } else { format!(" of {program:?}{}", hint(program)) };
    let advice = match status {
        300..=399 => "; give the address to which it leads",
        401 | 403 if has_key => "; the key is not that of this server, or this host may not ask",
        401 | 403 => "; it wants a key: add ,keys=FILE with the key in it, or this host may not ask",
        404 => "; its statistics are not there",
        _ => "",
    };
    format!("HTTP status {status}{who}{advice}")
}

/// How to watch a program that was found at the address of another one.
fn hint(program: &str) -> &'static str {
    let program = program.to_ascii_lowercase();
    match () {
        () if program.contains("libisc") || program.contains("bind") => ": use bind=URL",
        () if program.contains("dnsdist") => ": use dnsdist=URL",
        () if program.contains("powerdns") => ": use pdns=URL",
        () => "",
    }
}

/// Verifies certificates with the roots of this host.
fn tls() -> Result<TlsConfig, OpenError> {
    let roots = rustls_native_certs::load_native_certs().certs;
    if roots.is_empty() {
        return Err(OpenError::new(
            "this host has no root certificates: use an http:// address, or install them",
        ));
    }
    let roots: Vec<_> = roots.iter().map(|root| Certificate::from_der(root).to_owned()).collect();
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .root_certs(RootCerts::Specific(Arc::new(roots)))
        .build())
}

const NOTHING: &str = "nothing listens there: is the server running, with its statistics switched on?";

/// A server that takes longer has no figures for this interval.
const LONGEST_EXCHANGE: Duration = Duration::from_secs(2);

const LONGEST_BODY_BYTES: u64 = 16 << 20;

const LONGEST_HEADER_BYTES: usize = 64 << 10;

/// Characters of a foreign name, and of a foreign reason, in an error.
const LONGEST_NAME: usize = 60;
const LONGEST_REASON: usize = 200;

pub(super) const JSON: &str = "application/json";
pub(super) const XML: &str = "text/xml";

/// The header in which PowerDNS and dnsdist want their key.
pub(super) const API_KEY: &str = "X-API-Key";
