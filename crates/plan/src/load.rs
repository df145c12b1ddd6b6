//! The load of a draft, and what ends it.

use dnsdyno_queries::{Order, QuerySource, Selection};
use dnsdyno_text::notation::{UnitError, parse_duration_ns, parse_range, parse_rate_qps};

use crate::draft::{Draft, PieceDraft};
use crate::error::PlanError;
use crate::groups::Group;
use crate::schedule::{Burst, Constant, Load, Piece, Piecewise, Ramp, Shape, Stair};
use crate::stop::Stop;
use crate::values::read;

/// The default window: a closed loop, as in dnsperf.
const DEFAULT_OUTSTANDING: u32 = 100;

/// The window of a send-only run, which is never full because no response is awaited: each worker's share is several
/// batches.
const FLOOD: u32 = 65_536;

/// The default length of a run with given names: one pass would end immediately.
const DEFAULT_GIVEN_NS: u64 = 10_000_000_000;

/// The load of a plan.
pub(crate) struct LoadChoice {
    pub(crate) load: Load,
    pub(crate) shape: Option<Shape>,
    pub(crate) stop: Stop,
}

/// Reads the load of a draft. `stop` is what the user gave; the returned one has its default.
pub(crate) fn choose_load(
    draft: &Draft,
    stop: Stop,
    source: &QuerySource,
    selection: &Selection,
) -> Result<LoadChoice, PlanError> {
    let mut shapes = draft.choices(Group::Shape).into_iter();
    let kind = shapes.next();
    if let (Some(first), Some(second)) = (kind, shapes.next()) {
        return Err(PlanError::TwoLoads { first, second });
    }
    if draft.outstanding == Some(0) {
        return Err(PlanError::Zero { option: "outstanding" });
    }
    let ends_by_itself = !matches!(kind, None | Some("rate"));
    let stop =
        if stop == Stop::default() && !ends_by_itself { default_stop(source, selection) } else { stop };
    let shape = match kind {
        Some("rate") => constant(draft, stop)?,
        Some("ramp") => ramp(draft)?,
        Some("stair") => stair(draft)?,
        Some("burst") => burst(draft, stop)?,
        Some("piece") => pieces(draft)?,
        _ if has_instants(source) && draft.outstanding.is_none() => {
            return Ok(LoadChoice { load: Load::OfSource, shape: None, stop });
        }
        _ => {
            let is_flood = draft.send_only.unwrap_or(false);
            let default = if is_flood { FLOOD } else { DEFAULT_OUTSTANDING };
            let outstanding = draft.outstanding.unwrap_or(default);
            let load = match rate_limit_qps(draft)? {
                Some(most_qps) => Load::Limited { outstanding, most_qps },
                None => Load::Closed { outstanding },
            };
            return Ok(LoadChoice { load, shape: None, stop });
        }
    };
    let mut curve = shape.curve()?;
    if let Some(end_ns) = stop.duration_ns {
        curve = curve.cut_at(end_ns)?;
    }
    Ok(LoadChoice { load: Load::Open { curve, window: draft.outstanding }, shape: Some(shape), stop })
}

/// Whether the source says when each query is due.
fn has_instants(source: &QuerySource) -> bool {
    matches!(source, QuerySource::Capture | QuerySource::Clients(_))
}

/// The default for a file is one pass, as in dnsperf. There are none where each query is chosen by chance.
fn default_stop(source: &QuerySource, selection: &Selection) -> Stop {
    let has_passes = selection.hit_rate.is_none() && !matches!(selection.order, Order::Zipf { .. });
    match source {
        _ if !has_passes => Stop { duration_ns: Some(DEFAULT_GIVEN_NS), ..Stop::default() },
        QuerySource::File(_) | QuerySource::Stdin | QuerySource::Zone { .. } | QuerySource::Capture => {
            Stop { passes: Some(1), ..Stop::default() }
        }
        QuerySource::Given(_) | QuerySource::Made(_) | QuerySource::Clients(_) => {
            Stop { duration_ns: Some(DEFAULT_GIVEN_NS), ..Stop::default() }
        }
    }
}

