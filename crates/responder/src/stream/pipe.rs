//! The bytes of one connection: unchanged (TCP), or through TLS.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::time::Duration;

use mio::net::TcpStream;
use rustls::{HandshakeKind, ServerConnection};
use socket2::SockRef;

/// A socket, and the TLS session on it where there is one.
pub(crate) struct Pipe {
    stream: TcpStream,
    tls: Option<Box<ServerConnection>>,
    /// Early data was received and accepted.
    had_early: bool,
}

/// The result of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Got {
    /// So many bytes were appended; 0 where they belonged to a handshake.
    Bytes(usize),
    /// Nothing can be read now.
    Nothing,
    /// The client sends no more.
    End,
}

/// Why a connection cannot be used any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The client has reset the connection.
    Lost,
    /// The client has closed it.
    Ended,
    /// The client violated the protocol; it was sent an alert where possible.
    Rules,
}

/// How a handshake was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handshake {
    Full,
    Resumed,
    Early,
}

impl Pipe {
    pub(crate) fn new(stream: TcpStream, tls: Option<ServerConnection>) -> Pipe {
        let mut tls = tls.map(Box::new);
        if let Some(tls) = &mut tls {
            // Bounded by how much is written at a time.
            tls.set_buffer_limit(None);
        }
        Pipe { stream, tls, had_early: false }
    }

    pub(crate) fn socket(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_handshaking())
    }

    /// How the handshake was done, once it is.
    pub(crate) fn handshake(&self) -> Option<Handshake> {
        let tls = self.tls.as_ref().filter(|tls| !tls.is_handshaking())?;
        match tls.handshake_kind()? {
            HandshakeKind::Resumed if self.had_early => Some(Handshake::Early),
            HandshakeKind::Resumed => Some(Handshake::Resumed),
            _ => Some(Handshake::Full),
        }
    }

    /// Appends received bytes, at most about [`READ_BYTES`] at a time.
    pub(crate) fn read(&mut self, inbox: &mut Vec<u8>) -> Result<Got, Broken> {
        match &mut self.tls {
            None => read_some(&mut self.stream, inbox),
            Some(tls) => match tls.read_tls(&mut self.stream) {
                Ok(0) => Ok(Got::End),
                Ok(_) => self.decrypt(inbox),
                Err(error) if is_for_later(&error) => Ok(Got::Nothing),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Got::Bytes(0)),
                Err(_) => Err(Broken::Lost),
            },
        }
    }

    fn decrypt(&mut self, inbox: &mut Vec<u8>) -> Result<Got, Broken> {
        let Some(tls) = &mut self.tls else { return Ok(Got::Nothing) };
        let begin = inbox.len();
        let state = match tls.process_new_packets() {
            Ok(state) => state,
            Err(_) => {
                // The alert with the reason; whether it arrives does not matter.
                let _ = tls.write_tls(&mut self.stream);
                return Err(Broken::Rules);
            }
        };
        if let Some(mut early) = tls.early_data() {
            let count = early.read_to_end(inbox).unwrap_or(0);
            self.had_early |= count > 0;
        }
        let at = inbox.len();
        inbox.resize(at + state.plaintext_bytes_to_read(), 0);
        let read = tls.reader().read(&mut inbox[at..]);
        inbox.truncate(at + *read.as_ref().unwrap_or(&0));
        let is_end = state.peer_has_closed() && inbox.len() == begin;
        Ok(if is_end { Got::End } else { Got::Bytes(inbox.len() - begin) })
    }

    /// Passes bytes to the kernel, or to TLS; returns how many were accepted (TLS accepts all, as one
    /// record or several). The kernel has them when [`flush`](Pipe::flush) has returned true.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        match &mut self.tls {
            Some(tls) => tls.writer().write(bytes).map_err(|_| Broken::Lost),
            None => loop {
                match self.stream.write(bytes) {
                    Ok(0) => return Err(Broken::Lost),
                    Ok(count) => return Ok(count),
                    Err(error) if is_for_later(&error) => return Ok(0),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(_) => return Err(Broken::Lost),
                }
            },
        }
    }

    /// Passes the records of TLS to the kernel; returns whether it has accepted all.
    pub(crate) fn flush(&mut self) -> Result<bool, Broken> {
        let Some(tls) = &mut self.tls else { return Ok(true) };
        while tls.wants_write() {
            match tls.write_tls(&mut self.stream) {
                Ok(0) => return Err(Broken::Lost),
                Ok(_) => {}
                Err(error) if is_for_later(&error) => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Broken::Lost),
            }
        }
        Ok(true)
    }

    /// Closes our side regularly: TLS sends close_notify first.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            let _ = self.flush();
        }
        self.stream.shutdown(Shutdown::Write)
    }

    /// Closes with RST instead of FIN; what the kernel has not sent is lost.
    pub(crate) fn reset(self) -> io::Result<()> {
        SockRef::from(&self.stream).set_linger(Some(Duration::ZERO))
    }

    /// Ends the handshake with a fatal alert, as a server that supports none of the client's options.
    pub(crate) fn alert(mut self) {
        let _ = self.stream.write(&HANDSHAKE_FAILURE);
        // With unread bytes the close would become a reset.
        let _ = self.discard();
    }

    /// Reads and discards; returns whether the client has sent anything.
    pub(crate) fn discard(&mut self) -> Result<bool, Broken> {
        let mut bytes = [0; 4096];
        let mut came = false;
        loop {
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err(Broken::Ended),
                Ok(_) => came = true,
                Err(error) if is_for_later(&error) => return Ok(came),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(Broken::Lost),
            }
        }
    }
}

fn read_some(stream: &mut TcpStream, inbox: &mut Vec<u8>) -> Result<Got, Broken> {
    let at = inbox.len();
    inbox.resize(at + READ_BYTES, 0);
    let read = stream.read(&mut inbox[at..]);
    inbox.truncate(at + *read.as_ref().unwrap_or(&0));
    match read {
        Ok(0) => Ok(Got::End),
        Ok(count) => Ok(Got::Bytes(count)),
        Err(error) if is_for_later(&error) => Ok(Got::Nothing),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Got::Bytes(0)),
        Err(_) => Err(Broken::Lost),
    }
}

fn is_for_later(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

const READ_BYTES: usize = 16 * 1024;

/// A TLS record: an alert (21), version 1.2 as in every version, 2 bytes: fatal (2), handshake_failure
/// (40).
const HANDSHAKE_FAILURE: [u8; 7] = [21, 3, 3, 0, 2, 2, 40];
