//! A row of the catalogue: what may be tuned, how, and what shows that it bears on a run.

use serde::{Deserialize, Serialize};

use super::names::HOST_WORDS;
use super::values::Values;

/// A parameter of a host or of a server that may bear on what the server holds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tunable {
    /// Its name: `net.core.rmem_max`, `ring.rx`, `tcp-clients`.
    pub name: String,
    /// Whose it is: one of [`HOST_WORDS`], or the word of a server. The file of the row says it.
    #[serde(skip)]
    pub of: String,
    /// Its numbers in the three lists of the fourth field report: `k-2`.
    #[serde(default)]
    pub numbers: Vec<String>,
    /// What `dnsdyno diagnose` calls it, where that is another name: `process limit.files`.
    #[serde(default)]
    pub also: Vec<String>,
    /// What it is, in a sentence.
    pub meaning: String,
    /// How it is read and set.
    pub access: Access,
    /// Whose value it is: what else changes with it.
    pub scope: Scope,
    /// What a new value needs before it holds.
    pub needs: Needs,
    /// Its range, and what is worth a trial.
    #[serde(default)]
    pub values: Values,
    /// The series that it acts on: where none of them moves under load, it has no effect. Without any, no counter
    /// tells, and it is always worth a trial.
    #[serde(default)]
    pub signs: Vec<Sign>,
    /// What it costs in memory.
    #[serde(default)]
    pub memory: Option<String>,
    /// What may go wrong.
    #[serde(default)]
    pub risk: Option<String>,
    /// Where the knowledge is from.
    pub source: String,
    /// Whether setting it may cut the host off from the network.
    #[serde(default)]
    pub cuts_off: bool,
    /// Why the kernels and servers of today do not have it; `None` where they do.
    #[serde(default)]
    pub gone: Option<String>,
}

impl Tunable {
    /// Its name among all: `bind tcp-clients`; of a parameter of the host the name alone.
    pub fn id(&self) -> String {
        if self.is_of_host() { self.name.clone() } else { format!("{} {}", self.of, self.name) }
    }

    /// Whether a person or a diagnosis means it by this name.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name
            || self.id() == name
            || self
                .also
                .iter()
                .any(|also| also == name || also.split_once(' ').is_some_and(|(_, also)| also == name))
    }

    /// Whether it is a parameter of the host, not of a server.
    pub fn is_of_host(&self) -> bool {
        HOST_WORDS.contains(&self.of.as_str())
    }

    /// Values to try in place of the present one, the nearest to it first. None is the present one or outside of the
    /// range. `None` = the present value is not known, and only values that do not depend on it are given. `cpus` =
    /// how many CPUs the server may use, from number 0 on.
    pub fn candidates(&self, present: Option<&str>, cpus: u32) -> Vec<String> {
        self.candidates_on(present, &(0..cpus).collect::<Vec<_>>())
    }

    /// The same where the server may use the CPUs of these numbers.
    pub fn candidates_on(&self, present: Option<&str>, cpus: &[u32]) -> Vec<String> {
        let present = present.map(|text| self.chosen(text));
        self.values.candidates_on(present, cpus)
    }

    /// Whether a value may be set.
    ///
    /// # Errors
    /// It is outside of the range: a sentence that says the range.
    pub fn allows(&self, value: &str) -> Result<(), String> {
        self.values.allows(value).map_err(|range| format!("{} cannot be set to {value}: {range}", self.id()))
    }

    /// Whether two texts are the same value: tabs and blanks, `4m` and `4194304`, `yes` and `on`, `a [b] c` and `b`.
    pub fn same(&self, one: &str, other: &str) -> bool {
        self.values.same(self.chosen(one), self.chosen(other))
    }

    /// The value in what a file says: of `always [madvise] never` the word in brackets.
    fn chosen<'a>(&self, text: &'a str) -> &'a str {
        let text = text.trim();
        let Access::File { bracketed: true, .. } = self.access else { return text };
        let in_brackets = || text.split_once('[')?.1.split_once(']').map(|(word, _)| word);
        in_brackets().unwrap_or(text)
    }
}

/// How a parameter is read and set.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Access {
    /// A file below `/proc/sys`, by its name: [`super::sysctl_path`].
    Sysctl,
    /// A file of the kernel.
    File {
        /// Its path. `{interface}` is the name of the interface, `{irq}` each of its interrupts, as they are named in
        /// `/sys/class/net/{interface}/device/msi_irqs`, and `*` each queue or CPU.
        path: String,
        /// Whether it lists all words with the present one in brackets: `always [madvise] never`.
        #[serde(default)]
        bracketed: bool,
    },
    /// `ethtool`.
    Ethtool {
        /// The options of `ethtool` that it belongs to.
        group: DeviceGroup,
        /// Its name there: `rx`, `rx-usecs`, `gro`.
        key: String,
    },
    /// A statement in the configuration of the server: [`super::value_in`], [`super::with_value`].
    Configuration,
    /// An option of the server's command line: `-n` of `named`.
    Argument(String),
    /// A limit of its process, by the name that systemd has for it: `NOFILE`.
    Limit(String),
    /// A directive of its systemd unit: `Nice`.
    Unit(String),
    /// The number of processes that its unit is started as, by the name of the unit: `kresd@`.
    Instances(String),
    /// The share of the CPU time that its control group may use, in percent of one CPU.
    Quota,
    /// It cannot be set.
    None,
}

/// A group of settings of a network card: the options of `ethtool` that read and set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceGroup {
    /// Lengths of the rings: `-g` and `-G`.
    Ring,
    /// How long interrupts wait for more packets: `-c` and `-C`.
    Coalesce,
    /// Work that the card or the driver does for the kernel: `-k` and `-K`. The value is `on` or `off`.
    Feature,
    /// Queues: `-l` and `-L`.
    Channels,
}

