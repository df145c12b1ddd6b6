//! The texts of a finding: its sentence, its evidence, and the parameters with their present values.

use dnsdyno_measure::Side;
use dnsdyno_servers::server_of;
use dnsdyno_text::safe;
use dnsdyno_text::units::{count, counted, percent};

use super::found::{Evidence, Explained, Finding, Parameter};
use super::judge::{Explanation, Losses};
use super::rules::{Kind, ParameterRule, Rule, Shape};
use super::sources::{Source, Sources};
use super::timeline::Timeline;
use super::tracks::{Measure, Part, Track, between};
use crate::figures::share;

/// What a finding is made from.
pub(super) struct Described<'a> {
    pub(super) rules: &'a [Rule],
    pub(super) tracks: &'a [Track<'a>],
    pub(super) sources: &'a Sources,
    pub(super) timeline: &'a Timeline,
    pub(super) losses: &'a Losses,
    /// What a query without an answer is called: one and many.
    pub(super) lost: (&'static str, &'static str),
}

impl Described<'_> {
    pub(super) fn finding(&self, explanation: &Explanation) -> Option<Finding> {
        let (rule, track) = (self.rules.get(explanation.rule)?, self.tracks.get(explanation.track)?);
        let explains = Explained {
            unanswered: explanation.unanswered,
            of: self.losses.unanswered(),
            slow_intervals: explanation.slow,
            of_slow_intervals: self.losses.slow(),
        };
        let of_losses = share(explains.unanswered, explains.of).filter(|share| *share > 0.0);
        Some(Finding {
            rule: rule.name.clone(),
            title: track.sign.title.clone().unwrap_or_else(|| rule.title.clone()),
            sentence: self.sentence(explanation, track),
            explains,
            share: of_losses.or(share(explains.slow_intervals, explains.of_slow_intervals)).unwrap_or(0.0),
            evidence: self.evidence(rule, explanation),
            parameters: self.parameters(rule, track),
            advice: rule.advice.clone(),
            check: rule.check.clone(),
            source: rule.source.clone(),
        })
    }

    /// Queries due.
    pub(super) fn due(&self) -> u64 {
        self.timeline.entries.iter().map(|entry| entry.due).fold(0, u64::saturating_add)
    }

    fn sentence(&self, explanation: &Explanation, track: &Track<'_>) -> String {
        let (one, many) = self.timeline.words();
        let clause = self.clause(explanation, track);
        if explanation.unanswered == 0 {
            return format!(
                "In {} of the {} with slow responses {clause}.",
                count(explanation.slow),
                counted(self.losses.slow(), one, many)
            );
        }
        format!(
            "{} of the {} {} due in {} in which {clause}.",
            count(explanation.unanswered),
            counted(self.losses.unanswered(), self.lost.0, self.lost.1),
            if self.losses.unanswered() == 1 { "was" } else { "were" },
            counted(explanation.intervals, one, many),
        )
    }

    fn clause(&self, explanation: &Explanation, track: &Track<'_>) -> String {
        let (one, many) = &track.sign.unit;
        let Some(part) = self.strongest(track) else { return String::new() };
        let source = self.sources.get(part.source);
        let limit = part.limit;
        let value = match track.sign.shape {
            Shape::HotSocket { .. } => limit,
            // In thousandths of the limit.
            _ if track.measure() == Measure::ShareAtEnd => {
                (explanation.evidence as f64 * limit as f64 / 1_000.0).round() as u64
            }
            _ => explanation.evidence,
        };
        let words = [
            ("{source}", source.map_or(String::new(), |source| source.label.clone())),
            ("{count}", counted(explanation.evidence, one, many)),
            ("{value}", count(value)),
            ("{limit}", count(limit)),
            ("{share}", format!("{} %", (explanation.evidence as f64 / 10.0).round())),
            ("{part}", self.part_of_name(track, part)),
        ];
        words.into_iter().fold(track.sign.clause.clone(), |text, (key, words)| text.replace(key, &words))
    }

    /// The part with the most evidence over the run: of shares, that which is nearest to its limit.
    fn strongest<'t>(&self, track: &'t Track<'_>) -> Option<&'t Part> {
        let is_share = matches!(track.measure(), Measure::Share | Measure::ShareAtEnd);
        let evidence = |part: &&Part| match part.limit {
            limit @ 1.. if is_share => u128::from(self.total(part)) * 1_000_000 / u128::from(limit),
            _ => u128::from(self.total(part)),
        };
        track.parts.iter().max_by_key(evidence)
    }

    fn total(&self, part: &Part) -> u64 {
        let Some(source) = self.sources.get(part.source) else { return 0 };
        part.names.iter().map(|name| value(source, name)).fold(0, u64::saturating_add)
    }

    /// What stands for the `*` in the name of the strongest series: a thread, an interface.
    fn part_of_name(&self, track: &Track<'_>, part: &Part) -> String {
        let Some(source) = self.sources.get(part.source) else { return String::new() };
        let strongest = part.names.iter().max_by_key(|name| value(source, name));
        let patterns: Vec<&str> = match &track.sign.shape {
            Shape::Time { counters, .. } | Shape::Count { counters, .. } => {
                counters.iter().map(String::as_str).collect()
            }
            Shape::Bandwidth { .. } => vec!["interface.*.tx_bytes", "interface.*.rx_bytes"],
            _ => Vec::new(),
        };
        let found = strongest.and_then(|name| patterns.iter().find_map(|pattern| between(pattern, name)));
        safe(found.unwrap_or_default())
    }

    /// The series of the sign first, then what else rose of this rule and of those that show its effects.
    fn evidence(&self, rule: &Rule, explanation: &Explanation) -> Vec<Evidence> {
        let is_shown = |track: &&Track<'_>| {
            let about = &self.rules[track.rule];
            about.name == rule.name || rule.behind.contains(&about.name)
        };
        let first = self.tracks.get(explanation.track).into_iter();
        let others = self.tracks.iter().filter(is_shown);
        let mut evidence = Vec::<Evidence>::new();
        for track in first.chain(others) {
            let mut series = self.series(track);
            series.sort_by_key(|series| std::cmp::Reverse(series.value));
            series.truncate(SERIES_OF_A_SIGN);
            for found in series {
                if !evidence.iter().any(|known| known.source == found.source && known.series == found.series)
                {
                    evidence.push(found);
                }
            }
        }
        evidence.truncate(MOST_EVIDENCE);
        evidence
    }

    /// What a track has of its series over the run; those that never moved are left out.
    fn series(&self, track: &Track<'_>) -> Vec<Evidence> {
        let has_limit = matches!(track.measure(), Measure::ShareAtEnd);
        let of_part = |part: &Part| {
            let source = self.sources.get(part.source);
            let limit = Some(part.limit).filter(|_| has_limit);
            let series = |name: &String| {
                let source = source?;
                let value = value(source, name);
                let (label, series) = (source.label.clone(), safe(name));
                (value > 0).then_some(Evidence { source: label, series, value, limit })
            };
            part.names.iter().filter_map(series).collect::<Vec<_>>()
        };
        track.parts.iter().flat_map(of_part).collect()
    }

    fn parameters(&self, rule: &Rule, track: &Track<'_>) -> Vec<Parameter> {
        rule.parameter.iter().flat_map(|parameter| self.parameter(parameter, track)).collect()
    }

    fn parameter(&self, parameter: &ParameterRule, track: &Track<'_>) -> Vec<Parameter> {
        let has_risen = |wanted: &String| {
            let source = |part: &Part| self.sources.get(part.source);
            track.parts.iter().any(|part| {
                part.names.contains(wanted) && source(part).is_some_and(|source| value(source, wanted) > 0)
            })
        };
        if !parameter.for_series.iter().all(has_risen) {
            return Vec::new();
        }
        let sources: Vec<&Source> = match parameter.of.as_str() {
            "kernel" => self.sources.with(Kind::Host, track.sign.side).map(|(_, source)| source).collect(),
            "process" => {
                self.sources.with(Kind::Process, track.sign.side).map(|(_, source)| source).collect()
            }
            software => {
                // Another one of the same software, such as the server that a resolver asks, has its own parameters.
                let is_of = |source: &&Source| {
                    source.software.as_deref() == Some(software) && source.side != Side::Other
                };
                self.sources.iter().filter(is_of).collect()
            }
        };
        let made = |name: &str, of: &Source, value: String| Parameter {
            name: safe(name),
            of: of.label.clone(),
            value,
            r#try: parameter.r#try.clone(),
        };
        if parameter.name.contains('*') {
            let fits = |name: &str| between(&parameter.name, name).is_some();
            let named = sources.iter().flat_map(|source| {
                let settings = source.settings.iter().filter(|(name, _)| fits(name));
                settings.map(|(name, value)| made(name, source, number_or_text(value)))
            });
            return named.take(MOST_OF_A_PATTERN).collect();
        }
        let known = sources.iter().find_map(|source| Some((*source, source.settings.get(&parameter.name)?)));
        if let Some((source, value)) = known {
            return vec![made(&parameter.name, source, number_or_text(value))];
        }
        let unset = sources.iter().find(|source| source.is_unset(&parameter.name));
        let Some(source) = unset.or(sources.first()) else { return Vec::new() };
        let default = server_of(&parameter.of).and_then(|server| server.default_of(&parameter.name));
        let value = match (unset, default) {
            (Some(_), Some(default)) => format!("not set (default {default})"),
            (Some(_), None) => "not set".to_owned(),
            (None, _) => "not known".to_owned(),
        };
        vec![made(&parameter.name, source, value)]
    }
}

