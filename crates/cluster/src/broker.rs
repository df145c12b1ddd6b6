//! A connection to a NATS broker: which one, with what credentials, and the thread that keeps it.
//!
//! ```text
//!   nats://USER:PASSWORD@HOST:PORT?site=tyo&count=3
//!   tls://TOKEN@HOST
//! ```
//!
//! The client of NATS is asynchronous, and the rest of this crate waits in threads. So each connection has one thread,
//! with a runtime of its own; everything else meets it over channels.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use async_nats::{Client, ConnectErrorKind, ConnectOptions};
use dnsdyno_text::secret::Secret;
use percent_encoding::percent_decode_str;
use tokio::runtime::{Builder, Handle};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::error::ClusterError;

/// A broker, and which of its agents are meant.
#[derive(Clone, PartialEq, Eq)]
pub struct BrokerUrl {
    /// Without credentials and labels.
    address: String,
    user: Option<(Secret, Option<Secret>)>,
    /// The labels that an agent must have.
    pub(crate) labels: Labels,
    /// How many agents are wanted; `None` = all that answer.
    pub(crate) count: Option<usize>,
}

/// What agents are called by, beside their names.
pub type Labels = BTreeMap<String, String>;

/// The files by which this program proves who it is, and knows the broker.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// A file of credentials, as `nsc` writes it.
    pub creds: Option<PathBuf>,
    /// Certificates by which the broker is known, in place of those of the system.
    pub ca: Option<PathBuf>,
    /// The key that signs tasks, where it is not that of [`crate::Signer::usual_path`].
    pub key: Option<PathBuf>,
}

impl BrokerUrl {
    /// Whether a text is meant as the URL of a broker.
    pub fn is_meant(text: &str) -> bool {
        SCHEMES.iter().any(|scheme| text.starts_with(scheme))
    }

    /// Reads a URL.
    ///
    /// # Errors
    /// What is expected.
    pub fn parse(text: &str) -> Result<BrokerUrl, String> {
        let scheme =
            SCHEMES.iter().find(|scheme| text.starts_with(**scheme)).ok_or_else(|| URL.to_owned())?;
        let rest = &text[scheme.len()..];
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (user, host) = place.rsplit_once('@').map_or((None, place), |(user, host)| (Some(user), host));
        let host = host.trim_end_matches('/');
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:[]".contains(c);
        if host.is_empty() || !host.chars().all(is_plain) {
            return Err(URL.to_owned());
        }
        let decoded = |text: &str| percent_decode_str(text).decode_utf8().map(|text| text.into_owned());
        let secret = |text: &str| decoded(text).map(Secret::new).map_err(|_| URL.to_owned());
        let user = match user.map(|user| user.split_once(':').map_or((user, None), |(u, p)| (u, Some(p)))) {
            None => None,
            Some((user, password)) => Some((secret(user)?, password.map(secret).transpose()?)),
        };
        let (mut labels, mut count) = (Labels::new(), None);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("count", number)) => {
                    let number = number.parse().ok().filter(|number| (1..=MOST_AGENTS).contains(number));
                    count = Some(number.ok_or_else(|| "count is a whole number from 1 to 10000".to_owned())?);
                }
                Some((key, value)) if is_label(key) && is_label(value) => {
                    labels.insert(key.to_owned(), value.to_owned());
                }
                _ => return Err(LABEL.to_owned()),
            }
        }
        Ok(BrokerUrl { address: format!("{scheme}{host}"), user, labels, count })
    }

    /// Whether it chooses among the agents of the broker.
    pub fn is_choice(&self) -> bool {
        self.count.is_some() || !self.labels.is_empty()
    }

    /// Whether everything goes over TLS.
    fn is_tls(&self) -> bool {
        self.address.starts_with("tls:")
    }
}

/// Without its credentials.
impl fmt::Display for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.address)?;
        let count = self.count.map(|count| ("count".to_owned(), count.to_string()));
        let all = self.labels.clone().into_iter().chain(count);
        for (number, (key, value)) in all.enumerate() {
            write!(f, "{}{key}={value}", if number == 0 { '?' } else { '&' })?;
        }
        Ok(())
    }
}

