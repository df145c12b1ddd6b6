//! The folder of a run of the suite: `README.md` (machine, versions, commands), `raw.csv`, `summary.md`.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::rig::{Call, find_program};
use crate::setting::Setting;

/// The result of one benchmark.
#[derive(Debug, Default)]
pub(crate) struct Section {
    /// The benchmark's name, as typed.
    pub(crate) name: &'static str,
    /// The method, in a few sentences.
    pub(crate) method: String,
    /// The figures; the first row is the heading.
    pub(crate) table: Vec<Vec<String>>,
    /// The targets.
    pub(crate) bars: Vec<Bar>,
    /// Remarks for the reader.
    pub(crate) notes: Vec<String>,
    /// Every command line, once.
    pub(crate) commands: Vec<String>,
    /// Each figure of each turn.
    pub(crate) samples: Vec<Sample>,
}

/// A figure with its target. Missing it is a result, not a failure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bar {
    pub(crate) what: String,
    pub(crate) bound: String,
    pub(crate) found: String,
    /// `None` where there was no figure.
    pub(crate) met: Option<bool>,
}

/// One figure of one turn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sample {
    pub(crate) program: String,
    /// From 1.
    pub(crate) round: usize,
    /// With its unit in its name.
    pub(crate) figure: &'static str,
    pub(crate) value: f64,
}

/// The machine and the versions of the programs.
#[derive(Debug)]
pub(crate) struct Machine {
    lines: Vec<(&'static str, String)>,
}

/// The folder of the report.
#[derive(Debug)]
pub(crate) struct RunFolder {
    path: PathBuf,
}

impl Section {
    /// A benchmark that could not be run.
    pub(crate) fn failed(name: &'static str, error: &anyhow::Error) -> Self {
        Self { name, notes: vec![format!("could not be run: {error:#}")], ..Self::default() }
    }

    /// As a section of `summary.md`.
    pub(crate) fn to_markdown(&self) -> String {
        let mut text = format!("## {}\n", self.name);
        if !self.method.is_empty() {
            text += &format!("\n{}\n", self.method);
        }
        text += &table(&self.table);
        let heading = ["figure", "target", "result", ""].map(str::to_owned).to_vec();
        let bars = self.bars.iter().map(|bar| {
            let verdict = match bar.met {
                Some(true) => "met",
                Some(false) => "**missed**",
                None => "not judged",
            };
            vec![bar.what.clone(), bar.bound.clone(), bar.found.clone(), verdict.to_owned()]
        });
        if !self.bars.is_empty() {
            text += &table(&std::iter::once(heading).chain(bars).collect::<Vec<_>>());
        }
        if !self.notes.is_empty() {
            text.push('\n');
        }
        self.notes.iter().for_each(|note| text += &format!("- {note}\n"));
        text
    }
}

impl Machine {
    /// Reads the properties of the machine and the version of every installed program.
    pub(crate) fn look(setting: &Setting) -> Self {
        let rig = &setting.rig;
        let cpuinfo = read("/proc/cpuinfo");
        let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let placing =
            format!("generator on CPU {}, all else on CPU {}", rig.generator_cpu(), rig.server_cpu());
        let memory = read("/proc/meminfo").lines().next().unwrap_or_default().to_owned();
        let mut lines = vec![
            ("date", jiff::Zoned::now().strftime("%F %T %Z").to_string()),
            ("host", hostname()),
            ("kernel", read("/proc/sys/kernel/osrelease")),
            ("CPU", format!("{} of {}", rig.cpus().len(), model.map_or("unknown", |(_, name)| name))),
            ("placement", placing),
            ("memory", memory.split_once(':').map_or(String::new(), |(_, size)| size.trim().to_owned())),
            ("load before", read("/proc/loadavg")),
            ("suite", command_line()),
            (
                "commit",
                version_of(setting, &Call::new("git").words("describe --always --dirty").arg("--abbrev=12")),
            ),
            ("dnsdyno", version_of(setting, &Call::new(&setting.dnsdyno).words("--version"))),
        ];
        for (name, ask) in PEERS {
            let version = match find_program(name) {
                Some(path) => version_of(setting, &Call::new(path).words(ask)),
                None => "not installed".to_owned(),
            };
            lines.push((name, version));
        }
        Self { lines }
    }

