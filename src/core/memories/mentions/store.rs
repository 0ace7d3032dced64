//! SQL that writes entity mentions. Runs in the user's write transaction.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::{EntityType, FoundBy};
use crate::db::UserId;

/// A name of an existing entity.
#[derive(Clone, Debug)]
pub struct KnownName {
    pub id: i64,
    pub entity_id: i64,
    pub normal: String,
    pub entity_type: EntityType,
    /// A person has set its entity's name or type.
    pub is_by_person: bool,
    pub mentions: i64,
}

pub struct KnownNames {
    pub names: Vec<KnownName>,
    /// No more entities may be created.
    pub is_full: bool,
}

/// Entity names of the user with these normal forms. `None` if the user has switched entities off.
pub async fn find_names(
    conn: &mut PgConnection,
    user: UserId,
    normals: &[String],
) -> Result<Option<KnownNames>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"SELECT coalesce(s.by_rules, true) AS "by_rules!", coalesce(s.is_full, false) AS "is_full!",
                  n.id AS "id?", n.entity_id AS "entity_id?", n.normal AS "normal?", n.mentions AS "mentions?", e.type AS "type?: EntityType",
                  e.by_person AS "is_by_person?"
           FROM (SELECT $1::bigint AS user_id) u
           LEFT JOIN entity_settings s ON s.user_id = u.user_id
           LEFT JOIN entity_names n ON n.user_id = $1 AND n.normal = ANY ($2)
           LEFT JOIN entities e ON e.user_id = $1 AND e.id = n.entity_id"#,
        user.0,
        normals,
    )
    .fetch_all(conn)
    .await?;
    let wants = rows.first().is_some_and(|row| row.by_rules);
    if !wants {
        return Ok(None);
    }
    let is_full = rows.first().is_some_and(|row| row.is_full);
    let names = rows.into_iter().filter_map(|row| {
        Some(KnownName {
            id: row.id?,
            entity_id: row.entity_id?,
            normal: row.normal?,
            entity_type: row.r#type?,
            is_by_person: row.is_by_person?,
            mentions: row.mentions?,
        })
    });
    Ok(Some(KnownNames { names: names.collect(), is_full }))
}

pub struct NewEntity {
    pub name: String,
    pub normal: String,
    pub entity_type: EntityType,
}

#[derive(Clone, Copy)]
pub enum NameRef {
    Known(i64),
    /// Index into the new entities.
    New(usize),
}

pub struct NewMention {
    pub source_id: i64,
    pub at: OffsetDateTime,
    pub name: NameRef,
    pub start: i32,
    pub length: i32,
    pub by: FoundBy,
    pub confidence: i16,
}

/// Creates the entities with their names, and the mentions; existing mentions stay.
pub async fn insert_mentions(
    conn: &mut PgConnection,
    user: UserId,
    entities: &[NewEntity],
    mentions: &[NewMention],
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let names = insert_entities(&mut *conn, user, entities, now).await?;
    let id_of = |mention: &NewMention| match mention.name {
        NameRef::Known(id) => Some(id),
        NameRef::New(place) => names.get(place).copied(),
    };
    let kept: Vec<(&NewMention, i64)> =
        mentions.iter().filter_map(|mention| Some((mention, id_of(mention)?))).collect();
    let of = |read: fn(&(&NewMention, i64)) -> i64| kept.iter().map(read).collect::<Vec<i64>>();
    let starts: Vec<i32> = kept.iter().map(|(m, _)| m.start).collect();
    let lengths: Vec<i32> = kept.iter().map(|(m, _)| m.length).collect();
    let by: Vec<String> = kept.iter().map(|(m, _)| m.by.as_str().to_owned()).collect();
    let confidences: Vec<i16> = kept.iter().map(|(m, _)| m.confidence).collect();
    let dates: Vec<OffsetDateTime> = kept.iter().map(|(m, _)| m.at).collect();
    sqlx::query!(
        "WITH mention AS (
             INSERT INTO entity_mentions (user_id, source_id, name_id, start, length, found_by, confidence)
             SELECT $1, m.source_id, m.name_id, m.start, m.length, m.found_by, m.confidence
             FROM unnest($2::bigint[], $3::bigint[], $4::integer[], $5::integer[], $6::text[], $7::smallint[])
                  AS m (source_id, name_id, start, length, found_by, confidence)
             ON CONFLICT DO NOTHING
             RETURNING source_id, name_id
         ), counted AS (
             SELECT m.name_id, count(*) AS mentions, min(d.at) AS first, max(d.at) AS last
             FROM mention m
             JOIN (SELECT DISTINCT source_id, at FROM unnest($2::bigint[], $8::timestamptz[]) AS d (source_id, at)) d
                 ON d.source_id = m.source_id
             GROUP BY m.name_id
         )
         UPDATE entity_names n
         SET mentions = n.mentions + c.mentions, first_seen = least(n.first_seen, c.first), last_seen = greatest(n.last_seen, c.last)
         FROM counted c WHERE n.user_id = $1 AND n.id = c.name_id",
        user.0,
        &of(|(m, _)| m.source_id),
        &of(|(_, id)| *id),
        &starts,
        &lengths,
        &by,
        &confidences,
        &dates,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Ids of the entities' names, in the same order.
pub async fn insert_entities(
    conn: &mut PgConnection,
    user: UserId,
    entities: &[NewEntity],
    now: OffsetDateTime,
) -> Result<Vec<i64>, sqlx::Error> {
    if entities.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<String> = entities.iter().map(|e| e.name.clone()).collect();
    let normals: Vec<String> = entities.iter().map(|e| e.normal.clone()).collect();
    let types: Vec<String> = entities.iter().map(|e| e.entity_type.as_str().to_owned()).collect();
    let rows = sqlx::query!(
        r#"WITH new AS MATERIALIZED (
               SELECT n, name, normal, type, nextval('entities_id_seq') AS id
               FROM unnest($2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS e (name, normal, type, n)
           ), entity AS (
               INSERT INTO entities (user_id, id, name, type, created_at) OVERRIDING SYSTEM VALUE
               SELECT $1, id, name, type, $5 FROM new
               RETURNING user_id
           ), named AS (
               INSERT INTO entity_names (user_id, entity_id, name, normal)
               SELECT $1, id, name, normal FROM new
               RETURNING id, entity_id
           )
           SELECT named.id AS "id!" FROM named JOIN new ON new.id = named.entity_id ORDER BY new.n"#,
        user.0,
        &names,
        &normals,
        &types,
        now,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| row.id).collect())
}
