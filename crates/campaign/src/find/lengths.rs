//! How long trials and steps must be for the criteria: each needs queries, and a low load has few of them in a second.

use dnsdyno_record::MAX_PHASE_ROWS;
use dnsdyno_text::notation::{format_duration_ns, format_rate_qps, parse_duration_ns};
use dnsdyno_text::units::{count, length, rate};

use super::error::{FindError, TooFew};
use super::options::Method;
use super::settings::Settings;

impl Settings {
    /// Whether the first step of a stair has the queries that the criteria need.
    pub(super) fn has_enough_queries(&self) -> Result<(), FindError> {
        let Some((criterion, needed)) = self.criteria.rarest() else { return Ok(()) };
        let hold_ns = self.hold_ns();
        let has = self.start * hold_ns as f64 * 1e-9;
        // A whole number of queries may be one less than rate times time.
        if has * 1.001 + 1.0 >= needed as f64 {
            return Ok(());
        }
        let better_s = (needed as f64 / self.start).ceil();
        Err(FindError::TooFew(Box::new(TooFew {
            criterion: criterion.to_owned(),
            needed: count(needed),
            hold: format_duration_ns(hold_ns),
            start: format_rate_qps(self.start),
            has: count(has as u64),
            better: format_duration_ns((better_s * 1e9) as u64),
            higher: format_rate_qps((needed as f64 / (hold_ns as f64 * 1e-9)).ceil()),
        })))
    }

    /// Refuses a stair whose steps the record could not tell apart: too many, or with intervals that belong to two.
    pub(super) fn has_rows_of_steps(&self) -> Result<(), FindError> {
        let (steps, most) = (self.stair_steps(), MAX_PHASE_ROWS as u64);
        if steps > most {
            let better = ((self.most - self.start) / (most - 1) as f64).ceil();
            let (steps, step) = (count(steps), format_rate_qps(better));
            return Err(FindError::Steps { steps, most: count(most), step });
        }
        let given = self.draft.interval.as_deref().and_then(|text| parse_duration_ns(text).ok());
        match given.filter(|interval_ns| !self.hold_ns().is_multiple_of((*interval_ns).max(1))) {
            Some(interval_ns) => Err(FindError::Interval {
                interval: format_duration_ns(interval_ns),
                hold: format_duration_ns(self.hold_ns()),
            }),
            None => Ok(()),
        }
    }

    /// What the criteria make of loads and lengths that the user may not expect, a sentence each.
    pub fn notices(&self) -> Vec<String> {
        match self.method {
            Method::MlrSearch => return self.goal_notices(),
            Method::Search | Method::Rfc2544 | Method::Rfc8219 => {}
            Method::Stair | Method::Ramp | Method::Window => return Vec::new(),
        }
        let unit = self.what.unit();
        let (needed, enough) = (self.criteria.queries_needed(), self.enough_queries());
        let usual_ns = self.usual_lengths_ns().map_or(self.trial_ns, |(usual_ns, _)| usual_ns);
        let lasts_ns = |load: f64| self.length_of(enough, load).max(usual_ns);
        let mut notices = Vec::new();
        let of_interest = if self.is_trial_given { self.least } else { self.start };
        if lasts_ns(of_interest) > usual_ns {
            let below = enough / (usual_ns as f64 * 1e-9) * self.least / self.qps(self.least);
            let at = |load: f64| format!("{} at {} {unit}", length(lasts_ns(load)), rate(load));
            let first = (lasts_ns(self.start) > usual_ns).then(|| at(self.start));
            let lowest = (self.least < self.start).then(|| at(self.least));
            let criterion =
                self.criteria.rarest().filter(|(_, of_it)| *of_it == needed).map(|(text, _)| text);
            let by_chance = match enough as u64 - needed {
                0 => String::new(),
                more => format!(", and {} more, which may be missing by chance", count(more)),
            };
            notices.push(format!(
                "{} needs {} queries{by_chance}: below {} {unit} a trial is longer than {}: {}",
                criterion.unwrap_or("a trial"),
                count(needed),
                rate(below),
                length(usual_ns),
                [first, lowest].into_iter().flatten().collect::<Vec<_>>().join(", ")
            ));
        }
        if let Some(usual) = self.raised_from {
            notices.push(format!(
                "the lowest load is {} {unit}, because a trial at {} {unit} would last {} (--least {} makes it)",
                rate(self.least),
                rate(usual),
                length(lasts_ns(usual)),
                format_rate_qps(usual)
            ));
        }
        notices
    }

    /// The same of goals.
    fn goal_notices(&self) -> Vec<String> {
        let (unit, mut notices) = (self.what.unit(), Vec::new());
        if let Some(usual) = self.raised_from {
            notices.push(format!(
                "the lowest load is {} {unit}, because a trial at {} {unit} has too few queries for its loss ratio \
                 (--least {} makes it)",
                rate(self.least),
                rate(usual),
                format_rate_qps(usual)
            ));
        }
        let mut finals = self.search_goals.iter().map(|goal| goal.final_trial_ns);
        if finals.next().is_some_and(|first| finals.any(|other| other != first)) {
            notices.push(
                "the goals have different Goal Final Trial Durations: RFC 9971 recommends one for all, because a long \
                 trial of one goal counts for a goal with short ones"
                    .to_owned(),
            );
        }
        notices
    }
}

