//! Several captures as one, in the order of time.

use std::net::SocketAddr;
use std::ops::Range;

use dnsdyno_measure::CaptureCounts;

use crate::error::CaptureError;
use crate::message::{DnsMessage, Protocol};
use crate::reader::CaptureReader;

/// The messages of several captures, merged by their instants. What one capture gives stays in its order.
pub struct Merge {
    inputs: Vec<Input>,
    /// The inputs whose next message is not read yet: all of them, and then the one whose message was given last.
    to_read: Range<usize>,
    errors: Vec<CaptureError>,
}

struct Input {
    reader: CaptureReader,
    /// The message that is next, where there is one. Its octets are kept in memory that is used again.
    next: Option<Next>,
    bytes: Vec<u8>,
}

struct Next {
    at_unix_ns: u64,
    protocol: Protocol,
    source: SocketAddr,
    destination: SocketAddr,
}

impl Merge {
    /// Begins with captures that were opened.
    pub fn new(readers: Vec<CaptureReader>) -> Self {
        let inputs = readers.into_iter().map(|reader| Input { reader, next: None, bytes: Vec::new() });
        let inputs: Vec<Input> = inputs.collect();
        Merge { to_read: 0..inputs.len(), inputs, errors: Vec::new() }
    }

    /// The next message; `None` at the end of all captures. A capture that cannot be read further ends: see
    /// [`errors`](Self::errors).
    #[allow(clippy::should_implement_trait, reason = "what it gives borrows the memory of its capture")]
    pub fn next(&mut self) -> Option<DnsMessage<'_>> {
        for place in std::mem::take(&mut self.to_read) {
            self.advance(place);
        }
        let nexts = self.inputs.iter().enumerate();
        let nexts = nexts.filter_map(|(place, input)| Some((input.next.as_ref()?.at_unix_ns, place)));
        let (_, place) = nexts.min()?;
        self.to_read = place..place + 1;
        let input = &self.inputs[place];
        let next = input.next.as_ref()?;
        Some(DnsMessage {
            at_unix_ns: next.at_unix_ns,
            protocol: next.protocol,
            source: next.source,
            destination: next.destination,
            bytes: &input.bytes,
        })
    }

    /// What was read of all captures so far.
    pub fn counts(&self) -> CaptureCounts {
        let mut counts = CaptureCounts::default();
        self.inputs.iter().for_each(|input| counts.merge(input.reader.counts()));
        counts
    }

    /// Why captures could not be read to their end.
    pub fn errors(&self) -> &[CaptureError] {
        &self.errors
    }

    /// The errors, to be told.
    pub fn into_errors(self) -> Vec<CaptureError> {
        self.errors
    }

    /// Reads the next message of an input.
    fn advance(&mut self, place: usize) {
        let Some(input) = self.inputs.get_mut(place) else { return };
        input.next = match input.reader.next() {
            Ok(Some(message)) => {
                input.bytes.clear();
                input.bytes.extend_from_slice(message.bytes);
                let DnsMessage { at_unix_ns, protocol, source, destination, .. } = message;
                Some(Next { at_unix_ns, protocol, source, destination })
            }
            Ok(None) => None,
            Err(error) => {
                self.errors.push(error);
                None
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OutputFormat;
    use crate::sample::{Message, some, written};

    fn reader(file: Vec<u8>) -> CaptureReader {
        CaptureReader::from_reader(Box::new(std::io::Cursor::new(file)), "c.pcap").unwrap()
    }

    fn merged(merge: &mut Merge) -> Vec<Message> {
        let mut messages = Vec::new();
        while let Some(message) = merge.next() {
            messages.push(Message::from(message));
        }
        messages
    }

    #[test]
    fn captures_that_overlap_are_merged_in_the_order_of_time() {
        let all = some();
        let part = |n: usize| all.iter().skip(n).step_by(3).cloned().collect::<Vec<_>>();
        let formats = [OutputFormat::Pcap, OutputFormat::Dnstap, OutputFormat::Pcapng];
        let readers = formats.iter().enumerate().map(|(n, format)| reader(written(*format, &part(n))));
        let mut merge = Merge::new(readers.collect());
        assert_eq!(merged(&mut merge), all);
        assert_eq!((merge.counts().messages, merge.errors().len()), (40, 0));
    }

    #[test]
    fn a_capture_that_is_cut_short_ends_and_the_others_go_on() {
        let mut cut = written(OutputFormat::Pcap, &some()[..6]);
        cut.truncate(cut.len() - 3);
        let mut merge = Merge::new(vec![reader(cut), reader(written(OutputFormat::Pcap, &some()[6..]))]);
        assert_eq!(merged(&mut merge).len(), 39);
        assert_eq!(merge.errors().len(), 1);
    }
}
