//! The kinds of dnstap messages.

/// What a dnstap message tells of: which part of which server was asked, or has asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DnstapKind {
    /// Queries to an authoritative server, seen by it.
    Auth,
    /// Queries from a resolver to authoritative servers, seen by the resolver.
    Resolver,
    /// Queries from clients to a resolver, seen by the resolver.
    Client,
    /// Queries from a forwarder to its resolver.
    Forwarder,
    /// Queries of a stub resolver.
    Stub,
    /// Queries of a tool such as dig.
    Tool,
    /// Dynamic updates.
    Update,
}

impl DnstapKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [DnstapKind; 7] = [
        DnstapKind::Auth,
        DnstapKind::Resolver,
        DnstapKind::Client,
        DnstapKind::Forwarder,
        DnstapKind::Stub,
        DnstapKind::Tool,
        DnstapKind::Update,
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            DnstapKind::Auth => "auth",
            DnstapKind::Resolver => "resolver",
            DnstapKind::Client => "client",
            DnstapKind::Forwarder => "forwarder",
            DnstapKind::Stub => "stub",
            DnstapKind::Tool => "tool",
            DnstapKind::Update => "update",
        }
    }
}
