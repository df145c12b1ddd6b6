//! Signatures and cookies of responses in words; only what occurred.

use dnsdyno_measure::{Cookies, Tsig};
use dnsdyno_wire::tsig_error_name;

/// What was found of the signatures of responses.
pub fn tsig_counts(tsig: &Tsig) -> Vec<(String, u64)> {
    let errors =
        tsig.errors.iter().map(|(code, n)| (format!("{} from the server", tsig_error_name(code)), n));
    let failed = tsig.failed.by_reason().map(|(why, n)| (format!("not accepted: {}", why.words()), n));
    let counts = [("verified", tsig.verified), ("errors without a signature", tsig.unsigned_errors)];
    let counts = counts.into_iter().map(|(what, n)| (what.to_owned(), n));
    counts.chain(errors).chain(failed).filter(|(_, n)| *n > 0).collect()
}

/// What was found of the cookies of responses.
pub fn cookie_counts(cookies: &Cookies) -> Vec<(String, u64)> {
    let counts = [
        ("responses with one of the server", cookies.with_server_cookie),
        ("without", cookies.without),
        ("malformed", cookies.malformed),
        ("BADCOOKIE", cookies.bad_cookie),
        ("not accepted: for another client", cookies.wrong_client_cookie),
    ];
    let seen = counts.into_iter().filter(|(_, n)| *n > 0);
    seen.map(|(what, n)| (what.to_owned(), n)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dnsdyno_measure::TsigFailure;

    #[test]
    fn only_what_occurred_is_named() {
        let mut tsig = Tsig { verified: 7, ..Tsig::default() };
        tsig.failed.add(TsigFailure::BadSignature, 2);
        tsig.errors.add(16, 3);
        let words: Vec<_> = tsig_counts(&tsig).into_iter().map(|(what, n)| format!("{what} {n}")).collect();
        assert_eq!(words, ["verified 7", "BADSIG from the server 3", "not accepted: bad signature 2"]);
        let cookies = Cookies { with_server_cookie: 5, bad_cookie: 1, ..Cookies::default() };
        let words: Vec<_> =
            cookie_counts(&cookies).into_iter().map(|(what, n)| format!("{what} {n}")).collect();
        assert_eq!(words, ["responses with one of the server 5", "BADCOOKIE 1"]);
    }
}
