//! Users' decisions about entities: merge, split, rename, protect. Each is an event with the ids it moved, and the latest can
//! be undone. The upkeep merges obvious duplicates in the same way.

pub(super) mod store;

use std::collections::HashMap;

use serde_json::{Value, json};
use sqlx::PgConnection;
use time::OffsetDateTime;

use super::model::{EntityId, parse_name};
use super::relations::merged::{self, store::RelationRow};
use super::{EntityError, store as entities};
use crate::db::{Db, UserId, constraint_of};
use crate::memories::mentions::EntityType;
use crate::memories::mentions::normal::normal;

/// Limit on the relations of two merged entities.
const RELATIONS_MOVED_MAX: usize = 2_000;

const CHANGED_SINCE: &str = "this has changed since; nothing was undone";
const MERGED_SINCE: &str = "this entity was merged into another one since; undo that merge first";

/// Merges the second entity into the first, with its names, mentions and relations.
///
/// # Errors
/// [`EntityError::NotFound`], or [`EntityError::Conflict`] if they are one already.
pub async fn merge(
    db: &Db,
    user: UserId,
    (into, from): (EntityId, EntityId),
    now: OffsetDateTime,
) -> Result<(), EntityError> {
    let mut tx = db.as_writer(user).await?;
    merge_in(&mut tx, user, (into, from), true, now).await?;
    tx.commit().await?;
    Ok(())
}

/// Like [`merge`], in the caller's write transaction.
pub(super) async fn merge_in(
    conn: &mut PgConnection,
    user: UserId,
    (into, from): (EntityId, EntityId),
    by_person: bool,
    now: OffsetDateTime,
) -> Result<(), EntityError> {
    if into == from {
        return Err(EntityError::Conflict(
            "an entity cannot be merged with itself; choose another one",
        ));
    }
    let (one, other) = (root(&mut *conn, user, into).await?, root(&mut *conn, user, from).await?);
    if one == other {
        return Err(EntityError::Conflict("these two are one already; nothing was changed"));
    }
    let both = entities::list_of_ids(&mut *conn, user, &[one.0, other.0]).await?;
    // The user's own entity is never merged into another.
    let (into, from) = match both.iter().any(|e| e.is_user && e.id == other) {
        true => (other, one),
        false => (one, other),
    };
    let before = merged::store::list_rows(&mut *conn, user, &[into.0, from.0]).await?;
    if before.len() > RELATIONS_MOVED_MAX {
        return Err(EntityError::Conflict(
            "these two have more than 2,000 relations between them; they cannot be merged",
        ));
    }
    let names = store::list_name_ids(&mut *conn, user, from).await?;
    store::move_names(&mut *conn, user, &names, from, into).await?;
    let merged_before = store::list_merged(&mut *conn, user, from).await?;
    let all: Vec<i64> = merged_before.iter().copied().chain([from.0]).collect();
    store::set_merged(&mut *conn, user, &all, Some(into)).await?;
    let copied = merged::carry_over(&mut *conn, user, from, into, now).await?;
    let given = merged::store::list_rows(&mut *conn, user, &[into.0]).await?;
    let (before, given) = changed_rows(before, given);
    // A summary describes only one of the two.
    store::drop_summary(&mut *conn, user, &[into.0, from.0]).await?;
    let mut detail = json!({
        "from": from.0, "names": names, "merged_before": merged_before,
        "relations": before, "given": given, "copied": copied,
    });
    // An unknown type is taken from the other one.
    let of = |id: EntityId| both.iter().find(|entity| entity.id == id);
    if let (Some(known), Some(other)) = (of(into), of(from))
        && known.entity_type == EntityType::Other
        && other.entity_type != EntityType::Other
        && entities::learn_type(&mut *conn, user, into, other.entity_type).await?
    {
        detail["name"] = known.name.as_str().into();
        detail["type"] = EntityType::Other.as_str().into();
    }
    store::insert_decision(conn, user, into, "merged", by_person, &detail, now).await?;
    Ok(())
}

/// The rows that a merge changed, as they were and as they are.
fn changed_rows(
    before: Vec<RelationRow>,
    given: Vec<RelationRow>,
) -> (Vec<RelationRow>, Vec<RelationRow>) {
    let mut given: HashMap<i64, RelationRow> = given.into_iter().map(|row| (row.id, row)).collect();
    let changed = before.into_iter().filter_map(|before| {
        let given = given.remove(&before.id)?;
        (given != before).then_some((before, given))
    });
    changed.unzip()
}

async fn root(
    conn: &mut PgConnection,
    user: UserId,
    id: EntityId,
) -> Result<EntityId, EntityError> {
    let root = entities::find_root(conn, user, id).await?;
    root.ok_or(EntityError::NotFound(id))
}

