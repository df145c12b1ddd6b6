//! The file of an experiment, as it is written: TOML, unchecked, without defaults. docs/experiment.md explains the
//! keys.
//!
//! It is read here and not in `plan`, because it names templates of servers, which only `lab` knows.

use std::collections::BTreeMap;

use dnsdyno_plan::{Draft, MemberDraft, PieceDraft, check_format, without_secrets};
use serde::{Deserialize, Serialize};
use toml::de::{DeTable, DeValue};

use super::given::Given;
use super::keys::{Unknown, fields_of};
use super::load_file::{AnswersWord, FindTable, LoadKeys, LoadTable};
use super::text::{ColumnText, SecretText, Text};

/// A file, or the table `full` of one, whose keys replace those of the file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct File {
    /// The format of the file, see [`check_format`].
    pub(super) format: Option<u32>,
    pub(super) title: Option<String>,
    pub(super) repeats: Option<u32>,
    pub(super) drop_first: Option<u32>,
    pub(super) order: Option<OrderWord>,
    pub(super) seed: Option<u64>,
    pub(super) cool_down: Option<Text>,
    pub(super) steady: Option<Text>,
    pub(super) answers: Option<AnswersWord>,
    pub(super) in_doubt: Option<InDoubtWord>,
    pub(super) retries: Option<u32>,
    pub(super) start: Option<StartWord>,
    pub(super) namespace: Option<NamespaceWord>,
    pub(super) pin: Option<bool>,
    pub(super) watch: Option<Text>,
    pub(super) columns: Option<Vec<ColumnText>>,
    pub(super) run: Draft,
    pub(super) path: Option<PathTable>,
    pub(super) server: Vec<ServerTable>,
    pub(super) helper: Vec<ServerTable>,
    pub(super) load: Vec<LoadTable>,
    pub(super) event: Vec<EventTable>,
    pub(super) tune: Option<TuneTable>,
    pub(super) full: Option<Box<File>>,
    /// Not of the file: of who runs it.
    #[serde(skip)]
    pub(super) given: Given,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum OrderWord {
    InTurn,
    RandomBlocks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum InDoubtWord {
    Discard,
    Keep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum StartWord {
    Fresh,
    Kept,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum NamespaceWord {
    Auto,
    Own,
    Host,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ChangesWord {
    One,
    Several,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ServerWord {
    Stop,
    Continue,
    Kill,
    Restart,
}

/// A server, with its variants.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct ServerTable {
    pub(super) name: String,
    #[serde(default)]
    pub(super) variant: Vec<VariantTable>,
    pub(super) start: Option<StartWord>,
    #[serde(flatten)]
    pub(super) config: Config,
}

/// What a variant has otherwise than its server.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct VariantTable {
    pub(super) name: String,
    pub(super) changes: Option<ChangesWord>,
    #[serde(flatten)]
    pub(super) config: Config,
}

/// How a server is started, or where it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub(super) struct Config {
    pub(super) template: Option<String>,
    pub(super) address: Option<String>,
    pub(super) program: Option<String>,
    pub(super) root: Option<String>,
    pub(super) optional: Option<bool>,
    pub(super) threads: Option<u32>,
    pub(super) receive_buffer: Option<Text>,
    pub(super) zone: Option<String>,
    pub(super) origin: Option<String>,
    pub(super) stub: Option<String>,
    pub(super) hierarchy: Option<String>,
    pub(super) prepare: Option<String>,
    pub(super) ready_when: Option<String>,
    pub(super) ready_within: Option<Text>,
    pub(super) path: Option<PathTable>,
    pub(super) parts: Option<Vec<String>>,
    pub(super) values: BTreeMap<String, Text>,
    /// Not written, so that no text has its values.
    #[serde(skip_serializing)]
    pub(super) environment: BTreeMap<String, SecretText>,
    pub(super) sysctl: BTreeMap<String, Text>,
    pub(super) settings: BTreeMap<String, Text>,
    pub(super) open_files: Option<u32>,
    pub(super) cpu_quota: Option<Text>,
}

/// Something that happens during a run.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct EventTable {
    pub(super) name: Option<String>,
    pub(super) at: Option<Text>,
    pub(super) every: Option<Text>,
    pub(super) run: Option<String>,
    pub(super) server: Option<ServerWord>,
    pub(super) pause: Option<Text>,
    pub(super) path: Option<PathTable>,
    pub(super) helper: Option<String>,
    pub(super) on: Option<Vec<String>>,
    pub(super) loads: Option<Vec<String>>,
}

/// What `dnsdyno tune` does with the file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct TuneTable {
    pub(super) server: Option<String>,
    pub(super) load: Option<String>,
    pub(super) parameters: Option<Vec<String>>,
    pub(super) without: Option<Vec<String>>,
    pub(super) r#for: Option<Text>,
    pub(super) smallest_gain: Option<Text>,
    pub(super) pairs: Option<u32>,
    pub(super) judge: Option<String>,
}