fn constant(draft: &Draft, stop: Stop) -> Result<Shape, PlanError> {
    let rate_qps = needed("rate", "rate", &draft.rate, "50k", parse_rate_qps)?;
    if rate_qps == 0.0 {
        return Err(PlanError::Zero { option: "rate" });
    }
    Ok(Shape::Constant(Constant { rate_qps, duration_ns: stop.duration_ns }))
}

fn rate_limit_qps(draft: &Draft) -> Result<Option<f64>, PlanError> {
    let limit = read("rate-limit", &draft.rate_limit, parse_rate_qps)?;
    // A worker divides time into seconds.
    match limit {
        Some(0.0) => Err(PlanError::Zero { option: "rate-limit" }),
        Some(limit) if limit < 1.0 => Err(PlanError::SlowLimit),
        limit => Ok(limit),
    }
}

fn ramp(draft: &Draft) -> Result<Shape, PlanError> {
    let (from_qps, to_qps) = needed("ramp", "ramp", &draft.ramp, "0..100k", rates)?;
    Ok(Shape::Ramp(Ramp {
        from_qps,
        to_qps,
        over_ns: above_zero("ramp", "over", &draft.over, "60s")?,
        hold_ns: read("hold", &draft.hold, parse_duration_ns)?.unwrap_or(0),
    }))
}

fn stair(draft: &Draft) -> Result<Shape, PlanError> {
    let (from_qps, to_qps) = needed("stair", "stair", &draft.stair, "2k..25k", rates)?;
    Ok(Shape::Stair(Stair {
        from_qps,
        to_qps,
        step_qps: needed("stair", "step", &draft.step, "1k", parse_rate_qps)?,
        hold_ns: above_zero("stair", "hold", &draft.hold, "60s")?,
    }))
}

fn burst(draft: &Draft, stop: Stop) -> Result<Shape, PlanError> {
    let (base_qps, peak_qps) = needed("burst", "burst", &draft.burst, "1k..50k", rates)?;
    Ok(Shape::Burst(Burst {
        base_qps,
        peak_qps,
        every_ns: above_zero("burst", "every", &draft.every, "10s")?,
        hold_ns: above_zero("burst", "hold", &draft.hold, "1s")?,
        duration_ns: stop.duration_ns.ok_or(PlanError::Incomplete {
            load: "burst",
            missing: "for",
            example: "60s",
        })?,
    }))
}

fn pieces(draft: &Draft) -> Result<Shape, PlanError> {
    let drafts = draft.piece.as_deref().unwrap_or_default();
    Ok(Shape::Pieces(Piecewise { pieces: drafts.iter().map(piece).collect::<Result<_, _>>()? }))
}

fn piece(draft: &PieceDraft) -> Result<Piece, PlanError> {
    let wrong = |source| PlanError::Unit { option: "piece", source };
    // A single rate is a range with equal ends.
    let (rate_from_qps, rate_to_qps) = if draft.rate.contains("..") {
        rates(&draft.rate)
    } else {
        parse_rate_qps(&draft.rate).map(|rate| (rate, rate))
    }
    .map_err(wrong)?;
    Ok(Piece {
        rate_from_qps,
        rate_to_qps,
        duration_ns: parse_duration_ns(&draft.duration).map_err(wrong)?,
        label: draft.label.clone().unwrap_or_else(|| draft.rate.clone()),
    })
}

fn rates(text: &str) -> Result<(f64, f64), UnitError> {
    parse_range(text, parse_rate_qps)
}

/// Reads a value that the load requires.
fn needed<T>(
    load: &'static str,
    option: &'static str,
    text: &Option<String>,
    example: &'static str,
    parse: impl Fn(&str) -> Result<T, UnitError>,
) -> Result<T, PlanError> {
    read(option, text, parse)?.ok_or(PlanError::Incomplete { load, missing: option, example })
}

/// Reads a duration above 0 that the load requires.
fn above_zero(
    load: &'static str,
    option: &'static str,
    text: &Option<String>,
    example: &'static str,
) -> Result<u64, PlanError> {
    match needed(load, option, text, example, parse_duration_ns)? {
        0 => Err(PlanError::Zero { option }),
        ns => Ok(ns),
    }
}
