//! Encrypted transports: trusted certificates, TLS versions and sessions, and DNS in HTTP.

use std::path::{Path, PathBuf};

use dnsdyno_text::notation::parse_duration_ns;

use crate::draft::Draft;
use crate::error::PlanError;
use crate::kinds::{HttpMethod, TlsVersions, TransportKind};
use crate::values::{above_zero, absolute, filled, read_as};

/// How the connections of a run are encrypted, and how HTTP carries queries; unused for transports that are not
/// encrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncryptionPlan {
    /// Which certificates are trusted.
    pub trust: Trust,
    /// The name that the certificate must be for, which is also sent to the server (SNI); `None` = the
    /// server's as the user wrote it.
    pub server_name: Option<String>,
    /// Versions of TLS that are offered.
    pub versions: TlsVersions,
    /// Whether sessions are kept and resumed.
    pub resumption: bool,
    /// Whether queries are sent with the first flight of a resumed handshake (0-RTT).
    pub early_data: bool,
    /// The file to which the secrets of the sessions are written; its path is absolute.
    pub key_log: Option<PathBuf>,
    /// The timeout of a handshake, in nanoseconds.
    pub handshake_timeout_ns: u64,
    /// The HTTP method.
    pub http_method: HttpMethod,
    /// The path of the URI, which starts with `/`.
    pub http_path: String,
}

/// Which certificates are trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// Those issued by a root of the system.
    System,
    /// Those issued by a certificate in this PEM file.
    File(PathBuf),
    /// All: verification is disabled.
    Anything,
}

impl EncryptionPlan {
    /// Reads the options of encryption from a draft. Relative paths start from `working_dir`.
    pub(crate) fn of(
        draft: &mut Draft,
        transports: &[TransportKind],
        working_dir: &Path,
    ) -> Result<EncryptionPlan, PlanError> {
        // The draft gets no defaults for transports without encryption, or without HTTP.
        let mut aside = Draft::default();
        let draft = if transports.iter().any(|kind| kind.is_encrypted()) { draft } else { &mut aside };
        let trust = match &mut draft.ca {
            Some(path) => Trust::File(absolute(path, working_dir)),
            None if *draft.insecure.get_or_insert(false) => Trust::Anything,
            None => Trust::System,
        };
        let timeout_ns = filled("handshake-timeout", &mut draft.handshake_timeout, "5s", parse_duration_ns)?;
        above_zero("handshake-timeout", Some(timeout_ns))?;
        let http_path = read_as("http-path", &draft.http_path, http_path, PATH)?;
        let plan = EncryptionPlan {
            trust,
            server_name: read_as("sni", &draft.sni, server_name, SERVER_NAME)?,
            versions: draft.tls_version.unwrap_or_default(),
            resumption: *draft.resumption.get_or_insert(true),
            early_data: *draft.early_data.get_or_insert(false),
            key_log: draft.tls_key_log.as_mut().map(|path| absolute(path, working_dir)),
            handshake_timeout_ns: timeout_ns,
            http_method: draft.http_method.unwrap_or_default(),
            http_path: http_path.unwrap_or_else(|| USUAL_PATH.to_owned()),
        };
        if transports.iter().any(|kind| kind.is_http()) {
            draft.http_method = Some(plan.http_method);
            draft.http_path = Some(plan.http_path.clone());
        }
        Ok(plan)
    }
}

/// A name or an address; TLS setup checks whether a certificate can contain it.
fn server_name(text: &str) -> Option<String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-._:".contains(letter);
    (!text.is_empty() && text.chars().all(is_plain)).then(|| text.to_owned())
}

fn http_path(text: &str) -> Option<String> {
    let is_plain = |letter: char| letter.is_ascii_graphic() && !"?#{}\"<>\\^`|".contains(letter);
    let is_path = text.starts_with('/') && text.chars().all(is_plain) && text.len() <= LONGEST_PATH;
    is_path.then(|| text.to_owned())
}

const SERVER_NAME: &str = "the name of a server: write it as in its certificate, such as dns.example";
const PATH: &str = "a path: write it like /dns-query, without a query string";

/// The usual path of servers.
const USUAL_PATH: &str = "/dns-query";

/// Longer ones would exceed the header size that servers accept.
const LONGEST_PATH: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, transport: TransportKind) -> Result<EncryptionPlan, PlanError> {
        let mut draft = Draft::from_toml(text).expect("a plan file");
        EncryptionPlan::of(&mut draft, &[transport], Path::new("/somewhere"))
    }

    #[test]
    fn certificates_are_verified_and_sessions_resumed_by_default() {
        let usual = of("", TransportKind::Doh).expect("a good plan");
        assert_eq!((&usual.trust, usual.versions), (&Trust::System, TlsVersions::Any));
        assert_eq!((usual.resumption, usual.early_data), (true, false));
        assert_eq!((usual.handshake_timeout_ns, usual.server_name), (5_000_000_000, None));
        assert_eq!((usual.http_method, usual.http_path.as_str()), (HttpMethod::Post, "/dns-query"));
    }

    #[test]
    fn each_option_can_be_set() {
        let all = "ca = \"ca.pem\"\nsni = \"dns.example\"\ntls-version = \"1.3\"\nearly-data = true\n\
                   handshake-timeout = \"2s\"\nhttp-method = \"get\"\nhttp-path = \"/q\"";
        let plan = of(all, TransportKind::Doh).expect("a good plan");
        assert_eq!(plan.trust, Trust::File("/somewhere/ca.pem".into()));
        assert_eq!((plan.server_name.as_deref(), plan.early_data), (Some("dns.example"), true));
        assert_eq!((plan.handshake_timeout_ns, plan.versions), (2_000_000_000, TlsVersions::Only13));
        assert_eq!((plan.http_method, plan.http_path.as_str()), (HttpMethod::Get, "/q"));
        let careless = of("insecure = true\nresumption = false", TransportKind::Dot).expect("a good plan");
        assert_eq!((careless.trust, careless.resumption), (Trust::Anything, false));
    }

    #[test]
    fn invalid_values_are_refused_with_a_valid_one() {
        for (text, word) in [
            ("http-path = \"dns-query\"", "a path"),
            ("http-path = \"/a?b\"", "a path"),
            ("sni = \"a b\"", "name of a server"),
            ("handshake-timeout = 0", "must be above 0"),
        ] {
            let error = of(text, TransportKind::Doh).expect_err(text).to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
