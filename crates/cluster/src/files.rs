//! The files that a plan names: sent to each agent that lacks them, once, by their content.
//!
//! In the plan of an agent a file is named by its hash (`sha256:…`). The agent takes the file of the same path on its
//! own host if its content is the same, or the one that it was sent.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use dnsdyno_plan::{Draft, Watch};
use dnsdyno_text::secret::Masked;
use dnsdyno_text::shown;
use ring::digest::{Context, SHA256};
use serde_json::Value;

use crate::error::ClusterError;
use crate::messages::FileInfo;

/// The files of a plan, on the coordinator's host.
#[derive(Debug, Default)]
pub(crate) struct Files {
    all: Vec<(FileInfo, PathBuf)>,
    /// The descriptions that were written anew, because they name further files.
    _rewritten: Option<tempdir::Folder>,
}

impl Files {
    /// Names the files of `draft` by their content.
    ///
    /// The file of a key is sent only where `keys_are_sent`: otherwise each agent's host has one at the same path.
    ///
    /// # Errors
    /// A file cannot be read, or an option means standard input or a file that a run writes.
    pub(crate) fn of(draft: &mut Draft, keys_are_sent: bool) -> Result<Files, ClusterError> {
        if [&draft.queries, &draft.replay].into_iter().flatten().any(|path| path == "-") {
            let why = "its agents cannot read this standard input: put it into a file";
            return Err(ClusterError::Option { option: "queries -", why });
        }
        if draft.tls_key_log.is_some() {
            let why = "the secrets would be on the hosts of the agents: remove it";
            return Err(ClusterError::Option { option: "tls-key-log", why });
        }
        if let Some(zone) = draft.zone.as_ref().map(Path::new) {
            let failed = |source| ClusterError::File { path: zone.to_owned(), source };
            if has_include(zone).map_err(failed)? {
                let why = "it has $INCLUDE, and one file is sent: join them with named-compilezone -o FILE";
                return Err(ClusterError::Option { option: "zone", why });
            }
        }
        let mut files = Files::default();
        if let Some(source) = &mut draft.source
            && let Some((kind, path)) = source.split_once(':')
        {
            *source = format!("{kind}:{}", files.description(Path::new(path))?);
        }
        let key = draft.tsig_file.take_if(|_| !keys_are_sent);
        for path in paths_of(draft) {
            *path = files.add(Path::new(path.as_str()))?;
        }
        draft.tsig_file = draft.tsig_file.take().or(key);
        Ok(files)
    }

    /// Adds a file, and returns its name in a plan.
    fn add(&mut self, path: &Path) -> Result<String, ClusterError> {
        let failed = |source| ClusterError::File { path: path.to_owned(), source };
        let (hash, bytes) = hash_of(path).map_err(failed)?;
        let name = format!("{PREFIX}{hash}");
        let path = path.to_owned();
        if self.all.iter().all(|(known, _)| known.hash != hash) {
            let info = FileInfo { hash, bytes, path: path.display().to_string() };
            self.all.push((info, path));
        }
        Ok(name)
    }

    /// Adds a description of clients, and the file of names that it may have.
    fn description(&mut self, path: &Path) -> Result<String, ClusterError> {
        let failed = |source| ClusterError::File { path: path.to_owned(), source };
        let text = fs::read_to_string(path).map_err(failed)?;
        let Ok(mut value) = serde_json::from_str::<Value>(&text) else { return self.add(path) };
        let found = files_of_queries(&mut value);
        if found.is_empty() {
            return self.add(path);
        }
        for queries in found {
            let names = path.parent().unwrap_or(Path::new("")).join(queries.as_str().unwrap_or_default());
            *queries = self.add(&names)?.into();
        }
        let folder = tempdir::Folder::new().map_err(failed)?;
        let written = folder.path().join("clients.json");
        fs::write(&written, value.to_string()).map_err(failed)?;
        let name = self.add(&written);
        self._rewritten = Some(folder);
        name
    }

    /// What an agent is told of them.
    pub(crate) fn infos(&self) -> Vec<FileInfo> {
        self.all.iter().map(|(info, _)| info.clone()).collect()
    }

