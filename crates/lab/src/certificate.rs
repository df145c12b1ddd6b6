//! A certificate for servers that encrypt, with an authority of its own, made anew for each test.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use tempfile::TempDir;

use crate::LabError;

/// What is wrong with a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// It was valid until the end of 2020.
    Expired,
    /// It is valid from 2090 on.
    NotYetValid,
    /// It is for `other.example` only.
    OtherName,
    /// It is the certificate of an authority.
    Authority,
}

/// A certificate for `localhost`, 127.0.0.1 and ::1, in a folder that is removed with it.
#[derive(Debug)]
pub struct Certificate {
    folder: TempDir,
}

impl Certificate {
    /// Makes one, and writes it, its key and its authority's certificate as PEM files.
    ///
    /// # Errors
    /// [`LabError::Certificate`] when it cannot be made, [`LabError::Io`] when it cannot be written.
    pub fn make() -> Result<Self, LabError> {
        Self::make_with(None)
    }

    /// Makes one that a client must reject.
    ///
    /// # Errors
    /// As [`Certificate::make`].
    pub fn make_flawed(flaw: Flaw) -> Result<Self, LabError> {
        Self::make_with(Some(flaw))
    }

    fn make_with(flaw: Option<Flaw>) -> Result<Self, LabError> {
        let folder = tempfile::Builder::new().prefix("dnsdyno-certificate-").tempdir();
        let folder = folder.map_err(LabError::io("make a folder for a certificate"))?;
        let made = Self { folder };
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(1));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        authority.distinguished_name.push(DnType::CommonName, "dnsdyno lab");
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
        let names = if flaw == Some(Flaw::OtherName) { &OTHER_NAMES[..] } else { &NAMES[..] };
        let mut server =
            CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())?;
        match flaw {
            Some(Flaw::Expired) => server.not_after = date_time_ymd(2020, 12, 31),
            Some(Flaw::NotYetValid) => server.not_before = date_time_ymd(2090, 1, 1),
            Some(Flaw::Authority) => server.is_ca = IsCa::Ca(BasicConstraints::Unconstrained),
            Some(Flaw::OtherName) | None => {}
        }
        server.distinguished_name.push(DnType::CommonName, "localhost");
        server.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = server.signed_by(&key, &authority)?;
        for (path, pem) in [
            (made.cert_file(), certificate.pem()),
            (made.key_file(), key.serialize_pem()),
            (made.ca_file(), authority.pem()),
        ] {
            fs::write(&path, pem).map_err(LabError::io(format!("write {}", path.display())))?;
        }
        Ok(made)
    }

    /// The server's certificate.
    pub fn cert_file(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    /// The server's private key.
    pub fn key_file(&self) -> PathBuf {
        self.folder.path().join("key.pem")
    }

    /// What a client must trust.
    pub fn ca_file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// What a template that encrypts asks for, for [`ServerOptions::values`](crate::ServerOptions::values).
    pub fn values(&self) -> BTreeMap<String, String> {
        let value = |name: &str, path: PathBuf| (name.to_owned(), path.display().to_string());
        [value("cert_file", self.cert_file()), value("key_file", self.key_file())].into()
    }
}

const OTHER_NAMES: [&str; 1] = ["other.example"];

const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
