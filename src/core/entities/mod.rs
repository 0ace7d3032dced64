//! Entities: people, projects, organizations and places that sources name, with their relations, periods and trust. Names are
//! found when sources are written ([`crate::memories::mentions`]). Here: lists, profiles, relations, users' decisions and
//! upkeep. An item's text is never changed.

pub mod decide;
pub mod graph;
pub mod layout;
pub mod model;
pub mod predicates;
pub mod relations;
pub mod settings;
mod store;
pub mod upkeep;

use std::collections::HashSet;

use time::OffsetDateTime;

pub use model::{
    Alias, DecisionRecord, Entity, EntityId, PossibleDuplicate, Profile, Relation,
    RelationEvidence, RelationObject, parse_name,
};
pub use predicates::Predicate;

use crate::db::{Db, UserId};
use crate::embedding::QueryVector;
use crate::input::Invalid;
use crate::memories::mentions::EntityType;
use crate::memories::mentions::normal::{normal, words};
use crate::memories::{Day, ItemId, day, derived};
use crate::search::{Search, store as found};

/// Limit on the relations of a profile.
pub const RELATIONS_SHOWN: i64 = 100;
/// Limit on an entity's sources that are checked for a past day, newest first.
const SOURCES_OF_A_DAY: i64 = 2_000;
const NAMES_SHOWN: i64 = 50;
const DECISIONS_SHOWN: i64 = 20;
/// Limit on the "Same?" pairs of a page.
pub const PAIRS_SHOWN: i64 = 20;
/// Maximum cosine distance at which a summary matches a name.
const NEAR_MAX: f64 = 0.6;

