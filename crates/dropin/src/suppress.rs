//! `-O suppress`: the messages that are not printed.

use crate::options::Refusal;

/// Which messages are suppressed, of those that are ever printed here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Suppress {
    pub(crate) timeouts: bool,
    pub(crate) send_failed: bool,
    pub(crate) unexpected: bool,
}

impl Suppress {
    /// Reads a list of kinds, each of which may be cut short.
    pub(crate) fn read(text: &str) -> Result<Suppress, Refusal> {
        let mut suppress = Suppress::default();
        // A list may end with a comma.
        let kinds = text.strip_suffix(',').unwrap_or(text);
        for kind in kinds.split(',').filter(|_| !kinds.is_empty()) {
            match KINDS.iter().find(|known| known.starts_with(kind)) {
                Some(&"timeouts") => suppress.timeouts = true,
                Some(&"sendfailed") => suppress.send_failed = true,
                Some(&"unexpected") => suppress.unexpected = true,
                Some(_) => {}
                None => return Err(Refusal::Usage(format!("unknown message type to suppress: {kind}"))),
            }
        }
        Ok(suppress)
    }
}

/// In the order in which a shortened kind is searched.
const KINDS: [&str; 5] = ["timeouts", "congestion", "sendfailed", "sockready", "unexpected"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_listed_and_may_be_cut_short() {
        let read = |text| Suppress::read(text).map(|all| (all.timeouts, all.unexpected));
        assert_eq!(read("timeouts,unexpected"), Ok((true, true)));
        assert_eq!(read("un,sock,"), Ok((false, true)));
        assert_eq!(read("t"), Ok((true, false)));
        let wrong = Err(Refusal::Usage("unknown message type to suppress: timeoutsx".into()));
        assert_eq!(read("sock,timeoutsx"), wrong);
    }
}
