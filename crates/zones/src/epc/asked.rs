//! What clients ask for, found by letting some of them ask: which branches are followed and which gateways are selected
//! is what the clients do, so it is not computed a second time.

use std::collections::{HashMap, HashSet};

use dnsdyno_clients::{Ask, Clients, Description, Names, Share};
use dnsdyno_measure::LookupStep;
use dnsdyno_wire::{FLAG_QR, QUESTION_FIXED_LEN, parse_type};

use crate::record::{Record, put_name};
use crate::zone::Zone;

/// So many clients of a description ask: each is like the others, apart from its tracking areas.
const CLIENTS: u32 = 4;

/// So many questions are asked: that takes a tenth of a second, and few names that are ever asked for are not among
/// them.
const QUESTIONS: usize = 100_000;

/// Names are alike if one is not asked for so many times as often as another; it may be twice that often.
const ALIKE: f64 = 4.0;
/// Rarer names than so many such steps down from the most used one are taken together.
const MOST_BANDS: u32 = 7;

/// The lookups that a question belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum LookupBy {
    Area,
    AccessPoint,
}

/// Questions after the first of a lookup whose names are asked for about equally often.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Alike {
    pub(super) of: LookupBy,
    pub(super) step: LookupStep,
    /// How many names one client asks for.
    pub(super) names: f64,
    /// How many of them a lookup needs.
    pub(super) per_lookup: f64,
}

/// Lets clients with the lookups, arrivals and areas of a description ask a zone, without caches and without additional
/// data. `serving` are the hosts of serving gateways. The most used names are first.
pub(super) fn ask(description: &Description, zone: &Zone, serving: &HashSet<&str>) -> Vec<Alike> {
    let mut description = description.clone();
    description.cache.entries = 0;
    if let Names::Epc(mobile) = &mut description.names {
        mobile.lookups.additional = false;
    }
    let share = Share { worker: 0, workers: description.clients.div_ceil(CLIENTS) };
    // A description that was made here has no value that is refused.
    let Ok(checked) = description.check(u64::MAX) else { return Vec::new() };
    let mut clients = Clients::new(&checked, share, SEED, 0);
    let serving = serving.iter().map(|host| wire(host)).collect();
    let mut counted = Counted { serving, lookups: HashMap::new(), asked: HashMap::new() };
    let mut responses = Responses::of(zone);
    let mut questions = 0;
    while questions < QUESTIONS
        && let Some(now_ns) = clients.next_event_ns()
    {
        while let Some(ask) = clients.next_ask(now_ns) {
            questions += 1;
            counted.add(&ask, clients.question(ask.id));
            let response = responses.to(clients.question(ask.id));
            clients.answered(ask.id, now_ns, response);
        }
        clients.ended().for_each(drop);
    }
    counted.alike()
}

/// How often each client has asked what.
struct Counted {
    serving: HashSet<Vec<u8>>,
    lookups: HashMap<(LookupBy, u32), f64>,
    asked: HashMap<(LookupBy, LookupStep, u32), HashMap<Vec<u8>, f64>>,
}

impl Counted {
    fn add(&mut self, ask: &Ask, question: &[u8]) {
        let name = question.get(..question.len() - QUESTION_FIXED_LEN).unwrap_or_default();
        let of = match ask.step {
            LookupStep::TacNaptr => LookupBy::Area,
            LookupStep::A | LookupStep::Aaaa if self.serving.contains(name) => LookupBy::Area,
            _ => LookupBy::AccessPoint,
        };
        if matches!(ask.step, LookupStep::TacNaptr | LookupStep::ApnNaptr) {
            *self.lookups.entry((of, ask.client)).or_default() += 1.0;
            return;
        }
        let names = self.asked.entry((of, ask.step, ask.client)).or_default();
        match names.get_mut(name) {
            Some(count) => *count += 1.0,
            None => _ = names.insert(name.to_vec(), 1.0),
        }
    }

