//! A plan that watches and sends nothing: `dnsdyno watch`.

use dnsdyno_text::notation::{format_duration_ns, parse_duration_ns};

use crate::draft::Draft;
use crate::error::PlanError;
use crate::plan::{Host, INTERVAL_NS};
use crate::target::{Target, Wanted};
use crate::values::{filled, limited};
use crate::watch::Watch;

/// What is watched without a load, validated.
#[derive(Debug, Clone)]
pub struct WatchPlan {
    /// A name for the record.
    pub name: Option<String>,
    /// A comment on it.
    pub note: Option<String>,
    /// What is watched.
    pub watch: Vec<Watch>,
    /// Servers whose host, process or statistics are looked for; nothing is sent to them.
    pub targets: Vec<Target>,
    /// The length of an interval.
    pub interval_ns: u64,
    /// When it ends; `None` = when the user ends it.
    pub duration_ns: Option<u64>,
    draft: Draft,
}

impl WatchPlan {
    /// The options, as they are kept in a record.
    pub fn to_draft(&self) -> Draft {
        self.draft.clone()
    }
}

impl Draft {
    /// Checks the options of `dnsdyno watch`: what is watched (`auto` where it is not said), the servers, the length of
    /// an interval (1 s) and of the whole.
    ///
    /// # Errors
    /// One of them is wrong, or the address of a server cannot be found.
    pub fn validate_watch(&self, host: &Host<'_>) -> Result<WatchPlan, PlanError> {
        let mut draft = self.clone();
        draft.watch.get_or_insert_default();
        if let Some(all) = draft.watch.as_mut().filter(|all| all.is_empty()) {
            all.push(Watch::Auto.to_string().into());
        }
        let watch = Watch::of(&mut draft, host.working_dir)?;
        let interval_ns = filled("interval", &mut draft.interval, "1s", parse_duration_ns)?;
        limited("interval", interval_ns, INTERVAL_NS, format_duration_ns)?;
        let duration = |text: &String| {
            parse_duration_ns(text).map_err(|source| PlanError::Unit { option: "for", source })
        };
        let duration_ns = draft.duration.as_ref().map(duration).transpose()?;
        if duration_ns == Some(0) {
            return Err(PlanError::Zero { option: "for" });
        }
        let servers = draft.server.iter().flat_map(|servers| servers.split(','));
        let wanted = |server| Wanted {
            server,
            port: draft.port,
            usual_port: 53,
            family: draft.family.unwrap_or_default(),
            local_address: None,
        };
        let targets = servers.map(|server| wanted(server).find(host.resolve)).collect::<Result<_, _>>()?;
        let (name, note) = (draft.name.clone(), draft.note.clone());
        Ok(WatchPlan { name, note, watch, targets, interval_ns, duration_ns, draft })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn plan(draft: Draft) -> Result<WatchPlan, String> {
        let host = Host {
            cores: 1,
            working_dir: Path::new("/work"),
            fresh_seed: 1,
            resolve: &|_, _| Err("no name server".into()),
            is_local: &|_| true,
        };
        draft.validate_watch(&host).map_err(|error| error.to_string())
    }

    #[test]
    fn without_options_what_can_be_found_is_watched_every_second_until_the_user_ends_it() {
        let plan = plan(Draft::default()).unwrap();
        assert_eq!(
            (plan.watch, plan.interval_ns, plan.duration_ns),
            (vec![Watch::Auto], 1_000_000_000, None)
        );
        assert!(plan.targets.is_empty());
    }

    #[test]
    fn a_server_may_have_a_public_address_because_nothing_is_sent_to_it() {
        let server = Some("192.0.2.1,[2001:db8::1]:5300,1.1.1.1".to_owned());
        let plan = plan(Draft { server, duration: Some("90s".into()), ..Draft::default() }).unwrap();
        let addresses: Vec<_> = plan.targets.iter().map(|target| target.address.to_string()).collect();
        assert_eq!(addresses, ["192.0.2.1:53", "[2001:db8::1]:5300", "1.1.1.1:53"]);
        assert_eq!(plan.duration_ns, Some(90_000_000_000));
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_option() {
        let wrong = |draft| plan(draft).unwrap_err();
        assert!(wrong(Draft { watch: Some(vec!["cpu".into()]), ..Draft::default() }).contains("write auto"));
        assert!(wrong(Draft { interval: Some("1ms".into()), ..Draft::default() }).contains("interval"));
        assert!(wrong(Draft { duration: Some("0s".into()), ..Draft::default() }).contains("--for"));
        assert!(wrong(Draft { server: Some("ns1".into()), ..Draft::default() }).contains("ns1"));
    }
}
