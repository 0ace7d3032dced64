//! Relations between entities. If two statements contradict each other, trust and date decide, as for memories. Nothing is
//! overwritten: a relation ends at a time, or is retired and linked to its replacement.

pub mod held;
pub(super) mod merged;
pub mod store;

use sqlx::PgConnection;
use time::{OffsetDateTime, Time};

use super::model::{EntityId, RelationEvidence};
use super::predicates::Predicate;
use crate::db::UserId;
use crate::memories::trust::{Holder, Newcomer, StayReason, Verdict, verdict};
use crate::memories::{Period, Trust};

/// Limit per user.
pub const RELATIONS_MAX: i64 = 200_000;
/// Limit on the sources kept per relation.
pub const EVIDENCE_MAX: i64 = 50;
/// Limit of a value, and of the words of `related_to`, in characters.
pub const VALUE_CHARS_MAX: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelationTarget {
    Entity(EntityId),
    Value(String),
}

/// A relation as stated by a source.
#[derive(Clone, Debug)]
pub struct StatedRelation {
    pub subject: EntityId,
    pub predicate: Predicate,
    pub words: Option<String>,
    pub object: RelationTarget,
    pub period: Period,
    pub confidence: i16,
    pub evidence: RelationEvidence,
}

impl StatedRelation {
    fn trust(&self) -> Trust {
        self.evidence.trust
    }

    /// Whether a relation is over for this statement: without dates it means from when it was said.
    fn is_after(&self, other: &ExistingRelation) -> bool {
        let until = other.period.until.filter(|_| self.period == Period::default());
        until.is_some_and(|until| until <= self.evidence.at)
    }

    /// Since when it holds, without dates beside these: since its day, as the hour is unknown, unless another began or ended then.
    fn begins(&self, met: &[ExistingRelation]) -> OffsetDateTime {
        let said_at = self.evidence.at;
        let day = said_at.replace_time(Time::MIDNIGHT);
        let is_since = |m: &ExistingRelation| {
            m.period.from.is_some_and(|from| from >= day)
                || self.is_after(m) && m.period.until.is_some_and(|until| until > day)
        };
        if met.iter().any(is_since) { said_at } else { day }
    }
}

/// An existing relation with the same subject and predicate.
#[derive(Clone, Debug)]
pub struct ExistingRelation {
    pub id: i64,
    pub object: RelationTarget,
    pub words: Option<String>,
    pub period: Period,
    pub trust: Trust,
    pub stated_at: OffsetDateTime,
}

/// The effect of a statement on an existing relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RelationChange {
    /// It ends at this time.
    Ends(OffsetDateTime),
    /// It begins at this time.
    Begins(OffsetDateTime),
    /// It is wrong and was never valid.
    Retires,
}

/// How to store a statement with a single-valued predicate.
#[derive(Debug, PartialEq, Eq)]
struct StoragePlan {
    period: Period,
    /// Stored as retired, in favour of this relation.
    aside_for: Option<i64>,
    changes: Vec<(i64, RelationChange)>,
}

impl StoragePlan {
    /// Stored as stated, without conflicts. What was said of before and is over begins again.
    fn of(stated: &StatedRelation, met: &[ExistingRelation]) -> Self {
        let is_again = |m: &ExistingRelation| {
            stated.is_after(m) && (stated.predicate.is_single() || is_alike(m, stated))
        };
        let begins = met.iter().any(is_again).then(|| stated.begins(met));
        let period = Period { from: stated.period.from.or(begins), ..stated.period };
        Self { period, aside_for: None, changes: Vec::new() }
    }
}

/// Stores a statement, in the user's write transaction. Returns its relation; `None` if the user has too many relations.
pub async fn note(
    conn: &mut PgConnection,
    user: UserId,
    stated: &StatedRelation,
    now: OffsetDateTime,
) -> Result<Option<i64>, sqlx::Error> {
    let owner = store::find_owner(conn, user, stated.evidence.item).await?;
    let (subject, predicate) = (stated.subject, stated.predicate);
    let met = store::list_standing(conn, user, owner, subject, predicate).await?;
    if let Some(same) = find_same(&met, stated) {
        restate(conn, user, same, &met, stated).await?;
        store::add_evidence(conn, user, same.id, &stated.evidence).await?;
        return Ok(Some(same.id));
    }
    if !store::has_room(conn, user).await? {
        return Ok(None);
    }
    let plan = match stated.predicate.is_single() {
        true => plan(stated, &met),
        false => StoragePlan::of(stated, &met),
    };
    let retiring = apply(conn, user, &plan, None, now).await?;
    let id = store::insert_relation(conn, user, owner, stated, &plan, now).await?;
    store::link_retired(conn, user, &retiring, id).await?;
    store::add_evidence(conn, user, id, &stated.evidence).await?;
    Ok(Some(id))
}

