//! The sessions that a worker keeps, to resume them: all with one server.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

/// Tickets of TLS 1.3, each to be used once, the newest first; of TLS 1.2 the last session.
///
/// Only the worker's thread uses it: the lock is never contended.
#[derive(Debug)]
pub struct Sessions {
    kept: Mutex<Kept>,
    most: usize,
    offered: AtomicU64,
    stored: AtomicU64,
}

#[derive(Debug, Default)]
struct Kept {
    tickets: VecDeque<Tls13ClientSessionValue>,
    tls12: Option<Tls12ClientSessionValue>,
    group: Option<NamedGroup>,
}

impl Sessions {
    /// Empty; grows to a few sessions for each of `clients` clients.
    pub(super) fn new(clients: usize) -> Self {
        let most = (clients * TICKETS_EACH).clamp(FEWEST_TICKETS, MOST_TICKETS);
        let (offered, stored) = (AtomicU64::new(0), AtomicU64::new(0));
        Sessions { kept: Mutex::default(), most, offered, stored }
    }

    /// How many handshakes were started with a session of an earlier one.
    pub fn offered(&self) -> u64 {
        self.offered.load(Ordering::Relaxed)
    }

    /// How many sessions were received from servers.
    pub fn stored(&self) -> u64 {
        self.stored.load(Ordering::Relaxed)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientSessionStore for Sessions {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        self.kept().group = Some(group);
    }

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        self.kept().group
    }

    fn set_tls12_session(&self, _: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.stored.fetch_add(1, Ordering::Relaxed);
        self.kept().tls12 = Some(value);
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        let session = self.kept().tls12.clone();
        self.offered.fetch_add(u64::from(session.is_some()), Ordering::Relaxed);
        session
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        self.kept().tls12 = None;
    }

    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.stored.fetch_add(1, Ordering::Relaxed);
        let mut kept = self.kept();
        if kept.tickets.len() == self.most {
            kept.tickets.pop_front();
        }
        kept.tickets.push_back(value);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        let ticket = self.kept().tickets.pop_back();
        self.offered.fetch_add(u64::from(ticket.is_some()), Ordering::Relaxed);
        ticket
    }
}

/// A client has a ticket for its next connection, and one in reserve.
const TICKETS_EACH: usize = 2;
const FEWEST_TICKETS: usize = 8;

/// A ticket holds the server's certificates, some kilobytes.
const MOST_TICKETS: usize = 4_096;
