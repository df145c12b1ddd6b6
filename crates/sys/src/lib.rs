//! (being written)

