//! dnsdyno: a dynamometer for DNS servers.
#![forbid(unsafe_code)]

/// Where there is no memory, the program ends with a sentence.
#[global_allocator]
static ALLOCATOR: dnsdyno_sys::memory::Allocator = dnsdyno_sys::memory::Allocator;

fn main() -> std::process::ExitCode {
    dnsdyno_sys::memory::share_arena_if_limited();
    dnsdyno_cli::main()
}
