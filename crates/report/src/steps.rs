//! What a load of several rates shows: which rates the server held, and which it did not.
//!
//! The average over such a run is the rate of no moment, and is not reported. Whether a rate was held is said by
//! [`dnsdyno_record::held`].
//!
//! ```text
//!   asked   2,000   3,000   4,000   5,000      of each rate, the rows with it
//!   loss      0 %  0.03 %  2.38 %  9.10 %
//!             held ──────┘ └─── not held
//! ```

use dnsdyno_measure::Tally;
use dnsdyno_record::held::{Growth, HELD_LOSS, Load, growth_of_ramp, growth_of_step};
use dnsdyno_record::{Digest, Headline, Row};
use dnsdyno_text::units::{counted, duration, percent, rate};
use serde_json::{Value, json};

use crate::figures::{judged, lost, share};

/// The rates of a load, lowest first.
pub(crate) struct Steps<'a> {
    rates: Vec<Rate<'a>>,
}

/// The rows of one rate.
pub(crate) struct Rate<'a> {
    pub(crate) asked_qps: f64,
    parts: Vec<(&'a Row, Option<Growth>)>,
}

impl Rate<'_> {
    /// What says whether it was held: all of its losses, and the queue that grew most.
    pub(crate) fn load(&self) -> Load {
        let all = |count: fn(&Tally) -> u64| self.parts.iter().map(|(row, _)| count(&row.tally)).sum();
        Load {
            loss: share(all(lost), all(judged)).unwrap_or(0.0),
            growth: self
                .parts
                .iter()
                .filter_map(|(_, growth)| *growth)
                .max_by_key(|growth| growth.ns_per_s()),
        }
    }

    /// The rows merged.
    pub(crate) fn row(&self) -> Option<Row> {
        let ((first, _), others) = self.parts.split_first()?;
        let mut row = (*first).clone();
        others.iter().for_each(|(other, _)| row.merge(other));
        Some(row)
    }
}

