//! What was learned since one looked last: each memory with the sentence that it came from, kept, forgotten or confirmed with
//! one key; and what is not worth keeping.

mod proposed;

use axum::response::Response;
use keepsake_edge::error::Problem;
use leptos::prelude::*;
use serde::Deserialize;

use crate::address::{MemoryFilters, said_in};
use crate::components::{
    Done, Field, FormError, Marked, Section, TypeBadge, When, count, memories,
};
use crate::db::actor;
use crate::forms::{
    self, Attempt, FormName, FormState, Outcome, Posted, Submission, done, memory_problem,
};
use crate::kinds::{source_in_words, whose};
use crate::memories::learned::{
    self, LearnedItem, LearnedOverview, ProposalOutcome, ReviewList, UnwantedExample,
};
use crate::memories::manage::RestoreOutcome;
use crate::memories::{self, ItemId, Reconfirmation, proposals};
use crate::page::{Page, PageError, database};
use proposed::{Proposals, Proposed};

const PATH: &str = "/learned";
const FORM: FormName = FormName::Learned;

pub async fn show(page: Page) -> Response {
    let form = page.form.clone();
    let found = load(&page).await;
    page.render(Section::Memory, "Learned", PATH, found, move |(found, proposed, can_decide)| {
        view! { <LearnedPage found proposed can_decide form=form.clone() /> }.into_any()
    })
    .await
}

/// Also whether people decide about memories here.
async fn load(page: &Page) -> Result<(LearnedOverview, Proposals, bool), PageError> {
    let (db, user) = (&page.state.db, page.viewer.user_id);
    let found = learned::overview(db, user, page.state.clock.now()).await.map_err(database)?;
    let proposed = proposals::list(db, user, None).await.map_err(database)?;
    Ok((found, proposed, page.is_manageable().await?))
}

/// `oldest` to `item` are those that a list has shown. `KeepAllImported` is about all imported ones up to `item`, shown or not;
/// `Disown` says that these are not the person's words; a proposal is one of an agent, or all that were shown.
#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum LearnedForm {
    Keep { item: forms::Field<i64> },
    KeepAll { oldest: forms::Field<i64>, item: forms::Field<i64> },
    KeepImported { oldest: forms::Field<i64>, item: forms::Field<i64> },
    KeepClaimed { oldest: forms::Field<i64>, item: forms::Field<i64> },
    KeepAllImported { item: forms::Field<i64> },
    Disown { item: forms::Field<i64> },
    Forget { item: forms::Field<i64> },
    Confirm { item: forms::Field<i64> },
    Restore { item: forms::Field<i64>, line: forms::Field<i64> },
    Wanted { line: forms::Field<i64> },
    Unwanted { text: forms::Field },
    Accept { proposal: forms::Field },
    Dismiss { proposal: forms::Field },
}

pub async fn change(Posted(posted, form): Posted<LearnedForm>) -> Response {
    actor::require_open_browser();
    let name = match form {
        Ok(LearnedForm::Unwanted { .. }) => FormName::Unwanted,
        _ => FORM,
    };
    let outcome = apply(&posted, form).await;
    posted.respond(show, PATH, name, outcome).await
}

