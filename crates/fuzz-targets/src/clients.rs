//! Simulated clients: the file that describes them, and the responses that they get.

use dnsdyno_clients::{Kinds, Population, Share};
use dnsdyno_wire::FLAG_QR;

/// A file that describes clients; those that it describes ask, and get no answer.
pub fn clients_file(text: &[u8]) {
    let Ok(text) = std::str::from_utf8(text) else { return };
    let Ok(kinds) = Kinds::parse(text) else { return };
    let Ok(checked) = kinds.check(MOST_OCTETS) else { return };
    let mut population = Population::new(&checked, Share { worker: 0, workers: 1 }, 1, 0);
    for _ in 0..MOST_ASKS {
        let Some(now_ns) = population.next_event_ns() else { break };
        if let Some(ask) = population.next_ask(now_ns) {
            assert!(population.question(ask.id).len() >= 5, "a name, a type and a class");
            population.failed(ask.id);
        }
    }
    population.finish(u64::MAX);
}

/// Responses to what two clients of a mobile core ask, each behind its length in two octets. Where the first octet of
/// one is odd, the rest is the message; otherwise five octets are RCODE and counts, and records to the question follow.
pub fn client_answers(bytes: &[u8]) {
    let checked = Kinds::parse(MOBILE).and_then(|kinds| kinds.check(MOST_OCTETS).map_err(|e| e.to_string()));
    let checked = checked.expect("a good description");
    let mut population = Population::new(&checked, Share { worker: 0, workers: 1 }, 1, 0);
    let mut rest = bytes;
    let mut asked: u64 = 0;
    while let Some((length, after)) = rest.split_first_chunk::<2>() {
        let (response, after) = after.split_at(usize::from(u16::from_be_bytes(*length)).min(after.len()));
        rest = after;
        // Instants without a question are those of timers.
        let mut ask = None;
        for _ in 0..100 {
            let Some(now_ns) = population.next_event_ns() else { break };
            ask = population.next_ask(now_ns).map(|ask| (ask, now_ns));
            if ask.is_some() {
                break;
            }
        }
        let Some((ask, now_ns)) = ask else { break };
        asked += 1;
        let message = match response.split_first() {
            Some((how, message)) if how % 2 == 1 => message.to_vec(),
            Some((_, content)) => answer(population.question(ask.id), content),
            None => Vec::new(),
        };
        population.answered(ask.id, now_ns, &message);
    }
    population.finish(u64::MAX);
    assert!(asked <= bytes.len() as u64 / 2 + 1);
}

/// A response: RCODE, flags and the counts of its sections come from the content, as the records do.
fn answer(question: &[u8], content: &[u8]) -> Vec<u8> {
    let Some(([rcode, truncated, counts @ ..], records)) = content.split_first_chunk::<5>() else {
        return Vec::new();
    };
    let mut message = vec![0; 2];
    message.extend((FLAG_QR | u16::from(truncated & 2) << 8 | u16::from(rcode & 0xf)).to_be_bytes());
    message.extend([0, 1]);
    counts.iter().for_each(|count| message.extend([0, *count]));
    message.extend(question);
    message.extend(records);
    message
}

const MOST_OCTETS: u64 = 1 << 20;
const MOST_ASKS: usize = 200;

const MOBILE: &str = r#"{"kind": "epc", "mcc": "440", "mnc": "010", "tacs": [1, 2], "apns": ["ims", "a"],
    "lookups": {"sgw": ["x-s5-gtp"], "pgw": ["x-s5-gtp"], "capability": null, "ipv4": true, "ipv6": true,
    "additional": true}, "clients": 2, "cache": {"entries": 20, "policy": "ttl", "count": "rrsets"},
    "arrivals": {"attaches": 10.0, "handovers": 10.0}, "retries": {"first_s": 3.0, "retries": 2}}"#;
