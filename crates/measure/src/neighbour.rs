//! The programs that may run on the generator's CPUs: the server, if it is on this host, and others that were busy.

use std::fmt;

use serde::{Deserialize, Serialize};

use dnsdyno_text::shown;

/// A process that may use the CPUs of the generator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Neighbour {
    /// Its number; `None` for a server on this host whose process cannot be seen.
    pub pid: Option<u32>,
    /// Its name, as the kernel has it.
    pub name: String,
    /// Whether it has a socket at the address of the server.
    pub is_server: bool,
    /// CPU time that it used, as a share of one CPU over the run: 2 is two CPUs.
    #[serde(serialize_with = "crate::finite::serialize")]
    pub cpu_share: f64,
}

/// `the server shares your CPUs: PID 4711 (named), 62 % of a CPU`.
impl fmt::Display for Neighbour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(pid) = self.pid else {
            return write!(f, "the server is on this host and may share your CPUs");
        };
        let who = if self.is_server { "the server shares your CPUs: " } else { "" };
        let percent = self.cpu_share * 100.0;
        write!(f, "{who}PID {pid} ({}), {percent:.0} % of a CPU", shown(&self.name, LONGEST_NAME))
    }
}

/// The kernel keeps 15 characters.
const LONGEST_NAME: usize = 16;
