//! What the record of a trial shows of the parameters: how much the server answered, and which of the counters on which
//! they act have moved.

use dnsdyno_measure::{PERCENTILES, Samples, Side, Watched, WatchedKind};
use dnsdyno_record::figures::rate_qps;
use dnsdyno_record::{Digest, Headline};
use dnsdyno_servers::tuning::{Sign, SignMeasure, SignSource};

use super::night::Figures;
use crate::experiment::loss;

/// What a trial is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judge {
    /// Answers per second, in time: under a load beyond what the server holds.
    Answered,
    /// A percentile of the latency, by its place in [`PERCENTILES`]: the lower the better.
    Percentile(usize),
}

/// A parameter, as far as the evidence needs it.
#[derive(Clone, Copy, Debug)]
pub struct Acting<'a> {
    /// The series on which it acts; none: always.
    pub signs: &'a [Sign],
    /// Its value in this trial as a number, where it is one.
    pub value: Option<u64>,
}

impl Judge {
    /// The judge of this word: `answered`, `p99`.
    pub fn of(word: &str) -> Option<Judge> {
        let percentile = || PERCENTILES.iter().position(|(_, name, _)| *name == word);
        if word == "answered" { Some(Judge::Answered) } else { percentile().map(Judge::Percentile) }
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Judge::Answered => "answered",
            Judge::Percentile(at) => PERCENTILES.get(at).map_or("", |(_, name, _)| *name),
        }
    }

    /// What is to rise: answers per second, without those of `errors`, or 1 / seconds. `None` where the record does
    /// not have it.
    fn gain(self, run: &Digest, errors: u64) -> Option<f64> {
        match self {
            // Trials have one length, so that one of less than a second may be judged too.
            Judge::Answered => {
                Some(rate_qps(run.tally().ends.answered.saturating_sub(errors), run.sending_ns()))
            }
            Judge::Percentile(at) => {
                let (.., q) = PERCENTILES.get(at)?;
                Some(1e9 / (run.percentile(*q)?.upper.written(run.header.timeout_ns).ns.max(1)) as f64)
            }
        }
    }
}

/// The figures of a trial, with whether the signs of each parameter have moved, or may have: where a source of one was
/// not watched. `named` gives the value of another parameter of the server, by its name. `None` where the record does
/// not have the figure. `errors_count` = an answer that says that the server has failed is one as any other.
pub fn figures(
    run: &Digest,
    judge: Judge,
    errors_count: bool,
    parameters: &[Acting<'_>],
    named: impl Fn(&str) -> Option<u64>,
) -> Option<Figures> {
    let errors = if errors_count { 0 } else { errors(run) };
    let shown = |parameter: &Acting<'_>| -> Vec<Option<f64>> {
        parameter.signs.iter().map(|sign| shown(run, sign, parameter.value, &named)).collect()
    };
    let signs: Vec<Vec<Option<f64>>> = parameters.iter().map(shown).collect();
    let moved = |of: &Vec<Option<f64>>| of.is_empty() || of.iter().any(Option::is_some);
    let accounts_for = |of: &Vec<Option<f64>>| of.iter().flatten().copied().fold(0.0, f64::max);
    Some(Figures {
        gain: judge.gain(run, errors).filter(|gain| *gain > 0.0)?,
        moved: signs.iter().map(moved).collect(),
        accounts_for: signs.iter().map(accounts_for).collect(),
        is_saturated: judge == Judge::Answered && has_answered_all(run, errors),
        memory_bytes: memory(run),
    })
}

/// Whether the server has answered all of a load that has a rate of its own. In a closed loop the load follows the
/// server, which then answers all of any load.
fn has_answered_all(run: &Digest, errors: u64) -> bool {
    let is_few = |share: f64| share < ALL_ANSWERED;
    let of_errors = errors as f64 / run.tally().ends.answered.max(1) as f64;
    run.header.headline == Headline::Response && loss(run).is_none_or(is_few) && is_few(of_errors)
}

/// Answers in time that say that the server has failed.
fn errors(run: &Digest) -> u64 {
    let in_time = run.tally().rcodes_in_time();
    in_time.filter(|(code, _)| ERRORS.contains(code)).map(|(_, count)| count).sum()
}

/// The sources of the server's side, of a kind.
fn sources(run: &Digest, kind: WatchedKind) -> impl Iterator<Item = &Samples> {
    let is_it =
        move |watched: &Watched| watched.kind == kind && matches!(watched.side, Side::Server | Side::Both);
    let sources = run.header.watched.iter().zip(run.watched());
    sources.filter(move |(watched, _)| is_it(watched)).filter_map(|(_, samples)| samples.as_ref())
}

