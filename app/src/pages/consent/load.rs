//! A client's request, as its person sees it.

use crate::view::{ConnectedClient, ConsentPage, ConsentView, RefusedConsent};

use crate::accounts::model::{self, AGENT_NAME_CHARS_MAX, AGENTS_PER_USER_MAX};
use crate::accounts::oauth::{AuthorizationRequest, RedirectUri};
use crate::accounts::{AccountError, UserId};
use crate::page::Page;
use keepsake_edge::oauth::AuthorizationRefusal;

impl Page {
    pub(crate) fn connected(&self, client: &model::ConnectedClient) -> ConnectedClient {
        let address = RedirectUri::parse(&client.redirect_uri);
        ConnectedClient {
            name: client.name.clone(),
            host: address.map(|uri| uri.shown()).unwrap_or_default(),
            since: client.since,
            ends: client.refresh_expires_at,
        }
    }

    pub(crate) async fn consent_view(
        &self,
        user: UserId,
        query: &str,
    ) -> Result<ConsentPage, AccountError> {
        let request = match self.state.authorization_request(user, query).await {
            Ok(request) => request,
            Err(refusal) => return Ok(ConsentPage::Refused(refused(refusal))),
        };
        let agents = self.state.accounts.agent_names(user).await?;
        let agents = agents.into_iter().map(|(id, name)| (id.0, name));
        Ok(ConsentPage::Asks(Box::new(view_of(request, agents.collect(), query))))
    }
}

fn refused(refusal: AuthorizationRefusal) -> RefusedConsent {
    let (sentence, back) = match refusal {
        AuthorizationRefusal::Shown(sentence) => (sentence.to_owned(), None),
        AuthorizationRefusal::Problem(problem) => (problem.detail, None),
        AuthorizationRefusal::Linked(error) => (
            // Programs get it with marks around the names of parameters.
            format!("The program's request is not valid: {}.", error.description.replace('`', "")),
            Some((error.host, error.address)),
        ),
        // The handler has sent the browser back already.
        AuthorizationRefusal::SentBack(_) => {
            ("The program's request is not valid.".to_owned(), None)
        }
    };
    RefusedConsent { sentence, back }
}

/// The client's name, with a number if an agent has it already. Empty if none is free.
fn suggested_name(client: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let cut = |length: usize| client.chars().take(length).collect::<String>();
    let numbered = (2..=AGENTS_PER_USER_MAX + 2).map(|n| {
        let end = format!(" {n}");
        cut(AGENT_NAME_CHARS_MAX - end.len()) + &end
    });
    let mut names = std::iter::once(cut(AGENT_NAME_CHARS_MAX)).chain(numbered);
    names.find(|name| !is_taken(name)).unwrap_or_default()
}

fn view_of(request: AuthorizationRequest, agents: Vec<(i64, String)>, query: &str) -> ConsentView {
    let is_taken = |name: &str| agents.iter().any(|(_, taken)| taken == name);
    let suggested_tools = request.suggested_profile().as_str();
    ConsentView {
        suggested_tools,
        suggested_name: suggested_name(&request.client.name, is_taken),
        client: request.client.name,
        document_host: request.client.document_host,
        answer_to: request.redirect_uri.shown(),
        answer_is_local: request.redirect_uri.is_local(),
        scopes: request.scopes.iter().map(|scope| scope.as_str()).collect(),
        agents,
        query: query.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_free_name_is_suggested_however_long_the_clients_is() {
        assert_eq!(suggested_name("Claude", |_| false), "Claude");
        let taken = ["Claude", "Claude 2"];
        assert_eq!(suggested_name("Claude", |name| taken.contains(&name)), "Claude 3");
        let long = "n".repeat(80);
        assert_eq!(suggested_name(&long, |_| false), "n".repeat(64));
        let second = suggested_name(&long, |name| name == "n".repeat(64));
        assert_eq!(second, "n".repeat(62) + " 2");
        assert_eq!(suggested_name(&long, |_| true), "");
    }
}
