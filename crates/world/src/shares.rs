//! Shares by name: how the hierarchy is, and how its servers fail. A row of a table each, from which they are read,
//! bounded and listed in the help.

use std::fmt;
use std::str::FromStr;

use dnsdyno_text::notation::parse_percent;

/// Shares of how the world is made, by [`Share`].
#[derive(Clone, Debug, PartialEq)]
pub struct Shares([f64; SHARES.len()]);

/// What of zones, hosts and servers a share is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    Own,
    Child,
    Cname,
    Away,
    Aaaa,
    Aaaas,
    Wildcard,
    Large,
    Naptr,
    Ed25519,
    Nsec3,
}

/// Word, default and meaning of each share, in the order of [`Share`].
const SHARES: [(&str, f64, &str); 11] = [
    (
        "own",
        0.25,
        "zones with name servers in the zone itself, so with glue; the others share those of hosters",
    ),
    ("child", 0.05, "zones that delegate a zone below them"),
    ("cname", 0.25, "hosts, www among them, that are aliases"),
    ("away", 0.7, "aliases that lead into other zones, over one or more of them"),
    ("aaaa", 0.4, "hosts with an AAAA record beside the A record"),
    ("aaaa-servers", 0.8, "name servers with an IPv6 address, where there is a --prefix6"),
    ("wildcard", 0.1, "zones with a wildcard"),
    ("large", 0.1, "zones with answers of more than 1,400 octets: names txt and many"),
    ("naptr", 0.1, "zones with NAPTR and SRV records: names sip and _sip._udp"),
    ("ed25519", 0.2, "signed zones with keys for Ed25519; the others have ECDSA P-256"),
    ("nsec3", 0.4, "signed zones with NSEC3; the others have NSEC"),
];

/// Shares of name servers and delegations that have a fault, by [`Fault`]. The default is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults([f64; FAULTS.len()]);

/// A fault of a name server, of a delegation, or of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the table below says what each is")]
pub enum Fault {
    LameRefused,
    LameServfail,
    LameReferral,
    EdnsFormerr,
    EdnsDropped,
    TcpOnly,
    Silent,
    Slow,
    LargeDnskey,
}

/// Word and meaning of each fault, in the order of [`Fault`].
const FAULTS: [(&str, &str); 9] = [
    ("lame-refused", "a server of a zone, by zone and server, says REFUSED"),
    ("lame-servfail", "the same with SERVFAIL"),
    ("lame-referral", "the same with a referral to the root"),
    ("edns-formerr", "a server answers queries with EDNS by FORMERR, without an OPT record"),
    ("edns-dropped", "a server does not answer queries with EDNS"),
    ("tcp-only", "a server answers over UDP with TC=1 and no records"),
    ("silent", "a server answers nothing"),
    ("slow", "a server answers later, by --slow"),
    ("large-dnskey", "a signed zone has so many keys that they do not fit into 1,232 octets"),
];

/// Words that stand for several faults in equal parts.
const GROUPS: [(&str, &[Fault]); 2] = [
    ("lame", &[Fault::LameRefused, Fault::LameServfail, Fault::LameReferral]),
    ("no-edns", &[Fault::EdnsFormerr, Fault::EdnsDropped]),
];

impl Fault {
    /// All of them.
    pub const ALL: [Fault; FAULTS.len()] = [
        Fault::LameRefused,
        Fault::LameServfail,
        Fault::LameReferral,
        Fault::EdnsFormerr,
        Fault::EdnsDropped,
        Fault::TcpOnly,
        Fault::Silent,
        Fault::Slow,
        Fault::LargeDnskey,
    ];

    /// Those of a name server, whatever it is asked.
    pub(crate) const OF_SERVERS: [Fault; 5] =
        [Fault::EdnsFormerr, Fault::EdnsDropped, Fault::TcpOnly, Fault::Silent, Fault::Slow];

    /// Those of a zone at one of its servers.
    pub(crate) const LAME: [Fault; 3] = [Fault::LameRefused, Fault::LameServfail, Fault::LameReferral];

    /// Its word.
    pub fn key(self) -> &'static str {
        FAULTS[self as usize].0
    }
}

impl Shares {
    pub(crate) fn get(&self, share: Share) -> f64 {
        self.0[share as usize]
    }

    /// One line a share: word, default, meaning.
    pub fn help() -> String {
        let rows = SHARES.iter().map(|(word, share, what)| (*word, format!("{}%", share * 100.0), *what));
        rows.map(|(word, share, what)| format!("  {word:<13} {share:>4}  {what}\n")).collect()
    }
}

impl Faults {
    pub(crate) fn get(&self, fault: Fault) -> f64 {
        self.0[fault as usize]
    }

    /// One line a fault: word, meaning.
    pub fn help() -> String {
        let groups = GROUPS.iter().map(|(word, faults)| {
            let words: Vec<_> = faults.iter().map(|fault| fault.key()).collect();
            (*word, format!("{} in equal parts", words.join(", ")))
        });
        let rows = FAULTS.iter().map(|(word, what)| (*word, (*what).to_owned()));
        rows.chain(groups).map(|(word, what)| format!("  {word:<13}  {what}\n")).collect()
    }
}

