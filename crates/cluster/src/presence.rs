//! Who is there on a broker, and how a session with one of them begins.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::broker::{Broker, BrokerUrl, Labels, MOST_AGENTS, is_label};
use crate::error::ClusterError;
use crate::link::Link;
use crate::nats_link::{self, Direction, Side, ask, subject};
use crate::signing::{Addressee, is_id, random_id};

/// The question who is there.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Question {
    /// Labels that an agent must have to answer; its name is the label `name`.
    pub(crate) labels: Labels,
}

/// The answer of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Presence {
    /// Its name.
    pub name: String,
    /// What tells it from others of this name.
    pub(crate) instance: String,
    /// Its labels.
    pub labels: Labels,
}

/// What a coordinator wants of an agent.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Opening {
    pub(crate) instance: String,
    pub(crate) session: String,
}

/// What the agent says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Opened {
    Ready,
    Refused { why: String },
}

impl Presence {
    /// Whether these labels are wanted.
    pub(crate) fn has(&self, wanted: &Labels) -> bool {
        wanted.iter().all(|(key, value)| match key.as_str() {
            "name" => *value == self.name,
            _ => self.labels.get(key) == Some(value),
        })
    }
}

/// The agents of a broker that are meant by a URL, by their names.
///
/// # Errors
/// There are none, or too few.
pub(crate) fn find(broker: &Broker, url: &BrokerUrl) -> Result<Vec<Presence>, ClusterError> {
    let wrong = |why: String| ClusterError::Broker { url: url.to_string(), why, is_refused: false };
    let question = serde_json::to_vec(&Question { labels: url.labels.clone() }).unwrap_or_default();
    let most = url.count.unwrap_or(MOST_AGENTS);
    // Whoever says how many there are waits for a slow one.
    let within = if url.count.is_some() { COUNTED_WITHIN } else { ANSWERS_WITHIN };
    let answers = broker.wait(ask(broker.client.clone(), FIND.to_owned(), question, most, within));
    let answers = answers.unwrap_or_else(|| Err(GONE.to_owned())).map_err(wrong)?;
    // Anyone on the broker may answer: what could not be a name becomes no subject and no path.
    let is_plain = |one: &Presence| is_label(&one.name) && is_id(&one.instance) && one.has(&url.labels);
    let mut found: Vec<Presence> =
        answers.iter().filter_map(|answer| serde_json::from_slice(answer).ok()).filter(is_plain).collect();
    found.sort_by(|one, other| (&one.name, &one.instance).cmp(&(&other.name, &other.instance)));
    found.dedup();
    if found.is_empty() || url.count.is_some_and(|count| found.len() < count) {
        return Err(ClusterError::FewAgents { url: url.to_string(), found: found.len() });
    }
    Ok(found)
}

/// Begins a session with an agent.
///
/// # Errors
/// It does not answer, or has no room.
pub(crate) fn open(broker: &Broker, agent: &Presence) -> Result<(Link, Addressee), ClusterError> {
    let lost = |why: String| ClusterError::Lost { name: agent.name.clone(), why };
    let session = random_id().map_err(|error| lost(error.to_string()))?;
    let to = Addressee { agent: agent.name.clone(), session: session.clone() };
    let opening = Opening { instance: agent.instance.clone(), session };
    let question = serde_json::to_vec(&opening).unwrap_or_default();
    let (client, of, from) =
        (broker.client.clone(), opening_subject(&agent.name), subject(&to, Direction::From));
    let asked = broker.wait(async move {
        // First this, so that nothing that the agent says is missed.
        let subscriber = client.subscribe(from).await.map_err(|error| error.to_string())?;
        for _ in 0..OPENING_TRIES {
            let answers = ask(client.clone(), of.clone(), question.clone(), 1, OPENS_WITHIN).await?;
            match answers.first().map(|answer| serde_json::from_slice(answer)) {
                None => {}
                Some(Ok(Opened::Ready)) => return Ok(subscriber),
                Some(Ok(Opened::Refused { why })) => return Err(why),
                Some(Err(error)) => return Err(format!("it said what nobody understands here ({error})")),
            }
        }
        Err("it does not answer any more".to_owned())
    });
    let subscriber = asked.unwrap_or_else(|| Err(GONE.to_owned())).map_err(lost)?;
    let side = Side { subject: subject(&to, Direction::To), subscriber, silent_for: None, stop: None };
    Ok((nats_link::begin(broker, side), to))
}

/// The subject of an agent on which sessions begin.
pub(crate) fn opening_subject(name: &str) -> String {
    format!("dnsdyno.agent.{name}.open")
}

/// The subject on which agents are looked for.
pub(crate) const FIND: &str = "dnsdyno.find";

const GONE: &str = "the connection has ended";

/// Agents that answer later are not there.
const ANSWERS_WITHIN: Duration = Duration::from_secs(1);

/// The same where their number is given.
const COUNTED_WITHIN: Duration = Duration::from_secs(10);

const OPENS_WITHIN: Duration = Duration::from_secs(2);
const OPENING_TRIES: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_meant_by_all_labels_and_its_name() {
        let labels = |text: &str| BrokerUrl::parse(&format!("nats://a?{text}")).unwrap().labels;
        let agent = Presence {
            name: "lg1".to_owned(),
            instance: random_id().unwrap(),
            labels: labels("site=tyo&rack=3"),
        };
        for (wanted, is_meant) in [
            ("", true),
            ("site=tyo", true),
            ("site=tyo&rack=3&name=lg1", true),
            ("site=tyo&rack=4", false),
            ("name=lg2", false),
            ("zone=a", false),
        ] {
            assert_eq!(agent.has(&labels(wanted)), is_meant, "{wanted}");
        }
    }
}
