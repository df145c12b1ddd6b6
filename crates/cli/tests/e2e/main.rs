//! The end-to-end tests: the program itself, from its command line to its record, against servers on loopback.
//!
//! One binary, so that tests that assert times take turns. `scripts/run-tests` runs those of [`beside`] several at a
//! time, then those of [`alone`]; with a plain `cargo test` they take turns by a lock (see [`support`]). The modules:
//!
//! | module | what it tests |
//! |---|---|
//! | [`support`] | (shared code: a working folder, running the program, the checks of every record) |
//! | [`beside::servers`] | correct counts with real servers; the summary from the record and as JSON; expectations |
//! | [`beside::agents`] | runs that several agents make together, and what becomes of them when one is lost |
//! | [`beside::agents_cut`] | agents behind a cut network or with a full disk |
//! | [`beside::tune`] | tuning: the host is as it was whatever is killed; the catalogue; what is refused |
//! | [`alone::tuned`] | a night of tuning with a planted bottleneck among decoys |
//! | [`beside::nats_access`] | brokers with TLS, credentials and an object store |
//! | [`beside::kubernetes`] | the manifest for Kubernetes: its command lines, its configuration, what it names |
//! | [`beside::bad_input`] | a clear message and the right exit code for wrong input |
//! | [`beside::hostile_files`] | records that no run has written: errors, memory, control characters |
//! | [`beside::mistakes`] | what a stranger types wrongly: the exact words and the exit code |
//! | [`beside::capture`] | captures: their contents compared with what was sent, and with what other programs read |
//! | [`beside::data`] | generated zones in four servers: the same answers, of the sizes asked for; the change under
//! way |
//! | [`beside::covered`] | intervals that the load covers in part: their rates in every output |
//! | [`alone::compare`] | two sides whose difference is known, and runs that cannot be compared |
//! | [`alone::judged`] | expectations on steps, conditions, runs without answers, signals and their exit codes |
//! | [`beside::report`] | the report page: its figures compared with `show` and the record, markup in records,
//! refusals |
//! | [`beside::recipes`] | every command line of the documents can be run |
//! | [`beside::first_hour`] | the commands of docs/first-hour.md, typed in their order |
//! | [`beside::coming_from`] | every entry of the tables for those who come from other programs is run |
//! | [`beside::full_disk`] | the same for a disk or a folder that cannot be written |
//! | [`alone::truth`] | figures compared with those of the responder: durations, counters, causes of loss |
//! | [`alone::bed`] | what this host did to a run, and the counters of the kernel: waits, quotas |
//! | [`beside::respond`] | the responder from the command line |
//! | [`beside::encrypted`] | the responder over DoT, DoH and DoQ, queried by other clients |
//! | [`beside::encrypted_client`] | the same over DoT and DoH: handshakes, sessions, streams, statuses |
//! | [`beside::in_kernel`] | the responder in the kernel: its counts compared with the record, its end |
//! | [`beside::experiment`] | experiments with real servers: stopped, resumed, servers that fail; nothing is left of
//! them |
//! | [`beside::experiment_columns`] | figures of experiments, computed anew from the lines of their records; the page |
//! | [`beside::experiment_ways`] | searches and other programs as loads of experiments: their results, stopped, failed
//! |
//! | [`beside::verify`] | files of a release as signed, changed on their way, and what programs of others say of them |
//! | [`beside::versions`] | versions of a server from unpacked roots; servers that this host does not have |
//! | [`beside::reports`] | small versions of the field reports in docs/reports: what holds on any host |
//! | [`beside::export`] | exports, read by the programs that they are made for |
//! | [`beside::demo`] | the demo, the manual, the completions |
//! | [`beside::dnsperf`] | what dnsperf's command lines print, and the queries they send, compared with the original |
//! | [`beside::other_programs`] | the same for resperf and queryperf; resperf-report; links by these names |
//! | [`beside::link_local`] | link-local servers and addresses, by their interface |
//! | [`beside::pipes_as_files`] | pipes in the place of files: refused at once |
//! | [`beside::secrets`] | keys, passwords and tokens: in nothing that is written or printed |
//! | [`beside::consent`] | what a file of others may not decide, and what a dry run shows of it |
//! | [`beside::endless`] | input without an end, signals while it is read, little memory |
//! | [`beside::small_inputs`] | small inputs that were misread once, each with its right value |
//! | [`beside::tcp`] | the same over TCP: every connection is counted, no query is lost with one |
//! | [`beside::quic`] | what holds over DoQ and over HTTP/3: kept connections, sessions, early data, streams |
//! | [`beside::doh3`] | the same over HTTP/3; another implementation as server and as client |
//! | [`beside::doq`] | the same over QUIC: handshakes, streams, sessions, and each fault of the responder; a real
//! server |
//! | [`beside::clients`] | ports that run out, full queues of the server, Fast Open, closed ports |
//! | [`alone::xdp`] | the same over AF_XDP, between two network namespaces |
//! | [`beside::fallback`] | transactions retried over TCP: their parts and failures, and BIND with responses of 23 kB |
//! | [`alone::field_reports`] | small versions of reports: fallbacks as BIND counts them, queues, zones that come and
//! go |
//! | [`beside::mix`] | several transports in one run: shares, figures, a stalled member |
//! | [`beside::diagnose`] | which bottleneck a run shows, on a server that stands still and without anything watched |
//! | [`beside::qualify`] | qualifications of servers that fail in a known way, with the generator killed in each test |
//! | [`beside::replay`] | captures: what the server receives, from whom and when, and answers held against recorded
//! ones |
//! | [`beside::dlz`] | servers with a database: statements for each query, equal answers, and the database as a helper
//! |
//! | [`beside::relay`] | the relay: delays, losses and order against what tcpdump saw on both sides; runs through it |
//! | [`beside::merge`] | parts of one load by several processes, joined: whole, with one missing, refused, joined anew
//! |
//! | [`beside::several_addresses`] | servers with several addresses: from which one they answer |
//! | [`beside::several_servers`] | several servers in turn or by weight, members with settings of their own |
//! | [`beside::metrics`] | the metrics of a run in progress: for Prometheus, for a receiver of OTLP |
//! | [`beside::history`] | steps, gates, accepted steps and the index of a folder of runs |
//! | [`beside::note`] | notes from another shell to a run in progress |
//! | [`beside::serve`] | a folder of runs over HTTP, one of them in progress |
//! | [`alone::screen`] | the live screen: it appears, follows its terminal, and leaves it as it was |
//! | [`alone::outside`] | comparisons with the past and with results of other programs; the jobs of docs/ci.md |
//! | [`beside::output`] | what is printed to terminals, pipes, files and scripts |
//! | [`beside::find`] | the limit of a server: found or bounded, resumed, refused |
//! | [`beside::goals`] | several goals in one search: each with a limit that is true, refused |
//! | [`beside::provoke`] | each bottleneck made on a real server: the diagnosis names it, and no other |
//! | [`beside::world`] | the Internet in a box: resolvers from cold, the book and their counters, the same world again
//! |
//! | [`beside::faults`] | what happens in the middle of a run: ports that close, servers and generators that are
//! killed, Ctrl-C |
//!
//! Nothing here asserts on speed. A test that needs root or a server reports when it is skipped;
//! `DNSDYNO_REQUIRE_PRIVILEGED=1` makes a skip a failure.

