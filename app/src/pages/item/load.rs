//! Items, as pages show them: a row of the list, and one item in full.

use crate::page::PageError;
use crate::view::{
    DayFilters, Deletion, EntityLink, HistoryEntry, ItemPage, ItemRow, OutdatedMark, PartPlace,
    PutAside, Retired, Span, SpanPlace, TurnPlace, Undo, Why, WhySurface, Word,
};
use time::{Duration, OffsetDateTime};

use crate::accounts::Viewer;
use crate::activity::KEPT_DAYS;
use crate::consolidation::dreaming::model::ItemProposal;
use crate::consolidation::{dreaming, reflection};
use crate::embedding::ItemEmbedding;
use crate::entities;
use crate::input::sentence;
use crate::memories::derived::Outdated;
use crate::memories::manage::{self, UNDO_FOR};
use crate::memories::period::PeriodPhase;
use crate::memories::{
    self, Day, DocumentPart, ItemDetails, ItemEvent, ItemId, ItemSource, ItemState, MemoryError,
    Period, Status, Trust, TurnPosition, fading, with_key, words,
};
use crate::page::{Page, database, invalid, memory_error, whose};
use crate::pages::embeddings::load::{error, score_parts};
use crate::search::FoundItem;
use crate::search::query::RESULTS_MAX;
use crate::search::{Hit, Mode, RawQuery, SearchQuery, Snippet};

const INDEX_WORDS_SHOWN: usize = 24;

/// The beginning of a text that was read with at most `chars_max` characters: cut at a word where the text is longer.
pub(crate) fn beginning(text: String, chars_max: i32) -> String {
    if text.chars().count() < chars_max.unsigned_abs() as usize {
        return text;
    }
    let words = text.rsplit_once(char::is_whitespace);
    let words = words.map_or(text.as_str(), |(words, _)| words);
    format!("{}…", words.trim_end())
}

impl Page {
    /// `None` when there is no such item, or it is another's. On another day, as it was known then; refused where it was not.
    /// With `query`, also whether and why a search for it finds this item.
    pub async fn item_page(
        &self,
        item_id: i64,
        query: Option<&str>,
        day: &DayFilters,
    ) -> Result<Option<ItemPage>, PageError> {
        self.item_view(item_id, query, &self.day(day)?).await
    }

    /// The row as of this day.
    pub(crate) fn item_row(
        &self,
        hit: Hit,
        mode: Mode,
        embedding: &ItemEmbedding,
        day: &DayFilters,
    ) -> ItemRow {
        let is_ranked = mode != Mode::Recent;
        let FoundItem {
            id,
            theme,
            item_type,
            tags,
            status,
            source,
            trust,
            agent,
            owner,
            created_at,
            expires_at,
            is_superseded,
            period,
            turn,
            part,
            replaced,
            ..
        } = hit.item;
        // On an earlier day, an item that expired later was active.
        let expires_at = expires_at.filter(|_| day.as_of.is_empty());
        ItemRow {
            href: day.on(&format!("/memory/{id}")),
            id: id.0,
            theme,
            turn: turn.map(turn_place),
            part: part.map(part_place),
            item_type: item_type.as_str().to_owned(),
            snippet: spans(&hit.snippet),
            tags,
            retired: self.retired(status, is_superseded, expires_at),
            outdated: replaced.outdated.map(outdated_mark),
            period: self.period_of(period),
            word: word(&source, trust, agent),
            owner,
            created: created_at,
            score: is_ranked.then_some(hit.score),
            parts: is_ranked.then(|| score_parts(&hit.explanation)),
            embedding_error: error(embedding),
        }
    }

    fn period_of(&self, period: Period) -> Option<String> {
        let told = Some(period.told(&self.zone())).filter(|told| !told.is_empty())?;
        Some(match period.phase(self.state.clock.now()) {
            PeriodPhase::Holds => told,
            PeriodPhase::Over => format!("no longer true: {told}"),
            PeriodPhase::Ahead => format!("not true yet: {}", told.replace("since ", "from ")),
        })
    }

