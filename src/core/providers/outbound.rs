//! Requests to an address of a user's choice that is no provider, such as a webhook or the description of an OAuth client: the
//! same policy of which addresses may be called, and of how (`client.rs`).

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::HeaderMap;

use super::client::{Http, Target};
use super::endpoint::{EndpointUrl, Reach};
use super::error::ProviderError;

/// From the look-up of the name to the status of the answer.
pub const DELIVERY_TIMEOUT: Duration = Duration::from_secs(10);
/// A person waits for a document.
const DOCUMENT_DEADLINE: Duration = Duration::from_secs(5);
const DOCUMENT_BYTES_MAX: usize = 16 << 10;

/// Cheap to clone.
#[derive(Clone)]
pub struct Outbound(Arc<Http>);

impl Outbound {
    pub(super) fn new(http: Arc<Http>) -> Self {
        Self(http)
    }

    /// Whether the address may be called, as far as it tells without a look-up of its name.
    pub fn admits(reach: Reach, url: &EndpointUrl) -> bool {
        reach.check_host(url).is_ok()
    }

    /// Posts a body of its own. Returns the status, and how long `Retry-After` asks to wait; nothing else of the answer is
    /// read, and redirects are not followed.
    ///
    /// # Errors
    /// If the address may not be called, or does not answer within [`DELIVERY_TIMEOUT`].
    pub async fn post(
        &self,
        url: &EndpointUrl,
        reach: Reach,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<(u16, Option<Duration>), ProviderError> {
        let sent = self.0.deliver(url, reach, headers, body);
        let answered = tokio::time::timeout(DELIVERY_TIMEOUT, sent).await;
        answered.map_err(|_| ProviderError::TimedOut)?
    }

    /// The body of a small document, or `None` if the answer is anything but 200.
    ///
    /// # Errors
    /// If the address may not be called, cannot be reached, or answers too much or too late.
    pub async fn fetch(
        &self,
        url: &EndpointUrl,
        reach: Reach,
    ) -> Result<Option<Vec<u8>>, ProviderError> {
        let target = Target::of_url(url, reach, DOCUMENT_BYTES_MAX);
        let answer = tokio::time::timeout(DOCUMENT_DEADLINE, self.0.get(target, url.to_url()));
        let answer = answer.await.map_err(|_| ProviderError::TimedOut)??;
        Ok((answer.status == 200).then_some(answer.body))
    }
}
