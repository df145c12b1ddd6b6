//! The command line of a process of this host, and the configuration that it names.
//!
//! ```text
//!   nsd -c etc/nsd.conf     read in the folder in which it was started
//!     zonesdir: "zones"     and then it works in this one: `etc/nsd.conf` is not below it
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use crate::family::ancestors;
use crate::files::{FileReader, LocalFiles};
use crate::written::{Form, after, with_included, words};

/// A process with its command line.
pub(crate) struct Command {
    pub(crate) pid: u32,
    arguments: Vec<String>,
}

impl Command {
    pub(crate) fn of(pid: u32) -> Command {
        let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        Command { pid, arguments: text.split('\0').map(str::to_owned).collect() }
    }

    /// Whether it is still what it was started with: some programs put a title in its place, `nsd: server 1`.
    pub(crate) fn is_known(&self) -> bool {
        self.arguments.first().is_some_and(|program| !program.is_empty() && !program.contains(": "))
    }

    /// The value of an option: `-c FILE`, `-cFILE`, `--config-dir=FOLDER`.
    pub(crate) fn option(&self, name: &str) -> Option<&str> {
        self.arguments.iter().enumerate().skip(1).find_map(|(at, argument)| {
            let value = argument.strip_prefix(name)?;
            match value.strip_prefix('=') {
                Some(value) => Some(value),
                None if value.is_empty() => self.arguments.get(at + 1).map(String::as_str),
                None if name.starts_with("--") => None,
                None => Some(value),
            }
        })
    }

    /// A path of the process, as it is seen from here: in its root, and from the folder in which it works.
    pub(crate) fn file(&self, path: &str) -> PathBuf {
        let of = |link: &str| PathBuf::from(format!("/proc/{}/{link}", self.pid));
        let in_root = match Path::new(path).strip_prefix("/") {
            Ok(path) => of("root").join(path),
            Err(_) => of("cwd").join(path),
        };
        // The root of most servers is ours; then the path itself is shorter, and a control socket's path may be long.
        let is_ours = fs::read_link(of("root")).is_ok_and(|root| root == Path::new("/"));
        if is_ours && path.starts_with('/') { path.into() } else { in_root }
    }

    /// The file of the configuration, as its command line names it, and the folder in which it was read, where that is
    /// known.
    ///
    /// # Errors
    /// It is named from a folder that is not known any more; then the sentence says what to do.
    pub(crate) fn configuration(&self, path: &str, form: &Form) -> Result<Placed, String> {
        if path.starts_with('/') {
            return Ok(Placed { file: self.file(path), folder: None });
        }
        let works_in = fs::read_link(format!("/proc/{}/cwd", self.pid)).ok();
        let is_read_there = |folder: &PathBuf| {
            let Ok(text) = fs::read_to_string(folder.join(path)) else { return false };
            let words = words(&text);
            let named = form.folder.and_then(|name| after(&words, name));
            // The folder that the configuration names, if it names any, is the one in which the process works now.
            let then = named.map_or(Some(folder.clone()), |named| fs::canonicalize(folder.join(named)).ok());
            then.is_some() && then == works_in
        };
        match self.started_in(works_in.clone()).into_iter().find(is_read_there) {
            Some(folder) => Ok(Placed { file: folder.join(path), folder: Some(folder) }),
            None => Err(format!(
                "its configuration {path} is named from the folder in which it was started, which is not known: start \
                 it with the whole path"
            )),
        }
    }

    /// The whole text of a configuration, as far as it can be read.
    pub(crate) fn read(&self, placed: &Placed, form: &Form) -> Option<Whole> {
        let text = fs::read(&placed.file).ok()?;
        let mut reading = Reading { command: self, placed, form, files: 1, unread: Vec::new() };
        let text = reading.expanded(&String::from_utf8_lossy(&text), &placed.file);
        Some(Whole { text, unread: reading.unread })
    }

