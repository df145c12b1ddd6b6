//! Who may give an agent a task over a broker: whoever has the private half of a key that the agent's own host trusts.
//!
//! ```text
//!   coordinator                                   agent
//!     nonce?            ──►                         ◄──  nonce, the time there
//!     signed task       ──►   agent and session are these, the key is trusted, the signature is right,
//!                             the nonce was given here and not used, the time is not over
//! ```
//!
//! The signature covers the name of the agent, the session, the nonce, the expiry, and the SHA-256 of the task's JSON:
//! what was signed for one agent and one moment is of no use at another.
//!
//! What follows in the session (files by their hashes, start, stop) is not signed. It is taken from whoever knows the
//! session's id, 128 bits from the system that only coordinator and agent have made a subject of. That keeps out who
//! may publish on the broker and not read there. Who may read what others publish can learn the id, and then stop a run
//! or spoil it; it cannot begin one, put another file in the place of one that the task names, or send the load
//! elsewhere. TLS keeps out who reads the wires, and the broker's own permissions keep out other users of it.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dnsdyno_text::shown;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};

use crate::messages::Task;
use crate::signed::{Nonce, Signed, hexadecimal};

/// The private half of a key, which signs tasks.
pub struct Signer {
    pair: Ed25519KeyPair,
}

/// Why a key cannot be made or read.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// There is one already.
    #[error("{path} exists, and a key is never overwritten: its public half is {public}", path = path.display())]
    Exists {
        /// The file.
        path: PathBuf,
        /// The public half.
        public: String,
    },
    /// There is none.
    #[error(
        "{path}: {source}: over NATS each task is signed: make a key with `dnsdyno agent keys`, and put its public \
         half into trusted-keys of each agent",
        path = path.display()
    )]
    None {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The file cannot be used.
    #[error("{path}: {why}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

impl Signer {
    /// Where the key of this user is.
    pub fn usual_path() -> PathBuf {
        let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        home.join(".config/dnsdyno/agents.key")
    }

    /// Makes a key, in a file that only its owner can read.
    ///
    /// # Errors
    /// There is such a file, or it cannot be written.
    pub fn create(path: &Path) -> Result<Signer, KeyError> {
        if let Ok(signer) = Signer::read(path) {
            return Err(KeyError::Exists { path: path.to_owned(), public: signer.public() });
        }
        let wrong = |why: String| KeyError::File { path: path.to_owned(), why };
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new())
            .map_err(|_| wrong("the system gives no random numbers".to_owned()))?;
        let write = || -> io::Result<()> {
            if let Some(folder) = path.parent() {
                fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            }
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
            file.write_all(format!("{}\n", STANDARD.encode(document.as_ref())).as_bytes())?;
            file.sync_all()
        };
        write().map_err(|error| wrong(error.to_string()))?;
        Signer::read(path)
    }

    /// Reads the key.
    ///
    /// # Errors
    /// There is none, or the file has something else.
    pub fn read(path: &Path) -> Result<Signer, KeyError> {
        let wrong = |why: &str| KeyError::File { path: path.to_owned(), why: why.to_owned() };
        let text = dnsdyno_record::read_regular(path)
            .map_err(|source| KeyError::None { path: path.to_owned(), source })?;
        let pkcs8 = STANDARD.decode(text.trim()).map_err(|_| wrong("it has no key: it is not base64"))?;
        let pair = Ed25519KeyPair::from_pkcs8(&pkcs8).map_err(|_| wrong("it has no key of Ed25519"))?;
        Ok(Signer { pair })
    }

    /// The public half, as `trusted-keys` has it.
    pub fn public(&self) -> String {
        STANDARD.encode(self.pair.public_key())
    }

    /// Signs a task for one agent, for as long as a statement holds from the agent's time on.
    pub(crate) fn sign(&self, to: &Addressee, nonce: &Nonce, task: &Task) -> Signed {
        // Tasks are made of what JSON can hold.
        let task = serde_json::to_string(task).unwrap_or_default();
        let mut signed = Signed {
            agent: to.agent.clone(),
            session: to.session.clone(),
            nonce: nonce.nonce.clone(),
            expires_unix_s: nonce.unix_s + HOLDS_S,
            task,
            key: self.public(),
            signature: String::new(),
        };
        signed.signature = STANDARD.encode(self.pair.sign(&signed.statement()));
        signed
    }
}

/// The agent and the session that a task is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Addressee {
    pub(crate) agent: String,
    pub(crate) session: String,
}

