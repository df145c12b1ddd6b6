//! The options of a search, as the user gives them: how it searches, and for what.

use super::error::FindError;

/// The options of a search as the user gives them.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Options {
    /// What is searched for; `None` = queries per second.
    pub what: Option<String>,
    /// How; `None` = `search`.
    pub method: Option<String>,
    /// The criteria; none = the default.
    pub criteria: Vec<String>,
    /// Goals with names, each `NAME: CRITERION[, CRITERION…][, DURATION]`, of `mlrsearch` with its attributes; none =
    /// the criteria above are the one goal, of `mlrsearch` the usual two.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub goals: Vec<String>,
    /// The first load.
    pub start: Option<String>,
    /// The lowest load.
    pub least: Option<String>,
    /// The highest load.
    pub most: Option<String>,
    /// The length of a trial.
    pub trial: Option<String>,
    /// The pause between trials.
    pub rest: Option<String>,
    /// Half of the width of the interval, as a percentage of the limit.
    pub precision: Option<String>,
    /// The most trials.
    pub trials: Option<String>,
    /// Queries per second of each client.
    pub per_client: Option<String>,
    /// How often the search of `rfc2544` and `rfc8219` is repeated.
    pub repeats: Option<String>,
}

/// What is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Queries per second.
    Queries,
    /// Connections per second, with one query each.
    Connections,
    /// Clients held, each with its connection.
    Clients,
}

/// How it is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Doubling, and then trials near the limit until it can be stated with its interval.
    Search,
    /// One stair: the highest step below which no step failed.
    Stair,
    /// One ramp, as resperf makes it, with its knee found by rule.
    Ramp,
    /// A ladder of windows of outstanding queries.
    Window,
    /// Binary search to zero loss, repeated (RFC 2544).
    Rfc2544,
    /// The same for DNS (RFC 8219, section 9): an answer counts within one second.
    Rfc8219,
    /// Multiple Loss Ratio Search (RFC 9971): the bounds of several loss ratios.
    MlrSearch,
}

impl Method {
    /// Every method by its name.
    pub const ALL: [(&str, Method); 7] = [
        ("search", Method::Search),
        ("stair", Method::Stair),
        ("ramp", Method::Ramp),
        ("window", Method::Window),
        ("rfc2544", Method::Rfc2544),
        ("rfc8219", Method::Rfc8219),
        ("mlrsearch", Method::MlrSearch),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Method::ALL.into_iter().find(|(_, method)| *method == self).map_or("search", |(name, _)| name)
    }

    /// The method of this name; `search` without one.
    pub(super) fn of(name: Option<&str>) -> Result<Method, FindError> {
        let Some(name) = name else { return Ok(Method::Search) };
        let found = Method::ALL.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, method)| method).ok_or_else(|| FindError::Method(name.to_owned()))
    }

    pub(super) fn is_by_book(self) -> bool {
        matches!(self, Method::Rfc2544 | Method::Rfc8219)
    }
}

impl What {
    /// The unit of its figures.
    pub fn unit(self) -> &'static str {
        match self {
            What::Queries => "qps",
            What::Connections => "connections/s",
            What::Clients => "clients",
        }
    }

    /// Its name as an option.
    pub fn name(self) -> &'static str {
        match self {
            What::Queries => "qps",
            What::Connections => "connections",
            What::Clients => "clients",
        }
    }

    /// What has this name; queries without one.
    pub(super) fn of(name: Option<&str>) -> Result<What, FindError> {
        match name {
            None | Some("qps" | "queries") => Ok(What::Queries),
            Some("connections" | "conns") => Ok(What::Connections),
            Some("clients") => Ok(What::Clients),
            Some(other) => Err(FindError::What(other.to_owned())),
        }
    }

    /// The first load, the lowest and the highest, where the user gives none.
    pub(super) fn usual_loads(self) -> (f64, f64, f64) {
        match self {
            What::Queries => (1_000.0, 100.0, 50e6),
            What::Connections => (100.0, 10.0, 5e6),
            What::Clients => (100.0, 10.0, 1e6),
        }
    }
}