    /// Folders in which it may have been started: where it works, where the shell was that started it, where the
    /// processes are that started it.
    fn started_in(&self, works_in: Option<PathBuf>) -> Vec<PathBuf> {
        let environment = fs::read(format!("/proc/{}/environ", self.pid)).unwrap_or_default();
        let of_shell = environment.split(|octet| *octet == 0).find_map(|variable| {
            let folder = variable.strip_prefix(b"PWD=")?;
            Some(PathBuf::from(String::from_utf8_lossy(folder).into_owned()))
        });
        let of_parents = ancestors(self.pid).filter_map(|pid| fs::read_link(format!("/proc/{pid}/cwd")).ok());
        works_in.into_iter().chain(of_shell).chain(of_parents).collect()
    }

    /// The words of a command line that were told.
    #[cfg(test)]
    pub(crate) fn told(pid: u32, arguments: &[&str]) -> Command {
        Command { pid, arguments: arguments.iter().map(|word| (*word).to_owned()).collect() }
    }
}

/// The text of a configuration.
pub(crate) struct Whole {
    /// With what it includes in its place.
    pub(crate) text: String,
    /// What it includes and cannot be read.
    pub(crate) unread: Vec<String>,
}

/// A configuration that is being read.
struct Reading<'a> {
    command: &'a Command,
    placed: &'a Placed,
    form: &'a Form,
    files: usize,
    unread: Vec<String>,
}

impl Reading<'_> {
    /// The text of a file, with what it includes.
    fn expanded(&mut self, text: &str, file: &Path) -> String {
        with_included(text, self.form.language, &mut |path| self.included(path, file))
    }

    /// The texts that stand for a path in this file.
    fn included(&mut self, path: &str, file: &Path) -> Vec<String> {
        let places: Vec<PathBuf> = match path.starts_with('/') {
            true => vec![self.command.file(path)],
            // From the folder of the start, from that in which the server works, or beside the file.
            false => {
                let beside = file.parent().map(|folder| folder.join(path));
                let start = self.placed.folder.as_ref().map(|folder| folder.join(path));
                start.into_iter().chain([self.command.file(path)]).chain(beside).collect()
            }
        };
        let read = |place: &PathBuf| LocalFiles.read(&[place.display().to_string()]).unwrap_or_default().0;
        let found = places.iter().map(read).find(|files| !files.is_empty()).unwrap_or_default();
        let may_be_none = path.contains('*') && places.iter().any(|place| can_list(place));
        if found.is_empty() && !may_be_none || self.files + found.len() > MOST_FILES {
            self.unread.push(path.to_owned());
            return Vec::new();
        }
        self.files += found.len();
        found.iter().map(|(path, text)| self.expanded(text, Path::new(path))).collect()
    }
}

/// Whether the folder before the first `*` of a path can be read: then it is known that nothing fits.
fn can_list(path: &Path) -> bool {
    let text = path.display().to_string();
    let folder =
        text.split('*').next().and_then(|before| before.rsplit_once('/')).map_or("/", |(folder, _)| folder);
    fs::read_dir(folder).is_ok()
}

/// A configuration in parts has some files; one that includes itself has no end.
const MOST_FILES: usize = 64;

