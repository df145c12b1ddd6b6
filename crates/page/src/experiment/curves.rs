//! Which curves the charts of an experiment have, and where each load stands.
//!
//! ```text
//!   a rate, the same for all servers, that no other load has ─► at its rate
//!   a stair or a ramp ─────────────────────────────────────────► each of its rates at that rate, a curve of its own
//!   a closed loop, two loads of one rate ──────────────────────► beside them, at a place with the name of the load
//! ```

use std::collections::BTreeMap;

use dnsdyno_campaign::compare::{Figure, Kind};
use dnsdyno_campaign::experiment::report::words;
use dnsdyno_campaign::experiment::{CellResult, ExperimentResult, LoadKind, Spread, Step};
use dnsdyno_text::units::rate;

use super::chart::{self, Across, Along, Chart, Curve, Places, Point, Scale};

/// The figure of a cell, or of one of its rates.
type Of<T> = Box<dyn Fn(&T) -> Option<Spread>>;

/// What a chart shows.
pub(super) struct Shown {
    title: &'static str,
    unit: &'static str,
    scale: Scale,
    kind: Kind,
    of: Of<CellResult>,
    of_step: Of<Step>,
}

/// The answered rate.
pub(super) fn answered() -> Shown {
    Shown {
        title: "Answered",
        unit: "queries/s",
        scale: Scale::Rates,
        kind: Kind::Rate,
        of: Box::new(|cell| cell.answered),
        of_step: Box::new(|step| step.answered),
    }
}

/// The answered share.
fn share() -> Shown {
    Shown {
        title: "Answered share",
        unit: "of the queries",
        scale: Scale::Shares,
        kind: Kind::Share,
        of: Box::new(|cell| cell.share),
        of_step: Box::new(|step| step.share),
    }
}

/// The same without the cells below [`NEAR_ALL`], where these hide how the others differ.
fn share_near_all(result: &ExperimentResult) -> Option<Shown> {
    let cells = result.cells.iter().filter_map(|cell| cell.share).map(|share| share.median.value);
    let steps = words::steps(result).filter_map(|(_, step)| step.share).map(|share| share.median.value);
    let shares: Vec<f64> = cells.chain(steps).collect();
    let has_low = shares.iter().any(|share| *share < HIDES);
    let has_near = shares.iter().any(|share| (NEAR_ALL..1.0).contains(share));
    let near = |share: Option<Spread>| share.filter(|share| share.median.value >= NEAR_ALL);
    (has_low && has_near).then(|| Shown {
        title: "Answered share, near all",
        unit: "from 99 % of the queries on",
        of: Box::new(move |cell| near(cell.share)),
        of_step: Box::new(move |step| near(step.share)),
        ..share()
    })
}

/// A percentile, by its text.
pub(super) fn percentile(title: &'static str) -> Shown {
    Shown {
        title,
        unit: "",
        scale: Scale::Durations,
        kind: Kind::Duration,
        of: Box::new(move |cell| words::percentile(&cell.percentiles, title)),
        of_step: Box::new(move |step| words::percentile(&step.percentiles, title)),
    }
}

/// What the charts of the whole show.
pub(super) fn all(result: &ExperimentResult) -> Vec<Shown> {
    let of_shares = [Some(share()), share_near_all(result)].into_iter().flatten();
    let percentiles = ["p50", "p99", "p99.9"].map(percentile);
    [answered()].into_iter().chain(of_shares).chain(percentiles).collect()
}

/// Where each load stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Loads at their rates.
    at_rates: Vec<usize>,
    /// Loads with several rates.
    with_steps: Vec<usize>,
    /// Loads at places of their own.
    at_places: Vec<usize>,
}