async fn apply(posted: &Submission, form: Result<LearnedForm, Problem>) -> Attempt {
    let (db, clock, user) = (&posted.state.db, &posted.state.clock, posted.user());
    let sentence = match form? {
        LearnedForm::Keep { item } => {
            learned::keep(db, user, ItemId(*item)).await.map_err(memory_problem)?;
            return Ok(Outcome::Redirect);
        }
        LearnedForm::KeepAll { oldest, item } => {
            learned::keep_all(db, user, *oldest..=*item, clock.now()).await?;
            return Ok(Outcome::Redirect);
        }
        LearnedForm::KeepImported { oldest, item } => {
            let shown = *oldest..=*item;
            learned::keep_shown(db, user, ReviewList::Imported, shown, clock.now()).await?;
            return Ok(Outcome::Redirect);
        }
        LearnedForm::KeepClaimed { oldest, item } => {
            let shown = *oldest..=*item;
            learned::keep_shown(db, user, ReviewList::Claimed, shown, clock.now()).await?;
            return Ok(Outcome::Redirect);
        }
        LearnedForm::Disown { item } => {
            let item = ItemId(*item);
            let call = posted.begin("memory_disown");
            let disowned = memories::disown(db, clock, &call, item).await;
            call.ended_unknown();
            disowned.map_err(memory_problem)?;
            format!("Memory {item} is its agent's word now, and not yours.")
        }
        LearnedForm::KeepAllImported { item } => {
            learned::keep_all_imported(db, user, ItemId(*item), clock.now()).await?;
            return Ok(Outcome::Redirect);
        }
        LearnedForm::Forget { item } => {
            let item = ItemId(*item);
            let call = posted.begin("memory_archive");
            let forgotten = learned::forget(db, &posted.state.embeddings, clock, &call, item).await;
            call.ended_unknown();
            forgotten.map_err(memory_problem)?;
            format!(
                "Memory {item} is archived, and similar ones are no longer stored. You can restore it below."
            )
        }
        LearnedForm::Confirm { item } => {
            let item = ItemId(*item);
            let call = posted.begin("memory_confirm");
            let confirmed =
                memories::confirm(db, clock, &call, item, Reconfirmation::ChangesNothing).await;
            call.ended_unknown();
            confirmed.map_err(memory_problem)?;
            format!("Memory {item} is confirmed: agents only propose changes to it.")
        }
        LearnedForm::Restore { item, line } => {
            let item = ItemId(*item);
            let call = posted.begin("memory_restore");
            let restored = memories::restore(db, clock, &call, item, &[]).await;
            call.ended_unknown();
            if restored.map_err(memory_problem)? != RestoreOutcome::Done {
                format!(
                    "Memory {item} was not restored: another memory is active in its place. Its page asks which to keep."
                )
            } else {
                learned::remove_unwanted(db, user, *line).await?;
                format!("Memory {item} is active again.")
            }
        }
        LearnedForm::Wanted { line } => {
            learned::remove_unwanted(db, user, *line).await?;
            return Ok(Outcome::Redirect);
        }
        LearnedForm::Accept { proposal } => {
            let call = posted.begin("memory_accept");
            let accepted = learned::accept(db, clock, &call, &proposal.numbers()).await;
            call.ended_unknown();
            accepted_in_words(accepted.map_err(memory_problem)?)
        }
        LearnedForm::Dismiss { proposal } => {
            proposals::dismiss(db, user, &proposal.numbers(), clock.now()).await?;
            return Ok(Outcome::Redirect);
        }
        LearnedForm::Unwanted { text } => {
            let text = posted.screened("text", &text).await?;
            let added = learned::add_unwanted(db, user, None, &text).await;
            added.map_err(memory_problem)?;
            return Ok(Outcome::Redirect);
        }
    };
    Ok(done(FORM, sentence))
}

fn accepted_in_words(outcome: ProposalOutcome) -> String {
    let applied = match outcome.applied {
        0 => "Nothing was changed.".to_owned(),
        1 => "1 proposed change was made; the memory's page restores what was before.".to_owned(),
        n => {
            format!("{n} proposed changes were made; the memories' pages restore what was before.")
        }
    };
    match outcome.void {
        0 => applied,
        1 => format!(
            "{applied} 1 no longer applies: its memory has changed, or another one has its place."
        ),
        n => format!(
            "{applied} {n} no longer apply: their memories have changed, or others have their place."
        ),
    }
}

#[component]
fn LearnedPage(
    found: LearnedOverview,
    proposed: Proposals,
    can_decide: bool,
    form: FormState,
) -> impl IntoView {
    let shown = found.items.len() as i64;
    let line = match (found.count, found.has_more) {
        (0, _) => "Nothing new. Memories that your agents store, or that are extracted from their sessions, are listed here until you have reviewed them.".to_owned(),
        (n, true) => format!("More than {} memories to review, newest first.", count(n)),
        (1, _) => "1 memory to review.".to_owned(),
        (n, _) => format!("{} to review, newest first.", memories(n)),
    };
    let left = match (found.count - shown, found.has_more) {
        (..=0, _) => None,
        (_, true) => Some("And more.".to_owned()),
        (n, false) => Some(format!("And {} more.", count(n))),
    };
    let left = left.map(|told| view! { <p class="hint">{told}</p> });
    let all = ends(&found.items).filter(|_| can_decide && shown > 1).map(|ends| {
        let label = match left.is_some() {
            true => format!("Keep these {}", count(shown)),
            false => "Keep all".to_owned(),
        };
        keep_button("keep_all", None, ends, label)
    });
    let rows = found.items.into_iter().map(|item| view! { <Learned item can_decide /> });
    view! {
        <div class="page">
            <p class="back">
                <a href="/memory">
                    <span aria-hidden="true">"← "</span>
                    "All memories"
                </a>
            </p>
            <h1>"Learned"</h1>
            <p class="lead">{line}</p>
            <Done form=form.of(FORM) />
            <FormError form=form.of(FORM) fields=&[] />
            <Proposed proposed can_decide />
            {all}
            <ol class="learned">{rows.collect_view()}</ol>
            {left}
            <Claimed items=found.claimed can_decide />
            <Imported items=found.imported total=found.imported_count can_decide />
            <NotWorth unwanted=found.unwanted can_decide form=form.of(FormName::Unwanted) />
        </div>
    }
    .into_any()
}