impl DeviceGroup {
    /// The option of `ethtool` that shows the group.
    pub fn option_to_show(self) -> &'static str {
        match self {
            DeviceGroup::Ring => "-g",
            DeviceGroup::Coalesce => "-c",
            DeviceGroup::Feature => "-k",
            DeviceGroup::Channels => "-l",
        }
    }

    /// The option of `ethtool` that sets values of the group.
    pub fn option_to_set(self) -> &'static str {
        match self {
            DeviceGroup::Ring => "-G",
            DeviceGroup::Coalesce => "-C",
            DeviceGroup::Feature => "-K",
            DeviceGroup::Channels => "-L",
        }
    }
}

/// Whose value a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Of a network namespace.
    Namespace,
    /// Of the host: all its namespaces have the same.
    Host,
    /// Of a network interface.
    Interface,
    /// Of the server alone.
    Server,
}

/// What a new value needs before it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Needs {
    /// It holds at once.
    Live,
    /// It holds for sockets that are opened after it: the server is started again.
    NewSockets,
    /// The server reads its configuration again.
    Reload,
    /// The server is started again.
    Restart,
}

/// A series that moves where a parameter bears on a run. In the catalogue it is one text:
///
/// ```text
///   host snmp.Udp.RcvbufErrors                       a counter that rises
///   process thread.*.cpu_ns share 0.6                a counter of time, that is this share of the run or more
///   server recursing at-least 100                    a gauge
///   server tcp.open near 0.9 times num-threads       a gauge, against the parameter itself
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Sign {
    /// Who has it.
    pub source: SignSource,
    /// Its name; `*` stands for any part of it.
    pub series: String,
    /// From when on it is a sign.
    pub measure: SignMeasure,
}

/// The source of a sign, as records name it: that of the server's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignSource {
    /// The kernel of the server's host.
    Host,
    /// The processes of the server.
    Process,
    /// The statistics of the server.
    Server,
}

/// From when on a series is a sign.
#[derive(Clone, Debug, PartialEq)]
pub enum SignMeasure {
    /// The counter rose.
    Rise,
    /// The counter of time, in `_ns`, rose by this share of the run's time or more.
    Share(f64),
    /// The gauge reached this value.
    AtLeast(u64),
    /// The gauge reached a share of the present value of the parameter whose sign it is.
    Near {
        /// The share.
        share: f64,
        /// The parameter of the same server that the value is multiplied with: threads that have the limit each.
        times: Option<String>,
    },
}

impl TryFrom<String> for Sign {
    type Error = String;

    fn try_from(text: String) -> Result<Sign, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let cannot =
            || format!("\"{text}\" is not a sign: write SOURCE SERIES, or more as in the comment of `Sign`");
        let [source, series, measure @ ..] = words.as_slice() else { return Err(cannot()) };
        let source = match *source {
            "host" => SignSource::Host,
            "process" => SignSource::Process,
            "server" => SignSource::Server,
            _ => return Err(cannot()),
        };
        let share = |text: &str| {
            text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share)).ok_or_else(cannot)
        };
        let measure = match measure {
            [] => SignMeasure::Rise,
            ["share", of] => SignMeasure::Share(share(of)?),
            ["at-least", value] => SignMeasure::AtLeast(value.parse().map_err(|_| cannot())?),
            ["near", of] => SignMeasure::Near { share: share(of)?, times: None },
            ["near", of, "times", times] => {
                SignMeasure::Near { share: share(of)?, times: Some((*times).to_owned()) }
            }
            _ => return Err(cannot()),
        };
        Ok(Sign { source, series: (*series).to_owned(), measure })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_is_read_from_its_text() {
        let sign = |text: &str| Sign::try_from(text.to_owned());
        let read = sign("server tcp.open near 0.9 times num-threads").unwrap();
        let near = SignMeasure::Near { share: 0.9, times: Some("num-threads".to_owned()) };
        assert_eq!((read.source, read.series.as_str(), read.measure), (SignSource::Server, "tcp.open", near));
        assert_eq!(sign("host softnet.dropped").unwrap().measure, SignMeasure::Rise);
        assert_eq!(sign("process cpu_ns share 0.5").unwrap().measure, SignMeasure::Share(0.5));
        assert_eq!(sign("server recursing at-least 10").unwrap().measure, SignMeasure::AtLeast(10));
        for broken in
            ["", "host", "kernel a", "host a share", "host a share 2", "host a near 1 times", "host a b c"]
        {
            assert!(sign(broken).unwrap_err().contains("is not a sign"), "{broken}");
        }
    }

    fn bracketed() -> Tunable {
        let text = r#"
            name = "a"
            meaning = "A."
            access = { file = { path = "/sys/a", bracketed = true } }
            scope = "host"
            needs = "live"
            values = { words = ["always", "madvise", "never"] }
            source = "none"
        "#;
        toml::from_str(text).unwrap()
    }

    #[test]
    fn of_words_in_brackets_the_chosen_one_counts() {
        let row = bracketed();
        assert!(row.same("always [madvise] never\n", "madvise"));
        assert_eq!(row.candidates(Some("always [madvise] never"), 2), ["always", "never"]);
        let refused = row.allows("sometimes").unwrap_err();
        assert!(refused.contains("cannot be set to sometimes"), "{refused}");
    }

    #[test]
    fn a_parameter_of_the_host_is_named_by_its_name_alone() {
        let mut row = bracketed();
        row.of = "memory".to_owned();
        assert_eq!((row.id(), row.is_of_host()), ("a".to_owned(), true));
        row.of = "bind".to_owned();
        assert_eq!((row.id(), row.is_of_host()), ("bind a".to_owned(), false));
    }
}
