//! Plan files.

use std::net::SocketAddr;
use std::path::Path;

use dnsdyno_plan::{Draft, Host};
use dnsdyno_text::secret::Masked;

/// A plan file.
pub fn plan(text: &[u8]) {
    let Ok(text) = std::str::from_utf8(text) else { return };
    let Ok(draft) = Draft::from_toml(text) else { return };
    let written = draft.to_toml().expect("a draft that was read can be written");
    let read = Draft::from_toml(&written).expect("what was written can be read");
    assert_eq!(read.to_toml().as_ref(), Ok(&written), "what is left out stays so");
    // Secrets and the permission to load a server are not written.
    let open =
        |draft: &Draft| Draft { tsig: None, watch: None, i_may_load_this_server: None, ..draft.clone() };
    assert_eq!(open(&read), open(&draft), "{written}");
    let resolve = |_: &str, port: u16| Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))]);
    let host = Host {
        cores: 2,
        working_dir: Path::new("/nowhere"),
        fresh_seed: 1,
        resolve: &resolve,
        is_local: &|address| address.is_loopback(),
    };
    let Ok(plan) = draft.validate(&host) else { return };
    // A record has neither: the run of such a plan cannot be repeated from it alone.
    let has_credentials = read.watch.iter().flatten().any(Masked::is_masked);
    if draft.tsig.is_some() || draft.i_may_load_this_server.is_some() || has_credentials {
        return;
    }
    // The plan in a record repeats the run.
    let kept = plan.to_draft().to_toml().expect("a valid plan can be written");
    let again = Draft::from_toml(&kept).expect("the plan of a record can be read");
    let again = again.validate(&host).unwrap_or_else(|error| panic!("{error}\n{kept}"));
    assert_eq!(again.to_draft(), plan.to_draft(), "{kept}");
}
