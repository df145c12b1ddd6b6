//! Receiving over HTTP/2: bytes in pieces of any size become frames, and those of a stream become a response.

use dnsdyno_http::{message_of, words_of};
use dnsdyno_measure::StreamFailure;

use super::frame::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, FRAME_HEADER, Frame, GOAWAY, HEADERS, PING, PRIORITY,
    PRIORITY_BYTES, PUSH_PROMISE, RST_STREAM, SETTINGS, WINDOW_UPDATE, first_frame, put_goaway, put_reset,
    put_window_update, without_padding,
};
use super::state::{HeaderBlock, Http, HttpShared, Stream, StreamState, Turn};
use super::violation::{
    CANCEL, COMPRESSION_ERROR, ENHANCE_YOUR_CALM, HTTP_1_1_REQUIRED, PROTOCOL_ERROR, Violation,
};
use crate::allowance::TOO_MANY_IDLE;
use crate::bounds::{HEADER_BLOCK_BYTES, HTTP_CONNECTION_WINDOW, LONGEST_MESSAGE, SHOWN_CHARACTERS};
use crate::stream::pool::BufferPool;
use crate::stream::session::{Broken, Reader};
use crate::{MessageKind, Sink};

impl Http {
    /// Reads received bytes; appends frames that are to be sent to `out`.
    pub(in crate::stream) fn read<K: Sink>(
        &mut self,
        shared: &mut HttpShared,
        pool: &mut BufferPool,
        received: &[u8],
        out: &mut Vec<u8>,
        reader: &mut Reader<'_, K>,
    ) -> Result<(), Broken> {
        let mut turn = Turn { shared, pool, out, reader };
        self.take_bytes(received, &mut turn).map_err(|violation| {
            put_goaway(turn.out, violation.code);
            turn.shared.explained.end(violation.end(), || violation.words());
            Broken::Ended(violation.end())
        })
    }

    fn take_bytes<K: Sink>(&mut self, received: &[u8], turn: &mut Turn<'_, '_, K>) -> Result<(), Violation> {
        let mut inbox = std::mem::take(&mut self.inbox);
        let is_fresh = inbox.is_empty();
        if !is_fresh {
            inbox.extend_from_slice(received);
        }
        let bytes = if is_fresh { received } else { &inbox[..] };
        if !self.has_begun && bytes.starts_with(b"HTTP/1.") {
            return Err(Violation::new(HTTP_1_1_REQUIRED, ""));
        }
        let mut at = 0;
        while let Some(frame) = first_frame(&bytes[at..])? {
            at += FRAME_HEADER + frame.payload.len();
            self.take_frame(&frame, turn)?;
        }
        if is_fresh && at < received.len() {
            inbox = turn.pool.take();
            inbox.extend_from_slice(&received[at..]);
        } else if !is_fresh {
            inbox.drain(..at);
            if inbox.is_empty() {
                turn.pool.give_back(std::mem::take(&mut inbox));
            }
        }
        self.inbox = inbox;
        self.send_rest(turn.out);
        if self.unacknowledged > HTTP_CONNECTION_WINDOW as usize / 2 {
            put_window_update(turn.out, self.unacknowledged as u32);
            self.unacknowledged = 0;
        }
        Ok(())
    }

    fn take_frame<K: Sink>(
        &mut self,
        frame: &Frame<'_>,
        turn: &mut Turn<'_, '_, K>,
    ) -> Result<(), Violation> {
        if !self.has_begun {
            self.begin_with(frame)?;
        }
        if self.header_block.is_some() && frame.kind != CONTINUATION {
            return Err(Violation::new(PROTOCOL_ERROR, "another frame between those of a header block"));
        }
        match frame.kind {
            DATA => self.take_data(frame, turn),
            HEADERS => {
                let mut block = without_padding(frame)?;
                if frame.flags & PRIORITY != 0 {
                    let short = Violation::new(PROTOCOL_ERROR, "a HEADERS frame without its priority");
                    block = block.get(PRIORITY_BYTES..).ok_or(short)?;
                }
                let is_end = frame.flags & END_STREAM != 0;
                if frame.flags & END_HEADERS == 0 {
                    let block = block.to_vec();
                    self.header_block = Some(HeaderBlock { stream: frame.stream, is_end, block });
                    return Ok(());
                }
                self.take_headers(frame.stream, is_end, block, turn)
            }
            CONTINUATION => self.take_continuation(frame, turn),
            RST_STREAM | SETTINGS | PING | GOAWAY | WINDOW_UPDATE => self.take_control(frame, turn),
            PUSH_PROMISE => Err(Violation::new(PROTOCOL_ERROR, "a PUSH_PROMISE, which our SETTINGS forbid")),
            // PRIORITY, and types that the standard does not know.
            _ => self.take_idle(turn),
        }
    }

    fn take_data<K: Sink>(&mut self, frame: &Frame<'_>, turn: &mut Turn<'_, '_, K>) -> Result<(), Violation> {
        self.unacknowledged += frame.payload.len();
        let data = without_padding(frame)?;
        let is_end = frame.flags & END_STREAM != 0;
        let Some(open) = self.streams.get_mut(&frame.stream) else {
            return self.take_unwanted(frame.stream, turn);
        };
        if open.head.is_none() {
            self.violate(frame.stream, PROTOCOL_ERROR, "a body before the headers", turn);
            return Ok(());
        }
        if open.body.len() + data.len() > LONGEST_MESSAGE {
            self.violate(frame.stream, CANCEL, "a body longer than any DNS message", turn);
            return Ok(());
        }
        if is_end && open.body.is_empty() {
            if let Some(open) = self.streams.remove(&frame.stream) {
                self.deliver(&open, data, turn);
            }
            return Ok(());
        }
        if !is_end && data.is_empty() {
            return self.take_idle(turn);
        }
        turn.pool.extend(&mut open.body, data).map_err(|_| TOO_MUCH_UNFINISHED)?;
        if is_end {
            self.finish(frame.stream, turn);
        }
        Ok(())
    }