fn find_same<'a>(
    met: &'a [ExistingRelation],
    stated: &StatedRelation,
) -> Option<&'a ExistingRelation> {
    let is_same = |m: &&ExistingRelation| {
        is_alike(m, stated) && overlap(m.period, stated.period) && !stated.is_after(m)
    };
    met.iter().find(is_same)
}

fn is_alike(met: &ExistingRelation, stated: &StatedRelation) -> bool {
    met.object == stated.object && met.words == stated.words
}

/// Updates one of these relations that was stated again.
async fn restate(
    conn: &mut PgConnection,
    user: UserId,
    same: &ExistingRelation,
    met: &[ExistingRelation],
    stated: &StatedRelation,
) -> Result<(), sqlx::Error> {
    let period = Period {
        from: same.period.from.or(stated.period.from),
        until: stated.period.until.or(same.period.until),
    };
    let is_fit = period.from.zip(period.until).is_none_or(|(f, u)| f < u);
    let others = met.iter().filter(|m| m.id != same.id);
    let is_free =
        !stated.predicate.is_single() || !others.into_iter().any(|m| overlap(m.period, period));
    let period = if is_fit && is_free { period } else { same.period };
    store::update_restated(conn, user, same.id, period, stated).await
}

/// Applies a plan to the existing relations. Returns the retired ones, to be linked once the new relation has an id.
async fn apply(
    conn: &mut PgConnection,
    user: UserId,
    plan: &StoragePlan,
    for_relation: Option<i64>,
    now: OffsetDateTime,
) -> Result<Vec<i64>, sqlx::Error> {
    let mut retiring = Vec::new();
    for (id, change) in &plan.changes {
        match change {
            RelationChange::Ends(at) => store::end(conn, user, *id, *at).await?,
            RelationChange::Begins(at) => store::begin(conn, user, *id, *at).await?,
            RelationChange::Retires => retiring.push(*id),
        }
    }
    store::retire(conn, user, &retiring, now).await?;
    if let Some(relation) = for_relation {
        store::link_retired(conn, user, &retiring, relation).await?;
    }
    Ok(retiring)
}

pub(super) fn overlap(one: Period, other: Period) -> bool {
    let begins_before = |a: Period, b: Period| match (a.from, b.until) {
        (Some(from), Some(until)) => from < until,
        _ => true,
    };
    begins_before(one, other) && begins_before(other, one)
}

