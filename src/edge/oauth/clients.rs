//! Finds a client by its id: among the registered ones, or by the document at the address that the id is, which is fetched by
//! the policy of endpoints and kept for a while.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use lru::LruCache;
use time::{Duration, OffsetDateTime};

use crate::AppState;
use crate::accounts::UserId;
use crate::accounts::oauth::{ClientId, ClientMetadata, MetadataRefusal, OauthClient};
use crate::error::Problem;
use crate::providers::{DocumentFetcher, EndpointUrl, ProviderError, Reach, settings};

/// How long a document is used before it is fetched again.
const KEPT_FOR: Duration = Duration::minutes(10);
/// The same for what cannot be used, so that a mistake is mended soon.
const REFUSAL_KEPT_FOR: Duration = Duration::seconds(10);
const KEPT_MAX: NonZeroUsize = NonZeroUsize::new(500).unwrap();

/// A client, or why there is none in its document.
type FoundDocument = Result<OauthClient, &'static str>;

/// The documents of clients, fetched and kept.
pub struct ClientDocuments {
    fetcher: DocumentFetcher,
    kept: Mutex<LruCache<ClientId, (OffsetDateTime, FoundDocument)>>,
}

impl ClientDocuments {
    pub fn new(fetcher: DocumentFetcher) -> Self {
        Self { fetcher, kept: Mutex::new(LruCache::new(KEPT_MAX)) }
    }

    fn find(&self, id: &ClientId, now: OffsetDateTime) -> Option<FoundDocument> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (fetched_at, found) = kept.get(id)?;
        let kept_for = match found {
            Ok(_) => KEPT_FOR,
            Err(_) => REFUSAL_KEPT_FOR,
        };
        (now - *fetched_at < kept_for).then(|| found.clone())
    }

    fn keep(&self, id: &ClientId, found: FoundDocument, now: OffsetDateTime) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.put(id.clone(), (now, found));
    }

    async fn fetch(&self, id: &ClientId, url: &EndpointUrl, reach: Reach) -> FoundDocument {
        let fetched = self.fetcher.fetch(url, reach).await;
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

/// Why there is no such client: an outage or limit, or a sentence for the person.
pub enum ClientRefusal {
    Problem(Problem),
    Shown(&'static str),
}

impl<E: Into<Problem>> From<E> for ClientRefusal {
    fn from(error: E) -> Self {
        Self::Problem(error.into())
    }
}

const UNKNOWN: &str = "The program is not known here, or was not used for long. Remove the connection in the program, then connect it again.";
const NO_DOCUMENT: &str = "The program names an address as its id, and no valid description of a program can be read there.";

/// `user` is the person that is to be asked: nobody else makes this server fetch a document.
pub async fn find(
    state: &AppState,
    user: UserId,
    id: &ClientId,
) -> Result<OauthClient, ClientRefusal> {
    if let Some(client) = state.accounts.find_client(id).await? {
        return Ok(client);
    }
    let allows_loopback = !state.public_url.is_https();
    let Some(url) = id.document_url(allows_loopback) else {
        return Err(ClientRefusal::Shown(UNKNOWN));
    };
    let now = state.clock.now();
    let documents = &state.client_documents;
    if let Some(found) = documents.find(id, now) {
        return found.map_err(ClientRefusal::Shown);
    }
    state.throttles.check_document(user)?;
    let url = EndpointUrl::parse("client_id", url.as_str())?;
    let mut conn = state.db.system_connection().await?;
    // Whoever sent the person here chose the address: an admin reaches no more than others.
    let reach = settings::reach(&mut conn, None, &url, settings::EndpointPurpose::Clients).await?;
    drop(conn);
    let found = documents.fetch(id, &url, reach).await;
    documents.keep(id, found.clone(), now);
    found.map_err(ClientRefusal::Shown)
}
