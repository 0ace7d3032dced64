//! `search`: finds memories, in the form that ChatGPT expects of a connector: ids, titles and addresses, which `fetch` and a
//! person's browser open. It is the ordinary search without its options.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::connector_fetch::{page_of, title_of};
use super::memory_search::note;
use super::{Services, Tool, ToolError};
use crate::accounts::Scope;
use crate::activity::RunningCall;
use crate::config::PublicUrl;
use crate::memories::with_key;
use crate::search::query::QUERY_CHARS_MAX;
use crate::search::{Hit, RawQuery, SearchQuery};

/// A client chooses from the titles what it reads whole.
const RESULTS: i64 = 20;

pub struct ConnectorSearch;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConnectorSearchInput {
    /// Words or a sentence; "*" lists the newest items.
    #[schemars(length(max = QUERY_CHARS_MAX))]
    query: String,
}

#[derive(Serialize, JsonSchema)]
pub struct ConnectorSearchOutput {
    /// Best result first.
    results: Vec<Citation>,
    /// Confidence that the results contain the answer, 0 to 1. Omitted in a listing by date.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1))]
    confidence: Option<f64>,
    /// "probably not in memory" if `confidence` is low. It also names ignored input fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// Why semantic search was not used, or covered only a part of the items. Omitted if it was complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    degraded: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct Citation {
    /// Pass it to `fetch` to read the whole item.
    id: String,
    /// The beginning of the text.
    title: String,
    /// Address of its page, for the user.
    url: String,
    #[serde(skip)]
    touched: i64,
    #[serde(skip)]
    is_lent: bool,
}

#[async_trait]
impl Tool for ConnectorSearch {
    const NAME: &'static str = "search";
    const TITLE: &'static str = "Search memory";
    const DESCRIPTION: &'static str = "Search the user's memory: preferences, people, projects, decisions, notes, \
        past conversations. Semantic and keyword search; fetch returns a whole result. Example: {\"query\": \"staging database port\"}";
    const SCOPE: Scope = Scope::MemoryRead;
    type Input = ConnectorSearchInput;
    type Output = ConnectorSearchOutput;

    async fn run(
        context: &Services,
        call: &RunningCall,
        input: ConnectorSearchInput,
    ) -> Result<ConnectorSearchOutput, ToolError> {
        let query = SearchQuery::parse(RawQuery {
            query: &input.query,
            limit: Some(RESULTS),
            ..RawQuery::default()
        })?;
        let page = context.search.find(&call.viewer, &query).await?;
        let note = note(&page, None);
        let confidence = page.confidence.map(|confidence| confidence.value);
        let cite = |hit| Citation::new(&context.public_url, hit);
        let results: Vec<Citation> = page.hits.into_iter().map(cite).collect();
        if page.has_lent {
            let lent = results.iter().filter(|result| result.is_lent);
            call.read_lent(lent.map(|result| result.touched).collect());
        }
        Ok(ConnectorSearchOutput { results, confidence, note, degraded: page.degraded })
    }

    fn touched(output: &ConnectorSearchOutput) -> Vec<i64> {
        output.results.iter().map(|result| result.touched).collect()
    }

    fn query(input: &ConnectorSearchInput) -> Option<&str> {
        Some(&input.query)
    }
}

impl Citation {
    fn new(public_url: &PublicUrl, hit: Hit) -> Self {
        let id = hit.item.id;
        let title = title_of(&with_key(hit.item.key.as_deref(), &hit.item.content));
        Self {
            title: match hit.item.replaced.outdated {
                Some(outdated) => format!("({outdated}) {title}"),
                None => title,
            },
            url: page_of(public_url, id),
            touched: hit.item.part.map_or(id.0, |part| part.document),
            is_lent: hit.memory_of.is_some(),
            id: id.0.to_string(),
        }
    }
}
