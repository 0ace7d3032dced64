//! A client's request for authorization, as its query says it. Until the client and the redirect URI are known to belong
//! together, a mistake is shown to the person; from then on it is one for the client.

use std::collections::BTreeMap;

use super::client::{ClientId, OauthClient};
use super::redirect::RedirectUri;
use crate::accounts::model::{Scope, Scopes, ToolProfile};

pub const STATE_CHARS_MAX: usize = 2_000;
/// Base64url of a SHA-256.
const CHALLENGE_CHARS: usize = 43;
/// What the tools of MCP need.
pub const SCOPES: [Scope; 2] = [Scope::MemoryRead, Scope::MemoryWrite];

/// The parameters, each once.
pub struct RequestParams(BTreeMap<String, String>);

impl RequestParams {
    /// # Errors
    /// A sentence, if one stands twice: two readers could then read two requests.
    pub fn parse(query: &str) -> Result<Self, &'static str> {
        let mut params = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
            if params.insert(name.into_owned(), value.into_owned()).is_some() {
                return Err("The program sent a parameter twice; each may stand once.");
            }
        }
        Ok(Self(params))
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|v| !v.is_empty())
    }

    pub fn client_id(&self) -> Option<ClientId> {
        self.get("client_id").and_then(ClientId::parse)
    }
}

/// A request that a person can answer.
#[derive(Clone, Debug)]
pub struct AuthorizationRequest {
    pub client: OauthClient,
    pub redirect_uri: RedirectUri,
    pub scopes: Scopes,
    pub challenge: String,
    pub state: Option<String>,
    /// What the tokens open: this server's MCP endpoint.
    pub resource: String,
}

#[derive(Debug)]
pub enum RequestRefusal {
    /// To the person: nobody knows where the client is.
    Shown(&'static str),
    ToClient(ErrorForClient),
}

/// A mistake that its client is to hear of.
#[derive(Debug)]
pub struct ErrorForClient {
    pub description: &'static str,
    /// The redirect URI with the error in it.
    pub address: String,
    /// What a person is shown of it.
    pub host: String,
    pub is_local: bool,
}

impl AuthorizationRequest {
    /// `resource` is the MCP endpoint, `issuer` this server's origin.
    pub fn parse(
        params: &RequestParams,
        client: OauthClient,
        resource: &str,
        issuer: &str,
    ) -> Result<Self, RequestRefusal> {
        let redirect_uri = params.get("redirect_uri").map(RedirectUri::parse);
        let Some(Ok(redirect_uri)) = redirect_uri else {
            let sentence = "The program did not say where to send the answer, or named an address that no answer is sent to.";
            return Err(RequestRefusal::Shown(sentence));
        };
        let known = &client.redirect_uris;
        if !known.iter().any(|known| redirect_uri.is_allowed_by(known)) {
            let sentence = "The program wants the answer sent to an address that it did not register. Somebody may be pretending to be it.";
            return Err(RequestRefusal::Shown(sentence));
        }
        let state = params.get("state").map(str::to_owned);
        let send_back = |error, description| {
            let state = state.as_deref().filter(|state| state.len() <= STATE_CHARS_MAX);
            RequestRefusal::ToClient(ErrorForClient {
                description,
                address: refusal(&redirect_uri, error, description, state, issuer),
                host: redirect_uri.shown(),
                is_local: redirect_uri.is_local(),
            })
        };
        let invalid = |description| send_back("invalid_request", description);
        if state.as_ref().is_some_and(|s| s.len() > STATE_CHARS_MAX) {
            return Err(invalid("`state` is too long; at most 2,000 characters are accepted"));
        }
        if params.get("response_type") != Some("code") {
            let error = "unsupported_response_type";
            return Err(send_back(error, "`response_type` must be \"code\""));
        }
        if params.get("response_mode").is_some_and(|mode| mode != "query") {
            return Err(invalid("`response_mode` must be \"query\""));
        }
        let challenge = params.get("code_challenge").filter(|text| is_challenge(text));
        let (Some(challenge), Some("S256")) = (challenge, params.get("code_challenge_method"))
        else {
            let sentence = "`code_challenge` with `code_challenge_method=S256` is required (PKCE)";
            return Err(invalid(sentence));
        };
        if params.get("resource").is_some_and(|asked| !is_resource(asked, resource)) {
            let sentence = "`resource` is not the MCP endpoint of this server";
            return Err(send_back("invalid_target", sentence));
        }
        let scopes = parse_scopes(params.get("scope")).ok_or_else(|| {
            let sentence = "`scope` must name memory:read, memory:write or both";
            send_back("invalid_scope", sentence)
        })?;
        Ok(Self {
            challenge: challenge.to_owned(),
            state: state.clone(),
            resource: resource.to_owned(),
            redirect_uri: redirect_uri.clone(),
            scopes,
            client,
        })
    }

