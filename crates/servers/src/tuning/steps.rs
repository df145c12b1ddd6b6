//! Numbers in values, and the steps from one to the next.

use serde::Deserialize;

/// A value to try, beginning with the present one. In the catalogue it is a text:
///
/// ```text
///   x4        four times the present value          cpus      the number of CPUs that the server may use
///   /2        half of it                            cpus*2    twice as many, cpus/2 half as many
///   4096      this value, if the present is less    =4096     this value, also if the present is more
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Step {
    /// Where it leads.
    pub target: StepTarget,
    /// Whether it is taken also where that is less than the present value.
    pub also_down: bool,
}

/// Where a step leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepTarget {
    /// So many times the present value.
    Times(u64),
    /// The present value, divided by this.
    Part(u64),
    /// This value.
    Value(u64),
    /// The CPUs that the server may use, times the first number, divided by the second.
    Cpus(u64, u64),
}

impl Step {
    /// The value from the present one; `None` where it is not known and needed, or where the step is not taken.
    pub(super) fn applied(self, present: Option<u64>, cpus: u32) -> Option<u64> {
        let value = match self.target {
            StepTarget::Times(times) => present?.checked_mul(times)?,
            StepTarget::Part(part) => present?.checked_div(part)?,
            StepTarget::Value(value) => value,
            StepTarget::Cpus(times, part) => u64::from(cpus).checked_mul(times)?.checked_div(part)?,
        };
        (self.also_down || present.is_none_or(|present| value >= present)).then_some(value)
    }
}

impl TryFrom<String> for Step {
    type Error = String;

    fn try_from(text: String) -> Result<Step, String> {
        let cannot = || format!("\"{text}\" is not a step: write x4, /2, 4096, cpus or =4096");
        let number =
            |digits: &str| digits.parse::<u64>().ok().filter(|number| *number > 0).ok_or_else(cannot);
        let (also_down, rest) = match text.strip_prefix('=') {
            Some(rest) => (true, rest),
            None => (text.starts_with('/'), text.as_str()),
        };
        let target = if let Some(times) = rest.strip_prefix('x') {
            StepTarget::Times(number(times)?)
        } else if let Some(part) = rest.strip_prefix('/') {
            StepTarget::Part(number(part)?)
        } else if let Some(of_cpus) = rest.strip_prefix("cpus") {
            match (of_cpus.strip_prefix('*'), of_cpus.strip_prefix('/')) {
                (Some(times), _) => StepTarget::Cpus(number(times)?, 1),
                (_, Some(part)) => StepTarget::Cpus(1, number(part)?),
                _ if of_cpus.is_empty() => StepTarget::Cpus(1, 1),
                _ => return Err(cannot()),
            }
        } else {
            StepTarget::Value(rest.parse().map_err(|_| cannot())?)
        };
        Ok(Step { target, also_down })
    }
}

/// A step for each of several numbers in one value.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct LineOfSteps(Vec<Step>);

impl LineOfSteps {
    /// The value from the present numbers; `None` where a step needs one that is not known.
    pub(super) fn applied(&self, present: &[Option<u64>], cpus: u32) -> Option<String> {
        let at = |place: usize| present.get(place).copied().flatten();
        let values: Option<Vec<String>> = self
            .0
            .iter()
            .enumerate()
            .map(|(place, step)| Some(step.applied(at(place), cpus)?.to_string()))
            .collect();
        Some(values?.join(" "))
    }
}

impl TryFrom<String> for LineOfSteps {
    type Error = String;

    fn try_from(text: String) -> Result<LineOfSteps, String> {
        let steps: Result<Vec<Step>, String> =
            text.split_whitespace().map(|word| Step::try_from(word.to_owned())).collect();
        Ok(LineOfSteps(steps?))
    }
}

/// A number as configurations write it: with a suffix where the unit has some, `4m` or `2h`, as a product, `4 * MB`,
/// or as a word for "without a limit".
pub(super) fn number(text: &str, unit: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    if NO_LIMIT.contains(&text.as_str()) {
        return Some(u64::MAX);
    }
    text.split('*')
        .map(|factor| with_suffix(factor.trim(), unit))
        .try_fold(1_u64, |product, factor| product.checked_mul(factor?))
}

fn with_suffix(text: &str, unit: &str) -> Option<u64> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (digits, suffix) = text.split_at_checked(end)?;
    let multiplier = match (unit, suffix.trim()) {
        (_, "") => 1,
        ("%", "%") | ("bytes", "b") | ("s", "s") => 1,
        ("bytes", "k" | "kb" | "kib") => 1 << 10,
        ("bytes", "m" | "mb" | "mib") => 1 << 20,
        ("bytes", "g" | "gb" | "gib") => 1 << 30,
        ("s", "m") => 60,
        ("s", "h") => 3_600,
        ("s", "d") => 86_400,
        _ => return None,
    };
    match digits.is_empty() {
        // A constant of its own, as in `4 * MB`.
        true => (multiplier > 1).then_some(multiplier),
        false => digits.parse::<u64>().ok()?.checked_mul(multiplier),
    }
}

/// Words for a number without a limit.
const NO_LIMIT: [&str; 3] = ["unlimited", "infinity", "max"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_read_from_its_text() {
        let step = |text: &str| Step::try_from(text.to_owned());
        let up = |target| Step { target, also_down: false };
        assert_eq!(step("x4"), Ok(up(StepTarget::Times(4))));
        assert_eq!(step("cpus"), Ok(up(StepTarget::Cpus(1, 1))));
        assert_eq!(step("=0"), Ok(Step { target: StepTarget::Value(0), also_down: true }));
        assert_eq!(step("/2"), Ok(Step { target: StepTarget::Part(2), also_down: true }));
        for broken in ["", "x", "x0", "/0", "cpus4", "4m", "-1", "="] {
            assert!(step(broken).unwrap_err().contains("is not a step"), "{broken}");
        }
    }

    #[test]
    fn a_step_that_would_be_too_large_is_not_taken() {
        let times = Step { target: StepTarget::Times(4), also_down: false };
        assert_eq!(times.applied(Some(u64::MAX), 2), None);
        assert_eq!(times.applied(None, 2), None);
    }

    #[test]
    fn numbers_are_read_as_configurations_write_them() {
        for (text, unit, value) in [
            ("17", "packets", Some(17)),
            ("100 * MB", "bytes", Some(100 << 20)),
            ("1g", "bytes", Some(1 << 30)),
            ("2h", "s", Some(7_200)),
            ("150%", "%", Some(150)),
            ("infinity", "files", Some(u64::MAX)),
            ("4m", "packets", None),
            ("", "bytes", None),
            ("-1", "s", None),
            ("99999999999999999999", "bytes", None),
        ] {
            assert_eq!(number(text, unit), value, "{text}");
        }
    }
}
