//! The live screen of a run on a terminal, and plain lines elsewhere.
#![forbid(unsafe_code)]
