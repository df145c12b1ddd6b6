//! dnsdyno: a dynamometer for DNS servers.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    dnsdyno_cli::main()
}