/// What a path does, in the words of `dnsdyno relay`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct PathTable {
    pub(super) between: Option<String>,
    pub(super) delay: Option<Text>,
    pub(super) loss: Option<Text>,
    pub(super) burst: Option<Text>,
    pub(super) duplicate: Option<Text>,
    pub(super) reorder: Option<Text>,
    pub(super) rate: Option<Text>,
    pub(super) queue: Option<Text>,
    pub(super) order: Option<Text>,
    pub(super) to_server: Option<String>,
    pub(super) to_client: Option<String>,
}

impl File {
    /// Reads the text of a file, with the keys of its table `full` in the place of its own where `full` is wanted.
    ///
    /// # Errors
    /// A sentence with the line.
    pub(super) fn read(text: &str, full: bool) -> Result<File, String> {
        let sentence = |error: toml::de::Error| without_secrets(error.to_string().trim_end());
        let tree = DeTable::parse(text).map_err(sentence)?;
        check_format(tree.get_ref(), FORMAT)?;
        if let Some(at) = consent(tree.get_ref()) {
            let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
            return Err(format!("line {line}: {CONSENT}"));
        }
        unknown(tree.get_ref(), true).map_or(Ok(()), |found| Err(found.sentence(text)))?;
        let mut file: File = toml::from_str(text).map_err(sentence)?;
        match (file.full.take(), full) {
            (Some(over), true) => file.replaced_by(*over),
            (None, true) => Err("it has no table [full], so there is no --full of it".to_owned()),
            (_, false) => Ok(file),
        }
    }

    fn replaced_by(self, over: File) -> Result<File, String> {
        fn list<T>(own: Vec<T>, over: Vec<T>) -> Vec<T> {
            if over.is_empty() { own } else { over }
        }
        Ok(File {
            format: self.format,
            title: over.title.or(self.title),
            repeats: over.repeats.or(self.repeats),
            drop_first: over.drop_first.or(self.drop_first),
            order: over.order.or(self.order),
            seed: over.seed.or(self.seed),
            cool_down: over.cool_down.or(self.cool_down),
            steady: over.steady.or(self.steady),
            answers: over.answers.or(self.answers),
            in_doubt: over.in_doubt.or(self.in_doubt),
            retries: over.retries.or(self.retries),
            start: over.start.or(self.start),
            namespace: over.namespace.or(self.namespace),
            pin: over.pin.or(self.pin),
            watch: over.watch.or(self.watch),
            columns: over.columns.or(self.columns),
            run: self.run.overlay(over.run).map_err(|error| error.to_string())?,
            path: over.path.or(self.path),
            server: list(self.server, over.server),
            helper: list(self.helper, over.helper),
            load: list(self.load, over.load),
            event: list(self.event, over.event),
            tune: over.tune.or(self.tune),
            full: None,
            given: Given::default(),
        })
    }
}

