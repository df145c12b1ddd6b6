//! What the zones hold, counted in the zones: sizes of answers, and the description for clients.

use std::collections::{HashMap, HashSet};
use std::{fmt, iter};

use dnsdyno_clients::predict::Case;
use dnsdyno_clients::{
    self as clients, Arrivals, Cache, Count, Description, Lookups, Mobile, NameUse, Names, OtherUsers,
    Questions,
};
use dnsdyno_measure::LookupStep;
use rand::seq::SliceRandom;

use crate::DataError;
use crate::epc::access_points::AccessPoint;
use crate::epc::areas::Area;
use crate::epc::asked::{LookupBy, ask};
use crate::epc::fleet::CAPABILITY_OF_IPV6;
use crate::epc::options::{Addresses, EpcOptions};
use crate::epc::size::is_near;
use crate::queries::random;
use crate::record::{Data, Record, response_octets};
use crate::zone::Zone;

/// The answers to questions that are alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswersOf {
    /// What is asked for, such as `tracking area`.
    pub what: &'static str,
    /// The type of the question.
    pub rtype: &'static str,
    /// How many names have such records; a wildcard is one.
    pub names: usize,
    /// The records of an answer.
    pub records: AnswerSizes,
    /// The octets of a response: header, question, answer and OPT.
    pub octets: AnswerSizes,
}

/// The smallest and the largest of several sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerSizes {
    /// The smallest.
    pub least: usize,
    /// The largest.
    pub most: usize,
}

impl AnswerSizes {
    fn of(sizes: impl Iterator<Item = usize>) -> Option<Self> {
        sizes.fold(None, |sizes: Option<AnswerSizes>, size| {
            let AnswerSizes { least, most } = sizes.unwrap_or(AnswerSizes { least: size, most: size });
            Some(AnswerSizes { least: least.min(size), most: most.max(size) })
        })
    }

    /// Whether all are within 2 % of a size.
    pub(super) fn is_near(&self, wanted: usize) -> bool {
        is_near(self.least, wanted) && is_near(self.most, wanted)
    }
}

impl fmt::Display for AnswerSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.least == self.most {
            true => write!(f, "{}", self.most),
            false => write!(f, "{} to {}", self.least, self.most),
        }
    }
}

