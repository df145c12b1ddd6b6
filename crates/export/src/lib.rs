//! Records in the formats that other programs read.
#![forbid(unsafe_code)]