/// For which share of what was not answered, or of the time, a sign accounts; `None` where it has not moved, and 0
/// where it only says that something is used, or was not watched. Where all was answered, what has moved accounts for
/// all of it.
fn shown(run: &Digest, sign: &Sign, value: Option<u64>, named: &impl Fn(&str) -> Option<u64>) -> Option<f64> {
    let kind = match sign.source {
        SignSource::Host => WatchedKind::Host,
        SignSource::Process => WatchedKind::Process,
        SignSource::Server => WatchedKind::Server,
    };
    let series = |of: &Samples, is_gauge: bool| -> Vec<u64> {
        let map = if is_gauge { &of.gauges } else { &of.counters };
        map.iter().filter(|(name, _)| is_named(name, &sign.series)).map(|(_, value)| *value).collect()
    };
    let tally = run.tally();
    let unanswered = tally.scheduled.saturating_sub(tally.ends.answered).max(1);
    let share = |of: &Samples| match &sign.measure {
        SignMeasure::Rise => {
            let rise = series(of, false).into_iter().fold(0, u64::saturating_add);
            // A packet or two are no sign among a million.
            (rise > tally.scheduled / ONE_IN).then(|| (rise as f64 / unanswered as f64).min(1.0))
        }
        SignMeasure::Share(least) => {
            let longest = series(of, false).into_iter().max().unwrap_or(0);
            let share = longest as f64 / run.schedule_ns().max(1) as f64;
            (share >= *least).then_some(share.min(1.0))
        }
        SignMeasure::AtLeast(least) => {
            series(of, true).into_iter().any(|gauge| gauge >= *least).then_some(0.0)
        }
        SignMeasure::Near { share, times } => {
            let times = times.as_ref().map_or(Some(1), |name| named(name));
            let (value, times) = value.zip(times)?;
            let bound = value.saturating_mul(times) as f64 * share;
            series(of, true).into_iter().any(|gauge| gauge as f64 >= bound).then_some(1.0)
        }
    };
    let mut watched = sources(run, kind).peekable();
    if watched.peek().is_none() {
        return Some(0.0);
    }
    watched.filter_map(share).reduce(f64::max)
}

/// Whether a series has this name, in which `*` stands for any part.
fn is_named(series: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => series == pattern,
        Some((before, after)) => series.strip_prefix(before).is_some_and(|rest| {
            after.is_empty()
                || (0..=rest.len()).any(|at| rest.get(at..).is_some_and(|rest| is_named(rest, after)))
        }),
    }
}

/// The memory of the server's processes.
fn memory(run: &Digest) -> Option<u64> {
    sources(run, WatchedKind::Process)
        .filter_map(|samples| samples.gauges.get(MEMORY))
        .copied()
        .reduce(u64::max)
}

/// The resident memory of a process and its children.
const MEMORY: &str = "memory_bytes";

/// FORMERR, SERVFAIL, NOTIMP and REFUSED, as the runs of an experiment that do not count.
const ERRORS: [u16; 4] = [1, 2, 4, 5];

/// A loss below this is none: the server holds the load.
const ALL_ANSWERED: f64 = 0.001;

