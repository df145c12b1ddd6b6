//! Whether this host can start the servers of an experiment: looked at before anything is started.

use super::error::ExperimentError;
use super::kind::{Kind, Started};
use super::setup::{NamespaceUse, Setup};

impl Setup {
    /// Checks that this host can start the servers and helpers: their programs are there, and this user may do what
    /// they ask for. Nothing is started, so a program that is there and does not run is not found out.
    ///
    /// # Errors
    /// [`ExperimentError::CannotRun`], with each server that cannot be started, why, and what to do.
    pub fn check_host(&self) -> Result<(), ExperimentError> {
        let helpers = self.helpers.iter().map(|helper| (format!("helper `{}`", helper.name), &helper.how));
        let subjects = self.subjects.iter().zip(&self.design.subjects);
        let servers = subjects.filter_map(|(kind, subject)| match kind {
            Kind::Started(started) => Some((format!("server `{}`", subject.name), &**started)),
            Kind::There { .. } => None,
        });
        let cannot = |(whose, how): (String, &Started)| Some(format!("{whose}: {}", how.able().err()?));
        let mut reasons: Vec<String> = helpers.chain(servers).filter_map(cannot).collect();
        if self.namespace == NamespaceUse::Always && !rustix::process::geteuid().is_root() {
            reasons.push("`namespace = \"own\"` needs the rights of root: use sudo".to_owned());
        }
        match reasons.is_empty() {
            true => Ok(()),
            false => Err(ExperimentError::CannotRun { reasons }),
        }
    }
}
