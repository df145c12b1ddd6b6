//! `dnsdyno data`: makes zones by rule, with the configuration that loads them and what to ask for.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::{Args, Subcommand, ValueEnum};
use dnsdyno_text::notation::{parse_count, parse_percent};
use dnsdyno_text::units::{count, counted};
use dnsdyno_zones::{
    Addresses, AnswerSizes, AnswersOf, DataError, EpcData, EpcOptions, Folder, MemberData, MemberOptions,
    NumberData, NumberOptions, PerAnswer,
};

use crate::cmd::report::named;
use crate::exit::{Failure, OK, Outcome};

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DataFlags {
    #[command(subcommand)]
    command: DataCommand,
}

#[derive(Debug, Subcommand)]
enum DataCommand {
    /// The zones of a mobile operator: tracking areas, access points, gateways, and who asks for them
    #[command(after_help = EXAMPLES)]
    Epc(Box<EpcFlags>),
    /// Many equal zones with hosts, and queries for all of them
    #[command(after_help = EXAMPLES)]
    Plain(PlainFlags),
    /// Many zones, and a catalog zone that lists them
    #[command(after_help = EXAMPLES)]
    Catalog(CatalogFlags),
    /// Telephone numbers: a NAPTR record for each, and queries for them
    #[command(after_help = EXAMPLES)]
    Enum(EnumFlags),
}

#[derive(Debug, Args)]
struct EpcFlags {
    #[command(flatten)]
    common: CommonFlags,
    /// Mobile country code, three digits
    #[arg(long, value_name = "DIGITS", default_value = "440")]
    mcc: String,
    /// Mobile network code, two or three digits
    #[arg(long, value_name = "DIGITS", default_value = "010")]
    mnc: String,
    /// Tracking areas
    #[arg(long, value_name = "N", default_value = "200", value_parser = number)]
    tacs: u32,
    /// Access points: the first is served by all gateways, each other by a fifth of them
    #[arg(long, value_name = "N", default_value = "20", value_parser = number)]
    apns: u32,
    /// Serving gateways
    #[arg(long, value_name = "N", default_value = "60", value_parser = number)]
    sgws: u32,
    /// Gateways to the packet network
    #[arg(long, value_name = "N", default_value = "60", value_parser = number)]
    pgws: u32,
    /// Nodes for mobility management: the clients
    #[arg(long, value_name = "N", default_value = "16", value_parser = number)]
    mmes: u32,
    /// How unequally the clients use tracking areas: the exponent of Zipf's law, 0 is evenly
    #[arg(long, value_name = "EXPONENT", default_value_t = 0.0)]
    tac_zipf: f64,
    /// The same of access points
    #[arg(long, value_name = "EXPONENT", default_value_t = 1.0)]
    apn_zipf: f64,
    /// NAPTR records in the answer for a tracking area [default: as many as there are serving gateways]
    #[arg(long, value_name = "N", value_parser = number, conflicts_with = "answer_size")]
    per_answer: Option<u32>,
    /// Size in bytes of the response for a tracking area, such as 4k, 11k or 23k (k = 1,000): header,
    /// question, answer and OPT
    #[arg(long, value_name = "BYTES", value_parser = number)]
    answer_size: Option<u32>,
    /// One wildcard for the tracking areas with the same high byte [default]
    #[arg(long, conflicts_with = "each_tac")]
    wildcard: bool,
    /// A name for each tracking area
    #[arg(long)]
    each_tac: bool,
    /// Addresses of the nodes
    #[arg(long, value_name = "WHICH", default_value = "v4")]
    ip: Ip,
    /// With --ip v6-added: the part of the users who need the new gateways
    #[arg(long, value_name = "PERCENT", default_value = "33%", value_parser = part)]
    v6_users: f64,
    /// What each client's cache holds: RRsets, or with --ip v6-added, records [default: 10,000; with --ip v6-added a
    /// tenth more than the records before the change need]
    #[arg(long, value_name = "N", value_parser = number)]
    cache_entries: Option<u32>,
    /// Name servers of each zone
    #[arg(long, value_name = "N", default_value = "14", value_parser = number)]
    name_servers: u32,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Ip {
    /// IPv4
    V4,
    /// IPv4 and IPv6
    Dual,
    /// IPv4, and a change to apply under load: half as many gateways again, for users with IPv6 alone
    V6Added,
}

#[derive(Debug, Args)]
struct PlainFlags {
    #[command(flatten)]
    common: CommonFlags,
    /// Zones
    #[arg(long, value_name = "N", default_value = "1", value_parser = number)]
    zones: u32,
    /// Hosts of each zone, each with an A and an AAAA record
    #[arg(long, value_name = "N", default_value = "1000", value_parser = number)]
    hosts: u32,
}

#[derive(Debug, Args)]
struct CatalogFlags {
    #[command(flatten)]
    common: CommonFlags,
    /// Zones in the catalog
    #[arg(long, value_name = "N", default_value = "1000", value_parser = number)]
    members: u32,
    /// Further zones that the server has and the catalog does not list, with scripts that put them in and
    /// take them out
    #[arg(long, value_name = "N", default_value = "0", value_parser = number)]
    outside: u32,
}

#[derive(Debug, Args)]
struct EnumFlags {
    #[command(flatten)]
    common: CommonFlags,
    /// Telephone numbers
    #[arg(long, value_name = "N", default_value = "1000", value_parser = number)]
    numbers: u32,
    /// The zone
    #[arg(long, value_name = "NAME", default_value = "e164.arpa")]
    apex: String,
}

#[derive(Debug, Args)]
struct CommonFlags {
    /// The folder to make; it may exist, and must be empty
    #[arg(short, long, value_name = "FOLDER", display_order = 0)]
    out: PathBuf,
    /// TTL of all records in seconds
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = number)]
    ttl: u32,
    /// Of what is random: the order of queries, which tracking areas are the most used
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

