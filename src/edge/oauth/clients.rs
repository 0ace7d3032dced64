//! Finds a client by its id: among the registered ones, or by the document at the address that the id is, which is fetched by
//! the policy of endpoints and kept for a while.

use crate::AppState;
use crate::accounts::UserId;
use crate::accounts::oauth::{ClientId, OauthClient};
use crate::error::Problem;
use crate::providers::EndpointUrl;
use crate::providers::settings::EndpointPurpose;

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
    // Whoever sent the person here chose the address: an admin reaches no more than others.
    let reach = EndpointPurpose::Clients.reach(&state.db, None, &url).await?;
    let found = documents.fetch(id, &url, reach).await;
    documents.keep(id, found.clone(), now);
    found.map_err(ClientRefusal::Shown)
}
