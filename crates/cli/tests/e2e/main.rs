//! The end-to-end tests: the program itself, from its command line to its record, against servers on loopback.
//!
//! One binary, so that one lock keeps the loads of two tests apart (see [`support`]). What is where:
//!
//! | module | holds the program to |
//! |---|---|
//! | [`support`] | (what the others share: a place of work, the program in it, the checks of every record) |
//! | [`servers`] | right counts against the real servers; the summary, again and as JSON; expectations |
//! | [`bad_input`] | a clear message and the right exit code for all that a user can get wrong |
//! | [`full_disk`] | the same for a disk or a folder that takes nothing |
//! | [`truth`] | figures that a responder knows: durations, counters, whose fault a loss is |
//! | [`respond`] | the responder from the command line |
//! | [`encrypted`] | the responder over DoT, DoH and DoQ, as other people's clients see it |
//! | [`encrypted_client`] | the same over DoT and DoH: handshakes, sessions, streams, statuses |
//! | [`in_kernel`] | the responder in the kernel: its book against the record, its end |
//! | [`demo`] | the demo, the manual, the completions |
//! | [`tcp`] | the same over connections: each of them counted, no query lost with one |
//! | [`doq`] | the same over QUIC: handshakes, streams, sessions, and each fault of the responder; a real server |
//! | [`clients`] | ports that run out, full queues of the server, Fast Open, closed doors |
//! | [`xdp`] | the same over AF_XDP, between two network namespaces |
//! | [`fallback`] | transactions that go on over TCP: their parts, their failures, against BIND with answers of 23 kB |
//! | [`mix`] | several transports in one run: shares, figures, a member that stands still |
//! | [`faults`] | what happens in the middle of a run: ports that close, servers and generators that die, Ctrl-C |
//!
//! Nothing here asserts on speed. A test that needs root or a server says so where it is skipped;
//! `DNSDYNO_REQUIRE_PRIVILEGED=1` makes a skip a failure.

mod support;

mod bad_input;
mod clients;
mod demo;
mod doq;
mod encrypted;
mod encrypted_client;
mod fallback;
mod faults;
mod full_disk;
mod in_kernel;
mod mix;
mod respond;
mod servers;
mod tcp;
mod truth;
mod xdp;
