//! `GET /api/v1/changes`: what happened in the memory, for programs that poll. The same stream that webhooks are told from,
//! less what the caller's agent does not see.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{caller, check_access};
use crate::accounts::{AgentAccess, Scope};
use crate::input::{Invalid, sentence};
use crate::memories::ProjectRef;
use crate::memories::feed::{self, FeedCursor, FeedEvent, FeedEventType, FeedSubject};
use crate::memories::projects::{self, PLACE_CHARS_MAX};
use crate::web::AppState;
use crate::web::error::Problem;
use crate::webhooks::message::EventMessage;

const LIMIT_DEFAULT: usize = 100;
const LIMIT_MAX: usize = 500;
const NOW: &str = "now";

#[derive(Deserialize, JsonSchema)]
pub struct ChangesQuery {
    /// `next` of the previous response. Left out: from the oldest event. `now`: no events, only a cursor for later events.
    #[schemars(with = "String", example = &"now")]
    since: Option<String>,
    /// Maximum number of events. Default 100.
    #[schemars(with = "usize", range(min = 1, max = LIMIT_MAX), example = &100)]
    limit: Option<usize>,
    /// Event types, separated by commas. Default: all.
    #[schemars(with = "String", example = &"memory.stored,memory.erased")]
    types: Option<String>,
    /// Only events of memories of this project, and of erased memories.
    #[schemars(with = "String", length(max = PLACE_CHARS_MAX), example = &"tidepool")]
    project: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Changes")]
pub struct ChangesAnswer {
    /// Oldest first. May be empty although `more` is true.
    events: Vec<EventMessage>,
    /// Cursor: pass it as `since` in the next call. It expires after 30 days.
    next: String,
    /// There are more events. Call again immediately.
    more: bool,
}

pub async fn list(
    access: AgentAccess,
    State(state): State<AppState>,
    params: Result<Query<ChangesQuery>, QueryRejection>,
) -> Result<Json<ChangesAnswer>, Problem> {
    let Query(params) = params.map_err(|_| limit_out_of_range())?;
    check_access(&access, Scope::MemoryRead)?;
    let now = state.clock.now();
    let limit = params.limit.unwrap_or(LIMIT_DEFAULT);
    if !(1..=LIMIT_MAX).contains(&limit) {
        return Err(limit_out_of_range().into());
    }
    let wanted = parse_types(params.types.as_deref())?;
    let asked = params.project.map(|text| ProjectRef::parse(&text)).transpose()?.flatten();
    let user = caller(access, &state).await?.user_id;
    let sealer = state.embeddings.sealer();
    let since = match params.since.as_deref() {
        Some(NOW) => None,
        Some(text) => Some(FeedCursor::parse("since", text, (sealer, user), now)?.position),
        None => Some(0),
    };
    let next = |position: i64| {
        let sealed = FeedCursor::new(position, now).encode(sealer, user);
        sealed.map_err(|error| {
            let sentence = sentence(&error.to_string());
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", sentence)
        })
    };
    let Some(since) = since else {
        let position = feed::position_now(&state.db, user).await?;
        return Ok(Json(ChangesAnswer { events: Vec::new(), next: next(position)?, more: false }));
    };
    let page = feed::read(&state.db, user, since, &wanted, limit, now).await?;
    let project = match asked {
        Some(asked) => Some(projects::find_known(&state.db, user, Some(&asked)).await?),
        None => None,
    };
    let is_wanted = |event: &FeedEvent| match &event.subject {
        FeedSubject::Item(_, item) => project.is_none_or(|project| item.project_id == project),
        FeedSubject::ErasedItem(_) => true,
        FeedSubject::Dream(_) | FeedSubject::Job(_) => project.is_none(),
    };
    let server = state.public_url.as_str();
    let events = page.events.into_iter().filter(is_wanted);
    Ok(Json(ChangesAnswer {
        events: events.map(|event| EventMessage::new(event, server, None)).collect(),
        next: next(page.position)?,
        more: page.has_more,
    }))
}

fn limit_out_of_range() -> Invalid {
    let sentence = format!("`limit` is out of range; give 1 to {LIMIT_MAX}, or leave it out.");
    Invalid::new("limit", "out_of_range", sentence)
}

fn parse_types(types: Option<&str>) -> Result<Vec<FeedEventType>, Invalid> {
    let Some(types) = types else {
        return Ok(FeedEventType::ALL.to_vec());
    };
    let named: Option<Vec<_>> =
        types.split(',').map(|name| FeedEventType::from_label(name.trim())).collect();
    named.ok_or_else(|| {
        let known = FeedEventType::ALL.map(FeedEventType::as_str).join(", ");
        let sentence =
            format!("`types` names no type of event; give any of {known}, separated by commas.");
        Invalid::new("types", "unknown_event", sentence)
    })
}
