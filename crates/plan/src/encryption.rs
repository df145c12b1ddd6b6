//! Encrypted transports: whom to trust, which versions and sessions, and how DNS travels in HTTP.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::draft::Draft;
use crate::error::PlanError;
use crate::mix::Mix;
use crate::plan::TransportKind;
use crate::units::{format_duration_ns, parse_duration_ns};
use crate::validate::read;

/// How connections of a run are encrypted, and what HTTP asks; of transports that are not encrypted
/// nobody looks at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncryptionPlan {
    /// Which certificates are believed.
    pub trust: Trust,
    /// The name that the certificate must be for, and that the server is told (SNI); `None` = the
    /// server's as the user wrote it.
    pub server_name: Option<String>,
    /// Versions of TLS that are offered.
    pub versions: TlsVersions,
    /// Whether sessions are kept and resumed.
    pub resumption: bool,
    /// Whether queries travel with the first flight of a resumed handshake (0-RTT).
    pub early_data: bool,
    /// How long a handshake may take, in nanoseconds.
    pub handshake_timeout_ns: u64,
    /// How HTTP asks.
    pub http_method: HttpMethod,
    /// The path of the resource, which starts with `/`.
    pub http_path: String,
}

impl Default for EncryptionPlan {
    fn default() -> Self {
        EncryptionPlan {
            trust: Trust::System,
            server_name: None,
            versions: TlsVersions::Any,
            resumption: true,
            early_data: false,
            handshake_timeout_ns: HANDSHAKE_TIMEOUT_NS,
            http_method: HttpMethod::default(),
            http_path: HTTP_PATH.to_owned(),
        }
    }
}

/// Which certificates are believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// Those that lead to a root of the system.
    System,
    /// Those that lead to a certificate in this PEM file.
    File(PathBuf),
    /// All of them.
    Anything,
}

/// Versions of TLS.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TlsVersions {
    /// 1.2 and 1.3.
    #[default]
    #[serde(skip)]
    Any,
    /// 1.2 only.
    #[serde(rename = "1.2")]
    Only12,
    /// 1.3 only.
    #[serde(rename = "1.3")]
    Only13,
}

impl FromStr for TlsVersions {
    type Err = String;

    fn from_str(text: &str) -> Result<TlsVersions, String> {
        match text {
            "1.2" => Ok(TlsVersions::Only12),
            "1.3" => Ok(TlsVersions::Only13),
            _ => Err(format!("`{text}` is not a version of TLS: use 1.2 or 1.3")),
        }
    }
}

/// How HTTP carries a query.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HttpMethod {
    /// In the path, as base64url.
    Get,
    /// In the body.
    #[default]
    Post,
}

impl FromStr for HttpMethod {
    type Err = String;

    fn from_str(text: &str) -> Result<HttpMethod, String> {
        match text.to_ascii_lowercase().as_str() {
            "get" => Ok(HttpMethod::Get),
            "post" => Ok(HttpMethod::Post),
            _ => Err(format!("`{text}` is not a way to ask: use get or post")),
        }
    }
}

impl fmt::Display for HttpMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HttpMethod::Get => "GET",
            HttpMethod::Post => "POST",
        })
    }
}

impl EncryptionPlan {
    /// Reads what a draft says of it, and refuses what its transport cannot obey. `working_dir` is what
    /// relative paths start from.
    pub(crate) fn of(
        draft: &Draft,
        transport: TransportKind,
        mix: &Mix,
        working_dir: &Path,
    ) -> Result<EncryptionPlan, PlanError> {
        refuse_strays(draft, transport, mix)?;
        let usual = EncryptionPlan::default();
        let timeout_ns = read("handshake-timeout", &draft.handshake_timeout, parse_duration_ns)?;
        if timeout_ns == Some(0) {
            return Err(PlanError::Zero { option: "handshake-timeout" });
        }
        let versions = draft.tls_version.unwrap_or_default();
        let (resumption, early_data) = (draft.resumption.unwrap_or(true), draft.early_data.unwrap_or(false));
        let has_quic = transport == TransportKind::Doq || mix.has(|other| other == TransportKind::Doq);
        if has_quic && versions == TlsVersions::Only12 {
            return Err(PlanError::NotTogether {
                option: "tls-version 1.2",
                other: "transport doq",
                why: QUIC_WHY,
            });
        }
        if early_data && versions == TlsVersions::Only12 {
            return Err(PlanError::NotTogether {
                option: "early-data",
                other: "tls-version 1.2",
                why: EARLY_WHY,
            });
        }
        if early_data && !resumption {
            return Err(PlanError::NotTogether {
                option: "early-data",
                other: "no-resumption",
                why: RESUME_WHY,
            });
        }
        Ok(EncryptionPlan {
            trust: trust(draft, working_dir)?,
            server_name: server_name(draft)?,
            versions,
            resumption,
            early_data,
            handshake_timeout_ns: timeout_ns.unwrap_or(usual.handshake_timeout_ns),
            http_method: draft.http_method.unwrap_or_default(),
            http_path: http_path(draft)?.unwrap_or(usual.http_path),
        })
    }