/// The sizes of all kinds of answers; those of tracking areas first.
pub(super) fn sizes(zone: &Zone, areas: &[Area], access_points: &[AccessPoint]) -> Vec<AnswersOf> {
    let sets = sets(zone);
    let of = |what, rtype, answers: Vec<(&str, &[&Record])>| {
        Some(AnswersOf {
            what,
            rtype,
            names: answers.len(),
            records: AnswerSizes::of(answers.iter().map(|(_, records)| records.len()))?,
            octets: AnswerSizes::of(
                answers.iter().map(|(name, records)| response_octets(name, records.iter().copied())),
            )?,
        })
    };
    let branches = || access_points.iter().flat_map(|access_point| &access_point.plain_branches);
    let each = |wanted: &'static str| {
        let of_type = sets.iter().filter(|((_, rtype), _)| *rtype == wanted);
        of_type.map(|((name, _), records)| (*name, records.as_slice())).collect::<Vec<_>>()
    };
    let of_areas = areas.iter().map(|area| (&*area.asked, set(&sets, &area.owner))).collect();
    let of_points = access_points.iter().map(|at| (&*at.name, set(&sets, &at.name))).collect();
    let of_branches = branches().map(|name| (&**name, set(&sets, name))).collect();
    [
        of(AREA, NAPTR, of_areas),
        of(POINT, NAPTR, of_points),
        of(BRANCH, NAPTR, of_branches),
        of(SERVICE, "SRV", each("SRV")),
        of(HOST, "A", each("A")),
        of(HOST, "AAAA", each("AAAA")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The most records of one type at one name.
pub(super) fn most_records(zone: &Zone) -> usize {
    sets(zone).values().map(Vec::len).max().unwrap_or(0)
}

/// Who asks for the zone; the user changes what is known better. `others` are users who need other gateways.
pub(super) fn description(options: &EpcOptions, codes: &[u16], others: Vec<OtherUsers>) -> Description {
    let mut tacs = codes.to_vec();
    tacs.shuffle(&mut random(options.seed));
    // Each client has users in one area at least.
    let clients_per_tac = options.mmes.div_ceil(codes.len().max(1) as u32).max(1);
    let ipv6 = options.addresses == Addresses::Dual;
    let lookups = Lookups { ipv6, others, ..Lookups::default() };
    let usual = Cache::default();
    Description {
        names: Names::Epc(Mobile {
            mcc: options.mcc.clone(),
            mnc: options.mnc.clone(),
            tacs,
            apns: options.apn_names(),
            lookups,
        }),
        clients: options.mmes,
        cache: Cache { entries: options.cache_entries.unwrap_or(usual.entries), ..usual },
        arrivals: Arrivals {
            clients_per_tac,
            tac_zipf: options.tac_zipf,
            apn_zipf: options.apn_zipf,
            ..Arrivals::default()
        },
        retries: Default::default(),
        events: Vec::new(),
        zone: None,
    }
}

/// The users with IPv6 alone, who come with the change and need the gateways that it adds.
pub(super) fn users_of_ipv6(options: &EpcOptions) -> Vec<OtherUsers> {
    let capability = Some(CAPABILITY_OF_IPV6.to_owned());
    vec![OtherUsers { part: options.v6_users, capability, ipv4: false, ipv6: true }]
}

/// Gives the clients before a change their caches, which are counted in records, and returns them: those after it have
/// the same. Without a size, it is a tenth more than the records before the change need.
pub(super) fn cache_before(options: &EpcOptions, before: &mut Description) -> Result<Cache, DataError> {
    before.cache.count = Count::Records;
    if options.cache_entries.is_none() {
        let case =
            Case::new(before.clone(), u16::MAX).map_err(|error| DataError::Option(error.to_string()))?;
        before.cache.entries = (case.prediction.need * ROOM).ceil() as u32;
    }
    Ok(before.cache)
}

/// What a network's planner leaves free in the caches.
const ROOM: f64 = 1.1;

/// Adds what the clients of a description ask for.
pub(super) fn with_questions(
    mut description: Description,
    areas: (usize, &[Area]),
    access_points: usize,
    zone: &Zone,
    answers: &[AnswersOf],
) -> Description {
    description.zone = Some(questions(&description, areas, access_points, zone, answers));
    description
}

/// The questions of the clients, which additional sections do not answer: whether they do depends on the server.
fn questions(
    description: &Description,
    areas: (usize, &[Area]),
    access_points: usize,
    zone: &Zone,
    answers: &[AnswersOf],
) -> clients::Zone {
    let question = |what: &str, rtype: &str, names: f64, per_lookup: f64| {
        let of = answers.iter().find(|of| of.what == what && of.rtype == rtype);
        let mean = |sizes: fn(&AnswersOf) -> AnswerSizes| {
            let mean = of.map_or(0, |of| (sizes(of).least + sizes(of).most) / 2);
            u32::try_from(mean).unwrap_or(u32::MAX)
        };
        Questions {
            qtype: rtype.to_owned(),
            names: (names.round() as u32).max(1),
            per_lookup: (per_lookup * 1e4).round() / 1e4,
            brought: 0.0,
            ttl_s: zone.ttl_s,
            octets: mean(|of| of.octets),
            records: mean(|of| of.records),
        }
    };
    let (tacs, areas) = areas;
    let asked = ask(description, zone, &serving_hosts(zone, areas));
    let further = |of| {
        let alike = asked.iter().filter(move |alike| alike.of == of);
        alike.map(|alike| {
            let (what, rtype) = match alike.step {
                LookupStep::NextNaptr => (BRANCH, NAPTR),
                LookupStep::Srv => (SERVICE, "SRV"),
                LookupStep::Aaaa => (HOST, "AAAA"),
                _ => (HOST, "A"),
            };
            question(what, rtype, alike.names, alike.per_lookup)
        })
    };
    clients::Zone {
        tac: iter::once(question(AREA, NAPTR, tacs as f64, 1.0)).chain(further(LookupBy::Area)).collect(),
        apn: iter::once(question(POINT, NAPTR, access_points as f64, 1.0))
            .chain(further(LookupBy::AccessPoint))
            .collect(),
        stub: Vec::new(),
        found_with: Some(NameUse {
            tac_zipf: description.arrivals.tac_zipf,
            apn_zipf: description.arrivals.apn_zipf,
        }),
    }
}

/// The hosts of serving gateways in all answers for tracking areas.
fn serving_hosts<'a>(zone: &'a Zone, areas: &[Area]) -> HashSet<&'a str> {
    let owners: HashSet<&str> = areas.iter().map(|area| &*area.owner).collect();
    let hosts = zone.records.iter().filter_map(|record| match &record.data {
        Data::Naptr(naptr) if naptr.service.starts_with("x-3gpp-sgw:") && owners.contains(&*record.owner) => {
            Some(&*naptr.replacement)
        }
        _ => None,
    });
    hosts.collect()
}

/// The records by owner and type.
type Sets<'a> = HashMap<(&'a str, &'static str), Vec<&'a Record>>;

fn sets(zone: &Zone) -> Sets<'_> {
    let mut sets = Sets::new();
    for record in &zone.records {
        sets.entry((&*record.owner, record.data.type_name())).or_default().push(record);
    }
    sets
}

/// The NAPTR records of a name.
fn set<'a>(sets: &'a Sets<'a>, name: &'a str) -> &'a [&'a Record] {
    sets.get(&(name, NAPTR)).map_or(&[], Vec::as_slice)
}

const NAPTR: &str = "NAPTR";

/// What is asked for, as a person reads it.
const AREA: &str = "tracking area";
const POINT: &str = "access point";
const BRANCH: &str = "branch of an access point";
const SERVICE: &str = "gateway of a branch";
const HOST: &str = "host";