/// The first key of a file that is not known.
fn unknown(file: &DeTable<'_>, is_whole: bool) -> Option<Unknown> {
    let of_whole: &[&str] = if is_whole { &[] } else { &["full", "format"] };
    let known = without(fields_of::<File>(), of_whole);
    let config = fields_of::<Config>();
    let server: Vec<&str> = ["name", "variant", "start"].iter().chain(config).copied().collect();
    let variant: Vec<&str> = ["name", "changes"].iter().chain(config).copied().collect();
    let options = without(fields_of::<Draft>(), &["format"]);
    let load: Vec<&str> = fields_of::<LoadKeys>().iter().chain(&options).copied().collect();
    let in_file = Unknown::first("the file", file, &known);
    let in_file = in_file.map(|unknown| {
        unknown.advised(&options, "it is an option of runs: write it in [run] or in a [[load]]")
    });
    in_file.or_else(|| {
        let of_servers = ["server", "helper"].into_iter().find_map(|kind| {
            tables(file, kind).find_map(|table| {
                let own = Unknown::first(&format!("[[{kind}]]"), table, &server);
                own.or_else(|| in_tables(table, "path", fields_of::<PathTable>())).or_else(|| {
                    tables(table, "variant")
                        .find_map(|table| Unknown::first("[[server.variant]]", table, &variant))
                })
            })
        });
        let drafts = tables(file, "run").map(|table| ("[run]", table, options.clone()));
        let loads = tables(file, "load").map(|table| ("[[load]]", table, load.clone()));
        let in_drafts = || {
            drafts.chain(loads).find_map(|(place, table, known)| {
                Unknown::first(place, table, &known)
                    .or_else(|| in_tables(table, "find", fields_of::<FindTable>()))
                    .or_else(|| in_tables(table, "piece", fields_of::<PieceDraft>()))
                    .or_else(|| in_tables(table, "member", fields_of::<MemberDraft>()))
            })
        };
        let of_path = || in_tables(file, "path", fields_of::<PathTable>());
        let of_tune = || in_tables(file, "tune", fields_of::<TuneTable>());
        of_servers
            .or_else(of_path)
            .or_else(of_tune)
            .or_else(in_drafts)
            .or_else(|| in_tables(file, "event", fields_of::<EventTable>()))
            .or_else(|| {
                tables(file, "event").find_map(|event| in_tables(event, "path", fields_of::<PathTable>()))
            })
            .or_else(|| tables(file, "full").find_map(|table| unknown(table, false)))
    })
}

/// The keys but for those that are of the whole file only.
fn without<'a>(keys: &[&'a str], left_out: &[&str]) -> Vec<&'a str> {
    keys.iter().copied().filter(|key| !left_out.contains(key)).collect()
}

/// Where a permission to load a server is, which nobody gives by a file.
fn consent(table: &DeTable<'_>) -> Option<usize> {
    fn within(value: &DeValue<'_>) -> Option<usize> {
        match value {
            DeValue::Table(table) => consent(table),
            DeValue::Array(list) => list.iter().find_map(|item| within(item.get_ref())),
            _ => None,
        }
    }
    table.iter().find_map(|(key, value)| match key.get_ref() == "i-may-load-this-server" {
        true => Some(key.span().start),
        false => within(value.get_ref()),
    })
}

fn in_tables(table: &DeTable<'_>, key: &str, known: &[&str]) -> Option<Unknown> {
    tables(table, key).find_map(|inner| Unknown::first(&format!("[[{key}]]"), inner, known))
}

/// The tables under a key: one, or each of a list.
fn tables<'a, 'i>(table: &'a DeTable<'i>, key: &str) -> impl Iterator<Item = &'a DeTable<'i>> {
    let value = table.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value.get_ref());
    let (one, several) = match value {
        Some(DeValue::Table(table)) => (Some(table), None),
        Some(DeValue::Array(list)) => (None, Some(list)),
        _ => (None, None),
    };
    let of_list =
        several.into_iter().flat_map(|list| list.iter().filter_map(|item| item.get_ref().as_table()));
    one.into_iter().chain(of_list)
}

/// The format of files of experiments. A file without the key has format 1.
pub const FORMAT: u32 = 1;

const CONSENT: &str = "`i-may-load-this-server` in a file is nobody's word: remove it, and give \
                       --i-may-load-this-server ADDRESS on the command line, if you own the server at this \
                       address, or its owner has agreed";
