//! The names of a run's files, and the version of what is in them.

/// The file of measurements in a run's folder.
pub const RUN_FILE: &str = "run.ndjson";

/// The same, compressed: of a run that has grown long. `zstd -dc` gives the lines.
pub const PACKED_FILE: &str = "run.ndjson.zst";

/// Beside it the roll-ups of its intervals, and where in the file each of them stands.
pub const INDEX_FILE: &str = "run.index.zst";

/// The plan in a run's folder.
pub const PLAN_FILE: &str = "plan.toml";

/// The facts about the machine in a run's folder.
pub const HOST_FILE: &str = "host.json";

/// Version of the record that this crate writes, and the newest that it reads.
///
/// It grows when a reader of the old one would misread the new one: a property that changed its
/// meaning, a new kind of warning or of end. A run of each older format lies under `tests/old/`.
pub const FORMAT: u32 = 3;
