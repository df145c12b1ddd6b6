//! What the generator's host gave to the generator, and to a server on the same host: CPU time.
//!
//! A server that waits for a CPU of this host loses queries that it would have answered on a host of its own. So what
//! its threads waited for is counted beside the losses of the same time.

use crate::counter::counters;

counters! {
    /// CPU time on the generator's host in one wall interval, and the losses beside it.
    pub struct TestBed {
        /// Time that the hypervisor took, in nanoseconds, from the CPU of this host from which it took most.
        pub steal_ns: u64,
        /// The quota of the generator's control group; `None` where this host does not count it.
        pub quota: Option<Box<QuotaUse>>,
        /// The processes of the server; `None` where none was seen on this host.
        pub server: Option<Box<ServerUse>>,
        /// The length of the intervals with lost queries, in nanoseconds.
        pub lossy_ns: u64,
        /// When the hypervisor took a CPU.
        pub stolen: LossBeside,
        /// When the generator's control group had used up its quota.
        pub throttled: LossBeside,
        /// When the server waited for a CPU of this host.
        pub server_starved: LossBeside,
        /// When the server's control group had used up its quota.
        pub server_throttled: LossBeside,
    }
}

counters! {
    /// What the processes of the server, all together, had of the CPUs of this host.
    pub struct ServerUse {
        /// CPU time of all threads, user and system, in nanoseconds.
        pub cpu_ns: u64,
        /// Time that all threads, added up, were ready to run and waited for a CPU, in nanoseconds.
        pub wait_ns: u64,
        /// The same of the thread that waited longest in the interval: never longer than the interval, but where it
        /// began to wait before it.
        pub longest_wait_ns: u64,
        /// Datagrams dropped because a receive buffer was full, in the server's network namespace: at the sockets of
        /// the server, at ours where they are in it too, and at those of other programs.
        pub full_buffers: u64,
        /// The quota of its control group; `None` where this host does not count it.
        pub quota: Option<Box<QuotaUse>>,
    }
}

counters! {
    /// What the quota of CPU time of a control group did to its processes.
    #[derive(Copy, Eq)]
    pub struct QuotaUse {
        /// Periods in which the group was active.
        pub periods: u64,
        /// Those in which it had used up its quota, and had to stand still until the next one.
        pub throttled_periods: u64,
        /// Time that it stood still, in nanoseconds, added up over the CPUs on which it would have run.
        pub throttled_ns: u64,
    }
}

counters! {
    /// The time in which something held up the generator or the server, and the losses of that time.
    ///
    /// It is judged by whole seconds, or by intervals where these are longer: of shorter intervals, what the kernel
    /// counted in the last second is taken together, because it counts a wait only at its end.
    #[derive(Copy, Eq)]
    pub struct LossBeside {
        /// The length of these intervals, in nanoseconds.
        pub time_ns: u64,
        /// Of those of them with lost queries.
        pub lossy_ns: u64,
        /// Queries due in them that were lost, and may have been lost by it.
        pub lost: u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arrivals;

    #[test]
    fn an_unknown_server_is_told_from_one_that_has_not_waited() {
        let written = |bed: TestBed| {
            let arrivals = Arrivals { bed: Some(Box::new(bed)), ..Arrivals::default() };
            let text = serde_json::to_string(&arrivals).unwrap();
            assert_eq!(serde_json::from_str::<Arrivals>(&text).unwrap(), arrivals);
            text
        };
        assert_eq!(written(TestBed::default()), r#"{"bed":{}}"#);
        let quiet = TestBed { server: Some(Box::default()), ..TestBed::default() };
        assert_eq!(written(quiet), r#"{"bed":{"server":{}}}"#);
    }

    #[test]
    fn what_was_known_of_a_part_of_the_time_is_added_up() {
        let with = |wait_ns, throttled_ns| TestBed {
            server: Some(Box::new(ServerUse {
                wait_ns,
                quota: Some(Box::new(QuotaUse { throttled_ns, ..QuotaUse::default() })),
                ..ServerUse::default()
            })),
            ..TestBed::default()
        };
        let mut sum = with(3, 4);
        sum.merge_in_time(&TestBed { steal_ns: 9, ..TestBed::default() });
        sum.merge_in_time(&with(5, 6));
        let server = sum.server.as_deref().unwrap();
        assert_eq!((sum.steal_ns, server.wait_ns, server.quota.as_deref().unwrap().throttled_ns), (9, 8, 10));
    }
}