impl Layout {
    pub(super) fn of(result: &ExperimentResult) -> Layout {
        let is_run = |(_, load): &(usize, &dnsdyno_campaign::experiment::LoadOf)| load.kind == LoadKind::Run;
        let loads: Vec<usize> =
            result.design.loads.iter().enumerate().filter(is_run).map(|(load, _)| load).collect();
        let has_steps =
            |load: &usize| result.cells.iter().any(|cell| cell.cell.load == *load && !cell.steps.is_empty());
        let (with_steps, others): (Vec<usize>, Vec<usize>) = loads.into_iter().partition(has_steps);
        let measured = result.cells.iter().filter(|cell| !cell.runs.is_empty());
        let asked = measured.map(|cell| (cell.cell.load, cell.asked_qps));
        let mut at_rates = told_apart(asked.filter(|(load, _)| others.contains(load)));
        if with_steps.is_empty() && at_rates.len() < 2 {
            at_rates.clear();
        }
        let at_places = others.into_iter().filter(|load| !at_rates.contains(load)).collect();
        Layout { at_rates, with_steps, at_places }
    }

    /// The one load, where there is one that stands at a place: a curve would be a single point, so the servers stand
    /// beside each other.
    pub(super) fn only_load(&self) -> Option<usize> {
        match (&self.at_rates[..], &self.with_steps[..], &self.at_places[..]) {
            ([], [], [load]) => Some(*load),
            _ => None,
        }
    }
}

/// The loads with a rate that is the same for all servers, and that no other load has.
fn told_apart(asked: impl Iterator<Item = (usize, Option<f64>)>) -> Vec<usize> {
    let mut rates: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    for (load, rate) in asked {
        let (least, most) = rate.map_or((0.0, f64::INFINITY), |rate| (rate, rate));
        let (lowest, highest) = rates.entry(load).or_insert((least, most));
        (*lowest, *highest) = (lowest.min(least), highest.max(most));
    }
    let is_one = |lowest: f64, highest: f64| highest <= lowest * SAME_RATE;
    let has_rate: Vec<(usize, f64)> = rates
        .into_iter()
        .filter(|(_, (lowest, highest))| is_one(*lowest, *highest))
        .map(|(load, (lowest, _))| (load, lowest))
        .collect();
    let is_alone = |(load, rate): &(usize, f64)| {
        let others = has_rate.iter().filter(|(other, _)| other != load);
        others.map(|(_, other)| *other).all(|other| !is_one(rate.min(other), rate.max(other)))
    };
    has_rate.iter().filter(|rate| is_alone(rate)).map(|(load, _)| *load).collect()
}

/// A chart with the curves of these subjects; `None` where no cell has the figure.
pub(super) fn draw(
    result: &ExperimentResult,
    layout: &Layout,
    shown: &Shown,
    subjects: &[usize],
) -> Option<String> {
    let drawing = Drawing { result, layout, shown, subjects };
    let curves: Vec<Curve> = subjects.iter().flat_map(|subject| drawing.curves_of(*subject)).collect();
    if curves.is_empty() {
        return None;
    }
    let name = |load: &usize| words::load(result, *load);
    let places = match layout.only_load() {
        Some(_) => Places::Servers(subjects.iter().map(|subject| words::subject(result, *subject)).collect()),
        None => Places::Loads(layout.at_places.iter().map(name).collect()),
    };
    let (title, unit) = (shown.title.to_owned(), shown.unit.to_owned());
    Some(Chart { title, unit, scale: shown.scale, curves, along: Along::Rates, places }.svg())
}

/// What is drawn.
struct Drawing<'a> {
    result: &'a ExperimentResult,
    layout: &'a Layout,
    shown: &'a Shown,
    subjects: &'a [usize],
}

