//! Transactions retried over TCP, and the members of a mix: sections of the summary of runs that have any.

use dnsdyno_measure::{Fallback, Half, Latency, MemberTally, Tally, Truncated, TruncatedQuestion};
use dnsdyno_record::{Digest, Headline, MemberInfo, MembersBy};
use dnsdyno_text::layout::{NOTHING, Table, flow, paragraph};
use dnsdyno_text::safe;
use dnsdyno_text::units::{count, counted, percent, rate};
use serde_json::{Map, Value, json};

use crate::connections::figures;
use crate::figures::{run_rate, share};
use crate::objects::{self, counters};
use crate::quantile::quantile;

/// Writes how many transactions were retried, the parts of their time, and where they failed.
pub(crate) fn write(out: &mut String, digest: &Digest, width: usize) {
    let tally = digest.tally();
    let Some(fallback) = &tally.fallback else { return };
    let of_all = fallback.udp_requests;
    let head = match share(fallback.started, of_all) {
        Some(part) => format!(
            "fallback: {} of {} retried over TCP ({})",
            count(fallback.started),
            counted(of_all, "transaction", "transactions"),
            percent(part)
        ),
        None => "fallback: nothing was sent over UDP".to_owned(),
    };
    let counts = [
        head,
        format!("answered {}", count(fallback.answered)),
        format!("requests over UDP {}", count(fallback.udp_requests)),
        format!("over TCP {}", count(fallback.tcp_requests)),
    ];
    out.push('\n');
    flow(out, counts, "   ", 0, 2, width);
    for (name, histogram) in [
        ("UDP, to the truncated response:", &fallback.udp),
        ("waiting for a client:", &fallback.waiting),
        ("connect:", &fallback.connect),
        ("TCP query, once connected:", &fallback.query),
    ] {
        if let Some(figures) = figures(histogram) {
            flow(out, [name.to_owned()].into_iter().chain(figures), "   ", 2, 4, width);
        }
    }
    for (half, name) in [(Half::Udp, "failed over UDP:"), (Half::Tcp, "failed over TCP:")] {
        let seen = fallback.failures_of(half).filter(|(_, n)| *n > 0);
        let counts: Vec<_> = seen.map(|(why, n)| format!("{} {}", why.words(), count(n))).collect();
        if !counts.is_empty() {
            flow(out, [name.to_owned()].into_iter().chain(counts), "   ", 2, 4, width);
        }
    }
    let truncated = digest.sum.as_ref().and_then(|sum| sum.truncated.as_ref());
    if let Some(truncated) = truncated.filter(|truncated| truncated.total() > 0) {
        write_questions(out, truncated, width);
    }
}

/// Writes the questions that have fallen back most often.
fn write_questions(out: &mut String, truncated: &Truncated, width: usize) {
    questions_table(truncated, MOST_SHOWN).write(out, width);
    let listed = truncated.questions.iter().take(MOST_SHOWN).map(|one| one.count).sum();
    let others = truncated.total().saturating_sub(listed);
    if others > 0 {
        let mut more = format!("{} to other questions", counted(others, "response", "responses"));
        if truncated.not_told_apart > 0 {
            let n = count(truncated.not_told_apart);
            more.push_str(&format!("; {n} of them to more questions than are told apart"));
        }
        paragraph(out, &more, 2, 4, width);
    }
}

/// The questions that have fallen back, the most frequent first; `None` where none has.
pub(crate) fn truncated_table(digest: &Digest) -> Option<Table> {
    let truncated = digest.sum.as_ref()?.truncated.as_ref()?;
    Some(questions_table(truncated, usize::MAX))
}

fn questions_table(truncated: &Truncated, most: usize) -> Table {
    let total = truncated.total();
    let cells = |cell: &dyn Fn(&TruncatedQuestion) -> String| -> Vec<String> {
        truncated.questions.iter().take(most).map(cell).collect()
    };
    let mut table = Table::default();
    table.left("fell back to TCP", 0, cells(&|one| format!("{} {}", safe(&one.name), safe(&one.rtype))));
    table.right("responses", 0, cells(&|one| count(one.count)));
    table.right("of all", 0, cells(&|one| of(one.count, total)));
    table
}

/// Questions in the summary; the record and its JSON have a hundred.
const MOST_SHOWN: usize = 10;

/// Writes a line for each member of a mix.
pub(crate) fn write_mix(out: &mut String, digest: &Digest, width: usize) {
    if let Some(table) = mix_table(digest) {
        out.push('\n');
        table.write(out, width);
    }
}