    /// Gives the content of a file in parts, as long as they are taken.
    ///
    /// # Errors
    /// It cannot be read any more, or has another size now.
    pub(crate) fn read(&self, hash: &str, part: &mut dyn FnMut(&[u8]) -> bool) -> Result<(), ClusterError> {
        let Some((info, path)) = self.find(hash) else { return Ok(()) };
        let failed = |source| ClusterError::File { path: path.to_owned(), source };
        let mut file = File::open(path).map_err(failed)?.take(info.bytes);
        let (mut octets, mut sent) = (vec![0; PART], 0);
        loop {
            match file.read(&mut octets).map_err(failed)? {
                0 if sent == info.bytes => return Ok(()),
                0 => return Err(ClusterError::Changed { path: path.to_owned() }),
                length => {
                    sent += length as u64;
                    if !part(&octets[..length]) {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// A file, and where it is on this host.
    pub(crate) fn find(&self, hash: &str) -> Option<(&FileInfo, &Path)> {
        let found = self.all.iter().find(|(info, _)| info.hash == hash);
        found.map(|(info, path)| (info, path.as_path()))
    }
}

/// The files that an agent was sent, in a folder of its own.
#[derive(Debug)]
pub(crate) struct Store {
    folder: PathBuf,
    /// Whether a plan may name files of this host by their paths.
    takes_paths: bool,
    incoming: Option<Incoming>,
}

#[derive(Debug)]
struct Incoming {
    hash: String,
    left: u64,
    file: File,
    path: PathBuf,
}

impl Store {
    pub(crate) fn new(folder: PathBuf, takes_paths: bool) -> Store {
        Store { folder, takes_paths, incoming: None }
    }

    /// Where a file is on this host; `None` where it has to be sent.
    fn find(&self, info: &FileInfo) -> Option<PathBuf> {
        let own = self.folder.join(&info.hash);
        let there = PathBuf::from(&info.path);
        let is_same = |path: &Path| {
            let size = fs::metadata(path).ok().filter(|found| found.is_file()).map(|found| found.len());
            size == Some(info.bytes) && hash_of(path).is_ok_and(|(hash, _)| hash == info.hash)
        };
        [Some(own), Some(there).filter(|_| self.takes_paths)].into_iter().flatten().find(|path| is_same(path))
    }

    /// The hashes of the files that have to be sent.
    pub(crate) fn lacks(&self, files: &[FileInfo]) -> Vec<String> {
        files
            .iter()
            .filter(|info| is_hash(&info.hash) && self.find(info).is_none())
            .map(|info| info.hash.clone())
            .collect()
    }

    /// A file follows.
    ///
    /// # Errors
    /// It cannot be kept, in words.
    pub(crate) fn begin(&mut self, hash: &str, bytes: u64) -> Result<(), String> {
        if !is_hash(hash) {
            return Err(format!("`{}` is no hash of a file", shown(hash, 80)));
        }
        let path = self.folder.join(format!("{hash}.part"));
        let open = || -> io::Result<File> {
            fs::create_dir_all(&self.folder)?;
            File::create(&path)
        };
        let file = open().map_err(|error| format!("{}: {error}", path.display()))?;
        self.incoming = Some(Incoming { hash: hash.to_owned(), left: bytes, file, path });
        self.end_if_whole()
    }

    /// A part of it.
    ///
    /// # Errors
    /// It cannot be kept, in words.
    pub(crate) fn part(&mut self, octets: &[u8]) -> Result<(), String> {
        let Some(incoming) = &mut self.incoming else {
            return Err("a file was sent that nobody has named".to_owned());
        };
        let kept = &octets[..octets.len().min(incoming.left as usize)];
        incoming.file.write_all(kept).map_err(|error| format!("{}: {error}", incoming.path.display()))?;
        incoming.left -= kept.len() as u64;
        self.end_if_whole()
    }

    /// Whether nothing is missing of the file that has come last.
    pub(crate) fn is_whole(&self) -> bool {
        self.incoming.is_none()
    }

    fn end_if_whole(&mut self) -> Result<(), String> {
        let Some(Incoming { hash, path, .. }) = self.incoming.take_if(|incoming| incoming.left == 0) else {
            return Ok(());
        };
        let (found, _) = hash_of(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        if found != hash {
            return Err("a file has changed on the way, or while it was read: start again".to_owned());
        }
        fs::rename(&path, self.folder.join(&hash)).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Puts the paths of this host in the place of the hashes.
    ///
    /// # Errors
    /// A file is not there, in words.
    pub(crate) fn resolve(&self, draft: &mut Draft, files: &[FileInfo]) -> Result<(), String> {
        let path_of = |name: &str| -> Result<String, String> {
            let Some(hash) = name.strip_prefix(PREFIX) else { return self.named(name) };
            let info = files.iter().find(|info| info.hash == hash);
            let path = info.and_then(|info| self.find(info));
            path.map(|path| path.display().to_string()).ok_or_else(|| format!("the file {name} was not sent"))
        };
        // The key of signatures may be one of this host, which its owner has put there.
        let key = draft.tsig_file.take_if(|path| !path.starts_with(PREFIX));
        for path in paths_of(draft) {
            *path = path_of(path)?;
        }
        draft.tsig_file = draft.tsig_file.take().or(key);
        for path in [&draft.servers, &draft.tls_key_log, &draft.trace_file].into_iter().flatten() {
            self.named(path)?;
        }
        draft.watch.iter().flatten().try_for_each(|watch| self.watched(watch))?;
        if let Some(source) = &mut draft.source
            && let Some((kind, name)) = source.split_once(':')
        {
            let path = path_of(name)?;
            *source = format!("{kind}:{}", self.with_names(&path, &path_of)?);
        }
        Ok(())
    }

    /// A file that a plan names by its path.
    fn named(&self, path: &str) -> Result<String, String> {
        match self.takes_paths {
            true => Ok(path.to_owned()),
            false => Err(format!("`{}` is a path, and no hash of a file", shown(path, 80))),
        }
    }

    /// What a plan watches. Statistics name files with keys, which would go to the address that the plan gives.
    fn watched(&self, text: &Masked) -> Result<(), String> {
        match text.exposed().parse() {
            Ok(Watch::Server(_) | Watch::Ssh(_)) if !self.takes_paths => Err(ONLY_ITS_HOST.to_owned()),
            _ => Ok(()),
        }
    }

    /// The description of clients with the path of its file of names.
    fn with_names(
        &self,
        path: &str,
        path_of: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<String, String> {
        let failed = |error: io::Error| format!("{path}: {error}");
        let text = fs::read_to_string(path).map_err(failed)?;
        let Ok(mut value) = serde_json::from_str::<Value>(&text) else { return Ok(path.to_owned()) };
        let (mut files, mut has_sent) = (files_of_queries(&mut value), false);
        for name in &mut files {
            let text = name.as_str().unwrap_or_default();
            if text.starts_with(PREFIX) {
                (**name, has_sent) = (path_of(text)?.into(), true);
            } else {
                self.named(text)?;
            }
        }
        // One that was not sent keeps its folder, to which its files are relative.
        if !has_sent {
            return Ok(path.to_owned());
        }
        fs::create_dir_all(&self.folder).map_err(failed)?;
        let written = self.folder.join("clients.json");
        fs::write(&written, value.to_string()).map_err(failed)?;
        Ok(written.display().to_string())
    }
}

/// The options that name a file.
fn paths_of(draft: &mut Draft) -> impl Iterator<Item = &mut String> {
    let Draft { queries, zone, replay, tsig_file, ca, .. } = draft;
    [queries, zone, replay, tsig_file, ca].into_iter().flatten()
}

/// The files of queries in a description of clients: that of its only kind, or of each.
fn files_of_queries(description: &mut Value) -> Vec<&mut Value> {
    let kinds: Vec<&mut Value> = match description.get("kinds") {
        Some(_) => description["kinds"].as_array_mut().into_iter().flatten().collect(),
        None => vec![description],
    };
    let queries = kinds.into_iter().filter_map(|kind| kind.get_mut("queries"));
    queries.filter(|queries| queries.is_string()).collect()
}

/// Whether a zone file has further ones. Those of a compressed file are not seen.
fn has_include(path: &Path) -> io::Result<bool> {
    let mut lines = BufReader::new(dnsdyno_record::open_regular(path)?).split(b'\n');
    lines.try_fold(false, |has_it, line| {
        Ok(has_it || line?.get(..INCLUDE.len()).is_some_and(|start| start.eq_ignore_ascii_case(INCLUDE)))
    })
}

/// Why an agent on a broker reads no statistics of a server.
pub(crate) const ONLY_ITS_HOST: &str = "over a broker an agent watches its host only (auto, host, process): \
                                        watch a server with dnsdyno watch on its own host";

const INCLUDE: &[u8] = b"$INCLUDE";

/// The SHA-256 of a regular file, in hexadecimal, and its size in octets.
///
/// # Errors
/// Those of the system, and where it is a pipe, a device or a folder.
pub fn hash_of(path: &Path) -> io::Result<(String, u64)> {
    let mut file = dnsdyno_record::open_regular(path)?;
    let (mut context, mut bytes, mut part) = (Context::new(&SHA256), 0, vec![0; PART]);
    loop {
        match file.read(&mut part)? {
            0 => break,
            length => {
                bytes += length as u64;
                context.update(&part[..length]);
            }
        }
    }
    let hash = context.finish().as_ref().iter().map(|octet| format!("{octet:02x}")).collect();
    Ok((hash, bytes))
}

/// Whether a text can be the name of a file in the store: nothing else may become a path.
fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|octet| octet.is_ascii_hexdigit())
}

/// Before the hash, in a plan.
const PREFIX: &str = "sha256:";

/// Octets of a part.
const PART: usize = 256 << 10;

/// A folder that is removed with its content.
mod tempdir {
    use std::io;
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicU32, Ordering};

    #[derive(Debug)]
    pub(super) struct Folder(PathBuf);

    impl Folder {
        pub(super) fn new() -> io::Result<Folder> {
            static NUMBER: AtomicU32 = AtomicU32::new(0);
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!("dnsdyno-cluster-{}-{number}", std::process::id()));
            // Of nobody else: it must not be there.
            std::fs::create_dir(&path)?;
            Ok(Folder(path))
        }

        pub(super) fn path(&self) -> &Path {
            &self.0
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends what the store lacks, as coordinator and agent do.
    fn send(files: &Files, store: &mut Store) {
        for hash in store.lacks(&files.infos()) {
            store.begin(&hash, files.find(&hash).unwrap().0.bytes).unwrap();
            files.read(&hash, &mut |part| store.part(part).is_ok()).unwrap();
        }
    }

    #[test]
    fn a_file_is_sent_once_and_read_there_as_it_is_here() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = here.path().join("queries.txt");
        fs::write(&path, "a.test A\n".repeat(100_000)).unwrap();
        let name = Some(path.display().to_string());
        let mut draft = Draft { queries: name.clone(), zone: name, ..Draft::default() };
        let files = Files::of(&mut draft, true).unwrap();
        assert!(draft.queries.as_deref().unwrap().starts_with(PREFIX) && draft.queries == draft.zone);
        let mut store = Store::new(there.path().join("files"), true);
        assert!(store.lacks(&files.infos()).is_empty(), "on the same host it is there");
        // On another host there is none of this path.
        let elsewhere: Vec<FileInfo> = files
            .infos()
            .into_iter()
            .map(|info| FileInfo { path: "/none/of/it".to_owned(), ..info })
            .collect();
        assert_eq!(store.lacks(&elsewhere).len(), 1);
        let kept = path.with_extension("kept");
        fs::rename(&path, &kept).unwrap();
        assert!(store.resolve(&mut draft.clone(), &elsewhere).is_err());
        fs::rename(&kept, &path).unwrap();
        let hash = elsewhere[0].hash.clone();
        store.begin(&hash, elsewhere[0].bytes).unwrap();
        files.read(&hash, &mut |part| store.part(part).is_ok()).unwrap();
        assert!(store.lacks(&elsewhere).is_empty());
        store.resolve(&mut draft, &elsewhere).unwrap();
        assert_eq!(fs::read(draft.queries.unwrap()).unwrap(), fs::read(&path).unwrap());
    }

    #[test]
    fn a_description_takes_its_file_of_names_with_it() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(here.path().join("names.txt"), "a.test A\n").unwrap();
        let path = here.path().join("clients.json");
        fs::write(&path, r#"{"clients":3,"kind":"stub","queries":"names.txt"}"#).unwrap();
        let mut draft = Draft { source: Some(format!("stub:{}", path.display())), ..Draft::default() };
        let files = Files::of(&mut draft, true).unwrap();
        let mut store = Store::new(there.path().to_owned(), false);
        send(&files, &mut store);
        store.resolve(&mut draft, &files.infos()).unwrap();
        let written = draft.source.unwrap().strip_prefix("stub:").unwrap().to_owned();
        let value: Value = serde_json::from_str(&fs::read_to_string(written).unwrap()).unwrap();
        let names = value["queries"].as_str().unwrap();
        assert_eq!(
            (fs::read_to_string(names).unwrap().as_str(), &value["clients"]),
            ("a.test A\n", &3.into())
        );
    }

    #[test]
    fn each_kind_takes_its_file_of_queries_with_it_and_a_broker_takes_no_other() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let kind = |name: &str| format!(r#"{{"name":"{name}","kind":"stub","queries":"{name}.txt"}}"#);
        for name in ["a", "b"] {
            fs::write(here.path().join(format!("{name}.txt")), format!("{name}.test A\n")).unwrap();
        }
        let path = here.path().join("clients.json");
        fs::write(&path, format!(r#"{{"kinds":[{},{}]}}"#, kind("a"), kind("b"))).unwrap();
        let source = Some(format!("stub:{}", path.display()));
        let mut draft = Draft { source: source.clone(), ..Draft::default() };
        let files = Files::of(&mut draft, true).unwrap();
        let mut store = Store::new(there.path().join("files"), false);
        send(&files, &mut store);
        store.resolve(&mut draft, &files.infos()).unwrap();
        let written = draft.source.unwrap().strip_prefix("stub:").unwrap().to_owned();
        let value: Value = serde_json::from_str(&fs::read_to_string(written).unwrap()).unwrap();
        for (at, text) in ["a.test A\n", "b.test A\n"].iter().enumerate() {
            let file = value["kinds"][at]["queries"].as_str().unwrap();
            assert_eq!(fs::read_to_string(file).unwrap(), *text);
        }
        let named = store.with_names(&path.display().to_string(), &|name| Ok(name.to_owned()));
        assert!(named.unwrap_err().contains("is a path, and no hash"));
    }

    #[test]
    fn a_zone_that_includes_others_is_refused_before_the_load() {
        let here = tempfile::tempdir().unwrap();
        let path = here.path().join("zone");
        let files_of = |text: &str| {
            fs::write(&path, text).unwrap();
            Files::of(&mut Draft { zone: Some(path.display().to_string()), ..Draft::default() }, true)
        };
        assert!(files_of("@ NS a.\n; $INCLUDE b\n").is_ok());
        assert!(files_of("@ NS a.\n$include b\n").unwrap_err().to_string().contains("named-compilezone"));
    }

    #[test]
    fn over_a_broker_a_plan_names_no_path_and_no_key_is_sent() {
        let there = tempfile::tempdir().unwrap();
        let store = Store::new(there.path().join("files"), false);
        let path = || Some("/etc/passwd".to_owned());
        for draft in [
            Draft { queries: path(), ..Draft::default() },
            Draft { replay: path(), ..Draft::default() },
            Draft { ca: path(), ..Draft::default() },
            Draft { tls_key_log: path(), ..Draft::default() },
            Draft { servers: path(), ..Draft::default() },
            Draft { trace_file: path(), ..Draft::default() },
            Draft { source: Some("stub:../clients.json".to_owned()), ..Draft::default() },
        ] {
            let said = store.resolve(&mut draft.clone(), &[]).unwrap_err();
            assert!(said.contains("is a path, and no hash"), "{said}");
            let near = Store::new(there.path().join("files"), true);
            assert!(draft.source.is_some() || near.resolve(&mut draft.clone(), &[]).is_ok());
        }
        let watch = |text: &str| Draft { watch: Some(vec![text.into()]), ..Draft::default() };
        for text in
            ["pdns=http://127.0.0.2:1/,keys=/etc/shadow", "bind=/etc/passwd,rndc", "ssh://root@server"]
        {
            assert_eq!(store.resolve(&mut watch(text), &[]).unwrap_err(), ONLY_ITS_HOST, "{text}");
        }
        for text in ["auto", "host", "process=1"] {
            store.resolve(&mut watch(text), &[]).unwrap();
        }
        let mut draft = Draft { tsig_file: Some("/none/at/all".to_owned()), ..Draft::default() };
        assert!(Files::of(&mut draft, false).unwrap().infos().is_empty());
        store.resolve(&mut draft, &[]).unwrap();
        assert_eq!(draft.tsig_file.as_deref(), Some("/none/at/all"));
    }

    #[test]
    fn what_is_no_hash_becomes_no_path_and_a_changed_file_is_refused() {
        let there = tempfile::tempdir().unwrap();
        let mut store = Store::new(there.path().join("files"), true);
        for name in ["../../etc/passwd", "", "/etc/passwd", &"g".repeat(64)] {
            assert!(store.begin(name, 1).is_err(), "{name}");
        }
        assert!(store.part(b"x").is_err(), "nothing was named");
        store.begin(&"0".repeat(64), 3).unwrap();
        assert!(store.part(b"abcdef").unwrap_err().contains("has changed"));
        assert!(!there.path().join("files").join("0".repeat(64)).exists());
    }
}
