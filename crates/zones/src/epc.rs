//! The zones of a mobile operator: `epc`, in which an MME finds gateways, `5gc` beside it, and a catalog of both.
//!
//! The evolved packet core is one zone, because its parts refer to each other: an answer for a tracking area or an
//! access point leads to nodes, and a server can add their records to a response only if they are in a zone of its
//! own. `5gc` is another, because operators delegate it apart: it has a home network domain of its own
//! (TS 23.003 §28.2). Sources of the names: TS 23.003 §19.4.2, TS 29.303 §4.3.2, and what a carrier has published.

mod access_points;
mod areas;
mod asked;
mod core5g;
mod facts;
mod fleet;
mod options;
mod size;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use dnsdyno_clients::Description;

pub use facts::{AnswerSizes, AnswersOf};
pub use options::{Addresses, EpcOptions, PerAnswer};

use crate::catalog::write_catalog;
use crate::change::Change;
use crate::epc::access_points::add_access_points;
use crate::epc::areas::{Area, areas, codes, hosts_each, interface};
use crate::epc::core5g::core_zone;
use crate::epc::fleet::{Addressing, FIRST_CHOICE, Fleet, MME, PGW, SGW, UPF, add_nodes, naptr};
use crate::epc::size::{LONGEST, Shape, shape};
use crate::record::Name;
use crate::servers::{Served, write_configuration};
use crate::zone::Zone;
use crate::{DataError, Folder};

/// The zones of an operator, checked and ready to be written.
#[derive(Debug)]
pub struct EpcData {
    before: Version,
    after: Option<(Version, Change)>,
    core: Zone,
    catalog: String,
}

/// The zone `epc` at one time, and who asks for it.
#[derive(Debug)]
struct Version {
    zone: Zone,
    description: Description,
    answers: Vec<AnswersOf>,
    /// The most records of one type at one name.
    most_records: usize,
}

impl EpcData {
    /// Makes the zones.
    ///
    /// # Errors
    /// If an option has a value that cannot be used, or the sizes cannot be had.
    pub fn make(options: &EpcOptions) -> Result<Self, DataError> {
        options.check()?;
        let shape = shape(options)?;
        bounded(options, shape)?;
        let fleet = Fleet::new(options, shape.digits);
        let codes = codes(options.tacs);
        let areas = areas(options, &codes, &fleet.origin);
        let version = |after| version(options, &fleet, shape, &codes, &areas, after);
        let mut before = version(false)?;
        if let PerAnswer::Octets(wanted) = options.per_answer
            && let Some(of_areas) = before.answers.first()
            && !of_areas.octets.is_near(wanted as usize)
        {
            return Err(DataError::Option(format!(
                "--answer-size: with these gateways the answers have {} bytes, and not {wanted}: ask for more, or for \
                 a number of records with --per-answer",
                of_areas.octets
            )));
        }
        let after = match options.addresses.has_change() {
            true => {
                let mut after = version(true)?;
                after.description.cache = facts::cache_before(options, &mut before.description)?;
                let change = Change::between(&before.zone, &mut after.zone);
                Some((after, change))
            }
            false => None,
        };
        let core = core_zone(options, &areas, options.addresses == Addresses::Dual);
        let domain = options.zone_of("epc");
        let parent = domain.split_once('.').map_or(&*domain, |(_, parent)| parent);
        Ok(EpcData { before, after, core, catalog: format!("catalog.{parent}") })
    }

    /// The zone of the evolved packet core, with the final dot.
    pub fn origin(&self) -> &str {
        &self.before.zone.origin
    }

    /// How many records the zones `epc` and `5gc` have.
    pub fn records(&self) -> (usize, usize) {
        (self.before.zone.records.len() + 1, self.core.records.len() + 1)
    }

    /// The sizes of the answers.
    pub fn answers(&self) -> &[AnswersOf] {
        &self.before.answers
    }

    /// The sizes of the answers after the change, where there is one, with the messages of the update.
    pub fn answers_after(&self) -> Option<(&[AnswersOf], usize)> {
        self.after.as_ref().map(|(after, change)| (&*after.answers, change.messages()))
    }

    /// Whether BIND takes the zone with its default `max-records-per-type` only because the configuration lifts it.
    pub fn most_records(&self) -> usize {
        self.after.as_ref().map_or(0, |(after, _)| after.most_records).max(self.before.most_records)
    }

    /// Writes everything, and returns the folder.
    ///
    /// # Errors
    /// If something cannot be written; then nothing is left.
    pub fn write(&self, mut folder: Folder) -> Result<PathBuf, DataError> {
        let before = &self.before;
        folder.write(EPC_FILE, |out| before.zone.write_all(out))?;
        folder.write(CORE_FILE, |out| self.core.write_all(out))?;
        let members = [("epc", &before.zone), ("5gc", &self.core)];
        let members = members.map(|(id, zone)| (id.to_owned(), Name::clone(&zone.origin)));
        folder.write(CATALOG_FILE, |out| write_catalog(out, &self.catalog, members.into_iter()))?;
        write_description(&mut folder, "description.json", &before.description)?;
        if let Some((after, change)) = &self.after {
            folder.write("after/epc.zone", |out| after.zone.write_all(out))?;
            write_description(&mut folder, "after/description.json", &after.description)?;
            folder.write("change.nsupdate", |out| change.write(out))?;
        }
        write_configuration(&mut folder, || {
            let epc = Served {
                is_changeable: true,
                most_records: self.most_records(),
                ..Served::fixed(Name::clone(&before.zone.origin), EPC_FILE)
            };
            let core = Served::fixed(Name::clone(&self.core.origin), CORE_FILE);
            [epc, core, Served::fixed(self.catalog.as_str().into(), CATALOG_FILE)].into_iter()
        })?;
        Ok(folder.finish())
    }
}

