//! The rules of `rules.toml`: which evidence shows which bottleneck.

use std::sync::LazyLock;

use dnsdyno_servers::{is_series, server_of};
use serde::Deserialize;

/// All rules, in the order of the file: a cause stands above what it causes.
pub(super) fn rules() -> &'static [Rule] {
    // The file is a part of the program: a test reads it, and it cannot be another one here.
    static RULES: LazyLock<Vec<Rule>> =
        LazyLock::new(|| read().unwrap_or_else(|error| panic!("rules.toml: {error}")));
    &RULES
}

fn read() -> Result<Vec<Rule>, String> {
    let file: File = toml::from_str(include_str!("rules.toml")).map_err(|error| error.to_string())?;
    match file.rule.iter().find_map(unknown_name) {
        Some(name) => Err(format!("the catalogue of servers does not have {name}")),
        None => Ok(file.rule),
    }
}

/// A series or parameter of a server that no server has.
fn unknown_name(rule: &Rule) -> Option<String> {
    let of_server = rule.sign.iter().filter(|sign| sign.kind == Kind::Server);
    let series = of_server.flat_map(|sign| sign.shape.series()).find(|name| !is_series(name));
    let parameters = rule.parameter.iter().filter_map(|parameter| {
        let server = server_of(&parameter.of)?;
        (!server.has_parameter(&parameter.name)).then(|| format!("{} of {}", parameter.name, parameter.of))
    });
    series.map(str::to_owned).into_iter().chain(parameters).next()
}

#[derive(Deserialize)]
struct File {
    rule: Vec<Rule>,
}

/// A bottleneck and what shows it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    /// The name, which programs rely on.
    pub(super) name: String,
    /// What happened, as a part of a sentence.
    pub(super) title: String,
    /// Over which transport the queries are that it can explain; `None` = over any.
    pub(super) over: Option<Over>,
    /// The ends of queries that it can explain, in the order in which they are explained.
    #[serde(default = "ends_after_sending")]
    pub(super) loss: Vec<Loss>,
    /// Whether it can explain slow responses.
    #[serde(default)]
    pub(super) slow: bool,
    /// Rules that show the effects of this one: where this one explains a loss, their evidence is part of its own.
    #[serde(default)]
    pub(super) behind: Vec<String>,
    /// How long after the interval of a query its evidence may be counted, in seconds.
    #[serde(default = "one_second")]
    pub(super) after_s: u64,
    /// What to try, in words.
    pub(super) advice: String,
    /// How to see that a change has helped.
    pub(super) check: String,
    /// Where the knowledge is from.
    pub(super) source: String,
    /// The parameters that bear on it.
    #[serde(default)]
    pub(super) parameter: Vec<ParameterRule>,
    /// What shows it, the nearest to the lost queries first.
    pub(super) sign: Vec<Sign>,
}

fn ends_after_sending() -> Vec<Loss> {
    vec![Loss::TimedOut, Loss::Refused]
}

fn one_second() -> u64 {
    1
}

/// What queries travel in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Over {
    /// Datagrams.
    Udp,
    /// Connections of TCP.
    Tcp,
}

impl Over {
    /// Whether a transport of this name has such packets.
    pub(super) fn is_in(self, transport: &str) -> bool {
        match self {
            Over::Udp => matches!(transport, "udp" | "udp+tcp" | "doq" | "doh3"),
            Over::Tcp => !matches!(transport, "udp" | "doq" | "doh3"),
        }
    }
}

/// How a query can end without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Loss {
    /// No answer arrived in time.
    TimedOut,
    /// The network refused it, or its connection failed.
    Refused,
    /// It was not sent.
    NotSent,
    /// The answer was SERVFAIL.
    Servfail,
    /// The answer was not what the server said before the load.
    Wrong,
}

impl Loss {
    /// Their number.
    pub(super) const COUNT: usize = 5;
}

/// A parameter that bears on a bottleneck.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ParameterRule {
    /// `kernel`, `process`, or the software whose parameter it is.
    pub(super) of: String,
    /// Its name; one with `*` stands for all that fit and have a value.
    pub(super) name: String,
    /// The counter that must be the evidence and have risen; `None` = it bears on any evidence of the rule.
    pub(super) for_series: Option<String>,
    /// What to try.
    pub(super) r#try: String,
}

/// What shows a bottleneck.
#[derive(Debug, Deserialize)]
pub(super) struct Sign {
    /// The kind of source.
    pub(super) kind: Kind,
    /// Whose.
    #[serde(default)]
    pub(super) side: Whose,
    /// The part of the sentence after "in which". `{source}`, `{count}`, `{value}`, `{limit}`, `{share}` and `{part}`
    /// are replaced.
    pub(super) clause: String,
    /// One and many of what is counted.
    #[serde(default)]
    pub(super) unit: (String, String),
    /// Whether it is no chance where queries are lost, even if it is so in other intervals too: the server itself was
    /// at its limit.
    #[serde(default)]
    pub(super) needs_no_contrast: bool,
    /// It can delay queries, but loses none.
    #[serde(default)]
    pub(super) only_slow: bool,
    /// It counts only if there are as many of it as queries without an answer, in the whole run and in nearly each
    /// interval of it, and if other queries were answered without it.
    #[serde(default)]
    pub(super) as_many_as_lost: bool,
    /// What happened, instead of the title of the rule, where this sign alone shows it.
    pub(super) title: Option<String>,
    /// It is used only where no source of this kind is watched, which would say it better.
    pub(super) instead_of: Option<Kind>,
    #[serde(flatten)]
    pub(super) shape: Shape,
}