/// Why a task is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error(
        "it trusts no key: put that of `dnsdyno agent keys` into trusted-keys of the agent.toml on its host, and start \
         it again"
    )]
    NoKeys,
    #[error("over NATS each task has to be signed")]
    Unsigned,
    #[error("the task is for the agent {0}")]
    OtherAgent(String),
    #[error("the task is for another session")]
    OtherSession,
    #[error("the key {0} is not in trusted-keys of its agent.toml")]
    UnknownKey(String),
    #[error("the signature is wrong")]
    BadSignature,
    #[error("the task was given before: its nonce is used")]
    Replayed,
    #[error("the task has a nonce that was not given here")]
    UnknownNonce,
    #[error("the task has expired")]
    Expired,
    #[error("the task cannot be read: {0}")]
    Unreadable(String),
}

/// What lets tasks of one session in.
#[derive(Debug)]
pub(crate) struct Door {
    addressee: Addressee,
    trusted: Vec<PublicKey>,
    /// The nonces of this session, and whether each was used.
    nonces: HashMap<String, bool>,
}

/// The public half of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// Reads it from base64.
    pub fn parse(text: &str) -> Option<PublicKey> {
        STANDARD.decode(text.trim()).ok()?.try_into().ok().map(PublicKey)
    }
}

impl Door {
    pub(crate) fn new(addressee: Addressee, trusted: Vec<PublicKey>) -> Door {
        Door { addressee, trusted, nonces: HashMap::new() }
    }

    /// A nonce for one signature; `None` where the session has had too many, or the system gives none.
    pub(crate) fn nonce(&mut self) -> Option<Nonce> {
        let nonce = random_id().ok().filter(|_| self.nonces.len() < MOST_NONCES)?;
        self.nonces.insert(nonce.clone(), false);
        Some(Nonce { nonce, unix_s: unix_s() })
    }

    /// Lets a task in, once.
    pub(crate) fn admit(&mut self, signed: &Signed, now_unix_s: u64) -> Result<Task, Refusal> {
        let short = |text: &str| shown(text, 80).to_string();
        if self.trusted.is_empty() {
            return Err(Refusal::NoKeys);
        }
        if signed.agent != self.addressee.agent {
            return Err(Refusal::OtherAgent(short(&signed.agent)));
        }
        if signed.session != self.addressee.session {
            return Err(Refusal::OtherSession);
        }
        let key = PublicKey::parse(&signed.key).filter(|key| self.trusted.contains(key));
        let key = key.ok_or_else(|| Refusal::UnknownKey(short(&signed.key)))?;
        let signature = STANDARD.decode(&signed.signature).map_err(|_| Refusal::BadSignature)?;
        let is_right = UnparsedPublicKey::new(&ED25519, key.0).verify(&signed.statement(), &signature);
        is_right.map_err(|_| Refusal::BadSignature)?;
        match self.nonces.get_mut(&signed.nonce) {
            None => return Err(Refusal::UnknownNonce),
            Some(true) => return Err(Refusal::Replayed),
            Some(used) => *used = true,
        }
        if now_unix_s > signed.expires_unix_s || signed.expires_unix_s > now_unix_s + HOLDS_S {
            return Err(Refusal::Expired);
        }
        serde_json::from_str(&signed.task).map_err(|error| Refusal::Unreadable(error.to_string()))
    }
}

/// 128 random bits of the system, in hexadecimal.
///
/// # Errors
/// The system gives none.
pub(crate) fn random_id() -> io::Result<String> {
    let mut octets = [0; 16];
    SystemRandom::new()
        .fill(&mut octets)
        .map_err(|_| io::Error::other("the system gives no random numbers"))?;
    Ok(hexadecimal(&octets))
}

/// Whether a text is what [`random_id`] gives: it becomes a part of subjects and paths.
pub(crate) fn is_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|octet| matches!(octet, b'0'..=b'9' | b'a'..=b'f'))
}

/// The time, by which statements expire.
pub(crate) fn unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// How long a signed task holds.
const HOLDS_S: u64 = 60;

