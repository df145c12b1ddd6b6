//! Causes are told before what they cause.

use super::*;

#[test]
fn a_late_generator_loses_no_query_and_its_buffers_are_not_named() {
    let mut scene = Scene::over("udp");
    for second in [4, 5] {
        scene.lost(second, 400);
        scene.counter(second, PROCESS, "udp.drops", 400);
        scene.slow(second);
        (0..200).for_each(|_| scene.seconds[second].tally.lateness.record(200_000_000));
    }
    let found = scene.diagnose();
    let explained: Vec<_> = found
        .findings
        .iter()
        .map(|finding| (finding.rule.as_str(), finding.explains.unanswered, finding.explains.slow_intervals))
        .collect();
    assert_eq!(explained, [("generator", 0, 2), ("udp-receive-queue", 800, 0)]);
    assert_eq!(found.findings[0].parameters, []);
    let text = diagnosis_text(&found, 80);
    assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{text}");
}
