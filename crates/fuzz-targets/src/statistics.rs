//! The statistics of servers.

use dnsdyno_measure::{LONGEST_SERIES_NAME, MOST_SERIES};
use dnsdyno_probe::fuzz;

/// An answer of a server, after a byte that says of which one.
pub fn server_statistics(bytes: &[u8]) {
    let Some((kind, answer)) = bytes.split_first() else { return };
    let reading = fuzz::server_statistics(*kind, answer);
    for series in [&reading.counters, &reading.gauges] {
        assert!(series.len() <= MOST_SERIES);
        for name in series.keys() {
            assert!(name.len() <= LONGEST_SERIES_NAME && !name.contains(char::is_control), "{name:?}");
        }
    }
    assert_eq!(reading, fuzz::server_statistics(*kind, answer));
}
