//! Sample runs for the tests, built with the calls that a writer makes.

mod connected;
mod foreign;
mod run;

pub(crate) use connected::*;
pub(crate) use foreign::*;
pub(crate) use run::*;