impl Settings {
    /// The queries that the criteria need; in `search`, whose queries are due at random, with as many more as may be
    /// missing by chance.
    fn enough_queries(&self) -> f64 {
        let needed = self.criteria.queries_needed() as f64;
        let by_chance = if self.method == Method::Search { MISSING_BY_CHANCE * needed.sqrt() } else { 0.0 };
        needed + by_chance
    }

    /// How long a trial with so many queries is.
    fn enough_ns(&self, load: f64) -> u64 {
        self.length_of(self.enough_queries(), load)
    }

    /// How long the first trial is.
    pub fn first_ns(&self) -> u64 {
        match self.method {
            Method::Search => {
                self.goals.iter().map(|goal| self.of_goal(goal).far_ns(self.start)).max().unwrap_or(0)
            }
            _ => self.trial_ns(self.start),
        }
    }

    /// How long trials near the limit are where neither a criterion nor a goal needs longer ones, and once trials
    /// contradict each other; `None` where the method has one length.
    pub fn usual_lengths_ns(&self) -> Option<(u64, u64)> {
        let usual = if self.is_trial_given { (self.trial_ns, self.trial_ns) } else { (NEAR_NS, NOISY_NS) };
        (self.method == Method::Search).then_some(usual)
    }

    /// How long a trial is where the limit is far.
    pub(super) fn far_ns(&self, load: f64) -> u64 {
        self.enough_ns(load).max(FAR_NS.min(self.trial_ns))
    }

    /// How long a trial near the limit is, where the goal asks for no more.
    pub(super) fn near_ns(&self, load: f64, agrees: bool) -> u64 {
        let usual_ns = match agrees {
            _ if self.is_trial_given => self.trial_ns,
            true => NEAR_NS,
            false => NOISY_NS,
        };
        self.enough_ns(load).max(usual_ns)
    }

    /// Times, each with the share of the queries whose loss in all of it makes it certain that a trial fails. None
    /// where nothing can be known before its end: a query is lost when its timeout has passed. `usual` is the share
    /// that is lost at low loads.
    pub(super) fn certain_losses(&self, load: f64, lasts_ns: u64, usual: f64) -> Vec<(u64, f64)> {
        let timeout = self.draft.timeout.as_deref().and_then(|text| parse_duration_ns(text).ok());
        let timeout_ns = timeout.unwrap_or(USUAL_TIMEOUT_NS);
        let queries = self.qps(load) * lasts_ns as f64 * 1e-9;
        let certain = |for_ns: u64| {
            let share = self.criteria.certain_loss(for_ns as f64 / lasts_ns as f64, queries, usual)?;
            (lasts_ns > timeout_ns.saturating_add(2 * for_ns)).then_some((for_ns, share))
        };
        let mut times: Vec<u64> =
            PARTS.iter().map(|part| written(lasts_ns / part).max(LEAST_PART_NS)).collect();
        times.dedup();
        let certain: Vec<(u64, f64)> = times.into_iter().filter_map(certain).collect();
        // A longer time is of use only where it takes less loss.
        let is_of_use =
            |(at, one): &(usize, &(u64, f64))| certain.iter().take(*at).all(|before| before.1 > one.1);
        certain.iter().enumerate().filter(is_of_use).map(|(_, one)| *one).collect()
    }
}

/// A length in whole milliseconds.
fn written(ns: u64) -> u64 {
    ns / 1_000_000 * 1_000_000
}

/// The conditions of a run that ends where one of these shares is lost for its time.
pub(super) fn conditions(losses: &[(u64, f64)]) -> Option<Vec<String>> {
    let text = |(for_ns, share): &(u64, f64)| {
        format!("loss>{:.3}% for {}", share * 100.0, format_duration_ns(*for_ns))
    };
    (!losses.is_empty()).then(|| losses.iter().map(text).collect())
}

/// How long a trial is where the limit is far: criteria are met or not met by a wide margin.
const FAR_NS: u64 = 2_000_000_000;

/// How long a trial near the limit is, while no trial contradicts another: a queue that grows by 3 ms in each second
/// is then 15 ms longer.
const NEAR_NS: u64 = 5_000_000_000;

/// The same once trials contradict each other: a moment in which a server, or its host, does something else is then a
/// smaller part of it.
const NOISY_NS: u64 = 8_000_000_000;

/// The deviation of a number of queries by chance, in standard deviations, that none of a million trials has.
const MISSING_BY_CHANCE: f64 = 5.0;

