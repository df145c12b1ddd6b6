//! What an agent may load, and how much: decided on its own host, whoever asks.
//!
//! ```toml
//! # /etc/dnsdyno/agent.toml
//! targets = ["192.0.2.53", "198.51.100.0/24"]   # otherwise: addresses that `run` loads without a confirmation
//! most-qps = "200k"                             # of this agent
//! longest = "10m"
//! trusted-keys = ["BASE64"]                     # over NATS: whose tasks are taken
//! ```

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use dnsdyno_plan::{Load, Plan, target_is_harmless};
use dnsdyno_queries::SourcePrefix;
use dnsdyno_record::read_regular;
use dnsdyno_text::notation::{format_duration_ns, format_rate_qps, parse_duration_ns, parse_rate_qps};
use serde::Deserialize;

use crate::signing::PublicKey;

/// What an agent may load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Permission {
    /// The addresses that may be loaded; `None` = those that `run` loads without a confirmation, and others where the
    /// user gives it.
    targets: Option<Vec<SourcePrefix>>,
    most_qps: Option<f64>,
    longest_ns: Option<u64>,
    trusted_keys: Vec<PublicKey>,
}

/// The file, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    targets: Option<Vec<String>>,
    most_qps: Option<String>,
    longest: Option<String>,
    trusted_keys: Option<Vec<String>>,
}

/// Why an agent does not make a run, or its own file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PermissionError {
    /// The file cannot be read.
    #[error("{path}: {why}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// An address that may not be loaded.
    #[error("this agent may not load {address}: its own configuration allows {allowed}")]
    Target {
        /// The address.
        address: IpAddr,
        /// What is allowed.
        allowed: String,
    },
    /// A public address without a confirmation.
    #[error("this agent may not load {0}, a public address, without --i-may-load-this-server")]
    Unconfirmed(IpAddr),
    /// More than may be sent.
    #[error("this agent may send at most {most} queries/s, and its part of this load has {asked}")]
    Rate {
        /// What is allowed.
        most: String,
        /// What was asked.
        asked: String,
    },
    /// More before the load, for the answers that are checked under it.
    #[error(
        "this agent may send at most {most} queries/s, and its part of the first pass of --check-answers has {asked}: \
         lower --first-pass-rate"
    )]
    FirstPassRate {
        /// What is allowed.
        most: String,
        /// What was asked.
        asked: String,
    },
    /// The same for longer.
    #[error(
        "this agent may send for at most {longest}, and the first pass of --check-answers for {asked}: give it \
         --first-pass-for {longest}"
    )]
    FirstPassDuration {
        /// What is allowed.
        longest: String,
        /// What was asked.
        asked: String,
    },
    /// A load without a rate.
    #[error(
        "this agent may send at most {most} queries/s, and a closed loop has no such limit: give it a --rate or a \
         --rate-limit"
    )]
    NoRate {
        /// What is allowed.
        most: String,
    },
    /// A longer load.
    #[error("this agent may send for at most {longest}, and this load {asked}: give it --for {longest}")]
    Duration {
        /// What is allowed.
        longest: String,
        /// What was asked.
        asked: String,
    },
}