impl Default for Shares {
    fn default() -> Self {
        Shares(SHARES.map(|(_, share, _)| share))
    }
}

impl FromStr for Shares {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut shares = Shares::default();
        for (word, share) in pairs(text)? {
            let at = SHARES.iter().position(|(known, ..)| *known == word);
            let at = at.ok_or_else(|| unknown(word, "share", SHARES.iter().map(|(known, ..)| *known)))?;
            shares.0[at] = share;
        }
        Ok(shares)
    }
}

impl FromStr for Faults {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut faults = Faults::default();
        for (word, share) in pairs(text)? {
            let alone = FAULTS.iter().position(|(known, _)| *known == word).map(|at| vec![Fault::ALL[at]]);
            let group = || GROUPS.iter().find(|(known, _)| *known == word).map(|(_, faults)| faults.to_vec());
            let known = FAULTS.iter().map(|row| row.0).chain(GROUPS.iter().map(|row| row.0));
            let meant = alone.or_else(group).ok_or_else(|| unknown(word, "fault", known))?;
            meant.iter().for_each(|fault| faults.0[*fault as usize] = share / meant.len() as f64);
        }
        for (what, kinds) in [("a server", &Fault::OF_SERVERS[..]), ("a delegation", &Fault::LAME[..])] {
            let sum: f64 = kinds.iter().map(|fault| faults.get(*fault)).sum();
            if sum > 1.0 + 1e-9 {
                return Err(format!(
                    "{what} has one fault at most, and the shares of them add up to more than 100%"
                ));
            }
        }
        Ok(faults)
    }
}

impl fmt::Display for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_pairs(f, SHARES.iter().map(|row| row.0).zip(self.0))
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_pairs(f, FAULTS.iter().map(|row| row.0).zip(self.0).filter(|(_, share)| *share > 0.0))
    }
}

fn write_pairs<'a>(f: &mut fmt::Formatter<'_>, pairs: impl Iterator<Item = (&'a str, f64)>) -> fmt::Result {
    for (number, (word, share)) in pairs.enumerate() {
        let comma = if number == 0 { "" } else { "," };
        // 0.07 × 100 is not exactly 7: percentages are rounded to the billionth.
        write!(f, "{comma}{word}={}%", (share * 1e11).round() / 1e9)?;
    }
    Ok(())
}

/// Reads `WORD=SHARE,…`.
fn pairs(text: &str) -> Result<Vec<(&str, f64)>, String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(pair).collect()
}

fn pair(part: &str) -> Result<(&str, f64), String> {
    let (word, share) =
        part.split_once('=').ok_or_else(|| format!("`{part}` has no share: write it like {part}=1%"))?;
    let share = parse_percent(share.trim()).map_err(|error| error.to_string())?;
    if share > 1.0 {
        return Err(format!("`{part}` is more than all of them: write at most 100%"));
    }
    Ok((word.trim(), share))
}

fn unknown<'a>(word: &str, kind: &str, known: impl Iterator<Item = &'a str>) -> String {
    format!("`{word}` is not a {kind}: write one of {}", known.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_words_agree() {
        for (at, fault) in Fault::ALL.into_iter().enumerate() {
            assert_eq!((fault as usize, fault.key()), (at, FAULTS[at].0));
        }
        assert_eq!(Share::Nsec3 as usize, SHARES.len() - 1);
        assert_eq!(Shares::default().get(Share::Own), 0.25);
        assert_eq!(Shares::help().lines().count(), SHARES.len());
        assert_eq!(Faults::help().lines().count(), FAULTS.len() + GROUPS.len());
    }

    #[test]
    fn what_is_read_is_shown_and_a_group_is_divided() {
        let shares: Shares = "own=100%, nsec3=0%".parse().unwrap();
        assert_eq!(
            (shares.get(Share::Own), shares.get(Share::Nsec3), shares.get(Share::Aaaa)),
            (1.0, 0.0, 0.4)
        );
        assert_eq!(shares.to_string().parse::<Shares>().unwrap(), shares);
        let faults: Faults = "lame=3%,silent=0.5%".parse().unwrap();
        assert_eq!(faults.to_string(), "lame-refused=1%,lame-servfail=1%,lame-referral=1%,silent=0.5%");
        assert_eq!("".parse::<Faults>().unwrap(), Faults::default());
    }

    #[test]
    fn what_cannot_be_read_is_told_with_what_can() {
        let error = |text: &str| text.parse::<Faults>().unwrap_err();
        assert!(error("lam=1%").contains("lame-refused"), "{}", error("lam=1%"));
        assert!(error("lame").contains("lame=1%"));
        assert!(error("lame=101%").contains("at most 100%"));
        assert!(error("silent=60%,slow=60%").contains("one fault at most"));
        assert!("glue=1%".parse::<Shares>().unwrap_err().contains("own"));
    }
}
