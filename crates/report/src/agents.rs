//! The agents of a run that several hosts or processes have made: who has sent what, how late, and who is missing.

use dnsdyno_measure::{Latency, MemberTally, Warning};
use dnsdyno_record::{AgentEnd, AgentInfo, Digest, Headline};
use dnsdyno_text::layout::{NOTHING, Table, paragraph};
use dnsdyno_text::safe;
use dnsdyno_text::units::{count, counted, duration, percent};
use serde_json::{Value, json};

use crate::figures::share;
use crate::objects::{self, counters};
use crate::quantile::quantile;

/// Writes a line for each agent, and what there is to know of them.
pub(crate) fn write(out: &mut String, digest: &Digest, width: usize) {
    if let Some(table) = table(digest) {
        out.push('\n');
        table.write(out, width);
        let sentences = start(digest).into_iter().chain(missing(digest)).chain(doubts(digest));
        sentences.for_each(|text| paragraph(out, &text, 2, 4, width));
    }
}

/// The agents; `None` of a run without any.
pub(crate) fn table(digest: &Digest) -> Option<Table> {
    let agents: Vec<Agent<'_>> = agents(digest).collect();
    if agents.is_empty() {
        return None;
    }
    let headline = digest.header.headline;
    let column = |cell: &dyn Fn(&Agent<'_>) -> String| agents.iter().map(cell).collect::<Vec<_>>();
    let of = |part, whole| share(part, whole).map_or(NOTHING.to_owned(), percent);
    let at = |q: f64| {
        column(&|one| quantile(latency(headline, one.tally).percentile(q), digest.header.timeout_ns))
    };
    let all: u32 = agents.iter().map(|one| one.info.workers).sum();
    let mut table = Table::default();
    table.left("agent", 0, column(&|one| safe(&one.info.name)));
    table.right("workers", 5, column(&|one| count(one.info.workers.into())));
    table.right("share", 4, column(&|one| of(one.info.workers.into(), all.into())));
    table.right("queries", 0, column(&|one| count(one.tally.scheduled)));
    if !digest.header.send_only {
        table.right("answered", 1, column(&|one| of(one.tally.ends.answered, one.tally.ends.judged())));
        table.right("lost", 0, column(&|one| count(one.tally.ends.lost())));
        table.right("p50", 3, at(0.5));
        table.right("p99", 0, at(0.99));
    }
    let late = |one: &Agent<'_>| one.end.and_then(|end| end.first_send_late_ns);
    table.right("start late", 2, column(&|one| late(one).map_or(NOTHING.to_owned(), duration)));
    let clock = |one: &Agent<'_>| one.info.clock.map(|clock| format!("± {}", duration(clock.bound_ns)));
    table.right("clock", 6, column(&|one| clock(one).unwrap_or(NOTHING.to_owned())));
    Some(table)
}

/// Who of the agents is missing, why, and in how many intervals.
pub(crate) fn missing(digest: &Digest) -> Vec<String> {
    let mut sentences = Vec::new();
    for Agent { info, end, .. } in agents(digest) {
        let Some(end) = end else { continue };
        let name = safe(&info.name);
        let missing = (end.missing_intervals > 0)
            .then(|| counted(end.missing_intervals, "interval lacks", "intervals lack"))
            .map(|intervals| format!("{intervals} its part"));
        match (&end.lost, missing) {
            (Some(why), Some(missing)) => {
                sentences.push(format!("{name} was lost: {}; {missing}", safe(why)))
            }
            (Some(why), None) => {
                sentences.push(format!("{name} was lost: {}; no interval lacks its part", safe(why)))
            }
            (None, Some(missing)) => sentences.push(format!("{name}: {missing}")),
            (None, None) => {}
        }
    }
    sentences
}

/// What the agents doubt of their own figures.
pub(crate) fn doubts(digest: &Digest) -> Vec<String> {
    let of_agent = |Agent { info, end, .. }: Agent<'_>| {
        let warnings = end.map_or(&[][..], |end| &end.warnings);
        warnings
            .iter()
            .map(|warning| format!("{}: {}", safe(&info.name), safe(&warning.to_string())))
            .collect::<Vec<_>>()
    };
    agents(digest).flat_map(of_agent).collect()
}

/// `starts within 200 µs ± 50.0 µs`
pub(crate) fn start(digest: &Digest) -> Option<String> {
    let ends = &digest.sum.as_ref()?.agents;
    let (spread_ns, bound_ns) = AgentEnd::start_spread_ns(&digest.header.agents, ends)?;
    let spread = duration(spread_ns);
    Some(match bound_ns {
        Some(bound_ns) => format!("starts within {spread} ± {}", duration(bound_ns)),
        None => format!("starts within {spread} by the clocks of the hosts, which were not compared"),
    })
}

/// The agents with their ends as one object each; null without any.
pub(crate) fn as_json(digest: &Digest) -> Value {
    let timeout_ns = digest.header.timeout_ns;
    let one = |Agent { info, tally, end }: Agent<'_>| {
        let warning = |warning: &Warning| json!({ "name": warning.name(), "text": warning.to_string() });
        let mut object = json!({
            "name": info.name,
            "host": info.host,
            "version": info.version,
            "kernel": info.kernel,
            "cpus": info.cpus,
            "workers": info.workers,
            "first_worker": info.first_worker,
            "clock_offset_ns": info.clock.map(|clock| clock.offset_ns),
            "clock_bound_ns": info.clock.map(|clock| clock.bound_ns),
            "clock_offset_after_ns": end.and_then(|end| end.clock).map(|clock| clock.offset_ns),
            "first_send_late_ns": end.and_then(|end| end.first_send_late_ns),
            "lost": end.and_then(|end| end.lost.as_ref()),
            "missing_intervals": end.map(|end| end.missing_intervals),
            "warnings": end.map_or(&[][..], |end| &end.warnings).iter().map(warning).collect::<Vec<_>>(),
            "loss_share": share(tally.ends.lost(), tally.ends.judged()),
            "response": objects::latency(tally.response_latency(), timeout_ns),
            "service": objects::latency(tally.service_latency(), timeout_ns),
        });
        if let Value::Object(object) = &mut object {
            object.extend(counters(tally).into_iter().filter(|(_, value)| value.is_u64()));
            object.extend(objects::ends(&tally.ends));
        }
        object
    };
    let all: Vec<Value> = agents(digest).map(one).collect();
    if all.is_empty() { Value::Null } else { all.into() }
}

