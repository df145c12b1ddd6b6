//! What the data of types consists of that the parser of `domain` 0.12 knows by name only, in their own form.

/// A part of the data.
#[derive(Clone, Copy)]
pub(super) enum Field {
    /// A number of one octet.
    U8,
    /// A number of two octets.
    U16,
    /// A number of four octets.
    U32,
    /// A number of one octet, or the mnemonic of an algorithm of DNSSEC.
    Algorithm,
    /// A number of two octets, or the mnemonic of a type of certificate.
    CertificateType,
    /// A number of one octet, or the mnemonic of a scheme of DSYNC.
    Scheme,
    /// A type.
    Type,
    /// A domain name.
    Name,
    /// Domain names up to the end.
    Names,
    /// A character string.
    Text,
    /// Character strings up to the end.
    Texts,
    /// A text without its length, which is the rest.
    Rest,
    /// Up to the end, in any number of words.
    Base64,
    /// Up to the end, in any number of words.
    Hex,
    /// An IPv4 address.
    Ipv4,
    /// 64 bits in four groups of hexadecimal digits, with colons.
    Locator,
    /// So many octets of two hexadecimal digits each, with hyphens.
    Octets(usize),
    /// An address of NSAP: `0x`, and hexadecimal digits with dots between them.
    Nsap,
    /// Types up to the end, as a bitmap (RFC 4034, 4.1.2).
    Types,
    /// Prefixes of addresses up to the end (RFC 3123).
    Prefixes,
    /// A place on the earth (RFC 1876).
    Location,
    /// What a HIP record has before its servers: algorithm, tag and key (RFC 8005).
    HostIdentity,
    /// A relay of AMT: discovery, the type of the relay, and the relay (RFC 8777).
    Relay,
}

/// The parts of the data of a type; `None` where the parser reads it, or nobody does.
pub(super) fn fields_of(rtype: u16) -> Option<&'static [Field]> {
    use Field::*;
    Some(match rtype {
        // AFSDB, RT, KX, LP
        18 | 21 | 36 | 107 => &[U16, Name],
        // X25
        19 => &[Text],
        // ISDN, NINFO, SPF, AVC, RESINFO, WALLET, CLA
        20 | 56 | 99 | 258 | 261 | 262 | 263 => &[Texts],
        // NSAP
        22 => &[Nsap],
        // NSAP-PTR
        23 => &[Name],
        // KEY, RKEY
        25 | 57 => &[U16, U8, Algorithm, Base64],
        // PX
        26 => &[U16, Name, Name],
        // GPOS
        27 => &[Text, Text, Text],
        // LOC
        29 => &[Location],
        // CERT
        37 => &[CertificateType, U16, Algorithm, Base64],
        // APL
        42 => &[Prefixes],
        // DHCID
        49 => &[Base64],
        // SMIMEA
        53 => &[U8, U8, U8, Hex],
        // HIP
        55 => &[HostIdentity, Names],
        // TALINK
        58 => &[Name, Name],
        // CSYNC
        62 => &[U32, U16, Types],
        // DSYNC
        66 => &[Type, Scheme, U16, Name],
        // NID, L64
        104 | 106 => &[U16, Locator],
        // L32
        105 => &[U16, Ipv4],
        // EUI48
        108 => &[Octets(6)],
        // EUI64
        109 => &[Octets(8)],
        // URI
        256 => &[U16, U16, Rest],
        // AMTRELAY
        260 => &[U8, Relay],
        // TA, DLV
        32_768 | 32_769 => &[U16, Algorithm, U8, Hex],
        _ => return None,
    })
}

/// The number of an algorithm of DNSSEC in IANA's registry.
pub(super) const ALGORITHMS: &[(&str, u16)] = &[
    ("RSAMD5", 1),
    ("DH", 2),
    ("DSA", 3),
    ("RSASHA1", 5),
    ("DSA-NSEC3-SHA1", 6),
    ("RSASHA1-NSEC3-SHA1", 7),
    ("RSASHA256", 8),
    ("RSASHA512", 10),
    ("ECC-GOST", 12),
    ("ECDSAP256SHA256", 13),
    ("ECDSAP384SHA384", 14),
    ("ED25519", 15),
    ("ED448", 16),
    ("INDIRECT", 252),
    ("PRIVATEDNS", 253),
    ("PRIVATEOID", 254),
];

/// The types of certificates (RFC 4398, 2.1).
pub(super) const CERTIFICATES: &[(&str, u16)] = &[
    ("PKIX", 1),
    ("SPKI", 2),
    ("PGP", 3),
    ("IPKIX", 4),
    ("ISPKI", 5),
    ("IPGP", 6),
    ("ACPKIX", 7),
    ("IACPKIX", 8),
    ("URI", 253),
    ("OID", 254),
];

/// The schemes of DSYNC (RFC 9859, 6.2).
pub(super) const SCHEMES: &[(&str, u16)] = &[("NOTIFY", 1)];
