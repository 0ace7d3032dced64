//! Entities, as pages show them: the list with possible duplicates, and one entity with its relations on a
//! time axis.

use crate::limits::{MENTIONED_IN_SHOWN, PAGE_SIZE, ROWS_MAX};
use crate::page::PageError;
use crate::view::{
    EntitiesPage, EntityDecision, EntityFilters, EntityLink, EntityName, EntityPage, EntityPair,
    EntityRow, EntitySettingsView, EntitySort, MentionedIn, RelationBar, RelationEnd,
    RelationSource, RelationState, RelationView,
};
use crate::words;
use time::OffsetDateTime;
use time::macros::format_description;

use crate::accounts::Viewer;
use crate::entities::{
    self, DecisionRecord, Entity, EntityError, EntityFilter, EntityId, EntityOrder,
    PossibleDuplicate, Profile, Relation, RelationEvidence, RelationObject, settings,
};
use crate::input::check_text;
use crate::memories::mentions::EntityType;
use crate::memories::mentions::normal::NAME_CHARS_MAX;
use crate::memories::{Period, manage, with_key};
use crate::page::whose;
use crate::page::{Page, database, invalid};
use crate::search::FoundItem;

const WORDS_SHOWN_CHARS: usize = 200;
/// Minimum width of a bar, in thousandths of the axis.
const BAR_MIN: f64 = 8.0;
const AXIS: f64 = 1_000.0;

impl Page {
    pub(crate) async fn entities_view(
        &self,
        viewer: &Viewer,
        filters: &EntityFilters,
    ) -> Result<EntitiesPage, PageError> {
        let (db, user) = (&self.state.db, viewer.user_id);
        check_text("q", &filters.q, NAME_CHARS_MAX).map_err(invalid)?;
        let shown = filters.shown.clamp(PAGE_SIZE, ROWS_MAX);
        let types = match filters.entity_type.and_then(EntityType::parse) {
            Some(one) => vec![one],
            None => listed_types(),
        };
        let filter = EntityFilter {
            types,
            text: Some(filters.q.clone()).filter(|q| !q.is_empty()),
            sort: match filters.sort {
                EntitySort::Mentions => EntityOrder::Mentions,
                EntitySort::Name => EntityOrder::Name,
                EntitySort::LastSeen => EntityOrder::LastSeen,
            },
            limit: shown as i64,
        };
        let page = entities::page(db, user, &filter).await.map_err(database)?;
        let settings = settings::of(db, user).await.map_err(database)?;
        let read_only = manage::is_browser_read_only(db).await.map_err(database)?;
        let type_count = |one: &EntityType| {
            let found = page.by_type.iter().find(|(found, _)| found == one);
            found.map(|(_, n)| (one.as_str(), *n))
        };
        Ok(EntitiesPage {
            has_more: page.total > shown as i64,
            total: page.total,
            types: EntityType::ALL.iter().filter_map(type_count).collect(),
            is_empty: page.by_type.is_empty(),
            rows: page.entities.into_iter().map(|e| self.entity_row(e)).collect(),
            pairs: page.pairs.into_iter().filter_map(|pair| self.entity_pair(pair)).collect(),
            pairs_total: page.pairs_total,
            settings: EntitySettingsView {
                by_rules: settings.by_rules,
                by_model: settings.by_model,
                in_search: settings.in_search,
                is_full: settings.is_full,
            },
            is_manageable: !read_only,
            public_url: self.state.public_url.as_str().to_owned(),
        })
    }

    fn entity_row(&self, entity: Entity) -> EntityRow {
        EntityRow {
            link: link_of(&entity),
            is_user: entity.is_user,
            mentions: entity.mentions,
            relations: entity.relations,
            last_seen: entity.last_seen,
        }
    }

    /// The first one is kept in a merge: the user, or the one with more mentions.
    fn entity_pair(&self, pair: PossibleDuplicate) -> Option<EntityPair> {
        let why = match pair.why.as_str() {
            "letters" => "look alike in different scripts",
            "spelling" => "similar spelling",
            "part" => "one name contains the other",
            "initials" => "initials",
            "meaning" => "similar description",
            _ => return None,
        };
        let rank = |entity: &Entity| (entity.is_user, entity.mentions);
        let (one, other) = match rank(&pair.other) > rank(&pair.one) {
            true => (pair.other, pair.one),
            false => (pair.one, pair.other),
        };
        Some(EntityPair { one: self.entity_row(one), other: self.entity_row(other), why })
    }

    pub(crate) async fn entity_view(
        &self,
        viewer: &Viewer,
        entity_id: i64,
    ) -> Result<Option<EntityPage>, PageError> {
        let (db, now) = (&self.state.db, self.state.clock.now());
        let (id, sources) = (EntityId(entity_id), MENTIONED_IN_SHOWN as i64);
        let found = entities::profile(db, viewer.user_id, id, sources, now).await;
        let profile = match found {
            Ok(profile) => profile,
            Err(EntityError::NotFound(_)) => return Ok(None),
            Err(error) => return Err(entity_error(error)),
        };
        let read_only = manage::is_browser_read_only(db).await.map_err(database)?;
        Ok(Some(self.entity_page_of(profile, !read_only)))
    }

