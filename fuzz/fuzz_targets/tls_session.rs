#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| dnsdyno_fuzz_targets::tls_session(data));
