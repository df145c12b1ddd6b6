//! What a server does on purpose, or cannot help: limits of its rate, a back end that stands still; and servers in good
//! health.

use super::scene::{Measured, Scene};

/// The RCODE.
const SERVFAIL: u16 = 2;

/// NSD answers 100 queries per second from one network.
pub(super) fn rate_limit_of_nsd() -> Option<(Scene, Measured)> {
    let scene = Scene::new(&["nsd"])?;
    let server = scene.server("nsd", |options| {
        options.values.insert("rrl_ratelimit".to_owned(), "100".to_owned());
    });
    let measured = scene.load(&server, "--ask host-000.dyno.example --rate 2k --for 3s --timeout 500ms");
    assert!(measured.unanswered() > 1_000, "{:?}", measured.ends());
    Some((scene, measured))
}

/// BIND sends 50 equal responses per second to one network, and truncates every second one of the rest.
pub(super) fn rate_limit_of_bind() -> Option<(Scene, Measured)> {
    let scene = Scene::new(&["bind"])?;
    let server = scene.server("bind", |options| {
        options.parts.push("statistics".to_owned());
        let limit = "rate-limit { responses-per-second 50; };";
        options.values.insert("more_options".to_owned(), limit.to_owned());
    });
    let measured = scene.load(&server, "--ask host-000.dyno.example --rate 2k --for 3s --timeout 500ms");
    assert!(measured.unanswered() > 1_000, "{:?}", measured.ends());
    Some((scene, measured))
}

/// Knot DNS sends 50 responses per second to one address, and truncates every second one of the rest.
pub(super) fn rate_limit_of_knot() -> Option<(Scene, Measured)> {
    let scene = Scene::new(&["knot"])?;
    let server = scene.server("knot", |options| {
        let sections = "mod-rrl:\n  - id: few\n    rate-limit: 50\n    slip: 2\n\ntemplate:\n  - id: default\n    \
                        global-module: [mod-stats, mod-rrl/few]\n";
        options.values.insert("sections".to_owned(), sections.to_owned());
    });
    let measured = scene.load(&server, "--ask host-000.dyno.example --rate 2k --for 3s --timeout 500ms");
    assert!(measured.unanswered() > 1_000, "{:?}", measured.ends());
    Some((scene, measured))
}

/// A resolver whose authoritative server stands still.
pub(super) fn stopped_back_end() -> Option<(Scene, Measured)> {
    let (scene, measured) = with_stopped_back_end("")?;
    assert!(measured.unanswered() > 500, "{:?}", measured.ends());
    Some((scene, measured))
}

/// The same with a resolver that gives up early, and says so.
pub(super) fn stopped_back_end_given_up() -> Option<(Scene, Measured)> {
    let (scene, measured) = with_stopped_back_end("outbound-msg-retry: 1\n    infra-cache-max-rtt: 1000")?;
    let failed = measured.digest.tally().rcodes.of(SERVFAIL);
    assert!(failed > 100, "{:?}", measured.digest.tally().rcodes);
    Some((scene, measured))
}

/// A resolver with these options, and an authoritative server that stands still.
fn with_stopped_back_end(options_of_resolver: &str) -> Option<(Scene, Measured)> {
    let scene = Scene::new(&["unbound", "knot"])?;
    let back_end = scene.server("knot", |_| ());
    let server = scene.server("unbound", |options| {
        options.stub = Some(back_end.address());
        options.values.insert("clients".to_owned(), "10.77.0.0/24".to_owned());
        options.values.insert("more_options".to_owned(), options_of_resolver.to_owned());
    });
    back_end.pause().unwrap();
    let measured = scene.load(&server, "--ask {rand:8}.wild.dyno.example --rate 200 --for 3s --timeout 1s");
    // One that stands still does not end when asked to.
    back_end.resume().unwrap();
    Some((scene, measured))
}

/// BIND over UDP.
pub(super) fn healthy_bind() -> Option<(Scene, Measured)> {
    let scene = Scene::new(&["bind"])?;
    let server = scene.server("bind", |options| options.parts.push("statistics".to_owned()));
    let measured = scene.load(&server, "-d q.txt --rate 1k --for 3s");
    assert_eq!(measured.unanswered(), 0);
    Some((scene, measured))
}

/// NSD over TCP.
pub(super) fn healthy_nsd() -> Option<(Scene, Measured)> {
    let scene = Scene::new(&["nsd"])?;
    let server = scene.server("nsd", |_| ());
    let measured = scene.load(&server, "-d q.txt --transport tcp --clients 10 --rate 1k --for 3s");
    assert_eq!(measured.unanswered(), 0);
    Some((scene, measured))
}
