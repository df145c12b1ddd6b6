//! What to send and when, validated once.
//!
//! ```text
//! flags ──► Draft ─┐
//!                  ├─ overlay ─► Draft ─ validate ─► Plan ─┬─ source (`queries`)
//! plan.toml ► Draft┘               ▲                       ├─ load ────────► Curve ─► Cursor (a worker's)
//!                                  └────── to_draft ───────┘                 or a closed-loop window
//! ```
//!
//! - [`Draft`]: the user's options, unchecked; [`Plan`]: the whole run, fully validated;
//! - [`schedule`]: the load over time, a pure curve ([`schedule::Curve`]) or a window of queries.
//!
//! Nothing here opens a socket or reads a clock: instants are nanoseconds since the start of a run.
#![forbid(unsafe_code)]

mod addresses;
mod backend;
mod connections;
mod draft;
mod encryption;
mod enough;
mod error;
pub mod expect;
mod first_pass;
mod format;
mod groups;
mod interval;
mod kinds;
mod load;
mod member_draft;
mod messages;
mod mix;
mod overlay;
mod part;
mod plan;
mod quantity;
pub mod replay;
mod rules;
pub mod schedule;
mod selection;
mod servers;
mod stop;
mod target;
mod trace;
mod usual_workers;
mod values;
mod watch;
mod watch_plan;
mod worker_count;
mod workers;

pub use addresses::{PortRange, ProxySource};
pub use backend::{Backend, XdpCopy, XdpMode, XdpPlan, mac_text};
pub use connections::ConnectionPlan;
pub use draft::{Draft, LOAD as LOAD_HEADING, PieceDraft};
pub use encryption::{EncryptionPlan, Trust};
pub use error::PlanError;
pub use first_pass::FirstPass;
pub use format::{FORMAT, check_format};
pub use groups::Group;
pub use kinds::{Family, HttpMethod, TlsVersions, TransportKind};
pub use member_draft::MemberDraft;
pub use messages::MessagePlan;
pub use mix::{MOST_MEMBERS, Mix, MixMember};
pub use overlay::without_secrets;
pub use part::Part;
pub use plan::{Host, Plan};
pub use schedule::{Cursor, Curve, Load, Phase, Shape};
pub use stop::{Stop, StopLimits};
pub use target::{Resolve, Target, target_is_harmless};
pub use trace::TracePlan;
pub use usual_workers::UsualWorkers;
pub use watch::{At, Rndc, ServerWatch, SshWatch, Watch};
pub use watch_plan::WatchPlan;
pub use worker_count::WorkerCount;
pub use workers::Note;
