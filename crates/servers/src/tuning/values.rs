//! The values of a parameter: its range, what is worth a trial, and when two texts are the same value.

use serde::Deserialize;

use super::steps::{LineOfSteps, Step, number};

/// The range of a parameter, and what to try.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Values {
    /// A number.
    Number {
        /// The smallest value.
        from: u64,
        /// The largest one.
        to: u64,
        /// What to try.
        steps: Vec<Step>,
        /// What is counted: `bytes`, `s`, `packets`. Of bytes and seconds, suffixes are understood.
        unit: String,
    },
    /// One of these words. Each but the present one is tried.
    Words(Vec<String>),
    /// Several numbers in one value, such as those of `net.ipv4.tcp_rmem`.
    Fields {
        /// The smallest value of each.
        from: Vec<u64>,
        /// The largest one of each.
        to: Vec<u64>,
        /// What to try: a step for each number, `x1 x4 x4`. `x1` leaves a number as it is.
        tries: Vec<LineOfSteps>,
        /// What is counted.
        unit: String,
    },
    /// A mask of CPUs in hexadecimal digits. That of all CPUs is tried.
    CpuMask {
        /// Whether it may be 0, which switches it off, and this is tried.
        zero: bool,
        /// Whether each half of the CPUs is tried, too.
        halves: bool,
    },
    /// It has no values.
    #[default]
    Nothing,
}

impl Values {
    pub(super) fn candidates_on(&self, present: Option<&str>, cpus: &[u32]) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for value in self.tried(present, cpus) {
            let is_known = |known: &str| self.same(known, &value);
            if self.allows(&value).is_ok()
                && !present.is_some_and(is_known)
                && !found.iter().any(|one| is_known(one))
            {
                found.push(value);
            }
        }
        found
    }

    /// What the row says, in the order in which it is tried.
    fn tried(&self, present: Option<&str>, numbers: &[u32]) -> Vec<String> {
        let cpus = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        match self {
            Values::Number { steps, unit, .. } => {
                let present = present.and_then(|text| number(text, unit));
                let mut values: Vec<u64> =
                    steps.iter().filter_map(|step| step.applied(present, cpus)).collect();
                values.sort_by_key(|value| value.abs_diff(present.unwrap_or(0)));
                values.iter().map(u64::to_string).collect()
            }
            Values::Words(words) => words.clone(),
            Values::Fields { tries, unit, .. } => {
                let present: Vec<Option<u64>> =
                    present.unwrap_or_default().split_whitespace().map(|text| number(text, unit)).collect();
                tries.iter().filter_map(|line| line.applied(&present, cpus)).collect()
            }
            Values::CpuMask { zero, halves } => {
                let off = zero.then(|| "0".to_owned());
                let (first, second) = numbers.split_at(numbers.len() / 2);
                let may_halve = *halves && !first.is_empty();
                let halves = [mask(first), mask(second)].into_iter().filter(|_| may_halve);
                [mask(numbers)].into_iter().chain(halves).chain(off).collect()
            }
            Values::Nothing => Vec::new(),
        }
    }

    /// Whether a value is in the range; the error is the end of a sentence that says it.
    pub(super) fn allows(&self, value: &str) -> Result<(), String> {
        match self {
            Values::Number { from, to, unit, .. } => {
                let is_inside = number(value, unit).is_some_and(|value| (*from..=*to).contains(&value));
                is_inside.then_some(()).ok_or_else(|| format!("give a number from {from} to {to} ({unit})"))
            }
            Values::Words(words) => words
                .iter()
                .any(|word| self.same(word, value))
                .then_some(())
                .ok_or_else(|| format!("give one of: {}", words.join(", "))),
            Values::Fields { from, to, unit, .. } => {
                let given: Vec<Option<u64>> =
                    value.split_whitespace().map(|text| number(text, unit)).collect();
                let ranges = from.iter().zip(to);
                let is_inside = |(value, (from, to)): (&Option<u64>, (&u64, &u64))| {
                    value.is_some_and(|value| (*from..=*to).contains(&value))
                };
                let are_inside = given.len() == from.len() && given.iter().zip(ranges.clone()).all(is_inside);
                let ranges: Vec<String> = ranges.map(|(from, to)| format!("from {from} to {to}")).collect();
                let all = || format!("give {} numbers, {} ({unit})", ranges.len(), ranges.join(", "));
                are_inside.then_some(()).ok_or_else(all)
            }
            Values::CpuMask { zero, .. } => {
                let digits = plain_mask(value);
                let is_mask =
                    digits.chars().all(|digit| digit.is_ascii_hexdigit()) && !value.trim().is_empty();
                let is_allowed = is_mask && (*zero || !digits.is_empty());
                is_allowed.then_some(()).ok_or_else(|| "give a mask of CPUs in hexadecimal digits".to_owned())
            }
            Values::Nothing => Err("it cannot be set".to_owned()),
        }
    }

    pub(super) fn same(&self, one: &str, other: &str) -> bool {
        let are_equal = one.split_whitespace().eq(other.split_whitespace());
        are_equal
            || match self {
                Values::Number { unit, .. } => {
                    number(one, unit).is_some_and(|value| number(other, unit) == Some(value))
                }
                Values::Words(words) => {
                    let is_switch = words.iter().any(|word| switch(word).is_some());
                    is_switch && switch(one).is_some_and(|value| switch(other) == Some(value))
                }
                Values::Fields { unit, .. } => {
                    let numbers = |text: &str| -> Option<Vec<u64>> {
                        text.split_whitespace().map(|word| number(word, unit)).collect()
                    };
                    numbers(one).is_some_and(|values| numbers(other) == Some(values))
                }
                Values::CpuMask { .. } => plain_mask(one) == plain_mask(other),
                Values::Nothing => false,
            }
    }
}

