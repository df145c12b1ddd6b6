//! Decides from records: whether two sets of runs differ.
#![forbid(unsafe_code)]
