//! What `ethtool` is given to set a value.

/// The arguments of `ethtool` after the interface that set a setting to a value. The value is one word, such as `512`;
/// what a card does, `off`, with what was asked for, `[requested on]`; or that of the parts of a feature, each with its
/// name. `None` where it is none of these.
pub fn pairs_to_set<'a>(key: &'a str, value: &'a str) -> Option<Vec<&'a str>> {
    let words: Vec<&str> = value.split_ascii_whitespace().collect();
    let pairs = match words.as_slice() {
        [word] => vec![key, *word],
        [_, "[requested", word] => vec![key, word.strip_suffix(']')?],
        several if !several.is_empty() && several.len() % 2 == 0 => several.to_vec(),
        _ => return None,
    };
    pairs.iter().all(|word| !word.starts_with('-')).then_some(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_is_what_was_read() {
        assert_eq!(pairs_to_set("rx", "512").unwrap(), ["rx", "512"]);
        assert_eq!(pairs_to_set("lro", "off [requested on]").unwrap(), ["lro", "on"]);
        assert_eq!(pairs_to_set("sg", "a on b off").unwrap(), ["a", "on", "b", "off"]);
        for value in ["", "1 2 3", "-1", "a -b"] {
            assert_eq!(pairs_to_set("rx", value), None, "{value}");
        }
    }
}
