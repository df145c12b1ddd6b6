//! A member of a mix as a plan file gives it: unchecked, with settings of its own.

use serde::{Deserialize, Serialize};

use crate::kinds::{HttpMethod, TlsVersions, TransportKind};
use crate::quantity::quantity;

/// One member of a mix in a plan file. What it does not set is as for the whole run.
///
/// ```toml
/// [[member]]
/// name = "phones"
/// transport = "dot"
/// weight = 15
/// idle-timeout = "10s"
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct MemberDraft {
    /// Its name in reports [default: the transport]
    pub name: Option<String>,
    /// Its weight against those of the others [default: 1]
    pub weight: Option<f64>,
    /// As `--transport` [default: udp]
    pub transport: Option<TransportKind>,
    /// As `--server`, one [default: each of the run's]
    pub server: Option<String>,
    /// The server's port [default: the run's; with several transports, the usual one of encrypted transports]
    pub port: Option<u16>,
    /// Its sockets or clients [default: by weight, of those of the run]
    pub clients: Option<usize>,
    /// As `--queries-per-connection`.
    pub queries_per_connection: Option<u32>,
    /// As `--idle-timeout`.
    #[serde(deserialize_with = "quantity")]
    pub idle_timeout: Option<String>,
    /// As `--fast-open`.
    pub fast_open: Option<bool>,
    /// As `--sni`.
    pub sni: Option<String>,
    /// As `--tls-version`.
    pub tls_version: Option<TlsVersions>,
    /// `false` as `--no-resumption`.
    pub resumption: Option<bool>,
    /// As `--early-data`.
    pub early_data: Option<bool>,
    /// As `--handshake-timeout`.
    #[serde(deserialize_with = "quantity")]
    pub handshake_timeout: Option<String>,
    /// As `--http-method`.
    pub http_method: Option<HttpMethod>,
    /// As `--http-path`.
    pub http_path: Option<String>,
}