    /// Says it in the words of a draft, as far as it is not as usual.
    pub(crate) fn to_draft(&self, transport: TransportKind, mix: &Mix, draft: &mut Draft) {
        if !is_encrypted(transport, mix) {
            return;
        }
        match &self.trust {
            Trust::System => {}
            Trust::File(path) => draft.ca = Some(path.display().to_string()),
            Trust::Anything => draft.insecure = Some(true),
        }
        draft.sni = self.server_name.clone();
        draft.tls_version = (self.versions != TlsVersions::Any).then_some(self.versions);
        draft.resumption = (!self.resumption).then_some(false);
        draft.early_data = self.early_data.then_some(true);
        draft.handshake_timeout = Some(format_duration_ns(self.handshake_timeout_ns));
        if has_http(transport, mix) {
            draft.http_method = Some(self.http_method);
            draft.http_path = Some(self.http_path.clone());
        }
    }
}

/// Whether anything is encrypted.
fn is_encrypted(transport: TransportKind, mix: &Mix) -> bool {
    transport.is_encrypted() || mix.has(TransportKind::is_encrypted)
}

/// Whether anything travels in HTTP.
fn has_http(transport: TransportKind, mix: &Mix) -> bool {
    transport == TransportKind::Doh || mix.has(|other| other == TransportKind::Doh)
}