impl Permission {
    /// Reads the file of this host: the one that is named, or the first of `/etc/dnsdyno/agent.toml` and
    /// `~/.config/dnsdyno/agent.toml` that exists. Without one, what `run` allows.
    ///
    /// # Errors
    /// The file cannot be read, or says something else.
    pub fn of_host(named: Option<&Path>) -> Result<Permission, PermissionError> {
        let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".config/dnsdyno/agent.toml"));
        let usual = [Some(PathBuf::from("/etc/dnsdyno/agent.toml")), home];
        let found =
            named.map(Path::to_owned).or_else(|| usual.into_iter().flatten().find(|path| may_be_there(path)));
        let Some(path) = found else { return Ok(Permission::default()) };
        let wrong = |why: String| PermissionError::File { path: path.clone(), why };
        let text = read_regular(&path).map_err(|error| wrong(error.to_string()))?;
        Permission::parse(&text).map_err(wrong)
    }

    /// Reads the text of the file.
    pub(crate) fn parse(text: &str) -> Result<Permission, String> {
        let File { targets, most_qps, longest, trusted_keys } =
            toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        let target = |text: String| {
            prefix(&text)
                .ok_or_else(|| format!("`{text}` in targets is no address: write ADDRESS or ADDRESS/LENGTH"))
        };
        let targets =
            targets.map(|all| all.into_iter().map(target).collect::<Result<Vec<_>, _>>()).transpose()?;
        let most_qps =
            most_qps.as_deref().map(parse_rate_qps).transpose().map_err(|error| error.to_string())?;
        let longest_ns = longest.as_deref().map(parse_duration_ns).transpose();
        let key = |text: String| {
            PublicKey::parse(&text).ok_or_else(|| {
                format!("`{text}` in trusted-keys is no key: write what `dnsdyno agent keys` has printed")
            })
        };
        let trusted_keys = trusted_keys.unwrap_or_default().into_iter().map(key).collect::<Result<_, _>>()?;
        let longest_ns = longest_ns.map_err(|error| error.to_string())?;
        Ok(Permission { targets, most_qps, longest_ns, trusted_keys })
    }

    /// The keys whose tasks are taken over a broker.
    pub fn trusted_keys(&self) -> &[PublicKey] {
        &self.trusted_keys
    }

    /// Whether this agent may make its part of a load.
    ///
    /// # Errors
    /// It may not.
    pub fn check(&self, plan: &Plan, is_confirmed: bool) -> Result<(), PermissionError> {
        for target in plan.mix.servers().chain([&plan.target]) {
            self.check_address(target.address.ip(), is_confirmed)?;
        }
        let first_pass = plan.first_pass.map(|pass| pass.of_part(plan.part));
        if let Some(most) = self.most_qps {
            let peak = |phase: &dnsdyno_plan::Phase| phase.rate_from_qps.max(phase.rate_to_qps);
            let asked = match (&plan.load, plan.load.curve()) {
                (Load::Limited { most_qps, .. }, _) => Some(*most_qps),
                (_, Some(curve)) => Some(curve.phases().iter().map(peak).fold(0.0, f64::max)),
                _ => None,
            };
            let most_text = format_rate_qps(most);
            let asked = asked.ok_or_else(|| PermissionError::NoRate { most: most_text.clone() })?;
            let asked = asked * plan.part.fraction();
            if asked > most {
                return Err(PermissionError::Rate { most: most_text, asked: format_rate_qps(asked) });
            }
            if let Some(pass) = first_pass.filter(|pass| pass.rate_qps > most) {
                let asked = format_rate_qps(pass.rate_qps);
                return Err(PermissionError::FirstPassRate { most: most_text, asked });
            }
        }
        if let Some(longest_ns) = self.longest_ns {
            if let Some(pass) = first_pass.filter(|pass| pass.lasts_ns > longest_ns) {
                let (longest, asked) = (format_duration_ns(longest_ns), format_duration_ns(pass.lasts_ns));
                return Err(PermissionError::FirstPassDuration { longest, asked });
            }
            let asked_ns = plan.load.curve().and_then(|curve| curve.duration_ns()).or(plan.stop.duration_ns);
            if asked_ns.is_none_or(|asked_ns| asked_ns > longest_ns) {
                return Err(PermissionError::Duration {
                    longest: format_duration_ns(longest_ns),
                    asked: asked_ns
                        .map_or("has no end".to_owned(), |ns| format!("lasts {}", format_duration_ns(ns))),
                });
            }
        }
        Ok(())
    }

    fn check_address(&self, address: IpAddr, is_confirmed: bool) -> Result<(), PermissionError> {
        match &self.targets {
            None if is_confirmed || target_is_harmless(address) => Ok(()),
            None => Err(PermissionError::Unconfirmed(address)),
            Some(targets) if targets.iter().any(|prefix| prefix.contains(address)) => Ok(()),
            Some(_) => Err(PermissionError::Target { address, allowed: self.to_string() }),
        }
    }
}

/// What may be loaded, in words.
impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.targets {
            None => f.write_str("private addresses, and others after --i-may-load-this-server")?,
            Some(targets) if targets.is_empty() => f.write_str("nothing")?,
            Some(targets) => {
                let written = |prefix: &SourcePrefix| match prefix.is_host() {
                    true => prefix.first.to_string(),
                    false => format!("{}/{}", prefix.first, prefix.length),
                };
                let all: Vec<String> = targets.iter().map(written).collect();
                f.write_str(&all.join(", "))?;
            }
        }
        self.most_qps.map_or(Ok(()), |most| write!(f, ", at most {} queries/s", format_rate_qps(most)))?;
        self.longest_ns.map_or(Ok(()), |longest| write!(f, ", for at most {}", format_duration_ns(longest)))
    }
}

/// Whether there is a file, or one cannot be seen: what it forbids is not taken for allowed.
fn may_be_there(path: &Path) -> bool {
    let is_none =
        |error: io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    !fs::symlink_metadata(path).is_err_and(is_none)
}

/// An address alone is the prefix of its length.
fn prefix(text: &str) -> Option<SourcePrefix> {
    let of_one =
        |address: IpAddr| SourcePrefix { first: address, length: if address.is_ipv4() { 32 } else { 128 } };
    SourcePrefix::parse(text).or_else(|| text.parse().ok().map(of_one))
}

