//! What a client asks for, with the client found and everything checked.

use super::clients::{self, ClientRefusal};
use crate::AppState;
use crate::accounts::UserId;
use crate::accounts::oauth::{AuthorizationRequest, ErrorForClient, RequestParams, RequestRefusal};
use crate::error::Problem;

/// Why a request is not shown to its person.
pub enum AuthorizationRefusal {
    /// On our own page.
    Shown(&'static str),
    /// The same, with a link to the client: anybody may register one, so that an address of ours which redirects at once
    /// would lend its name to any site (RFC 9700, 4.11.2).
    Linked(ErrorForClient),
    Problem(Problem),
    /// The browser goes back to the client, a program on the visitor's own machine.
    SentBack(String),
}

impl From<ClientRefusal> for AuthorizationRefusal {
    fn from(refusal: ClientRefusal) -> Self {
        match refusal {
            ClientRefusal::Shown(sentence) => Self::Shown(sentence),
            ClientRefusal::Problem(problem) => Self::Problem(problem),
        }
    }
}

impl From<RequestRefusal> for AuthorizationRefusal {
    fn from(refusal: RequestRefusal) -> Self {
        match refusal {
            RequestRefusal::Shown(sentence) => Self::Shown(sentence),
            RequestRefusal::ToClient(error) if error.is_local => Self::SentBack(error.address),
            RequestRefusal::ToClient(error) => Self::Linked(error),
        }
    }
}

impl AppState {
    /// Reads the query of a request for authorization, which a person is to answer.
    pub async fn authorization_request(
        &self,
        user: UserId,
        query: &str,
    ) -> Result<AuthorizationRequest, AuthorizationRefusal> {
        let params = RequestParams::parse(query).map_err(AuthorizationRefusal::Shown)?;
        let Some(id) = params.client_id() else {
            let sentence = "The program did not say who it is.";
            return Err(AuthorizationRefusal::Shown(sentence));
        };
        let client = clients::find(self, user, &id).await?;
        let (resource, issuer) = (self.public_url.mcp_resource(), self.public_url.as_str());
        Ok(AuthorizationRequest::parse(&params, client, &resource, issuer)?)
    }
}
