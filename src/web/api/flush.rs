//! `POST /api/v1/sessions/{external_id}/flush`: before an agent compacts its context, reads and stores what
//! is new in the session (GoClaw's memory flush).

use std::time::Duration;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use tokio::time::{Instant, sleep};

use super::sessions::{known, screen, share};
use super::tools::BODY_BYTES_MAX;
use super::{InPath, read_json};
use crate::accounts::AgentAccess;
use crate::consolidation::episodes;
use crate::consolidation::note::note_of;
use crate::input::{Invalid, required_text};
use crate::memories;
use crate::sessions::message::MESSAGES_A_SESSION_MAX;
use crate::sessions::model::FlushedSession;
use crate::sessions::{self, Address, ExtractionOutcome, SessionError, ledger};
use crate::web::AppState;
use crate::web::calls::CallSlot;
use crate::web::error::Problem;

const REASON_CHARS_MAX: usize = 200;
/// How long to wait for the reading,
const WAIT_MAX: Duration = Duration::from_secs(90);
/// and how often to check.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Maximum items in the answer.
const ITEMS_TOLD: i64 = 100;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlushRequest {
    /// Reason for the flush. Default "compaction".
    #[schemars(length(max = REASON_CHARS_MAX))]
    reason: Option<String>,
    /// Number of messages by your own count.
    #[schemars(range(min = 0, max = MESSAGES_A_SESSION_MAX))]
    message_count: Option<i64>,
    /// Used share of the model's context window, 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    context_used: Option<f64>,
    /// false: respond immediately with 202. Default true.
    wait: Option<bool>,
}

#[derive(Serialize, JsonSchema)]
pub struct FlushResponse {
    /// done: the messages were processed. reading: processing continues in the background.
    #[schemars(extend("enum" = ["done", "reading"]))]
    state: &'static str,
    /// Number of stored messages of the session.
    #[schemars(range(min = 0))]
    message_count: i32,
    /// Result of processing; null while it is running.
    outcome: Option<ExtractionOutcome>,
    /// Why processing failed or was skipped.
    reason: Option<String>,
    /// Memories extracted from the session so far, newest first, at most 100.
    items: Vec<FlushedItem>,
    /// Summary of the latest processed part of the session.
    episode: Option<String>,
    /// Path of the document that lists the stored memories.
    note: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct FlushedItem {
    id: i64,
    #[serde(rename = "type")]
    item_type: &'static str,
    theme: String,
    /// The beginning of the text.
    content: String,
}

pub async fn flush(
    access: AgentAccess,
    State(state): State<AppState>,
    name: InPath,
    request: Request,
) -> Result<(StatusCode, Json<FlushResponse>), Problem> {
    let address = known(access, name)?;
    let slot = request.extensions().get::<CallSlot>().cloned();
    let sent: FlushRequest = read_json(request, BODY_BYTES_MAX, b"{}").await?;
    let reason = sent.reason.as_deref().unwrap_or("compaction");
    let mut reason = required_text("reason", reason, REASON_CHARS_MAX)?.to_owned();
    share("context_used", sent.context_used)?;
    let most = MESSAGES_A_SESSION_MAX as i64;
    if sent.message_count.is_some_and(|n| !(0..=most).contains(&n)) {
        let sentence = format!("`message_count` is a whole number from 0 to {most}.");
        return Err(Invalid::new("message_count", "out_of_range", sentence).into());
    }
    screen(&state, &address, ("reason", &mut reason)).await?;
    let flushed = sessions::flush(&state.db, &address, &reason, state.clock.now()).await?;
    if sent.wait == Some(false) {
        return Ok((StatusCode::ACCEPTED, Json(reading(flushed))));
    }
    // Let the caller's other calls run meanwhile: a model may be slow.
    if let Some(slot) = slot {
        slot.wait();
    }
    let until = Instant::now() + WAIT_MAX;
    loop {
        let mut tx = state.db.as_user(address.user).await?;
        let progress = ledger::progress_of(&mut tx, address.user, flushed.session, flushed.up_to);
        let progress = progress.await?;
        tx.commit().await?;
        if progress.unread == 0 {
            let response = response(&state, &address, flushed, progress.noted_at).await?;
            return Ok((StatusCode::OK, Json(response)));
        }
        if Instant::now() >= until {
            return Ok((StatusCode::ACCEPTED, Json(reading(flushed))));
        }
        sleep(LOOK_EVERY).await;
    }
}

fn reading(flushed: FlushedSession) -> FlushResponse {
    FlushResponse {
        state: "reading",
        message_count: flushed.up_to,
        outcome: None,
        reason: None,
        items: Vec::new(),
        episode: None,
        note: None,
    }
}

/// The results of the flush.
async fn response(
    state: &AppState,
    address: &Address,
    flushed: FlushedSession,
    noted_at: Option<OffsetDateTime>,
) -> Result<FlushResponse, Problem> {
    let (db, user) = (&state.db, address.user);
    let session = sessions::find(db, address).await?;
    if session.id != flushed.session {
        return Err(SessionError::NotFound.into());
    }
    let newest = session.extraction;
    let (items, _) = memories::of_session(db, user, session.id.0, ITEMS_TOLD).await?;
    let told = episodes::of_sessions(db, user, &[session.id.0]).await?;
    let items = items.into_iter().map(|item| FlushedItem {
        id: item.id.0,
        item_type: item.item_type.as_str(),
        theme: item.theme,
        content: item.beginning,
    });
    Ok(FlushResponse {
        state: "done",
        outcome: newest.as_ref().map(|row| row.outcome),
        reason: newest.and_then(|row| row.reason),
        items: items.collect(),
        episode: told.into_iter().next_back().map(|episode| episode.summary),
        note: note_of(db, user, noted_at).await?,
        ..reading(flushed)
    })
}
