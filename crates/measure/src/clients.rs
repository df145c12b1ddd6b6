//! What simulated clients with caches did: the procedures of their users, and what their caches gave.

use crate::by::keys;
use crate::counter::counters;
use crate::{By, ByCode, Histogram};

keys! {
    /// What the user of a simulated client does.
    pub enum ProcedureKind {
        /// Attaches to a mobile network: both gateways are looked up.
        Attach = "attach", "attach";
        /// Changes to a tracking area of another serving gateway, which is looked up.
        Handover = "handover", "handover";
        /// Looks a name up.
        Lookup = "lookup", "lookup";
    }
}

keys! {
    /// Which step of a procedure a question belongs to.
    pub enum LookupStep {
        /// NAPTR of the tracking area.
        TacNaptr = "tac_naptr", "NAPTR of the tracking area";
        /// NAPTR of the access point.
        ApnNaptr = "apn_naptr", "NAPTR of the access point";
        /// NAPTR that another NAPTR record leads to.
        NextNaptr = "next_naptr", "NAPTR of a branch";
        /// SRV that a NAPTR record leads to.
        Srv = "srv", "SRV";
        /// The IPv4 address of a gateway.
        A = "a", "IPv4 address";
        /// The IPv6 address of a gateway.
        Aaaa = "aaaa", "IPv6 address";
        /// The name that a host looks up.
        Name = "name", "name";
    }
}

/// Counts by procedure.
pub type ByProcedure = By<ProcedureKind, u64, { ProcedureKind::ALL.len() }>;

counters! {
    /// Simulated clients with caches, in a run whose queries are what such clients ask.
    pub struct CachingClients {
        /// Procedures that began.
        pub begun: ByProcedure,
        /// Procedures that found all that they looked for.
        pub done: ByProcedure,
        /// Procedures that failed: no response came, or no usable record.
        pub failed: ByProcedure,
        /// Procedures under way at the end of the run.
        pub interrupted: ByProcedure,
        /// Procedures that never began, because as many were under way as are kept in memory.
        pub turned_away: ByProcedure,
        /// From the begin of an attach to the end of its last step.
        pub attach_time: Histogram,
        /// The same of a handover.
        pub handover_time: Histogram,
        /// The same of a lookup.
        pub lookup_time: Histogram,
        /// Queries that ask a question for the first time, by the procedure that needs it.
        pub asked: ByProcedure,
        /// The same queries, by the step of the procedure.
        pub asked_by_step: By<LookupStep, u64, { LookupStep::ALL.len() }>,
        /// Queries that ask a question again, because there was no usable response.
        pub asked_again: ByProcedure,
        /// Questions that were given up after the last retry.
        pub given_up: u64,
        /// Questions that were answered from a cache.
        pub hits: u64,
        /// Questions that were not in a cache, and so were asked: `hits + misses + joined` is all that were looked for.
        pub misses: u64,
        /// Of the misses, those whose entry was evicted before its TTL had ended: the queries that a full cache causes.
        /// Of entries evicted, at least as many as caches hold are remembered.
        pub misses_evicted: u64,
        /// Questions that the client was asking already: they wait for the same response.
        pub joined: u64,
        /// Questions that a response or an entry of the same procedure had answered already.
        pub brought: u64,
        /// Entries that were stored anew.
        pub stored: u64,
        /// Entries that were stored again before they ended.
        pub refreshed: u64,
        /// Entries evicted before their TTL had ended.
        pub evicted: u64,
        /// Their age when they were evicted: in tenths of their TTL, 0 to 9.
        pub evicted_at: ByCode<0>,
        /// Entries that were found or evicted after their TTL had ended.
        pub expired: u64,
        /// Entries that a restart of their client cleared.
        pub cleared: u64,
        /// Entries of all caches at the end of the interval. Those that have expired, and that nothing has looked at
        /// since, are among them.
        pub entries: u64 = peak,
        /// Responses with records.
        pub answers: u64,
        /// Responses that there is no such name (NXDOMAIN).
        pub no_name: u64,
        /// Responses that the name has no such records.
        pub no_data: u64,
        /// Responses with another RCODE than NOERROR and NXDOMAIN.
        pub refused: u64,
        /// Responses that were truncated, and were not asked for over TCP.
        pub truncated: u64,
        /// Responses that are malformed.
        pub malformed: u64,
        /// Responses for which there was no memory, because the server says something new each time.
        pub excess: u64,
        /// Responses that say otherwise than the one before to the same question: the zone has changed, or servers
        /// have different versions of it.
        pub changed: u64,
        /// NAPTR records that are ignored: S-NAPTR has no regular expressions, and no other flags than `s` and `a`.
        pub ignored: u64,
        /// NAPTR records that lead back to where they were reached from.
        pub loops: u64,
        /// Gateways that were selected and passed over for the next, because there is no address of them.
        pub passed_over: u64,
        /// NAPTR records that were not followed because the chain is too deep, or has too many branches.
        pub bounded: u64,
    }
}

