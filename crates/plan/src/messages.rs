//! What the messages of a run carry beside their question: EDNS options, client subnets, cookies, padding, signatures.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dnsdyno_queries::{
    EcsChoice, EdnsPerQuery, Maker, Signer, SourceError, TsigKey, TsigText, edns_option, tsig_record_len,
};
use dnsdyno_queries::{SourcePrefix, Sources};
use dnsdyno_wire::{DEFAULT_EDNS_SIZE, EdnsOptions};

use crate::draft::Draft;
use crate::error::PlanError;
use crate::values::{absolute, read_as, within};

/// What is added to each message when it is sent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MessagePlan {
    tsig: Option<TsigSource>,
    verifies_tsig: bool,
    edns: EdnsPerQuery,
}

/// Where the key of the signatures comes from.
#[derive(Debug, Clone, PartialEq)]
enum TsigSource {
    Given(TsigKey),
    File(PathBuf),
}

impl MessagePlan {
    /// Reads the options of messages from a draft, in which no secret is left.
    pub(crate) fn of(
        draft: &mut Draft,
        working_dir: &Path,
        seed: u64,
        sources: Option<&Sources>,
    ) -> Result<MessagePlan, PlanError> {
        let tsig = match (&mut draft.tsig, &mut draft.tsig_file) {
            (Some(text), _) => {
                let wrong = |source| PlanError::Tsig { option: "tsig", source };
                let key = text.key().map_err(wrong)?;
                *text = TsigText::spent(&key);
                Some(TsigSource::Given(key))
            }
            (None, Some(path)) => Some(TsigSource::File(absolute(path, working_dir))),
            (None, None) => None,
        };
        let block = within("padding", draft.padding, PADDING_BYTES)?;
        let edns = EdnsPerQuery {
            ecs: ecs_of_source(draft, sources)?.or(ecs_range(draft, seed)?),
            has_cookies: *draft.cookie.get_or_insert(false),
            padding_bytes: block,
            appended_bytes: 0,
            seed,
        };
        Ok(MessagePlan { tsig, verifies_tsig: draft.tsig_verify != Some(false), edns })
    }

    /// Whether messages are signed.
    pub fn is_signed(&self) -> bool {
        self.tsig.is_some()
    }

    /// Whether messages get options when they are sent.
    pub(crate) fn needs_edns(&self) -> bool {
        self.edns.is_any()
    }

    /// The makers of a run, in their order; none if messages are sent as they were loaded. Reads the key file.
    ///
    /// # Errors
    /// If that cannot be read, or has no key.
    pub fn makers(&self) -> Result<Vec<Arc<dyn Maker>>, SourceError> {
        let key = match &self.tsig {
            None => None,
            Some(TsigSource::Given(key)) => Some(key.clone()),
            Some(TsigSource::File(path)) => {
                let cannot = |source| SourceError::KeyFile { path: path.clone(), source };
                Some(TsigKey::read(path).map_err(cannot)?)
            }
        };
        let appended_bytes = key.as_ref().map_or(0, tsig_record_len);
        let edns = EdnsPerQuery { appended_bytes, ..self.edns.clone() }.maker();
        Ok(edns.into_iter().chain(key.map(|key| Signer::maker(key, self.verifies_tsig))).collect())
    }
}

/// The EDNS options that all messages of a run have: those of `--edns-option` and of `--ecs`.
pub(crate) fn fixed_options(draft: &Draft) -> Result<EdnsOptions, PlanError> {
    let mut options = EdnsOptions::default();
    for text in draft.edns_option.iter().flatten() {
        let wrong = |expected| PlanError::Value { option: "edns-option", text: text.clone(), expected };
        let (code, data) = edns_option(text).ok_or_else(|| wrong(EDNS_OPTION))?;
        if !options.push(code, &data) {
            return Err(wrong(MANY_OPTIONS));
        }
    }
    let fixed = draft.ecs.clone().filter(|_| !draft.has_ecs_of_source());
    if let Some(subnet) = read_as("ecs", &fixed, SourcePrefix::parse, SUBNET)? {
        let (data, length) = EcsChoice::fixed(subnet).data(0, 0);
        if !options.push(EcsChoice::OPTION, &data[..length]) {
            return Err(PlanError::Value { option: "ecs", text: subnet_text(draft), expected: MANY_OPTIONS });
        }
    }
    Ok(options)
}

/// The subnet of the source address: `source` or `source/LENGTH`.
fn ecs_of_source(draft: &Draft, sources: Option<&Sources>) -> Result<Option<EcsChoice>, PlanError> {
    let Some(sources) = sources.filter(|_| draft.has_ecs_of_source()) else { return Ok(None) };
    let usual = if sources.networks().all(|network| network.first.is_ipv4()) { 24 } else { 56 };
    let parse = |text: &str| {
        let length = match text.trim().strip_prefix("source")? {
            "" => usual,
            length => length.strip_prefix('/')?.parse().ok()?,
        };
        EcsChoice::of_sources(sources.clone(), length)
    };
    read_as("ecs", &draft.ecs, parse, SUBNET)
}

fn subnet_text(draft: &Draft) -> String {
    draft.ecs.clone().unwrap_or_default()
}