/// Resolves conflicts of periods. The later statement replaces the earlier from its start date, or from when it was stated.
/// A statement about an earlier time ends where the existing one begins; a less trusted one is stored as retired.
fn plan(stated: &StatedRelation, met: &[ExistingRelation]) -> StoragePlan {
    let mut plan = StoragePlan::of(stated, met);
    let said_at = stated.evidence.at;
    let meets = |m: &&ExistingRelation| overlap(m.period, stated.period) && !stated.is_after(m);
    for standing in met.iter().filter(meets) {
        // "She lived in Rome until 2021" ends no current relation.
        if let (Some(until), None) = (stated.period.until, standing.period.until) {
            match standing.period.from {
                None => plan.changes.push((standing.id, RelationChange::Begins(until))),
                Some(from) if plan.period.from.is_none_or(|begins| begins < from) => {
                    plan.period.until = plan.period.until.map(|until| until.min(from));
                }
                Some(_) => plan.aside_for = Some(standing.id),
            }
            continue;
        }
        let holder =
            Holder { trust: standing.trust, is_locked: false, stated_at: standing.stated_at };
        let newcomer = Newcomer { trust: stated.trust(), said_at: Some(said_at) };
        match verdict(holder, newcomer) {
            Verdict::Supersedes => {
                let begins = plan.period.from.unwrap_or_else(|| stated.begins(met));
                let change = match standing.period.from.is_none_or(|from| from < begins)
                    && !standing.trust.is_below(stated.trust())
                {
                    true => RelationChange::Ends(begins),
                    false => RelationChange::Retires,
                };
                if matches!(change, RelationChange::Ends(_)) {
                    plan.period.from = Some(begins);
                    // It has ended by then.
                    if standing.period.until.is_some_and(|until| until <= begins) {
                        continue;
                    }
                }
                plan.changes.push((standing.id, change));
            }
            Verdict::Stays(StayReason::Older) => {
                let ends = standing.period.from.unwrap_or(standing.stated_at);
                let is_before = plan.period.from.is_none_or(|from| from < ends);
                match is_before && standing.period.from.is_some() {
                    true => plan.period.until = Some(ends),
                    false => plan.aside_for = Some(standing.id),
                }
            }
            Verdict::Stays(_) => plan.aside_for = Some(standing.id),
        }
    }
    let is_fit = plan.period.from.zip(plan.period.until).is_none_or(|(from, until)| from < until);
    if !is_fit {
        plan.period = stated.period;
        plan.aside_for = plan.aside_for.or_else(|| met.first().map(|m| m.id));
    }
    if plan.aside_for.is_some() {
        plan.changes.clear();
        plan.period = stated.period;
    }
    plan
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    const JANUARY: OffsetDateTime = datetime!(2024-01-01 0:00 UTC);
    const MARCH: OffsetDateTime = datetime!(2024-03-01 0:00 UTC);

    fn stated(trust: Trust, at: OffsetDateTime, from: Option<OffsetDateTime>) -> StatedRelation {
        StatedRelation {
            subject: EntityId(1),
            predicate: Predicate::parse("lives_in").expect("known"),
            words: None,
            object: RelationTarget::Entity(EntityId(9)),
            period: Period { from, until: None },
            confidence: 70,
            evidence: RelationEvidence {
                sentence: None,
                item: None,
                session: None,
                position: None,
                trust,
                at,
            },
        }
    }

    fn standing(trust: Trust, at: OffsetDateTime, period: Period) -> ExistingRelation {
        ExistingRelation {
            id: 5,
            object: RelationTarget::Entity(EntityId(8)),
            words: None,
            period,
            trust,
            stated_at: at,
        }
    }

    const OPEN: Period = Period { from: None, until: None };

    #[test]
    fn the_later_ends_the_earlier_on_the_day_it_begins() {
        let met = [standing(Trust::Agent, JANUARY, OPEN)];
        let plan = plan(&stated(Trust::Agent, MARCH, None), &met);
        assert_eq!(plan.changes, [(5, RelationChange::Ends(MARCH))]);
        assert_eq!(plan.period.from, Some(MARCH));
    }

    #[test]
    fn what_is_less_trusted_is_put_aside_and_what_is_more_trusted_retires_the_other() {
        let met = [standing(Trust::User, JANUARY, OPEN)];
        let aside = plan(&stated(Trust::External, MARCH, None), &met);
        assert_eq!((aside.aside_for, aside.changes), (Some(5), vec![]));
        let met = [standing(Trust::External, MARCH, OPEN)];
        let taken = plan(&stated(Trust::User, JANUARY, None), &met);
        assert_eq!(taken.changes, [(5, RelationChange::Retires)]);
    }

    #[test]
    fn what_was_said_before_ends_where_the_other_begins() {
        let since = Period { from: Some(MARCH), until: None };
        let met = [standing(Trust::Agent, MARCH, since)];
        let before = plan(&stated(Trust::Agent, JANUARY, None), &met);
        assert_eq!(before.period.until, Some(MARCH));
        assert_eq!((before.aside_for, before.changes), (None, vec![]));
    }

    #[test]
    fn what_is_over_ends_nothing_that_goes_on() {
        let met = [standing(Trust::Agent, JANUARY, OPEN)];
        let mut over = stated(Trust::Agent, MARCH, None);
        over.period.until = Some(JANUARY);
        let plan = plan(&over, &met);
        assert_eq!(plan.changes, [(5, RelationChange::Begins(JANUARY))]);
        assert_eq!(plan.period.until, Some(JANUARY));
    }

    #[test]
    fn periods_that_do_not_meet_both_hold() {
        let past = Period { from: None, until: Some(JANUARY) };
        let met = [standing(Trust::User, MARCH, past)];
        let plan = plan(&stated(Trust::External, MARCH, Some(JANUARY)), &met);
        assert_eq!((plan.aside_for, plan.changes), (None, vec![]));
    }
}
