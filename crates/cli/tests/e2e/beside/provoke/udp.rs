//! Queues of UDP sockets: a server that stands still, a small buffer, one socket that gets everything, and responses
//! that do not leave.

use std::time::Duration;

use super::scene::{Measured, Scene};

/// A server that stands still for a second at 5,000 queries per second.
pub(super) fn stopped_server() -> Option<(Scene, Measured)> {
    let scene = Scene::new(&["bind"])?;
    let server = scene.server("bind", |options| options.parts.push("statistics".to_owned()));
    let load = "-d q.txt --rate 5k --for 4s --timeout 500ms";
    let measured =
        scene.load_with(&server, load, |run| scene.stand_still(&server, run, Duration::from_secs(1)));
    let dropped = measured.far.of_name("Udp.RcvbufErrors");
    assert!(dropped > 2_000, "{dropped}");
    assert!(measured.unanswered() >= dropped, "{:?}", measured.ends());
    Some((scene, measured))
}

/// A receive buffer that holds a few queries only.
pub(super) fn small_receive_buffer() -> Option<(Scene, Measured)> {
    let scene = Scene::new(&["nsd"])?;
    let server = scene.server("nsd", |options| options.receive_buffer_bytes = 4096);
    // Bursts, so that its thread has time between them.
    let load = "-d q.txt --burst 100..200k --every 100ms --hold 5ms --for 2s --timeout 300ms";
    let measured = scene.load(&server, load);
    let dropped = measured.far.of_name("Udp.RcvbufErrors");
    assert!(dropped > 500, "{dropped}");
    assert_eq!(measured.unanswered(), dropped, "{:?}", measured.ends());
    Some((scene, measured))
}

/// Two sockets for one port, of which the kernel gives every query to the same one, since they all come from one port.
pub(super) fn one_hot_socket() -> Option<(Scene, Measured)> {
    let scene = Scene::new(&["unbound"])?;
    let server = scene.server("unbound", |options| {
        options.threads = 2;
        options.receive_buffer_bytes = 4096;
        options.values.insert("clients".to_owned(), "10.77.0.0/24".to_owned());
    });
    let load = "-d q.txt --clients 1 --workers 1 --outstanding 500 --for 2s --timeout 300ms";
    let measured = scene.load(&server, load);
    let mut dropped = scene.dropped_by_sockets(server.address().port());
    dropped.sort_unstable();
    assert!(matches!(dropped[..], [0, most] if most > 500), "{dropped:?}");
    Some((scene, measured))
}

/// Responses that wait in the server's socket because the link takes them slowly, behind a queue that drops none.
pub(super) fn full_send_queue() -> Option<(Scene, Measured)> {
    let scene = Scene::new(&["knot"])?;
    let server = scene.server("knot", |_| ());
    scene.shape(scene.far(), "2mbit", "1mb");
    let measured = scene.load(&server, "-d q.txt --rate 5k --for 2s --timeout 500ms");
    // What the queue of an interface drops counts as an error of a send buffer too.
    let (failed, dropped) = (measured.far.of_name("Udp.SndbufErrors"), scene.dropped_by_queue(scene.far()));
    assert!(failed > 500 && dropped == 0, "{failed} {dropped}: {:?}", measured.far);
    Some((scene, measured))
}
