//! What was checked of responses beside their question: TSIG signatures and DNS cookies.

use crate::by::keys;
use crate::counter::counters;
use crate::{By, ByCode};

keys! {
    /// Why the signature of a response (TSIG) was not accepted. Such a response ends no query.
    pub enum TsigFailure {
        /// The MAC is not that of the response and of the query.
        BadSignature = "bad_signature", "bad signature";
        /// The response is signed with another key or another algorithm.
        BadKey = "bad_key", "another key";
        /// The time of signing differs from ours by more than the fudge.
        BadTime = "bad_time", "time outside of the fudge";
        /// The MAC is shorter than that of the query.
        BadTruncation = "bad_truncation", "truncated MAC";
        /// The response is not signed, and is not an error.
        Unsigned = "unsigned", "not signed";
        /// The records of the response, or its TSIG record, cannot be read.
        Malformed = "malformed", "malformed";
    }
}

counters! {
    /// Signatures of responses, in a run whose queries are signed.
    pub struct Tsig {
        /// Responses with a valid signature that ended a query.
        pub verified: u64,
        /// Error responses without a valid signature that ended a query: a server cannot sign that it does not know
        /// the key.
        pub unsigned_errors: u64,
        /// Responses whose signature was not accepted, by reason. They ended no query.
        pub failed: By<TsigFailure, u64, { TsigFailure::ALL.len() }>,
        /// TSIG errors that the server reported, by their code (RFC 8945): 16 BADSIG, 17 BADKEY, 18 BADTIME, 22
        /// BADTRUNC.
        pub errors: ByCode<0>,
    }
}

counters! {
    /// DNS cookies of responses that ended a query, in a run whose queries carry cookies.
    #[derive(Copy, Eq)]
    pub struct Cookies {
        /// Responses with a cookie of the server.
        pub with_server_cookie: u64,
        /// Responses without a COOKIE option.
        pub without: u64,
        /// Responses with a malformed COOKIE option, or with none of the server.
        pub malformed: u64,
        /// Responses with BADCOOKIE: the server wants the query again with the cookie that it gives.
        pub bad_cookie: u64,
        /// Responses with another client cookie than that of the query. They ended no query.
        pub wrong_client_cookie: u64,
    }
}

impl Cookies {
    /// All responses that ended a query.
    pub fn responses(&self) -> u64 {
        self.with_server_cookie + self.without + self.malformed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_added_by_reason_and_by_code() {
        let mut one = Tsig { verified: 3, ..Tsig::default() };
        one.failed.add(TsigFailure::BadTime, 2);
        one.errors.add(18, 1);
        let mut both = one.clone();
        both.merge(&one);
        assert_eq!((both.verified, both.failed.of(TsigFailure::BadTime), both.errors.of(18)), (6, 4, 2));
        both.clear();
        assert_eq!(both, Tsig::default());
    }
}
