//! The run that dnsperf would make, as options of ours.

use dnsdyno_plan::{Draft, WorkerCount};
use dnsdyno_queries::QueriesFormat;

use crate::dnsperf::settings::{Input, Settings};

/// The options of a run with these settings.
pub(super) fn draft(settings: &Settings) -> Draft {
    let timeout_us = settings.timeout_us.clamp(SHORTEST_TIMEOUT_US, LONGEST_TIMEOUT_US);
    let mut draft = Draft {
        outstanding: Some(settings.outstanding),
        rate_limit: settings.most_qps.map(|most| most.to_string()),
        duration: (settings.time_limit_us > 0).then(|| format!("{}us", settings.time_limit_us)),
        passes: Some(u64::from(settings.passes)).filter(|passes| *passes > 0),
        timeout: Some(format!("{timeout_us}us")),
        workers: Some(WorkerCount::Number(settings.threads as usize)),
        interval: interval_us(settings).map(|interval_us| format!("{interval_us}us")),
        ..Draft::default()
    };
    settings.network.apply(settings.clients, &mut draft);
    settings.addresses.apply(settings.network.mode, settings.clients, &mut draft);
    settings.messages.apply(&mut draft);
    draft.queries_format = Some(match settings.input {
        Input::Text => QueriesFormat::Dnsperf,
        Input::Updates => QueriesFormat::Updates,
        Input::Binary => QueriesFormat::Binary,
    });
    draft
}

/// The interval of the record, which is that of the interval statistics where they are printed.
pub(super) fn interval_us(settings: &Settings) -> Option<u64> {
    let shortest = SHORTEST_INTERVAL_US.max(settings.timeout_us.min(LONGEST_TIMEOUT_US).div_ceil(1_000));
    (settings.interval_us > 0).then(|| settings.interval_us.clamp(shortest, LONGEST_INTERVAL_US))
}

/// The limits of our plans.
const SHORTEST_TIMEOUT_US: u64 = 1_000;
const LONGEST_TIMEOUT_US: u64 = 600_000_000;
const SHORTEST_INTERVAL_US: u64 = 10_000;
const LONGEST_INTERVAL_US: u64 = 3_600_000_000;
