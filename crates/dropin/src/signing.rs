//! `-y` and `-E`: a TSIG key and an EDNS option, as dnsperf and resperf write them.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::options::Refusal;

/// Reads `[alg:]name:secret`; returns it with its algorithm.
pub(crate) fn tsig(text: &str) -> Result<String, Refusal> {
    let (first, rest) =
        text.split_once(':').ok_or_else(|| Refusal::Warned("invalid TSIG [alg:]name:secret".into()))?;
    let (algorithm, name, secret) = match rest.split_once(':') {
        Some((name, secret)) => (first, name, secret),
        None => (USUAL_ALGORITHM, first, rest),
    };
    if !ALGORITHMS.iter().any(|known| known.eq_ignore_ascii_case(algorithm)) {
        return Err(Refusal::Warned(format!("invalid TSIG algorithm {algorithm}")));
    }
    if name.len() > LONGEST_NAME {
        return Err(Refusal::Fatal("unable to setup TSIG, name too long".into()));
    }
    if secret.is_empty() {
        return Err(Refusal::Warned("unable to setup TSIG, secret empty".into()));
    }
    if BASE64.decode(secret).is_err() {
        return Err(Refusal::Fatal("unable to setup TSIG, invalid base64 secret".into()));
    }
    Ok(format!("{}:{}:{secret}", algorithm.to_ascii_lowercase(), name.to_ascii_lowercase()))
}

/// Reads `code:value`, a number and hexadecimal digits; returns it with a code of 16 bits.
pub(crate) fn edns_option(text: &str) -> Result<String, Refusal> {
    let wrong = |what: &str| Refusal::Warned(format!("invalid EDNS Option{what}"));
    let (code, value) = text.split_once(':').ok_or_else(|| wrong(", must be code:value"))?;
    if value.is_empty() {
        return Err(wrong(", value is empty"));
    }
    if value.len() % 2 == 1 {
        return Err(wrong(", value must hex string (even number of characters)"));
    }
    let number = crate::values::strtoul(code).filter(|number| *number < u64::MAX);
    let number = number.or_else(|| code.is_empty().then_some(0));
    let number = number.ok_or_else(|| wrong(&format!(" code '{code}'")))?;
    for pair in value.as_bytes().chunks(2) {
        if !pair.iter().all(u8::is_ascii_hexdigit) {
            return Err(wrong(&format!(" hex value '{}'", String::from_utf8_lossy(pair))));
        }
    }
    Ok(format!("{}:{value}", number & 0xFFFF))
}

/// With or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

const USUAL_ALGORITHM: &str = "hmac-md5";

const ALGORITHMS: [&str; 6] =
    ["hmac-md5", "hmac-sha1", "hmac-sha224", "hmac-sha256", "hmac-sha384", "hmac-sha512"];

/// Letters of the name of a key.
const LONGEST_NAME: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_an_algorithm_a_name_and_a_secret_in_base64() {
        assert_eq!(tsig("Key:c2VjcmV0").as_deref(), Ok("hmac-md5:key:c2VjcmV0"));
        assert_eq!(tsig("HMAC-SHA256:key.:c2VjcmU=").as_deref(), Ok("hmac-sha256:key.:c2VjcmU="));
        assert_eq!(tsig("hmac-sha384:key:c2VjcmU").as_deref(), Ok("hmac-sha384:key:c2VjcmU"));
        let warned = |text: &str| Err(Refusal::Warned(text.into()));
        assert_eq!(tsig("key"), warned("invalid TSIG [alg:]name:secret"));
        assert_eq!(tsig("md5:key:c2VjcmV0"), warned("invalid TSIG algorithm md5"));
        assert_eq!(tsig("key:"), warned("unable to setup TSIG, secret empty"));
        let fatal = |text: &str| Err(Refusal::Fatal(text.into()));
        assert_eq!(tsig("key:*"), fatal("unable to setup TSIG, invalid base64 secret"));
        let long = format!("{}:c2VjcmV0", "k".repeat(257));
        assert_eq!(tsig(&long), fatal("unable to setup TSIG, name too long"));
    }

    #[test]
    fn an_option_is_a_code_and_octets_in_hexadecimal() {
        assert_eq!(edns_option("10:fa00").as_deref(), Ok("10:fa00"));
        assert_eq!(edns_option("65546:00").as_deref(), Ok("10:00"));
        let warned = |text: &str| Err(Refusal::Warned(format!("invalid EDNS Option{text}")));
        assert_eq!(edns_option("10"), warned(", must be code:value"));
        assert_eq!(edns_option("10:"), warned(", value is empty"));
        assert_eq!(edns_option("10:abc"), warned(", value must hex string (even number of characters)"));
        assert_eq!(edns_option("x:ab"), warned(" code 'x'"));
        assert_eq!(edns_option("10:abxy"), warned(" hex value 'xy'"));
    }
}