/// Subnets of a range: `ADDRESS/LENGTH/SUBNET LENGTH`.
fn ecs_range(draft: &mut Draft, seed: u64) -> Result<Option<EcsChoice>, PlanError> {
    let is_per_client = *draft.ecs_per_client.get_or_insert(false);
    let parse = |text: &str| {
        let (range, length) = text.rsplit_once('/')?;
        let length = length.parse().ok().filter(|_| length.bytes().all(|byte| byte.is_ascii_digit()))?;
        EcsChoice::of_range(SourcePrefix::parse(range)?, length, is_per_client, seed)
    };
    read_as("ecs-range", &draft.ecs_range, parse, RANGE)
}

/// The EDNS payload size that is needed for options that are added when a message is sent.
pub(crate) fn edns_size_needed(plan: &MessagePlan) -> Option<u16> {
    plan.needs_edns().then_some(DEFAULT_EDNS_SIZE)
}

/// The block of RFC 8467 is 128; a larger one than a UDP payload makes no sense.
const PADDING_BYTES: std::ops::RangeInclusive<u64> = 2..=4_096;

const EDNS_OPTION: &str = "an EDNS option: write its code and its data in hexadecimal, such as 65001:c0ffee";
const MANY_OPTIONS: &str = "possible beside the others: all options together take at most 512 bytes";
const SUBNET: &str = "a client subnet: write it like 192.0.2.0/24 or 2001:db8::/56, or source or source/24 for that \
                      of the source address";
const RANGE: &str =
    "a range of client subnets: write it as ADDRESS/LENGTH/LENGTH of a subnet, like 10.0.0.0/8/24";

#[cfg(test)]
mod tests {
    use super::*;

    fn plan_of(toml: &str) -> Result<MessagePlan, PlanError> {
        MessagePlan::of(&mut Draft::from_toml(toml).unwrap(), Path::new("/tmp"), 7, None)
    }

    fn options_of(toml: &str) -> Result<Vec<u8>, String> {
        fixed_options(&Draft::from_toml(toml).unwrap())
            .map(|options| options.bytes().to_vec())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn edns_options_and_a_client_subnet_are_the_same_for_all_queries() {
        let both = options_of("edns-option = [\"65001:C0ffee\", \"3:\"]\necs = \"192.0.2.0/24\"");
        assert_eq!(both.unwrap(), b"\xfd\xe9\0\x03\xc0\xff\xee\0\x03\0\0\0\x08\0\x07\0\x01\x18\0\xc0\0\x02");
        for text in ["65001", "x:00", "65536:00", "1:0", "1:0g", ":00", "+1:00"] {
            let error = options_of(&format!("edns-option = [\"{text}\"]")).expect_err("not an option");
            assert!(error.contains(text) && error.contains("65001:c0ffee"), "{error}");
        }
        let long = format!("edns-option = [\"1:{}\"]", "00".repeat(509));
        assert!(options_of(&long).expect_err("too long").contains("512 bytes"));
        assert!(options_of("ecs = \"192.0.2.0\"").expect_err("no length").contains("192.0.2.0/24"));
    }

    #[test]
    fn a_run_without_any_has_no_maker() {
        let plan = plan_of("").unwrap();
        assert!(plan.makers().unwrap().is_empty() && !plan.is_signed() && !plan.needs_edns());
        let all = plan_of("tsig = \"key:YQ==\"\ncookie = true\npadding = 128\necs-range = \"10.0.0.0/8/24\"");
        assert_eq!(all.unwrap().makers().unwrap().len(), 2);
    }

    #[test]
    fn the_draft_keeps_algorithm_and_name_of_a_key_and_no_secret() {
        let mut draft = Draft::from_toml("tsig = \"key.example:c2VjcmV0\"").unwrap();
        MessagePlan::of(&mut draft, Path::new("/tmp"), 7, None).unwrap();
        assert_eq!(draft.tsig.as_ref().map(ToString::to_string).as_deref(), Some("hmac-sha256:key.example"));
        let error =
            MessagePlan::of(&mut draft, Path::new("/tmp"), 7, None).expect_err("no secret").to_string();
        assert!(error.starts_with("--tsig: the key has no secret"), "{error}");
    }

    #[test]
    fn a_key_file_is_read_when_the_run_is_prepared() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tsig.key");
        let plan = plan_of(&format!("tsig-file = \"{}\"", path.display())).unwrap();
        let error = plan.makers().expect_err("no file").to_string();
        assert!(error.contains("tsig.key"), "{error}");
        std::fs::write(&path, "key a { algorithm hmac-md5; secret \"YQ==\"; };").unwrap();
        assert_eq!(plan.makers().unwrap().len(), 1);
    }

    #[test]
    fn a_range_smaller_than_a_subnet_and_a_block_of_nothing_are_refused() {
        for text in ["10.0.0.0/8", "10.0.0.0/8/7", "10.0.0.0/8/33", "x/8/24", "10.0.0.0/8/+24"] {
            let error = plan_of(&format!("ecs-range = \"{text}\"")).expect_err("no range").to_string();
            assert!(error.contains("10.0.0.0/8/24"), "{error}");
        }
        assert!(plan_of("padding = 1").is_err() && plan_of("padding = 5000").is_err());
    }
}