    fn entity_page_of(&self, profile: Profile, is_manageable: bool) -> EntityPage {
        let Profile { entity, names, relations, sources, decisions } = profile;
        let axis = Axis::of(&relations, self.state.clock.now());
        let is_undoable =
            |one: &&DecisionRecord| one.undone_at.is_none() && one.event != "withdrawn";
        let latest = decisions.iter().find(is_undoable);
        let latest = latest.map(|one| one.id);
        EntityPage {
            link: link_of(&entity),
            is_user: entity.is_user,
            is_protected: entity.is_protected,
            mentions: entity.mentions,
            first_seen: entity.first_seen,
            last_seen: entity.last_seen,
            names: names
                .into_iter()
                .map(|alias| EntityName {
                    id: alias.id,
                    name: alias.name,
                    mentions: alias.mentions,
                })
                .collect(),
            relations: relations
                .iter()
                .map(|one| self.relation_view(one, &relations, entity.id, &axis))
                .collect(),
            axis_from: day_in_words(axis.from),
            memories: sources.into_iter().map(|item| self.mentioned_in(item)).collect(),
            decisions: decisions.into_iter().map(|one| self.decision_view(one, latest)).collect(),
            summary: entity.summary,
            is_manageable,
        }
    }

    fn mentioned_in(&self, item: FoundItem) -> MentionedIn {
        let told = with_key(item.key.as_deref(), &item.content);
        let cut = told.char_indices().nth(WORDS_SHOWN_CHARS);
        MentionedIn {
            id: item.id.0,
            item_type: item.item_type.as_str().to_owned(),
            words: match cut {
                Some((at, _)) => format!("{}…", told[..at].trim_end()),
                None => told.into_owned(),
            },
            created: item.created_at,
        }
    }

    fn relation_view(
        &self,
        relation: &Relation,
        all: &[Relation],
        of: EntityId,
        axis: &Axis,
    ) -> RelationView {
        let now = self.state.clock.now();
        let state = match (relation.retired_at, relation.period.until) {
            (Some(_), _) => RelationState::PutAside,
            (None, Some(until)) if until <= now => RelationState::Past,
            (None, _) => RelationState::Current,
        };
        let (before, end, after) = seen_from(relation, of);
        let holds = relation.retired_for;
        let holds = holds.and_then(|id| all.iter().find(|other| other.id == id));
        RelationView {
            before,
            end: match end {
                RelationObject::Entity { id, name, entity_type } => {
                    RelationEnd::Entity(EntityLink {
                        id: id.0,
                        name: name.clone(),
                        entity_type: entity_type.as_str(),
                    })
                }
                RelationObject::Value(value) => RelationEnd::Value(value.clone()),
            },
            after,
            when: relation.period.told(&self.zone()),
            state,
            in_its_place: holds.map(|other| {
                let (before, end, after) = seen_from(other, of);
                format!("{before}{}{after}", end.as_str())
            }),
            bar: axis.bar(relation),
            sources: relation.evidence.iter().map(|one| self.relation_source(one)).collect(),
        }
    }

    fn relation_source(&self, evidence: &RelationEvidence) -> RelationSource {
        RelationSource {
            sentence: evidence.sentence.clone(),
            whose: whose(evidence.trust),
            at: evidence.at,
            item: evidence.item.map(|id| id.0),
            session: evidence.session.map(|id| (id, evidence.position)),
        }
    }

    fn decision_view(&self, decision: DecisionRecord, latest: Option<i64>) -> EntityDecision {
        let words = match decision.event.as_str() {
            "merged" => "Merged with".to_owned(),
            "split" => "Split: some names went to".to_owned(),
            "apart" => "Kept separate from".to_owned(),
            "renamed" => match decision.detail["name"].as_str() {
                Some(old) => format!("Renamed from {old}"),
                None => "Renamed".to_owned(),
            },
            "withdrawn" => match decision.detail["names"].as_i64() {
                Some(1) | None => "Withdrew a name that today's rules do not find".to_owned(),
                Some(names) => {
                    format!("Withdrew {} names that today's rules do not find", words::count(names))
                }
            },
            "protected" => "Protected".to_owned(),
            "unprotected" => "Protection removed".to_owned(),
            other => other.to_owned(),
        };
        EntityDecision {
            id: decision.id,
            words,
            other: decision.other_id.zip(decision.other_name),
            by_person: decision.by_person,
            at: decision.at,
            undone: decision.undone_at,
            can_undo: latest == Some(decision.id),
        }
    }
}

/// All types except dates and addresses.
fn listed_types() -> Vec<EntityType> {
    let folded = [EntityType::Date, EntityType::Email, EntityType::Url];
    let mut types = EntityType::ALL.to_vec();
    types.retain(|one| !folded.contains(one));
    types
}

pub(crate) fn link_of(entity: &Entity) -> EntityLink {
    EntityLink {
        id: entity.id.0,
        name: entity.name.clone(),
        entity_type: entity.entity_type.as_str(),
    }
}

