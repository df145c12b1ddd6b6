//! How well a generator kept its rate, from the times at which its queries were sent.
//!
//! ```text
//!   first query                                                            last query
//!   |·|·|·|·|·|·|·|·|·|·|·|··|·|·|   |·|·|·|·|·|·|·|·|·|·|·|·|·|·|·|·|·|·|·|·|·|·|
//!   |<-- window -->|<-- window -->|<-- window -->|<-- window -->|<- left out ->|
//! ```

/// The error of a count is |count − expected| / expected, a share, where rate × window is expected; gaps are in
/// nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pacing {
    /// The largest error of any whole second.
    pub(crate) second_max: f64,
    /// Of the windows of 100 ms.
    pub(crate) tenth: Errors,
    /// Of the windows of 10 ms.
    pub(crate) hundredth: Errors,
    /// The median distance of two queries.
    pub(crate) gap_p50_ns: u64,
    /// The 99th percentile of the distance of two queries.
    pub(crate) gap_p99_ns: u64,
}

/// Errors of the count over all whole windows of one length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Errors {
    pub(crate) median: f64,
    pub(crate) p99: f64,
}

/// Compares queries sent at `times_ns` (ascending) with a constant `rate_qps`; `None` when they do not fill two
/// seconds.
pub(crate) fn judge(times_ns: &[u64], rate_qps: f64) -> Option<Pacing> {
    let seconds = count_errors(times_ns, SECOND_NS, rate_qps);
    if seconds.len() < 2 {
        return None;
    }
    let errors = |window_ns| {
        let sorted = count_errors(times_ns, window_ns, rate_qps);
        Some(Errors { median: *at_quantile(&sorted, 0.5)?, p99: *at_quantile(&sorted, 0.99)? })
    };
    let mut gaps: Vec<u64> = times_ns.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_unstable();
    Some(Pacing {
        second_max: *seconds.last()?,
        tenth: errors(SECOND_NS / 10)?,
        hundredth: errors(SECOND_NS / 100)?,
        gap_p50_ns: *at_quantile(&gaps, 0.5)?,
        gap_p99_ns: *at_quantile(&gaps, 0.99)?,
    })
}

/// The error of each whole window, smallest first.
fn count_errors(times_ns: &[u64], window_ns: u64, rate_qps: f64) -> Vec<f64> {
    let (Some(first), Some(last)) = (times_ns.first(), times_ns.last()) else { return Vec::new() };
    let whole = usize::try_from((last - first) / window_ns).unwrap_or(usize::MAX);
    let mut counts = vec![0_u32; whole];
    for time in times_ns {
        let window = usize::try_from((time - first) / window_ns).unwrap_or(usize::MAX);
        if let Some(count) = counts.get_mut(window) {
            *count += 1;
        }
    }
    let expected = rate_qps * window_ns as f64 / SECOND_NS as f64;
    let mut errors: Vec<f64> =
        counts.iter().map(|count| (f64::from(*count) - expected).abs() / expected).collect();
    errors.sort_by(f64::total_cmp);
    errors
}

/// The smallest value that at least the share `quantile` of all values do not exceed.
fn at_quantile<T>(sorted: &[T], quantile: f64) -> Option<&T> {
    let rank = (quantile * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1)
}

const SECOND_NS: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// `seconds` of queries, `gap_ns` apart, and the one that opens the window after.
    fn even(seconds: u64, gap_ns: u64) -> Vec<u64> {
        (0..=seconds * SECOND_NS / gap_ns).map(|n| 7 + n * gap_ns).collect()
    }

    #[test]
    fn an_even_stream_has_no_error() {
        let pacing = judge(&even(3, 100_000), 10_000.0).unwrap();
        assert_eq!((pacing.second_max, pacing.tenth.p99, pacing.hundredth.p99), (0.0, 0.0, 0.0));
        assert_eq!((pacing.gap_p50_ns, pacing.gap_p99_ns), (100_000, 100_000));
    }

    #[test]
    fn a_hole_is_seen_in_the_second_and_the_window_it_fell_into() {
        let mut times = even(4, 100_000);
        // Of the 400 windows of 10 ms, six lack all their queries.
        times.retain(|time| !(1_200_000_007..1_260_000_007).contains(time));
        let pacing = judge(&times, 10_000.0).unwrap();
        assert!((pacing.second_max - 0.06).abs() < 1e-9, "{pacing:?}");
        assert_eq!(pacing.hundredth, Errors { median: 0.0, p99: 1.0 });
        assert_eq!(pacing.tenth.median, 0.0);
        assert!((pacing.tenth.p99 - 0.6).abs() < 1e-9, "{pacing:?}");
    }

    #[test]
    fn an_error_right_at_a_bound_is_not_beyond_it() {
        // 30 of 10,000 missing is 0.3 %, to the last bit.
        let mut times = even(2, 100_000);
        times.retain(|time| !(500_000_000..503_000_000).contains(time));
        let errors = count_errors(&times, SECOND_NS, 10_000.0);
        assert_eq!(errors, [0.0, 0.003]);
    }

    #[test]
    fn the_partial_last_window_is_left_out() {
        let mut times = even(3, 100_000);
        times.extend([3_000_300_007, 3_004_000_007]);
        assert_eq!(judge(&times, 10_000.0).unwrap().hundredth.p99, 0.0);
    }

    #[test]
    fn bursts_have_no_error_by_second_and_wrong_gaps() {
        // Ten at once, each millisecond.
        let times: Vec<u64> = (0..=30_000).map(|n| n / 10 * 1_000_000).collect();
        let pacing = judge(&times, 10_000.0).unwrap();
        assert_eq!((pacing.second_max, pacing.gap_p50_ns, pacing.gap_p99_ns), (0.0, 0, 1_000_000));
    }

    #[test]
    fn less_than_two_seconds_give_no_result() {
        assert_eq!(judge(&even(1, 100_000), 10_000.0), None);
        assert_eq!(judge(&[], 10_000.0), None);
    }
}
