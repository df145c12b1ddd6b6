//! Files of a plan in the object store of a broker: put there once, under the hash of their content, however many
//! agents want them.
//!
//! A broker without a store (JetStream is off, or may not be used) is no mistake: the files go to each agent then.
//! Whoever may write to the store could put something else under a hash, so the agent looks at the content of what it
//! has got, and asks the coordinator for a file that is not what it should be.

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream;
use async_nats::jetstream::object_store::{Config, ObjectMetadata, ObjectStore};
use tokio::io::AsyncReadExt;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::broker::{Broker, wait};

/// The object store of a broker.
#[derive(Debug)]
pub(crate) struct BrokerFiles {
    client: Client,
    runtime: Handle,
    /// The hashes of those that were put there, or found.
    there: Mutex<HashSet<String>>,
}

impl BrokerFiles {
    pub(crate) fn of(broker: &Broker) -> BrokerFiles {
        let (client, runtime) = (broker.client.clone(), broker.runtime());
        BrokerFiles { client, runtime, there: Mutex::default() }
    }

    /// Puts a file there, unless it is there.
    ///
    /// # Errors
    /// There is no store, or it does not take the file, in words.
    pub(crate) fn put(&self, hash: &str, bytes: u64, path: &Path) -> Result<(), String> {
        let mut there = self.there.lock().unwrap_or_else(PoisonError::into_inner);
        if there.contains(hash) {
            return Ok(());
        }
        let (client, name, path) = (self.client.clone(), hash.to_owned(), path.to_owned());
        let put = async move {
            let store = open(client, true).await?;
            if store.info(&name).await.is_ok_and(|info| !info.deleted && info.size as u64 == bytes) {
                return Ok(());
            }
            let mut file = tokio::fs::File::open(path).await.map_err(|error| error.to_string())?;
            let metadata = ObjectMetadata { name, ..ObjectMetadata::default() };
            store.put(metadata, &mut file).await.map(drop).map_err(|error| error.to_string())
        };
        wait(&self.runtime, put).unwrap_or_else(|| Err(GONE.to_owned()))?;
        there.insert(hash.to_owned());
        Ok(())
    }

    /// Gives the content of a file in parts.
    ///
    /// # Errors
    /// It is not there, or what takes the parts does not want them, in words.
    pub(crate) fn get(
        &self,
        hash: &str,
        part: &mut dyn FnMut(&[u8]) -> Result<(), String>,
    ) -> Result<(), String> {
        let (client, name) = (self.client.clone(), hash.to_owned());
        let (parts, mut coming) = mpsc::channel(PARTS_WAITING);
        self.runtime.spawn(async move {
            if let Err(why) = read(client, &name, &parts).await {
                let _ = parts.send(Err(why)).await;
            }
        });
        while let Some(octets) = coming.blocking_recv() {
            part(&octets?)?;
        }
        Ok(())
    }
}

/// Reads a file of the store.
async fn read(
    client: Client,
    name: &str,
    parts: &mpsc::Sender<Result<Vec<u8>, String>>,
) -> Result<(), String> {
    let store = open(client, false).await?;
    let mut object = store.get(name).await.map_err(|error| error.to_string())?;
    loop {
        let mut octets = vec![0; PART];
        let length = timeout(PART_WITHIN, object.read(&mut octets)).await;
        let length = length.map_err(|_| "nothing more of it comes".to_owned())?;
        octets.truncate(length.map_err(|error| error.to_string())?);
        if octets.is_empty() || parts.send(Ok(octets)).await.is_err() {
            return Ok(());
        }
    }
}

/// The store, which a coordinator makes where there is none.
async fn open(client: Client, makes_it: bool) -> Result<ObjectStore, String> {
    let stores = jetstream::new(client);
    if let Ok(store) = stores.get_object_store(BUCKET).await {
        return Ok(store);
    }
    if !makes_it {
        return Err(format!("the broker has no object store {BUCKET}"));
    }
    let config = Config { bucket: BUCKET.to_owned(), max_age: KEPT_FOR, ..Config::default() };
    stores.create_object_store(config).await.map_err(|error| error.to_string())
}

const GONE: &str = "the connection has ended";

/// The name of the store.
const BUCKET: &str = "dnsdyno-files";

/// For the next runs with the same queries.
const KEPT_FOR: Duration = Duration::from_secs(24 * 3_600);

/// Octets of a part, parts that wait to be taken, and how long one may take to come.
const PART: usize = 128 << 10;
const PARTS_WAITING: usize = 4;
const PART_WITHIN: Duration = Duration::from_secs(10);