    /// The mean of all clients.
    fn alike(&self) -> Vec<Alike> {
        let clients = self.lookups.keys().map(|(_, client)| client).collect::<HashSet<_>>().len() as f64;
        let steps = [LookupStep::NextNaptr, LookupStep::Srv, LookupStep::A, LookupStep::Aaaa];
        let both = [LookupBy::Area, LookupBy::AccessPoint].into_iter();
        both.flat_map(|of| steps.map(|step| (of, step)))
            .flat_map(|(of, step)| self.bands(of, step, clients))
            .collect()
    }

    fn bands(&self, of: LookupBy, step: LookupStep, clients: f64) -> Vec<Alike> {
        let of_step = self.asked.iter().filter(|((by, at, _), _)| (*by, *at) == (of, step));
        let shares: Vec<f64> = of_step
            .flat_map(|((.., client), names)| {
                let lookups = self.lookups.get(&(of, *client)).copied().unwrap_or(1.0);
                names.values().map(move |count| count / lookups)
            })
            .collect();
        let most = shares.iter().copied().fold(0.0, f64::max);
        let band = |share: &f64| ((most / share).log(ALIKE) as u32).min(MOST_BANDS);
        (0..=MOST_BANDS)
            .filter_map(|number| {
                let (names, per_lookup) = shares
                    .iter()
                    .filter(|share| band(share) == number)
                    .fold((0.0, 0.0), |(names, sum), share| (names + 1.0, sum + share));
                (names > 0.0).then_some(Alike {
                    of,
                    step,
                    names: names / clients,
                    per_lookup: per_lookup / clients,
                })
            })
            .collect()
    }
}

/// A zone that responds, in memory.
struct Responses<'a> {
    zone: &'a Zone,
    sets: HashMap<(Vec<u8>, u16), Vec<&'a Record>>,
    message: Vec<u8>,
}

impl<'a> Responses<'a> {
    fn of(zone: &'a Zone) -> Self {
        let mut sets: HashMap<_, Vec<&Record>> = HashMap::new();
        for record in &zone.records {
            let rtype = parse_type(record.data.type_name()).unwrap_or_default();
            sets.entry((wire(&record.owner), rtype)).or_default().push(record);
        }
        Responses { zone, sets, message: Vec::new() }
    }

    /// The response to a question, as it is on the wire: its answer, or nothing.
    fn to(&mut self, question: &[u8]) -> &[u8] {
        let (name, fixed) = question.split_at(question.len() - QUESTION_FIXED_LEN);
        let rtype = u16::from_be_bytes([fixed[0], fixed[1]]);
        // A wildcard stands where the first label is.
        let rest = name.get(1 + usize::from(name[0])..).unwrap_or_default();
        let found = self.sets.get(&(name.to_vec(), rtype));
        let found = found.or_else(|| self.sets.get(&([b"\x01*", rest].concat(), rtype)));
        let records = found.map_or(&[][..], Vec::as_slice);

        self.message.clear();
        let answers = u16::try_from(records.len()).unwrap_or(u16::MAX);
        for word in [0, FLAG_QR, 1, answers, 0, 0] {
            self.message.extend_from_slice(&word.to_be_bytes());
        }
        self.message.extend_from_slice(question);
        for record in records {
            self.message.extend_from_slice(&POINTER_TO_QUESTION);
            self.message.extend_from_slice(fixed);
            self.message.extend_from_slice(&self.zone.ttl_s.to_be_bytes());
            let at = self.message.len();
            self.message.extend_from_slice(&[0, 0]);
            record.data.put_wire(&mut self.message);
            let octets = u16::try_from(self.message.len() - at - 2).unwrap_or(u16::MAX);
            self.message[at..at + 2].copy_from_slice(&octets.to_be_bytes());
        }
        &self.message
    }
}

fn wire(name: &str) -> Vec<u8> {
    let mut wire = Vec::new();
    put_name(name, &mut wire);
    wire
}

/// A compressed name: that of the question, after the header.
const POINTER_TO_QUESTION: [u8; 2] = [0xc0, 12];

const SEED: u64 = 1;

#[cfg(test)]
mod tests {
    use dnsdyno_clients::predict::{Prediction, predict};
    use dnsdyno_measure::CacheState;