/// The members of a mix; `None` without one.
pub(crate) fn mix_table(digest: &Digest) -> Option<Table> {
    let mix: Vec<_> = members(digest).collect();
    if mix.is_empty() {
        return None;
    }
    let (tally, timeout_ns) = (digest.tally(), digest.header.timeout_ns);
    let column = |cell: &dyn Fn(&MemberInfo, &MemberTally) -> String| -> Vec<String> {
        mix.iter().map(|(info, member)| cell(info, member)).collect()
    };
    let at = |q: f64| {
        column(&|_, member| quantile(latency(digest.header.headline, member).percentile(q), timeout_ns))
    };
    let mut table = Table::default();
    let by = digest.header.members_by().map_or("mix", MembersBy::word);
    table.left(by, 0, column(&|info, _| safe(info.label())));
    table.right("share", 3, column(&|info, _| percent(info.share)));
    table.right("sent", 0, column(&|_, member| of(member.sent, sent(tally))));
    table.right("queries", 0, column(&|_, member| count(member.scheduled)));
    table.right("answered", 4, column(&|_, member| count(member.ends.answered)));
    let per_second = |n| run_rate(digest, n).map_or(NOTHING.to_owned(), rate);
    table.right("answered/s", 5, column(&|_, member| per_second(member.ends.answered)));
    table.right("lost", 2, column(&|_, member| of(member.ends.lost(), member.ends.judged())));
    table.right("p50", 1, at(0.5));
    table.right("p99", 0, at(0.99));
    Some(table)
}

/// Both sections as JSON; null where the run has none.
pub(crate) fn as_json(digest: &Digest) -> (Value, Value) {
    let fallback = digest.tally().fallback.as_deref().map_or(Value::Null, fallback_json);
    let member = |(info, member): (&MemberInfo, &MemberTally)| {
        let mut object = json!({
            "name": info.label(),
            "transport": info.transport,
            "server": info.server,
            "address": info.address,
            "share_asked": info.share,
            "share_sent": share(member.sent, sent(digest.tally())),
            "loss_share": share(member.ends.lost(), member.ends.judged()),
            "response": objects::latency(member.response_latency(), digest.header.timeout_ns),
            "service": objects::latency(member.service_latency(), digest.header.timeout_ns),
        });
        if let Value::Object(object) = &mut object {
            object.extend(counters(member).into_iter().filter(|(_, value)| value.is_u64()));
            object.extend(objects::ends(&member.ends));
        }
        object
    };
    let mix: Vec<_> = members(digest).map(member).collect();
    (fallback, if mix.is_empty() { Value::Null } else { mix.into() })
}

fn fallback_json(fallback: &Fallback) -> Value {
    let mut object = counters(fallback);
    object.remove("failed");
    for (key, half) in [("udp_failed", Half::Udp), ("tcp_failed", Half::Tcp)] {
        let failed = fallback
            .failures_of(half)
            .map(|(why, n)| (why.key().trim_start_matches("udp_").to_owned(), n.into()));
        object.insert(key.to_owned(), failed.collect::<Map<_, _>>().into());
    }
    object.insert("share".to_owned(), share(fallback.started, fallback.udp_requests).into());
    object.into()
}

/// The members of the mix with their tallies.
fn members(digest: &Digest) -> impl Iterator<Item = (&MemberInfo, &MemberTally)> {
    digest.header.mix.iter().zip(&digest.tally().members)
}

fn latency(which: Headline, member: &MemberTally) -> Latency<'_> {
    match which {
        Headline::Response => member.response_latency(),
        Headline::Service => member.service_latency(),
    }
}

fn sent(tally: &Tally) -> u64 {
    tally.members.iter().map(|member| member.sent).sum()
}

fn of(part: u64, whole: u64) -> String {
    share(part, whole).map_or(NOTHING.to_owned(), percent)
}

#[cfg(test)]
mod tests {
    use dnsdyno_measure::{Truncated, TruncatedQuestion};

    use crate::{sample, summary, summary_json};