impl<'a> Steps<'a> {
    /// The rates of the run; `None` where it had one rate only, or none that was asked for.
    pub(crate) fn of(digest: &'a Digest) -> Option<Steps<'a>> {
        if !asks_for_rates(digest) || has_one_rate(digest) {
            return None;
        }
        let growths = match digest.rows_are_phases() {
            true => digest.rows().iter().map(|row| growth_of_step(&digest.header, row)).collect(),
            false => growth_of_ramp(digest),
        };
        let mut parts: Vec<_> =
            digest.rows().iter().zip(growths).filter(|(row, _)| is_of_rate(row)).collect();
        if !digest.rows_are_phases() {
            // In an older record the last interval is asked for less only because the load ended within it.
            parts.pop_if(|(row, _)| row.from_ns.saturating_add(row.covered_ns) > digest.schedule_ns());
        }
        Some(Steps::of_parts(parts)).filter(|steps| steps.rates.len() > 1)
    }

    /// The rates of these rows, each with how its queue grew.
    pub(crate) fn of_parts(mut parts: Vec<(&'a Row, Option<Growth>)>) -> Steps<'a> {
        parts.sort_by(|(one, _), (other, _)| one.asked_qps().total_cmp(&other.asked_qps()));
        let mut rates: Vec<Rate<'a>> = Vec::new();
        for part in parts {
            let asked_qps = part.0.asked_qps();
            match rates.last_mut() {
                Some(last) if asked_qps <= last.asked_qps * SAME_RATE => last.parts.push(part),
                _ => rates.push(Rate { asked_qps, parts: vec![part] }),
            }
        }
        Steps { rates }
    }

    /// All rates, lowest first.
    pub(crate) fn rates(&self) -> &[Rate<'a>] {
        &self.rates
    }

    /// Those that were held, from the lowest up to the first that was not.
    pub(crate) fn held(&self) -> &[Rate<'a>] {
        &self.rates[..self.rates.iter().take_while(|rate| rate.load().is_held()).count()]
    }

    pub(crate) fn not_held(&self) -> impl Iterator<Item = &Rate<'a>> {
        self.rates.iter().filter(|rate| !rate.load().is_held())
    }

    /// One sentence without a full stop.
    pub(crate) fn words(&self) -> String {
        let held = match self.held() {
            [] => "held none of the rates".to_owned(),
            [only] => format!("held {} queries/s", rate(only.asked_qps)),
            [first, .., last] => {
                format!("held {} to {} queries/s", rate(first.asked_qps), rate(last.asked_qps))
            }
        };
        let most = self.rates.iter().map(|rate| rate.load().loss).fold(0.0, f64::max);
        match [self.grew(), self.lost()].into_iter().flatten().collect::<Vec<_>>() {
            none if none.is_empty() && most > 0.0 => format!("{held}, loss at most {}", percent(most)),
            none if none.is_empty() => format!("{held} with no loss"),
            not_held => format!("{held}; {}", not_held.join("; ")),
        }
    }

    /// The rates at which too much was lost.
    fn lost(&self) -> Option<String> {
        let lost: Vec<_> = self.rates.iter().filter(|rate| rate.load().loss > HELD_LOSS).collect();
        let listed = lost.iter().take(LISTED);
        let listed: Vec<_> =
            listed.map(|one| format!("{} at {}/s", percent(one.load().loss), rate(one.asked_qps))).collect();
        let more = match lost.len().saturating_sub(LISTED) {
            0 => String::new(),
            more => {
                let rates = counted(more as u64, "other rate", "other rates");
                format!(", and more than {} at {rates}", percent(HELD_LOSS))
            }
        };
        (!listed.is_empty()).then(|| format!("lost {}{more}", listed.join(", ")))
    }

    /// The rates at which a queue grew from which nothing, or little, was lost yet.
    fn grew(&self) -> Option<String> {
        let grew = self.not_held().filter(|rate| rate.load().loss <= HELD_LOSS);
        let grew: Vec<_> =
            grew.filter_map(|one| Some((one.load().growth?, one.asked_qps))).take(LISTED).collect();
        let listed = grew.iter().map(|(growth, asked_qps)| {
            format!("by {} in each second at {}/s", duration(growth.ns_per_s()), rate(*asked_qps))
        });
        (!grew.is_empty()).then(|| format!("the queue grew {}", listed.collect::<Vec<_>>().join(", ")))
    }

    pub(crate) fn as_json(&self) -> Value {
        let held = |end: Option<&Rate<'_>>| end.map(|rate| rate.asked_qps);
        let not_held = self.not_held();
        let not_held = not_held.map(|rate| {
            let Load { loss, growth } = rate.load();
            json!({
                "asked_qps": rate.asked_qps,
                "loss_share": loss,
                "queue_growth_ns_per_s": growth.map(Growth::ns_per_s),
            })
        });
        json!({
            "held_from_qps": held(self.held().first()),
            "held_to_qps": held(self.held().last()),
            "not_held": not_held.collect::<Vec<_>>(),
        })
    }
}

/// The parts of a run with a rate each, lowest first; equal rates are one part. Empty where the run had one rate only,
/// or none that was asked for.
pub fn rates(digest: &Digest) -> Vec<Row> {
    let steps = Steps::of(digest);
    steps.iter().flat_map(Steps::rates).filter_map(Rate::row).collect()
}

/// Whether the load of a run is a rate that a server can hold or not.
pub(crate) fn asks_for_rates(digest: &Digest) -> bool {
    digest.header.headline == Headline::Response && !digest.header.send_only
}

/// Whether the load is one rate, whose intervals differ by whole queries only.
fn has_one_rate(digest: &Digest) -> bool {
    let rows = || digest.rows().iter().filter(|row| is_of_rate(row));
    let rates = || rows().map(Row::asked_qps);
    let (lowest, highest) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
    let shortest_ns = rows().map(|row| row.covered_ns).min().unwrap_or(0);
    digest.header.phases.len() <= 1 && (highest - lowest) * shortest_ns as f64 * 1e-9 <= WHOLE_QUERIES
}

/// An interval of one rate has at most one query more than asked, and another one less.
const WHOLE_QUERIES: f64 = 2.01;

/// Whether a row has queries, of every agent.
fn is_of_rate(row: &Row) -> bool {
    judged(&row.tally) > 0 && row.partial_intervals == 0
}

/// Rates that differ by less are one: an interval may have one query more than another.
const SAME_RATE: f64 = 1.01;

/// The rates not held that are listed; further ones say little more.
const LISTED: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn words(digest: &Digest) -> Option<String> {
        Steps::of(digest).map(|steps| steps.words())
    }

    #[test]
    fn a_stair_says_what_held_and_what_did_not() {
        let told = words(&sample::stair()).unwrap();
        assert_eq!(told, "held 2,000 to 3,000 queries/s; lost 2.38 % at 4,000/s");
        let json = Steps::of(&sample::stair()).unwrap().as_json();
        assert_eq!((&json["held_from_qps"], &json["held_to_qps"]), (&json!(2_000.0), &json!(3_000.0)));
        let lost =
            json!({ "asked_qps": 4_000.0, "loss_share": 190.0 / 8_000.0, "queue_growth_ns_per_s": null });
        assert_eq!(json["not_held"], json!([lost]));
    }

    #[test]
    fn a_rate_at_which_a_queue_grew_is_not_held_although_nothing_was_lost() {
        let digest = sample::growing_queue();
        let told = words(&digest).unwrap();
        assert_eq!(told, "held 1,000 queries/s; the queue grew by 50.0 ms in each second at 2,000/s");
        let json = Steps::of(&digest).unwrap().as_json();
        assert_eq!(json["held_to_qps"], json!(1_000.0));
        assert_eq!(
            (&json["not_held"][0]["loss_share"], &json["not_held"][0]["queue_growth_ns_per_s"]),
            (&json!(0.0), &json!(50_000_000))
        );
    }

    #[test]
    fn a_stair_that_was_held_wholly_says_the_loss_that_there_was() {
        let told = words(&sample::at_rates(&[(10_000, 0), (20_000, 10)])).unwrap();
        assert_eq!(told, "held 10,000 to 20,000 queries/s, loss at most 0.05 %");
        let told = words(&sample::at_rates(&[(10_000, 0), (20_000, 0)])).unwrap();
        assert_eq!(told, "held 10,000 to 20,000 queries/s with no loss");
    }

    #[test]
    fn a_rate_above_one_that_was_not_held_does_not_count_as_held() {
        let told = words(&sample::at_rates(&[(1_000, 0), (2_000, 50), (3_000, 0)])).unwrap();
        assert_eq!(told, "held 1,000 queries/s; lost 2.50 % at 2,000/s");
        let told = words(&sample::at_rates(&[(1_000, 10), (2_000, 0)])).unwrap();
        assert_eq!(told, "held none of the rates; lost 1.00 % at 1,000/s");
    }

    #[test]
    fn many_rates_that_were_not_held_are_counted() {
        let steps: Vec<_> = (1..=6).map(|n| (n * 1_000, if n == 1 { 0 } else { 100 * n })).collect();
        let told = words(&sample::at_rates(&steps)).unwrap();
        assert!(told.ends_with("10.00 % at 4,000/s, and more than 0.10 % at 2 other rates"), "{told}");
        let told = words(&sample::at_rates(&steps[..5])).unwrap();
        assert!(told.ends_with("and more than 0.10 % at 1 other rate"), "{told}");
    }

    #[test]
    fn a_burst_has_two_rates_however_often_it_comes() {
        let told = words(&sample::at_rates(&[(1_000, 0), (9_000, 90), (1_000, 0), (9_000, 90)])).unwrap();
        assert_eq!(told, "held 1,000 queries/s; lost 1.00 % at 9,000/s");
    }

    #[test]
    fn the_parts_of_a_run_are_its_rates_each_with_all_its_queries() {
        let parts = rates(&sample::at_rates(&[(1_000, 0), (9_000, 90), (1_000, 10), (9_000, 90)]));
        let of = |row: &Row| (row.asked_qps(), lost(&row.tally), row.intervals);
        assert_eq!(parts.iter().map(of).collect::<Vec<_>>(), [(1_000.0, 20, 4), (9_000.0, 360, 4)]);
        assert_eq!(rates(&sample::at_rates(&[(1_000, 0), (1_000, 90)])), []);
    }

    #[test]
    fn one_rate_and_a_closed_loop_have_no_steps() {
        assert_eq!(words(&sample::at_rates(&[(1_000, 0), (1_000, 90)])), None);
        assert_eq!(words(&sample::closed_loop()), None);
        assert_eq!(words(&sample::send_only()), None);
    }

    #[test]
    fn a_constant_rate_that_ends_within_an_interval_has_one_rate() {
        let mut digest = Digest::new(dnsdyno_record::Header { phases: Vec::new(), ..sample::header() });
        (0..2).for_each(|i| digest.interval(&sample::second(i, 1_000, 0)));
        let mut last = sample::second(2, 500, 0);
        (last.covered_ns, last.asked_qps) = (Some(sample::SECOND / 2), 1_000.0);
        digest.interval(&last);
        assert_eq!(words(&digest), None);
    }
}
