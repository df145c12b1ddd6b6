//! Keys of a description that do not exist. A misspelt key would silently be its default, and the derive of `serde`
//! cannot refuse it in a struct of which a part is flattened.

use serde_json::Value;

/// The first key of `given` that `known`, the same value as it is written, does not have; as a path such as
/// `cache.entires`.
pub(crate) fn unknown_key(given: &Value, known: &Value) -> Option<String> {
    match (given, known) {
        (Value::Object(given), Value::Object(known)) => given.iter().find_map(|(key, value)| {
            let Some(known) = known.get(key) else { return Some(key.clone()) };
            unknown_key(value, known).map(|inner| format!("{key}.{inner}"))
        }),
        (Value::Array(given), Value::Array(known)) => {
            given.iter().zip(known).enumerate().find_map(|(at, (given, known))| {
                unknown_key(given, known).map(|inner| format!("{at}.{inner}"))
            })
        }
        _ => None,
    }
}
