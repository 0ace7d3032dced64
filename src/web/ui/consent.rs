//! A client's request, as its person sees it.

use app::view::{ConnectedClient, ConsentPage, ConsentView};

use super::Ui;
use crate::accounts::model::{self, AGENT_NAME_CHARS_MAX};
use crate::accounts::oauth::{AuthorizationRequest, RedirectUri};
use crate::accounts::{AccountError, UserId};
use crate::web::oauth::AuthorizationRefusal;

impl Ui {
    pub(super) fn connected(&self, client: &model::ConnectedClient) -> ConnectedClient {
        let address = RedirectUri::parse(&client.redirect_uri);
        ConnectedClient {
            name: client.name.clone(),
            host: address.map(|uri| uri.shown()).unwrap_or_default(),
            since: self.moment(client.since),
            ends: client.refresh_expires_at.map(|at| self.moment(at)),
        }
    }

    pub(super) async fn consent_view(
        &self,
        user: UserId,
        query: &str,
    ) -> Result<ConsentPage, AccountError> {
        let request = match self.state.authorization_request(user, query).await {
            Ok(request) => request,
            Err(AuthorizationRefusal::Shown(sentence)) => {
                return Ok(ConsentPage::Refused(sentence.to_owned()));
            }
            Err(AuthorizationRefusal::Problem(problem)) => {
                return Ok(ConsentPage::Refused(problem.detail));
            }
            // The handler has sent the browser back already.
            Err(AuthorizationRefusal::SentBack(_)) => {
                let sentence = "The program's request cannot be read.".to_owned();
                return Ok(ConsentPage::Refused(sentence));
            }
        };
        let agents = self.state.accounts.agent_names(user).await?;
        let agents = agents.into_iter().map(|(id, name)| (id.0, name));
        Ok(ConsentPage::Asks(Box::new(view_of(
            request,
            agents.collect(),
            query,
        ))))
    }
}

fn view_of(request: AuthorizationRequest, agents: Vec<(i64, String)>, query: &str) -> ConsentView {
    let name: String = request
        .client
        .name
        .chars()
        .take(AGENT_NAME_CHARS_MAX)
        .collect();
    let is_taken = |name: &str| agents.iter().any(|(_, taken)| taken == name);
    let suggested = (2..)
        .map(|n| format!("{name} {n}"))
        .find(|name| name.chars().count() <= AGENT_NAME_CHARS_MAX && !is_taken(name));
    let suggested_tools = request.suggested_profile().as_str();
    ConsentView {
        suggested_tools,
        suggested_name: match is_taken(&name) {
            false => name,
            true => suggested.unwrap_or_default(),
        },
        client: request.client.name,
        document_host: request.client.document_host,
        answer_to: request.redirect_uri.shown(),
        answer_is_local: request.redirect_uri.is_local(),
        scopes: request.scopes.iter().map(|scope| scope.as_str()).collect(),
        agents,
        query: query.to_owned(),
    }
}
