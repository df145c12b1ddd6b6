//! Pictures of runs of all kinds at several sizes, and the figures on them.

use dnsdyno_measure::{Arrivals, MemberTally};
use dnsdyno_record::{AgentInfo, Header, Interval, MemberInfo};
use proptest::prelude::*;
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;

use super::*;
use crate::palette::Depth;
use crate::sample::{self, SECOND};
use crate::state::State;

/// The lines of a picture.
fn lines(state: &State, width: u16, height: u16, options: Options, depth: Depth) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let view = state.view(0, columns(width), options.is_whole);
    let palette = Palette::new(depth);
    terminal.draw(|frame| draw(&view, options, &palette, frame.buffer_mut())).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(line).collect()
}

/// A picture without colours.
fn picture(state: &State, width: u16, height: u16) -> String {
    lines(state, width, height, Options::default(), Depth::None).join("\n")
}

#[track_caller]
fn shows(picture: &str, words: &[&str]) {
    words.iter().for_each(|word| assert!(picture.contains(word), "no {word:?} in\n{picture}"));
}

#[test]
fn a_picture_has_the_figures_of_the_intervals() {
    let state = sample::running(&sample::header(), Some(40 * SECOND), 23);
    let shown = picture(&state, 100, 24);
    shows(
        &shown,
        &[
            "nightly   192.0.2.53:53 udp   stair from",
            "00:00:23 / 00:00:40",
            "step 3 of 4: 4,000 q/s",
            "17 s left",
            "asked 2,000/s   sent 2,000/s   answered 2,000/s   loss 0.20 %",
            "p50 514 µs   p99 20.0 ms   p99.9 >5 s   max >5 s",
            "response time, 10 s",
            "NOERROR 95.00 %   NXDOMAIN 5.00 %",
            "timed out 120",
            "busiest of 2 workers 31 %   lateness p99 42.0 µs   drops 0",
        ],
    );
}

#[test]
fn a_picture_says_which_agent_is_missing_and_has_no_rate_then() {
    let agents = ["lg1", "lg2"].map(|name| AgentInfo { name: name.into(), ..AgentInfo::default() });
    let header = Header { agents: agents.into(), ..sample::header() };
    let mut state = sample::running(&header, Some(40 * SECOND), 22);
    let part = || Some(MemberTally::default());
    let interval = |agents| Interval { agents, ..sample::settled(22, 2_000, 0, 0) };
    state.settled(&interval(vec![part(), None]));
    shows(
        &picture(&state, 100, 24),
        &["partial: lg2 is missing; 18 s left", "asked partial   sent partial   answered partial"],
    );
    shows(&picture(&state, 40, 6), &["partial: lg2 is missing", "asked partial  sent partial"]);
    state.settled(&interval(vec![part(), part()]));
    let whole = picture(&state, 100, 24);
    assert!(!whole.contains("partial"), "{whole}");
}

#[test]
fn each_second_has_its_place_on_the_axis_of_a_short_run() {
    let state = sample::running(&sample::header(), Some(40 * SECOND), 23);
    let shown = lines(&state, 80, 24, Options::default(), Depth::None);
    let axis = shown.iter().find(|line| line.contains("└")).unwrap();
    assert!(axis.contains("└0 s ──") && axis.ends_with("40 s"), "{axis}");
    // Seconds 3, 10 and 17 lost queries; the 40 seconds share 67 columns.
    let lost = shown.iter().find(|line| line.contains("no answer")).unwrap();
    let marks: Vec<usize> =
        lost.chars().skip(1 + 11).enumerate().filter(|(_, c)| *c == '▁').map(|(x, _)| x).collect();
    assert_eq!(marks, [5, 16, 17, 28, 29]);
}

#[test]
fn a_long_run_shows_its_last_seconds_and_on_request_all_of_it() {
    let state = sample::running(&sample::header(), None, 500);
    let last = picture(&state, 80, 24);
    shows(&last, &["1", "ago", "now", "until it is ended"]);
    let whole = Options { is_whole: true, ..Options::default() };
    let whole = lines(&state, 80, 24, whole, Depth::None).join("\n");
    shows(&whole, &["8 s a column", "last seconds"]);
}

#[test]
fn a_closed_loop_asks_for_nothing_and_a_send_only_run_has_no_latency() {
    let runs = sample::runs();
    let of = |name: &str| picture(&runs.iter().find(|(known, _)| *known == name).unwrap().1, 80, 24);
    let closed = of("closed");
    assert!(!closed.contains("asked") && closed.contains("service time"), "{closed}");
    let send_only = of("send-only");
    assert!(!send_only.contains("p50") && !send_only.contains("answered"), "{send_only}");
    shows(&send_only, &["sent 2,000/s", "lateness p99"]);
    shows(&of("tcp"), &["connections   open 10   established 3.00/s"]);
}