    /// An expired item counts as archived even before the job has archived it.
    pub(crate) fn retired(
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

    /// The item's rank in the answer to this query.
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
        let page = self.state.search.find(viewer, &query).await;
        let page = page.map_err(database)?;
        let place = page.hits.iter().position(|hit| hit.item.id == id);
        let hit = place.map(|at| &page.hits[at]);
        Ok(WhySurface {
            query: text.to_owned(),
            rank: place.map(|at| at + 1),
            score: hit.map_or(0.0, |hit| hit.score),
            parts: hit.map(|hit| score_parts(&hit.explanation)),
            of: page.hits.len(),
            degraded: page.degraded.map(|clause| sentence(&clause)),
        })
    }

    /// Oldest first. `now`: the item's current state.
    fn history(
        &self,
        events: Vec<ItemEvent>,
        now: ItemState,
        is_derived: bool,
        dreams: &[ItemProposal],
    ) -> Vec<HistoryEntry> {
        let mut after = now;
        let mut entries: Vec<HistoryEntry> = Vec::with_capacity(events.len());
        for event in events.into_iter().rev() {
            let (was, was_confidence) = (event.was.clone(), event.was_confidence);
            let changes = match &was {
                Some(was) if event.event == "changed" => self.changes(was, &after),
                _ => Vec::new(),
            };
            entries.push(self.history_entry(event, changes, is_derived, dreams));
            // Superseding records only the confidence, since nothing else changes.
            let confidence = was_confidence.unwrap_or(after.confidence);
            after = was.unwrap_or(ItemState { confidence, ..after });
        }
        entries.reverse();
        entries
    }

    /// What differed before the change, in words.
    fn changes(&self, was: &ItemState, is: &ItemState) -> Vec<String> {
        let mut told = Vec::new();
        if was.tags != is.tags {
            told.push(match was.tags.is_empty() {
                true => "it had no tags".to_owned(),
                false => format!("its tags were {}", was.tags.join(", ")),
            });
        }
        if was.expires_at != is.expires_at {
            told.push(match was.expires_at {
                Some(at) => format!("it expired {}", self.moment(at).exact),
                None => "it did not expire".to_owned(),
            });
        }
        if was.period != is.period {
            told.push(match was.period.told(&self.zone()).as_str() {
                "" => "it had no dates".to_owned(),
                period => format!("it was valid {period}"),
            });
        }
        if was.confidence != is.confidence {
            told.push(format!("its confidence was {}", was.confidence));
        }
        if was.trust != is.trust {
            told.push(format!("it was {}", whose(was.trust)));
        }
        told
    }

    fn history_entry(
        &self,
        event: ItemEvent,
        changes: Vec<String>,
        is_derived: bool,
        dreams: &[ItemProposal],
    ) -> HistoryEntry {
        // Nobody caused an expiry, and the server writes derived items.
        let is_by_nobody = match event.event.as_str() {
            "expired" | "faded" | "began" | "ended" => true,
            "added" | "superseded" => is_derived,
            _ => false,
        };
        let in_dream = dreams.iter().find(|dream| dream.at == event.at);
        let actor = match (event.agent, in_dream) {
            (Some(agent), _) => agent,
            (None, Some(dream)) if dream.by_dream => "a dream".to_owned(),
            (None, Some(_)) => "you, accepting a dream's proposal".to_owned(),
            (None, None) => "you".to_owned(),
        };
        HistoryEntry {
            event: in_plain_words(event.event),
            actor: (!is_by_nobody).then_some(actor),
            at: event.at,
            changes,
        }
    }

