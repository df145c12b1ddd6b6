//! Files of a release, signed by ssh-keygen, and what somebody changes on their way.

use dnsdyno_lab::{Need, require};

use crate::support::Workplace;

/// Two packages with their sums, signed by a key made here; its public half is `release.pub`. `None` without the
/// program that signs.
fn release() -> Option<Workplace> {
    let work = Workplace::new();
    work.write("one.deb", "the first package");
    work.write("two.rpm", vec![7; 300_000]);
    require(&[SIGNER]).then(|| {
        work.shell(
            "set -e
            ssh-keygen -q -t ed25519 -N '' -C 'the release' -f release
            sha256sum one.deb two.rpm > SHA256SUMS
            ssh-keygen -q -Y sign -n dnsdyno -f release SHA256SUMS",
        )
        .gives(0);
        work
    })
}

const SIGNER: Need<'_> = Need::Program { name: "ssh-keygen", package: "openssh-client" };

/// What `dnsdyno verify` and the programs that everybody has say of `one.deb`: whether it is as signed.
#[track_caller]
fn both_say(work: &Workplace, is_signed: bool) -> String {
    let ours = work.dnsdyno("verify one.deb --key release.pub").gives(i32::from(!is_signed));
    let theirs = work.shell(
        "(printf 'release '; cat release.pub) > allowed_signers
        ssh-keygen -Y verify -f allowed_signers -I release -n dnsdyno -s SHA256SUMS.sig < SHA256SUMS &&
            grep -q ' one.deb$' SHA256SUMS && sha256sum --check --ignore-missing SHA256SUMS",
    );
    assert_eq!(theirs.code() == Some(0), is_signed, "{theirs:?}");
    ours.stdout
}

#[test]
fn what_was_signed_is_told_with_the_key() {
    let Some(work) = release() else { return };
    let said = both_say(&work, true);
    assert!(said.starts_with("one.deb: as signed by SHA256:") && said.ends_with(" the release\n"), "{said}");
    let fingerprint = work.shell("ssh-keygen -l -f release.pub | cut -d' ' -f2").stdout;
    assert!(said.contains(fingerprint.trim()), "{said}: {fingerprint}");
    let both = work.dnsdyno("verify two.rpm one.deb --key release.pub").gives(0).stdout;
    assert_eq!(both.matches(": as signed by ").count(), 2, "{both}");
}

#[test]
fn every_change_is_seen_as_by_the_programs_that_everybody_has() {
    let Some(work) = release() else { return };
    for (change, words) in [
        ("printf x >> one.deb", "its SHA-256 is "),
        ("sed -i 's/^./0/;s/^00/11/' SHA256SUMS", "no signature of SHA256SUMS by this key"),
        ("sha256sum one.deb > SHA256SUMS", "no signature of SHA256SUMS by this key"),
        ("ssh-keygen -q -t ed25519 -N '' -f other; mv other.pub release.pub", "by this key"),
        ("rm SHA256SUMS.sig; ssh-keygen -q -Y sign -n file -f release SHA256SUMS", "by this key"),
        ("sed -i 2s/^../AA/ SHA256SUMS.sig", "by this key"),
        ("truncate -s 100 SHA256SUMS.sig", "by this key"),
        (": > SHA256SUMS.sig", "by this key"),
        (
            "sha256sum two.rpm > SHA256SUMS; rm SHA256SUMS.sig
            ssh-keygen -q -Y sign -n dnsdyno -f release SHA256SUMS",
            "does not have its name",
        ),
    ] {
        work.shell(&format!("rm -rf kept; mkdir kept; cp -p * kept 2> /dev/null; {change}"));
        let said = both_say(&work, false);
        assert!(said.starts_with("one.deb: NOT as signed: ") && said.contains(words), "{change}: {said}");
        work.shell("cp -p kept/* .").gives(0);
    }
    both_say(&work, true);
    work.shell("printf x >> one.deb");
    let mixed = work.dnsdyno("verify two.rpm one.deb --key release.pub").gives(1).stdout;
    assert!(mixed.contains("two.rpm: as signed") && mixed.contains("one.deb: NOT as signed"), "{mixed}");
}

#[test]
fn what_cannot_be_read_is_refused() {
    let Some(work) = release() else { return };
    work.shell(
        "ssh-keygen -q -t rsa -b 2048 -N '' -f rsa; ssh-keygen -q -t ecdsa -N '' -f ecdsa
        mkdir alone; cp one.deb alone; mkdir wide; cp one.deb SHA256SUMS.sig wide
        truncate -s 2M wide/SHA256SUMS; mkfifo pipe; printf '\\377' > bytes.pub",
    )
    .gives(0);
    for (words, said) in [
        ("verify one.deb", &["--key"][..]),
        ("verify --key release.pub", &["FILE"]),
        ("verify one.deb --key absent.pub", &["cannot read absent.pub", "No such file"]),
        ("verify one.deb --key release", &["release is not a public key of OpenSSH", ".pub file"]),
        ("verify one.deb --key bytes.pub", &["bytes.pub", "utf-8"]),
        ("verify one.deb --key rsa.pub", &["rsa.pub", "ssh-ed25519"]),
        ("verify one.deb --key ecdsa.pub", &["ecdsa.pub", "ssh-ed25519"]),
        ("verify absent.deb --key release.pub", &["cannot read absent.deb", "No such file"]),
        ("verify alone/one.deb --key release.pub", &["cannot read alone/SHA256SUMS", "No such file"]),
        ("verify wide/one.deb --key release.pub", &["wide/SHA256SUMS", "more than 1048576 bytes"]),
        ("verify pipe --key release.pub", &["cannot read pipe", "not a regular file"]),
        ("verify . --key release.pub", &["not a regular file"]),
    ] {
        let ran = work.dnsdyno(words).gives(2).says(said);
        assert_eq!(ran.stdout, "", "{words}");
    }
}