/// A loss during one of so many parts of a trial may end it, and during one second at the least.
const PARTS: [u64; 3] = [30, 10, 3];
const LEAST_PART_NS: u64 = 1_000_000_000;

/// That of a run without `--timeout`.
const USUAL_TIMEOUT_NS: u64 = 5_000_000_000;

#[cfg(test)]
mod tests {
    use dnsdyno_plan::Draft;

    use super::*;
    use crate::find::options::Options;

    /// The settings of `find` with these criteria, length of a trial, first load and lowest load.
    fn settings(criteria: &str, trial: Option<&str>, start: Option<&str>, least: Option<&str>) -> Settings {
        let text = |text: Option<&str>| text.map(str::to_owned);
        let options = Options {
            criteria: vec![criteria.to_owned()],
            trial: text(trial),
            start: text(start),
            least: text(least),
            ..Options::default()
        };
        Settings::new(&options, &Draft::default()).unwrap()
    }

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_stair_has_a_row_for_each_of_its_steps_or_is_refused() {
        let stair = |from: &str, most: &str, step: &str, hold: &str, interval: Option<&str>| {
            let text = |text: &str| Some(text.to_owned());
            let options =
                Options { method: text("stair"), start: text(from), most: text(most), ..Options::default() };
            let interval = interval.map(str::to_owned);
            Settings::new(
                &options,
                &Draft { step: text(step), hold: text(hold), interval, ..Draft::default() },
            )
        };
        let interval = |hold: &str| {
            let settings = stair("10k", "50k", "10k", hold, None).unwrap();
            settings.of_trials(settings.hold_ns()).interval.unwrap()
        };
        assert_eq!(
            ["60s", "1s", "1234ms", "12.5s", "3s"].map(interval),
            ["1s", "100ms", "123400us", "781250us", "300ms"]
        );
        let error =
            |most: &str, interval| stair("1k", most, "1k", "12.5s", interval).unwrap_err().to_string();
        assert_eq!(
            error("100k", None),
            "a stair has 64 steps at most, and this one has 100: use --step 1.572k, or --method search"
        );
        assert!(error("5k", Some("1s")).starts_with("--hold 12500ms is no multiple of --interval 1s"));
        assert!(stair("1k", "64k", "1k", "12.5s", Some("500ms")).is_ok());
    }

    #[test]
    fn short_trials_raise_no_load_but_last_longer_where_a_criterion_needs_it_and_that_is_said() {
        let short = settings("loss<0.1%", Some("1s"), None, None);
        assert_eq!(short.loads(), (1_000.0, 167.0, 50e6));
        let lengths =
            [167.0, 1_000.0, 9_000.0, 10_000.0, 50_000.0].map(|load| short.trial_ns(load) / 1_000_000);
        assert_eq!(lengths, [59_881, 10_000, 1_112, 1_000, 1_000]);
        assert_eq!(
            short.notices(),
            [
                "loss<0.1% needs 10,000 queries, and 500 more, which may be missing by chance: below 10,500 qps a \
                 trial is longer than 1 s: 10.5 s at 1,000 qps, 62.9 s at 167 qps",
                "the lowest load is 167 qps, because a trial at 100 qps would last 105 s (--least 100 makes it)"
            ]
        );
        // Each trial has the queries that it needs, and is as long as was said.
        for load in [167.0, 843.2, 1_000.0, 9_999.0, 123_456.0] {
            let queries = load * short.near_ns(load, true) as f64 * 1e-9;
            assert!(queries >= 10_500.0, "{queries} at {load}");
        }
        assert_eq!([1_000.0, 10_500.0].map(|load| short.near_ns(load, true) / 1_000_000), [10_500, 1_000]);
    }

    #[test]
    fn loads_that_the_user_gives_are_kept_however_long_their_trials_are() {
        let given = settings("p99.9<5ms", Some("2s"), Some("500"), None);
        assert_eq!((given.loads().0, given.loads().1), (500.0, 167.0));
        assert!(given.notices()[1].starts_with("the lowest load is 167 qps"), "{:?}", given.notices());
        let least = settings("p99.9<5ms", Some("2s"), None, Some("50"));
        assert_eq!((least.loads().1, least.trial_ns(50.0)), (50.0, 200 * SECOND));
        assert!(least.notices()[0].ends_with("3 min 30 s at 50.0 qps"), "{:?}", least.notices());
        let low = settings("p99.9<5ms", None, Some("50"), None);
        assert_eq!((low.loads().0, low.loads().1), (50.0, 50.0));
        assert!(
            low.notices()[0].ends_with("is longer than 5 s: 3 min 30 s at 50.0 qps"),
            "{:?}",
            low.notices()
        );
    }

    #[test]
    fn nothing_is_said_where_loads_and_lengths_are_the_usual_ones() {
        assert_eq!(settings("p99<5ms", None, None, None).notices(), [""; 0]);
        assert_eq!(settings("loss<0.1%", Some("1s"), Some("20k"), Some("20k")).notices(), [""; 0]);
    }
}