pub(crate) fn data(flags: &DataFlags) -> Outcome {
    let text = match &flags.command {
        DataCommand::Epc(flags) => epc(flags),
        DataCommand::Plain(PlainFlags { common, zones, hosts }) => members(common, *zones, *hosts, None),
        DataCommand::Catalog(CatalogFlags { common, members: zones, outside }) => {
            members(common, *zones, 1, Some(*outside))
        }
        DataCommand::Enum(flags) => numbers(flags),
    }?;
    std::io::stdout().write_all(text.as_bytes()).map_err(Failure::run_failed)?;
    Ok(OK)
}

fn epc(flags: &EpcFlags) -> Result<String, Failure> {
    let per_answer = match (flags.per_answer, flags.answer_size) {
        (Some(records), _) => PerAnswer::Records(records),
        (None, Some(octets)) => PerAnswer::Octets(octets),
        (None, None) => PerAnswer::Gateways,
    };
    let addresses = match flags.ip {
        Ip::V4 => Addresses::V4,
        Ip::Dual => Addresses::Dual,
        Ip::V6Added => Addresses::V6Added,
    };
    let options = EpcOptions {
        mcc: flags.mcc.clone(),
        mnc: flags.mnc.clone(),
        tacs: flags.tacs,
        each_tac: flags.each_tac,
        apns: flags.apns,
        sgws: flags.sgws,
        pgws: flags.pgws,
        mmes: flags.mmes,
        tac_zipf: flags.tac_zipf,
        apn_zipf: flags.apn_zipf,
        per_answer,
        addresses,
        v6_users: flags.v6_users,
        cache_entries: flags.cache_entries,
        name_servers: flags.name_servers,
        ttl_s: flags.common.ttl,
        seed: flags.common.seed,
    };
    let data = EpcData::make(&options).map_err(failure)?;
    let folder = data.write(Folder::make(&flags.common.out).map_err(failure)?).map_err(failure)?;

    let (epc, core) = data.records();
    let mut text = format!(
        "epc.zone      {} {}\n5gc.zone      {}\ncatalog.zone  both\n\n{}",
        data.origin(),
        counted(epc as u64, "record", "records"),
        counted(core as u64, "record", "records"),
        answers_text(data.answers())
    );
    if let Some((after, messages)) = data.answers_after() {
        let _ = write!(
            text,
            "\nafter the change (change.nsupdate, {}; or after/epc.zone, a higher serial number):\n{}",
            counted(messages as u64, "message", "messages"),
            answers_text(after)
        );
    }
    let description = named(&folder.join("description.json"));
    text += &loading_text(&folder);
    if data.most_records() > 100 {
        text += "  (BIND 9.18.28 or newer: bind.conf lifts its limit of 100 records)\n";
    }
    let _ = writeln!(
        text,
        "ask:   dnsdyno run -s ADDRESS --source epc:{description} --transport udp+tcp --edns-size 4096 --for 60s"
    );
    Ok(text)
}