impl fmt::Debug for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Reads `site=tyo`.
///
/// # Errors
/// What is expected.
pub fn parse_label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, _)) if ["name", "count"].contains(&key) => {
            Err(format!("`{key}` is no label: it has a meaning of its own"))
        }
        Some((key, value)) if is_label(key) && is_label(value) => Ok((key.to_owned(), value.to_owned())),
        _ => Err(LABEL.to_owned()),
    }
}

/// Whether a text can be a label, or the name of an agent: a part of a subject and of a path.
pub(crate) fn is_label(text: &str) -> bool {
    let is_plain = |octet: u8| octet.is_ascii_alphanumeric() || b"-_".contains(&octet);
    (1..=63).contains(&text.len()) && text.bytes().all(is_plain) && !text.starts_with('-')
}

/// A connection that reconnects by itself. Dropping it waits until what was given to its links is sent, for a while.
pub(crate) struct Broker {
    pub(crate) client: Client,
    runtime: Handle,
    /// Each link has one of these: when all are gone, the links have ended.
    links: Option<mpsc::Sender<()>>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Broker {
    /// Connects.
    ///
    /// # Errors
    /// The broker cannot be reached, or refuses.
    pub(crate) fn connect(url: &BrokerUrl, access: &Access) -> Result<Broker, ClusterError> {
        let (told, connected) = sync_channel(1);
        let (links, last_link) = mpsc::channel(1);
        let (end, ended) = oneshot::channel();
        let (wanted, with) = (url.clone(), access.clone());
        let thread = thread::Builder::new()
            .name("nats".to_owned())
            .spawn(move || keep(&wanted, &with, &told, ended, last_link))
            .map_err(ClusterError::Thread)?;
        let gone = || (false, "its thread has ended".to_owned());
        let (client, runtime) = connected
            .recv()
            .unwrap_or_else(|_| Err(gone()))
            .map_err(|(is_refused, why)| ClusterError::Broker { url: url.to_string(), why, is_refused })?;
        Ok(Broker { client, runtime, links: Some(links), end: Some(end), thread: Some(thread) })
    }

    /// Does something on the connection, and waits for it.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        what: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        wait(&self.runtime, what)
    }

    /// What runs on the connection's thread.
    pub(crate) fn runtime(&self) -> Handle {
        self.runtime.clone()
    }

    /// Does something on the connection as long as it takes, at most until a while after the end of this.
    pub(crate) fn spawn(&self, what: impl Future<Output = ()> + Send + 'static) {
        let link = self.links.clone();
        self.runtime.spawn(async move {
            what.await;
            drop(link);
        });
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        drop((self.links.take(), self.end.take()));
        self.thread.take().into_iter().for_each(|thread| drop(thread.join()));
    }
}

/// Does something on the thread of a connection, and waits for it; `None` where the thread has ended.
pub(crate) fn wait<T: Send + 'static>(
    runtime: &Handle,
    what: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    let (told, outcome) = sync_channel(1);
    runtime.spawn(async move { drop(told.send(what.await)) });
    outcome.recv().ok()
}

type Connected = Result<(Client, Handle), (bool, String)>;

/// The thread of a connection.
fn keep(
    url: &BrokerUrl,
    access: &Access,
    told: &SyncSender<Connected>,
    ended: oneshot::Receiver<()>,
    mut last_link: mpsc::Receiver<()>,
) {
    let runtime = match Builder::new_current_thread().enable_io().enable_time().build() {
        Ok(runtime) => runtime,
        Err(error) => return drop(told.send(Err((false, error.to_string())))),
    };
    let handle = runtime.handle().clone();
    runtime.block_on(async move {
        let client = match open(url, access).await {
            Ok(client) => client,
            Err(why) => return drop(told.send(Err(why))),
        };
        let _ = told.send(Ok((client.clone(), handle)));
        let _ = ended.await;
        let _ = timeout(LAST_WORDS, last_link.recv()).await;
        let _ = timeout(LAST_WORDS, client.flush()).await;
    });
}

