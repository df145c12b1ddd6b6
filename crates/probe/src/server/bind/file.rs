//! The statistics file of BIND, which `rndc stats` writes: for a server without a statistics channel.
//!
//! Each `rndc stats` adds a dump to the file. It is given before each reading where the user wants that; otherwise the
//! file is read as somebody else has it written, and an interval in which it was not has no figures.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use dnsdyno_measure::Watched;
use dnsdyno_plan::Rndc;
use dnsdyno_servers::{StatisticsKind, server_of_process};
use dnsdyno_text::shown;

use super::super::common::{LONGEST_TEXT, pairs};
use super::super::parameters::{self, Owners};
use super::super::statistics::Statistics;
use super::dump::{self, Dump, DumpName};
use super::rndc;
use crate::source::{ReadError, Reading};

/// A server with a statistics file.
pub(in crate::server) struct StatisticsFile {
    path: PathBuf,
    rndc: Option<Rndc>,
    owners: Owners,
    /// The dump that was read last.
    last: Option<DumpName>,
}

impl StatisticsFile {
    pub(in crate::server) fn new(path: &Path, rndc: Option<&Rndc>, owners: Owners) -> StatisticsFile {
        StatisticsFile { path: path.to_owned(), rndc: rndc.cloned(), owners, last: None }
    }

    /// The newest dump, after `rndc stats` where that is wanted.
    fn dump(&self) -> Result<Dump, ReadError> {
        if let Some(given) = &self.rndc {
            rndc::carry_out(given, "stats")?;
        }
        let path = shown(&self.path.to_string_lossy(), LONGEST_TEXT).into_owned();
        let advice = "it is the file that `statistics-file` names, and `rndc stats` writes it";
        let cannot = |error: std::io::Error| ReadError(format!("{path} cannot be read: {error}; {advice}"));
        // Another thing than a file could be waited for without an end.
        if !self.path.metadata().map_err(cannot)?.is_file() {
            return Err(ReadError(format!("{path} is not a file; {advice}")));
        }
        let dump = File::open(&self.path).and_then(|mut file| Dump::newest(&mut file)).map_err(cannot)?;
        dump.ok_or_else(|| {
            ReadError(format!(
                "{path} has no statistics of BIND 9.5 or newer that were written whole; {advice}"
            ))
        })
    }
}

impl Statistics for StatisticsFile {
    fn describe(&mut self, watched: &mut Watched) -> Result<(), ReadError> {
        let dump = self.dump()?;
        match &self.rndc {
            Some(given) => {
                let status = rndc::carry_out(given, "status")?;
                let version = pairs(&status, ':').find(|(name, _)| *name == "version");
                watched.version = version.map(|(_, text)| version_in(text));
            }
            None => {
                watched.missing.push(format!(
                    "the figures of intervals in which nobody gives `rndc stats`, which was given {} s ago: add ,rndc \
                     to the path to have it given before each reading",
                    now_s().saturating_sub(dump.name.written_s)
                ));
                watched.missing.push("its version: add ,rndc to the path".to_owned());
            }
        }
        let pids = self.owners.pids.iter().copied().chain(self.process()).collect();
        let owners = Owners { pids, ..self.owners };
        parameters::add(StatisticsKind::Bind, parameters::of_bind, &owners, watched);
        Ok(())
    }

    fn process(&self) -> Option<u32> {
        process_in(self.path.parent()?)
    }

    fn read(&mut self) -> Result<Reading, ReadError> {
        let Dump { name, text } = self.dump()?;
        // What was counted since an old dump is not of the first interval: the first new one is the beginning.
        let is_old = self.last.is_none() && now_s().saturating_sub(name.written_s) > OLD_S;
        let mut reading = Reading { is_repeated: is_old || self.last == Some(name), ..Reading::default() };
        self.last = Some(name);
        dump::add(&text, &mut reading);
        Ok(reading)
    }
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs())
}

/// Seconds after which a dump that was there before the first interval is no beginning of it.
const OLD_S: u64 = 5;

/// A server that works in this folder: that is where it writes its file, unless it is told another place.
fn process_in(folder: &Path) -> Option<u32> {
    let folder = folder.canonicalize().ok()?;
    let numbers =
        fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_it = |pid: &u32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        server_of_process(name.trim_end()).is_some_and(|server| server.word == "bind")
            && fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|works_in| works_in == folder)
    };
    numbers.into_iter().find(is_it)
}

/// The version in what `rndc status` says of it: `BIND 9.18.49-1~deb12u3-Debian (Extended Support Version) <id:>`.
fn version_in(text: &str) -> String {
    let text = text.trim();
    let version = text.strip_prefix("BIND ").unwrap_or(text).split(' ').next().unwrap_or_default();
    shown(version, LONGEST_TEXT).into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_dump_that_was_read_before_is_told_as_such() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("named.stats");
        let dump = |queries: u64| {
            let requests = format!("++ Incoming Requests ++\n   {queries} QUERY\n");
            let at = now_s();
            format!("+++ Statistics Dump +++ ({at})\n{requests}--- Statistics Dump --- ({at})\n")
        };
        fs::write(&path, dump(5)).unwrap();
        let mut file = StatisticsFile::new(&path, None, Owners::default());
        let mut read =
            || file.read().map(|reading| (reading.is_repeated, reading.counters["queries"])).unwrap();
        assert_eq!([read(), read()], [(false, 5), (true, 5)]);
        fs::write(&path, dump(5) + &dump(7)).unwrap();
        assert_eq!([read(), read()], [(false, 7), (true, 7)]);
    }

    #[test]
    fn a_dump_of_long_before_is_no_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("named.stats");
        let dump = |queries: u64, at: u64| {
            let requests = format!("++ Incoming Requests ++\n   {queries} QUERY\n");
            format!("+++ Statistics Dump +++ ({at})\n{requests}--- Statistics Dump --- ({at})\n")
        };
        let old = dump(5, now_s() - 36_000);
        fs::write(&path, &old).unwrap();
        let mut file = StatisticsFile::new(&path, None, Owners::default());
        let mut read = || file.read().unwrap().is_repeated;
        assert_eq!([read(), read()], [true, true]);
        fs::write(&path, old + &dump(9, now_s())).unwrap();
        assert_eq!([read(), read()], [false, true]);
    }

    #[test]
    fn what_has_no_statistics_is_refused_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("named.stats");
        let error = |path: &Path| {
            StatisticsFile::new(path, None, Owners::default()).read().expect_err("no statistics").0
        };
        assert!(error(&path).contains("`rndc stats` writes it"));
        fs::write(&path, "success 5\nreferral 7\n").unwrap();
        assert!(error(&path).contains("no statistics of BIND 9.5 or newer"));
        assert!(error(folder.path()).contains("is not a file"));
        assert!(error(Path::new("/dev/zero")).contains("is not a file"));
    }

    #[test]
    fn the_version_is_that_of_rndc_status() {
        let of = "BIND 9.18.49-1~deb12u3-Debian (Extended Support Version) <id:>";
        assert_eq!(version_in(of), "9.18.49-1~deb12u3-Debian");
        assert_eq!(version_in(" 9.9.4-RedHat-9.9.4-74.el7 <id:8f9657aa>\n"), "9.9.4-RedHat-9.9.4-74.el7");
    }
}