/// The oldest and the newest of a list.
fn ends(items: &[LearnedItem]) -> Option<(ItemId, ItemId)> {
    Some((items.last()?.id, items.first()?.id))
}

/// Keeps what a list has shown.
fn keep_button(
    action: &'static str,
    class: Option<&'static str>,
    (oldest, newest): (ItemId, ItemId),
    label: String,
) -> AnyView {
    let body = view! {
        <input type="hidden" name="oldest" value=oldest.0 />
        <input type="hidden" name="item" value=newest.0 />
        <button type="submit" name="action" value=action>
            {label}
        </button>
    };
    match class {
        Some(class) => {
            view! { <form class=class method="post" action=PATH>{body}</form> }.into_any()
        }
        None => view! { <form method="post" action=PATH>{body}</form> }.into_any(),
    }
}

#[component]
fn Learned(
    item: LearnedItem,
    can_decide: bool,
    /// Below the decisions.
    #[prop(optional)]
    more: Option<AnyView>,
) -> impl IntoView {
    let id = item.id.0;
    let quote = item.quote.map(|quote| {
        view! {
            <blockquote class="quote" dir="auto">
                <Marked text=quote />
            </blockquote>
        }
    });
    let conversation =
        item.said_in.map(|place| view! { <a href=said_in(place)>"View conversation"</a> });
    let (slug, theme) = item.theme;
    let href = MemoryFilters::default().with_theme(Some(&slug)).href();
    let decide = can_decide.then(|| {
        let button = |action: &'static str, key: &'static str, label: &'static str| {
            view! {
                <button type="submit" name="action" value=action data-key=key>
                    {label}
                    <span class="visually-hidden">" memory " {id}</span>
                    <kbd aria-hidden="true">{key}</kbd>
                </button>
            }
        };
        view! {
            <form class="actions" method="post" action=PATH>
                <input type="hidden" name="item" value=id />
                {button("keep", "y", "Keep")}
                {button("forget", "x", "Forget")}
                {button("confirm", "c", "Confirm")}
            </form>
        }
    });
    view! {
        <li data-row="">
            <p class="badges">
                <TypeBadge item_type=item.item_type.as_str().to_owned() />
                <a class="theme" href=href>
                    <bdi>{theme}</bdi>
                </a>
            </p>
            <p class="learned-words">
                <a href=format!("/memory/{}", id) dir="auto">
                    <Marked text=item.beginning />
                </a>
            </p>
            {quote}
            <p class="hint">
                {whose(item.trust)} ", " {source_in_words(item.source, item.trust)} {item.agent.map(|agent| view! { ", by " <bdi>{agent}</bdi> })} ", "
                <When at=item.created_at /> " " {conversation}
            </p>
            {decide}
            {more}
        </li>
    }
    .into_any()
}

