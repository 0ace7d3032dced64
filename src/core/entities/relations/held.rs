//! A relation whose memories were replaced or forgotten is not current: it ends when they did, or is retired, until one of them
//! is restored. Decided when it is read; the row stays as it was stated.

use std::collections::HashMap;

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::store;
use crate::db::UserId;
use crate::entities::model::Relation;
use crate::memories::Period;
use crate::memories::derived;

/// How a relation without a living source ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelationEnd {
    pub at: OffsetDateTime,
    /// Nothing replaced what it was stated by.
    pub is_forgotten: bool,
}

impl RelationEnd {
    /// The period until then; `None` if it is retired.
    pub fn cut(self, period: Period) -> Option<Period> {
        let until = period.until.map_or(self.at, |until| until.min(self.at));
        let is_cut = !self.is_forgotten && period.from.is_none_or(|from| from < until);
        is_cut.then_some(Period { until: Some(until), ..period })
    }
}

/// Ends or retires those of these relations that have no living source; with `as_of`, had none then.
///
/// # Errors
/// Database errors only.
pub async fn follow(
    conn: &mut PgConnection,
    user: UserId,
    relations: &mut [Relation],
    as_of: Option<OffsetDateTime>,
) -> Result<(), sqlx::Error> {
    let open = relations.iter().filter(|relation| relation.retired_at.is_none());
    let open: Vec<(i64, &str)> =
        open.map(|relation| (relation.id, relation.object.as_str())).collect();
    let ended = list_ended(conn, user, &open, as_of).await?;
    for relation in relations {
        if let Some(end) = ended.get(&relation.id) {
            match end.cut(relation.period) {
                Some(period) => relation.period = period,
                None => relation.retired_at = Some(end.at),
            }
        }
    }
    Ok(())
}

/// Those of these relations that have no living source, each given with the name of its object, by which the memory that
/// states it is told from others of the same message. With `as_of`, those that had none then.
///
/// # Errors
/// Database errors only.
pub async fn list_ended(
    conn: &mut PgConnection,
    user: UserId,
    relations: &[(i64, &str)],
    as_of: Option<OffsetDateTime>,
) -> Result<HashMap<i64, RelationEnd>, sqlx::Error> {
    let ids: Vec<i64> = relations.iter().map(|(id, _)| *id).collect();
    let sources = store::list_sources_of(conn, user, &ids, as_of).await?;
    let items: Vec<i64> = sources.iter().filter_map(|source| source.item).collect();
    let said = sources.iter().filter(|source| source.item.is_none());
    let places = said.filter_map(|source| source.session.zip(source.position));
    let (sessions, positions): (Vec<i64>, Vec<i32>) = places.unzip();
    let of_items = derived::bases(conn, user, &items, as_of).await?;
    let of_places = derived::bases_of_messages(conn, user, (&sessions, &positions), as_of).await?;
    let mut names: HashMap<i64, &str> = relations.iter().copied().collect();
    let mut ended: HashMap<i64, RelationEnd> = HashMap::new();
    let mut place = 0;
    for source in &sources {
        let basis = match (source.item, source.session.zip(source.position)) {
            (Some(item), _) => of_items.get(&item),
            (None, Some(_)) => {
                place += 1;
                of_places.get(&(place - 1))
            }
            (None, None) => None,
        };
        let Some(name) = names.get(&source.relation) else {
            continue;
        };
        match basis.and_then(|basis| basis.all_ended(name)) {
            Some((at, is_forgotten)) => {
                let end = ended.entry(source.relation).or_insert(RelationEnd { at, is_forgotten });
                // The last one counts.
                if at > end.at {
                    *end = RelationEnd { at, is_forgotten };
                }
            }
            // It has one that lives.
            None => drop(names.remove(&source.relation)),
        }
    }
    ended.retain(|relation, _| names.contains_key(relation));
    Ok(ended)
}
