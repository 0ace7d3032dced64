//! The descriptions of OAuth clients whose id is an address: fetched by the policy of endpoints, and kept for a while.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use lru::LruCache;
use time::{Duration, OffsetDateTime};

use crate::accounts::oauth::{ClientId, ClientMetadata, MetadataRefusal, OauthClient};
use crate::providers::{EndpointUrl, Outbound, ProviderError, Reach};

const NO_DOCUMENT: &str = "The program names an address as its id, and no valid description of a program can be read there.";

/// How long a document is used before it is fetched again.
const KEPT_FOR: Duration = Duration::minutes(10);
/// The same for what cannot be used, so that a mistake is mended soon.
const REFUSAL_KEPT_FOR: Duration = Duration::seconds(10);
const KEPT_MAX: NonZeroUsize = NonZeroUsize::new(500).unwrap();

/// A client, or why there is none in its document.
pub type FoundDocument = Result<OauthClient, &'static str>;

/// The documents of clients, fetched and kept.
pub struct ClientDocuments {
    outbound: Outbound,
    kept: Mutex<LruCache<ClientId, (OffsetDateTime, FoundDocument)>>,
}

impl ClientDocuments {
    pub fn new(outbound: Outbound) -> Self {
        Self { outbound, kept: Mutex::new(LruCache::new(KEPT_MAX)) }
    }

    pub fn find(&self, id: &ClientId, now: OffsetDateTime) -> Option<FoundDocument> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (fetched_at, found) = kept.get(id)?;
        let kept_for = match found {
            Ok(_) => KEPT_FOR,
            Err(_) => REFUSAL_KEPT_FOR,
        };
        (now - *fetched_at < kept_for).then(|| found.clone())
    }

    pub fn keep(&self, id: &ClientId, found: FoundDocument, now: OffsetDateTime) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.put(id.clone(), (now, found));
    }

    pub async fn fetch(&self, id: &ClientId, url: &EndpointUrl, reach: Reach) -> FoundDocument {
        let fetched = self.outbound.fetch(url, reach).await;
        let body = fetched.map_err(|error| match error {
            ProviderError::Forbidden => {
                "The program names an address as its id that this server may not call."
            }
            _ => NO_DOCUMENT,
        })?;
        let body = body.ok_or(NO_DOCUMENT)?;
        let metadata = ClientMetadata::of_document(id, &body).map_err(|refusal| match refusal {
            MetadataRefusal::Authentication => refusal.sentence(),
            _ => NO_DOCUMENT,
        })?;
        let host = url.host().to_owned();
        Ok(OauthClient::of_document(id.clone(), host, metadata))
    }
}
