//! What the options of resperf mean: the load over time, its limits, and the points of the plot.

use std::path::PathBuf;

use dnsdyno_plan::{Draft, WorkerCount};
use dnsdyno_text::notation::format_duration_ns;

use crate::common::{Addresses, Messages, Network, recorded};
use crate::options::{Given, Refusal};
use crate::values::Value;

/// The settings of a run.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) load: RampAndHold,
    pub(super) points: Points,
    pub(super) plot_file: PathBuf,
    /// Of the highest throughput, in percent.
    pub(super) max_loss_percent: f64,
    pub(super) max_outstanding: u32,
    pub(super) clients: u32,
    pub(super) network: Network,
    pub(super) addresses: Addresses,
    pub(super) is_recorded: bool,
    pub(super) draft: Draft,
}

/// The rate over time.
///
/// ```text
/// max_qps      ________
///             /
///        ____/
///       | ramp | constant |
/// ```
#[derive(Clone, Copy, Debug)]
pub(super) struct RampAndHold {
    pub(super) max_qps: f64,
    pub(super) ramp_ns: u64,
    pub(super) constant_ns: u64,
}

/// The points of the plot: the time of the load in equal parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Points {
    pub(super) count: u64,
    pub(super) length_ns: u64,
    /// Intervals of the record in each.
    pub(super) intervals: u64,
}

impl RampAndHold {
    /// The time in which queries are due.
    pub(super) fn length_ns(&self) -> u64 {
        self.ramp_ns.saturating_add(self.constant_ns)
    }

    /// The rate at an instant.
    pub(super) fn rate_qps(&self, at_ns: f64) -> f64 {
        if at_ns < self.ramp_ns as f64 { self.max_qps * at_ns / self.ramp_ns as f64 } else { self.max_qps }
    }

    /// The queries that are sent. The first one is due when the load has reached one query; with a constant phase the
    /// load ends just before its end.
    pub(super) fn queries(&self) -> u64 {
        let rise = 0.5 * self.max_qps * self.ramp_ns as f64;
        let due = (rise + self.max_qps * self.constant_ns as f64) / SECOND_NS as f64;
        if self.constant_ns > 0 { due.ceil() as u64 - 1 } else { due.floor() as u64 }
    }

    fn apply(&self, draft: &mut Draft) {
        // Less than one query is an empty run there, and one query here.
        draft.count = Some(self.queries().max(1).to_string());
        let rate = self.max_qps.to_string();
        if self.ramp_ns == 0 {
            draft.rate = Some(rate);
            draft.duration = Some(format_duration_ns(self.constant_ns));
            return;
        }
        draft.ramp = Some(format!("0..{rate}"));
        draft.over = Some(format_duration_ns(self.ramp_ns));
        draft.hold = (self.constant_ns > 0).then(|| format_duration_ns(self.constant_ns));
    }
}

impl Points {
    /// So many parts that none is longer than `wanted_ns`; each is of one or several intervals of the record.
    fn of(length_ns: u64, wanted_ns: u64) -> Points {
        let count = length_ns.div_ceil(wanted_ns.max(1)).max(1);
        let intervals = length_ns.div_ceil(count).div_ceil(LONGEST_INTERVAL_NS).max(1);
        let interval_ns = length_ns.div_ceil(count * intervals).max(1);
        Points { count, length_ns: interval_ns * intervals, intervals }
    }

    fn interval_ns(&self) -> u64 {
        self.length_ns / self.intervals
    }
}

