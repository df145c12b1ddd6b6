//! The statistics, at the end and between.

use std::fmt::Write;

use jiff::Timestamp;

use crate::queryperf::rounds::Counts;
use crate::queryperf::settings::Settings;
use crate::texts::{RCODES, ctime};

/// When something happened, and what.
pub(super) struct Part<'a> {
    pub(super) settings: &'a Settings,
    pub(super) counts: &'a Counts,
    /// RCODEs since the start of the run, also between.
    pub(super) rcodes: &'a [u64; 16],
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
    /// From the first query to the end.
    pub(super) lasted_s: f64,
    /// From the first query to the last.
    pub(super) sending_s: f64,
    /// At the end: passes through the input, and whether the time limit ended the run.
    pub(super) end: Option<(u64, bool)>,
}

impl Part<'_> {
    /// The whole text.
    pub(super) fn text(&self) -> String {
        let mut text = format!("\n{}Statistics:\n\n", if self.end.is_some() { "" } else { "Intermediate " });
        let out = &mut text;
        self.head(out);
        let Counts { sent, timed_out, answered, out_of_range, .. } = *self.counts;
        let completed = sent - timed_out;
        let longest = |ns: u64| if answered == 0 { -1.0 } else { ns as f64 / 1e9 };
        let _ = write!(
            out,
            "  Queries sent:         {sent} queries
  Queries completed:    {completed} queries
  Queries lost:         {timed_out} queries
  Queries delayed(?):   0 queries

  RTT max:         \t{:3.6} sec
  RTT min:              {:3.6} sec
  RTT average:          {:3.6} sec
  RTT std deviation:    {:3.6} sec
  RTT out of range:     {out_of_range} queries

",
            longest(self.counts.max_ns),
            longest(self.counts.min_ns),
            self.counts.average_s(),
            self.counts.stddev_s(),
        );
        if self.settings.counts_rcodes {
            for (name, count) in RCODES.iter().zip(self.rcodes).filter(|(_, count)| **count > 0) {
                let _ = writeln!(out, "  Returned {name:>8}:    {count} queries");
            }
            out.push('\n');
        }
        let share = |part: u64| if sent == 0 { 0.0 } else { 100.0 * part as f64 / sent as f64 };
        let per_second = |count: u64, over_s: f64| if over_s > 0.0 { count as f64 / over_s } else { 0.0 };
        let lasted_s = if sent == 0 { 0.0 } else { self.lasted_s };
        let _ = write!(
            out,
            "  Percentage completed: {:6.2}%
  Percentage lost:      {:6.2}%

  Started at:           {}
  Finished at:          {}
  Ran for:              {lasted_s:.6} seconds

  Queries per second:   {:.6} qps
",
            share(completed),
            share(timed_out),
            ctime(self.from),
            ctime(self.to),
            per_second(completed, lasted_s),
        );
        if self.settings.target_qps > 0 {
            let (total, target) = (per_second(sent, self.sending_s), self.settings.target_qps);
            let _ = writeln!(out, "  Total QPS/target:     {total:.6}/{target} qps");
        }
        out.push('\n');
        text
    }

    /// What only the final statistics begin with.
    fn head(&self, out: &mut String) {
        let Some((passes, is_by_time)) = self.end else { return };
        let settings = self.settings;
        let times = if settings.is_one_pass { "once" } else { "multiple times" };
        let _ = writeln!(out, "  Parse input file:     {times}");
        if let Some(limit_s) = settings.time_limit_s {
            let _ = writeln!(out, "  Run time limit:       {limit_s} seconds");
        }
        let _ = match settings.is_one_pass {
            false => writeln!(out, "  Ran through file:     {passes} times"),
            true => {
                let what = if is_by_time { "time limit" } else { "end of file" };
                writeln!(out, "  Ended due to:         reaching {what}")
            }
        };
        out.push('\n');
    }
}
