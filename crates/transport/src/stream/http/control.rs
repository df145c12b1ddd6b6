//! Frames of HTTP/2 that bring no response: limits of the server, its windows, the end of streams and connections.

use dnsdyno_measure::{ConnectionEnd, NotSentReason, StreamFailure};
use dnsdyno_text::shown;

use super::frame::{
    ACK, ENABLE_PUSH, Frame, GOAWAY, HEADER_TABLE_SIZE, INITIAL_WINDOW_SIZE, LAST_STREAM, LONGEST_FRAME,
    MAX_CONCURRENT_STREAMS, MAX_FRAME_SIZE, MOST_WINDOW, PING, RST_STREAM, SETTINGS, number, put_header,
};
use super::hpack;
use super::state::{Http, HttpShared, ServerTable, StreamState, Turn};
use super::violation::{
    FLOW_CONTROL_ERROR, FRAME_SIZE_ERROR, NO_ERROR, PROTOCOL_ERROR, REFUSED_STREAM, Violation, name_of,
};
use crate::Sink;
use crate::bounds::SHOWN_CHARACTERS;

impl Http {
    /// Takes the first frame of a server, which must be its SETTINGS (RFC 9113, 3.4).
    #[cold]
    pub(super) fn begin_with(&mut self, frame: &Frame<'_>) -> Result<(), Violation> {
        if frame.kind != SETTINGS || frame.flags & ACK != 0 {
            return Err(Violation::new(PROTOCOL_ERROR, "no SETTINGS at the start: it may not speak HTTP/2"));
        }
        self.has_begun = true;
        Ok(())
    }

    pub(super) fn take_control<K: Sink>(
        &mut self,
        frame: &Frame<'_>,
        turn: &mut Turn<'_, '_, K>,
    ) -> Result<(), Violation> {
        self.take_idle(turn)?;
        let is_of_connection = matches!(frame.kind, SETTINGS | PING | GOAWAY);
        if is_of_connection && frame.stream != 0 {
            return Err(Violation::new(PROTOCOL_ERROR, "SETTINGS, PING or GOAWAY on a stream"));
        }
        match frame.kind {
            SETTINGS => self.take_settings(turn.shared, frame, turn.out),
            PING => take_ping(frame, turn.out),
            GOAWAY => self.take_goaway(frame, turn),
            RST_STREAM => self.take_reset(frame, turn),
            _ => self.take_window_update(frame, turn),
        }
    }

    fn take_settings(
        &mut self,
        shared: &mut HttpShared,
        frame: &Frame<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), Violation> {
        let is_acknowledgement = frame.flags & ACK != 0;
        if !frame.payload.len().is_multiple_of(6) || (is_acknowledgement && !frame.payload.is_empty()) {
            return Err(Violation::new(FRAME_SIZE_ERROR, "SETTINGS of a wrong length"));
        }
        if is_acknowledgement {
            return Ok(());
        }
        for setting in frame.payload.chunks_exact(6) {
            let (name, value) = (u16::from_be_bytes([setting[0], setting[1]]), number(&setting[2..])?);
            self.take_setting(shared, name, value)?;
        }
        self.check_windows()?;
        put_header(out, 0, SETTINGS, ACK, 0);
        Ok(())
    }

    fn take_setting(&mut self, shared: &mut HttpShared, name: u16, value: u32) -> Result<(), Violation> {
        match name {
            HEADER_TABLE_SIZE if (value as usize) < hpack::TABLE_BYTES => {
                self.table_update = Some(value as usize);
                // A table too small for the headers is not used for them.
                if (value as usize) < shared.head.table_bytes() {
                    self.server_table = ServerTable::TooSmall;
                }
            }
            ENABLE_PUSH if value != 0 => {
                return Err(Violation::new(PROTOCOL_ERROR, "ENABLE_PUSH, which is a client's"));
            }
            MAX_CONCURRENT_STREAMS => {
                self.most_streams = value as usize;
                if value == 0 {
                    shared.explained.not_sent(NotSentReason::NoStream, || NO_STREAMS.to_owned());
                }
            }
            INITIAL_WINDOW_SIZE if i64::from(value) > MOST_WINDOW => return Err(WINDOW_TOO_LARGE),
            // It applies to open streams, too (RFC 9113, 6.9.2): these keep the difference.
            INITIAL_WINDOW_SIZE => self.stream_window = i64::from(value),
            MAX_FRAME_SIZE if !(LONGEST_FRAME..1 << 24).contains(&(value as usize)) => {
                return Err(Violation::new(PROTOCOL_ERROR, "a MAX_FRAME_SIZE that the standard excludes"));
            }
            MAX_FRAME_SIZE => self.most_frame = value as usize,
            _ => {}
        }
        Ok(())
    }

