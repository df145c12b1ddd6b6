//! Bottlenecks, each provoked on a real server in a network namespace: the diagnosis names it first, and names no
//! other. Each condition is checked by the counters of the kernel as well.
//!
//! | module | bottlenecks |
//! |---|---|
//! | [`scene`] | (where they are provoked) |
//! | [`udp`] | queues of UDP sockets |
//! | [`tcp`] | queues of listening sockets, limits of connections, ports, files |
//! | [`host`] | CPU time, the link, packets that do not arrive whole |
//! | [`server`] | limits of the rate, back ends; servers in good health |

mod host;
mod scene;
mod server;
mod tcp;
mod udp;

use std::panic::catch_unwind;

use dnsdyno_lab::within_tries;
use serde_json::Value;

use scene::{Measured, Scene};

/// A test for each scenario: what it is, how it is made, the rule that must be found first, and rules that may be
/// found beside it, because the one brings the other about.
macro_rules! scenarios {
    ($($name:ident: $make:path => [$($rule:literal),*] $(beside [$($beside:literal),*])?;)*) => {$(
        #[test]
        fn $name() {
            provoked($make, &[$($rule),*], &[$($($beside),*)?]);
        }
    )*};
}

scenarios! {
    a_stopped_server_is_seen_as_a_full_receive_queue: udp::stopped_server => ["udp-receive-queue"];
    a_small_buffer_is_seen_as_a_full_receive_queue: udp::small_receive_buffer => ["udp-receive-queue"];
    // Its thread is busy, because it gets every query.
    one_full_socket_of_two_is_found: udp::one_hot_socket => ["udp-receive-queue-one-socket"]
        beside ["cpu-one-thread"];
    a_full_send_queue_is_found: udp::full_send_queue => ["udp-send-queue"] beside ["link"];
    a_full_accept_queue_is_found: tcp::full_accept_queue => ["accept-queue"];
    a_full_syn_queue_is_found: tcp::full_syn_queue => ["syn-queue"];
    the_limit_of_connections_of_bind_is_found: tcp::few_connections_of_bind => ["server-tcp-limit"]
        beside ["accept-queue"];
    the_limit_of_connections_of_unbound_is_found: tcp::few_connections_of_unbound => ["server-tcp-limit"]
        beside ["accept-queue"];
    the_limit_of_connections_of_nsd_is_found: tcp::few_connections_of_nsd => ["server-tcp-limit"]
        beside ["accept-queue"];
    the_limit_of_connections_of_pdns_is_found: tcp::few_connections_of_pdns => ["server-tcp-limit"]
        beside ["accept-queue"];
    // At its limit, Knot DNS closes and accepts in turn, and its worker spins meanwhile.
    the_limit_of_connections_of_knot_is_found: tcp::few_connections_of_knot => ["server-tcp-limit"]
        beside ["cpu-one-thread", "accept-queue"];
    exhausted_local_ports_are_found: tcp::exhausted_local_ports => ["local-ports"] beside ["generator"];
    exhausted_open_files_are_found: tcp::exhausted_open_files => ["open-files"] beside ["accept-queue"];
    a_thread_without_free_time_is_found: host::one_busy_thread => ["cpu-one-thread"] beside ["udp-receive-queue"];
    a_throttled_server_is_found: host::throttled_server => ["cpu-throttled"] beside ["udp-receive-queue"];
    a_starved_generator_is_found: host::starved_generator => ["generator"];
    a_full_link_is_found: host::shaped_link => ["link"];
    a_full_table_of_connections_is_found: host::full_connection_table => ["conntrack"];
    lost_fragments_are_found: host::lost_fragments => ["fragments"];
    a_lossy_path_is_found: host::lossy_path => ["path-loss"];
    the_rate_limit_of_nsd_is_found: server::rate_limit_of_nsd => ["rate-limit"];
    the_rate_limit_of_bind_is_found: server::rate_limit_of_bind => ["rate-limit"];
    the_rate_limit_of_knot_is_found: server::rate_limit_of_knot => ["rate-limit"];
    a_stopped_back_end_is_found: server::stopped_back_end => ["back-end"];
    failures_of_a_stopped_back_end_are_found: server::stopped_back_end_given_up => ["back-end"];
    nothing_is_found_in_a_healthy_run_over_udp: server::healthy_bind => [];
    nothing_is_found_in_a_healthy_run_over_tcp: server::healthy_nsd => [];
}

/// Provokes it on a host that may do something else meanwhile, which brings bottlenecks of its own about.
fn provoked(make: fn() -> Option<(Scene, Measured)>, expected: &[&str], beside: &[&str]) {
    within_tries(3, "the scenario", |_| {
        let judged = catch_unwind(|| {
            let Some((scene, measured)) = make() else { return };
            explained(&scene, &measured, expected, beside);
        });
        judged.map_err(|panic| panic.downcast_ref::<String>().cloned().unwrap_or_default())
    });
}

/// Checks that the diagnosis of the run finds `expected` first and nothing else, except what may be found `beside` it.
fn explained(scene: &Scene, measured: &Measured, expected: &[&str], beside: &[&str]) {
    let ran = scene.work().dnsdyno("diagnose run --json").gives(0);
    let diagnosis: Value = serde_json::from_str(&ran.stdout).unwrap();
    let mut found: Vec<&str> =
        diagnosis["findings"].as_array().unwrap().iter().map(|one| one["rule"].as_str().unwrap()).collect();
    // The host of this test may be a virtual machine itself, whose CPUs are given to others now and then.
    found.retain(|rule| *rule != "cpu-steal");
    let ends = measured.ends();
    println!("{expected:?}: {found:?}");
    println!("{diagnosis:#}");
    let (first, others) = found.split_at(found.len().min(expected.len()));
    assert_eq!(first, expected, "{diagnosis:#}\n{ends:?}");
    assert!(others.iter().all(|other| beside.contains(other)), "{found:?}: {diagnosis:#}\n{ends:?}");
}