    /// The list of tools of a new agent, unless the person chooses another.
    pub fn suggested_profile(&self) -> ToolProfile {
        match self.redirect_uri.is_of_chatgpt() {
            true => ToolProfile::Connector,
            false => ToolProfile::default(),
        }
    }

    /// Where the browser goes with the code.
    pub fn accepted(&self, code: &str, issuer: &str) -> String {
        let mut answer = vec![("code", code), ("iss", issuer)];
        answer.extend(self.state.as_deref().map(|state| ("state", state)));
        self.redirect_uri.with(&answer)
    }

    /// Where the browser goes if the person says no.
    pub fn denied(&self, issuer: &str) -> String {
        let (uri, state) = (&self.redirect_uri, self.state.as_deref());
        refusal(uri, "access_denied", "the person said no", state, issuer)
    }
}

fn refusal(
    redirect_uri: &RedirectUri,
    error: &str,
    description: &str,
    state: Option<&str>,
    issuer: &str,
) -> String {
    let mut answer = vec![("error", error), ("error_description", description), ("iss", issuer)];
    answer.extend(state.map(|state| ("state", state)));
    redirect_uri.with(&answer)
}

fn is_challenge(text: &str) -> bool {
    let is_base64url = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    text.len() == CHALLENGE_CHARS && text.bytes().all(is_base64url)
}

/// Clients send the address as their person typed it: with or without `/mcp`, or with a slash at the end.
pub fn is_resource(asked: &str, resource: &str) -> bool {
    let asked = asked.trim_end_matches('/');
    let server = resource.strip_suffix("/mcp").unwrap_or(resource);
    asked.eq_ignore_ascii_case(resource) || asked.eq_ignore_ascii_case(server)
}

/// Without `scope`, all; unknown ones are left out (`offline_access`), but one must be known.
fn parse_scopes(asked: Option<&str>) -> Option<Scopes> {
    let Some(asked) = asked else {
        return Some(SCOPES.into());
    };
    let asked: Vec<&str> = asked.split_whitespace().collect();
    let known = SCOPES.into_iter().filter(|scope| asked.contains(&scope.as_str()));
    Some(known.collect::<Scopes>()).filter(|known| !known.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resource_is_this_servers_however_it_was_typed() {
        let ours = "https://k.example/mcp";
        for same in [
            "https://k.example/mcp",
            "https://k.example/mcp/",
            "https://k.example",
            "https://k.example/",
            "https://K.example/mcp",
        ] {
            assert!(is_resource(same, ours), "{same}");
        }
        for other in [
            "",
            "https://evil.example/mcp",
            "http://k.example/mcp",
            "https://k.example:8443/mcp",
            "https://k.example/mcp/x",
            "https://k.example.evil.example/mcp",
        ] {
            assert!(!is_resource(other, ours), "{other}");
        }
        let under = "https://k.example/tools/keepsake/mcp";
        for same in [under, "https://k.example/tools/keepsake", "https://k.example/tools/keepsake/"]
        {
            assert!(is_resource(same, under), "{same}");
        }
        for other in ["https://k.example", "https://k.example/mcp", "https://k.example/tools"] {
            assert!(!is_resource(other, under), "{other}");
        }
    }

    #[test]
    fn unknown_scopes_are_left_out_and_none_means_all() {
        let read = Scopes::from([Scope::MemoryRead]);
        assert_eq!(parse_scopes(Some("memory:read offline_access")), Some(read));
        assert_eq!(parse_scopes(None), Some(SCOPES.into()));
        assert_eq!(parse_scopes(Some("sessions:write openid")), None);
    }
}