/// Options that say nothing over this transport, or over any of the mix.
fn refuse_strays(draft: &Draft, transport: TransportKind, mix: &Mix) -> Result<(), PlanError> {
    let about_encryption = [
        ("insecure", draft.insecure == Some(true)),
        ("ca", draft.ca.is_some()),
        ("sni", draft.sni.is_some()),
        ("tls-version", draft.tls_version.is_some()),
        ("no-resumption", draft.resumption == Some(false)),
        ("early-data", draft.early_data == Some(true)),
        ("handshake-timeout", draft.handshake_timeout.is_some()),
    ];
    let about_http = [("http-method", draft.http_method.is_some()), ("http-path", draft.http_path.is_some())];
    let given =
        |options: &[(&'static str, bool)]| options.iter().find(|(_, given)| *given).map(|(name, _)| *name);
    match (given(&about_encryption), given(&about_http)) {
        (Some(option), _) if !is_encrypted(transport, mix) => {
            Err(PlanError::NotEncrypted { option, transport })
        }
        (_, Some(option)) if !has_http(transport, mix) => Err(PlanError::NoHttp { option, transport }),
        _ => Ok(()),
    }
}

fn trust(draft: &Draft, working_dir: &Path) -> Result<Trust, PlanError> {
    match (&draft.ca, draft.insecure.unwrap_or(false)) {
        (Some(_), true) => Err(PlanError::NotTogether { option: "ca", other: "insecure", why: TRUST_WHY }),
        (Some(path), false) => Ok(Trust::File(working_dir.join(path))),
        (None, true) => Ok(Trust::Anything),
        (None, false) => Ok(Trust::System),
    }
}

/// A name or an address; whether it is one that certificates know is seen when TLS is set up.
fn server_name(draft: &Draft) -> Result<Option<String>, PlanError> {
    let Some(text) = &draft.sni else { return Ok(None) };
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-._:".contains(letter);
    if text.is_empty() || !text.chars().all(is_plain) {
        let expected = "the name of a server: write it as in its certificate, such as dns.example";
        return Err(PlanError::Value { option: "sni", text: text.clone(), expected });
    }
    Ok(Some(text.clone()))
}

fn http_path(draft: &Draft) -> Result<Option<String>, PlanError> {
    let Some(text) = &draft.http_path else { return Ok(None) };
    let is_plain = |letter: char| letter.is_ascii_graphic() && !"?#{}\"<>\\^`|".contains(letter);
    if !text.starts_with('/') || !text.chars().all(is_plain) || text.len() > LONGEST_PATH {
        let expected = "a path: write it like /dns-query, without a query string";
        return Err(PlanError::Value { option: "http-path", text: text.clone(), expected });
    }
    Ok(Some(text.clone()))
}

const TRUST_WHY: &str = "one says whom to trust, the other to trust anybody: leave one out";
const QUIC_WHY: &str = "QUIC has TLS 1.3 in it: leave the version out";
const EARLY_WHY: &str = "only TLS 1.3 has early data: leave one out";
const RESUME_WHY: &str = "early data travels in a session that is resumed: leave one out";

/// As long as a query is waited for.
const HANDSHAKE_TIMEOUT_NS: u64 = 5_000_000_000;

/// The path that most servers have.
const HTTP_PATH: &str = "/dns-query";

/// Longer ones would not fit the headers that servers take.
const LONGEST_PATH: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, transport: TransportKind) -> Result<EncryptionPlan, PlanError> {
        let draft = Draft::from_toml(text).expect("a plan file");
        EncryptionPlan::of(&draft, transport, &Mix::default(), Path::new("/somewhere"))
    }

    #[test]
    fn certificates_are_verified_and_sessions_resumed_unless_said_otherwise() {
        let usual = of("", TransportKind::Doh).expect("a good plan");
        assert_eq!(usual, EncryptionPlan::default());
        assert_eq!((&usual.trust, usual.resumption, usual.early_data), (&Trust::System, true, false));
        assert_eq!((usual.http_method, usual.http_path.as_str()), (HttpMethod::Post, "/dns-query"));
    }

    #[test]
    fn what_a_plan_says_in_words_is_the_same_plan() {
        let all = "ca = \"ca.pem\"\nsni = \"dns.example\"\ntls-version = \"1.3\"\nearly-data = true\n\
                   handshake-timeout = \"2s\"\nhttp-method = \"get\"\nhttp-path = \"/q\"";
        let plan = of(all, TransportKind::Doh).expect("a good plan");
        assert_eq!(plan.trust, Trust::File("/somewhere/ca.pem".into()));
        assert_eq!((plan.handshake_timeout_ns, plan.http_method), (2_000_000_000, HttpMethod::Get));
        for (plan, transport) in [
            (plan, TransportKind::Doh),
            (
                of("insecure = true\nresumption = false", TransportKind::Dot).expect("a good plan"),
                TransportKind::Dot,
            ),
        ] {
            let mut draft = Draft::default();
            plan.to_draft(transport, &Mix::default(), &mut draft);
            assert_eq!(EncryptionPlan::of(&draft, transport, &Mix::default(), Path::new("/")), Ok(plan));
        }
    }

    #[test]
    fn a_mix_takes_the_options_of_what_is_in_it() {
        let mix = |text: &str| {
            let draft = Draft { mix: Some(text.to_owned()), ..Draft::default() };
            Mix::of(&draft).expect("a good mix").0
        };
        let draft = Draft::from_toml("insecure = true\nhttp-path = \"/q\"").expect("a plan file");
        let of = |mix: &Mix| EncryptionPlan::of(&draft, TransportKind::Mix, mix, Path::new("/"));
        let encrypted = mix("udp=1,dot=1,doh=1");
        let plan = of(&encrypted).expect("a good plan");
        let mut said = Draft::default();
        plan.to_draft(TransportKind::Mix, &encrypted, &mut said);
        assert_eq!((said.insecure, said.http_path.as_deref()), (Some(true), Some("/q")));
        assert!(matches!(of(&mix("udp=1,dot=1")), Err(PlanError::NoHttp { .. })));
        assert!(matches!(of(&mix("udp=1,tcp=1")), Err(PlanError::NotEncrypted { .. })));
    }

    #[test]
    fn options_of_encryption_and_of_http_are_refused_where_there_is_none() {
        let cases = [
            ("insecure = true", TransportKind::Tcp, "--insecure", "--transport dot"),
            ("ca = \"a\"", TransportKind::Udp, "--ca", "--transport dot"),
            ("early-data = true", TransportKind::Tcp, "--early-data", "--transport dot"),
            ("handshake-timeout = 1", TransportKind::Udp, "--handshake-timeout", "--transport dot"),
            ("http-method = \"get\"", TransportKind::Dot, "--http-method", "--transport doh"),
            ("http-path = \"/\"", TransportKind::Tcp, "--http-path", "--transport doh"),
        ];
        for (text, transport, option, cure) in cases {
            let error = of(text, transport).expect_err(text).to_string();
            assert!(error.contains(option) && error.contains(cure), "{error}");
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused_with_the_reason() {
        for (text, word) in [
            ("ca = \"a\"\ninsecure = true", "whom to trust"),
            ("early-data = true\nresumption = false", "resumed"),
            ("early-data = true\ntls-version = \"1.2\"", "TLS 1.3"),
            ("http-path = \"dns-query\"", "a path"),
            ("http-path = \"/a?b\"", "a path"),
            ("sni = \"a b\"", "name of a server"),
            ("handshake-timeout = 0", "asks for nothing"),
        ] {
            let error = of(text, TransportKind::Doh).expect_err(text).to_string();
            assert!(error.contains(word), "{error}");
        }
        let error = of("tls-version = \"1.2\"", TransportKind::Doq).expect_err("QUIC").to_string();
        assert!(error.contains("QUIC"), "{error}");
    }
}
