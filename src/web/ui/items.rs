//! Items as pages show them: a row of the list, and one item whole, in plain words.

use app::backend::PageError;
use app::view::{
    Deletion, HistoryEntry, ItemPage, ItemRow, Retired, Span, TurnPlace, Undo, Why, WhySurface,
};
use time::{Duration, OffsetDateTime};

use super::{Ui, database, embeddings, invalid, memory_error};
use crate::accounts::Viewer;
use crate::activity::KEPT_DAYS;
use crate::embedding::ItemEmbedding;
use crate::input::sentence;
use crate::memories::manage::{self, UNDO_FOR};
use crate::memories::{self, ItemEvent, ItemId, MemoryError, Status, Turn, Whole, words};
use crate::search::FoundItem;
use crate::search::query::RESULTS_MAX;
use crate::search::{self, Hit, Mode, RawQuery, SearchQuery, Snippet};

const INDEX_WORDS_SHOWN: usize = 24;

impl Ui {
    pub(super) fn item_row(&self, hit: Hit, mode: Mode, embedding: &ItemEmbedding) -> ItemRow {
        let is_ranked = mode != Mode::Recent;
        let FoundItem {
            id,
            theme,
            item_type,
            tags,
            status,
            source,
            created_at,
            expires_at,
            is_superseded,
            turn,
            ..
        } = hit.item;
        ItemRow {
            id: id.0,
            theme,
            turn: turn.map(turn_place),
            item_type: item_type.as_str().to_owned(),
            snippet: spans(&hit.snippet),
            tags,
            retired: self.retired(status, is_superseded, expires_at),
            source,
            created: self.moment(created_at),
            score: is_ranked.then_some(hit.score),
            parts: is_ranked.then(|| embeddings::score_parts(&hit.explanation)),
            embedding_error: embeddings::error(embedding),
        }
    }

    /// What has expired counts as archived before the sweep has come by.
    pub(super) fn retired(
        &self,
        status: Status,
        is_superseded: bool,
        expires_at: Option<OffsetDateTime>,
    ) -> Option<Retired> {
        let is_past = expires_at.is_some_and(|at| at <= self.state.clock.now());
        match status {
            Status::Active if is_past => Some(Retired::Expired),
            Status::Active => None,
            Status::Archived if is_superseded => Some(Retired::Superseded),
            Status::Archived if is_past => Some(Retired::Expired),
            Status::Archived => Some(Retired::Archived),
        }
    }

    /// Where the item would stand in the answer to this query.
    async fn surface(
        &self,
        viewer: &Viewer,
        id: ItemId,
        text: &str,
    ) -> Result<WhySurface, PageError> {
        let query = SearchQuery::parse(RawQuery {
            query: text,
            limit: Some(RESULTS_MAX as i64),
            status: Some("any"),
            ..RawQuery::default()
        })
        .map_err(invalid)?;
        let page = search::find(&self.state.db, &self.state.embeddings, viewer, &query).await;
        let page = page.map_err(database)?;
        let place = page.hits.iter().position(|hit| hit.item.id == id);
        let hit = place.map(|at| &page.hits[at]);
        Ok(WhySurface {
            query: text.to_owned(),
            rank: place.map(|at| at + 1),
            score: hit.map_or(0.0, |hit| hit.score),
            parts: hit.map(|hit| embeddings::score_parts(&hit.explanation)),
            of: page.hits.len(),
            degraded: page.degraded.map(|clause| sentence(&clause)),
        })
    }

    fn history_entry(&self, event: ItemEvent) -> HistoryEntry {
        // Time has no name.
        let is_by_nobody = event.event == "expired";
        let actor = event.agent.unwrap_or_else(|| "you".to_owned());
        HistoryEntry {
            event: in_plain_words(event.event),
            actor: (!is_by_nobody).then_some(actor),
            at: self.moment(event.at),
        }
    }