#[cfg(test)]
mod tests {
    use dnsdyno_plan::Draft;
    use dnsdyno_runner::{Runner, SimConfig, SimulatedRunner};

    use super::*;

    fn plan(toml: &str) -> Plan {
        let draft = Draft::from_toml(&format!("ask = [\"a.test\"]\n{toml}")).unwrap();
        let runner = SimulatedRunner { server: SimConfig::default() };
        runner.validate(&Draft { i_may_load_this_server: Some(true), ..draft }).unwrap().plan
    }

    fn refused(file: &str, toml: &str, is_confirmed: bool) -> String {
        let permission = Permission::parse(file).unwrap();
        permission.check(&plan(toml), is_confirmed).map_or_else(|why| why.to_string(), |()| String::new())
    }

    #[test]
    fn a_file_that_cannot_be_seen_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink(&link, &link).unwrap();
        assert!(may_be_there(&file));
        assert!(may_be_there(&link.join("agent.toml")), "too many links are no missing file");
        assert!(!may_be_there(&folder.path().join("none/agent.toml")));
        assert!(!may_be_there(&file.join("agent.toml")));
    }

    #[test]
    fn without_a_file_an_agent_may_what_a_run_may() {
        let (here, real) = ("server = \"127.0.0.1\"", "server = \"9.9.9.9\"");
        assert_eq!(refused("", here, false), "");
        assert_eq!(refused("", real, true), "");
        assert!(refused("", real, false).contains("--i-may-load-this-server"));
    }

    #[test]
    fn a_file_allows_its_addresses_only_whatever_the_user_confirms() {
        let file = "targets = [\"127.0.0.0/8\", \"2001:db8::/32\", \"192.0.2.7\"]";
        assert_eq!(refused(file, "server = \"127.3.4.5\"", false), "");
        assert_eq!(refused(file, "server = \"192.0.2.7\"", false), "");
        assert_eq!(refused(file, "server = \"2001:db8:1::9\"", false), "");
        let words = refused(file, "server = \"127.0.0.1,192.0.2.8\"", true);
        assert!(words.contains("may not load 192.0.2.8") && words.contains("127.0.0.0/8, "), "{words}");
        assert!(refused("targets = []", "server = \"127.0.0.1\"", true).contains("allows nothing"));
    }

    #[test]
    fn a_file_bounds_the_rate_of_the_agents_part_and_the_time() {
        let file = "most-qps = \"1k\"\nlongest = \"10s\"";
        let load = |more: &str| format!("server = \"127.0.0.1\"\n{more}");
        let is_refused = |more: &str, words: &str| {
            let said = refused(file, &load(more), false);
            assert!(said.contains(words) && said.is_empty() == words.is_empty(), "{more}: {said}");
        };
        is_refused("rate = 900\nfor = \"10s\"", "");
        is_refused("rate = 1001\nfor = \"10s\"", "at most 1k queries/s");
        is_refused("rate = 3000\nfor = \"10s\"\nclients = 9\npart = \"2/3\"", "");
        is_refused("rate = 3001\nfor = \"10s\"\nclients = 9\npart = \"2/3\"", "its part of this load has");
        is_refused("outstanding = 10\nfor = \"10s\"", "a closed loop has no such limit");
        is_refused("outstanding = 10\nrate-limit = 900\nfor = \"10s\"", "");
        is_refused("rate = 900\nfor = \"11s\"", "this load lasts 11s");
        let checked = "rate = 900\nfor = \"10s\"\ncheck-answers = true\nfirst-pass-for = \"10s\"";
        is_refused(&format!("{checked}\nfirst-pass-rate = 1000"), "");
        is_refused(&format!("{checked}\nfirst-pass-rate = 1001"), "lower --first-pass-rate");
        is_refused(&format!("{checked}\nfirst-pass-rate = 2000\nclients = 9\npart = \"1/2\""), "");
        let longer = checked.replace("first-pass-for = \"10s\"", "first-pass-rate = 900");
        is_refused(&longer, "for 20s: give it --first-pass-for 10s");
        is_refused("outstanding = 10\nrate-limit = 900\npasses = 2", "this load has no end");
    }

    #[test]
    fn a_file_that_says_something_else_is_refused_in_a_sentence() {
        for (file, words) in [
            ("target = []", "unknown field"),
            ("targets = [\"a.test\"]", "is no address"),
            ("most-qps = \"fast\"", "fast"),
            ("longest = 7 parrots", ""),
            ("trusted-keys = [\"abc\"]", "is no key: write what `dnsdyno agent keys`"),
        ] {
            let said = Permission::parse(file).unwrap_err();
            assert!(said.contains(words), "{file}: {said}");
        }
    }
}
