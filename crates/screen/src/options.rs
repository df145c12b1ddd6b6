//! What the user has chosen with keys.

/// How the picture is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// The picture stands still.
    pub(crate) is_paused: bool,
    /// The charts show all of the run.
    pub(crate) is_whole: bool,
    /// The help is over the picture.
    pub(crate) has_help: bool,
}
