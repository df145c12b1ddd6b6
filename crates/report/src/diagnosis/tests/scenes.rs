//! The invented runs, one for each rule.

use super::*;

/// The run for each rule, by its name; and runs in which nothing is to be found.
pub(super) fn scenes() -> Vec<(&'static str, Scene)> {
    let with = |mut scene: Scene, change: &dyn Fn(&mut Scene)| {
        change(&mut scene);
        scene
    };
    let all_lossy = |transport: &str, change: &dyn Fn(&mut Scene, usize)| {
        let mut scene = Scene::over(transport);
        for second in 2..10 {
            scene.lost(second, 300);
            change(&mut scene, second);
        }
        scene
    };
    vec![
        ("healthy", Scene::over("udp")),
        ("healthy", Scene::over("tcp")),
        (
            "healthy",
            // Counters that move by chance, in seconds in which nothing is lost.
            with(Scene::over("udp"), &|scene| {
                scene.counter(3, PROCESS, "udp.drops", 2);
                scene.counter(7, HOST, "softnet.dropped", 5);
            }),
        ),
        (
            "unexplained",
            // Losses, and a counter that moves all the time.
            with(Scene::over("udp"), &|scene| {
                scene.lost(4, 400);
                (0..10).for_each(|second| scene.counter(second, HOST, "softnet.dropped", 100));
            }),
        ),
        (
            "unexplained",
            // Losses in one second, and a counter that rose in another one.
            with(Scene::over("udp"), &|scene| {
                scene.lost(2, 400);
                scene.counter(7, PROCESS, "udp.drops", 400);
            }),
        ),
        (
            "unexplained",
            // A counter that is too small.
            with(Scene::over("udp"), &|scene| {
                scene.lost(4, 900);
                scene.counter(4, PROCESS, "udp.drops", 2);
            }),
        ),
        (
            "generator",
            with(Scene::over("udp"), &|scene| {
                scene.lost(4, 50);
                scene.seconds[4].arrivals.socket_drops = 50;
            }),
        ),
        (
            "generator",
            with(Scene::over("udp"), &|scene| {
                for second in [5, 6] {
                    scene.slow(second);
                    (0..200).for_each(|_| scene.seconds[second].tally.lateness.record(200_000_000));
                }
            }),
        ),
        (
            "full-window",
            with(Scene::over("udp"), &|scene| {
                let ends = &mut scene.seconds[4].tally.ends;
                ends.answered -= 80;
                ends.not_sent.add(NotSentReason::WindowFull, 80);
            }),
        ),
        (
            "local-ports",
            with(Scene::over("tcp"), &|scene| {
                let ends = &mut scene.seconds[4].tally.ends;
                ends.answered -= 80;
                ends.not_sent.add(NotSentReason::NoLocalPort, 80);
                scene.seconds[4].arrivals.connections_mut().add_failed(ConnectFailure::NoLocalPort, 80);
            }),
        ),
        (
            "open-files",
            all_lossy("tcp", &|scene, second| {
                scene.gauge(second, PROCESS, "files.open", 1_024);
                scene.counter(second, HOST, "netstat.TcpExt.ListenOverflows", 500);
            }),
        ),
        (
            "cpu-throttled",
            all_lossy("udp", &|scene, second| {
                scene.counter(second, HOST, "cgroup.throttled_ns", 600_000_000);
                scene.counter(second, PROCESS, "udp.drops", 290);
            }),
        ),
        (
            "cpu-throttled",
            all_lossy("udp", &|scene, second| {
                scene.counter(second, HOST, "cpu.idle_ns", 20_000_000);
                let (stood_still, waited) =
                    if second % 3 == 2 { (2_900_000_000, 8_700_000_000) } else { (0, 0) };
                scene.counter(second, PROCESS, "cgroup.throttled_periods", 5);
                scene.counter(second, PROCESS, "cgroup.throttled_ns", stood_still);
                // Also where a thread ran for a moment, and the pause goes on.
                scene.counter(second, PROCESS, "cpu_wait_ns", if second == 4 { 970_000_000 } else { waited });
                scene.counter(second, PROCESS, "udp.drops", 290);
            }),
        ),
        (
            "cpu-steal",
            with(Scene::over("udp"), &|scene| {
                for second in [5, 6] {
                    scene.slow(second);
                    scene.counter(second, HOST, "cpu.steal_ns", 1_500_000_000);
                }
            }),
        ),
        (
            "memory",
            with(Scene::over("udp"), &|scene| {
                for second in [5, 6] {
                    scene.slow(second);
                    scene.counter(second, HOST, "pressure.memory.full_ns", 700_000_000);
                }
            }),
        ),
        (
            "server-tcp-limit",
            all_lossy("tcp", &|scene, second| {
                scene.gauge(second, SERVER, "tcp.open", 150);
                scene.counter(second, HOST, "netstat.TcpExt.ListenOverflows", 500);
            }),
        ),
        ("back-end", all_lossy("udp", &|scene, second| scene.gauge(second, SERVER, "recursing", 900))),
        (
            "back-end",
            with(Scene::over("udp"), &|scene| {
                scene.seconds[4].tally.rcodes.add(2, 300);
                scene.counter(4, SERVER, "responses.rcode.SERVFAIL", 300);
            }),
        ),
        (
            "cpu-one-thread",
            all_lossy("udp", &|scene, second| {
                scene.counter(second, PROCESS, "cpu_ns", 1_010_000_000);
                scene.counter(second, PROCESS, "thread.isc-net-0001/13.cpu_ns", 990_000_000);
                scene.counter(second, PROCESS, "udp.drops", 290);
                scene.counter(second, HOST, "snmp.Udp.RcvbufErrors", 290);
            }),
        ),
        (
            "cpu-all",
            all_lossy("udp", &|scene, second| {
                scene.counter(second, HOST, "cpu.idle_ns", 20_000_000);
                scene.counter(second, PROCESS, "cpu_ns", 3_800_000_000);
                scene.counter(second, PROCESS, "thread.isc-net-0000/12.cpu_ns", 1_900_000_000);
                scene.counter(second, PROCESS, "udp.drops", 290);
            }),
        ),
        ("conntrack", drops("udp", HOST, &["conntrack.drop"])),
        ("backlog", drops("udp", HOST, &["softnet.dropped"])),
        ("link", drops("udp", HOST, &["qdisc.eth0.drops", "snmp.Udp.SndbufErrors"])),
        (
            "link",
            all_lossy("tcp", &|scene, second| {
                scene.counter(second, HOST, "interface.eth0.tx_bytes", 124_000_000);
            }),
        ),
        ("fragments", drops("udp", GENERATOR_HOST, &["snmp.Ip.ReasmFails"])),
        (
            "closed-port",
            // The server ends, and does not come back.
            with(Scene::over("udp"), &|scene| {
                for second in 5..10 {
                    scene.lost(second, 400);
                    let ends = &mut scene.seconds[second].tally.ends;
                    (ends.refused, ends.timed_out) = (ends.timed_out, 0);
                }
            }),
        ),
        ("rate-limit", drops("udp", SERVER, &["dropped.rate-limit"])),
        (
            "rate-limit",
            // Of a server that was read before and after the load.
            with(all_lossy("udp", &|_, _| {}), &|scene| {
                scene.of_whole_run = Some((SERVER, "dropped.rate-limit", 2_400));
            }),
        ),
        ("rate-limit", all_limited(&|second| [480 + second % 7, 486 - second % 5])),
        // All that arrives is truncated: the half of it that does not is lost by something else.
        ("unexplained", all_limited(&|_| [500, 500])),
        // As many in all, but not in each second.
        ("unexplained", all_limited(&|second| if second < 5 { [600, 200] } else { [200, 600] })),
        (
            "udp-receive-queue-one-socket",
            with(drops("udp", PROCESS, &["udp.drops", "socket.udp.10.0.0.1:53/0.drops"]), &|scene| {
                scene.counter(4, PROCESS, "socket.udp.10.0.0.1:53/1.drops", 0);
                scene.counter(4, PROCESS, "socket.udp.127.0.0.1:53/0.drops", 0);
            }),
        ),
        (
            "udp-receive-queue",
            with(drops("udp", PROCESS, &["udp.drops"]), &|scene| {
                scene.counter(4, HOST, "snmp.Udp.RcvbufErrors", 400);
                scene.counter(4, PROCESS, "socket.udp.10.0.0.1:53/0.drops", 210);
                scene.counter(4, PROCESS, "socket.udp.10.0.0.1:53/1.drops", 190);
            }),
        ),
        ("udp-receive-queue", drops("udp", HOST, &["snmp.Udp.RcvbufErrors"])),
        ("udp-send-queue", drops("udp", HOST, &["snmp.Udp.SndbufErrors"])),
        (
            "accept-queue",
            drops("tcp", HOST, &["netstat.TcpExt.ListenOverflows", "netstat.TcpExt.ListenDrops"]),
        ),
        ("syn-queue", drops("tcp", HOST, &["netstat.TcpExt.TCPReqQFullDrop", "netstat.TcpExt.ListenDrops"])),
        ("tcp-memory", drops("tcp", HOST, &["netstat.TcpExt.TCPBacklogDrop"])),
        ("path-loss", drops("tcp", HOST, &["snmp.Tcp.RetransSegs"])),
        (
            "path-loss",
            with(Scene::over("udp"), &|scene| {
                scene.lost(4, 400);
                for second in 0..10 {
                    let arrived = if second == 4 { 600 } else { 1_000 };
                    scene.counter(second, HOST, "snmp.Udp.InDatagrams", arrived);
                    scene.counter(second, HOST, "snmp.Udp.OutDatagrams", arrived);
                }
            }),
        ),
    ]
}
