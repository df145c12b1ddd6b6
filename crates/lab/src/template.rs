//! Placeholders in a text: `{port}` is replaced by the caller's value. A placeholder is a name of
//! lower-case letters,
//! digits and `_` directly between braces, so the braces of a BIND configuration (`{ any; }`) stay as they are.

/// Fills each placeholder with what `value` gives for its name.
///
/// # Errors
/// The name of the first placeholder for which `value` gives nothing.
pub(crate) fn fill(text: &str, value: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, name, after)) = next_placeholder(rest) {
        filled.push_str(before);
        filled.push_str(&value(name).ok_or_else(|| name.to_owned())?);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// The names of all placeholders in `text`, in order, repeated as they are repeated.
pub(crate) fn names(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some((_, name, after)) = next_placeholder(rest) {
        names.push(name);
        rest = after;
    }
    names
}

/// The text before the first placeholder, its name, and the text after it.
fn next_placeholder(text: &str) -> Option<(&str, &str, &str)> {
    text.match_indices('{').find_map(|(open, _)| {
        let inside = &text[open + 1..];
        let (name, after) = inside.split_once('}')?;
        let is_name = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        is_name.then(|| (&text[..open], name, after))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port_only(name: &str) -> Option<String> {
        (name == "port").then(|| "53".to_owned())
    }

    #[test]
    fn a_placeholder_is_filled_wherever_it_stands() {
        assert_eq!(fill("{port} a {port}{port}", port_only), Ok("53 a 5353".to_owned()));
    }

    #[test]
    fn braces_of_the_configuration_language_stay() {
        let text = "listen-on port {port} { any; }; controls { }; x {};";
        assert_eq!(fill(text, port_only), Ok("listen-on port 53 { any; }; controls { }; x {};".to_owned()));
    }

    #[test]
    fn a_placeholder_inside_such_braces_is_filled() {
        assert_eq!(fill("listen-on { {port}; };", port_only), Ok("listen-on { 53; };".to_owned()));
    }

    #[test]
    fn a_placeholder_that_nothing_fills_is_named() {
        assert_eq!(fill("{port} {tcp_clients}", port_only), Err("tcp_clients".to_owned()));
    }

    #[test]
    fn names_lists_every_placeholder() {
        assert_eq!(names("{a}{ b } {port_2} {a}"), ["a", "port_2", "a"]);
    }
}