impl Settings {
    /// Reads them, in the order in which resperf finds mistakes.
    pub(super) fn read(given: &Given) -> Result<Settings, Refusal> {
        let is_recorded = recorded(given)?;
        let network = Network::read(given, 'M')?;
        let number = |letter, usual| given.get(letter).and_then(Value::number).unwrap_or(usual);
        let (clients, max_outstanding) = (number('C', 1), number('q', IDS));
        // The original multiplies in 32 bits.
        if max_outstanding > clients.wrapping_mul(IDS) {
            return Err(fatal(&format!(
                "number of outstanding packets ({max_outstanding}) must not be more than 64K per client"
            )));
        }
        let load = load(given)?;
        let addresses = Addresses::read(given, network.mode)?;
        let messages = Messages::read(given)?;
        let timeout_ns = time_ns(given, 't', USUAL_TIMEOUT_NS).clamp(SHORTEST_TIMEOUT_NS, LONGEST_TIMEOUT_NS);
        let shortest_ns = SHORTEST_INTERVAL_NS.max(timeout_ns.div_ceil(MOST_OPEN_INTERVALS));
        let wanted_ns = time_ns(given, 'i', SECOND_NS / 2);
        if wanted_ns < shortest_ns {
            let shortest = shortest_ns as f64 / SECOND_NS as f64;
            return Err(fatal(&format!("plot_interval must be at least {shortest} with this timeout")));
        }
        let points = Points::of(load.length_ns(), wanted_ns);
        let mut draft = Draft {
            passes: (!given.has('R')).then_some(1),
            timeout: Some(format_duration_ns(timeout_ns)),
            interval: Some(format_duration_ns(points.interval_ns())),
            workers: Some(WorkerCount::Number(1)),
            stop_when: Some(limits(max_outstanding, number('F', MOST_BEHIND))),
            ..Draft::default()
        };
        load.apply(&mut draft);
        network.apply(clients, &mut draft);
        addresses.apply(network.mode, clients, &mut draft);
        messages.apply(&mut draft);
        let plot_file = given.get('P').and_then(Value::text).unwrap_or("resperf.gnuplot");
        Ok(Settings {
            load,
            points,
            plot_file: PathBuf::from(plot_file),
            max_loss_percent: given.get('L').and_then(Value::double).unwrap_or(100.0),
            max_outstanding,
            clients,
            network,
            addresses,
            is_recorded,
            draft,
        })
    }
}

fn load(given: &Given) -> Result<RampAndHold, Refusal> {
    let load = RampAndHold {
        max_qps: given.get('m').and_then(Value::double).unwrap_or(100_000.0),
        ramp_ns: time_ns(given, 'r', 60 * SECOND_NS),
        constant_ns: time_ns(given, 'c', 0),
    };
    if load.length_ns() == 0 {
        return Err(fatal("rampup_time and constant_traffic_time must not both be 0"));
    }
    if load.max_qps == 0.0 {
        return Err(fatal("max_qps must be above 0"));
    }
    Ok(load)
}

/// What ends the run early, as conditions of a plan.
fn limits(max_outstanding: u32, fall_behind: u32) -> Vec<String> {
    let behind = (fall_behind > 0).then(|| format!("behind>={fall_behind}"));
    behind.into_iter().chain([format!("outstanding>={max_outstanding}")]).collect()
}

fn time_ns(given: &Given, letter: char, usual_ns: u64) -> u64 {
    given.get(letter).and_then(Value::micros).map_or(usual_ns, |micros| micros.saturating_mul(1_000))
}

fn fatal(text: &str) -> Refusal {
    Refusal::Fatal(text.to_owned())
}

const SECOND_NS: u64 = 1_000_000_000;

/// The usual timeout.
const USUAL_TIMEOUT_NS: u64 = 45 * SECOND_NS;

/// Message IDs of a socket; the usual limit of outstanding queries.
const IDS: u32 = 65_536;

/// The usual limit of queries behind the schedule.
const MOST_BEHIND: u32 = 1_000;

