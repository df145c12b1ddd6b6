//! The catalogue with the present values of a host.

use dnsdyno_servers::Server;
use dnsdyno_servers::tuning::{Tunable, tunables, tunables_for};
use dnsdyno_settings::Restored;

use super::host::{Host, On, There};

/// A parameter of the catalogue, as it is on a host.
#[derive(Clone, Debug)]
pub struct ListedParameter {
    /// The row of the catalogue.
    pub tunable: &'static Tunable,
    /// Its present value; or why there is none.
    pub present: Result<Option<String>, String>,
}

/// The parameters of the host and of a server, or of all servers, with their present values there; and what a tuning
/// that was killed had left, and was restored before.
pub fn list(server: Option<&'static Server>, on: On, there: &There) -> (Vec<ListedParameter>, Vec<Restored>) {
    let mut host = Host::new(on, there);
    let rows: Vec<&'static Tunable> = match server {
        Some(server) => tunables_for(server.word).collect(),
        None => tunables().iter().collect(),
    };
    let present = |tunable: &'static Tunable, host: &mut Host| match (&tunable.gone, server) {
        (Some(gone), _) => Err(gone.clone()),
        (None, Some(server)) => host.look(tunable, server, there).map(|(_, present)| present),
        (None, None) if tunable.is_of_host() => host.look_host(tunable, there).map(|(_, present)| present),
        (None, None) => Ok(None),
    };
    let listed = rows
        .into_iter()
        .map(|tunable| ListedParameter { tunable, present: present(tunable, &mut host) })
        .collect();
    (listed, host.take_left())
}