    /// Whether the new size of windows makes that of an open stream too large.
    fn check_windows(&mut self) -> Result<(), Violation> {
        if self.stream_window + self.most_credit > MOST_WINDOW {
            self.most_credit = self.streams.values().map(|open| open.credit).max().unwrap_or(0).max(0);
            if self.stream_window + self.most_credit > MOST_WINDOW {
                return Err(WINDOW_TOO_LARGE);
            }
        }
        Ok(())
    }

    fn take_window_update<K: Sink>(
        &mut self,
        frame: &Frame<'_>,
        turn: &mut Turn<'_, '_, K>,
    ) -> Result<(), Violation> {
        let opened = i64::from(number(frame.payload)? & LAST_STREAM);
        if frame.stream == 0 {
            self.window += opened;
            return match opened {
                0 => Err(WINDOW_UPDATE_OF_0),
                _ if self.window > MOST_WINDOW => Err(WINDOW_TOO_LARGE),
                _ => Ok(()),
            };
        }
        if self.state_of(frame.stream) == StreamState::Idle {
            return Err(IDLE_STREAM);
        }
        match self.streams.get_mut(&frame.stream) {
            Some(_) if opened == 0 => {
                self.violate(frame.stream, PROTOCOL_ERROR, "a WINDOW_UPDATE of 0", turn);
            }
            Some(open) => {
                open.credit += opened;
                self.most_credit = self.most_credit.max(open.credit);
                if self.stream_window + open.credit > MOST_WINDOW {
                    let what = "a window of more than 2,147,483,647 octets";
                    self.violate(frame.stream, FLOW_CONTROL_ERROR, what, turn);
                }
            }
            None => {}
        }
        Ok(())
    }

    fn take_reset<K: Sink>(
        &mut self,
        frame: &Frame<'_>,
        turn: &mut Turn<'_, '_, K>,
    ) -> Result<(), Violation> {
        let code = number(frame.payload)?;
        match self.state_of(frame.stream) {
            StreamState::Idle => return Err(IDLE_STREAM),
            // Some servers do so after a response.
            StreamState::Closed => return Ok(()),
            StreamState::Open => {}
        }
        let why = if code == REFUSED_STREAM { StreamFailure::Refused } else { StreamFailure::Reset };
        turn.shared.explained.stream(why, || format!("the server reset a stream with {}", name_of(code)));
        self.fail(frame.stream, why, turn);
        Ok(())
    }

    /// The server accepts no more requests: those it has not processed may be retried elsewhere.
    fn take_goaway<K: Sink>(
        &mut self,
        frame: &Frame<'_>,
        turn: &mut Turn<'_, '_, K>,
    ) -> Result<(), Violation> {
        let Some((numbers, reason)) = frame.payload.split_at_checked(8) else {
            return Err(Violation::new(FRAME_SIZE_ERROR, "a GOAWAY of less than 8 octets"));
        };
        let (last, code) = (number(&numbers[..4])? & LAST_STREAM, number(&numbers[4..])?);
        let words = || match reason {
            [] => format!("the server ended the connection with GOAWAY, {}", name_of(code)),
            _ => {
                let reason = String::from_utf8_lossy(&reason[..reason.len().min(4 * SHOWN_CHARACTERS)]);
                let reason = shown(&reason, SHOWN_CHARACTERS).into_owned();
                format!("the server ended the connection with GOAWAY, {}: {reason}", name_of(code))
            }
        };
        let end = if code == NO_ERROR { ConnectionEnd::GoneAway } else { ConnectionEnd::Error };
        if end == ConnectionEnd::Error {
            turn.shared.explained.end(end, words);
        }
        self.closing = Some(end);
        let mut beyond: Vec<u32> = self.streams.keys().copied().filter(|stream| *stream > last).collect();
        beyond.sort_unstable();
        for stream in beyond {
            turn.shared.explained.stream(StreamFailure::GoneAway, words);
            self.fail(stream, StreamFailure::GoneAway, turn);
        }
        Ok(())
    }
}

fn take_ping(frame: &Frame<'_>, out: &mut Vec<u8>) -> Result<(), Violation> {
    if frame.payload.len() != PING_BYTES {
        return Err(Violation::new(FRAME_SIZE_ERROR, "a PING of other than 8 octets"));
    }
    if frame.flags & ACK == 0 {
        put_header(out, PING_BYTES, PING, ACK, 0);
        out.extend_from_slice(frame.payload);
    }
    Ok(())
}

const PING_BYTES: usize = 8;

const NO_STREAMS: &str = "the server allows no HTTP/2 stream (SETTINGS_MAX_CONCURRENT_STREAMS is 0)";
const WINDOW_TOO_LARGE: Violation =
    Violation::new(FLOW_CONTROL_ERROR, "a window of more than 2,147,483,647 octets");
const WINDOW_UPDATE_OF_0: Violation = Violation::new(PROTOCOL_ERROR, "a WINDOW_UPDATE of 0");
const IDLE_STREAM: Violation = Violation::new(PROTOCOL_ERROR, "a frame of a stream that is not open");