#[derive(Debug, thiserror::Error)]
pub enum EntityError {
    #[error("there is no entity {0} in your memory")]
    NotFound(EntityId),
    #[error("no entity of your memory is called that{}", suggested(.0))]
    NoSuchName(Vec<String>),
    #[error("{0}")]
    Conflict(&'static str),
    #[error(transparent)]
    Invalid(#[from] Invalid),
    #[error(transparent)]
    Database(#[from] sqlx::Error),
}

fn suggested(names: &[String]) -> String {
    match names {
        [] => String::new(),
        names => format!("; it knows {}", names.join(", ")),
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EntityOrder {
    #[default]
    Mentions,
    Name,
    LastSeen,
}

/// Which entities to list.
#[derive(Clone, Debug, Default)]
pub struct EntityFilter {
    /// Empty: all.
    pub types: Vec<EntityType>,
    /// A substring of a name.
    pub text: Option<String>,
    pub sort: EntityOrder,
    pub limit: i64,
}

impl EntityFilter {
    fn name_pattern(&self) -> Option<String> {
        let text = self.text.as_deref()?;
        Some(format!("%{}%", escaped(text)))
    }

    fn normal_pattern(&self) -> Option<String> {
        let text = self.text.as_deref()?;
        let folded = words(text).concat();
        let pattern = match folded.is_empty() {
            true => escaped(text),
            false => escaped(&folded),
        };
        Some(format!("%{pattern}%"))
    }
}

/// Escapes LIKE wildcards.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}

/// A page of entities.
pub struct EntityList {
    pub entities: Vec<Entity>,
    /// Number of entities that match the filter.
    pub total: i64,
    pub by_type: Vec<(EntityType, i64)>,
    pub relations: i64,
    pub pairs: Vec<PossibleDuplicate>,
    pub pairs_total: i64,
}

/// The data of the entities page.
pub async fn page(db: &Db, user: UserId, filter: &EntityFilter) -> Result<EntityList, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let (entities, total) = store::list(&mut tx, user, filter).await?;
    let by_type = store::count_by_type(&mut tx, user).await?;
    let relations = relations::store::count_relations(&mut tx, user).await?;
    let (pairs, pairs_total) = decide::store::list_pairs(&mut tx, user, PAIRS_SHOWN).await?;
    let ids: Vec<i64> = pairs.iter().flat_map(|(a, b, _)| [*a, *b]).collect();
    let of_pairs = store::list_of_ids(&mut tx, user, &ids).await?;
    tx.commit().await?;
    let find = |id: i64| of_pairs.iter().find(|e| e.id.0 == id).cloned();
    let pairs = pairs.into_iter().filter_map(|(one, other, why)| {
        Some(PossibleDuplicate { one: find(one)?, other: find(other)?, why })
    });
    Ok(EntityList { entities, total, by_type, relations, pairs: pairs.collect(), pairs_total })
}

/// Number of entities by type, and of current relations.
pub async fn counts(db: &Db, user: UserId) -> Result<(Vec<(EntityType, i64)>, i64), sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let by_type = store::count_by_type(&mut tx, user).await?;
    let relations = relations::store::count_relations(&mut tx, user).await?;
    tx.commit().await?;
    Ok((by_type, relations))
}

/// An entity's profile; for a merged one, that of the entity it was merged into. `sources` limits the sources listed.
///
/// # Errors
/// [`EntityError::NotFound`], or a database error.
pub async fn profile(
    db: &Db,
    user: UserId,
    id: EntityId,
    sources: i64,
    now: OffsetDateTime,
) -> Result<Profile, EntityError> {
    profile_on(db, user, id, sources, &Day::default(), now).await
}

/// The profile on a day: what was known then, and memories that were true then. There is no summary for a past day.
///
/// # Errors
/// [`EntityError::NotFound`], [`Invalid`] if it was not known then, or a database error.
pub async fn profile_on(
    db: &Db,
    user: UserId,
    id: EntityId,
    sources: i64,
    day: &Day,
    now: OffsetDateTime,
) -> Result<Profile, EntityError> {
    let mut tx = db.as_user(user).await?;
    let root = store::find_root(&mut tx, user, id).await?;
    let root = root.ok_or(EntityError::NotFound(id))?;
    let mut entity = store::list_of_ids(&mut tx, user, &[root.0])
        .await?
        .pop()
        .ok_or(EntityError::NotFound(id))?;
    let ids = match day.is_now() {
        true => store::list_sources(&mut tx, user, root, sources).await?,
        false => {
            let all = store::list_sources(&mut tx, user, root, SOURCES_OF_A_DAY).await?;
            let then = day::store::list_ids(&mut tx, user, day, now, Some(&all)).await?;
            entity.as_then(day, then.len());
            let then: HashSet<i64> = then.into_iter().collect();
            let newest = all.into_iter().filter(|id| then.contains(id));
            newest.take(sources.max(0) as usize).collect()
        }
    };
    let mut newest = found::list_found(&mut tx, user, &ids, now).await?;
    newest.sort_by_key(|item| std::cmp::Reverse((item.created_at, item.id.0)));
    if let Some(portrait) = entity.summary.take() {
        let of = store::list_portrait_sources(&mut tx, user, root).await?;
        let basis = derived::basis_of_all(&mut tx, user, &of).await?;
        entity.summary = basis.still_told(&portrait).filter(|_| !basis.is_mostly_ended());
    }
    let of = &[root.0];
    let found =
        relations::store::list_relations(&mut tx, user, of, true, day.as_of, RELATIONS_SHOWN);
    let mut found = found.await?;
    relations::held::follow(&mut tx, user, &mut found, day.as_of).await?;
    let profile = Profile {
        entity,
        names: model::each_once(
            store::list_names(&mut tx, user, root, day.as_of, NAMES_SHOWN).await?,
        ),
        relations: found,
        sources: newest,
        decisions: decide::store::list_decisions(&mut tx, user, root, DECISIONS_SHOWN).await?,
    };
    tx.commit().await?;
    let was_known = profile.entity.is_user
        || profile.entity.first_seen.is_some()
        || !profile.relations.is_empty();
    match was_known || day.as_of.is_none() {
        true => Ok(profile),
        false => Err(Invalid::new(
            "as_of",
            "not_then",
            "it was not known then; leave out `as_of` to read it as it is now.",
        )
        .into()),
    }
}

/// Whether the entity exists, merged or not.
pub async fn exists(db: &Db, user: UserId, id: EntityId) -> Result<bool, sqlx::Error> {
    let root = db.for_user(user, async |conn, user| store::find_root(conn, user, id).await).await?;
    Ok(root.is_some())
}

/// Finds an entity by name or, if no name matches, by its summary's embedding.
///
/// # Errors
/// [`EntityError::NoSuchName`] with similar names, or a database error.
pub async fn find_named(
    search: &Search,
    user: UserId,
    name: &str,
) -> Result<EntityId, EntityError> {
    let name = parse_name("name", name)?;
    let mut tx = search.db().as_user(user).await?;
    if matches!(name.to_lowercase().as_str(), "me" | "you" | "user" | "the user")
        && let Some(id) = store::find_user(&mut tx, user).await?
    {
        return Ok(id);
    }
    let mut normals: Vec<String> = EntityType::ALL.iter().map(|t| normal(&name, *t)).collect();
    normals.sort();
    normals.dedup();
    let found = store::list_named(&mut tx, user, &normals).await?;
    if let Some((id, _, _)) = found.first() {
        return Ok(*id);
    }
    let filter = EntityFilter { text: Some(name.clone()), limit: 5, ..EntityFilter::default() };
    let (alike, _) = store::list(&mut tx, user, &filter).await?;
    if let [only] = alike.as_slice() {
        return Ok(only.id);
    }
    drop(tx);
    let asked = search.embed_query(user, &name).await?;
    if let Some(vector) = asked.vector {
        let mut tx = search.db().as_user(user).await?;
        let near =
            store::list_near(&mut tx, user, vector.space_id, &vector.vector.half(), 1).await?;
        if let Some((id, distance)) = near.first()
            && *distance <= NEAR_MAX
            && alike.is_empty()
        {
            return Ok(*id);
        }
    }
    let names = alike.into_iter().map(|entity| entity.name);
    Err(EntityError::NoSuchName(names.collect()))
}

/// The entities that a source names, in text order.
pub async fn of_source(
    db: &Db,
    user: UserId,
    source: ItemId,
) -> Result<Vec<(EntityId, String, EntityType)>, sqlx::Error> {
    db.for_user(user, async |conn, user| store::list_of_source(conn, user, source).await).await
}

/// Finds or creates the entity with this name and type, in the user's write transaction. `None` if the normalized name is
/// empty or the user has too many entities.
///
/// # Errors
/// Database errors only.
pub async fn ensure(
    conn: &mut sqlx::PgConnection,
    user: UserId,
    name: &str,
    entity_type: EntityType,
    now: OffsetDateTime,
) -> Result<Option<EntityId>, sqlx::Error> {
    use crate::memories::mentions::store as names;
    let Ok(name) = parse_name("name", name) else {
        return Ok(None);
    };
    let normal = normal(&name, entity_type);
    if normal.is_empty() {
        return Ok(None);
    }
    let normals = [normal.clone()];
    let known = store::list_named(&mut *conn, user, &normals).await?;
    let exact = known.iter().find(|(_, t, _)| *t == entity_type);
    let fitting = exact
        .or_else(|| known.iter().find(|(_, t, by_person)| *by_person && t.takes(true, entity_type)))
        .or_else(|| known.iter().find(|(_, t, _)| t.may_be(entity_type)));
    if let Some((id, known_type, _)) = fitting {
        if *known_type == EntityType::Other && entity_type != EntityType::Other {
            store::learn_type(&mut *conn, user, *id, entity_type).await?;
        }
        return Ok(Some(*id));
    }
    if settings::store::find(&mut *conn, user).await?.is_full {
        return Ok(None);
    }
    let new = [names::NewEntity { name, normal, entity_type }];
    let made = names::insert_entities(&mut *conn, user, &new, now).await?;
    match made.first() {
        Some(name) => store::find_of_name(conn, user, *name).await,
        None => Ok(None),
    }
}

/// The entity of the user, created if needed.
///
/// # Errors
/// Database errors only.
pub async fn ensure_user(
    conn: &mut sqlx::PgConnection,
    user: UserId,
    now: OffsetDateTime,
) -> Result<EntityId, sqlx::Error> {
    store::ensure_user(conn, user, now).await
}

/// Asks the user about entities with a similar summary, which may be the same.
///
/// # Errors
/// Database errors only.
pub async fn ask_about_near(
    conn: &mut sqlx::PgConnection,
    user: UserId,
    id: i64,
    vector: &QueryVector,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    const SAME_MAX: f64 = 0.08;
    const LOOKED_AT: i64 = 4;
    let half = vector.vector.half();
    let near = store::list_near(&mut *conn, user, vector.space_id, &half, LOOKED_AT).await?;
    let ids: Vec<i64> = near.iter().map(|(id, _)| id.0).chain([id]).collect();
    let all = store::list_of_ids(&mut *conn, user, &ids).await?;
    let type_of = |id: i64| all.iter().find(|e| e.id.0 == id).map(|e| e.entity_type);
    for (other, distance) in near {
        let fits = type_of(other.0).zip(type_of(id)).is_some_and(|(a, b)| a.may_be(b));
        if other.0 != id && distance <= SAME_MAX && fits {
            decide::store::insert_pair(&mut *conn, user, (EntityId(id), other), "meaning", now)
                .await?;
        }
    }
    Ok(())
}

/// An entity from an import.
pub struct ImportedEntity<'a> {
    pub name: &'a str,
    pub entity_type: EntityType,
    pub names: &'a [String],
    pub is_user: bool,
    pub is_protected: bool,
}

/// Imports an entity with its names, in the user's write transaction. An existing entity with its name and type is reused.
/// `None` if the user has too many entities.
///
/// # Errors
/// Database errors only.
pub async fn import(
    conn: &mut sqlx::PgConnection,
    user: UserId,
    taken: ImportedEntity<'_>,
    now: OffsetDateTime,
) -> Result<Option<EntityId>, sqlx::Error> {
    let id = match taken.is_user {
        true => Some(store::ensure_user(&mut *conn, user, now).await?),
        false => ensure(&mut *conn, user, taken.name, taken.entity_type, now).await?,
    };
    let Some(id) = id else {
        return Ok(None);
    };
    for name in taken.names {
        let Ok(name) = parse_name("name", name) else {
            continue;
        };
        let normal = normal(&name, taken.entity_type);
        if !normal.is_empty() {
            decide::store::add_name(&mut *conn, user, id, &name, &normal, false).await?;
        }
    }
    if taken.is_protected {
        decide::store::set_protected(conn, user, id, true).await?;
    }
    Ok(Some(id))
}