    fn to_markdown(&self) -> String {
        let rows = self.lines.iter().map(|(what, found)| vec![(*what).to_owned(), found.clone()]);
        table(&std::iter::once(vec![String::new(), String::new()]).chain(rows).collect::<Vec<_>>())
    }
}

impl RunFolder {
    /// Makes `given`, or a new folder `DATE-HOST` in `parent`.
    pub(crate) fn make(given: Option<&Path>, parent: &Path) -> anyhow::Result<Self> {
        let path = match given {
            Some(path) => path.to_owned(),
            None => {
                let name = format!("{}-{}", jiff::Zoned::now().strftime("%F"), hostname());
                let names = (1..).map(|n| if n == 1 { name.clone() } else { format!("{name}-{n}") });
                let mut free = names.map(|name| parent.join(name)).filter(|path| !path.exists());
                free.next().context("no free name for a folder")?
            }
        };
        fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self { path })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes all three files anew.
    pub(crate) fn write(&self, machine: &Machine, sections: &[Section]) -> anyhow::Result<()> {
        let write = |name: &str, text: String| {
            let path = self.path.join(name);
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
        };
        let summaries: Vec<String> = sections.iter().map(Section::to_markdown).collect();
        write("README.md", readme(machine, sections))?;
        write("raw.csv", csv(sections))?;
        write(
            "summary.md",
            format!("# dnsdyno and other load generators\n\n{READING}\n\n{}", summaries.join("\n")),
        )
    }
}

fn readme(machine: &Machine, sections: &[Section]) -> String {
    let mut text = format!(
        "# A run of the benchmark suite\n\n`summary.md` has the results, `raw.csv` each figure of each turn.\n{}",
        machine.to_markdown()
    );
    text += "\n## Commands\n\n`$WORK` is the suite's temporary folder; ports differ from run to run.\n";
    for section in sections {
        let _ = write!(text, "\n### {}\n\n```\n{}\n```\n", section.name, section.commands.join("\n"));
    }
    text
}

fn csv(sections: &[Section]) -> String {
    let mut text = "benchmark,program,round,figure,value\n".to_owned();
    for section in sections {
        for Sample { program, round, figure, value } in &section.samples {
            let _ = writeln!(text, "{},{program},{round},{figure},{value}", section.name);
        }
    }
    text
}

/// A table whose first row is the heading; empty without rows.
fn table(rows: &[Vec<String>]) -> String {
    let Some(heading) = rows.first() else { return String::new() };
    let line = |row: &Vec<String>| format!("| {} |\n", row.join(" | "));
    let rule = format!("|{}\n", "---|".repeat(heading.len()));
    format!("\n{}{rule}{}", line(heading), rows[1..].iter().map(line).collect::<String>())
}

/// The first line with a digit in the version text of a program.
fn version_of(setting: &Setting, call: &Call) -> String {
    // Some print their version with an error about their arguments: the text counts, not the status.
    let ended =
        setting.rig.start(call, "version").and_then(|child| child.finish_whatever_status(VERSION_WITHIN));
    let said = ended.map(|(_, finished)| finished.stdout + &finished.stderr).unwrap_or_default();
    let line = said.lines().find(|line| line.contains(|c: char| c.is_ascii_digit()));
    line.unwrap_or("unknown").trim().to_owned()
}

fn hostname() -> String {
    read("/proc/sys/kernel/hostname")
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// The command line, without the folders of this machine.
fn command_line() -> String {
    let words = std::env::args().enumerate().map(|(n, word)| match Path::new(&word).file_name() {
        Some(name) if n == 0 || word.starts_with('/') => name.to_string_lossy().into_owned(),
        _ => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Programs that a benchmark may start, and the option that prints the version.
const PEERS: &[(&str, &str)] = &[
    ("dnsperf", "-h"),
    ("resperf", "-h"),
    ("kxdpgun", "-V"),
    ("calidns", "--version"),
    ("flame", "--version"),
    ("dnstcpbench", "--version"),
    ("tcpdump", "--version"),
    ("knotd", "-V"),
    ("nsd", "-v"),
    ("named", "-v"),
    ("unbound", "-V"),
];

const VERSION_WITHIN: std::time::Duration = std::time::Duration::from_secs(10);

const READING: &str = "\
Figures are medians over the turns, with the smallest and the largest in parentheses. A ratio (dnsdyno / peer) is taken
within each round; its median is shown. Absolute figures depend on this machine and time; ratios are more stable.";

#[cfg(test)]
mod tests {
    use super::*;

    fn section() -> Section {
        Section {
            name: "speed",
            method: "As fast as can be.".to_owned(),
            table: vec![
                vec!["program".to_owned(), "per second".to_owned()],
                vec!["us".to_owned(), "7".to_owned()],
            ],
            bars: vec![Bar {
                what: "ratio".to_owned(),
                bound: ">= 2".to_owned(),
                found: "1.5".to_owned(),
                met: Some(false),
            }],
            notes: vec!["quiet machine".to_owned()],
            commands: vec!["us --fast".to_owned()],
            samples: vec![Sample { program: "us".to_owned(), round: 1, figure: "answered_qps", value: 7.5 }],
        }
    }

    #[test]
    fn a_missed_target_is_reported_with_the_result() {
        let text = section().to_markdown();
        assert!(text.contains("| ratio | >= 2 | 1.5 | **missed** |"), "{text}");
        assert!(text.contains("| us | 7 |") && text.contains("- quiet machine"), "{text}");
    }

    #[test]
    fn the_folder_holds_the_three_files_and_a_second_run_does_not_overwrite_the_first() {
        let parent = tempfile::tempdir().unwrap();
        let machine = Machine { lines: vec![("kernel", "6.1".to_owned())] };
        let first = RunFolder::make(None, parent.path()).unwrap();
        first.write(&machine, &[section()]).unwrap();
        let text = |name: &str| fs::read_to_string(first.path().join(name)).unwrap();
        assert_eq!(text("raw.csv"), "benchmark,program,round,figure,value\nspeed,us,1,answered_qps,7.5\n");
        assert!(text("README.md").contains("us --fast") && text("README.md").contains("| kernel | 6.1 |"));
        assert!(text("summary.md").contains("## speed"));
        assert_ne!(RunFolder::make(None, parent.path()).unwrap().path(), first.path());
    }

    #[test]
    fn a_benchmark_that_could_not_be_run_says_why() {
        let section = Section::failed("pacing", &anyhow::anyhow!("no root"));
        assert!(section.to_markdown().contains("could not be run: no root"));
    }
}