mod support;

/// Tests that compare times with known ones, assert shares of CPUs or counters of this host, or need a terminal that
/// answers at once: one after another.
mod alone {
    pub(crate) mod bed;
    pub(crate) mod compare;
    pub(crate) mod field_reports;
    pub(crate) mod judged;
    pub(crate) mod outside;
    pub(crate) mod screen;
    pub(crate) mod truth;
    pub(crate) mod tuned;
    pub(crate) mod watch_auto;
    pub(crate) mod watch_host;
    pub(crate) mod watch_ssh;
    pub(crate) mod xdp;
}

/// Tests that assert counts, texts and ends, or times that are far from any bound: loads beside theirs change nothing.
mod beside {
    pub(crate) mod agents;
    pub(crate) mod agents_cut;
    pub(crate) mod answers;
    pub(crate) mod bad_input;
    pub(crate) mod caching_clients;
    pub(crate) mod capture;
    pub(crate) mod check;
    pub(crate) mod client_kinds;
    pub(crate) mod clients;
    pub(crate) mod coming_from;
    pub(crate) mod consent;
    pub(crate) mod covered;
    pub(crate) mod data;
    pub(crate) mod demo;
    pub(crate) mod diagnose;
    pub(crate) mod dlz;
    pub(crate) mod dnsperf;
    pub(crate) mod doctor;
    pub(crate) mod doh3;
    pub(crate) mod doq;
    pub(crate) mod encrypted;
    pub(crate) mod encrypted_client;
    pub(crate) mod endless;
    pub(crate) mod experiment;
    pub(crate) mod experiment_columns;
    pub(crate) mod experiment_ways;
    pub(crate) mod export;
    pub(crate) mod fallback;
    pub(crate) mod faults;
    pub(crate) mod find;
    pub(crate) mod first_hour;
    pub(crate) mod full_disk;
    pub(crate) mod goals;
    pub(crate) mod held_back;
    pub(crate) mod history;
    pub(crate) mod hostile_files;
    pub(crate) mod in_kernel;
    pub(crate) mod kubernetes;
    pub(crate) mod link_local;
    pub(crate) mod merge;
    pub(crate) mod messages;
    pub(crate) mod metrics;
    pub(crate) mod mistakes;
    pub(crate) mod mix;
    pub(crate) mod nats;
    pub(crate) mod nats_access;
    pub(crate) mod note;
    pub(crate) mod other_programs;
    pub(crate) mod output;
    pub(crate) mod pipes_as_files;
    pub(crate) mod provoke;
    pub(crate) mod qualify;
    pub(crate) mod quic;
    pub(crate) mod receive_drops;
    pub(crate) mod recipes;
    pub(crate) mod relay;
    pub(crate) mod replay;
    pub(crate) mod report;
    pub(crate) mod reports;
    pub(crate) mod respond;
    pub(crate) mod rights;
    pub(crate) mod secrets;
    pub(crate) mod serve;
    pub(crate) mod servers;
    pub(crate) mod several_addresses;
    pub(crate) mod several_servers;
    pub(crate) mod small_inputs;
    pub(crate) mod source_ranges;
    pub(crate) mod sources;
    pub(crate) mod tcp;
    pub(crate) mod threats;
    pub(crate) mod trace;
    pub(crate) mod tune;
    pub(crate) mod verify;
    pub(crate) mod versions;
    pub(crate) mod watch_page;
    pub(crate) mod watch_servers;
    pub(crate) mod watch_whose;
    pub(crate) mod worker_trials;
    pub(crate) mod world;
}