    pub(crate) async fn item_view(
        &self,
        item_id: i64,
        query: Option<&str>,
        day: &Day,
    ) -> Result<Option<ItemPage>, PageError> {
        let viewer = self.viewer.clone();
        let id = ItemId(item_id);
        let found =
            memories::get_whole(&self.state.db, &self.state.embeddings, &viewer, id, day).await;
        let (whole, history) = match found {
            Ok(found) => found,
            Err(MemoryError::NotFound(_)) => return Ok(None),
            Err(error) => return Err(memory_error(error)),
        };
        let ItemDetails { item, embedding, gave_way, strength, outdated } = whole;
        let surface = match query.map(str::trim).filter(|q| !q.is_empty()) {
            Some(query) => Some(self.surface(&viewer, id, query).await?),
            None => None,
        };
        let now = self.state.clock.now();
        let status = item.status_at(day.as_of.unwrap_or(now));
        let read_only = manage::is_browser_read_only(&self.state.db).await;
        let is_memory = item.theme.is_some() || item.span.is_some();
        // Past states cannot be changed.
        let is_manageable = is_memory && day.is_now() && !read_only.map_err(database)?;
        let undo = manage::undoable(&history, now).filter(|_| is_manageable);
        let retired = self.retired(
            status,
            item.superseded_by.is_some(),
            item.expires_at.filter(|_| day.as_of.is_none()),
        );
        let retired = by_history(retired, &history);
        let (put_aside, superseded): (Vec<_>, Vec<_>) =
            gave_way.into_iter().partition(|older| older.is_put_aside);
        let origins = reflection::origins(&self.state.db, viewer.user_id, id).await;
        let origins = origins.map_err(database)?;
        let dreams = dreaming::decide::of_item(&self.state.db, viewer.user_id, id).await;
        let dreams = dreams.map_err(database)?;
        let names = self.names_in(&viewer, id).await?;
        let lineage = self.lineage_view(&viewer, &item, &names).await?;
        let content = with_key(item.key.as_deref(), &item.content).into_owned();
        let state = item.state();
        let is_derived = item.source == ItemSource::Derived.as_str();
        let fading = fading::settings(&self.state.db, viewer.user_id).await;
        let fading = fading.map_err(database)?;
        let strength = strength.map(|strength| self.item_strength(&item, strength, &fading));
        Ok(Some(ItemPage {
            id: item.id.0,
            day: self.day_told(day),
            // Shows the current state only.
            fact: match day.is_now() {
                true => self.fact_view(&viewer, id).await?,
                false => Vec::new(),
            },
            is_manageable,
            undo: undo.map(|event| undo_view(event, now)),
            deletion: item.delete_at.map(|at| Deletion { left_ms: whole_ms(at - now) }),
            retired,
            outdated: outdated.map(outdated_mark),
            verified: item.last_verified_at,
            origins: origins.items,
            origins_gone: origins.gone,
            derived: origins.derived.into_iter().map(|id| id.0).collect(),
            lineage,
            superseded: superseded.into_iter().map(|older| older.id.0).collect(),
            put_aside: put_aside
                .into_iter()
                .map(|aside| PutAside {
                    id: aside.id.0,
                    beginning: aside.beginning,
                    word: word(&aside.source, aside.trust, None),
                })
                .collect(),
            names,
            related: match day.is_now() {
                true => Some(self.related_view(&viewer, &item).await?),
                false => None,
            },
            word: whose(item.trust),
            theme: item.theme.zip(item.theme_display_name),
            turn: item.turn.map(turn_place),
            part: item.part.map(part_place),
            span: item.span.map(|span| SpanPlace {
                session: span.session,
                from: span.from,
                until: span.until,
            }),
            item_type: item.item_type.as_str().to_owned(),
            key: item.key,
            why: Why { index_words: words::telling_words(&content, INDEX_WORDS_SHOWN), surface },
            embedding: self.item_embedding(embedding),
            content,
            tags: item.tags,
            source: source_in_plain_words(item.source, item.trust),
            source_context: item.source_context,
            agent: item.agent,
            owner: item.owner.map(|(_, name)| name),
            confidence: item.confidence,
            strength,
            period: item.period.told(&self.zone()),
            protected: item.protected,
            locked: item.locked,
            proposed: match day.is_now() {
                true => self.proposed(&viewer, Some(id)).await?.0,
                false => Vec::new(),
            },
            created: item.created_at,
            updated: item.updated_at,
            expires: item.expires_at,
            superseded_by: item.superseded_by.map(|id| id.0),
            said_in: item.said_in,
            history: self.history(history, state, is_derived, &dreams),
            readings: self.readings(&viewer, id).await?,
            erasure: self.item_erasure(&viewer, id).await?,
            kept_days: KEPT_DAYS,
        }))
    }