fn write_description(folder: &mut Folder, name: &str, description: &Description) -> Result<(), DataError> {
    folder.write(name, |out| {
        serde_json::to_writer_pretty(&mut *out, description)?;
        writeln!(out)
    })
}

/// Refuses what no server would load, before memory is taken for it.
fn bounded(options: &EpcOptions, shape: Shape) -> Result<(), DataError> {
    let names = if options.each_tac { u64::from(options.tacs) } else { u64::from(options.tacs.min(256)) };
    let of_areas = names * shape.records as u64 * 3 / 2;
    let of_access_points = u64::from(options.apns) * (u64::from(options.pgws) * 3 / 10 + 10);
    let records = of_areas + of_access_points;
    match records > MOST_RECORDS {
        true => Err(DataError::Option(format!(
            "these are about {records} records, and at most {MOST_RECORDS} can be made: ask for fewer tracking areas, \
             access points or records per answer, or for --wildcard"
        ))),
        false => Ok(()),
    }
}

/// The zone before or after the change.
fn version(
    options: &EpcOptions,
    fleet: &Fleet,
    shape: Shape,
    codes: &[u16],
    areas: &[Area],
    after: bool,
) -> Result<Version, DataError> {
    let dual_stack = options.addresses == Addresses::Dual;
    let mut zone = Zone::new(&fleet.origin, options.ttl_s, options.name_servers, dual_stack);
    for area in areas {
        zone.records.extend(area.answer(fleet, shape.records, after));
    }
    let access_points = add_access_points(&mut zone, fleet, &options.apn_names(), after);
    add_pools(&mut zone, fleet);
    let mut addresses = Addressing::new(1, dual_stack);
    add_nodes(&mut zone, &mut addresses, &fleet.mmes, MME, false);
    add_nodes(&mut zone, &mut addresses, &fleet.upfs, UPF, false);
    let (sgws, pgws) = (fleet.sgws_of(false), fleet.pgws_of(false));
    add_nodes(&mut zone, &mut addresses, sgws, SGW, false);
    add_further_hosts(&mut zone, &mut addresses, sgws, shape.records, false);
    add_nodes(&mut zone, &mut addresses, pgws, PGW, false);
    // After all others, whose addresses stay.
    if after {
        let added = |nodes, from| <[fleet::Node]>::get(nodes, from..).unwrap_or_default();
        let sgws = added(&fleet.sgws, fleet.sgws_before);
        add_nodes(&mut zone, &mut addresses, sgws, SGW, true);
        add_further_hosts(&mut zone, &mut addresses, sgws, shape.records / 2, true);
        add_nodes(&mut zone, &mut addresses, added(&fleet.pgws, fleet.pgws_before), PGW, true);
    }
    let answers = facts::sizes(&zone, areas, &access_points);
    if let Some(longest) = answers.iter().map(|of| of.octets.most).max().filter(|most| *most > LONGEST) {
        let time = if after { "after the change " } else { "" };
        return Err(DataError::Option(format!(
            "{time}the longest answer has {longest} bytes, and a response has at most {LONGEST}: ask for smaller \
             answers with --answer-size, or for fewer gateways"
        )));
    }
    let most_records = facts::most_records(&zone);
    let users = if after { facts::users_of_ipv6(options) } else { Vec::new() };
    let asking = facts::description(options, codes, users);
    let description =
        facts::with_questions(asking, (codes.len(), areas), access_points.len(), &zone, &answers);
    Ok(Version { zone, description, answers, most_records })
}

/// The hosts of gateways beyond the first, where an answer has more records than there are gateways.
fn add_further_hosts(
    zone: &mut Zone,
    addresses: &mut Addressing,
    gateways: &[fleet::Node],
    records: usize,
    has_ipv6: bool,
) {
    for number in 1..hosts_each(records, gateways.len().max(1)) {
        for gateway in gateways {
            addresses.add(zone, &gateway.host(&interface(number)), has_ipv6);
        }
    }
}

/// The names of MMEs by group and code, at which other nodes find them: by code each, by group all of it.
fn add_pools(zone: &mut Zone, fleet: &Fleet) {
    for (index, mme) in fleet.mmes.iter().enumerate() {
        let (group, code) = (FIRST_GROUP + index / MMES_A_GROUP, index % MMES_A_GROUP + 1);
        let pool: Name = format!("mmegi{group:04x}.mme.{}", fleet.origin).into();
        let own: Name = format!("mmec{code:02x}.{pool}").into();
        for (service, interface) in [("x-3gpp-mme:x-s10", "s10"), ("x-3gpp-mme:x-s3:x-gn", "s3")] {
            for owner in [&own, &pool] {
                zone.records.push(naptr(owner, FIRST_CHOICE, "a", service, &mme.host(interface)));
            }
        }
    }
}

const EPC_FILE: &str = "epc.zone";
const CORE_FILE: &str = "5gc.zone";
const CATALOG_FILE: &str = "catalog.zone";

/// The first group of MMEs; those of LTE have the highest bit.
const FIRST_GROUP: usize = 0x8001;
const MMES_A_GROUP: usize = 16;

/// Some 400 MB in memory here, and more in a server.
const MOST_RECORDS: u64 = 5_000_000;
