//! The series that move, with their last minute, those that tell most first.

use std::collections::{BTreeMap, VecDeque};

use dnsdyno_measure::series::{counts_loss, is_raw, rise_text, value_text};
use dnsdyno_record::{Header, Interval};

use dnsdyno_text::safe;

/// What is known of each series.
#[derive(Debug)]
pub(crate) struct SeriesTracks {
    labels: Vec<String>,
    missing: Vec<String>,
    tracks: BTreeMap<Key, Track>,
    pub(crate) end_ns: Option<u64>,
    pub(crate) to_ns: u64,
    /// Intervals so far.
    intervals: u64,
    pub(crate) note: Option<String>,
    pub(crate) version: u64,
}

/// A series: of its source, whether it is a gauge, and its name.
type Key = (usize, bool, String);

/// The last values of a series: the rises of a counter, the values of a gauge; `None` where it was not read.
#[derive(Debug)]
struct Track {
    values: VecDeque<Option<u64>>,
    /// The sum of a counter, the highest value of a gauge.
    total: u64,
    /// How long the last interval was.
    covered_ns: u64,
}

/// A series that moved in the last minute.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MovedSeries {
    pub(crate) label: String,
    pub(crate) name: String,
    pub(crate) now: String,
    pub(crate) total: String,
    pub(crate) values: Vec<Option<u64>>,
    pub(crate) is_loss: bool,
}

impl SeriesTracks {
    /// Nothing is known yet of these sources.
    pub(crate) fn new(header: &Header, end_ns: Option<u64>) -> SeriesTracks {
        let missing = header.watched.iter().flat_map(|watched| {
            watched.missing.iter().map(|why| format!("{}: {}", safe(&watched.label), safe(why)))
        });
        SeriesTracks {
            labels: header.watched.iter().map(|watched| safe(&watched.label)).collect(),
            missing: missing.collect(),
            tracks: BTreeMap::new(),
            end_ns,
            to_ns: 0,
            intervals: 0,
            note: None,
            version: 0,
        }
    }

    /// What cannot be read, and why.
    pub(crate) fn missing(&self) -> Vec<String> {
        self.missing.clone()
    }

    /// The sources.
    pub(crate) fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The latest message.
    pub(crate) fn note(&mut self, note: &str) {
        self.note = Some(safe(note));
        self.version += 1;
    }

    /// Adds what was read in an interval.
    pub(crate) fn sampled(&mut self, interval: &Interval) {
        let covered_ns = interval.to_ns.saturating_sub(interval.from_ns);
        let read = |source: usize| interval.watched.get(source).and_then(Option::as_ref);
        for (source, samples) in interval.watched.iter().enumerate() {
            let Some(samples) = samples else { continue };
            let names = samples.counters.keys().map(|name| (false, name));
            for (is_gauge, name) in names.chain(samples.gauges.keys().map(|name| (true, name))) {
                if self.tracks.len() < MOST_TRACKED {
                    let before = (self.intervals as usize).min(KEPT);
                    self.tracks.entry((source, is_gauge, name.clone())).or_insert_with(|| Track {
                        values: vec![Some(0); before].into(),
                        total: 0,
                        covered_ns,
                    });
                }
            }
        }
        for ((source, is_gauge, name), track) in &mut self.tracks {
            let value = read(*source).map(|samples| match is_gauge {
                true => samples.gauge(name),
                false => samples.counter(name),
            });
            track.add(value, *is_gauge, covered_ns);
        }
        self.to_ns = interval.to_ns;
        self.intervals += 1;
        self.version += 1;
    }