/// Moves some names with their mentions to a new entity.
///
/// # Errors
/// [`EntityError::NotFound`], or [`EntityError::Conflict`] if no names or all names are given.
pub async fn split(
    db: &Db,
    user: UserId,
    id: EntityId,
    names: &[i64],
    now: OffsetDateTime,
) -> Result<EntityId, EntityError> {
    let mut tx = db.as_writer(user).await?;
    let id = root(&mut tx, user, id).await?;
    let entity = entities::list_of_ids(&mut tx, user, &[id.0]).await?.pop();
    let entity = entity.ok_or(EntityError::NotFound(id))?;
    let all = store::list_name_ids(&mut tx, user, id).await?;
    let going: Vec<i64> = all.iter().copied().filter(|name| names.contains(name)).collect();
    if going.is_empty() || going.len() == all.len() {
        return Err(EntityError::Conflict(
            "choose some of its names, and not all of them: those become an entity of their own",
        ));
    }
    let name = store::find_best_name(&mut tx, user, &going).await?;
    let name = name.ok_or(EntityError::Conflict(CHANGED_SINCE))?;
    let made = store::insert_bare(&mut tx, user, &name, entity.entity_type, now).await?;
    store::move_names(&mut tx, user, &going, id, made).await?;
    // Record the pair as decided, so that it is not merged again.
    store::insert_pair(&mut tx, user, (id, made), "split", now).await?;
    store::decide_pair(&mut tx, user, (id, made), Some(now)).await?;
    if let Some(left) = store::find_best_name(&mut tx, user, &diff(&all, &going)).await?
        && name == entity.name
    {
        store::set_name(&mut tx, user, id, &left, entity.entity_type, true).await?;
    }
    store::drop_summary(&mut tx, user, &[id.0]).await?;
    let detail = json!({ "made": made.0, "names": going, "name": entity.name });
    store::insert_decision(&mut tx, user, id, "split", true, &detail, now).await?;
    tx.commit().await?;
    Ok(made)
}

fn diff(all: &[i64], going: &[i64]) -> Vec<i64> {
    all.iter().copied().filter(|id| !going.contains(id)).collect()
}

/// Sets an entity's name and type.
///
/// # Errors
/// [`EntityError::Invalid`] naming `name`, or [`EntityError::NotFound`].
pub async fn rename(
    db: &Db,
    user: UserId,
    id: EntityId,
    name: &str,
    entity_type: EntityType,
    now: OffsetDateTime,
) -> Result<(), EntityError> {
    let name = parse_name("name", name)?;
    let mut tx = db.as_writer(user).await?;
    let id = root(&mut tx, user, id).await?;
    let before = store::set_name(&mut tx, user, id, &name, entity_type, true).await?;
    let (old_name, old_type, old_by) = before.ok_or(EntityError::NotFound(id))?;
    if old_name == name && old_type == entity_type.as_str() {
        return Ok(());
    }
    let normal = normal(&name, entity_type);
    let added = match normal.is_empty() {
        true => None,
        false => store::add_name(&mut tx, user, id, &name, &normal, true).await?,
    };
    let detail = json!({ "name": old_name, "type": old_type, "by_person": old_by, "added": added });
    store::insert_decision(&mut tx, user, id, "renamed", true, &detail, now).await?;
    tx.commit().await?;
    Ok(())
}

