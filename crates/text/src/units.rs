//! Figures as text: durations, counts, rates and shares.

/// A measured duration with three significant digits: `843 µs`, `1.23 ms`, `12.3 s`.
pub fn duration(ns: u64) -> String {
    if ns < 1_000 {
        return format!("{ns} ns");
    }
    for (unit_ns, unit) in [(1_000u64, "µs"), (1_000_000, "ms")] {
        let text = three_digits(ns as f64 / unit_ns as f64);
        // 999.7 µs is 1.00 ms: the unit follows the rounded figure.
        if text != "1000" && ns < unit_ns * 1_000 {
            return format!("{text} {unit}");
        }
    }
    let seconds = ns as f64 * 1e-9;
    if seconds < 999.5 {
        format!("{} s", three_digits(seconds))
    } else {
        format!("{} s", count(seconds.round() as u64))
    }
}

/// A duration of the configuration, with as few digits as needed: `5 s`, `250 ms`, `1.5 s`.
pub fn setting(ns: u64) -> String {
    let (unit_ns, unit) = match ns {
        0..1_000 => (1, "ns"),
        1_000..1_000_000 => (1_000, "µs"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000u64, "s"),
    };
    let fraction = format!("{:.3}", ns as f64 / unit_ns as f64);
    format!("{} {unit}", fraction.trim_end_matches('0').trim_end_matches('.'))
}

/// The length of a run: `20.3 s`, `12 min 5 s`, `3 h 0 min`; below a tenth of a second as a measured duration.
pub fn length(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    match seconds {
        _ if ns < 100_000_000 => duration(ns),
        0..120 => {
            let tenths = format!("{:.1}", ns as f64 * 1e-9);
            format!("{} s", tenths.strip_suffix(".0").unwrap_or(&tenths))
        }
        120..7_200 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds / 60 % 60),
    }
}

/// An instant of a run in seconds, as precise as `step_ns` needs: `12`, `0.25`.
pub fn seconds(ns: u64, step_ns: u64) -> String {
    let digits = match step_ns {
        s if s % 1_000_000_000 == 0 => 0,
        s if s % 100_000_000 == 0 => 1,
        s if s % 10_000_000 == 0 => 2,
        _ => 3,
    };
    format!("{:.digits$}", ns as f64 * 1e-9)
}

/// A whole number with separators: `1,234,567`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of octets with at most three digits: `212 kB`, `1.5 MB`.
pub fn bytes(octets: f64) -> String {
    let scales = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let (unit, name) = scales.into_iter().find(|(unit, _)| octets >= *unit).unwrap_or((1.0, "B"));
    let text = if unit == 1.0 { format!("{:.0}", octets) } else { three_digits(octets / unit) };
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} {name}")
}

/// A number of bits each second with three digits: `1.02 Gbit/s`, `980 kbit/s`.
pub fn bits_per_s(bits: f64) -> String {
    let scales = [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")];
    match scales.into_iter().find(|(unit, _)| bits >= *unit) {
        Some((unit, name)) if bits >= unit * 999.5 => {
            format!("{} {name}", count((bits / unit).round() as u64))
        }
        Some((unit, name)) => format!("{} {name}", three_digits(bits / unit)),
        None => format!("{bits:.0} bit/s"),
    }
}

/// A figure without a unit: `1,234`, `12.5`, `0.84`, `0.0012`.
pub fn number(figure: f64) -> String {
    match figure {
        _ if !figure.is_finite() || figure < 1e-9 => "0".to_owned(),
        _ if figure >= 0.0995 => rate(figure),
        _ => {
            let digits = (1.0 - figure.log10().floor()).clamp(2.0, 10.0) as usize;
            format!("{figure:.digits$}")
        }
    }
}

/// A number of things: `1 query`, `1,234 queries`.
pub fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// A rate per second: `50,000`, `12.5`, `0.25`.
pub fn rate(qps: f64) -> String {
    match qps {
        _ if !qps.is_finite() || qps <= 0.0 => "0".to_owned(),
        _ if qps >= 99.95 => count(qps.round() as u64),
        _ if qps >= 9.995 => format!("{qps:.1}"),
        _ => format!("{qps:.2}"),
    }
}

/// A share (0 to 1) as a percentage. Only 0 is `0 %` and only 1 is `100 %`.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        p if p <= 0.0 => "0 %".to_owned(),
        p if p < 0.01 => "<0.01 %".to_owned(),
        p if p > 99.99 && p < 100.0 => ">99.99 %".to_owned(),
        100.0 => "100 %".to_owned(),
        p => format!("{p:.2} %"),
    }
}

