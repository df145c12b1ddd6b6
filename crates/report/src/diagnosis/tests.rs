//! Invented runs whose bottleneck is known: which rule finds it, and which stay silent.

use std::collections::BTreeMap;

use dnsdyno_measure::{ConnectFailure, NotSentReason, Samples, Side, Watched};

use super::*;
use crate::sample;

mod order;
mod places;
mod scene;
mod scenes;

use scene::{GENERATOR_HOST, HOST, PROCESS, SERVER, Scene, all_limited, drops};
use scenes::scenes;

#[test]
fn each_bottleneck_is_found_by_its_rule_and_by_no_other_one() {
    let mut wrong = Vec::new();
    for (expected, scene) in scenes() {
        let found = scene.diagnose();
        let rules: Vec<_> = found.findings.iter().map(|finding| finding.rule.as_str()).collect();
        let wanted: &[&str] = match expected {
            "healthy" | "unexplained" => &[],
            rule => &[rule],
        };
        if rules != wanted || (expected == "unexplained") != (found.unexplained > 0) {
            wrong.push(format!("{expected}: {rules:?}, {} unexplained\n{found:#?}", found.unexplained));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_has_a_run_that_it_is_found_in() {
    let known: Vec<_> = scenes().into_iter().map(|(rule, _)| rule).collect();
    for rule in rules() {
        assert!(known.contains(&rule.name.as_str()), "{}", rule.name);
    }
}

#[test]
fn the_sentence_of_a_finding_has_its_figures_and_the_parameters_their_values() {
    let mut scene = Scene::over("udp");
    scene.header.watched[SERVER].unset = vec!["udp-receive-buffer".into()];
    scene.lost(4, 765).lost(5, 235);
    scene.counter(5, PROCESS, "udp.drops", 1_000);
    scene.counter(5, HOST, "snmp.Udp.RcvbufErrors", 1_000);
    let found = scene.diagnose();
    let finding = &found.findings[0];
    assert_eq!(
        finding.sentence,
        "1,000 of the 1,000 unanswered queries were due in 2 seconds in which the UDP receive queue of named (4711) \
         overflowed, by 1,000 packets."
    );
    let values: BTreeMap<_, _> = finding
        .parameters
        .iter()
        .map(|parameter| (parameter.name.as_str(), parameter.value.as_str()))
        .collect();
    assert_eq!(values["net.core.rmem_max"], "212,992");
    assert_eq!(values["udp-receive-buffer"], "not set (default 0)");
    assert_eq!(values["net.core.rmem_default"], "not known");
    assert!(!values.contains_key("so-rcvbuf"));
    let series: Vec<_> = finding.evidence.iter().map(|evidence| evidence.series.as_str()).collect();
    assert_eq!(series, ["udp.drops", "snmp.Udp.RcvbufErrors"]);
    assert_eq!(
        found.verdict,
        "The server's UDP receive queue overflowed: this explains 1,000 of the 1,000 unanswered queries (100 %)."
    );
    assert_eq!((found.unexplained, finding.share), (0, 1.0));
}

#[test]
fn a_parameter_that_was_not_read_is_not_known_and_neither_is_its_default() {
    let values = |unset: &[&str]| {
        let mut scene = drops("tcp", HOST, &["netstat.TcpExt.TCPReqQFullDrop"]);
        scene.header.watched[SERVER].unset = unset.iter().map(|name| (*name).to_owned()).collect();
        let finding = scene.diagnose().findings.remove(0);
        let of = |name| {
            finding.parameters.iter().find(|parameter| parameter.name == name).map(|one| one.value.clone())
        };
        [of("tcp-listen-queue"), of("net.core.somaxconn")].map(Option::unwrap)
    };
    assert_eq!(values(&[]), ["not known", "not known"]);
    assert_eq!(values(&["tcp-listen-queue"]), ["not set (default 10)", "not known"]);
}

#[test]
fn a_limit_that_was_not_read_is_not_known_to_be_reached() {
    // BIND allows 150 connections where its configuration does not say it; here it may allow any number.
    let found = |set: &dyn Fn(&mut Watched)| {
        let mut scene = Scene::over("tcp");
        set(&mut scene.header.watched[SERVER]);
        for second in 2..10 {
            scene.lost(second, 300);
            scene.gauge(second, SERVER, "tcp.open", 150);
        }
        let findings = scene.diagnose().findings;
        findings.first().map(|finding| (finding.rule.clone(), finding.sentence.clone()))
    };
    let is_not_read = found(&|bind| drop(bind.settings.remove("tcp-clients")));
    assert_eq!(is_not_read, None);
    let is_higher = found(&|bind| drop(bind.settings.insert("tcp-clients".into(), "1000".into())));
    assert_eq!(is_higher, None);
    let (rule, sentence) = found(&|bind| {
        bind.settings.clear();
        bind.unset = vec!["tcp-clients".into()];
    })
    .unwrap();
    assert_eq!(rule, "server-tcp-limit");
    assert!(sentence.contains("had 150 of the 150 TCP connections that it may have"), "{sentence}");
}

#[test]
fn a_helper_is_no_bottleneck_of_the_server_and_its_parameters_are_not_told() {
    let mut scene = drops("udp", PROCESS, &["udp.drops"]);
    scene.header.watched[SERVER].side = Side::Other;
    scene.header.watched[SERVER].unset = vec!["udp-receive-buffer".into()];
    scene.counter(4, SERVER, "dropped.rate-limit", 400);
    let found = scene.diagnose();
    let rules: Vec<_> = found.findings.iter().map(|finding| finding.rule.as_str()).collect();
    assert_eq!(rules, ["udp-receive-queue"]);
    let of_bind = found.findings[0].parameters.iter().find(|one| one.name == "udp-receive-buffer").unwrap();
    assert_eq!((of_bind.of.as_str(), of_bind.value.as_str()), ("named (4711)", "not known"));
}

#[test]
fn a_cause_is_told_before_its_effect_also_where_the_effect_explains_more() {
    let mut scene = Scene::over("udp");
    for second in 2..10 {
        scene.lost(second, 300);
        scene.counter(second, PROCESS, "udp.drops", 300);
        // In most seconds some CPU time was left.
        scene.counter(second, HOST, "cpu.idle_ns", if second < 4 { 20_000_000 } else { 600_000_000 });
        scene.counter(second, PROCESS, "cpu_ns", 3_600_000_000);
    }
    let found = scene.diagnose();
    let explained: Vec<_> =
        found.findings.iter().map(|finding| (finding.rule.as_str(), finding.explains.unanswered)).collect();
    assert_eq!(explained, [("cpu-all", 600), ("udp-receive-queue", 1_800)]);
    assert!(found.verdict.starts_with("The CPUs of the server's host were used up"), "{}", found.verdict);
}

#[test]
fn a_rate_limit_that_the_server_does_not_tell_is_named_by_what_it_does() {
    let found = all_limited(&|_| [480, 490]).diagnose();
    assert_eq!(
        found.verdict,
        "The server answers as one that limits the rate of its responses: this explains 4,800 of the 4,800 unanswered \
         queries (100 %)."
    );
    assert_eq!(
        found.findings[0].sentence,
        "4,800 of the 4,800 unanswered queries were due in 10 seconds in which 4,900 truncated responses came, about \
         as many as there are queries without an answer: so it is where every second response above a limit is \
         truncated and the others are dropped (slip 2)."
    );
    let named: Vec<_> = found.findings[0].parameters.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(named, ["responses-per-second", "slip"]);
}

#[test]
fn the_text_fits_its_width_and_shows_no_control_character_of_a_server() {
    let mut scene = drops("udp", PROCESS, &["udp.drops"]);
    scene.header.watched[PROCESS].label = "named\x1b[2J (4711)".into();
    scene.header.watched[HOST].settings.insert("net.core.rmem_max".into(), "1\x1b]0;x".into());
    let found = scene.diagnose();
    let text = diagnosis_text(&found, 100);
    assert!(!text.contains('\x1b') && !diagnosis_json(&found).contains('\x1b'), "{text}");
    assert!(text.starts_with("The server's UDP receive queue overflowed"), "{text}");
    let expected = ["[udp-receive-queue]", "udp.drops", "net.core.rmem_max", "try: ", "then: "];
    expected.iter().for_each(|words| assert!(text.contains(words), "{words}: {text}"));
}

#[test]
fn a_long_run_is_diagnosed_from_joined_intervals() {
    let mut scene = Scene::over("udp");
    scene.lost(4, 400);
    scene.counter(4, PROCESS, "udp.drops", 400);
    let digest = scene.digest();
    let mut diagnoser = Diagnoser::new(&digest);
    scene.seconds.iter().for_each(|second| diagnoser.add(second));
    for index in 10..30_000 {
        diagnoser.add(&sample::second(index, 2, 0));
    }
    assert!(diagnoser.timeline.entries.len() <= 7_200);
    let found = diagnoser.finish();
    assert_eq!((found.findings[0].explains.unanswered, found.unexplained), (400, 0));
    assert!(found.findings[0].sentence.contains("in 1 interval in which"), "{}", found.findings[0].sentence);
}

#[test]
fn a_generator_in_doubt_is_said_first() {
    let mut digest = drops("udp", PROCESS, &["udp.drops"]).digest();
    if let Some(sum) = &mut digest.sum {
        sum.warnings = vec![dnsdyno_measure::Warning::CpuSaturated { share: 0.99 }];
    }
    let found = Diagnoser::new(&digest).finish();
    assert!(found.verdict.starts_with("Rate and loss are in doubt"), "{}", found.verdict);
    let text = diagnosis_text(&found, 200);
    assert!(text.starts_with("in doubt: CPU saturated"), "{text}");
    assert_eq!(text.matches("add --workers").count(), 1, "{text}");
}

#[test]
fn what_is_known_of_the_run_only_explains_all_that_it_counts() {
    let mut scene = Scene::over("udp");
    (2..10).for_each(|second| _ = scene.lost(second, 300));
    scene.of_whole_run = Some((SERVER, "dropped.rate-limit", 2_400));
    let found = scene.diagnose();
    assert_eq!((found.findings[0].explains.unanswered, found.unexplained), (2_400, 0), "{found:#?}");
}

#[test]
fn nothing_to_explain_is_not_said_of_what_is_not_known() {
    let verdict = |change: &dyn Fn(&mut Scene)| {
        let mut scene = Scene::over("udp");
        change(&mut scene);
        scene.diagnose().verdict
    };
    assert!(verdict(&|_| {}).ends_with("there is nothing to explain."));
    let send_only = verdict(&|scene| scene.header.send_only = true);
    assert!(send_only.contains("No response was awaited"), "{send_only}");
    let refused = verdict(&|scene| {
        let tallies = scene.seconds.iter_mut().map(|second| &mut second.tally);
        tallies.for_each(|tally| {
            tally.rcodes = Default::default();
            tally.rcodes.add(5, tally.ends.answered);
        });
    });
    assert!(refused.contains("every response was REFUSED"), "{refused}");
    let nothing = verdict(&|scene| scene.seconds.clear());
    assert!(nothing.starts_with("No query has ended"), "{nothing}");
}