impl CachingClients {
    /// All queries, those that ask again included.
    pub fn queries(&self) -> u64 {
        self.asked.total() + self.asked_again.total()
    }

    /// The part of the questions that a cache answered, 0 to 1; `None` without any question.
    pub fn hit_ratio(&self) -> Option<f64> {
        let looked_for = self.hits + self.misses + self.joined;
        (looked_for > 0).then(|| self.hits as f64 / looked_for as f64)
    }

    /// The times of a procedure.
    pub fn time_mut(&mut self, procedure: ProcedureKind) -> &mut Histogram {
        match procedure {
            ProcedureKind::Attach => &mut self.attach_time,
            ProcedureKind::Handover => &mut self.handover_time,
            ProcedureKind::Lookup => &mut self.lookup_time,
        }
    }

    /// The same, to read.
    pub fn time(&self, procedure: ProcedureKind) -> &Histogram {
        match procedure {
            ProcedureKind::Attach => &self.attach_time,
            ProcedureKind::Handover => &self.handover_time,
            ProcedureKind::Lookup => &self.lookup_time,
        }
    }

    /// The mean age of evicted entries as a share of their TTL; `None` if none was evicted. Counted in tenths: each has
    /// the middle of its tenth.
    pub fn age_when_evicted(&self) -> Option<f64> {
        let sum: f64 =
            self.evicted_at.iter().map(|(tenth, n)| (f64::from(tenth) + 0.5) / 10.0 * n as f64).sum();
        let all = self.evicted_at.total();
        (all > 0).then(|| sum / all as f64)
    }

    /// How full the caches are, by what happens to their entries.
    pub fn cache_state(&self) -> CacheState {
        match self.age_when_evicted() {
            None => CacheState::Fits,
            Some(age) if age >= SHORTLY_BEFORE => CacheState::Tight,
            Some(_) => CacheState::Overflows,
        }
    }
}

/// Entries evicted at this share of their TTL or later would soon have expired.
const SHORTLY_BEFORE: f64 = 0.9;

/// How full caches are, as a carrier's report has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheState {
    /// 1: all keys fit. Each entry lasts as long as its TTL.
    Fits,
    /// 2: those that are valid at a time fit on average. Entries last almost as long.
    Tight,
    /// 3: they do not fit. Entries are evicted, and TTLs no longer matter.
    Overflows,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_overflow_where_entries_are_evicted_long_before_their_ttl_ends() {
        let mut clients = CachingClients::default();
        assert_eq!((clients.cache_state(), clients.age_when_evicted()), (CacheState::Fits, None));
        clients.evicted_at.add(9, 10);
        assert_eq!(clients.cache_state(), CacheState::Tight);
        clients.evicted_at.add(2, 10);
        assert_eq!((clients.cache_state(), clients.age_when_evicted()), (CacheState::Overflows, Some(0.6)));
    }
}