/// Protects an entity: it is kept without mentions, and only a user can merge it.
///
/// # Errors
/// [`EntityError::NotFound`].
pub async fn protect(
    db: &Db,
    user: UserId,
    id: EntityId,
    is_protected: bool,
    now: OffsetDateTime,
) -> Result<(), EntityError> {
    let mut tx = db.as_writer(user).await?;
    let id = root(&mut tx, user, id).await?;
    if store::set_protected(&mut tx, user, id, is_protected).await? {
        let event = if is_protected { "protected" } else { "unprotected" };
        store::insert_decision(&mut tx, user, id, event, true, &json!({}), now).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Records that two similar entities are different.
///
/// # Errors
/// [`EntityError::NotFound`] if there is no such pair.
pub async fn keep_apart(
    db: &Db,
    user: UserId,
    pair: (EntityId, EntityId),
    now: OffsetDateTime,
) -> Result<(), EntityError> {
    let mut tx = db.as_writer(user).await?;
    if !store::decide_pair(&mut tx, user, pair, Some(now)).await? {
        return Err(EntityError::NotFound(pair.1));
    }
    let detail = json!({ "other": pair.1.0 });
    store::insert_decision(&mut tx, user, pair.0, "apart", true, &detail, now).await?;
    tx.commit().await?;
    Ok(())
}

/// Undoes the latest decision about an entity that is not undone yet, if it is this one.
///
/// # Errors
/// [`EntityError::Conflict`] if something has changed since.
pub async fn undo(
    db: &Db,
    user: UserId,
    id: EntityId,
    decision: i64,
    now: OffsetDateTime,
) -> Result<(), EntityError> {
    let mut tx = db.as_writer(user).await?;
    let changed = || EntityError::Conflict(CHANGED_SINCE);
    if entities::find_root(&mut tx, user, id).await?.is_some_and(|root| root != id) {
        return Err(EntityError::Conflict(MERGED_SINCE));
    }
    let taken = store::take_back(&mut tx, user, id, decision, now).await?;
    let (event, detail) = taken.ok_or_else(changed)?;
    let number = |name: &str| detail[name].as_i64();
    let numbers = |name: &str| -> Vec<i64> {
        let all = detail[name].as_array().into_iter().flatten();
        all.filter_map(Value::as_i64).collect()
    };
    match event.as_str() {
        "merged" => {
            let from = EntityId(number("from").ok_or_else(changed)?);
            if entities::find_root(&mut tx, user, from).await? != Some(id) {
                return Err(changed());
            }
            store::set_merged(&mut tx, user, &[from.0], None).await?;
            store::set_merged(&mut tx, user, &numbers("merged_before"), Some(from)).await?;
            let names = numbers("names");
            let moved = store::move_names(&mut tx, user, &names, id, from).await?;
            // An entity whose names were erased since does not come back.
            if moved.is_empty() && !names.is_empty() || is_nameless(&mut tx, user, id).await? {
                return Err(changed());
            }
            merged::store::remove_evidence(&mut tx, user, &numbers("copied")).await?;
            let before = serde_json::from_value(detail["relations"].clone());
            let given = serde_json::from_value(detail["given"].clone());
            let rows = (before.map_err(|_| changed())?, given.map_err(|_| changed())?);
            match merged::put_back(&mut tx, user, id, rows, now).await {
                Err(error) if constraint_of(&error).is_some() => return Err(changed()),
                put_back => put_back?,
            }
            put_name_back(&mut tx, user, id, &detail).await?;
            // Record the pair as decided, so that it is not merged again.
            store::insert_pair(&mut tx, user, (id, from), "split", now).await?;
            store::decide_pair(&mut tx, user, (id, from), Some(now)).await?;
            store::drop_summary(&mut tx, user, &[id.0]).await?;
        }
        "split" => {
            let made = EntityId(number("made").ok_or_else(changed)?);
            let moved = store::move_names(&mut tx, user, &numbers("names"), made, id).await?;
            if moved.len() != numbers("names").len()
                || !store::delete_bare(&mut tx, user, made).await?
            {
                return Err(changed());
            }
            put_name_back(&mut tx, user, id, &detail).await?;
        }
        "renamed" => {
            put_name_back(&mut tx, user, id, &detail).await?;
            if let Some(added) = number("added") {
                store::delete_unused_name(&mut tx, user, added).await?;
            }
        }
        "protected" => drop(store::set_protected(&mut tx, user, id, false).await?),
        "unprotected" => drop(store::set_protected(&mut tx, user, id, true).await?),
        "apart" => {
            let other = EntityId(number("other").ok_or_else(changed)?);
            store::decide_pair(&mut tx, user, (id, other), None).await?;
        }
        _ => return Err(changed()),
    }
    tx.commit().await?;
    Ok(())
}

/// Whether nothing names it any more, and it is not kept without.
async fn is_nameless(
    conn: &mut PgConnection,
    user: UserId,
    id: EntityId,
) -> Result<bool, sqlx::Error> {
    let is_protected = entities::list_of_ids(&mut *conn, user, &[id.0]).await?;
    let is_protected = is_protected.iter().any(|entity| entity.is_protected);
    Ok(!is_protected && store::list_name_ids(conn, user, id).await?.is_empty())
}

async fn put_name_back(
    conn: &mut PgConnection,
    user: UserId,
    id: EntityId,
    detail: &Value,
) -> Result<(), EntityError> {
    let known = entities::list_of_ids(&mut *conn, user, &[id.0]).await?.pop();
    let known = known.ok_or(EntityError::Conflict(CHANGED_SINCE))?;
    let entity_type = detail["type"].as_str().and_then(EntityType::from_label);
    let by_person = detail["by_person"].as_bool().unwrap_or(false);
    let name = match detail["name"].as_str() {
        Some(name) => Some(name.to_owned()),
        // It was erased since.
        None if entity_type.is_some() => {
            let names = store::list_name_ids(&mut *conn, user, id).await?;
            store::find_best_name(&mut *conn, user, &names).await?
        }
        None => return Ok(()),
    };
    let (name, entity_type) =
        (name.unwrap_or(known.name), entity_type.unwrap_or(known.entity_type));
    store::set_name(conn, user, id, &name, entity_type, by_person).await?;
    Ok(())
}
