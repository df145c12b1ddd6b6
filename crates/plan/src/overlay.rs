//! Plan files: reading, writing, and combining with the flags of the command line.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use dnsdyno_text::encoding::decoded;
use dnsdyno_text::secret::{SECRET, without_credentials};
use toml::Table;
use toml::de::DeTable;

use crate::draft::Draft;
use crate::error::PlanError;
use crate::format::{FORMAT, check_format};
use crate::groups::Group;
use crate::target::has_port;

impl Draft {
    /// Reads a plan file of a user. It cannot allow the load of a server: who runs it does.
    pub fn read(path: &Path) -> Result<Draft, PlanError> {
        let draft = Draft::read_kept(path)?;
        match draft.i_may_load_this_server {
            None => Ok(draft),
            Some(_) => Err(PlanError::BadPlan { path: path.to_owned(), reason: CONSENT_IN_FILE.to_owned() }),
        }
    }

    /// Reads the plan of a record; those of older versions have the permission of their run.
    pub fn read_kept(path: &Path) -> Result<Draft, PlanError> {
        let cannot = |reason: String| PlanError::ReadPlan { path: path.to_owned(), reason };
        let mut octets = Vec::new();
        let file = File::open(path).map_err(|error| cannot(error.to_string()))?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            let inside = path.join("plan.toml");
            return Err(cannot(format!("it is a folder; the plan of a run is --plan {}", inside.display())));
        }
        let read = file.take(MAX_PLAN_BYTES + 1).read_to_end(&mut octets);
        if octets.len() as u64 > MAX_PLAN_BYTES {
            return Err(cannot("it is larger than 4 MiB: use fewer, longer pieces".to_owned()));
        }
        read.map_err(|error| cannot(error.to_string()))?;
        let text = decoded(octets).map_err(|error| cannot(error.to_string()))?;
        Draft::from_toml(&text).map_err(|reason| PlanError::BadPlan { path: path.to_owned(), reason })
    }

    /// Reads the text of a plan file. The error names the line, and the key where that is unknown.
    pub fn from_toml(text: &str) -> Result<Draft, String> {
        // What is no TOML is told below, with its line.
        DeTable::parse(text).map_or(Ok(()), |tree| check_format(tree.get_ref(), FORMAT))?;
        let draft: Result<Draft, _> = toml::from_str(text);
        draft.map(|draft| Draft { format: None, ..draft }).map_err(|error| {
            let text = without_secrets(&error.to_string());
            // The list of all keys would hide the error.
            match text.split_once(", expected one of `format`") {
                Some((error, _)) => {
                    format!("{error}: keys are the long options without dashes, see `dnsdyno run --help`")
                }
                None => text.trim_end().to_owned(),
            }
        })
    }

    /// The text of an equivalent plan file, without secrets and without the permission to load a server: who uses the
    /// file gives them again.
    pub fn to_toml(&self) -> Result<String, PlanError> {
        toml::to_string(self).map_err(cannot_write)
    }

    /// The options that are given, by their keys, as text.
    pub fn options(&self) -> Result<BTreeMap<String, String>, PlanError> {
        let keys = Table::try_from(self).map_err(cannot_write)?;
        let text = |value: toml::Value| match value {
            toml::Value::String(text) => text,
            value => value.to_string(),
        };
        Ok(keys.into_iter().map(|(key, value)| (key, text(value))).collect())
    }

    /// This draft, overridden by `flags`.
    ///
    /// The flags replace some groups of options as a whole: the shape of the load (a rate on the command line replaces
    /// the ramp of the file), the source of queries, the servers, the transports, and what ends the run. The permission
    /// to load a server is valid only for that server.
    ///
    /// `outstanding` together with a shape is its window. It is kept when the flags replace the shape, and changed
    /// by `outstanding` alone. Where the file has no window, `outstanding` alone is another load (closed
    /// loop) and replaces the shape; a shape replaces a closed loop.
    pub fn overlay(mut self, flags: Draft) -> Result<Draft, PlanError> {
        let (shapes, of_file) = (flags.choices(Group::Shape), self.choices(Group::Shape));
        let (has_shape, had_shape) = (!shapes.is_empty(), !of_file.is_empty());
        if has_shape && !had_shape {
            self.outstanding = None;
        }
        let is_new_shape = has_shape && shapes != of_file;
        if is_new_shape || (!has_shape && flags.outstanding.is_some() && self.outstanding.is_none()) {
            self.clear(Group::Shape);
        }
        if flags.chooses(Group::End) {
            let duration = self.duration.take();
            self.clear(Group::End);
            // The duration is a part of the shape of bursts.
            self.duration = duration.filter(|_| self.burst.is_some());
        }
        for group in [Group::Source, Group::Transport, Group::Servers] {
            if flags.chooses(group) {
                self.clear(group);
            }
        }
        if flags.server.as_deref().is_some_and(has_port) {
            self.port = None;
        }
        // What is not written as it is.
        let tsig = flags.tsig.clone().or(self.tsig.take());
        let watch = flags.watch.clone().or(self.watch.take());
        let i_may_load_this_server = flags.i_may_load_this_server.or(self.i_may_load_this_server);
        // For each other key, the value of the flags or else that of the file.
        let mut keys = Table::try_from(self).map_err(cannot_write)?;
        keys.extend(Table::try_from(flags).map_err(cannot_write)?);
        let all: Draft = keys.try_into().map_err(cannot_write)?;
        Ok(Draft { tsig, watch, i_may_load_this_server, ..all })
    }
}

