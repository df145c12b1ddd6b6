//! The report page: one HTML file, made from records, that opens without a network.
#![forbid(unsafe_code)]
