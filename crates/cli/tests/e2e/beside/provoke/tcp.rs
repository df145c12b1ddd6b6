//! Connections: queues of a listening socket, the servers' own limits of connections, local ports, open files.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use dnsdyno_measure::ConnectFailure;
use rustix::io::Errno;
use socket2::{Domain, Socket, Type};

use super::scene::{Measured, Scene};

/// A server that stands still for 1.4 s, with connections waiting to be accepted.
pub(super) fn full_accept_queue() -> Option<(Scene, Measured)> {
    let scene = Scene::new(&["bind"])?;
    scene.set(scene.far(), &[("ipv4/tcp_syncookies", "0")]);
    let server = scene.server("bind", |options| options.parts.push("statistics".to_owned()));
    let load = "-d q.txt --transport tcp --queries-per-connection 1 --rate 200 --for 4s --timeout 400ms";
    let measured = scene.load_with(&server, load, |run| {
        scene.stand_still(&server, run, Duration::from_millis(1400));
    });
    let overflows = measured.far.of_name("TcpExt.ListenOverflows");
    assert!(overflows > 20 && measured.unanswered() > 100, "{overflows}: {:?}", measured.ends());
    Some((scene, measured))
}

/// Clients that begin connections and never complete them: to their addresses the server's answers go astray.
pub(super) fn full_syn_queue() -> Option<(Scene, Measured)> {
    let scene = Scene::new(&["nsd"])?;
    scene.set(scene.far(), &[("ipv4/tcp_syncookies", "0"), ("core/somaxconn", "16")]);
    let server = scene.server("nsd", |_| ());
    let astray = Ipv4Addr::new(10, 77, 0, 99);
    scene.near().ip(&["address", "add", "10.77.0.99/24", "dev", scene.near().interface]).unwrap();
    let neighbour =
        ["neigh", "add", "10.77.0.99", "lladdr", "02:00:00:00:00:99", "dev", scene.far().interface];
    scene.far().ip(&neighbour).unwrap();
    let half_open: Vec<Socket> =
        scene.near().enter(|| (0..32).map(|_| begin(astray, server.address()).unwrap()).collect()).unwrap();
    let load = "-d q.txt --transport tcp --queries-per-connection 1 --rate 100 --for 2s --timeout 500ms";
    let measured = scene.load(&server, load);
    drop(half_open);
    let dropped = measured.far.of_name("TcpExt.TCPReqQFullDrop");
    assert!(dropped > 100 && measured.unanswered() > 100, "{dropped}: {:?}", measured.ends());
    Some((scene, measured))
}

/// Begins a connection and does not wait for it.
fn begin(from: Ipv4Addr, to: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SocketAddr::from((from, 0)).into())?;
    match socket.connect(&to.into()) {
        Err(error) if error.raw_os_error() != Some(Errno::INPROGRESS.raw_os_error()) => Err(error),
        _ => Ok(socket),
    }
}

/// A server that serves so many connections, and more clients that each keep one.
fn few_connections(name: &str, part: Option<&str>, limit: u32) -> Option<(Scene, Measured)> {
    let scene = Scene::new(&[name])?;
    let server = scene.server(name, |options| {
        options.parts.extend(part.map(str::to_owned));
        options.values.insert("tcp_clients".to_owned(), limit.to_string());
        match name {
            "bind" => options.values.insert("tcp_listen_queue".to_owned(), "100".to_owned()),
            "unbound" => options.values.insert("clients".to_owned(), "10.77.0.0/24".to_owned()),
            _ => None,
        };
    });
    let clients = limit * 6;
    let load = format!("-d q.txt --transport tcp --clients {clients} --rate 500 --for 2s --timeout 500ms");
    let measured = scene.load(&server, &load);
    assert!(measured.unanswered() > 50, "{:?}", measured.ends());
    Some((scene, measured))
}

pub(super) fn few_connections_of_bind() -> Option<(Scene, Measured)> {
    few_connections("bind", Some("statistics"), 5)
}

pub(super) fn few_connections_of_unbound() -> Option<(Scene, Measured)> {
    few_connections("unbound", None, 5)
}

pub(super) fn few_connections_of_nsd() -> Option<(Scene, Measured)> {
    few_connections("nsd", None, 5)
}

pub(super) fn few_connections_of_pdns() -> Option<(Scene, Measured)> {
    few_connections("pdns", None, 5)
}

/// It closes connections when it has too many: of twenty, one more or less is still near the limit.
pub(super) fn few_connections_of_knot() -> Option<(Scene, Measured)> {
    few_connections("knot", None, 20)
}

/// A connection for each query, and a generator with a hundred ports; without timestamps each rests a minute after
/// use.
pub(super) fn exhausted_local_ports() -> Option<(Scene, Measured)> {
    let scene = Scene::new(&["nsd"])?;
    scene.set(scene.near(), &[("ipv4/ip_local_port_range", "40000 40099"), ("ipv4/tcp_timestamps", "0")]);
    let server = scene.server("nsd", |_| ());
    let load = "-d q.txt --transport tcp --queries-per-connection 1 --rate 200 --for 3s --timeout 500ms";
    let measured = scene.load(&server, load);
    let connections = measured.digest.arrivals().connections.as_deref().unwrap();
    let failed = connections.failed(ConnectFailure::NoLocalPort);
    assert!(failed > 100, "{connections:?}");
    Some((scene, measured))
}

/// A server that may have fewer files open than it has clients.
pub(super) fn exhausted_open_files() -> Option<(Scene, Measured)> {
    let scene = Scene::new(&["knot"])?;
    let server = scene.server("knot", |options| options.place.open_files = Some(64));
    let load = "-d q.txt --transport tcp --clients 100 --rate 500 --for 3s --timeout 500ms";
    let measured = scene.load(&server, load);
    assert!(measured.unanswered() > 100, "{:?}", measured.ends());
    Some((scene, measured))
}
