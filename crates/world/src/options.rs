//! The options of a world, each a flag of the command line, and the rules that they become once they are checked.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use dnsdyno_queries::replay::CapturedServer;
use dnsdyno_text::notation::{parse_count, parse_duration_ns, parse_percent};
use dnsdyno_text::units::count;

use crate::WorldError;
use crate::distance::Regions;
use crate::draw::{Draw, Purpose};
use crate::prefix::Prefix;
use crate::shares::{Faults, Share, Shares};

/// What a world is made by. The same options make the same world, byte for byte.
#[derive(Clone, Debug, Args)]
#[group(skip)]
pub struct WorldOptions {
    /// Random seed: the same seed and the same options give the same answers
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = HIERARCHY)]
    pub seed: u64,
    /// Zones below the top-level domains, such as 100k or 1M; without --list and --capture
    #[arg(long, value_name = "N", default_value = "1M", value_parser = number, help_heading = HIERARCHY)]
    pub zones: u64,
    /// Top-level domains: the first has the most zones below it, the n-th an n-th of that; without --list and
    /// --capture
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = small, help_heading = HIERARCHY)]
    pub tlds: u32,
    /// Make the names of this file, one a line with an optional type, or with a rank and a comma before it; each is
    /// there, in a zone as delegations usually are, and the rest of the zone is by rule
    #[arg(long, value_name = "FILE", conflicts_with_all = ["zones", "tlds"], help_heading = HIERARCHY)]
    pub list: Option<PathBuf>,
    /// Make the zones that the answers in these captures show (pcap, pcapng or dnstap, compressed or not), such as
    /// those of a resolver to its clients: each name has what it had there, and no other name exists
    #[arg(long, value_name = "FILE,...", value_delimiter = ',', help_heading = HIERARCHY,
        conflicts_with_all = ["zones", "tlds", "list", "chain", "ttl", "own_servers"])]
    pub capture: Vec<PathBuf>,
    /// With --capture: only the answers of this server: ADDRESS, ADDRESS:PORT or [IPV6]:PORT; may be repeated
    #[arg(long, value_name = "SERVER", requires = "capture", value_parser = captured_server, help_heading = HIERARCHY)]
    pub captured_server: Vec<CapturedServer>,
    /// Companies whose name servers serve the zones of others; the n-th has an n-th of the zones of the first
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = small, help_heading = HIERARCHY)]
    pub hosters: u32,
    /// Addresses of name servers that zones have of their own; a zone has two or three of them
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = small, help_heading = HIERARCHY)]
    pub own_servers: u32,
    /// Shares of how zones and hosts are, such as own=50%,cname=10%; those that are not named stay
    #[arg(long, value_name = "WORD=SHARE,...", default_value = "", hide_default_value = true, help_heading = HIERARCHY)]
    pub share: Shares,
    /// Longest chain of aliases over zones, in CNAME records
    #[arg(long, value_name = "N", default_value_t = 4, help_heading = HIERARCHY)]
    pub chain: u32,
    /// TTLs in seconds of what zones hold, with their shares, such as 60=50%,3600=50%
    #[arg(long, value_name = "SECONDS=SHARE,...", default_value = DEFAULT_TTLS, help_heading = HIERARCHY)]
    pub ttl: String,
    /// Sign the root, the top-level domains and this share of the other zones [all of them without a value]
    #[arg(long, value_name = "SHARE", num_args = 0..=1, require_equals = true, default_missing_value = "100%",
        value_parser = parse_share, help_heading = HIERARCHY)]
    pub signed: Option<f64>,

    /// Addresses of the name servers, over IPv4
    #[arg(long, value_name = "PREFIX", default_value = "10.64.0.0/10", help_heading = SERVERS)]
    pub prefix: Prefix,
    /// Addresses of the name servers over IPv6 [default: they have none]
    #[arg(long, value_name = "PREFIX", help_heading = SERVERS)]
    pub prefix6: Option<Prefix>,
    /// Round-trip times of the name servers: regions as NAME=SHARE:MEDIAN:SIGMA,... (lognormal; the root and top-level
    /// domains are in the first), or none
    #[arg(long, value_name = "REGIONS", default_value_t = Regions::default(), help_heading = SERVERS)]
    pub rtt: Regions,
    /// Share of the UDP queries that are lost on the way, at each server
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = parse_share, help_heading = SERVERS)]
    pub loss: f64,
    /// Faults with their shares, such as lame=1%,silent=0.5%; the root and top-level domains have none
    #[arg(long, value_name = "FAULT=SHARE,...", default_value = "", hide_default_value = true, help_heading = SERVERS)]
    pub fault: Faults,
    /// How much later a slow server answers
    #[arg(long, value_name = "T", default_value = "1500ms", value_parser = duration, help_heading = SERVERS)]
    pub slow: Duration,
}