/// A word that switches something on or off.
fn switch(word: &str) -> Option<bool> {
    match word.trim().to_ascii_lowercase().as_str() {
        "yes" | "true" | "on" => Some(true),
        "no" | "false" | "off" => Some(false),
        _ => None,
    }
}

/// The mask of the CPUs of these numbers, as the kernel writes it: groups of eight digits.
fn mask(cpus: &[u32]) -> String {
    let digit = |number: u32| {
        let bits = (0..4).filter(|bit| cpus.contains(&(number * 4 + bit))).map(|bit| 1 << bit);
        char::from_digit(bits.sum(), 16).unwrap_or('0')
    };
    let digits = cpus.iter().max().map_or(1, |last| last / 4 + 1);
    let mut text = String::new();
    for number in (0..digits).rev() {
        text.push(digit(number));
        if number > 0 && number % 8 == 0 {
            text.push(',');
        }
    }
    text
}

/// A mask without what does not count: groups, zeros before it, capitals.
fn plain_mask(text: &str) -> String {
    let digits = text.trim().trim_start_matches("0x").replace(',', "").to_ascii_lowercase();
    digits.trim_start_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Values {
        fn candidates(&self, present: Option<&str>, cpus: u32) -> Vec<String> {
            self.candidates_on(present, &(0..cpus).collect::<Vec<_>>())
        }
    }

    fn read(text: &str) -> Values {
        #[derive(Deserialize)]
        struct Row {
            values: Values,
        }
        toml::from_str::<Row>(&format!("values = {text}")).unwrap().values
    }

    fn bytes() -> Values {
        read(
            r#"{ number = { from = 2048, to = 16777216, steps = ["x4", "x16", "4194304"], unit = "bytes" } }"#,
        )
    }

    #[test]
    fn of_a_number_the_steps_above_the_present_one_are_tried_nearest_first() {
        assert_eq!(bytes().candidates(Some("212992"), 2), ["851968", "3407872", "4194304"]);
        assert_eq!(
            bytes().candidates(Some("4194304\n"), 2),
            ["16777216"],
            "others are below it, or too large"
        );
        assert_eq!(
            bytes().candidates(None, 2),
            ["4194304"],
            "what depends on the present value is not known"
        );
        assert_eq!(bytes().candidates(Some("16777216"), 2), [""; 0]);
    }

    #[test]
    fn a_step_that_says_so_is_tried_below_the_present_one_too() {
        let values =
            read(r#"{ number = { from = 0, to = 300, steps = ["=10", "/2", "60", "x10"], unit = "s" } }"#);
        assert_eq!(values.candidates(Some("120"), 2), ["60", "10"]);
        assert_eq!(values.candidates(Some("2m"), 2), ["60", "10"], "a suffix of seconds");
        assert_eq!(values.candidates(Some("5"), 2), ["2", "10", "50", "60"]);
    }

    #[test]
    fn threads_follow_the_cpus() {
        let values = read(
            r#"{ number = { from = 1, to = 256, steps = ["=cpus", "cpus*2", "=cpus/2"], unit = "threads" } }"#,
        );
        assert_eq!(values.candidates(Some("1"), 4), ["2", "4", "8"]);
        assert_eq!(values.candidates(Some("8"), 4), ["4", "2"]);
        assert_eq!(values.candidates(Some("1"), 1), ["2"], "half of one CPU is none");
    }

    #[test]
    fn of_words_each_but_the_present_one_is_tried() {
        let values = read(r#"{ words = ["yes", "no"] }"#);
        assert_eq!(values.candidates(Some("on"), 2), ["no"]);
        assert_eq!(values.candidates(None, 2), ["yes", "no"]);
        assert!(values.same("true", "yes") && !values.same("true", "no") && values.allows("off").is_ok());
        assert_eq!(values.allows("maybe").unwrap_err(), "give one of: yes, no");
        let governors = read(r#"{ words = ["performance", "powersave"] }"#);
        assert!(!governors.same("performance", "powersave"));
    }

    #[test]
    fn several_numbers_in_one_value_are_tried_together() {
        let values = read(
            r#"{ fields = { from = [1, 1, 1], to = [65536, 1048576, 67108864], tries = ["x1 x4 x4", "x1 x16 x1"],
                 unit = "bytes" } }"#,
        );
        assert_eq!(
            values.candidates(Some("4096\t16384\t4194304"), 2),
            ["4096 65536 16777216", "4096 262144 4194304"]
        );
        assert!(values.same("4096\t16384\t4194304", "4096 16384 4194304"));
        assert!(values.allows("1 2").unwrap_err().starts_with("give 3 numbers, from 1 to 65536, "));
        assert!(values.allows("1 2 100000000").is_err());
    }

    #[test]
    fn a_mask_has_a_bit_for_each_cpu() {
        let values = read("{ cpu-mask = { zero = true, halves = false } }");
        assert_eq!(values.candidates(Some("0"), 2), ["3"]);
        assert_eq!(values.candidates(Some("0000,00000003"), 2), ["0"]);
        assert_eq!(values.candidates(Some("0"), 40), ["ff,ffffffff"]);
        let interrupts = read("{ cpu-mask = { zero = false, halves = true } }");
        assert_eq!(interrupts.candidates(Some("f"), 4), ["3", "c"]);
        // Those between them are off.
        assert_eq!(interrupts.candidates_on(Some("f"), &[0, 2, 33, 35]), ["a,00000005", "5", "a,00000000"]);
        assert!(
            interrupts.allows("0").is_err()
                && interrupts.allows("xyz").is_err()
                && values.allows("0").is_ok()
        );
    }

    #[test]
    fn what_cannot_be_set_has_no_candidates() {
        assert_eq!(Values::Nothing.candidates(Some("1"), 2), [""; 0]);
        assert!(Values::Nothing.allows("1").is_err());
    }

    #[test]
    fn sizes_are_the_same_in_all_ways_of_writing_them() {
        for size in ["4194304", "4m", "4M", "4096k", "4 * MB", "4MB"] {
            assert!(bytes().same("4194304", size), "{size}");
        }
        assert!(!bytes().same("4m", "5m") && !bytes().same("a", "b") && bytes().same("default", "default"));
    }
}