    async fn names_in(&self, viewer: &Viewer, id: ItemId) -> Result<Vec<EntityLink>, PageError> {
        let names = entities::of_source(&self.state.db, viewer.user_id, id).await;
        let names = names.map_err(database)?.into_iter();
        let names = names.map(|(id, name, entity_type)| EntityLink {
            id: id.0,
            name,
            entity_type: entity_type.as_str(),
        });
        Ok(names.collect())
    }
}

fn outdated_mark(outdated: Outdated) -> OutdatedMark {
    match outdated {
        Outdated::ReplacedBy(newer) => OutdatedMark::ReplacedBy(newer.0),
        Outdated::NotHeld => OutdatedMark::NotHeld,
    }
}

/// More exactly why it is retired, as its history says.
fn by_history(retired: Option<Retired>, history: &[ItemEvent]) -> Option<Retired> {
    let latest = |is: fn(&&ItemEvent) -> bool| history.iter().rev().find(is);
    let is_last = |event: Option<&ItemEvent>, name| event.is_some_and(|e| e.event == name);
    let gave_way = latest(|event| event.is_giving_way());
    let last = latest(|event| event.event != "imported");
    match retired {
        Some(Retired::Superseded) if is_last(gave_way, "put_aside") => Some(Retired::PutAside),
        Some(Retired::Archived) if is_last(last, "faded") => Some(Retired::Faded),
        retired => retired,
    }
}

fn undo_view(event: &ItemEvent, now: OffsetDateTime) -> Undo {
    let done = match event.event.as_str() {
        "archived" => "You archived this memory.",
        "restored" => "You restored this memory.",
        "confirmed" => "You confirmed this memory.",
        _ => "You removed the confirmation of this memory.",
    };
    Undo { event: event.id, done, left_ms: whole_ms(event.at + UNDO_FOR - now) }
}

pub(crate) fn whole_ms(left: Duration) -> u32 {
    u32::try_from(left.whole_milliseconds().max(0)).unwrap_or(u32::MAX)
}

fn turn_place(turn: TurnPosition) -> TurnPlace {
    TurnPlace { session_id: turn.session_id, position: turn.position, role: turn.role }
}

fn part_place(part: DocumentPart) -> PartPlace {
    PartPlace { document: part.document, path: part.path, lines: part.lines }
}

pub(crate) fn in_plain_words(event: String) -> String {
    let words = match event.as_str() {
        "superseded" => "replaced by another memory",
        "merged" => "merged into another memory, which says the same",
        "put_aside" => "archived, because it contradicts another memory",
        "read_again" => "archived: a guess, and a chat model has read its conversation since",
        "unconfirmed" => "confirmation removed",
        "shared" => "shared with all agents",
        "owned" => "restricted to its agent",
        "named" => "given its key",
        "began" => "begins to hold",
        "ended" => "no longer holds",
        _ => return event,
    };
    words.to_owned()
}

/// The item's trust, and its source if that adds information.
fn word(source: &str, trust: Trust, agent: Option<String>) -> Word {
    let says_no_more = matches!(
        (source, trust),
        ("agent", Trust::Agent) | ("tool_call", Trust::Tool) | ("user_explicit", Trust::User)
    );
    Word {
        whose: whose(trust),
        source: (!says_no_more).then(|| source_in_plain_words(source.to_owned(), trust)),
        agent,
    }
}

/// The column's value, in words for people.
pub(crate) fn source_in_plain_words(source: String, trust: Trust) -> String {
    let words = match source.as_str() {
        "user_explicit" if trust != Trust::User => "an agent reports your words",
        "agent" => "an agent added it",
        "conversation" => "a conversation",
        "tool_call" => "a tool's result",
        "auto_discovery" => "found by the agent",
        "user_explicit" => "you said so",
        "web" => "the web",
        "guess" => "a guess",
        "derived" => "derived from other memories",
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
            spans.push(Span { text: text.to_owned(), marked });
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