/// Checked options, and what follows from them without looking at any name.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) options: WorldOptions,
    pub(crate) draw: Draw,
    /// Shares of TTLs in seconds.
    ttls: Vec<(f64, u32)>,
}

impl Rules {
    /// Checks the options.
    pub(crate) fn new(options: &WorldOptions) -> Result<Rules, WorldError> {
        let refuse = |text: String| Err(WorldError::Option(text));
        if options.list.is_none() && !(1..=MOST_ZONES).contains(&options.zones) {
            return refuse(format!("--zones: make between 1 and {} zones", count(MOST_ZONES)));
        }
        if !(1..=MOST_TLDS).contains(&options.tlds) {
            return refuse(format!(
                "--tlds: make between 1 and {} top-level domains",
                count(MOST_TLDS.into())
            ));
        }
        if u64::from(options.tlds) > options.zones {
            let (zones, tlds) = (count(options.zones), count(options.tlds.into()));
            return refuse(format!(
                "--zones {zones} with --tlds {tlds}: each top-level domain has a zone at least; make more zones, or \
                 fewer top-level domains"
            ));
        }
        if !(1..=MOST_HOSTERS).contains(&options.hosters) {
            return refuse(format!("--hosters: make between 1 and {} hosters", count(MOST_HOSTERS.into())));
        }
        if !(LEAST_OWN..=MOST_OWN).contains(&options.own_servers) {
            return refuse(format!(
                "--own-servers: make between {LEAST_OWN} and {} servers",
                count(MOST_OWN.into())
            ));
        }
        if !(1..=MOST_CHAIN).contains(&options.chain) {
            return refuse(format!("--chain: between 1 and {MOST_CHAIN}: resolvers give up on longer ones"));
        }
        if options.slow > LONGEST_SLOW {
            return refuse(format!("--slow: at most {LONGEST_SLOW:?}"));
        }
        if !options.prefix.is_ipv4() || options.prefix6.is_some_and(|prefix| prefix.is_ipv4()) {
            return refuse(
                "--prefix is of IPv4, as 10.64.0.0/10, and --prefix6 of IPv6, as fd00:64::/64".into(),
            );
        }
        let ttls = parse_ttls(&options.ttl).map_err(WorldError::Option)?;
        Ok(Rules { options: options.clone(), draw: Draw::new(options.seed), ttls })
    }

    pub(crate) fn share(&self, share: Share) -> f64 {
        self.options.share.get(share)
    }

    /// A TTL of the mix.
    pub(crate) fn ttl_s(&self, draw: Draw) -> u32 {
        draw.at(Purpose::Ttl).pick(&self.ttls).unwrap_or(3_600)
    }
}

/// Reads `SECONDS=SHARE,…`.
fn parse_ttls(text: &str) -> Result<Vec<(f64, u32)>, String> {
    let form = |part: &str| format!("--ttl: `{part}` is not a TTL with its share: write it like 300=50%");
    let read = |part: &str| {
        let (ttl, share) = part.trim().split_once('=').ok_or_else(|| form(part))?;
        let ttl: u32 = ttl.parse().ok().filter(|ttl| *ttl <= MOST_TTL_S).ok_or_else(|| form(part))?;
        Ok::<_, String>((parse_percent(share).map_err(|_| form(part))?, ttl))
    };
    let ttls = text.split(',').map(read).collect::<Result<Vec<_>, _>>()?;
    let sum: f64 = ttls.iter().map(|(share, _)| share).sum();
    if (sum - 1.0).abs() > 1e-6 {
        return Err(format!("--ttl: the shares add up to {}%, and not to 100%", sum * 100.0));
    }
    Ok(ttls)
}