    #[test]
    fn the_questions_that_fell_back_most_often_are_named() {
        let mut digest = sample::falling_back();
        if digest.sum.is_none() {
            digest.sum(&sample::calm_sum(&digest));
        }
        let question = |n: u64| TruncatedQuestion {
            name: format!("tac{n}.example"),
            rtype: "NAPTR".to_owned(),
            count: 100 - n,
        };
        let truncated = Truncated::of((0..12).map(question), 7);
        digest.sum.as_mut().unwrap().truncated = Some(truncated);
        let text = summary(&digest, 100);
        let line = |start: &str| text.lines().find(|line| line.trim_start().starts_with(start));
        assert!(line("tac0.example NAPTR").is_some_and(|line| line.contains("100")), "{text}");
        assert!(line("tac9.example NAPTR").is_some() && line("tac10.example").is_none(), "{text}");
        let others = "186 responses to other questions; 7 of them to more questions than are told apart";
        assert_eq!(line("186 responses").map(str::trim), Some(others), "{text}");
        let json = summary_json(&digest);
        assert_eq!(json["truncated"]["questions"].as_array().map(Vec::len), Some(12));
        assert_eq!(
            (&json["truncated"]["others"], &json["truncated"]["not_told_apart"]),
            (&7.into(), &7.into())
        );
    }

    #[test]
    fn a_run_with_fallback_reports_retries_times_and_failures() {
        let digest = sample::falling_back();
        let text = summary(&digest, 100);
        let shown = "
fallback: 500 of 2,000 transactions retried over TCP (25.00 %)   answered 490
  requests over UDP 2,000   over TCP 505
  UDP, to the truncated response:   p50 400 µs   max 400 µs
  waiting for a client:   p50 20.0 µs   max 20.0 µs
  connect:   p50 35.0 µs   max 35.0 µs
  TCP query, once connected:   p50 2.00 ms   max 2.00 ms
  failed over UDP:   timed out 3
  failed over TCP:   connect refused 8   query timed out 2
";
        assert!(text.contains(shown), "{text}");
        assert!(text.contains("40 clients and 2 UDP sockets"), "{text}");
        let json = summary_json(&digest);
        assert_eq!((&json["fallback"]["share"], &json["fallback"]["answered"]), (&0.25.into(), &490.into()));
        assert_eq!(json["fallback"]["tcp_failed"]["connect_refused"], 8);
        assert_eq!(json["fallback"]["udp_failed"]["timed_out"], 3);
        assert_eq!(json["fallback"]["connect"]["max"]["ns"], 35_000);
        assert!(json["mix"].is_null());
    }

    #[test]
    fn a_mix_has_a_line_for_each_member() {
        let digest = sample::mixed();
        let text = summary(&digest, 100);
        assert!(text.contains("over udp, tcp"), "{text}");
        let shown = "
  transport    share     sent  queries  answered  answered/s    lost      p50     p99
  udp        75.00 %  74.95 %    1,499     1,499       1,499     0 %   500 µs  500 µs
  tcp        25.00 %  25.05 %      501       491         491  2.00 %  1.00 ms       -
";
        assert!(text.contains(shown), "{text}");
        let json = summary_json(&digest);
        assert_eq!((&json["mix"][1]["transport"], &json["mix"][1]["timed_out"]), (&"tcp".into(), &10.into()));
        assert_eq!(json["mix"][0]["share_asked"], 0.75);
        assert_eq!(json["mix"][1]["response"]["max"]["beyond_timeout"], true);
        assert!(json["fallback"].is_null());
    }

    #[test]
    fn several_servers_are_named_with_their_figures() {
        let mut digest = sample::mixed();
        digest.header.transport = "udp".into();
        for (number, member) in digest.header.mix.iter_mut().enumerate() {
            member.transport = "udp".into();
            member.server = format!("ns{number}.test");
            (member.name, member.address) = (member.server.clone(), ([192, 0, 2, number as u8], 53).into());
        }
        let text = summary(&digest, 100);
        assert!(text.contains("ns0.test (192.0.2.0:53), ns1.test (192.0.2.1:53) over udp\n"), "{text}");
        assert!(text.contains("  server      share") && text.contains("  ns1.test  25.00 %"), "{text}");
        let json = summary_json(&digest);
        assert_eq!(
            (&json["mix"][1]["server"], &json["mix"][1]["name"]),
            (&"ns1.test".into(), &"ns1.test".into())
        );
        let one = digest.header.mix[0].clone();
        digest.header.mix = vec![one; 7];
        assert!(summary(&digest, 100).contains("\n  member "));
        for (number, member) in digest.header.mix.iter_mut().enumerate() {
            member.address.set_port(number as u16);
        }
        assert!(
            summary(&digest, 200).contains("(192.0.2.0:3) and 3 more over udp"),
            "{}",
            summary(&digest, 200)
        );
    }

    #[test]
    fn a_run_over_udp_alone_has_neither_section() {
        let text = summary(&sample::stair(), 80);
        assert!(!text.contains("fallback") && !text.contains("mix"), "{text}");
    }
}
