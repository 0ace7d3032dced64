//! What may be told of the sources that are relevant: without what does not hold any more, and what holds in its place.

use std::collections::HashMap;

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::store::{RecallSource, list_of_others, list_sources};
use crate::db::UserId;
use crate::memories::ItemType;
use crate::memories::derived::{self, TextBasis};
use crate::memories::projects::MeantProjects;
use crate::search::WeighedTerms;
use crate::search::replaced::{is_asked, is_asked_alone};

/// What is recalled for.
pub(super) struct Wanted<'a> {
    /// The words of the message.
    pub(super) terms: &'a WeighedTerms,
    /// The session, whose own sources are left out.
    pub(super) session: Option<i64>,
    /// The projects that are worked on, if one is named.
    pub(super) projects: Option<&'a MeantProjects>,
    pub(super) now: OffsetDateTime,
}

/// The sources among these ids. What replaced something that is asked for is as relevant as the text that still says it.
pub(super) async fn held_sources(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
    wanted: &Wanted<'_>,
    relevance: &mut HashMap<i64, f64>,
) -> Result<Vec<RecallSource>, sqlx::Error> {
    let mut rows = list_sources(conn, user, ids, wanted.session, wanted.now).await?;
    let written = rows.iter().filter(|row| row.item_type == ItemType::Reflection);
    let written: Vec<i64> = written.map(|row| row.id.0).collect();
    let of_others = list_of_others(conn, user, &written, wanted.projects).await?;
    rows.retain(|row| !of_others.contains(&row.id.0));
    let derived = rows.iter().filter(|row| row.item_type.is_derived());
    let derived: Vec<i64> = derived.map(|row| row.id.0).collect();
    let bases = derived::bases(conn, user, &derived, None).await?;
    let mut newer: Vec<i64> = Vec::new();
    let told = rows.into_iter().filter_map(|row| {
        let Some(basis) = bases.get(&row.id.0) else {
            return Some(row);
        };
        let whole = row.whole.as_ref().unwrap_or(&row.text);
        let rest = basis.still_told(whole);
        if is_asked(wanted.terms, whole, rest.as_deref()) {
            let of_text = relevance.get(&row.id.0).copied().unwrap_or_default();
            let ends = basis.told_by(whole).into_iter().filter_map(|fact| fact.ended.as_ref());
            for (id, _) in ends.filter_map(|end| end.successor.as_ref()) {
                let own = relevance.entry(id.0).or_default();
                *own = own.max(of_text);
                if !ids.contains(&id.0) && !newer.contains(&id.0) {
                    newer.push(id.0);
                }
            }
        }
        // What stood around the answer was relevant for its sake.
        let rest = rest.filter(|rest| !is_asked_alone(wanted.terms, whole, rest));
        let text = still_told(basis, &row, rest)?;
        Some(RecallSource { text, ..row })
    });
    let mut told: Vec<RecallSource> = told.collect();
    if !newer.is_empty() {
        told.extend(list_sources(conn, user, &newer, wanted.session, wanted.now).await?);
    }
    Ok(told)
}

/// Of an episode another sentence, if its abstract may not be told. A reflection whose sources mostly do not hold is not told.
fn still_told(basis: &TextBasis, row: &RecallSource, rest: Option<String>) -> Option<String> {
    if row.item_type == ItemType::Reflection && basis.is_mostly_ended() {
        return None;
    }
    let rest = rest?;
    Some(basis.still_told(&row.text).unwrap_or(rest))
}
