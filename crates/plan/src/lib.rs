//! What to send and when, validated once.
//!
//! ```text
//! flags ──► Draft ─┐
//!                  ├─ overlay ─► Draft ─ validate ─► Plan ─┬─ source.load ─► Questions
//! plan.toml ► Draft┘               ▲                       ├─ load ────────► Curve ─► Cursor (a worker's)
//!                                  └────── to_draft ───────┘                 or a closed-loop window
//! ```
//!
//! - [`Draft`]: what the user said, unchecked; [`Plan`]: the whole run, after which nothing checks again;
//! - [`source`]: the questions, encoded once ([`source::Questions`]);
//! - [`schedule`]: the load over time, a pure curve ([`schedule::Curve`]) or a window of queries;
//! - [`units`]: quantities as people write them.
//!
//! Nothing here opens a socket or reads a clock: instants are nanoseconds since the start of a run, and
//! whoever runs it brings the time.
#![forbid(unsafe_code)]

mod backend;
mod connections;
mod draft;
mod encryption;
mod error;
mod interval;
mod load;
mod mix;
mod plan;
pub mod schedule;
pub mod source;
mod target;
pub mod units;
mod validate;

pub use backend::{Backend, SourcePrefix, XdpCopy, XdpMode, XdpPlan, mac_text};
pub use connections::ConnectionPlan;
pub use draft::{Draft, PieceDraft};
pub use encryption::{EncryptionPlan, HttpMethod, TlsVersions, Trust};
pub use error::PlanError;
pub use mix::{Mix, MixMember};
pub use plan::{Family, Note, Plan, PortRange, Stop, TransportKind};
pub use schedule::{Cursor, Curve, Load, Phase, Shape};
pub use source::{QuestionSource, Questions};
pub use target::{Resolve, Target, target_is_harmless};
pub use validate::Host;