/// What agents said were the person's words, before that had to be proven. Nothing where there is none.
#[component]
fn Claimed(items: Vec<LearnedItem>, can_decide: bool) -> impl IntoView {
    let Some(ends) = ends(&items) else {
        return ().into_any();
    };
    let label = format!("Keep these {}", count(items.len() as i64));
    let keep = can_decide.then(|| keep_button("keep_claimed", Some("actions"), ends, label));
    let rows = items.into_iter().map(|item| {
        let id = item.id.0;
        let disown = can_decide.then(|| {
            view! {
                <form class="actions" method="post" action=PATH>
                    <input type="hidden" name="item" value=id />
                    <button type="submit" name="action" value="disown">
                        "Not my words" <span class="visually-hidden">": memory " {id}</span>
                    </button>
                </form>
            }
        });
        view! { <Learned item can_decide more=disown.into_any() /> }
    });
    view! {
        <section class="part" id="claimed" aria-labelledby="claimed-title">
            <h2 id="claimed-title">"Said to be your words"</h2>
            <p class="hint">
                "An earlier version stored these as your own words because an agent said so. Today your words have to prove it. Look at them once."
            </p>
            {keep}
            <ol class="learned">{rows.collect_view()}</ol>
        </section>
    }
    .into_any()
}

/// What imports have brought, until it is reviewed. Nothing where there is none.
#[component]
fn Imported(items: Vec<LearnedItem>, total: i64, can_decide: bool) -> impl IntoView {
    let Some(ends) = ends(&items) else {
        return ().into_any();
    };
    let shown = items.len() as i64;
    let keep = (can_decide && total > 1).then(|| {
        let all = (total > shown).then(|| {
            view! {
                <form method="post" action=PATH>
                    <input type="hidden" name="item" value=ends.1.0 />
                    <button type="submit" name="action" value="keep_all_imported">
                        {format!("Keep all {}, unseen", more_than(total))}
                    </button>
                </form>
            }
        });
        let these = format!("Keep these {}", count(shown));
        view! {
            <div class="actions">
                {keep_button("keep_imported", None, ends, these)}
                {all}
            </div>
        }
    });
    let left = (total > shown)
        .then(|| view! { <p class="hint">{format!("And {} more.", more_than(total - shown))}</p> });
    let rows = items.into_iter().map(|item| view! { <Learned item can_decide /> });
    view! {
        <section class="part" id="imported" aria-labelledby="imported-title">
            <h2 id="imported-title">"Imported"</h2>
            {keep}
            <ol class="learned">{rows.collect_view()}</ol>
            {left}
        </section>
    }
    .into_any()
}

/// Counting stops at 10,000.
fn more_than(n: i64) -> String {
    match n {
        ..9_000 => count(n),
        _ => "10,000 or more".to_owned(),
    }
}

#[component]
fn NotWorth(unwanted: Vec<UnwantedExample>, can_decide: bool, form: FormState) -> impl IntoView {
    let rows = unwanted.into_iter().map(|row| {
        let item = row.item.map(|item| item.0);
        let restore = item.map(|item| {
            view! {
                <button type="submit" name="action" value="restore">
                    "Restore"
                    <span class="visually-hidden">" memory " {item}</span>
                </button>
            }
        });
        let actions = can_decide.then(|| {
            view! {
                <form class="actions" method="post" action=PATH>
                    <input type="hidden" name="line" value=row.id />
                    <input type="hidden" name="item" value=item.unwrap_or_default() />
                    {restore}
                    <button type="submit" name="action" value="wanted">
                        "Remove from the list"
                    </button>
                </form>
            }
        });
        view! {
            <li>
                <p dir="auto">
                    <Marked text=row.text />
                </p>
                {actions}
            </li>
        }
    });
    let rows: Vec<_> = rows.collect();
    let list = match rows.is_empty() {
        true => view! { <p class="hint">"Nothing yet."</p> }.into_any(),
        false => view! { <ul class="fading">{rows}</ul> }.into_any(),
    };
    let add = can_decide.then(|| {
        view! {
            <form class="stack" method="post" action=PATH>
                <FormError form=form.clone() fields=&["text"] />
                <Field
                    form=form.clone()
                    name="text"
                    label="Such as"
                    hint="The weather · what a build printed · which file was open"
                    autocomplete="off"
                    maxlength="120"
                />
                <div>
                    <button type="submit" name="action" value="unwanted">
                        "Add"
                    </button>
                </div>
            </form>
        }
    });
    view! {
        <section class="part" id="unwanted" aria-labelledby="unwanted-title">
            <h2 id="unwanted-title">"Not worth keeping"</h2>
            <p class="hint">
                "The chat model is told to ignore what resembles these. What you forget above is added automatically; the latest 20 apply."
            </p>
            {list}
            {add}
        </section>
    }
    .into_any()
}
