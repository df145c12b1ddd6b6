//! The subcommands, one file each.

pub(crate) mod demo;
pub(crate) mod manual;
pub(crate) mod respond;
pub(crate) mod run;
pub(crate) mod show;
