//! `fetch`: reads one result of `search` whole, in the form that ChatGPT expects of a connector.

use std::collections::BTreeMap;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::memory_get::{ReadItem, read};
use super::{Services, Tool, ToolError};
use crate::accounts::Scope;
use crate::activity::RunningCall;
use crate::config::PublicUrl;
use crate::input::Invalid;
use crate::memories::{Day, ItemId, with_key};

/// The longest title, with `…` where the text goes on.
const TITLE_CHARS_MAX: usize = 80;

pub struct ConnectorFetch;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FetchInput {
    /// `id` of a search result.
    id: String,
}

#[derive(Serialize, JsonSchema)]
pub struct FetchOutput {
    id: String,
    /// The beginning of the text.
    title: String,
    /// The whole text.
    text: String,
    /// Address of its page, for the user.
    url: String,
    /// Type, theme, trust, dates and other properties, as strings. Unknown ones are omitted.
    metadata: BTreeMap<&'static str, String>,
    #[serde(skip)]
    touched: i64,
}

#[async_trait]
impl Tool for ConnectorFetch {
    const NAME: &'static str = "fetch";
    const TITLE: &'static str = "Fetch a memory";
    const DESCRIPTION: &'static str = "Read one item in full, with dates and source, by the id of a \
        search result. Example: {\"id\": \"42\"}";
    const SCOPE: Scope = Scope::MemoryRead;
    type Input = FetchInput;
    type Output = FetchOutput;

    async fn run(
        context: &Services,
        call: &RunningCall,
        input: FetchInput,
    ) -> Result<FetchOutput, ToolError> {
        let id = input.id.trim().trim_start_matches('#').parse().map(ItemId).map_err(|_| {
            let sentence = "`id` is no id of a memory; give the `id` of a result of search.";
            Invalid::new("id", "invalid_id", sentence)
        })?;
        let read = read(context, call, id, &Day::default()).await?;
        let item = &read.details.item;
        let text = with_key(item.key.as_deref(), &item.content).into_owned();
        Ok(FetchOutput {
            id: id.0.to_string(),
            title: title_of(&text),
            url: page_of(&context.public_url, id),
            metadata: metadata_of(&read, context.clock.now()),
            text,
            touched: read.touched,
        })
    }

    fn touched(output: &FetchOutput) -> Vec<i64> {
        vec![output.touched]
    }
}

/// What is not known is left out.
fn metadata_of(read: &ReadItem, now: OffsetDateTime) -> BTreeMap<&'static str, String> {
    let item = &read.details.item;
    let date = |at: OffsetDateTime| at.format(&Rfc3339).ok();
    let part = item.part.as_ref();
    let turn = item.turn.as_ref();
    let known = [
        ("type", Some(item.item_type.as_str().to_owned())),
        ("status", Some(item.status_at(now).as_str().to_owned())),
        ("theme", item.theme.clone()),
        ("key", item.key.clone()),
        ("tags", Some(item.tags.join(", "))),
        ("source", Some(item.source.clone())),
        ("trust", Some(item.trust.as_str().to_owned())),
        ("confidence", Some(format!("{} %", item.confidence))),
        ("agent", item.agent.clone()),
        ("owner", item.owner.as_ref().map(|(_, name)| name.clone())),
        ("memory_of", read.memory_of.as_deref().map(str::to_owned)),
        ("created_at", date(item.created_at)),
        ("updated_at", date(item.updated_at)),
        ("expires_at", item.expires_at.and_then(date)),
        ("valid_from", item.period.from.and_then(date)),
        ("valid_until", item.period.until.and_then(date)),
        ("path", part.map(|part| part.path.clone())),
        ("lines", part.map(|part| format!("{}–{}", part.lines.0, part.lines.1))),
        ("session", turn.map(|turn| turn.session.clone())),
        ("role", turn.map(|turn| turn.role.clone())),
    ];
    let known = known.into_iter().filter_map(|(name, value)| {
        let value = value.filter(|value| !value.is_empty())?;
        Some((name, value))
    });
    known.collect()
}

/// The page of an item; the citation that ChatGPT makes of a result.
pub(super) fn page_of(public_url: &PublicUrl, id: ItemId) -> String {
    format!("{}/memory/{}", public_url.as_str(), id.0)
}

/// The beginning of a text, on one line.
pub(super) fn title_of(content: &str) -> String {
    let mut title = String::new();
    let mut chars = 0;
    for word in content.split_whitespace() {
        let blank = usize::from(!title.is_empty());
        let word_chars = word.chars().take(TITLE_CHARS_MAX + 1).count();
        if chars + blank + word_chars > TITLE_CHARS_MAX {
            if title.is_empty() {
                title.extend(word.chars().take(TITLE_CHARS_MAX - 1));
            }
            title.push('…');
            break;
        }
        if blank > 0 {
            title.push(' ');
        }
        title.push_str(word);
        chars += blank + word_chars;
    }
    title
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_beginning_on_one_line() {
        assert_eq!(title_of("Lives in\n  Lisbon."), "Lives in Lisbon.");
        let long = title_of(&"tea and cake ".repeat(20));
        assert!(long.ends_with("and…") || long.ends_with("tea…") || long.ends_with("cake…"));
        assert!(long.chars().count() <= TITLE_CHARS_MAX + 1, "{long}");
        let wide = title_of(&"字".repeat(500));
        assert_eq!(wide.chars().count(), TITLE_CHARS_MAX);
        assert!(wide.ends_with('…'));
        assert_eq!(title_of(" \n"), "");
    }
}
