//! The statistics of servers, and the files of the hosts that they run on.

use dnsdyno_measure::{LONGEST_SERIES_NAME, MOST_SERIES};
use dnsdyno_probe::{Reading, fuzz};

/// An answer of a server, after a byte that says of which one.
pub fn server_statistics(bytes: &[u8]) {
    let Some((kind, answer)) = bytes.split_first() else { return };
    let reading = fuzz::server_statistics(*kind, answer);
    is_bounded(&reading);
    assert_eq!(reading, fuzz::server_statistics(*kind, answer));
}

/// The files of another host, as they come over SSH.
pub fn host_files(answer: &[u8]) {
    fuzz::host_files(answer).iter().for_each(is_bounded);
}

fn is_bounded(reading: &Reading) {
    for series in [&reading.counters, &reading.gauges] {
        assert!(series.len() <= MOST_SERIES);
        for name in series.keys() {
            assert!(name.len() <= LONGEST_SERIES_NAME && !name.contains(char::is_control), "{name:?}");
        }
    }
}
