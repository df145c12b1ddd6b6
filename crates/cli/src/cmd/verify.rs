//! `dnsdyno verify`: whether files of a release are those that were signed. It needs no network and no other program.

use std::fmt::Display;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;
use dnsdyno_cluster::hash_of;
use dnsdyno_record::open_regular;
use dnsdyno_text::shown;
use ssh_key::{HashAlg, PublicKey, SshSig};

use crate::cmd::report::named;
use crate::exit::{EXPECTATION_FAILED, Failure, OK, Outcome};

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct VerifyFlags {
    /// Packages, archives or images, each with SHA256SUMS and SHA256SUMS.sig in its folder
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The public key of who signed the release, as ssh-keygen writes it (ssh-ed25519)
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
}

pub(crate) fn verify(flags: &VerifyFlags) -> Outcome {
    let key = read_key(&flags.key).map_err(Failure::bad_input)?;
    let signer = format!("{} {}", key.fingerprint(HashAlg::Sha256), shown(key.comment(), 80));
    let mut code = OK;
    for file in &flags.files {
        let text = match difference(file, &key).map_err(Failure::bad_input)? {
            None => format!("as signed by {}", signer.trim_end()),
            Some(difference) => {
                code = EXPECTATION_FAILED;
                format!("NOT as signed: {difference}")
            }
        };
        writeln!(io::stdout(), "{}: {text}", named(file)).map_err(Failure::run_failed)?;
    }
    Ok(code)
}

fn read_key(path: &Path) -> anyhow::Result<PublicKey> {
    let text =
        String::from_utf8(read(path, KEY_MAX)?).map_err(|error| anyhow!("{}: {error}", named(path)))?;
    let key = PublicKey::from_openssh(text.trim()).map_err(|error| {
        let advice = "name the .pub file of ssh-keygen, with one line 'ssh-ed25519 AAAA... comment'";
        anyhow!("{} is not a public key of OpenSSH: {error}; {advice}", named(path))
    })?;
    match key.algorithm() {
        ssh_key::Algorithm::Ed25519 => Ok(key),
        other => {
            Err(anyhow!("{}: keys of {other} are not read; releases are signed by ssh-ed25519", named(path)))
        }
    }
}

/// Why the file is not what was signed with this key; `None` if it is.
fn difference(file: &Path, key: &PublicKey) -> anyhow::Result<Option<String>> {
    let (found, _) = hash_of(file).with_context(|| format!("cannot read {}", named(file)))?;
    let sums = read(&file.with_file_name(SUMS), SUMS_MAX)?;
    let signature = read(&file.with_file_name(SIGNATURE), KEY_MAX)?;
    // Before a byte of the list is interpreted.
    if let Err(why) =
        SshSig::from_pem(&signature).and_then(|signature| key.verify(NAMESPACE, &sums, &signature))
    {
        return Ok(Some(format!("{SIGNATURE} is no signature of {SUMS} by this key ({why})")));
    }
    let name = file.file_name().unwrap_or_default().as_encoded_bytes();
    let Some(signed) = sum_of(&sums, name) else {
        return Ok(Some(format!("{SUMS} does not have its name; was the file renamed?")));
    };
    Ok((found != signed).then(|| format!("its SHA-256 is {found}, and {signed} was signed")))
}

/// The sum of the file with this name in a list of `sha256sum`.
fn sum_of(sums: &[u8], name: &[u8]) -> Option<String> {
    sums.split(|byte| *byte == b'\n').find_map(|line| {
        let (sum, rest) = line.split_at_checked(SUM_LENGTH)?;
        // Two blanks, or a blank and an asterisk, where the file was read as binary.
        let listed = rest.strip_prefix(b"  ").or_else(|| rest.strip_prefix(b" *"))?;
        let is_sum = sum.iter().all(u8::is_ascii_hexdigit);
        (is_sum && listed == name).then(|| String::from_utf8_lossy(sum).to_ascii_lowercase())
    })
}

/// The bytes of a file that has at most so many.
fn read(path: &Path, most: u64) -> anyhow::Result<Vec<u8>> {
    let failed = |why: &dyn Display| anyhow!("cannot read {}: {why}", named(path));
    let mut bytes = Vec::new();
    let file = open_regular(path).map_err(|error| failed(&error))?;
    file.take(most + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    match bytes.len() as u64 > most {
        true => Err(failed(&format!("it has more than {most} bytes"))),
        false => Ok(bytes),
    }
}

const SUMS: &str = "SHA256SUMS";
const SIGNATURE: &str = "SHA256SUMS.sig";
/// What the signature is for, so that one for something else is refused.
const NAMESPACE: &str = "dnsdyno";
/// Digits of a SHA-256.
const SUM_LENGTH: usize = 64;
const SUMS_MAX: u64 = 1 << 20;
const KEY_MAX: u64 = 1 << 16;

const HELP: &str = "\
Examples:
  dnsdyno verify dnsdyno_0.1.0_amd64.deb --key release.pub
  dnsdyno verify dnsdyno* --key release.pub

The same by other programs, also for a first copy, which no dnsdyno has verified yet:
  (printf 'release '; cat release.pub) > allowed_signers
  ssh-keygen -Y verify -f allowed_signers -I release -n dnsdyno -s SHA256SUMS.sig < SHA256SUMS
  sha256sum --check --ignore-missing SHA256SUMS

Exit codes: 0 all files are those that were signed; 1 one is not; 2 the key or a file cannot be read.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_that_of_the_whole_name() {
        let (a, b) = ("a".repeat(64), "B".repeat(64));
        let sums = format!("{a}  x.deb\n{b} *y.deb\n{}  z.deb\n{a} w.deb\n", "g".repeat(64));
        let of = |name: &str| sum_of(sums.as_bytes(), name.as_bytes());
        assert_eq!(of("x.deb"), Some(a));
        assert_eq!(of("y.deb"), Some("b".repeat(64)));
        for name in ["z.deb", "w.deb", ".deb", "deb", "", "x.deb\n"] {
            assert_eq!(of(name), None, "{name:?}");
        }
    }
}
