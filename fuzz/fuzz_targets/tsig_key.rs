#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| dnsdyno_fuzz_targets::tsig_key(data));