impl Drawing<'_> {
    /// A curve of the loads with one rate or none, and one for each load with several.
    fn curves_of(&self, subject: usize) -> Vec<Curve> {
        let own = || self.result.cells.iter().filter(move |cell| cell.cell.subject == subject);
        let mut loads: Vec<Point> = own().filter_map(|cell| self.of_cell(cell)).collect();
        loads.sort_by(|one, other| order(one.across).total_cmp(&order(other.across)));
        let of_loads = Curve { number: subject, points: loads, is_of_steps: false };
        let of_steps = own().map(|cell| {
            let points = cell.steps.iter().filter_map(|step| self.of_step(cell, step)).collect();
            Curve { number: subject, points, is_of_steps: true }
        });
        [of_loads].into_iter().chain(of_steps).filter(|curve| !curve.points.is_empty()).collect()
    }

    fn of_cell(&self, cell: &CellResult) -> Option<Point> {
        let spread = (self.shown.of)(cell)?;
        let (load, subject) = (cell.cell.load, cell.cell.subject);
        let place = || self.layout.at_places.iter().position(|at| *at == load).map(|at| at as f64);
        let number = self.subjects.iter().position(|shown| *shown == subject)?;
        let across = match self.layout.at_rates.contains(&load) {
            true => Across::Rate(cell.asked_qps?),
            false if self.layout.only_load().is_some() => place().map(|_| Across::Place(number as f64))?,
            false => Across::Place(place()? + chart::beside(number, self.subjects.len())),
        };
        Some(self.point(across, cell, spread, ""))
    }

    fn of_step(&self, cell: &CellResult, step: &Step) -> Option<Point> {
        let spread = (self.shown.of_step)(step)?;
        let at = format!(" at {} queries/s", rate(step.asked_qps));
        Some(self.point(Across::Rate(step.asked_qps), cell, spread, &at))
    }

    fn point(&self, across: Across, cell: &CellResult, spread: Spread, at: &str) -> Point {
        let kind = self.shown.kind;
        let in_unit =
            |figure: Figure| if kind == Kind::Duration { figure.value * 1e-6 } else { figure.value };
        let name = format!(
            "{} under {}{at}: {}",
            words::subject(self.result, cell.cell.subject),
            words::load(self.result, cell.cell.load),
            words::spread(kind, cell, Some(spread))
        );
        let (low, y, high) = (in_unit(spread.lowest), in_unit(spread.median), in_unit(spread.highest));
        Point { across, y, low, high, is_bound: spread.median.beyond_timeout, name }
    }
}

/// Points at rates come before those at places.
fn order(across: Across) -> f64 {
    match across {
        Across::Rate(rate) => -1.0 / rate.max(f64::MIN_POSITIVE),
        Across::Place(place) => place + 1.0,
    }
}

/// Rates that differ by less are one: late sends change a rate a little.
const SAME_RATE: f64 = 1.01;

/// Shares from here on are near all.
const NEAR_ALL: f64 = 0.99;

/// With a share below it, those near all lie on one line.
const HIDES: f64 = 0.9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_stand_at_their_rates_only_where_these_tell_them_apart() {
        let apart = |asked: &[(usize, Option<f64>)]| told_apart(asked.iter().copied());
        let late = [(0, Some(25e3)), (0, Some(25.1e3)), (1, Some(50e3))];
        assert_eq!(apart(&late), [0, 1], "late sends change a rate a little");
        assert_eq!(apart(&[(0, Some(4e3)), (1, Some(4e3)), (2, Some(9e3))]), [2], "two loads of one rate");
        let other = [(0, Some(38.0)), (0, Some(1e3)), (1, Some(5e3))];
        assert_eq!(apart(&other), [1], "another rate for each server");
        assert_eq!(
            apart(&[(0, None), (1, Some(50e3)), (2, Some(60e3))]),
            [1, 2],
            "a closed loop beside rates"
        );
        assert_eq!(apart(&[(0, None), (0, Some(1.0))]), [0; 0]);
    }

    #[test]
    fn points_are_in_the_order_of_their_rates_and_places_follow() {
        let mut across =
            [Across::Place(0.0), Across::Rate(2e3), Across::Place(1.0), Across::Rate(1e3), Across::Rate(1e6)];
        across.sort_by(|one, other| order(*one).total_cmp(&order(*other)));
        let expected =
            [Across::Rate(1e3), Across::Rate(2e3), Across::Rate(1e6), Across::Place(0.0), Across::Place(1.0)];
        assert_eq!(across, expected);
    }
}
