//! Sessions and their ledger, as pages show them.

use std::collections::HashMap;

use crate::limits::{MEMORIES_SHOWN, MESSAGES_SHOWN, PAGE_SIZE, ROWS_MAX};
use crate::page::PageError;
use crate::view::{
    CameOf, EpisodeView, LedgerRow, MessageView, Outcome, SessionFilters, SessionPage, SessionRow,
    SessionsPage, ToolCallView,
};

use crate::accounts::Viewer;
use crate::consolidation::episodes;
use crate::memories::{self, SessionItem};
use crate::page::{Page, database};
use crate::sessions::{
    self, AgentSession, SessionExtraction, SessionFilter, SessionId, SessionState, StoredMessage,
};

impl Page {
    pub(crate) async fn sessions_view(
        &self,
        viewer: &Viewer,
        filters: &SessionFilters,
    ) -> Result<SessionsPage, PageError> {
        let shown = filters.shown.clamp(PAGE_SIZE, ROWS_MAX);
        let filter = SessionFilter {
            agent: filters.agent,
            state: filters.is_open.map(|is_open| match is_open {
                true => SessionState::Open,
                false => SessionState::Completed,
            }),
            outcome: filters
                .outcome
                .and_then(|outcome| sessions::ExtractionOutcome::parse(outcome.slug())),
            limit: shown as i64 + 1,
        };
        let page = sessions::page(&self.state.db, viewer.user_id, &filter).await;
        let page = page.map_err(database)?;
        let rows = page.sessions.iter().take(shown);
        let ids: Vec<i64> = rows.clone().map(|session| session.id.0).collect();
        let told = episodes::of_sessions(&self.state.db, viewer.user_id, &ids).await;
        // The last entry per session is the newest and wins.
        let about = told.map_err(database)?.into_iter();
        let mut about: HashMap<i64, String> = about.map(|e| (e.session, e.short)).collect();
        let row = |session: &AgentSession| SessionRow {
            about: about.remove(&session.id.0),
            ..self.session_row(session)
        };
        Ok(SessionsPage {
            rows: rows.map(row).collect(),
            has_more: page.sessions.len() > shown,
            agents: page.agents,
            is_empty: page.is_empty,
            turns_are_on: page.turns_are_on,
            episode_days: page.lifetimes.episode_days,
            turn_days: page.lifetimes.turn_days,
            public_url: self.state.public_url.as_str().to_owned(),
        })
    }

    pub(crate) async fn session_view(
        &self,
        viewer: &Viewer,
        session_id: i64,
        from: i32,
    ) -> Result<Option<SessionPage>, PageError> {
        let (id, after) = (SessionId(session_id), from.max(1) - 1);
        let limit = i64::from(MESSAGES_SHOWN);
        let found = sessions::transcript(&self.state.db, viewer.user_id, id, after, limit).await;
        let Some(found) = found.map_err(database)? else {
            return Ok(None);
        };
        let limit = MEMORIES_SHOWN as i64;
        let of = memories::of_session(&self.state.db, viewer.user_id, session_id, limit).await;
        let (memories, memory_count) = of.map_err(database)?;
        let told = episodes::of_sessions(&self.state.db, viewer.user_id, &[session_id]).await;
        let told = told.map_err(database)?.into_iter().map(|episode| EpisodeView {
            first: episode.first_position,
            last: episode.last_position,
            summary: episode.summary,
            made_by: episode.made_by.as_str(),
        });
        let session = found.session;
        let ledger = found.ledger.iter();
        Ok(Some(SessionPage {
            id: session_id,
            created: session.created_at,
            completed: session.completed.map(|(at, why)| (at, why.as_str())),
            message_count: session.message_count,
            new_count: session.message_count - session.ledger_position,
            episodes: told.collect(),
            ledger: ledger.map(|row| self.ledger_row(row)).collect(),
            messages: self.messages_view(found.messages),
            memories: memories.into_iter().map(|item| self.came_of(item)).collect(),
            memory_count,
            external_id: session.external_id,
            agent: session.agent,
        }))
    }

    fn came_of(&self, item: SessionItem) -> CameOf {
        CameOf {
            id: item.id.0,
            retired: self.retired(item.status, item.is_superseded, item.expires_at),
            theme: item.theme,
            item_type: item.item_type.as_str().to_owned(),
            words: item.beginning,
            position: item.position.and_then(|at| at.try_into().ok()),
        }
    }

    fn session_row(&self, session: &AgentSession) -> SessionRow {
        SessionRow {
            id: session.id.0,
            external_id: session.external_id.clone(),
            agent: session.agent.clone(),
            is_open: session.state == SessionState::Open,
            messages: session.message_count.into(),
            last_message: session.last_sent_at.unwrap_or(session.last_message_at),
            ledger: session.extraction.as_ref().map(|row| self.ledger_row(row)),
            about: None,
        }
    }

    fn ledger_row(&self, row: &SessionExtraction) -> LedgerRow {
        let (counts, now) = (&row.counts, self.state.clock.now());
        let is_taken = row.reading_since.is_some();
        let has_failed = matches!(
            row.outcome,
            sessions::ExtractionOutcome::Failed | sessions::ExtractionOutcome::Skipped
        );
        let is_next = has_failed && row.next_try_at.is_some_and(|at| at <= now);
        LedgerRow {
            may_be_read_again: has_failed && !is_taken && !is_next,
            is_next: is_next || has_failed && is_taken,
            first: row.first_position,
            last: row.last_position,
            outcome: match row.outcome {
                sessions::ExtractionOutcome::Pending => Outcome::Pending,
                sessions::ExtractionOutcome::Stored => Outcome::Stored,
                sessions::ExtractionOutcome::Nothing => Outcome::Nothing,
                sessions::ExtractionOutcome::Failed => Outcome::Failed,
                sessions::ExtractionOutcome::Skipped => Outcome::Skipped,
            },
            reason: row.reason.clone(),
            stored: counts.stored.into(),
            merged: counts.merged.into(),
            superseded: counts.superseded.into(),
            malformed: counts.malformed.into(),
            skipped_chars: counts.skipped_chars,
            is_fallback: row.is_fallback,
            attempts: row.attempts.into(),
            next_try: row.next_try_at,
            model: row.model.clone(),
            tokens: (counts.tokens_in, counts.tokens_out),
            duration: duration(counts.duration_ms),
            created: row.created_at,
            ended: row.ended_at,
        }
    }

    /// A tool's message has the name of the call that it answers.
    fn messages_view(&self, messages: Vec<StoredMessage>) -> Vec<MessageView> {
        let mut names: HashMap<String, String> = HashMap::new();
        let mut shown = Vec::with_capacity(messages.len());
        for message in messages {
            for call in &message.tool_calls {
                if let Some(id) = &call.id {
                    names.insert(id.clone(), call.name.clone());
                }
            }
            let answers = message.tool_call_id.as_ref();
            shown.push(MessageView {
                position: message.position,
                role: message.role.as_str(),
                tool: answers.and_then(|id| names.get(id).cloned()),
                at: message.said_at(),
                content: message.content,
                tool_calls: message
                    .tool_calls
                    .into_iter()
                    .map(|call| ToolCallView { name: call.name, arguments: call.arguments })
                    .collect(),
            });
        }
        shown
    }
}

/// "40 ms", "1.2 s", "3 min"
fn duration(ms: i64) -> String {
    match ms {
        ..1_000 => format!("{ms} ms"),
        1_000..120_000 => format!("{:.1} s", ms as f64 / 1e3),
        ms => format!("{} min", (ms + 30_000) / 60_000),
    }
}