    pub(super) async fn item_view(
        &self,
        item_id: i64,
        query: Option<&str>,
    ) -> Result<Option<ItemPage>, PageError> {
        let viewer = self.memory_viewer()?;
        let id = ItemId(item_id);
        let found = memories::get_whole(&self.state.db, &self.state.embeddings, &viewer, id).await;
        let Whole {
            item,
            embedding,
            history,
            superseded,
        } = match found {
            Ok(found) => found,
            Err(MemoryError::NotFound(_)) => return Ok(None),
            Err(error) => return Err(memory_error(error)),
        };
        let surface = match query.map(str::trim).filter(|q| !q.is_empty()) {
            Some(query) => Some(self.surface(&viewer, id, query).await?),
            None => None,
        };
        let now = self.state.clock.now();
        let status = item.status_at(now);
        let read_only = manage::is_browser_read_only(&self.state.db).await;
        let is_manageable = item.turn.is_none() && !read_only.map_err(database)?;
        let undo = manage::undoable(&history, now).filter(|_| is_manageable);
        Ok(Some(ItemPage {
            id: item.id.0,
            is_manageable,
            undo: undo.map(|event| undo_view(event, now)),
            deletion: item.delete_at.map(|at| Deletion {
                left_ms: whole_ms(at - now),
            }),
            retired: self.retired(status, item.superseded_by.is_some(), item.expires_at),
            verified: item.last_verified_at.map(|at| self.moment(at)),
            superseded: superseded.into_iter().map(|id| id.0).collect(),
            theme: item.theme.zip(item.theme_display_name),
            turn: item.turn.map(turn_place),
            item_type: item.item_type.as_str().to_owned(),
            key: item.key,
            why: Why {
                index_words: words::telling_words(&item.content, INDEX_WORDS_SHOWN),
                surface,
            },
            embedding: self.item_embedding(embedding),
            content: item.content,
            tags: item.tags,
            source: source_in_plain_words(item.source),
            source_context: item.source_context,
            agent: item.agent,
            confidence: item.confidence,
            protected: item.protected,
            created: self.moment(item.created_at),
            updated: self.moment(item.updated_at),
            expires: item.expires_at.map(|at| self.moment(at)),
            superseded_by: item.superseded_by.map(|id| id.0),
            said_in: item.said_in,
            history: history
                .into_iter()
                .map(|event| self.history_entry(event))
                .collect(),
            readings: self.readings(&viewer, id).await?,
            erasure: self.item_erasure(&viewer, id).await?,
            kept_days: KEPT_DAYS,
        }))
    }
}

fn undo_view(event: &ItemEvent, now: OffsetDateTime) -> Undo {
    let done = match event.event.as_str() {
        "archived" => "You archived this memory.",
        "restored" => "You restored this memory.",
        "confirmed" => "You confirmed this memory.",
        _ => "You removed the confirmation of this memory.",
    };
    Undo {
        event: event.id,
        done,
        left_ms: whole_ms(event.at + UNDO_FOR - now),
    }
}

fn whole_ms(left: Duration) -> u32 {
    u32::try_from(left.whole_milliseconds().max(0)).unwrap_or(u32::MAX)
}

fn turn_place(turn: Turn) -> TurnPlace {
    TurnPlace {
        session_id: turn.session_id,
        position: turn.position,
        role: turn.role,
    }
}

fn in_plain_words(event: String) -> String {
    let words = match event.as_str() {
        "superseded" => "replaced by another memory",
        "unconfirmed" => "confirmation removed",
        "named" => "given its key",
        _ => return event,
    };
    words.to_owned()
}

/// What the column holds, as a person would say it.
fn source_in_plain_words(source: String) -> String {
    let words = match source.as_str() {
        "agent" => "an agent's word",
        "conversation" => "a conversation",
        "tool_call" => "a tool's result",
        "auto_discovery" => "found by the agent",
        "user_explicit" => "you said so",
        "web" => "the web",
        "guess" => "a guess",
        "import" => "an import",
        "user" => "said by you",
        "assistant" => "said by the assistant",
        _ => return source,
    };
    words.to_owned()
}

fn spans(snippet: &Snippet) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut push = |text: &str, marked| {
        if !text.is_empty() {
            spans.push(Span {
                text: text.to_owned(),
                marked,
            });
        }
    };
    let mut at = 0;
    for range in &snippet.matches {
        push(&snippet.text[at..range.start], false);
        push(&snippet.text[range.clone()], true);
        at = range.end;
    }
    push(&snippet.text[at..], false);
    spans
}