/// The kind of source of a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    /// The generator's own figures.
    Load,
    Host,
    Process,
    Server,
    Any,
}

/// On which side a source is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Whose {
    #[default]
    Server,
    Generator,
    Any,
}

/// How series become evidence.
#[derive(Debug, Deserialize)]
#[serde(tag = "shape", rename_all = "kebab-case")]
pub(super) enum Shape {
    /// Counters that rise by one for a message that is lost or has to wait; `*` stands for any part of a name.
    Count {
        counters: Vec<String>,
        #[serde(default)]
        minus: Vec<String>,
    },
    /// Counters of time, as a share.
    Time {
        counters: Vec<String>,
        /// Of what.
        of: Whole,
        /// The share from which on it counts.
        at_least: f64,
        /// Whether each series counts alone, not their sum. What the process waited for a CPU is then added, by their
        /// shares of its CPU time.
        #[serde(default)]
        each: bool,
        /// So many CPUs of the host are not used by the process.
        spare_cpus: Option<f64>,
        /// The host uses this share of its CPU time.
        busy_host: Option<f64>,
    },
    /// A gauge near a limit.
    Limit { gauge: String, limits: Vec<Limit>, at_least: f64 },
    /// A gauge that has reached another one: a queue and its length.
    FullQueue { gauge: String, limit_gauge: String },
    /// A gauge of messages that wait, each of which may be a query without an answer.
    Waiting { gauge: String, at_least: u64 },
    /// The bytes of an interface against its speed, or that of its queue.
    Bandwidth { at_least: f64 },
    /// The drops of one of several UDP sockets with the same address, if it has this share of all.
    HotSocket { at_least: f64 },
}

impl Shape {
    /// The names of its series.
    fn series(&self) -> impl Iterator<Item = &str> {
        let (counters, gauges): (&[String], [Option<&String>; 2]) = match self {
            Shape::Count { counters, .. } | Shape::Time { counters, .. } => (counters, [None, None]),
            Shape::Limit { gauge, .. } | Shape::Waiting { gauge, .. } => (&[], [Some(gauge), None]),
            Shape::FullQueue { gauge, limit_gauge } => (&[], [Some(gauge), Some(limit_gauge)]),
            Shape::Bandwidth { .. } | Shape::HotSocket { .. } => (&[], [None, None]),
        };
        counters.iter().chain(gauges.into_iter().flatten()).map(String::as_str)
    }
}

/// A whole of which a time is a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Whole {
    /// The length of the interval.
    Interval,
    /// The time of all CPUs of the host.
    Cpus,
}

/// The limit of a gauge.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Limit {
    /// The software whose limit it is, or the kind of source.
    pub(super) of: String,
    /// The setting that has it.
    #[serde(default)]
    pub(super) setting: String,
    /// Without a setting, the limit.
    pub(super) fixed: Option<u64>,
    /// A setting to multiply it with: threads, or processes, that have the limit each; 1 where the configuration does
    /// not have it.
    pub(super) times: Option<String>,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_file_of_rules_can_be_read_and_has_every_rule_once() {
        let read = read().unwrap();
        let names: BTreeSet<_> = read.iter().map(|rule| rule.name.as_str()).collect();
        let expected = [
            "accept-queue",
            "back-end",
            "backlog",
            "closed-port",
            "conntrack",
            "cpu-all",
            "cpu-one-thread",
            "cpu-steal",
            "cpu-throttled",
            "fragments",
            "full-window",
            "generator",
            "link",
            "local-ports",
            "memory",
            "open-files",
            "path-loss",
            "rate-limit",
            "server-tcp-limit",
            "syn-queue",
            "tcp-memory",
            "udp-receive-queue",
            "udp-receive-queue-one-socket",
            "udp-send-queue",
        ];
        assert_eq!(names, expected.into());
        assert_eq!(read.len(), names.len());
    }

    #[test]
    fn a_rule_that_names_what_no_server_has_is_refused() {
        let of_series = |name: &str| {
            let mut rules = read().unwrap();
            let rule = rules.iter_mut().find(|rule| rule.name == "rate-limit").unwrap();
            let sign = rule.sign.iter_mut().find(|sign| sign.kind == Kind::Server).unwrap();
            sign.shape = Shape::Waiting { gauge: name.to_owned(), at_least: 1 };
            unknown_name(rule)
        };
        assert_eq!(of_series("recursing"), None);
        assert_eq!(of_series("dropped.rate-limits").as_deref(), Some("dropped.rate-limits"));
        let mut rules = read().unwrap();
        let parameter = rules.iter_mut().flat_map(|rule| &mut rule.parameter).find(|one| one.of == "bind");
        parameter.unwrap().name = "tcp-client".to_owned();
        assert_eq!(rules.iter().find_map(unknown_name).as_deref(), Some("tcp-client of bind"));
    }

    #[test]
    fn a_cause_stands_above_its_effects() {
        for (number, rule) in rules().iter().enumerate() {
            for effect in &rule.behind {
                let place = rules().iter().position(|other| other.name == *effect);
                assert!(place.is_some_and(|place| place > number), "{}: {effect}", rule.name);
            }
        }
    }
}
