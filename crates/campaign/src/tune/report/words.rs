//! The words of a night's answer. All forms have the same.

use dnsdyno_text::layout::NOTHING;
use dnsdyno_text::safe;
use dnsdyno_text::units::{bytes, count, counted, length, percent};

use super::TuneReport;
use crate::tune::{Gain, Gains, Part, Row, RowState, Verdict};

/// The answer in a sentence.
pub fn sentence(report: &TuneReport<'_>) -> String {
    let server = safe(report.server);
    match &report.answer.verdict {
        Verdict::Gains(gains) => {
            let changes = counted(gains.parts.len() as u64, "change", "changes");
            let at_least = if gains.is_at_least { "at least " } else { "" };
            let what = if report.judge == "answered" { "answers" } else { "is faster by" };
            let more = if report.judge == "answered" { " more" } else { "" };
            let (gain, ends) = (signed(gains.together.estimate), ends(gains.together));
            let gain = gain.trim_start_matches('+');
            format!("{server} {what} {at_least}{gain} %{more} ({ends}, 95 %) with {changes}")
        }
        Verdict::Nothing { beyond: Some(beyond) } => {
            format!(
                "nothing here helps {server}, beyond {}: a greater gain would have been seen",
                percent(*beyond)
            )
        }
        Verdict::Nothing { beyond: None } => format!("nothing was found that helps {server}"),
        Verdict::NotConfirmed { why, .. } => format!(
            "{server} gained with {}, and this could not be confirmed: {}",
            not_confirmed(report).join(", "),
            safe(why)
        ),
        Verdict::NotOverloaded => format!(
            "{server} answers all of this load, so that no change can show a gain: give a higher --rate, or judge by \
             latency (--judge p99)"
        ),
        Verdict::NoBase { why } => format!("{server} could not be measured as it is: {}", safe(why)),
    }
}

/// `+18..+26 %`.
pub fn ends(gain: Gain) -> String {
    format!("{}..{} %", signed(gain.from), signed(gain.to))
}

/// `+22 % (+18..+26 %)`; nothing where it was not measured.
pub fn gain(gain: Option<Gain>) -> String {
    gain.map_or(NOTHING.to_owned(), |gain| format!("{} % ({})", signed(gain.estimate), ends(gain)))
}

/// A gain in percent, with as many digits as its interval leaves: `+316`, `-2.4`.
pub fn signed(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() >= FEW_PERCENT { format!("{percent:+.0}") } else { format!("{percent:+.1}") }
}

/// The changes that gain, as rows: name, from, to, what it adds to the others, what it gains alone, what it costs.
pub fn changes(report: &TuneReport<'_>, gains: &Gains) -> Vec<[String; 6]> {
    let row = |part: &Part| {
        let of = report.parameters.get(part.parameter)?;
        Some([
            safe(&of.id),
            of.present.as_deref().map_or("not set".to_owned(), safe),
            of.values.get(part.value).map_or_else(String::new, |value| safe(value)),
            gain(part.adds),
            gain(part.alone),
            of.memory.as_deref().map_or_else(String::new, safe),
        ])
    };
    gains.parts.iter().filter_map(row).collect()
}

/// The changes that gained and could not be confirmed: `tcp-clients = 600`.
pub fn not_confirmed(report: &TuneReport<'_>) -> Vec<String> {
    let Verdict::NotConfirmed { changes, .. } = &report.answer.verdict else { return Vec::new() };
    let word = |(parameter, value): (&usize, &usize)| {
        let of = report.parameters.get(*parameter)?;
        Some(format!("{} = {}", safe(&of.id), safe(of.values.get(*value)?)))
    };
    changes.iter().filter_map(word).collect()
}

/// How a parameter fared.
pub fn state(row: &Row) -> String {
    match &row.state {
        RowState::Gain => "gain".to_owned(),
        RowState::Dropped => "no gain beside the others".to_owned(),
        RowState::NoGain => "no gain".to_owned(),
        RowState::Worse => "worse".to_owned(),
        RowState::NoEffectPossible => "no effect possible here".to_owned(),
        RowState::Fails(why) => format!("the server does not run with it: {}", first_line(why)),
        RowState::NotConfirmed => "gain, not confirmed".to_owned(),
        RowState::Doubtful(why) => format!("not known, none of its trials counts: {}", first_line(why)),
        RowState::NotSet(why) => format!("could not be set: {}", first_line(why)),
        RowState::NotTried => "not tried".to_owned(),
    }
}

/// The key of a state in JSON.
pub fn state_key(row: &Row) -> &'static str {
    match row.state {
        RowState::Gain => "gain",
        RowState::Dropped => "dropped",
        RowState::NoGain => "no_gain",
        RowState::Worse => "worse",
        RowState::NoEffectPossible => "no_effect_possible",
        RowState::Fails(_) => "fails",
        RowState::NotConfirmed => "not_confirmed",
        RowState::Doubtful(_) => "doubtful",
        RowState::NotSet(_) => "not_set",
        RowState::NotTried => "not_tried",
    }
}

/// Why a parameter has this state, in a few words.
pub fn why(report: &TuneReport<'_>, at: usize, row: &Row) -> String {
    let Some(of) = report.parameters.get(at) else { return String::new() };
    match &row.state {
        RowState::NoEffectPossible => {
            let more = of.acts_on.len().saturating_sub(FEW_SERIES);
            let named: Vec<&str> = of.acts_on.iter().take(FEW_SERIES).map(String::as_str).collect();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("did not move: {}{more}", named.join(", "))
        }
        RowState::NotTried => "the night ended before".to_owned(),
        _ => of.risk.as_deref().map_or_else(String::new, |risk| format!("risk: {}", safe(risk))),
    }
}

/// Numbers in the lists of the fourth field report: `k-2, k-3`.
pub fn numbers(numbers: &[String]) -> String {
    if numbers.is_empty() { String::new() } else { numbers.join(", ") }
}

/// What the night cost, in a sentence.
pub fn cost(report: &TuneReport<'_>) -> String {
    let answer = report.answer;
    let of_phase = |(phase, trials): &(crate::tune::Phase, u32)| {
        format!("{} {}", count(u64::from(*trials)), phase.name())
    };
    let phases: Vec<String> = answer.trials.iter().map(of_phase).collect();
    let made = counted(u64::from(answer.trials_made()), "trial", "trials");
    let one_at_a_time = u64::from(answer.one_at_a_time);
    let passes = u64::from(answer.rounds) + 1;
    let each = match passes {
        1 => String::new(),
        _ => format!(" in each of {passes} passes"),
    };
    format!(
        "{made} in {} ({}); all values one at a time, with {} pairs each, would take {}{each}",
        length(report.took_ns),
        phases.join(", "),
        count(u64::from(report.pairs)),
        count(one_at_a_time)
    )
}

/// What the changes cost in memory, where it was read.
pub fn memory(gains: &Gains) -> Option<String> {
    let octets = gains.memory_bytes?;
    let sign = if octets < 0 { "less" } else { "more" };
    Some(format!("Memory of the server: {} {sign}", bytes(octets.unsigned_abs() as f64)))
}

fn first_line(text: &str) -> String {
    safe(text.lines().next().unwrap_or_default())
}

/// Below this a tenth of a percent is told.
const FEW_PERCENT: f64 = 10.0;

/// As many series fit beside a parameter; JSON has all.
const FEW_SERIES: usize = 2;