fn value(source: &Source, series: &str) -> u64 {
    source.totals.counter(series).max(source.totals.gauge(series))
}

/// A value of a parameter, to print; a number with its separators.
fn number_or_text(value: &str) -> String {
    match value.trim().parse::<u64>() {
        Ok(number) => count(number),
        Err(_) => safe(value),
    }
}

/// The verdict of findings: the first one, with what it explains.
pub(super) fn verdict_of(finding: &Finding, lost: (&str, &str), slow: (&str, &str)) -> String {
    let Explained { unanswered, of, slow_intervals, of_slow_intervals } = finding.explains;
    let mut title = finding.title.clone();
    if let Some(first) = title.get_mut(0..1) {
        first.make_ascii_uppercase();
    }
    match unanswered {
        0 => format!(
            "{title}: this explains {} of the {} with slow responses.",
            count(slow_intervals),
            counted(of_slow_intervals, slow.0, slow.1)
        ),
        _ => format!(
            "{title}: this explains {} of the {} ({}).",
            count(unanswered),
            counted(of, lost.0, lost.1),
            percent(finding.share)
        ),
    }
}

/// Of the series of one sign: threads, sockets and interfaces may be many.
const SERIES_OF_A_SIGN: usize = 3;

/// The series of a finding.
const MOST_EVIDENCE: usize = 8;

/// Values of a parameter with `*`.
const MOST_OF_A_PATTERN: usize = 4;