/// Where a configuration is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) file: PathBuf,
    /// The folder in which its relative paths were read.
    pub(crate) folder: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Stdio};

    use dnsdyno_sys::process::Stat;

    use super::*;
    use dnsdyno_servers::Language;

    #[test]
    fn a_configuration_is_read_with_what_it_includes_and_what_cannot_be_read_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        fs::create_dir(file("more")).unwrap();
        let of = |include: &str| {
            let text = format!("server:\n  include: \"{include}\"\n  port: 5\n");
            fs::write(file("nsd.conf"), text).unwrap();
            let command = Command::told(std::process::id(), &[]);
            let placed = Placed { file: file("nsd.conf"), folder: Some(folder.path().to_owned()) };
            let form = Form { language: Language::Lines, folder: None };
            let whole = command.read(&placed, &form).unwrap();
            (whole.text, whole.unread)
        };
        let nothing = "server:\n  port: 5\n".to_owned();
        assert_eq!(of("more/*.conf"), (nothing.clone(), Vec::new()));
        fs::write(file("more/a.conf"), "  tcp-count: 7").unwrap();
        let with_more = ("server:\n  tcp-count: 7\n  port: 5\n".to_owned(), Vec::new());
        assert_eq!(of("more/*.conf"), with_more);
        assert_eq!(of(&format!("{}/more/a.conf", folder.path().display())), with_more);
        assert_eq!(of("none.conf"), (nothing.clone(), vec!["none.conf".to_owned()]));
        assert_eq!(of("none/*.conf"), (nothing, vec!["none/*.conf".to_owned()]));
        let (_, unread) = of("nsd.conf");
        assert_eq!(unread, ["nsd.conf"]);
    }

    #[test]
    fn options_of_a_command_line_are_read_in_their_forms() {
        let command = Command::told(1, &["named", "-g", "-c", "/a", "-t/b", "--config-dir=/c"]);
        let read = |name| command.option(name);
        assert_eq!(["-c", "-t", "--config-dir", "-x"].map(read), [Some("/a"), Some("/b"), Some("/c"), None]);
        let is_known = |arguments: &[&str]| Command::told(1, arguments).is_known();
        assert!(is_known(&["/usr/sbin/nsd", "-d"]) && !is_known(&["nsd: server 1"]) && !is_known(&[""]));
    }

    /// A process that was started in one folder, and works in another one.
    struct Moved(Child);

    impl Moved {
        fn start(from: &Path, to: &str) -> Moved {
            // The shell says where it is; the program then moves by itself.
            let mut command = std::process::Command::new("sh");
            let script = format!("exec env -C {to} sleep 60");
            command.args(["-c", &script]).current_dir(from).env("PWD", from).stdin(Stdio::null());
            let moved = Moved(command.spawn().unwrap());
            let cwd = format!("/proc/{}/cwd", moved.0.id());
            let there = fs::canonicalize(from.join(to)).unwrap();
            while fs::read_link(&cwd).ok() != Some(there.clone()) {
                std::thread::yield_now();
            }
            // `env` is there before it becomes the program, which has its environment a moment later.
            let environment = format!("/proc/{}/environ", moved.0.id());
            let is_sleep = || Stat::of(moved.0.id()).is_some_and(|stat| stat.name == "sleep");
            while !is_sleep() || fs::read(&environment).is_ok_and(|text| text.is_empty()) {
                std::thread::yield_now();
            }
            moved
        }
    }

    impl Drop for Moved {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_relative_path_is_from_the_folder_of_the_start_also_when_the_server_works_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let from = fs::canonicalize(folder.path()).unwrap();
        for name in ["etc", "zones", "zones/etc", "other"] {
            fs::create_dir(from.join(name)).unwrap();
        }
        fs::write(from.join("etc/nsd.conf"), "server:\n  zonesdir: \"zones\"\n").unwrap();
        // Another one that is in the way: what it names is not where the process works.
        fs::write(from.join("zones/etc/nsd.conf"), "server:\n  zonesdir: \"/\"\n").unwrap();
        fs::write(from.join("plain.conf"), "server:\n  port: 5\n").unwrap();
        let form = Form { language: Language::Lines, folder: Some("zonesdir") };
        let moved = Moved::start(&from, "zones");
        let command = Command::told(moved.0.id(), &["nsd", "-c", "etc/nsd.conf"]);
        let placed = command.configuration("etc/nsd.conf", &form).unwrap();
        assert_eq!(placed, Placed { file: from.join("etc/nsd.conf"), folder: Some(from.clone()) });
        // One that names no folder is where the process works.
        let stayed = Moved::start(&from, ".");
        let command = Command::told(stayed.0.id(), &[]);
        assert_eq!(command.configuration("plain.conf", &form).unwrap().folder, Some(from.clone()));
        let lost = Moved::start(&from, "other");
        let command = Command::told(lost.0.id(), &[]);
        let error = command.configuration("etc/nsd.conf", &form).unwrap_err();
        assert!(error.ends_with("which is not known: start it with the whole path"), "{error}");
    }
}
