//! Monitors the interface of an AF_XDP run: without it, the user would not know why packets are not sent or not
//! received.

use dnsdyno_record::Event;
use dnsdyno_sys::interface::{Interface, LinkState};

/// Checks an interface periodically, and reports changes.
pub(crate) struct Watch {
    interface: Interface,
    link: LinkState,
    queues: u32,
    /// Queues with a socket of the run.
    served: u32,
}

impl Watch {
    /// Monitors the interface of this name; `None` where it does not exist.
    pub(crate) fn new(name: &str, served: u32) -> Option<Watch> {
        let interface = Interface::named(name).ok()?;
        Some(Watch { link: LinkState::Up, queues: served, served, interface })
    }

    /// The changes since the last check, at `at_ns` of the run.
    pub(crate) fn check(&mut self, at_ns: u64) -> Vec<Event> {
        let name = self.interface.name();
        let mut events = Vec::new();
        let link = self.interface.link_state();
        if std::mem::replace(&mut self.link, link) != link {
            let message = match link {
                LinkState::Up => format!("{name} is up again"),
                LinkState::Down => format!("{name} went down: nothing is sent"),
                LinkState::NoCarrier => format!("{name} lost its link: nothing is sent"),
            };
            events.push(event(at_ns, "link", message, &[("is_up", (link == LinkState::Up).into())]));
        }
        // While the interface is down, the driver may report any number.
        let queues = if link == LinkState::Up { self.interface.queues() } else { self.queues };
        if std::mem::replace(&mut self.queues, queues) != queues {
            let served = self.served;
            let what = if queues > served {
                "responses on the new queues go to the host and count as timeouts"
            } else if queues < served {
                "queries for the removed queues are not sent"
            } else {
                "as at the start"
            };
            let message =
                format!("{name} now has {queues} queues, and the run has sockets on {served}: {what}");
            events.push(event(
                at_ns,
                "queues",
                message,
                &[("queues", queues.into()), ("served", served.into())],
            ));
        }
        events
    }
}

fn event(at_ns: u64, kind: &str, message: String, figures: &[(&str, serde_json::Value)]) -> Event {
    let figures = figures.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    Event { at_ns, kind: kind.to_owned(), message, figures }
}