/// How far apart the agents have started, and how wrong that can be; null where it is not known.
pub(crate) fn start_json(digest: &Digest) -> Value {
    let ends = digest.sum.as_ref().map_or(&[][..], |sum| &sum.agents);
    AgentEnd::start_spread_ns(&digest.header.agents, ends)
        .map_or(Value::Null, |(spread_ns, bound_ns)| json!({ "spread_ns": spread_ns, "bound_ns": bound_ns }))
}

/// An agent with its queries, and its end where there is one.
struct Agent<'a> {
    info: &'a AgentInfo,
    tally: &'a MemberTally,
    end: Option<&'a AgentEnd>,
}

fn agents(digest: &Digest) -> impl Iterator<Item = Agent<'_>> {
    let ends = digest.sum.as_ref().map_or(&[][..], |sum| &sum.agents);
    let both = digest.header.agents.iter().zip(digest.agents()).enumerate();
    both.map(|(number, (info, tally))| Agent { info, tally, end: ends.get(number) })
}

fn latency(which: Headline, agent: &MemberTally) -> Latency<'_> {
    match which {
        Headline::Response => agent.response_latency(),
        Headline::Service => agent.service_latency(),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Csv, answer, sample, summary, summary_json};

    #[test]
    fn each_agent_has_a_line_and_the_starts_a_sentence() {
        let text = summary(&sample::agents(&[]), 120);
        let shown = "
  agent  workers    share  queries  answered  lost     p50      p99  start late      clock
  lg1          2  66.67 %    6,000   99.67 %    20  510 µs  40.0 ms     30.0 µs  ± 20.0 µs
  lg2          1  33.33 %    3,000     100 %     0  510 µs   610 µs      230 µs  ± 30.0 µs
  starts within 200 µs ± 50.0 µs
";
        assert!(text.contains(shown), "{text}");
        assert!(!text.contains("partial"), "{text}");
        let json = summary_json(&sample::agents(&[]));
        assert_eq!(
            (&json["agents"][1]["name"], &json["agents"][1]["scheduled"]),
            (&"lg2".into(), &3_000.into())
        );
        assert_eq!(json["agents"][0]["clock_bound_ns"], 20_000);
        assert_eq!(
            (&json["start"]["spread_ns"], &json["start"]["bound_ns"]),
            (&200_000.into(), &50_000.into())
        );
        assert_eq!((&json["partial_intervals"], &json["answered_qps"].is_f64()), (&0.into(), &true));
    }

    #[test]
    fn no_rate_is_made_from_an_interval_that_lacks_an_agent() {
        let digest = sample::agents(&[1]);
        let text = summary(&digest, 120);
        assert!(text.contains("lg2 was lost: no message for 5 s; 1 interval lacks its part\n"), "{text}");
        assert!(text.contains("  partial     partial"), "the row of the second interval: {text}");
        assert!(
            text.contains("rate: none, because 1 interval lacks the part of an agent; loss of"),
            "{text}"
        );
        assert!(text.contains("in doubt"), "{text}");
        let answer = answer(&digest);
        assert!(
            answer.sentence.contains("1 interval lacks the part of an agent, so there is no rate"),
            "{answer:?}"
        );
        assert!(answer.figures.iter().all(|figure| figure.unit != "queries/s"), "{answer:?}");
        let json = summary_json(&digest);
        assert!(json["answered_qps"].is_null() && json["sent_qps"].is_null(), "{json:#}");
        assert!(json["rows"][1]["answered_qps"].is_null() && json["rows"][1]["asked_qps"].is_null());
        assert!(json["rows"][0]["answered_qps"].is_f64());
        assert_eq!(
            (&json["rows"][1]["partial_intervals"], &json["agents"][1]["lost"]),
            (&1.into(), &"no message for 5 s".into())
        );
    }

    #[test]
    fn a_line_of_csv_says_that_it_is_partial_and_has_no_rate() {
        let digest = sample::agents(&[1]);
        let mut out = Vec::new();
        let mut csv = Csv::new(&mut out).unwrap();
        digest.rows().iter().for_each(|row| csv.row(&digest, row).unwrap());
        csv.finish().unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
        assert_eq!(lines[0].last(), Some(&"partial"));
        let rates = |line: &[&str]| (line[5].to_owned(), line[6].to_owned(), line[7].to_owned());
        let none = || (String::new(), String::new(), String::new());
        assert_ne!(rates(&lines[1]), none(), "{text}");
        assert_eq!((rates(&lines[2]), lines[2].last()), (none(), Some(&"1")), "{text}");
    }

    #[test]
    fn a_run_of_one_process_has_no_agents() {
        assert!(!summary(&sample::stair(), 80).contains("agent"));
        assert!(summary_json(&sample::stair())["agents"].is_null());
    }
}