fn captured_server(text: &str) -> Result<CapturedServer, String> {
    CapturedServer::parse(text)
        .ok_or_else(|| "not a server of a capture: write ADDRESS, ADDRESS:PORT or [IPV6]:PORT".to_owned())
}

fn number(text: &str) -> Result<u64, String> {
    parse_count(text).map_err(|error| error.to_string())
}

fn small(text: &str) -> Result<u32, String> {
    number(text).and_then(|number| u32::try_from(number).map_err(|_| format!("`{text}` is too large")))
}

fn duration(text: &str) -> Result<Duration, String> {
    parse_duration_ns(text).map(Duration::from_nanos).map_err(|error| error.to_string())
}

/// Reads a share such as `2%`, as 0 to 1.
///
/// # Errors
/// It is no percentage, or more than all.
pub fn parse_share(text: &str) -> Result<f64, String> {
    let share = parse_percent(text).map_err(|error| error.to_string())?;
    if share <= 1.0 { Ok(share) } else { Err(format!("`{text}` is more than 100%")) }
}

const HIERARCHY: &str = "Hierarchy";
const SERVERS: &str = "Name servers";

/// Short TTLs of what is moved between addresses, days of what is not.
const DEFAULT_TTLS: &str = "30=5%,60=15%,300=30%,3600=30%,86400=20%";

/// A label has at most five syllables, which number ten thousand million zones.
const MOST_ZONES: u64 = 1_000_000_000;
const MOST_TLDS: u32 = 5_000;
const MOST_HOSTERS: u32 = 10_000;

/// A zone has up to three of them, all different.
const LEAST_OWN: u32 = 4;
const MOST_OWN: u32 = 1_000_000;

/// Unbound and BIND follow eleven and more, Knot Resolver twelve.
const MOST_CHAIN: u32 = 8;
const LONGEST_SLOW: Duration = Duration::from_secs(60);

/// RFC 8767 §4 lets resolvers cap TTLs at seven days; longer ones could not be seen.
const MOST_TTL_S: u32 = 604_800;

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: WorldOptions,
    }

    /// Options as typed.
    pub(crate) fn options(flags: &str) -> WorldOptions {
        Line::try_parse_from(["world"].into_iter().chain(flags.split_whitespace())).unwrap().options
    }

    #[test]
    fn shares_of_ttls_hold() {
        let rules = Rules::new(&options("--ttl 60=25%,3600=75%")).unwrap();
        let long = (0..10_000).filter(|n| rules.ttl_s(Draw::new(1).nth(*n)) == 3_600).count();
        assert!((7_300..7_700).contains(&long), "{long}");
    }

    #[test]
    fn signed_has_a_value_or_means_all() {
        let signed = ["", "--signed", "--signed=30%"].map(|flags| options(flags).signed);
        assert_eq!(signed, [None, Some(1.0), Some(0.3)]);
    }

    #[test]
    fn what_cannot_be_made_is_refused_with_the_bound() {
        let cases = [
            ("--zones 0", "--zones"),
            ("--zones 2G", "1,000,000,000"),
            ("--zones 3 --tlds 4", "make more zones, or fewer top-level domains"),
            ("--hosters 0", "--hosters"),
            ("--own-servers 3", "--own-servers"),
            ("--chain 9", "--chain"),
            ("--slow 2h", "--slow"),
            ("--prefix fd00::/64", "of IPv4"),
            ("--prefix6 10.0.0.0/8", "of IPv6"),
            ("--ttl 60=50%", "add up to 50%"),
            ("--ttl 60", "300=50%"),
        ];
        for (flags, words) in cases {
            let error = Rules::new(&options(flags)).unwrap_err();
            assert!(error.is_bad_input() && error.to_string().contains(words), "{flags}: {error}");
        }
    }
}
