//! The version of a file that a user writes, in its key `format`.

use toml::de::{DeTable, DeValue};

/// The format of plan files. A file without the key has format 1.
pub const FORMAT: u32 = 1;

/// Refuses a file whose format is newer than `newest`, the one that is read, before its keys are looked at: those of a
/// newer format may mean something else.
///
/// # Errors
/// A sentence that says what to do.
pub fn check_format(file: &DeTable<'_>, newest: u32) -> Result<(), String> {
    let Some(value) = file.get("format") else { return Ok(()) };
    let number = match value.get_ref() {
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().parse::<u32>().ok(),
        _ => None,
    };
    match number {
        Some(number) if (1..=newest).contains(&number) => Ok(()),
        Some(number) if number > newest => Err(format!(
            "it has format {number}, and this dnsdyno reads up to format {newest}: use a newer dnsdyno, or write the \
             file for this one"
        )),
        _ => Err(format!("its format is a number from 1 to {newest}, as in `format = {newest}`")),
    }
}

#[cfg(test)]
mod tests {
    use crate::Draft;

    #[test]
    fn a_newer_format_is_refused_before_its_keys_are_looked_at() {
        let old = Draft::from_toml("rate = '5k'").unwrap();
        assert_eq!(Draft::from_toml("rate = '5k'\nformat = 1").unwrap().rate, old.rate);
        for (text, words) in [
            ("shape_of_load = 'x'\nformat = 2", "it has format 2, and this dnsdyno reads up to format 1"),
            ("format = 4294967295", "it has format 4294967295"),
            ("format = 0", "a number from 1 to 1"),
            ("format = -1", "a number from 1 to 1"),
            ("format = 4294967296", "a number from 1 to 1"),
            ("format = 0x1", "a number from 1 to 1"),
            ("format = '1'", "a number from 1 to 1"),
            ("format = [1]", "a number from 1 to 1"),
        ] {
            let said = Draft::from_toml(text).unwrap_err();
            assert!(said.contains(words), "{text}: {said}");
        }
    }

    #[test]
    fn the_format_is_of_the_file_and_not_of_the_load() {
        let draft = Draft::from_toml("format = 1\nrate = '5k'").unwrap();
        assert!(!draft.to_toml().unwrap().contains("format"));
        assert!(!draft.options().unwrap().contains_key("format"));
    }
}
