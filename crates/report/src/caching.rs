//! What simulated clients with caches did, in words: a line for each procedure, and one for their caches.

use dnsdyno_measure::{ByProcedure, CacheState, CachingClients, ProcedureKind};
use dnsdyno_record::Digest;

use dnsdyno_text::units::{count, duration, percent};

/// A label, and what was found; only what occurred.
pub fn caching_lines(clients: &CachingClients) -> Vec<(&'static str, Vec<String>)> {
    let procedures = ProcedureKind::ALL.iter().map(|one| (one.words(), of_procedure(clients, *one)));
    let caches = [("caches", of_caches(clients)), ("answers", of_answers(clients))];
    procedures.chain(caches).filter(|(_, words)| !words.is_empty()).collect()
}

/// The same of each kind of clients, where there are several: a name, and what its clients did.
pub fn kind_lines(digest: &Digest) -> Vec<(String, Vec<String>)> {
    let kinds = digest.header.client_kinds.iter().zip(&digest.arrivals().client_kinds);
    kinds.map(|(name, clients)| (name.clone(), of_kind(clients))).collect()
}

fn of_kind(clients: &CachingClients) -> Vec<String> {
    let some = |word: &str, n: u64| (n > 0).then(|| format!("{word} {}", count(n)));
    let mut words: Vec<String> = [
        some("begun", clients.begun.total()),
        some("done", clients.done.total()),
        some("failed", clients.failed.total()),
        some("queries", clients.queries()),
        some("asked again", clients.asked_again.total()),
    ]
    .into_iter()
    .flatten()
    .collect();
    words.extend(of_caches(clients));
    words
}

fn of_procedure(clients: &CachingClients, procedure: ProcedureKind) -> Vec<String> {
    if clients.begun.of(procedure) + clients.turned_away.of(procedure) == 0 {
        return Vec::new();
    }
    let counted = |word: &str, counts: &ByProcedure| {
        Some(counts.of(procedure)).filter(|n| *n > 0).map(|n| format!("{word} {}", count(n)))
    };
    let times = clients.time(procedure);
    let time = |word: &str, quantile: f64| {
        let rank = (quantile * times.count() as f64).ceil() as u64;
        times.at_rank(rank).map(|ns| format!("{word} {}", duration(ns)))
    };
    let words = [
        counted("begun", &clients.begun),
        counted("done", &clients.done),
        counted("failed", &clients.failed),
        counted("interrupted", &clients.interrupted),
        counted("turned away", &clients.turned_away),
        time("p50", 0.5),
        time("p99", 0.99),
        counted("queries", &clients.asked),
        counted("asked again", &clients.asked_again),
    ];
    words.into_iter().flatten().collect()
}

fn of_caches(clients: &CachingClients) -> Vec<String> {
    let Some(ratio) = clients.hit_ratio() else { return Vec::new() };
    let mut words = vec![
        format!("hit ratio {}", percent(ratio)),
        format!("entries {}", count(clients.entries)),
        format!("expired {}", count(clients.expired)),
        format!("evicted {}", count(clients.evicted)),
    ];
    if let Some(age) = clients.age_when_evicted() {
        words.push(format!("at {} of their TTL on average", percent(age)));
        words.push(format!("queries for evicted entries {}", count(clients.misses_evicted)));
    }
    words.push(state_in_words(clients.cache_state()).to_owned());
    words
}

fn of_answers(clients: &CachingClients) -> Vec<String> {
    let counts = [
        ("no such name or records", clients.no_name + clients.no_data),
        ("not usable", clients.refused + clients.truncated + clients.malformed + clients.excess),
        ("questions given up", clients.given_up),
        ("other than before", clients.changed),
        ("NAPTR records ignored", clients.ignored),
        ("not followed", clients.loops + clients.bounded),
        ("gateways without an address", clients.passed_over),
    ];
    counts.into_iter().filter(|(_, n)| *n > 0).map(|(word, n)| format!("{word} {}", count(n))).collect()
}

/// The state of caches, by its number in a carrier's report.
pub(crate) fn state_in_words(state: CacheState) -> &'static str {
    match state {
        CacheState::Fits => "state 1: entries stay until their TTL ends",
        CacheState::Tight => "state 2: caches are full, entries are evicted shortly before their TTL ends",
        CacheState::Overflows => "state 3: caches overflow, entries are evicted long before their TTL ends",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_occurred_and_how_full_the_caches_are() {
        let mut clients =
            CachingClients { hits: 75, misses: 20, joined: 5, entries: 900, ..Default::default() };
        clients.begun.add(ProcedureKind::Attach, 10);
        clients.done.add(ProcedureKind::Attach, 9);
        clients.failed.add(ProcedureKind::Attach, 1);
        clients.time_mut(ProcedureKind::Attach).record(2_000_000);
        let lines = caching_lines(&clients);
        assert_eq!(lines.iter().map(|(label, _)| *label).collect::<Vec<_>>(), ["attach", "caches"]);
        assert_eq!(lines[0].1[..3], ["begun 10", "done 9", "failed 1"]);
        assert_eq!(lines[1].1[0], "hit ratio 75.00 %");
        assert_eq!(lines[1].1.last().map(String::as_str), Some(state_in_words(CacheState::Fits)));
        clients.evicted_at.add(9, 10);
        clients.evicted_at.add(2, 10);
        assert!(caching_lines(&clients)[1].1.iter().any(|word| word == "at 60.00 % of their TTL on average"));
    }
}
