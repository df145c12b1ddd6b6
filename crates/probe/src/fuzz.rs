//! Entry points for `fuzz/`: what servers and other hosts say of themselves.

pub use crate::server::fuzz::server_statistics;
pub use crate::ssh::fuzz::host_files;