    /// The series that moved in the last minute: losses of the last seconds first, a server's own names last, and
    /// within each those that moved most.
    pub(crate) fn movers(&self) -> Vec<MovedSeries> {
        let mut all: Vec<_> = self
            .tracks
            .iter()
            .filter(|((_, is_gauge, _), track)| track.has_moved(*is_gauge))
            .map(|(key, track)| (rank(key, track), -movement(&track.values), key, track))
            .collect();
        all.sort_by(|a, b| (a.0, a.1).partial_cmp(&(b.0, b.1)).unwrap_or(std::cmp::Ordering::Equal));
        all.into_iter().map(|(_, _, key, track)| self.mover(key, track)).collect()
    }

    /// The first of the losses of the last seconds.
    pub(crate) fn losses(&self) -> Vec<MovedSeries> {
        let is_new = |(key, track): &(&Key, &Track)| rank(key, track) == 0;
        let mut all: Vec<_> = self.tracks.iter().filter(is_new).collect();
        all.sort_by_key(|(_, track)| std::cmp::Reverse(track.recent()));
        all.into_iter().take(MOST_LOSSES).map(|(key, track)| self.mover(key, track)).collect()
    }

    fn mover(&self, (source, is_gauge, name): &Key, track: &Track) -> MovedSeries {
        let now = match track.values.back().copied().flatten() {
            None => "-".to_owned(),
            Some(value) if *is_gauge => value_text(name, value),
            Some(rise) => rise_text(name, rise, track.covered_ns),
        };
        MovedSeries {
            label: self.labels.get(*source).cloned().unwrap_or_default(),
            name: safe(name),
            now,
            total: value_text(name, track.total),
            values: track.values.iter().copied().collect(),
            is_loss: !is_gauge && counts_loss(name),
        }
    }

    /// A line for each of the series that tell most and moved in the last interval: when, source, series, now, in all.
    pub(crate) fn lines(&self) -> Vec<String> {
        let at = dnsdyno_text::units::length(self.to_ns);
        let moved_now =
            |mover: &MovedSeries| mover.values.last().copied().flatten().is_some_and(|value| value > 0);
        let movers = self.movers().into_iter().filter(moved_now).take(MOST_LINES);
        movers
            .map(|mover| {
                let MovedSeries { label, name, now, total, .. } = mover;
                format!("{at:>8}  {label}  {name:<NAME_WIDTH$} {now:>12}  {total:>12}")
            })
            .collect()
    }
}

impl Track {
    fn add(&mut self, value: Option<u64>, is_gauge: bool, covered_ns: u64) {
        if self.values.len() == KEPT {
            self.values.pop_front();
        }
        self.values.push_back(value);
        self.covered_ns = covered_ns;
        let value = value.unwrap_or(0);
        self.total = if is_gauge { self.total.max(value) } else { self.total.saturating_add(value) };
    }

    /// The sum of the last seconds.
    fn recent(&self) -> u64 {
        self.values.iter().rev().take(RECENT).flatten().fold(0, |sum, rise| sum.saturating_add(*rise))
    }

    fn has_moved(&self, is_gauge: bool) -> bool {
        let mut known = self.values.iter().flatten();
        match is_gauge {
            true => known.next().is_some_and(|first| known.any(|value| value != first)),
            false => known.any(|rise| *rise > 0),
        }
    }
}

fn rank((_, is_gauge, name): &Key, track: &Track) -> u8 {
    match name {
        name if is_raw(name) => 2,
        name if !is_gauge && counts_loss(name) && track.recent() > 0 => 0,
        _ => 1,
    }
}

