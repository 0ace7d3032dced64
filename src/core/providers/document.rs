//! Fetches a small public document, such as the description of an OAuth client, by the policy of endpoints: the name is
//! resolved once, private addresses only where an admin allows them, no redirects, bounded in time and size.

use std::sync::Arc;
use std::time::Duration;

use super::client::{Http, Target};
use super::{EndpointUrl, ProviderError, Reach};

/// OAuth clients are waited for by a person.
const DEADLINE: Duration = Duration::from_secs(5);
pub const DOCUMENT_BYTES_MAX: usize = 16 << 10;

/// Clones share connections.
#[derive(Clone)]
pub struct DocumentFetcher {
    http: Arc<Http>,
}

impl DocumentFetcher {
    pub(super) fn new(http: Arc<Http>) -> Self {
        Self { http }
    }

    /// The body, or `None` if the answer is anything but 200.
    ///
    /// # Errors
    /// [`ProviderError`]: the address may not be called, cannot be reached, or answers too much or too late.
    pub async fn fetch(
        &self,
        url: &EndpointUrl,
        reach: Reach,
    ) -> Result<Option<Vec<u8>>, ProviderError> {
        let target = Target::of_url(url, reach, DOCUMENT_BYTES_MAX);
        let answer = self.http.get(target, url.to_url());
        let answer = tokio::time::timeout(DEADLINE, answer).await;
        let answer = answer.map_err(|_| ProviderError::TimedOut)??;
        Ok((answer.status == 200).then_some(answer.body))
    }
}