    use super::*;
    use crate::epc::tests::options;
    use crate::epc::{Addresses, EpcData, EpcOptions};

    /// The queries a second that clients with these caches send to the zone, once the caches are warm.
    fn simulated(description: &Description, zone: &Zone) -> f64 {
        let checked = description.clone().check(u64::MAX).unwrap();
        let mut clients = Clients::new(&checked, Share { worker: 0, workers: 1 }, 3, 0);
        let mut responses = Responses::of(zone);
        let (warm_ns, end_ns) = (2 * TTL_S * 1_000_000_000, 6 * TTL_S * 1_000_000_000);
        while let Some(now_ns) = clients.next_event_ns().filter(|now_ns| *now_ns < end_ns) {
            if now_ns < warm_ns {
                clients.take_counts();
            }
            while let Some(ask) = clients.next_ask(now_ns) {
                clients.count_sent(&ask);
                let response = responses.to(clients.question(ask.id));
                clients.answered(ask.id, now_ns, response);
            }
            clients.ended().for_each(drop);
        }
        clients.take_counts().queries() as f64 * 1e9 / (end_ns - warm_ns) as f64
    }

    const TTL_S: u64 = 30;

    #[test]
    fn a_prediction_from_the_questions_is_the_load_of_the_clients() {
        let data = EpcData::make(&EpcOptions { ttl_s: TTL_S as u32, ..options() }).unwrap();
        let mut description = data.before.description.clone();
        (description.clients, description.arrivals.attaches, description.arrivals.handovers) =
            (4, 100.0, 100.0);
        let zone = description.zone.clone().unwrap();
        // A client needs 233 entries. Near that, one entry more or less is two percent of the load.
        for entries in [50, 100, 200, 400] {
            description.cache.entries = entries;
            let predicted = predict(&description.clone().check(u64::MAX).unwrap(), &zone, 1_232).unwrap();
            let (predicted, simulated) =
                (predicted.queries_per_s, simulated(&description, &data.before.zone));
            assert!(
                (predicted / simulated - 1.0).abs() < 0.08,
                "{entries} entries: predicted {predicted:.1}, simulated {simulated:.1}"
            );
        }
    }

    /// The change of records: larger answers, and users who need the gateways that it adds.
    #[test]
    fn the_load_after_the_change_is_the_predicted_one_and_many_times_that_before() {
        let options = EpcOptions {
            tacs: 40,
            apns: 4,
            sgws: 24,
            pgws: 24,
            mmes: 4,
            addresses: Addresses::V6Added,
            ttl_s: TTL_S as u32,
            ..options()
        };
        let data = EpcData::make(&options).unwrap();
        let (after, _) = data.after.as_ref().unwrap();
        assert_eq!(after.description.cache, data.before.description.cache);
        let loads = [&data.before, after].map(|version| {
            let mut description = version.description.clone();
            (description.arrivals.attaches, description.arrivals.handovers) = (200.0, 200.0);
            let zone = description.zone.clone().unwrap();
            let predicted = predict(&description.clone().check(u64::MAX).unwrap(), &zone, 1_232).unwrap();
            let simulated = simulated(&description, &version.zone);
            let off = predicted.queries_per_s / simulated - 1.0;
            assert!(off.abs() < 0.15, "predicted {:.1}, simulated {simulated:.1}", predicted.queries_per_s);
            predicted
        });
        let [before, after] = loads;
        assert!(before.state != CacheState::Overflows && after.state == CacheState::Overflows, "{after:?}");
        assert!(after.need > before.need * 1.3, "{} records, then {}", before.need, after.need);
        assert!(after.queries_per_s > before.queries_per_s * 5.0, "{} queries", after.queries_per_s);
        assert!(
            after.octets_per_s / after.queries_per_s > before.octets_per_s / before.queries_per_s,
            "{after:?}"
        );
        let aaaa = |prediction: &Prediction| prediction.parts.iter().any(|part| part.qtype == "AAAA");
        assert!(!aaaa(&before) && aaaa(&after), "users with IPv6 alone");
    }
}
