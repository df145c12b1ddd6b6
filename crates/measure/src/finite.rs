//! For serde: NaN and infinities are written as 0, because JSON cannot express them.

use serde::Serializer;

/// Writes `figure`, or 0 where it is not finite.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(figure: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(of(*figure))
}

/// `figure`, or 0 where it is not finite.
pub fn of(figure: f64) -> f64 {
    if figure.is_finite() { figure } else { 0.0 }
}
