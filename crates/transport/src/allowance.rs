//! How many frames of HTTP that bring no response a server may send over a connection: so many at once, and more with
//! each query and second.

use crate::bounds::{CONTROL_FRAMES_A_QUERY, CONTROL_FRAMES_A_SECOND, MOST_CONTROL_FRAMES};

/// The frames that are still accepted.
pub(crate) struct Allowance {
    left: u32,
    /// Up to when the frames for each second were added.
    added_up_to_ns: u64,
}

impl Allowance {
    /// Of a new connection.
    pub(crate) fn new() -> Self {
        Allowance { left: MOST_CONTROL_FRAMES, added_up_to_ns: 0 }
    }

    /// A query was sent.
    #[inline]
    pub(crate) fn note_query(&mut self) {
        self.left = (self.left + CONTROL_FRAMES_A_QUERY).min(MOST_CONTROL_FRAMES);
    }

    /// So many frames were received.
    pub(crate) fn take(&mut self, frames: u32, now_ns: u64) -> Result<(), TooMany> {
        if self.left < frames || self.added_up_to_ns == 0 {
            self.add_since(now_ns);
        }
        self.left = self.left.checked_sub(frames).ok_or(TooMany)?;
        Ok(())
    }

    /// Adds the frames for the time since this was last done.
    #[cold]
    fn add_since(&mut self, now_ns: u64) {
        if self.added_up_to_ns > 0 {
            let passed_ns = now_ns.saturating_sub(self.added_up_to_ns);
            let added = passed_ns.saturating_mul(CONTROL_FRAMES_A_SECOND) / 1_000_000_000;
            let added = u32::try_from(added).unwrap_or(u32::MAX);
            self.left = self.left.saturating_add(added).min(MOST_CONTROL_FRAMES);
        }
        self.added_up_to_ns = now_ns;
    }
}

/// More than that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

/// What a server has sent then.
pub(crate) const TOO_MANY_IDLE: &str = "thousands of frames that bring no response";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_frames_are_accepted_at_once_and_more_for_queries_and_time() {
        let (mut allowance, second_ns) = (Allowance::new(), 1_000_000_000);
        let taken = |allowance: &mut Allowance, now_ns| {
            (0..2 * MOST_CONTROL_FRAMES).take_while(|_| allowance.take(1, now_ns).is_ok()).count()
        };
        assert_eq!(taken(&mut allowance, second_ns), MOST_CONTROL_FRAMES as usize);
        allowance.note_query();
        assert_eq!(taken(&mut allowance, second_ns), CONTROL_FRAMES_A_QUERY as usize);
        assert_eq!(taken(&mut allowance, 4 * second_ns), 3 * CONTROL_FRAMES_A_SECOND as usize);
        assert_eq!(taken(&mut allowance, 4_000_000 * second_ns), MOST_CONTROL_FRAMES as usize);
        (0..2 * MOST_CONTROL_FRAMES).for_each(|_| allowance.note_query());
        assert_eq!(taken(&mut allowance, 4_000_000 * second_ns), MOST_CONTROL_FRAMES as usize);
    }
}