/// A counter has moved when it rose by more than one in so many queries.
const ONE_IN: u64 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::sample::{MADE, SECOND, run};

    /// A run with what was counted at the server.
    fn watched(kind: WatchedKind, side: Side, counters: &[(&str, u64)], gauges: &[(&str, u64)]) -> Digest {
        let mut digest = run("run", MADE).digest;
        digest.header.watched = vec![Watched { kind, side, label: "it".to_owned(), ..blank() }];
        let map = |of: &[(&str, u64)]| of.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let samples = Samples { counters: map(counters), gauges: map(gauges) };
        digest.sum.as_mut().unwrap().watched = vec![Some(samples)];
        digest
    }

    fn blank() -> Watched {
        Watched {
            kind: WatchedKind::Host,
            side: Side::Server,
            label: String::new(),
            software: None,
            version: None,
            settings: Default::default(),
            unset: Vec::new(),
            missing: Vec::new(),
        }
    }

    fn moved(digest: &Digest, sign: &str, value: Option<u64>) -> bool {
        seen(digest, sign, value).moved[0]
    }

    fn seen(digest: &Digest, sign: &str, value: Option<u64>) -> Figures {
        let signs = [Sign::try_from(sign.to_owned()).unwrap()];
        let acting = [Acting { signs: &signs, value }];
        let threads = |name: &str| (name == "threads").then_some(2);
        figures(digest, Judge::Answered, true, &acting, threads).unwrap()
    }

    #[test]
    fn a_counter_accounts_for_a_share_of_what_was_not_answered() {
        let share = |digest: &Digest, sign, value| seen(digest, sign, value).accounts_for[0];
        let mut of = watched(WatchedKind::Host, Side::Server, &[("snmp.Udp.RcvbufErrors", 50)], &[]);
        let sum = of.sum.as_mut().unwrap();
        sum.tally.ends.answered = sum.tally.scheduled - 200;
        let at = share(&of, "host snmp.Udp.RcvbufErrors", None);
        assert_eq!((at, share(&of, "host snmp.Udp.NoPorts", None)), (0.25, 0.0));
        assert_eq!(share(&of, "process udp.drops", None), 0.0, "nobody has read it");
        let open = |value| watched(WatchedKind::Server, Side::Server, &[], &[("tcp.open", value)]);
        assert_eq!(share(&open(140), "server tcp.open near 0.9", Some(150)), 1.0);
        assert_eq!(share(&open(140), "server tcp.open at-least 10", Some(150)), 0.0, "it is used, no more");
        let of = |ns| watched(WatchedKind::Process, Side::Server, &[("cgroup.throttled_ns", ns)], &[]);
        let length_ns = of(0).schedule_ns();
        assert_eq!(share(&of(length_ns / 2), "process cgroup.throttled_ns share 0.05", None), 0.5);
    }

    #[test]
    fn a_counter_has_moved_where_it_rose_by_more_than_chance() {
        let of = |value| watched(WatchedKind::Host, Side::Server, &[("snmp.Udp.RcvbufErrors", value)], &[]);
        assert!(moved(&of(50), "host snmp.Udp.RcvbufErrors", None));
        assert!(!moved(&of(0), "host snmp.Udp.RcvbufErrors", None));
        let of_process = |value| watched(WatchedKind::Process, Side::Server, &[("udp.drops", value)], &[]);
        assert!(!moved(&of_process(0), "process udp.drops", None));
        assert!(moved(&of_process(0), "server dropped.rate-limit", None), "nobody has read it");
        let of_generator = watched(WatchedKind::Host, Side::Generator, &[("snmp.Udp.RcvbufErrors", 0)], &[]);
        assert!(moved(&of_generator, "host snmp.Udp.RcvbufErrors", None), "that of the server was not read");
        let both = watched(WatchedKind::Host, Side::Both, &[("qdisc.eth0.drops", 50)], &[]);
        assert!(moved(&both, "host qdisc.*.drops", None) && !moved(&both, "host qdisc.*.delays", None));
    }

    #[test]
    fn a_share_of_the_time_and_a_gauge_are_held_against_their_bounds() {
        let of = |ns| watched(WatchedKind::Process, Side::Server, &[("cgroup.throttled_ns", ns)], &[]);
        let length_ns = of(0).schedule_ns();
        assert!(length_ns >= SECOND);
        assert!(moved(&of(length_ns / 10), "process cgroup.throttled_ns share 0.05", None));
        assert!(!moved(&of(length_ns / 100), "process cgroup.throttled_ns share 0.05", None));
        let open = |value| watched(WatchedKind::Server, Side::Server, &[], &[("tcp.open", value)]);
        assert!(moved(&open(140), "server tcp.open near 0.9", Some(150)));
        assert!(!moved(&open(100), "server tcp.open near 0.9", Some(150)));
        assert!(!moved(&open(140), "server tcp.open near 0.9", None), "nobody knows the limit");
        assert!(!moved(&open(140), "server tcp.open near 0.9 times threads", Some(150)));
        assert!(moved(&open(290), "server tcp.open near 0.9 times threads", Some(150)));
        assert!(moved(&open(10), "server tcp.open at-least 10", None));
    }

    #[test]
    fn the_figures_are_those_of_the_run() {
        let digest = watched(WatchedKind::Process, Side::Server, &[], &[("memory_bytes", 4096)]);
        let of = |judge| figures(&digest, judge, true, &[], |_| None).unwrap();
        let answered = of(Judge::Answered);
        let expected = digest.tally().ends.answered as f64 * 1e9 / digest.schedule_ns() as f64;
        assert_eq!(
            (answered.gain, answered.is_saturated, answered.memory_bytes),
            (expected, true, Some(4096))
        );
        // Twice the latency is half the gain.
        let p99 = of(Judge::of("p99").unwrap());
        assert!(!p99.is_saturated && p99.gain > 0.0);
        assert_eq!((Judge::of("p99").unwrap().word(), Judge::of("p98")), ("p99", None));
    }

    #[test]
    fn answers_that_say_that_the_server_has_failed_are_no_gain() {
        let mut digest = watched(WatchedKind::Process, Side::Server, &[], &[]);
        let all = digest.tally().ends.answered;
        let tally = &mut digest.sum.as_mut().unwrap().tally;
        (tally.rcodes, tally.rcodes_late_or_wrong) = Default::default();
        tally.rcodes.add(0, all / 4);
        tally.rcodes.add(3, all / 4);
        tally.rcodes.add(2, all / 2);
        let of = |digest: &Digest, errors_count| {
            let figures = figures(digest, Judge::Answered, errors_count, &[], |_| None);
            figures.map(|figures| (figures.gain, figures.is_saturated))
        };
        let (counted, right) = (of(&digest, true).unwrap(), of(&digest, false).unwrap());
        assert!((right.0 / counted.0 - 0.5).abs() < 0.01, "{right:?} {counted:?}");
        assert_eq!((counted.1, right.1), (true, false), "half of it has no right answer");
        digest.sum.as_mut().unwrap().tally.rcodes.add(5, all);
        assert_eq!(of(&digest, false), None, "nothing is right");
    }

    #[test]
    fn in_a_closed_loop_no_load_is_answered_whole() {
        let mut digest = watched(WatchedKind::Process, Side::Server, &[], &[]);
        let is_saturated = |digest: &Digest| seen(digest, "host a", None).is_saturated;
        assert!(is_saturated(&digest));
        digest.header.headline = Headline::Service;
        assert!(!is_saturated(&digest));
    }
}
