//! Why a text or a file has no key.

use dnsdyno_text::safe;

/// Why there is no key. No text of these has the secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TsigError {
    /// No colon.
    #[error("write a key as NAME:SECRET or ALGORITHM:NAME:SECRET; the secret in base64")]
    Form,
    /// Three parts, of which the first is no algorithm.
    #[error("write a key as ALGORITHM:NAME:SECRET, in this order; the algorithm is one such as hmac-sha256")]
    Order,
    /// The secret is missing, as in the plan of a record.
    #[error(
        "the key has no secret, which a record never contains: give the whole key, or use --tsig-file FILE"
    )]
    NoSecret,
    /// An unknown algorithm.
    #[error(
        "`{}` is not an algorithm: use hmac-md5, hmac-sha1, hmac-sha224, hmac-sha256, hmac-sha384 or hmac-sha512, \
         or one of them with the bits of a truncated MAC, such as hmac-sha256-128",
        safe(.0)
    )]
    Algorithm(String),
    /// Too much or too little is cut off.
    #[error("the MAC of {name} can have {shortest} to {longest} bits, in whole bytes")]
    Truncation {
        /// The algorithm.
        name: &'static str,
        /// Fewest bits.
        shortest: usize,
        /// Most bits.
        longest: usize,
    },
    /// The name is not a domain name.
    #[error("`{}` is not a name of a key: a key has a domain name, such as key.example", safe(.0))]
    Name(String),
    /// The secret is not base64.
    #[error("the secret of the key is not base64")]
    Secret,
    /// The file cannot be read.
    #[error("cannot read the key file: {0}")]
    Read(String),
    /// The file has no key.
    #[error(
        "the key file has no key: it must be one of BIND (as tsig-keygen writes it), NSD (`key:` with `name:`) or Knot \
         (as keymgr writes it), or have one line NAME:SECRET"
    )]
    NoKey,
    /// The file has several.
    #[error("the key file has several keys: leave one")]
    SeveralKeys,
}
