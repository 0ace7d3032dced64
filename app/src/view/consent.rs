//! A program's request to use the memory (OAuth), as its person is asked.

use time::OffsetDateTime;

/// A program that was allowed, at its agent.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectedClient {
    /// As it calls itself; unverified.
    pub name: String,
    /// Where its access was handed to: `claude.ai`.
    pub host: String,
    pub since: OffsetDateTime,
    /// Unless it renews its access before, it has to ask again.
    pub ends: Option<OffsetDateTime>,
}

/// What the page of a request shows.
#[derive(Clone, Debug, PartialEq)]
pub enum ConsentPage {
    Asks(Box<ConsentView>),
    Refused(RefusedConsent),
}

/// Why nobody is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct RefusedConsent {
    pub sentence: String,
    /// The program's host, and its address, which tells it why.
    pub back: Option<(String, String)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ConsentView {
    /// As the program calls itself; unverified.
    pub client: String,
    /// The host of the program's description, if its id is such an address.
    pub document_host: Option<String>,
    /// The host that gets the answer: `claude.ai`, `127.0.0.1:33418`, or a program's own scheme.
    pub answer_to: String,
    /// A program on the person's own machine gets it, whichever listens there.
    pub answer_is_local: bool,
    /// That it asks for.
    pub scopes: Vec<&'static str>,
    /// By name.
    pub agents: Vec<(i64, String)>,
    /// The list of tools of a new agent, unless another is chosen: `core`.
    pub suggested_tools: &'static str,
    /// A free name for a new agent.
    pub suggested_name: String,
    /// The request, as it stands in the address.
    pub query: String,
}