/// The limits of a plan: those of an interval of the record, and of the timeout.
const SHORTEST_INTERVAL_NS: u64 = 10_000_000;
const LONGEST_INTERVAL_NS: u64 = 3_600 * SECOND_NS;
const MOST_OPEN_INTERVALS: u64 = 1_000;
const SHORTEST_TIMEOUT_NS: u64 = 1_000_000;
const LONGEST_TIMEOUT_NS: u64 = 600 * SECOND_NS;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resperf::syntax::SYNTAX;

    fn settings(line: &str) -> Result<Settings, Refusal> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        SYNTAX.read(&words).and_then(|given| Settings::read(&given))
    }

    #[test]
    fn the_time_of_the_load_is_divided_into_equal_points_none_longer_than_asked_for() {
        let s = SECOND_NS;
        assert_eq!(Points::of(60 * s, s / 2), Points { count: 120, length_ns: s / 2, intervals: 1 });
        assert_eq!(Points::of(s, 300_000_000), Points { count: 4, length_ns: s / 4, intervals: 1 });
        assert_eq!(Points::of(s, 5 * s), Points { count: 1, length_ns: s, intervals: 1 });
        let long = Points::of(10_000 * s, 9_000 * s);
        assert_eq!((long.count, long.length_ns, long.interval_ns()), (2, 5_000 * s, 2_500 * s));
    }

    #[test]
    fn the_usual_settings_are_those_of_the_original() {
        let settings = settings("resperf").unwrap();
        let draft = &settings.draft;
        assert_eq!(draft.ramp.as_deref(), Some("0..100000"));
        assert_eq!((draft.over.as_deref(), draft.hold.as_deref()), (Some("1m"), None));
        assert_eq!((draft.timeout.as_deref(), draft.passes, draft.clients), (Some("45s"), Some(1), Some(1)));
        assert_eq!(draft.stop_when, Some(vec!["behind>=1000".to_owned(), "outstanding>=65536".to_owned()]));
        assert_eq!((settings.points.count, settings.max_loss_percent), (120, 100.0));
    }

    #[test]
    fn a_load_may_be_a_ramp_a_constant_rate_or_both() {
        let draft = |line: &str| settings(line).unwrap().draft;
        let both = draft("resperf -m 1500.5 -r 2 -c .5 -R -F 0 -q 10");
        assert_eq!((both.ramp.as_deref(), both.hold.as_deref()), (Some("0..1500.5"), Some("500ms")));
        assert_eq!((both.passes, both.stop_when), (None, Some(vec!["outstanding>=10".to_owned()])));
        let constant = draft("resperf -m 10 -r 0 -c 3");
        assert_eq!((constant.rate.as_deref(), constant.duration.as_deref()), (Some("10"), Some("3s")));
        assert!(constant.ramp.is_none());
        let queries = |line: &str| draft(line).count.unwrap();
        let lines =
            ["-m 1 -r 2 -c 2", "-m 10 -r 2 -c 0", "-m 4 -r 3 -c 1", "-m 7 -r 1 -c 3", "-m 10 -r 0 -c 3"];
        // As resperf 2.16 sends them.
        assert_eq!(lines.map(|line| queries(&format!("resperf {line}"))), ["2", "10", "9", "24", "29"]);
    }

    #[test]
    fn more_sockets_than_there_are_ports_are_refused_when_the_addresses_are_checked() {
        let settings = settings("resperf -C 4294967295 -x 65535").unwrap();
        assert_eq!(settings.draft.local_ports.as_deref(), Some("65535..4295032829"));
        let check = settings.addresses.check(settings.network.mode, settings.clients);
        assert_eq!(check, Err(fatal("port 65536 out of range")));
    }

    #[test]
    fn mistakes_are_told_in_the_order_of_the_original() {
        let refusal = |line: &str| settings(line).unwrap_err();
        assert_eq!(
            refusal("resperf -r 0 -q 65537 -f x"),
            fatal("number of outstanding packets (65537) must not be more than 64K per client")
        );
        assert_eq!(
            refusal("resperf -r 0 -f x"),
            fatal("rampup_time and constant_traffic_time must not both be 0")
        );
        assert_eq!(refusal("resperf -M x -r 0"), Refusal::Warned("invalid socket mode".to_owned()));
        assert_eq!(refusal("resperf -i 0"), fatal("plot_interval must be at least 0.045 with this timeout"));
        assert!(settings("resperf -i 0.045").is_ok() && settings("resperf -i .01 -t 5").is_ok());
    }
}