async fn open(url: &BrokerUrl, access: &Access) -> Result<Client, (bool, String)> {
    let mut options = ConnectOptions::new()
        .name("dnsdyno")
        .connection_timeout(CONNECTS_WITHIN)
        .ping_interval(PING_EVERY)
        .max_reconnects(None)
        .reconnect_delay_callback(|attempts| if attempts <= 1 { Duration::ZERO } else { RECONNECT_EVERY })
        .require_tls(url.is_tls());
    options = match &url.user {
        None => options,
        Some((token, None)) => options.token(token.exposed().clone()),
        Some((user, Some(password))) => {
            options.user_and_password(user.exposed().clone(), password.exposed().clone())
        }
    };
    if let Some(ca) = &access.ca {
        let there = std::fs::metadata(ca).map_err(|error| (true, format!("{}: {error}", ca.display())));
        there?;
        options = options.add_root_certificates(ca.clone());
    }
    if let Some(creds) = &access.creds {
        let wrong = |error: std::io::Error| (true, format!("{}: {error}", creds.display()));
        options = options.credentials_file(creds).await.map_err(wrong)?;
    }
    options.connect(url.address.as_str()).await.map_err(|error| {
        let is_refused = matches!(
            error.kind(),
            ConnectErrorKind::Authentication
                | ConnectErrorKind::AuthorizationViolation
                | ConnectErrorKind::Tls
        );
        (is_refused, error.to_string())
    })
}

const SCHEMES: [&str; 2] = ["nats://", "tls://"];

const URL: &str = "write nats://HOST:PORT or tls://HOST:PORT, with USER:PASSWORD@ or TOKEN@ before the host if wanted, \
                   and their special characters as %XX";
const LABEL: &str = "write labels as KEY=VALUE, of letters, digits, - and _";
pub(crate) const MOST_AGENTS: usize = 10_000;

const CONNECTS_WITHIN: Duration = Duration::from_secs(5);

/// A connection that is dead without an end is noticed by this.
const PING_EVERY: Duration = Duration::from_secs(2);

/// An agent ends its load after 3.5 s without a word: a broker that is back is found soon.
const RECONNECT_EVERY: Duration = Duration::from_millis(200);

/// How long the end of a connection waits for what its links still have.
const LAST_WORDS: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_a_broker_credentials_and_labels() {
        let url = BrokerUrl::parse("nats://me:p%40ss@lg.test:4222/?site=tyo&count=3&rack=r-1").unwrap();
        assert_eq!(url.address, "nats://lg.test:4222");
        let (user, password) = url.user.clone().unwrap();
        assert_eq!((user.exposed().as_str(), password.unwrap().exposed().as_str()), ("me", "p@ss"));
        assert_eq!(
            (url.labels["site"].as_str(), url.labels["rack"].as_str(), url.count),
            ("tyo", "r-1", Some(3))
        );
        let shown = format!("{url} {url:?}");
        assert!(
            !shown.contains("p@ss") && !shown.contains("me:") && shown.contains("lg.test:4222?rack=r-1"),
            "{shown}"
        );
        let url = BrokerUrl::parse("tls://token@[::1]").unwrap();
        assert_eq!((url.address.as_str(), url.is_tls()), ("tls://[::1]", true));
        assert!(matches!(&url.user, Some((token, None)) if token.exposed() == "token"));
    }

    #[test]
    fn what_is_no_broker_and_no_label_is_refused() {
        for text in [
            "http://a",
            "nats://",
            "nats://a b",
            "nats://a/b",
            "nats://a?site",
            "nats://a?x=../y",
            "nats://a?count=0",
        ] {
            assert!(BrokerUrl::parse(text).is_err(), "{text}");
        }
        for text in ["site", "site=", "=x", "site=a.b", "site=a/b", "name=x", "site=>", "a=*"] {
            assert!(parse_label(text).is_err(), "{text}");
        }
        assert_eq!(parse_label("site=tyo").unwrap(), ("site".to_owned(), "tyo".to_owned()));
    }
}
