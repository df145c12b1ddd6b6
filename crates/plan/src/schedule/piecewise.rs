//! Any curve of linear pieces, as given in a plan file.

use std::fmt;

use dnsdyno_text::notation::format_duration_ns;

use super::curve::{Curve, CurveError};
use super::piece::Piece;

/// A curve given piece by piece. A piece with rate 0 is a pause.
#[derive(Debug, Clone, PartialEq)]
pub struct Piecewise {
    /// The pieces, in the order of time.
    pub pieces: Vec<Piece>,
}

impl Piecewise {
    /// The given pieces.
    pub fn curve(&self) -> Result<Curve, CurveError> {
        Curve::new(self.pieces.clone())
    }
}

impl fmt::Display for Piecewise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length_ns = self.pieces.iter().fold(0u64, |sum, piece| sum.saturating_add(piece.duration_ns));
        let plural = if self.pieces.len() == 1 { "" } else { "s" };
        write!(f, "{} piece{plural}, {}", self.pieces.len(), format_duration_ns(length_ns))
    }
}