/// Nonces of a session: one for each of its runs.
const MOST_NONCES: usize = 10_000;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn addressee() -> Addressee {
        Addressee { agent: "lg1".to_owned(), session: random_id().unwrap() }
    }

    fn signer() -> (tempfile::TempDir, Signer) {
        let folder = tempfile::tempdir().unwrap();
        let signer = Signer::create(&folder.path().join("new/agents.key")).unwrap();
        (folder, signer)
    }

    fn task() -> Task {
        Task {
            agent: "lg1".to_owned(),
            plan: "rate = 5".to_owned(),
            watch: None,
            may_load: false,
            tsig: None,
            files: vec![],
        }
    }

    fn door(signer: &Signer, addressee: &Addressee) -> Door {
        Door::new(addressee.clone(), vec![PublicKey::parse(&signer.public()).unwrap()])
    }

    #[test]
    fn a_signed_task_is_let_in_once_until_it_expires() {
        let (_folder, signer) = signer();
        let to = addressee();
        let mut door = door(&signer, &to);
        let nonce = door.nonce().unwrap();
        let signed = signer.sign(&to, &nonce, &task());
        assert_eq!(door.admit(&signed, nonce.unix_s + HOLDS_S).unwrap().plan, "rate = 5");
        assert_eq!(door.admit(&signed, nonce.unix_s).unwrap_err(), Refusal::Replayed);
        for at_unix_s in [nonce.unix_s + HOLDS_S + 1, nonce.unix_s - 1] {
            let late = signer.sign(&to, &Nonce { unix_s: nonce.unix_s, ..door.nonce().unwrap() }, &task());
            assert_eq!(door.admit(&late, at_unix_s).unwrap_err(), Refusal::Expired);
        }
        let invented = Nonce { nonce: random_id().unwrap(), unix_s: nonce.unix_s };
        let invented = signer.sign(&to, &invented, &task());
        assert_eq!(door.admit(&invented, nonce.unix_s).unwrap_err(), Refusal::UnknownNonce);
    }

    #[test]
    fn what_was_signed_for_another_or_changed_is_refused() {
        let (_folder, signer) = signer();
        let to = addressee();
        let mut door = door(&signer, &to);
        let nonce = door.nonce().unwrap();
        let at = nonce.unix_s;
        let right = signer.sign(&to, &nonce, &task());
        let elsewhere = signer.sign(&Addressee { agent: "lg2".to_owned(), ..to.clone() }, &nonce, &task());
        assert_eq!(door.admit(&elsewhere, at).unwrap_err(), Refusal::OtherAgent("lg2".to_owned()));
        let earlier =
            signer.sign(&Addressee { session: random_id().unwrap(), ..to.clone() }, &nonce, &task());
        assert_eq!(door.admit(&earlier, at).unwrap_err(), Refusal::OtherSession);
        for changed in [
            Signed { agent: "lg1".to_owned(), ..elsewhere },
            Signed { session: to.session.clone(), ..earlier },
            Signed { task: right.task.replace("rate = 5", "rate = 6"), ..right.clone() },
            Signed { expires_unix_s: right.expires_unix_s - 1, ..right.clone() },
            Signed { signature: STANDARD.encode([0; 64]), ..right.clone() },
            Signed { signature: "no base64!".to_owned(), ..right.clone() },
        ] {
            assert_eq!(door.admit(&changed, at).unwrap_err(), Refusal::BadSignature, "{changed:?}");
        }
        // None of these has used the nonce.
        assert!(door.admit(&right, at).is_ok());
    }

    #[test]
    fn only_trusted_keys_are_let_in() {
        let ((_one, signer), (_other, stranger)) = (signer(), signer());
        let to = addressee();
        let mut door = door(&signer, &to);
        let nonce = door.nonce().unwrap();
        let signed = stranger.sign(&to, &nonce, &task());
        assert_eq!(door.admit(&signed, nonce.unix_s).unwrap_err(), Refusal::UnknownKey(stranger.public()));
        // The name of a trusted key does not help.
        let named = Signed { key: signer.public(), ..signed };
        assert_eq!(door.admit(&named, nonce.unix_s).unwrap_err(), Refusal::BadSignature);
        let mut closed = Door::new(to.clone(), vec![]);
        let nonce = closed.nonce().unwrap();
        assert_eq!(
            closed.admit(&signer.sign(&to, &nonce, &task()), nonce.unix_s).unwrap_err(),
            Refusal::NoKeys
        );
    }

    #[test]
    fn a_key_is_its_owners_and_is_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/agents.key");
        assert!(matches!(Signer::read(&path), Err(KeyError::None { .. })));
        let public = Signer::create(&path).unwrap().public();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let again = Signer::create(&path).err().unwrap().to_string();
        assert!(again.contains("never overwritten") && again.contains(&public), "{again}");
        assert_eq!(Signer::read(&path).unwrap().public(), public);
        fs::write(&path, "something else").unwrap();
        assert!(Signer::create(&path).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "something else");
    }
}