/// The error of a file, which shows a line of it, without what may be a secret in this line.
pub fn without_secrets(error: &str) -> String {
    let line = |line: &str| {
        let lower = line.to_ascii_lowercase();
        let is_of_secret = SECRET_WORDS.iter().any(|word| lower.contains(word));
        match line.split_once('=').filter(|(before, _)| is_of_secret && before.contains(" | ")) {
            Some((key, _)) => format!("{key}= {SECRET}"),
            None => without_credentials(line).into_owned(),
        }
    };
    error.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// What the line of a secret has in its key.
const SECRET_WORDS: [&str; 6] = ["tsig", "environment", "pass", "token", "secret", "key"];

/// Why a permission in a file is refused; another program or person may have written the file.
const CONSENT_IN_FILE: &str = "`i-may-load-this-server` in a file is nobody's word: remove it, and give \
                                   --i-may-load-this-server on the command line if you own the server, or its owner \
                                   has agreed";

/// The largest plan file: a piece for each second of a day, with room. Reading takes some forty times as much memory.
const MAX_PLAN_BYTES: u64 = 4 << 20;

fn cannot_write(error: impl Display) -> PlanError {
    PlanError::WritePlan(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(text: &str) -> Draft {
        Draft::from_toml(text).expect("a good plan file")
    }

    impl Draft {
        fn under(self, flags: Draft) -> Draft {
            self.overlay(flags).expect("a plan")
        }
    }

    #[test]
    fn quantities_may_be_text_or_bare_numbers() {
        let read = draft("rate = 50000\nfor = 1.5\ntimeout = \"5s\"\ncount = \"1M\"\nseed = 7");
        assert_eq!(read.rate.as_deref(), Some("50000"));
        assert_eq!(read.duration.as_deref(), Some("1.5"));
        assert_eq!(read.timeout.as_deref(), Some("5s"));
        assert_eq!((read.count.as_deref(), read.seed.as_deref()), (Some("1M"), Some("7")));
    }

    #[test]
    fn a_file_may_begin_with_a_byte_order_mark_and_utf_16_is_named() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let path = folder.path().join("plan.toml");
        std::fs::write(&path, "\u{feff}rate = \"5\"\n").expect("a file for the test");
        assert_eq!(Draft::read(&path), Draft::from_toml("rate = \"5\"").map_err(|_| PlanError::NoServer));
        std::fs::write(&path, b"\xff\xfer\0").expect("a file for the test");
        let error = Draft::read(&path).expect_err("UTF-16").to_string();
        assert!(error.contains("UTF-16") && error.contains("iconv"), "{error}");
    }

    #[test]
    fn an_unknown_key_is_an_error_that_names_it() {
        let error = Draft::from_toml("rate = 1\nretries = 3\n").expect_err("no such key");
        assert!(error.contains("retries") && error.contains("line 2"), "{error}");
        let error = Draft::from_toml("[[piece]]\nrate = 1\nfor = 1\nholds = 2").expect_err("no such key");
        assert!(error.contains("holds"), "{error}");
    }

    #[test]
    fn a_piece_without_a_length_and_a_value_of_the_wrong_kind_are_errors() {
        assert!(Draft::from_toml("[[piece]]\nrate = 1").expect_err("no length").contains("for"));
        assert!(Draft::from_toml("rate = true").expect_err("no number").contains("a number, or a text"));
        assert!(Draft::from_toml("family = \"v5\"").expect_err("no family").contains("v5"));
        assert!(Draft::from_toml("port = 70000").is_err());
        assert!(Draft::from_toml("rate = inf").is_err());
    }

    #[test]
    fn flags_override_the_file_and_keep_the_rest() {
        let both = draft("server = \"a\"\ntimeout = \"2s\"\nworkers = 3").under(draft("timeout = \"1s\""));
        assert_eq!(both, draft("server = \"a\"\ntimeout = \"1s\"\nworkers = 3"));
    }

    #[test]
    fn a_load_on_the_command_line_replaces_another_kind_and_refines_the_same() {
        let file = draft("stair = \"1k..5k\"\nstep = \"1k\"\nhold = \"10s\"");
        assert_eq!(file.clone().under(draft("rate = 7")), draft("rate = 7"));
        assert_eq!(
            file.clone().under(draft("hold = \"1s\"")),
            draft("stair = \"1k..5k\"\nstep = \"1k\"\nhold = \"1s\"")
        );
        assert_eq!(
            file.under(draft("stair = \"2k..3k\"")),
            draft("stair = \"2k..3k\"\nstep = \"1k\"\nhold = \"10s\"")
        );
    }

    #[test]
    fn a_window_is_kept_with_another_shape_and_alone_it_is_another_load() {
        let polite = draft("ramp = \"1..5k\"\nover = 10\noutstanding = 50");
        assert_eq!(polite.clone().under(draft("rate = 7")), draft("rate = 7\noutstanding = 50"));
        assert_eq!(
            polite.clone().under(draft("outstanding = 9")),
            draft("ramp = \"1..5k\"\nover = 10\noutstanding = 9")
        );
        let both = draft("rate = 7\noutstanding = 9");
        assert_eq!(polite.under(both.clone()), both);
        assert_eq!(draft("rate = 7").under(draft("outstanding = 9")), draft("outstanding = 9"));
        assert_eq!(draft("outstanding = 9").under(draft("rate = 7")), draft("rate = 7"));
        assert_eq!(draft("outstanding = 9").under(both.clone()), both);
    }

    #[test]
    fn the_end_of_the_run_and_the_source_are_replaced_as_a_whole() {
        let file = draft("passes = 1\nqueries = \"file\"");
        assert_eq!(file.under(draft("for = 60\nask = [\"a\"]")), draft("for = 60\nask = [\"a\"]"));
        let bursts = draft("burst = \"1..2\"\nfor = 60\ncount = 5");
        assert_eq!(bursts.under(draft("passes = 2")), draft("burst = \"1..2\"\nfor = 60\npasses = 2"));
    }

    #[test]
    fn every_source_replaces_every_other_with_its_details() {
        let sources = [
            "queries = \"q.txt\"\nqueries-format = \"csv\"",
            "zone = \"z\"\norigin = \"a\"\nnxdomain = \"1%\"",
            "ask = [\"a\"]",
            "ask = [\"a\"]\ngenerator = \"static\"",
            "replay = \"c.pcap\"\nspeed = \"2\"\ncaptured-server = [\"::1\"]\ncheck-answers = true",
            "source = \"epc:clients.json\"",
        ];
        for (of_file, flags) in sources.iter().flat_map(|file| sources.map(|flags| (file, flags))) {
            let both = draft(&format!("timeout = \"1s\"\n{of_file}")).under(draft(flags));
            assert_eq!(both, draft(&format!("timeout = \"1s\"\n{flags}")), "{of_file} under {flags}");
        }
    }

    #[test]
    fn the_details_of_a_source_are_kept_where_it_is_not_replaced() {
        let file = draft("replay = \"c.pcap\"\nspeed = \"2\"\ncheck-answers = true");
        let slower = draft("replay = \"c.pcap\"\nspeed = \"0.5\"\ncheck-answers = true");
        assert_eq!(file.under(draft("speed = \"0.5\"")), slower);
    }

    #[test]
    fn a_permission_is_only_for_its_server_and_a_port_in_the_server_overrides() {
        let file = draft("server = \"a\"\nport = 5300\ni-may-load-this-server = true");
        assert_eq!(file.clone().under(draft("server = \"b:53\"")), draft("server = \"b:53\""));
        assert_eq!(file.under(draft("server = \"b\"")), draft("server = \"b\"\nport = 5300"));
    }

    #[test]
    fn a_permission_in_a_file_is_refused_and_one_in_a_record_is_not_written_again() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let path = folder.path().join("plan.toml");
        for word in ["true", "false"] {
            std::fs::write(&path, format!("i-may-load-this-server = {word}\n")).expect("a file for the test");
            let error = Draft::read(&path).expect_err("only who runs it may say so").to_string();
            assert!(error.contains("on the command line"), "{error}");
            let kept = Draft::read_kept(&path).expect("a record of an older version");
            assert_eq!(kept.to_toml().as_deref(), Ok(""));
        }
    }

    #[test]
    fn a_secret_passes_from_file_and_flags_and_is_in_no_text() {
        let file = draft("tsig = \"key:c2VjcmV0\"\nwatch = [\"bind=http://me:pw@[::1]/\"]");
        let both = file.clone().under(draft("timeout = 1"));
        assert_eq!((&both.tsig, &both.watch), (&file.tsig, &file.watch));
        let other = file.clone().under(draft("tsig = \"key:b3RoZXI=\""));
        assert_eq!(other.tsig, draft("tsig = \"key:b3RoZXI=\"").tsig);
        let written = file.to_toml().expect("a plan file");
        assert_eq!(written, "tsig = \"hmac-sha256:key\"\nwatch = [\"bind=http://(secret)@[::1]/\"]\n");
        assert!(!format!("{file:?}").contains("c2VjcmV0") && !format!("{file:?}").contains("pw@"));
    }

    #[test]
    fn a_draft_is_unchanged_after_writing_and_reading_it() {
        let text = "server = \"a\"\nask = [\"x AAAA\"]\nrate = \"5\"\nfor = \"1s\"\nseed = \"18446744073709551615\"\n\
                    [[piece]]\nrate = \"0..5k\"\nfor = \"3s\"\nlabel = \"warm-up\"\n";
        let read = draft(text);
        assert_eq!(draft(&read.to_toml().expect("a plan file")), read);
    }
}
