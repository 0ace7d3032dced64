//! How an entity is connected, along time: one bar a relation on a common axis. The words of a row say the same as its bar,
//! which is decoration for whoever cannot see it.

use leptos::prelude::*;
use time::OffsetDateTime;
use time::macros::format_description;

use crate::address::{entity_path, said_in};
use crate::clock::Zone;
use crate::components::{Axis, Marked, SpanBar, StateBadge, When};
use crate::entities::{EntityId, Relation, RelationEvidence, RelationObject};
use crate::kinds::whose;
use crate::memories::ItemId;
use crate::page::asked;

/// Sources that stand open; the others are folded.
const SOURCES_OPEN: usize = 1;

#[component]
pub fn Relations(of: EntityId, relations: Vec<Relation>, zone: Zone) -> impl IntoView {
    let body = if relations.is_empty() {
        view! {
            <p class="hint">
                "None yet. Relations are found in conversations by your "
                <a href="/settings/chat">"chat model"</a> ", where one is set up."
            </p>
        }
        .into_any()
    } else {
        let axis = axis_of(&relations, asked().state.clock.now());
        let rows = relations.iter().map(|relation| row(relation, &relations, of, &axis, &zone));
        let rows = rows.collect_view();
        view! {
            <p class="hint spans-ends" aria-hidden="true">
                <span>{day_in_words(axis.from)}</span>
                <span>"today"</span>
            </p>
            <ol class="spans">{rows}</ol>
        }
        .into_any()
    };
    view! {
        <section class="part" aria-labelledby="relations-title">
            <h2 id="relations-title">"Relations"</h2>
            {body}
        </section>
    }
    .into_any()
}

fn row(relation: &Relation, all: &[Relation], of: EntityId, axis: &Axis, zone: &Zone) -> AnyView {
    let (class, badge) = match (relation.retired_at, relation.period.until) {
        (Some(_), _) => ("span span-aside", Some("contradicted")),
        (None, Some(until)) if until <= axis.to => ("span span-past", Some("past")),
        (None, _) => ("span", None),
    };
    let (before, end, after) = seen_from(relation, of);
    let end = match end.clone() {
        RelationObject::Entity { id, name, entity_type } => view! {
            <a href=entity_path(id.0) title=entity_type.as_str()>
                <bdi>
                    <Marked text=name />
                </bdi>
            </a>
        }
        .into_any(),
        RelationObject::Value(text) => view! {
            <b>
                <bdi>
                    <Marked text />
                </bdi>
            </b>
        }
        .into_any(),
    };
    let when = match relation.period.told(zone) {
        when if when.is_empty() => "no dates given".to_owned(),
        when => when,
    };
    let replacement = all.iter().find(|other| relation.retired_for == Some(other.id));
    let replaced = replacement.map(|other| {
        let (before, end, after) = seen_from(other, of);
        let words = format!("{before}{}{after}", end.as_str());
        view! {
            <p class="hint">
                "Replaced by: " <bdi>{words}</bdi>
            </p>
        }
    });
    let bar = axis.bar_of(first_known(relation), relation.period);
    let sources = relation.evidence.clone();
    view! {
        <li class=class>
            <p class="span-words" dir="auto">
                {before} {end} {after}
                {badge.map(|state| view! { <StateBadge state /> })}
            </p>
            <div class="span-time">
                <SpanBar bar />
                <span class="hint number">{when}</span>
            </div>
            <div class="span-from">{replaced} <Sources sources /></div>
        </li>
    }
    .into_any()
}

#[component]
fn Sources(sources: Vec<RelationEvidence>) -> impl IntoView {
    let mut sources = sources.into_iter();
    let open: Vec<_> =
        sources.by_ref().take(SOURCES_OPEN).map(|source| view! { <Source source /> }).collect();
    let rest: Vec<_> = sources.map(|source| view! { <Source source /> }).collect();
    let rest = (!rest.is_empty()).then(|| {
        let words = match rest.len() {
            1 => "1 more source".to_owned(),
            n => format!("{n} more sources"),
        };
        view! {
            <details>
                <summary>{words}</summary>
                {rest}
            </details>
        }
    });
    view! {
        {open}
        {rest}
    }
    .into_any()
}

#[component]
fn Source(source: RelationEvidence) -> impl IntoView {
    let sentence = source.sentence.map(|text| {
        view! {
            <blockquote class="quote" dir="auto">
                <Marked text />
            </blockquote>
        }
    });
    let memory = source.item.map(|ItemId(id)| {
        view! { <a href=format!("/memory/{id}")>"memory " {id}</a> }
    });
    let session = source.session.map(|id| {
        view! { <a href=said_in((id, source.position))>"View conversation"</a> }
    });
    view! {
        <div class="span-source">
            {sentence}
            <p class="row-from">
                <span>{whose(source.trust)}</span>
                {memory}
                {session}
                <When at=source.at />
            </p>
        </div>
    }
    .into_any()
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

fn day_in_words(at: OffsetDateTime) -> String {
    let day = format_description!("[day padding:none] [month repr:short] [year]");
    at.format(day).unwrap_or_default()
}

/// From the earliest day of all relations to today.
fn axis_of(relations: &[Relation], now: OffsetDateTime) -> Axis {
    let begins = relations.iter().map(first_known);
    Axis { from: begins.min().unwrap_or(now).min(now), to: now }
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
    use crate::entities::Predicate;
    use crate::memories::mentions::EntityType;
    use crate::memories::{Period, Trust};

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
        let axis = axis_of(&all, now);
        let bar_of = |one: &Relation| axis.bar_of(first_known(one), one.period);
        assert_eq!(day_in_words(axis.from), "1 Jan 2019");
        for one in &all {
            let bar = bar_of(one);
            assert!(bar.width >= 7 && bar.x + bar.width <= 1_000, "{bar:?}");
        }
        assert_eq!(bar_of(&all[1]).x + bar_of(&all[1]).width, 999);
        assert!(bar_of(&all[2]).is_open_start && !bar_of(&all[0]).is_open_start);
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
