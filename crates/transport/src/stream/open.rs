//! How clients over TCP open themselves from the description of a run, and what their sessions take from it.

use super::config::usable_addresses;
use super::doh::{Doh, DohSetup};
use super::dot::Dot;
use super::plain::Plain;
use super::session::Session;
use super::state::Streams;
use crate::description::{Description, Open, OpenError};
use crate::tls::Tls;

/// A session whose setup stands in the description of a run.
pub trait Described: Session {
    /// What the sessions of the run have in common.
    ///
    /// # Errors
    /// Where the TLS configuration is not usable.
    fn setup(description: &Description) -> Result<Self::Setup, OpenError>;
}

impl Described for Plain {
    fn setup(_: &Description) -> Result<(), OpenError> {
        Ok(())
    }
}

impl Described for Dot {
    fn setup(description: &Description) -> Result<Tls, OpenError> {
        Tls::new(&description.tls).map_err(OpenError::unusable)
    }
}

impl Described for Doh {
    fn setup(description: &Description) -> Result<DohSetup, OpenError> {
        let tls = Dot::setup(description)?;
        let authority = tls.authority(description.server.port());
        let (path, is_get) = (description.http_path.clone(), description.http_get);
        Ok(DohSetup { tls, authority, path, is_get })
    }
}

impl<S: Described> Open for Streams<S> {
    fn open_all(description: &Description) -> Result<Vec<Self>, OpenError> {
        let session = S::setup(description)?;
        let addresses = usable_addresses(description.server, description.local_addresses());
        let addresses = addresses.map_err(OpenError::refused)?;
        let open = |worker| Streams::open(description, &session, &addresses, worker);
        (0..description.workers).map(open).collect::<Result<_, _>>().map_err(OpenError::refused)
    }
}