    fn take_continuation<K: Sink>(
        &mut self,
        frame: &Frame<'_>,
        turn: &mut Turn<'_, '_, K>,
    ) -> Result<(), Violation> {
        self.take_idle(turn)?;
        let stray = Violation::new(PROTOCOL_ERROR, "a CONTINUATION frame that continues nothing");
        let mut header_block = self.header_block.take().ok_or(stray)?;
        if header_block.stream != frame.stream {
            return Err(stray);
        }
        if header_block.block.len() + frame.payload.len() > HEADER_BLOCK_BYTES {
            return Err(Violation::new(ENHANCE_YOUR_CALM, "headers of more than 16 KiB"));
        }
        header_block.block.extend_from_slice(frame.payload);
        if frame.flags & END_HEADERS == 0 {
            self.header_block = Some(header_block);
            return Ok(());
        }
        let HeaderBlock { stream, is_end, block } = header_block;
        self.take_headers(stream, is_end, &block, turn)
    }

    fn take_headers<K: Sink>(
        &mut self,
        stream: u32,
        is_end: bool,
        block: &[u8],
        turn: &mut Turn<'_, '_, K>,
    ) -> Result<(), Violation> {
        // Decoded in any case: later blocks may refer to it.
        let invalid = Violation::new(COMPRESSION_ERROR, "headers that cannot be decoded");
        let head = self.decoder.decode(block).ok_or(invalid)?;
        let Some(open) = self.streams.get_mut(&stream) else { return self.take_unwanted(stream, turn) };
        let is_informational = (100..200).contains(&head.status);
        match open.head {
            None if head.is_malformed || head.status == 0 || (is_informational && is_end) => {
                self.violate(stream, PROTOCOL_ERROR, "headers without a valid status or length", turn);
                return Ok(());
            }
            // The headers of the response follow.
            None if is_informational => return self.take_idle(turn),
            None => {
                open.head = Some(head);
                turn.reader.status(head.status);
            }
            // Trailers, which are ignored.
            Some(_) if is_end => {}
            Some(_) => {
                self.violate(stream, PROTOCOL_ERROR, "trailers that do not end the response", turn);
                return Ok(());
            }
        }
        if is_end {
            self.finish(stream, turn);
        }
        Ok(())
    }

    /// A frame that brings no response.
    pub(super) fn take_idle<K: Sink>(&mut self, turn: &Turn<'_, '_, K>) -> Result<(), Violation> {
        self.allowance.take(1, turn.reader.at_ns).map_err(|_| TOO_MANY)
    }

    /// A frame of a stream without a query: of one that we have cancelled it may still be received.
    fn take_unwanted<K: Sink>(&mut self, stream: u32, turn: &mut Turn<'_, '_, K>) -> Result<(), Violation> {
        match self.state_of(stream) {
            StreamState::Idle => {
                Err(Violation::new(PROTOCOL_ERROR, "a response on a stream that is not open"))
            }
            StreamState::Open | StreamState::Closed => self.take_idle(turn),
        }
    }

    /// Handles the regular end of a stream.
    fn finish<K: Sink>(&mut self, stream: u32, turn: &mut Turn<'_, '_, K>) {
        if let Some(mut open) = self.streams.remove(&stream) {
            let body = std::mem::take(&mut open.body);
            self.deliver(&open, &body, turn);
            turn.pool.release(body);
        }
    }

    /// Ends a stream on which the server violates HTTP/2.
    #[cold]
    pub(super) fn violate<K: Sink>(
        &mut self,
        stream: u32,
        code: u32,
        what: &'static str,
        turn: &mut Turn<'_, '_, K>,
    ) {
        put_reset(turn.out, stream, code);
        turn.shared.explained.stream(StreamFailure::Protocol, || format!("the server sent {what}"));
        self.fail(stream, StreamFailure::Protocol, turn);
    }

    /// Reports a response, or why it is none.
    fn deliver<K: Sink>(&self, open: &Stream, body: &[u8], turn: &mut Turn<'_, '_, K>) {
        let Some(head) = open.head else { return };
        let body = match message_of(&head, body) {
            Ok(body) => body,
            Err(why) => return self.deliver_none(open, why, turn),
        };
        let answer = &mut turn.shared.answer;
        answer.clear();
        answer.extend_from_slice(body);
        if let Some(id) = answer.first_chunk_mut::<2>() {
            *id = open.query.to_be_bytes();
        }
        if turn.reader.answer_on_stream(Some(open.sent_ns), answer) == MessageKind::Malformed {
            self.deliver_none(open, StreamFailure::NoMessage, turn);
        }
    }

    /// Reports a response that is no DNS message.
    #[cold]
    fn deliver_none<K: Sink>(&self, open: &Stream, why: StreamFailure, turn: &mut Turn<'_, '_, K>) {
        let head = open.head.unwrap_or_default();
        let other = self.decoder.other_type();
        turn.shared.explained.stream(why, || words_of(why, &head, other, SHOWN_CHARACTERS));
        turn.reader.stream_failed(open.query, open.sent_ns, why);
    }
}

const TOO_MANY: Violation = Violation::new(ENHANCE_YOUR_CALM, TOO_MANY_IDLE);
const TOO_MUCH_UNFINISHED: Violation =
    Violation::new(ENHANCE_YOUR_CALM, "more than 32 MiB of responses without ending them");
