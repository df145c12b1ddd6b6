//! The coordinator's side of the link to one agent.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;

use dnsdyno_record::ClockOffset;
use dnsdyno_sys::clock;

use crate::broker_files::BrokerFiles;
use crate::clocks::{Clock, Exchange};
use crate::error::ClusterError;
use crate::frame::Kind;
use crate::link::{Link, Outbox, Receive};
use crate::messages::{AgentFacts, Order, PROTOCOL, Report};
use crate::on::{Connected, Destination};
use crate::signing::Addressee;

/// An agent, as its coordinator knows it.
pub(crate) struct Session {
    pub(crate) destination: Destination,
    /// To whom its tasks are signed, where they have to be.
    pub(crate) addressee: Option<Addressee>,
    /// The object store of its broker.
    pub(crate) broker_files: Option<Arc<BrokerFiles>>,
    pub(crate) facts: AgentFacts,
    pub(crate) outbox: Outbox,
    pub(crate) clock: Clock,
    /// When something was heard of it last, by the monotonic clock here.
    pub(crate) heard_ns: u64,
    /// Why nothing more comes from it.
    pub(crate) gone: Option<String>,
}

/// Something that came from an agent.
pub(crate) enum Event {
    Report(Report),
    /// A line of its record.
    Line(Vec<u8>),
    /// An exchange of clocks is complete.
    Clock(Exchange),
    /// The link has ended, with these words.
    Gone(String),
}

impl Session {
    /// Greets an agent. What comes from it goes to `events`, with its number.
    ///
    /// # Errors
    /// The system gives no thread. That nobody answers is told by [`Event::Gone`].
    pub(crate) fn open(
        connected: Connected,
        number: usize,
        events: Sender<(usize, Event)>,
    ) -> Result<Session, ClusterError> {
        let Connected { destination, link: Link { send, receive }, addressee, broker_files } = connected;
        let outbox = Outbox::new(send).map_err(ClusterError::Thread)?;
        let reader = thread::Builder::new().name("agent".to_owned());
        reader.spawn(move || read(receive, number, &events)).map_err(ClusterError::Thread)?;
        let version = env!("CARGO_PKG_VERSION").to_owned();
        outbox.message(&Order::Hello { protocol: PROTOCOL, version });
        let heard_ns = clock::monotonic_ns();
        Ok(Session {
            destination,
            addressee,
            broker_files,
            facts: AgentFacts::default(),
            outbox,
            clock: Clock::default(),
            heard_ns,
            gone: None,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.destination.name
    }

    /// Asks for the time there. The number of the question is the time here.
    pub(crate) fn ask_time(&self) {
        self.outbox.message_now(|| Order::Clock { number: clock::monotonic_ns() });
    }

    pub(crate) fn offset(&self) -> ClockOffset {
        self.clock.offset().unwrap_or_default()
    }

    /// The first answer: what the agent is.
    ///
    /// # Errors
    /// It speaks another protocol.
    pub(crate) fn greeted(&mut self, protocol: u32, facts: AgentFacts) -> Result<(), ClusterError> {
        if protocol != PROTOCOL {
            return Err(ClusterError::OtherProtocol {
                name: self.name().to_owned(),
                theirs: facts.version,
                protocol,
                ours: env!("CARGO_PKG_VERSION").to_owned(),
                own: PROTOCOL,
            });
        }
        self.facts = facts;
        Ok(())
    }
}

/// Reads what comes from an agent until it ends.
fn read(mut receive: Box<dyn Receive>, number: usize, events: &Sender<(usize, Event)>) {
    let mut trouble = None;
    loop {
        let frame = match receive.receive() {
            Ok(Some(frame)) => frame,
            Ok(None) => break,
            Err(error) => {
                trouble = Some(error.to_string());
                break;
            }
        };
        let back_ns = clock::monotonic_ns();
        let event = match frame.kind {
            Kind::Line => Event::Line(frame.octets),
            Kind::File => continue,
            Kind::Message => match serde_json::from_slice(&frame.octets) {
                Ok(Report::Clock { number: sent_ns, received_ns, sent_ns: answered_ns }) => {
                    Event::Clock(Exchange { sent_ns, received_ns, answered_ns, back_ns })
                }
                Ok(report) => Event::Report(report),
                Err(error) => {
                    trouble = Some(format!("it said what nobody understands here ({error})"));
                    break;
                }
            },
        };
        if events.send((number, event)).is_err() {
            return;
        }
    }
    let words = trouble.unwrap_or_else(|| receive.last_words());
    let _ = events.send((number, Event::Gone(words)));
}
