//! An invented run, whose bottleneck is what a test makes of it.

use dnsdyno_measure::{Samples, Side, Watched, WatchedKind};
use dnsdyno_record::{Digest, Header, Interval, Sum};

use super::super::{Diagnoser, Diagnosis};
use crate::sample;

/// The sources of every invented run, in this order.
pub(super) const HOST: usize = 0;
pub(super) const PROCESS: usize = 1;
pub(super) const SERVER: usize = 2;
pub(super) const GENERATOR_HOST: usize = 3;

/// An invented run of ten seconds at 1,000 queries/s.
pub(super) struct Scene {
    pub(super) header: Header,
    pub(super) seconds: Vec<Interval>,
    /// What a counter of a source rose by that is known of the run only.
    pub(super) of_whole_run: Option<(usize, &'static str, u64)>,
}

impl Scene {
    pub(super) fn over(transport: &str) -> Scene {
        let watched = |kind, side, label: &str, software: Option<&str>, settings: &[(&str, &str)]| Watched {
            kind,
            side,
            label: label.into(),
            software: software.map(str::to_owned),
            version: None,
            settings: settings.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
            unset: Vec::new(),
            missing: Vec::new(),
        };
        let of_host = [
            ("cpus", "4"),
            ("net.core.rmem_max", "212992"),
            ("interface.eth0.speed_mbps", "1000"),
            ("net.netfilter.nf_conntrack_max", "65536"),
        ];
        let header = Header {
            phases: Vec::new(),
            transport: transport.into(),
            watched: vec![
                watched(WatchedKind::Host, Side::Server, "the server's host", None, &of_host),
                watched(
                    WatchedKind::Process,
                    Side::Server,
                    "named (4711)",
                    Some("bind"),
                    &[("limit.files", "1024")],
                ),
                watched(
                    WatchedKind::Server,
                    Side::Server,
                    "BIND at 127.0.0.1:8053",
                    Some("bind"),
                    &[("tcp-clients", "150")],
                ),
                watched(WatchedKind::Host, Side::Generator, "this host", None, &[("cpus", "4")]),
            ],
            ..sample::header()
        };
        let seconds = (0..10).map(|index| sample::second(index, 1_000, 0)).collect();
        let mut scene = Scene { header, seconds, of_whole_run: None };
        for second in 0..10 {
            for (source, name, value) in [
                (HOST, "cpu.idle_ns", 2_500_000_000),
                (HOST, "cpu.user_ns", 1_400_000_000),
                (HOST, "cpu.steal_ns", 1_000_000),
                (HOST, "interface.eth0.tx_bytes", 200_000),
                (PROCESS, "cpu_ns", 300_000_000),
                (PROCESS, "cpu_wait_ns", 20_000_000),
                (PROCESS, "thread.isc-net-0000/12.cpu_ns", 150_000_000),
                (PROCESS, "thread.isc-net-0001/13.cpu_ns", 150_000_000),
            ] {
                scene.counter(second, source, name, value);
            }
            scene.gauge(second, PROCESS, "files.open", 60);
            scene.gauge(second, SERVER, "tcp.open", 20);
            scene.gauge(second, SERVER, "recursing", 2);
            scene.gauge(second, HOST, "conntrack.entries", 900);
        }
        scene
    }

    fn samples(&mut self, second: usize, source: usize) -> &mut Samples {
        let watched = &mut self.seconds[second].watched;
        watched.resize(4, Some(Samples::default()));
        watched[source].get_or_insert_default()
    }

    pub(super) fn counter(&mut self, second: usize, source: usize, name: &str, value: u64) {
        self.samples(second, source).counters.insert(name.into(), value);
    }

    pub(super) fn gauge(&mut self, second: usize, source: usize, name: &str, value: u64) {
        self.samples(second, source).gauges.insert(name.into(), value);
    }

    /// Queries of a second that time out.
    pub(super) fn lost(&mut self, second: usize, queries: u64) -> &mut Scene {
        let watched = std::mem::take(&mut self.seconds[second].watched);
        self.seconds[second] = Interval { watched, ..sample::second(second as u64, 1_000, queries) };
        self
    }

    /// Responses of a second that take 200 ms longer.
    pub(super) fn slow(&mut self, second: usize) {
        let tally = &mut self.seconds[second].tally;
        (0..100).for_each(|_| tally.response.record(240_000_000));
        (0..100).for_each(|_| tally.service.record(240_000_000));
    }

    pub(super) fn digest(&self) -> Digest {
        let mut digest = Digest::new(self.header.clone());
        self.seconds.iter().for_each(|second| digest.interval(second));
        let mut totals = digest.watched().to_vec();
        if let Some((source, name, rise)) = self.of_whole_run {
            totals[source].get_or_insert_default().counters.insert(name.into(), rise);
        }
        let sum = Sum { watched: totals, ..sample::calm_sum(&digest) };
        digest.sum(&sum);
        digest
    }

    pub(super) fn diagnose(&self) -> Diagnosis {
        let digest = self.digest();
        let mut diagnoser = Diagnoser::new(&digest);
        self.seconds.iter().for_each(|second| diagnoser.add(second));
        diagnoser.finish()
    }
}

/// A run in which the queries of second 4 are lost, and this counter rose in it as often.
pub(super) fn drops(transport: &str, source: usize, series: &[&str]) -> Scene {
    let mut scene = Scene::over(transport);
    scene.lost(4, 400);
    for series in series {
        scene.counter(4, source, series, 400);
    }
    scene
}

/// A run in each second of which so many queries are lost, and so many responses truncated.
pub(super) fn all_limited(of_second: &dyn Fn(u64) -> [u64; 2]) -> Scene {
    let mut scene = Scene::over("udp");
    for second in 0..10 {
        let [lost, truncated] = of_second(second);
        scene.lost(second as usize, lost);
        scene.seconds[second as usize].arrivals.anomalies.truncated = truncated;
    }
    scene
}
