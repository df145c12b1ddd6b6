//! The end-to-end tests: the program itself, from its command line to its record, against servers on loopback.
//!
//! One binary, so that tests that assert times take turns (see [`support`]). The modules:
//!
//! | module | what it tests |
//! |---|---|
//! | [`support`] | (shared code: a working folder, running the program, the checks of every record) |
//! | [`servers`] | correct counts with real servers; the summary from the record and as JSON; expectations |
//! | [`bad_input`] | a clear message and the right exit code for wrong input |
//! | [`hostile_files`] | records that no run has written: errors, memory, control characters |
//! | [`mistakes`] | what a stranger types wrongly: the exact words and the exit code |
//! | [`capture`] | captures: their contents compared with what was sent, and with what other programs read |
//! | [`data`] | generated zones in four servers: the same answers, of the sizes asked for; the change under way |
//! | [`covered`] | intervals that the load covers in part: their rates in every output |
//! | [`compare`] | two sides whose difference is known, and runs that cannot be compared |
//! | [`judged`] | expectations on steps, conditions, runs without answers, signals and their exit codes |
//! | [`report`] | the report page: its figures compared with `show` and the record, markup in records, refusals |
//! | [`recipes`] | every command line of the documents can be run |
//! | [`coming_from`] | every entry of the tables for those who come from other programs is run |
//! | [`full_disk`] | the same for a disk or a folder that cannot be written |
//! | [`truth`] | figures compared with those of the responder: durations, counters, causes of loss |
//! | [`bed`] | what this host did to a run, and the counters of the kernel: waits, quotas |
//! | [`respond`] | the responder from the command line |
//! | [`encrypted`] | the responder over DoT, DoH and DoQ, queried by other clients |
//! | [`encrypted_client`] | the same over DoT and DoH: handshakes, sessions, streams, statuses |
//! | [`in_kernel`] | the responder in the kernel: its counts compared with the record, its end |
//! | [`experiment`] | experiments with real servers: stopped, resumed, servers that fail; nothing is left of them |
//! | [`experiment_ways`] | searches and other programs as loads of experiments: their results, stopped, failed |
//! | [`reports`] | small versions of the field reports in docs/reports: what holds on any host |
//! | [`export`] | exports, read by the programs that they are made for |
//! | [`demo`] | the demo, the manual, the completions |
//! | [`dnsperf`] | what dnsperf's command lines print, and the queries they send, compared with the original |
//! | [`other_programs`] | the same for resperf and queryperf; resperf-report; links by these names |
//! | [`tcp`] | the same over TCP: every connection is counted, no query is lost with one |
//! | [`doq`] | the same over QUIC: handshakes, streams, sessions, and each fault of the responder; a real server |
//! | [`clients`] | ports that run out, full queues of the server, Fast Open, closed ports |
//! | [`xdp`] | the same over AF_XDP, between two network namespaces |
//! | [`fallback`] | transactions retried over TCP: their parts and failures, and BIND with responses of 23 kB |
//! | [`field_reports`] | small versions of reports: fallbacks as BIND counts them, queues, zones that come and go |
//! | [`mix`] | several transports in one run: shares, figures, a stalled member |
//! | [`diagnose`] | which bottleneck a run shows, on a server that stands still and without anything watched |
//! | [`qualify`] | qualifications of servers that fail in a known way, with the generator killed in each test |
//! | [`replay`] | captures: what the server receives, from whom and when, and answers held against recorded ones |
//! | [`dlz`] | servers with a database: statements for each query, equal answers, and the database as a helper |
//! | [`relay`] | the relay: delays, losses and order against what tcpdump saw on both sides; runs through it |
//! | [`several_servers`] | several servers in turn or by weight, members with settings of their own |
//! | [`metrics`] | the metrics of a run in progress: for Prometheus, for a receiver of OTLP |
//! | [`serve`] | a folder of runs over HTTP, one of them in progress |
//! | [`screen`] | the live screen: it appears, follows its terminal, and leaves it as it was |
//! | [`output`] | what is printed to terminals, pipes, files and scripts |
//! | [`find`] | the limit of a server: found or bounded, resumed, refused |
//! | [`provoke`] | each bottleneck made on a real server: the diagnosis names it, and no other |
//! | [`faults`] | what happens in the middle of a run: ports that close, servers and generators that are killed, Ctrl-C |
//!
//! Nothing here asserts on speed. A test that needs root or a server reports when it is skipped;
//! `DNSDYNO_REQUIRE_PRIVILEGED=1` makes a skip a failure.

mod support;

mod bad_input;
mod bed;
mod caching_clients;
mod capture;
mod check;
mod clients;
mod coming_from;
mod compare;
mod covered;
mod data;
mod demo;
mod diagnose;
mod dlz;
mod dnsperf;
mod doctor;
mod doq;
mod encrypted;
mod encrypted_client;
mod experiment;
mod experiment_ways;
mod export;
mod fallback;
mod faults;
mod field_reports;
mod find;
mod full_disk;
mod hostile_files;
mod in_kernel;
mod judged;
mod messages;
mod metrics;
mod mistakes;
mod mix;
mod other_programs;
mod output;
mod provoke;
mod qualify;
mod recipes;
mod relay;
mod replay;
mod report;
mod reports;
mod respond;
mod screen;
mod serve;
mod servers;
mod several_servers;
mod sources;
mod tcp;
mod truth;
mod watch_auto;
mod watch_host;
mod watch_page;
mod watch_servers;
mod watch_ssh;
mod watch_whose;
mod xdp;
