//! DNS clients that have a cache: what they ask and when, given the responses that they get.
//!
//! The load that such clients put on a server is not a setting: it follows from what their users do, from the TTLs of
//! the responses, and from the size of their caches. Time is an argument everywhere: this crate opens no socket and
//! reads no clock.
//!
//! - [`Description`] says what clients there are, and [`Checked`] that its values can be used;
//! - [`Clients`] are those of one worker: they hand out queries and take responses;
//! - [`Kinds`] are several descriptions in one file, and [`Population`] the clients of all of them;
//! - [`predict`] says what load they will put on a server, by arithmetic.
#![forbid(unsafe_code)]

mod arrivals;
mod asks;
mod cache;
mod clients;
mod description;
mod evicted;
mod following;
mod ids;
mod keys;
mod kinds;
mod names;
mod population;
pub mod predict;
mod procedure;
mod repeated;
mod response;
mod selection;
mod service;
mod sets;
mod share;
mod timers;
mod zone;

pub use clients::{Ask, Clients};
pub use description::check::{Checked, ENTRY_OCTETS};
pub use description::{
    Arrivals, Cache, Count, Description, DescriptionError, Event, EventKind, Lookups, Mobile, Names,
    OtherUsers, Policy, Retries, RetryServer, Stubs,
};
pub use kinds::{CheckedKinds, Kind, Kinds};
pub use population::Population;
pub use procedure::{Ended, Outcome};
pub use share::Share;
pub use zone::{NameUse, Questions, Zone};