/// `plain`, or `catalog` with its number of zones outside.
fn members(common: &CommonFlags, zones: u32, hosts: u32, catalog: Option<u32>) -> Result<String, Failure> {
    let outside = catalog.unwrap_or(0);
    let options = MemberOptions {
        zones,
        hosts,
        with_catalog: catalog.is_some(),
        outside,
        ttl_s: common.ttl,
        seed: common.seed,
    };
    let data = MemberData::make(&options).map_err(failure)?;
    let folder = data.write(Folder::make(&common.out).map_err(failure)?).map_err(failure)?;
    let mut text = format!(
        "member.zone   {} with {}, all from this one file: m0.members.example and so on\n",
        counted(u64::from(zones), "zone", "zones"),
        counted(u64::from(hosts), "host", "hosts")
    );
    if catalog.is_some() {
        text += "catalog.zone  catalog.example lists them (RFC 9432)\n";
    }
    if outside > 0 {
        let _ = writeln!(
            text,
            "add.nsupdate  puts {} more into the catalog, remove.nsupdate takes them out",
            count(u64::from(outside))
        );
    }
    Ok(text + &loading_text(&folder) + &asking_text(&folder))
}

fn numbers(flags: &EnumFlags) -> Result<String, Failure> {
    let EnumFlags { common, numbers, apex } = flags;
    let options =
        NumberOptions { numbers: *numbers, apex: apex.clone(), ttl_s: common.ttl, seed: common.seed };
    let data = NumberData::make(&options).map_err(failure)?;
    let folder = data.write(Folder::make(&common.out).map_err(failure)?).map_err(failure)?;
    let text = format!(
        "enum.zone     {}, each with 2 NAPTR records: {} bytes\n",
        counted(u64::from(*numbers), "number", "numbers"),
        data.response_octets()
    );
    Ok(text + &loading_text(&folder) + &asking_text(&folder))
}

/// The sizes of answers, as a table.
fn answers_text(answers: &[AnswersOf]) -> String {
    let sizes = |sizes: &AnswerSizes| match sizes.least == sizes.most {
        true => count(sizes.most as u64),
        false => format!("{}..{}", count(sizes.least as u64), count(sizes.most as u64)),
    };
    let row = |cells: [&str; 5]| {
        let [what, rtype, names, records, octets] = cells;
        format!("{what:<25} {rtype:<5} {names:>8} {records:>10} {octets:>15}\n")
    };
    let head = row(["answer for each", "type", "names", "records", "bytes"]);
    let rows = answers
        .iter()
        .map(|of| row([of.what, of.rtype, &count(of.names as u64), &sizes(&of.records), &sizes(&of.octets)]));
    std::iter::once(head).chain(rows).collect()
}

/// How servers load what is in a folder.
fn loading_text(folder: &Path) -> String {
    let path =
        |file: &str| named(&std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()).join(file));
    format!(
        "\nload:  BIND, PowerDNS  include \"{}\";\n       NSD             include: \"{}\"\n       \
         Knot DNS        include: \"{}\"\n",
        path("bind.conf"),
        path("nsd.conf"),
        path("knot.conf")
    )
}

fn asking_text(folder: &Path) -> String {
    let queries = named(&folder.join("queries.txt"));
    format!("ask:   dnsdyno run -s ADDRESS -d {queries} --rate 1k --for 10s\n")
}

fn failure(error: DataError) -> Failure {
    match error.is_bad_input() {
        true => Failure::bad_input(error),
        false => Failure::run_failed(error),
    }
}

/// A part of a whole, from per cent.
pub(crate) fn part(text: &str) -> anyhow::Result<f64> {
    Ok(parse_percent(text)?)
}

pub(crate) fn number(text: &str) -> anyhow::Result<u32> {
    let number = parse_count(text)?;
    u32::try_from(number)
        .map_err(|_| anyhow!("`{text}` is too large: write at most {}", count(u32::MAX.into())))
}

const EXAMPLES: &str = "\
Examples:
  dnsdyno data epc --out zones --tacs 200 --apns 20 --sgws 60 --pgws 60 --answer-size 23k
  dnsdyno data epc --out zones --per-answer 93 --ip v6-added
  dnsdyno data plain --out zones --zones 1k --hosts 100
  dnsdyno data catalog --out zones --members 100k --outside 1k
  dnsdyno data enum --out zones --numbers 1M --apex enum.example

The same command makes the same bytes. The folder has what a server's configuration includes (bind.conf, also for
PowerDNS, nsd.conf, knot.conf), with absolute paths: on another host, run the command there.

Exit codes: 0 made, 2 the flags cannot be used or the folder is not empty, 3 it cannot be written (nothing is left).";