/// Three significant digits of a figure from 1 to 999.
fn three_digits(figure: f64) -> String {
    match figure {
        f if f >= 99.95 => format!("{f:.0}"),
        f if f >= 9.995 => format!("{f:.1}"),
        f => format!("{f:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits_and_the_unit_that_fits() {
        let cases = [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (84_349, "84.3 µs"),
            (843_000, "843 µs"),
            (999_700, "1.00 ms"),
            (1_234_000, "1.23 ms"),
            (9_996_000, "10.0 ms"),
            (999_600_000, "1.00 s"),
            (12_345_000_000, "12.3 s"),
            (1_234_000_000_000, "1,234 s"),
        ];
        cases.into_iter().for_each(|(ns, text)| assert_eq!(duration(ns), text));
    }

    #[test]
    fn settings_have_no_trailing_zeros() {
        let cases = [(5_000_000_000, "5 s"), (250_000_000, "250 ms"), (1_500_000_000, "1.5 s"), (0, "0 ns")];
        cases.into_iter().for_each(|(ns, text)| assert_eq!(setting(ns), text));
    }

    #[test]
    fn lengths_have_the_usual_units() {
        let cases = [
            (24_000_000, "24.0 ms"),
            (20_000_000_000, "20 s"),
            (20_310_000_000, "20.3 s"),
            (725_000_000_000, "12 min 5 s"),
            (10_800_000_000_000, "3 h 0 min"),
        ];
        cases.into_iter().for_each(|(ns, text)| assert_eq!(length(ns), text));
    }

    #[test]
    fn counts_and_rates_have_separators() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [0.0, 0.25, 12.5, 99.96, 50_000.4, f64::NAN].map(rate),
            ["0", "0.25", "12.5", "100", "50,000", "0"]
        );
    }

    #[test]
    fn octets_have_three_digits_and_the_unit_that_fits() {
        assert_eq!(
            [0.0, 999.0, 212_992.0, 1_500_000.0, 2_000_000_000.0, 12.6e12].map(bytes),
            ["0 B", "999 B", "213 kB", "1.5 MB", "2 GB", "12600 GB"]
        );
    }

    #[test]
    fn bits_have_three_digits_and_figures_two_at_least() {
        assert_eq!(
            [0.0, 999.0, 1_020.0, 980e3, 12.34e6, 1.024e9, 1.5e12].map(bits_per_s),
            [
                "0 bit/s",
                "999 bit/s",
                "1.02 kbit/s",
                "980 kbit/s",
                "12.3 Mbit/s",
                "1.02 Gbit/s",
                "1,500 Gbit/s"
            ]
        );
        assert_eq!(
            [0.0, 0.001_23, 0.05, 0.84, 10.0, 1_234.0, f64::NAN].map(number),
            ["0", "0.0012", "0.050", "0.84", "10.0", "1,234", "0"]
        );
    }

    #[test]
    fn one_thing_is_not_several() {
        assert_eq!(
            [0, 1, 2_000].map(|n| counted(n, "query", "queries")),
            ["0 queries", "1 query", "2,000 queries"]
        );
    }

    #[test]
    fn a_share_is_never_rounded_to_none_or_to_all() {
        let cases = [
            (0.0, "0 %"),
            (0.000_01, "<0.01 %"),
            (0.002_4, "0.24 %"),
            (0.999_99, ">99.99 %"),
            (1.0, "100 %"),
        ];
        cases.into_iter().for_each(|(share, text)| assert_eq!(percent(share), text));
    }

    #[test]
    fn instants_are_as_precise_as_their_steps() {
        assert_eq!(seconds(12_000_000_000, 1_000_000_000), "12");
        assert_eq!(seconds(1_250_000_000, 250_000_000), "1.25");
    }
}
