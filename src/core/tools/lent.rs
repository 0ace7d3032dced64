//! Memory that is shared with the calling agent (teams, an operator's pool: docs/teams.md), for tools.

use std::sync::Arc;

use super::{Services, ToolError};
use crate::accounts::Viewer;
use crate::activity::RunningCall;
use crate::db::is_not_lent;
use crate::embedding::ItemEmbedding;
use crate::memories::model::MemoryItem;
use crate::memories::{self, Day, EpisodeSpan, ItemDetails, ItemId, MemoryError, Status};

/// A shared item, and the name of the memory it comes from; `None` if no item with this id is shared.
pub async fn get(
    context: &Services,
    call: &RunningCall,
    id: ItemId,
    day: &Day,
) -> Result<Option<(ItemDetails, Arc<str>)>, ToolError> {
    let Some(lent) = call.viewer.lent.as_ref().filter(|_| day.is_now()) else {
        return Ok(None);
    };
    let db = context.db.lent_to(call.viewer.user_id);
    let owner = Viewer::person(lent.user_id);
    match memories::get(&db, &context.embeddings, &owner, id, day).await {
        // Turns are never shared, nor is what is archived or was.
        Ok(found) if found.item.turn.is_some() => Ok(None),
        Ok(found) if found.item.status_at(context.clock.now()) != Status::Active => Ok(None),
        Ok(found) => {
            let is_anothers = lent.is_anothers(call.viewer.user_id);
            Ok(Some((as_lent(found, is_anothers), lent.name.clone())))
        }
        Err(MemoryError::NotFound(_)) => Ok(None),
        Err(MemoryError::Database(error)) if is_not_lent(&error) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Without the source conversation, and without the owner's settings.
fn as_lent(found: ItemDetails, is_anothers: bool) -> ItemDetails {
    let ItemDetails { item, embedding, outdated, .. } = found;
    ItemDetails {
        item: MemoryItem {
            trust: item.trust.read_by_another(is_anothers),
            source_context: None,
            source_session: None,
            source_message: None,
            span: item.span.map(EpisodeSpan::without_session),
            ..item
        },
        embedding: ItemEmbedding {
            error: None,
            provider_type: None,
            model: None,
            dimensions: None,
            ..embedding
        },
        gave_way: Vec::new(),
        strength: None,
        outdated,
    }
}

/// The error for a change whose item was not found: says so if the item is only shared with the caller.
pub async fn refused(
    context: &Services,
    call: &RunningCall,
    id: ItemId,
    error: MemoryError,
) -> ToolError {
    if matches!(error, MemoryError::NotFound(_))
        && let Some(lent) = &call.viewer.lent
        && let Ok(Some(_)) = get(context, call, id, &Day::default()).await
    {
        return ToolError::Lent(lent.refusal());
    }
    error.into()
}
