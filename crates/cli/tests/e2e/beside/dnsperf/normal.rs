//! Replaces in the output of dnsperf what differs from run to run: times, rates, IDs, and in a run that ends by time
//! the number of queries.

use serde_json::Value;

/// The output without what must differ. `is_timed`: the run ended by time.
pub(super) fn normal(text: &str, is_timed: bool) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut is_statistics = false;
    let is_ours = |line: &&str| line.starts_with("dnsdyno: ") || line.starts_with("  record=<on|off>");
    for line in text.lines().filter(|line| !is_ours(line)) {
        is_statistics |= line.ends_with("Statistics:") || line.starts_with('{');
        let line = one(line, is_timed && is_statistics);
        // How many of these there are depends on time.
        let may_repeat = MANY.contains(&line.as_str()) || line.starts_with('{');
        let repeats = lines.last().is_some_and(|last| *last == line && may_repeat);
        if !repeats {
            lines.push(line);
        }
    }
    let text = in_order(lines).iter().map(|line| format!("{line}\n")).collect::<String>();
    without_repeated_blocks(&text)
}

fn one(line: &str, is_timed: bool) -> String {
    if line.starts_with('{') {
        return json(line, is_timed);
    }
    const STARTS: [&str; 3] = ["Version ", "[Status] Started at: ", "  Run time (s):"];
    if let Some(start) = STARTS.iter().find(|start| line.starts_with(**start)) {
        return format!("{start} (differs)");
    }
    let has_times = ["s per second:   ", "  Average Latency (s):", "  Latency StdDev (s):"];
    if has_times.iter().any(|part| line.contains(part)) || is_timed {
        return digits_as_n(line);
    }
    if is_bucket(line) {
        return MANY[0].to_owned();
    }
    let is_rate = line.split_once(": ").is_some_and(|(at, rate)| is_number(at) && is_number(rate));
    if is_rate {
        return MANY[1].to_owned();
    }
    let ends_with_time = line.starts_with("> ") && line.rsplit(' ').next().is_some_and(is_number);
    match line.rsplit_once(' ') {
        Some((start, _)) if ends_with_time => format!("{start} N"),
        Some((start, id)) if start.ends_with(" id") || start.ends_with("id:") => {
            format!("{start} {}", digits_as_n(id))
        }
        _ => line.to_owned(),
    }
}

/// An object of `-j`, its keys in alphabetical order: without times and rates, and without counts if the run ended by
/// time.
fn json(line: &str, is_timed: bool) -> String {
    let mut object = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    without_figures(&mut object, is_timed);
    object.to_string()
}

fn without_figures(value: &mut Value, is_timed: bool) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                let differs = matches!(key.as_str(), "version" | "started" | "timestamp_usec" | "histogram");
                // The port of the server.
                let is_port = key == "server_port" || key == "command_line";
                match differs || is_port {
                    true => *member = "N".into(),
                    false => without_figures(member, is_timed),
                }
            }
        }
        Value::Array(members) => members.iter_mut().for_each(|member| without_figures(member, is_timed)),
        Value::Number(number) if is_timed || number.is_f64() => *value = "N".into(),
        _ => {}
    }
}

/// `0.000039 - 0.000039:  1` after two blanks.
fn is_bucket(line: &str) -> bool {
    let parts = line.trim_start().split_once(" - ").and_then(|(from, rest)| {
        let (to, count) = rest.split_once(":  ")?;
        Some([from, to, count])
    });
    line.starts_with("  ") && parts.is_some_and(|parts| parts.into_iter().all(is_number))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|letter| letter == b'.' || letter.is_ascii_digit())
}

/// Each number as `N`.
fn digits_as_n(line: &str) -> String {
    let mut out = String::new();
    for letter in line.chars() {
        match letter {
            '0'..='9' | '.' if out.ends_with('N') => {}
            '0'..='9' => out.push('N'),
            letter => out.push(letter),
        }
    }
    out
}

/// Lines about single queries that follow each other, in alphabetical order: queries end in any order.
fn in_order(mut lines: Vec<String>) -> Vec<String> {
    let is_query = |line: &String| line.starts_with("> ") || line.starts_with("[Timeout]");
    lines.chunk_by_mut(|a, b| is_query(a) && is_query(b)).for_each(<[String]>::sort);
    lines
}

/// Statistics of intervals that are the same once their numbers are replaced, once.
fn without_repeated_blocks(text: &str) -> String {
    let mut out = String::new();
    let mut last = "";
    for block in text.split_inclusive("Latency StdDev (s):   N\n\n") {
        if block != last {
            out += block;
        }
        last = block;
    }
    out
}

/// Lines of which there may be any number.
const MANY: [&str; 2] = ["  (buckets)", "(the rate of an interval)"];