pub(crate) fn entity_error(error: EntityError) -> PageError {
    match error {
        EntityError::Database(error) => database(error),
        error => {
            PageError { is_invalid: true, sentence: crate::input::sentence(&error.to_string()) }
        }
    }
}

/// "lives in ", the other end, ""; from the object "home of ". Free words have no inverse: "", Anna, " taught
/// this".
fn seen_from(relation: &Relation, of: EntityId) -> (String, &RelationObject, String) {
    let is_subject = matches!(&relation.subject, RelationObject::Entity { id, .. } if *id == of);
    match (is_subject, relation.words.is_some()) {
        (true, _) => (format!("{} ", relation.in_words(false)), &relation.object, String::new()),
        (false, true) => {
            (String::new(), &relation.subject, format!(" {} this", relation.in_words(true)))
        }
        (false, false) => {
            (format!("{} ", relation.in_words(true)), &relation.subject, String::new())
        }
    }
}

pub(crate) fn day_in_words(at: OffsetDateTime) -> String {
    let day = format_description!("[day padding:none] [month repr:short] [year]");
    at.format(day).unwrap_or_default()
}

/// From the earliest day of all relations to today.
pub(crate) struct Axis {
    pub(crate) from: OffsetDateTime,
    pub(crate) to: OffsetDateTime,
}

impl Axis {
    fn of(relations: &[Relation], now: OffsetDateTime) -> Self {
        let begins = relations.iter().map(first_known);
        Self { from: begins.min().unwrap_or(now).min(now), to: now }
    }

    fn place(&self, at: OffsetDateTime) -> f64 {
        let length = (self.to - self.from).as_seconds_f64().max(1.0);
        ((at - self.from).as_seconds_f64() / length * AXIS).clamp(0.0, AXIS)
    }

    fn bar(&self, relation: &Relation) -> RelationBar {
        self.bar_of(first_known(relation), relation.period)
    }

    /// The bar of a validity period, drawn from `begins`.
    pub(crate) fn bar_of(&self, begins: OffsetDateTime, period: Period) -> RelationBar {
        let from = self.place(begins).min(AXIS - BAR_MIN);
        let until = self.place(period.until.unwrap_or(self.to));
        let width = (until - from).max(BAR_MIN);
        RelationBar { x: from as u32, width: width as u32, is_open_start: period.from.is_none() }
    }
}

/// When the relation became true, or was first stated; never after its end.
fn first_known(relation: &Relation) -> OffsetDateTime {
    let said = relation.period.from.unwrap_or(relation.stated_at);
    relation.period.until.map_or(said, |until| said.min(until))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use time::macros::datetime;

    use super::*;
    use crate::clock::Zone;
    use crate::entities::Predicate;
    use crate::memories::Trust;

    fn relation(from: Option<OffsetDateTime>, until: Option<OffsetDateTime>) -> Relation {
        let end = |id: i64, name: &str| RelationObject::Entity {
            id: EntityId(id),
            name: name.to_owned(),
            entity_type: EntityType::Person,
        };
        Relation {
            id: 1,
            subject: end(1, "Anna"),
            predicate: Predicate::parse("lives_in").unwrap(),
            words: None,
            object: end(2, "Lyon"),
            period: Period { from, until },
            confidence: 80,
            trust: Trust::User,
            stated_at: datetime!(2026-01-01 0:00 UTC),
            recorded_at: datetime!(2026-01-01 0:00 UTC),
            retired_at: None,
            retired_for: None,
            evidence: Vec::new(),
        }
    }

    #[test]
    fn bars_lie_on_the_axis_and_can_be_seen() {
        let now = datetime!(2026-11-01 0:00 UTC);
        let day = |text: &str| Period::parse(&Zone::utc(), Some(text), None).unwrap().from;
        let all = [
            relation(day("2020"), day("2023")),
            relation(day("2023"), None),
            relation(None, None),
            relation(None, day("2019")),
            relation(day("2027"), None),
        ];
        let axis = Axis::of(&all, now);
        assert_eq!(day_in_words(axis.from), "1 Jan 2019");
        for one in &all {
            let bar = axis.bar(one);
            assert!(bar.width >= 7 && bar.x + bar.width <= 1_000, "{bar:?}");
        }
        assert_eq!(axis.bar(&all[1]).x + axis.bar(&all[1]).width, 999);
        assert!(axis.bar(&all[2]).is_open_start && !axis.bar(&all[0]).is_open_start);
    }

    #[test]
    fn a_relation_is_read_from_either_end() {
        let mut one = relation(None, None);
        let said = |one: &Relation, of| {
            let (before, end, after) = seen_from(one, EntityId(of));
            format!("{before}{}{after}", end.as_str())
        };
        assert_eq!(said(&one, 1), "lives in Lyon");
        assert_eq!(said(&one, 2), "home of Anna");
        one.predicate = Predicate::related_to();
        one.words = Some("taught".to_owned());
        assert_eq!(said(&one, 1), "taught Lyon");
        assert_eq!(said(&one, 2), "Anna taught this");
    }
}