/// How far values go from their mean, as a share of it.
fn movement(values: &VecDeque<Option<u64>>) -> f64 {
    let known: Vec<f64> = values.iter().flatten().map(|value| *value as f64).collect();
    let count = known.len().max(1) as f64;
    let mean = known.iter().sum::<f64>() / count;
    let spread = (known.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    if mean > 0.0 { spread / mean } else { 0.0 }
}

/// Values that are kept of each series: a minute of seconds.
const KEPT: usize = 60;

/// Intervals in which a loss is new.
const RECENT: usize = 10;

/// Losses that a line has room for.
const MOST_LOSSES: usize = 2;

/// Series that are followed: more move on no host.
const MOST_TRACKED: usize = 16_384;

/// Lines of an interval: what one reads in a second.
const MOST_LINES: usize = 10;

/// Columns of a name, so that most figures are below each other.
const NAME_WIDTH: usize = 36;

#[cfg(test)]
mod tests {
    use dnsdyno_measure::{Arrivals, Samples, Tally};

    use super::*;

    fn moving(intervals: &[&[(&str, u64)]]) -> SeriesTracks {
        let header = Header { watched: vec![crate::sample::watched("named (4711)")], ..Header::default() };
        let mut moving = SeriesTracks::new(&header, None);
        for (index, counters) in (0..).zip(intervals) {
            let counters = counters.iter().map(|(name, rise)| ((*name).to_owned(), *rise)).collect();
            let watched = vec![Some(Samples { counters, ..Samples::default() })];
            moving.sampled(&interval(index, watched));
        }
        moving
    }

    fn interval(index: u64, watched: Vec<Option<Samples>>) -> Interval {
        Interval {
            agents: Vec::new(),
            index,
            from_ns: index * 1_000_000_000,
            to_ns: (index + 1) * 1_000_000_000,
            covered_ns: None,
            asked_qps: 0.0,
            tally: Tally::new(0),
            arrivals: Arrivals::default(),
            workers: Vec::new(),
            watched,
        }
    }

    fn names(moving: &SeriesTracks) -> Vec<String> {
        moving.movers().into_iter().map(|mover| mover.name).collect()
    }

    #[test]
    fn losses_are_first_then_what_moved_most_then_raw_names() {
        let first = [("steady", 100), ("jumps", 1), ("raw.jumps", 1)];
        let second = [("steady", 101), ("jumps", 900), ("raw.jumps", 900), ("udp.drops", 3), ("none", 0)];
        let moving = moving(&[&first, &second]);
        assert_eq!(names(&moving), ["udp.drops", "jumps", "steady", "raw.jumps"]);
        let MovedSeries { now, total, values, .. } = &moving.movers()[1];
        assert_eq!((now.as_str(), total.as_str()), ("900/s", "901"));
        assert_eq!(values, &[Some(1), Some(900)]);
        assert_eq!(moving.movers()[0].values, [Some(0), Some(3)], "it was not there before");
    }

    #[test]
    fn a_source_that_is_not_read_has_no_figure_and_a_gauge_that_stays_does_not_move() {
        let mut moving = moving(&[&[("queries", 5)]]);
        let gauges = |open| Samples { gauges: [("open".to_owned(), open)].into(), ..Samples::default() };
        moving.sampled(&interval(1, vec![Some(gauges(7))]));
        moving.sampled(&interval(2, vec![None]));
        let of = |name: &str| moving.movers().into_iter().find(|mover| mover.name == name);
        assert_eq!(of("queries").map(|mover| mover.now).as_deref(), Some("-"));
        assert_eq!(of("open").map(|mover| mover.total).as_deref(), Some("7"));
        let mut still = SeriesTracks::new(&Header::default(), None);
        (0..3).for_each(|index| still.sampled(&interval(index, vec![Some(gauges(7))])));
        assert_eq!(names(&still), Vec::<String>::new());
    }

    #[test]
    fn a_minute_is_kept_and_a_line_says_what_moved_now() {
        let seconds: Vec<Vec<(&str, u64)>> = (0..70).map(|n| vec![("queries", n)]).collect();
        let moving = moving(&seconds.iter().map(Vec::as_slice).collect::<Vec<_>>());
        assert_eq!(moving.movers()[0].values.len(), 60);
        let lines = moving.lines();
        let words: Vec<_> = lines[0].split_whitespace().collect();
        assert_eq!(words, ["70", "s", "named", "(4711)", "queries", "69.0/s", "2,415"]);
    }
}