#[test]
fn a_tall_terminal_has_the_transports_of_a_mix_and_the_workers() {
    let runs = sample::runs();
    let mix = &runs.iter().find(|(name, _)| *name == "mix").unwrap().1;
    let shown = picture(mix, 120, 40);
    shows(&shown, &["udp        asked     1,000/s", "dot  ", "worker 0   31 %", "worker 1   28 %"]);
    assert!(!picture(mix, 80, 24).contains("worker 0"));
}

#[test]
fn more_servers_than_there_are_lines_are_counted() {
    let member = |number: u8| {
        let mut member = MemberInfo::new("udp", 0.1, ([192, 0, 2, number], 53).into());
        member.name = member.server.clone();
        member
    };
    let servers = Header { mix: (0..10).map(member).collect(), phases: Vec::new(), ..sample::header() };
    let shown = picture(&sample::running(&servers, None, 20), 120, 40);
    shows(
        &shown,
        &["192.0.2.0   asked     1,000/s", "192.0.2.6   asked", "and 3 more, which the summary has"],
    );
    assert!(!shown.contains("192.0.2.7"), "{shown}");
}

#[test]
fn a_run_without_an_interval_is_an_empty_picture() {
    let runs = sample::runs();
    let empty = &runs.iter().find(|(name, _)| *name == "empty").unwrap().1;
    let shown = picture(empty, 80, 24);
    shows(&shown, &["asked 0/s", "p50 -", "responses -", "no losses", "generator: no verdict yet"]);
}

#[test]
fn a_small_terminal_has_the_figures_alone() {
    let state = sample::running(&sample::header(), Some(40 * SECOND), 23);
    let shown = picture(&state, 40, 10);
    shows(&shown, &["23 s  17 s left", "asked 2,000  sent 2,000  answered 2,000", "p50 514 µs", "no losses"]);
    assert!(!shown.contains('┤'));
    let tiny = picture(&state, 24, 3);
    shows(&tiny, &["23 s  17 s left"]);
}

#[test]
fn the_smallest_terminal_with_charts_has_a_heat_map() {
    let state = sample::running(&sample::header(), Some(40 * SECOND), 23);
    let shown = picture(&state, 60, 16);
    shows(&shown, &["no answer", "10 ms ┤", "100 µs ┤", "generator:", "q ends"]);
}

#[test]
fn a_generator_in_doubt_says_why_with_a_sign() {
    let runs = sample::runs();
    let hostile = &runs.iter().find(|(name, _)| *name == "hostile").unwrap().1;
    shows(&picture(hostile, 120, 40), &["generator: ! socket drops", "stopping: x\\u{1b}"]);
}

#[test]
fn text_of_a_run_cannot_act_on_the_terminal_at_any_size() {
    for (name, state) in sample::runs() {
        for (width, height) in [(80, 24), (60, 16), (40, 10), (120, 40), (200, 60)] {
            for depth in [Depth::None, Depth::Sixteen, Depth::Indexed, Depth::Full] {
                let shown = lines(&state, width, height, Options::default(), depth).concat();
                let acts = shown.chars().find(|c| dnsdyno_text::acts_on_a_terminal(*c));
                assert_eq!(acts, None, "{name} at {width}×{height}");
            }
        }
    }
}

#[test]
fn two_latencies_share_a_cell_where_there_are_colours() {
    let state = sample::running(&sample::header(), Some(40 * SECOND), 23);
    let shown = lines(&state, 80, 24, Options::default(), Depth::Full).concat();
    assert!(shown.contains('▀') || shown.contains('▄'));
    let plain = lines(&state, 80, 24, Options::default(), Depth::Sixteen).concat();
    assert!(plain.contains('█') && plain.contains('▒') && !plain.contains('▀'), "{plain}");
}

#[test]
fn the_help_and_the_pause_are_shown() {
    let state = sample::running(&sample::header(), None, 3);
    let options = Options { has_help: true, is_paused: true, ..Options::default() };
    let shown = lines(&state, 120, 24, options, Depth::None).join("\n");
    shows(&shown, &["pauses the picture", "the picture is paused, the run is not"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_size_and_no_count_is_too_small_or_too_large(
        width in 0..300_u16,
        height in 0..300_u16,
        flags in 0..8_u8,
        sent in prop_oneof![Just(0_u64), 1..50_u64, Just(u64::MAX / 4)],
        lost in prop_oneof![Just(0_u64), Just(7_u64), Just(u64::MAX / 8)],
        asked_qps in prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(-1.0), 0.0..1e12],
        latency_ns in any::<u64>(),
    ) {
        let is = |flag: u8| flags & flag > 0;
        let options = Options { is_paused: is(1), is_whole: is(2), has_help: is(4) };
        for (_, mut state) in sample::runs() {
            let mut arrivals = Arrivals { sent, answered: sent, timed_out: lost, ..Arrivals::default() };
            arrivals.latency.record(latency_ns);
            let (to_ns, covered_ns, arrivals) = (701 * SECOND, SECOND, &arrivals);
            let live = dnsdyno_runner::Live { index: 700, to_ns, covered_ns, asked_qps, arrivals };
            state.passed(&live);
            lines(&state, width, height, options, Depth::Full);
            lines(&state, width, height, options, Depth::None);
        }
    }
}
