//! What was learned since one looked last: each memory with the sentence that it came from, kept, forgotten or confirmed with
//! one key; and what is not worth keeping.

pub mod load;
pub mod post;

use axum::response::Response;
use leptos::prelude::*;

use crate::address::said_in;
use crate::components::{
    Done, Field, FormError, Marked, Section, TypeBadge, When, count, memories,
};
use crate::forms::{FormName, FormState};
use crate::page::Page;
use crate::view::{LearnedPage, LearnedRow, MemoryFilters, ProposedRow, UnwantedRow};

const PATH: &str = "/learned";
const FORM: FormName = FormName::Learned;

pub async fn show(page: Page) -> Response {
    let form = page.form.clone();
    let found = page.learned_view(&page.viewer).await;
    page.render(Section::Memory, "Learned", PATH, found, move |page| {
        view! { <Whole page form=form.clone() /> }.into_any()
    })
    .await
}

#[component]
fn Whole(page: LearnedPage, form: FormState) -> impl IntoView {
    let can_decide = page.is_manageable;
    let shown = page.rows.last().zip(page.rows.first()).map(|(last, first)| (last.id, first.id));
    let line = match (page.count, page.has_more) {
        (0, _) => "Nothing new. Memories that your agents store, or that are extracted from their sessions, are listed here until you have reviewed them.".to_owned(),
        (n, true) => format!("More than {} memories to review, newest first.", count(n)),
        (1, _) => "1 memory to review.".to_owned(),
        (n, _) => format!("{} to review, newest first.", memories(n)),
    };
    let left = page.count - page.rows.len() as i64;
    let left = match (left, page.has_more) {
        (..=0, _) => None,
        (_, true) => Some("And more.".to_owned()),
        (n, false) => Some(format!("And {} more.", count(n))),
    };
    let left = left.map(|told| view! { <p class="hint">{told}</p> });
    let all = shown.filter(|_| can_decide && page.rows.len() > 1).map(|(oldest, newest)| {
        let keep = match left.is_some() {
            true => format!("Keep these {}", count(page.rows.len() as i64)),
            false => "Keep all".to_owned(),
        };
        view! {
            <form method="post" action=PATH>
                <input type="hidden" name="oldest" value=oldest />
                <input type="hidden" name="item" value=newest />
                <button type="submit" name="action" value="keep_all">
                    {keep}
                </button>
            </form>
        }
    });
    let rows = page.rows.into_iter().map(|row| view! { <One row can_decide /> });
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
            <Proposed rows=page.proposed has_more=page.has_more_proposed can_decide />
            {all}
            <ol class="learned">{rows.collect_view()}</ol>
            {left}
            <Claimed rows=page.claimed can_decide />
            <Imported rows=page.imported total=page.imported_count can_decide />
            <NotWorth unwanted=page.unwanted can_decide form=form.of(FormName::Unwanted) />
        </div>
    }
    .into_any()
}

#[component]
fn One(
    row: LearnedRow,
    can_decide: bool,
    /// Below the decisions.
    #[prop(optional)]
    more: Option<AnyView>,
) -> impl IntoView {
    let quote = row.quote.map(|quote| {
        view! {
            <blockquote class="quote" dir="auto">
                <Marked text=quote />
            </blockquote>
        }
    });
    let conversation =
        row.said_in.map(|place| view! { <a href=said_in(place)>"View conversation"</a> });
    let (slug, theme) = row.theme;
    let href = MemoryFilters::default().with_theme(Some(&slug)).href();
    let decide = can_decide.then(|| {
        let button = |action: &'static str, key: &'static str, label: &'static str| {
            view! {
                <button type="submit" name="action" value=action data-key=key>
                    {label}
                    <span class="visually-hidden">" memory " {row.id}</span>
                    <kbd aria-hidden="true">{key}</kbd>
                </button>
            }
        };
        view! {
            <form class="actions" method="post" action=PATH>
                <input type="hidden" name="item" value=row.id />
                {button("keep", "y", "Keep")}
                {button("forget", "x", "Forget")}
                {button("confirm", "c", "Confirm")}
            </form>
        }
    });
    view! {
        <li data-row="">
            <p class="badges">
                <TypeBadge item_type=row.item_type />
                <a class="theme" href=href>
                    <bdi>{theme}</bdi>
                </a>
            </p>
            <p class="learned-words">
                <a href=format!("/memory/{}", row.id) dir="auto">
                    <Marked text=row.beginning />
                </a>
            </p>
            {quote}
            <p class="hint">
                {row.word} ", " {row.source} {row.agent.map(|agent| view! { ", by " <bdi>{agent}</bdi> })} ", "
                <When at=row.created /> " " {conversation}
            </p>
            {decide}
            {more}
        </li>
    }
    .into_any()
}

/// What agents said were the person's words, before that had to be proven. Nothing where there is none.
#[component]
fn Claimed(rows: Vec<LearnedRow>, can_decide: bool) -> impl IntoView {
    let Some((oldest, newest)) =
        rows.last().zip(rows.first()).map(|(last, first)| (last.id, first.id))
    else {
        return ().into_any();
    };
    let shown = count(rows.len() as i64);
    let keep = can_decide.then(|| {
        view! {
            <form class="actions" method="post" action=PATH>
                <input type="hidden" name="oldest" value=oldest />
                <input type="hidden" name="item" value=newest />
                <button type="submit" name="action" value="keep_claimed">
                    {format!("Keep these {shown}")}
                </button>
            </form>
        }
    });
    let rows = rows
        .into_iter()
        .map(|row| {
            let id = row.id;
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
            view! { <One row can_decide more=disown.into_any() /> }
        })
        .collect_view();
    view! {
        <section class="part" id="claimed" aria-labelledby="claimed-title">
            <h2 id="claimed-title">"Said to be your words"</h2>
            <p class="hint">
                "An earlier version stored these as your own words because an agent said so. Today your words have to prove it. Look at them once."
            </p>
            {keep}
            <ol class="learned">{rows}</ol>
        </section>
    }
    .into_any()
}

/// What imports have brought, until it is reviewed. Nothing where there is none.
#[component]
fn Imported(rows: Vec<LearnedRow>, total: i64, can_decide: bool) -> impl IntoView {
    let Some((oldest, newest)) =
        rows.last().zip(rows.first()).map(|(last, first)| (last.id, first.id))
    else {
        return ().into_any();
    };
    let shown = rows.len() as i64;
    let keep = (can_decide && total > 1).then(|| {
        let all = (total > shown).then(|| {
            view! {
                <form method="post" action=PATH>
                    <input type="hidden" name="item" value=newest />
                    <button type="submit" name="action" value="keep_all_imported">
                        {format!("Keep all {}, unseen", more_than(total))}
                    </button>
                </form>
            }
        });
        view! {
            <div class="actions">
                <form method="post" action=PATH>
                    <input type="hidden" name="oldest" value=oldest />
                    <input type="hidden" name="item" value=newest />
                    <button type="submit" name="action" value="keep_imported">
                        {format!("Keep these {}", count(shown))}
                    </button>
                </form>
                {all}
            </div>
        }
    });
    let left = (total > shown)
        .then(|| view! { <p class="hint">{format!("And {} more.", more_than(total - shown))}</p> });
    let rows = rows.into_iter().map(|row| view! { <One row can_decide /> }).collect_view();
    view! {
        <section class="part" id="imported" aria-labelledby="imported-title">
            <h2 id="imported-title">"Imported"</h2>
            {keep}
            <ol class="learned">{rows}</ol>
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

/// What agents may not change themselves. Nothing where nothing is proposed.
#[component]
fn Proposed(rows: Vec<ProposedRow>, has_more: bool, can_decide: bool) -> impl IntoView {
    if rows.is_empty() {
        return ().into_any();
    }
    let all: Vec<String> = rows.iter().map(|row| row.id.to_string()).collect();
    let decide_all = (can_decide && rows.len() > 1).then(|| {
        let shown = count(rows.len() as i64);
        view! {
            <form class="actions" method="post" action=PATH>
                <input type="hidden" name="proposal" value=all.join(" ") />
                <button type="submit" name="action" value="accept">
                    {format!("Accept these {shown}")}
                </button>
                <button type="submit" name="action" value="dismiss">
                    {format!("Dismiss these {shown}")}
                </button>
            </form>
        }
    });
    let rows = rows.into_iter().map(|row| view! { <OneProposed row can_decide /> }).collect_view();
    view! {
        <section class="part" id="proposed" aria-labelledby="proposed-title">
            <h2 id="proposed-title">"Proposed by agents"</h2>
            <ol class="learned">{rows}</ol>
            {has_more.then(|| view! { <p class="hint">"And more."</p> })}
            {decide_all}
        </section>
        <h2>"To review"</h2>
    }
    .into_any()
}

#[component]
fn OneProposed(row: ProposedRow, can_decide: bool) -> impl IntoView {
    let id = row.id;
    let side = |term: &'static str, item: i64, text: String| {
        view! {
            <div class="proposal-side">
                <p class="proposal-term">{term}</p>
                <p class="proposal-words">
                    <a href=format!("/memory/{item}") dir="auto">
                        <Marked text />
                    </a>
                </p>
            </div>
        }
    };
    let (what, term) = match row.instead {
        Some(_) => ("Replace", "Before"),
        None => ("Archive", "Memory"),
    };
    let decide = can_decide.then(|| {
        view! {
            <form class="actions" method="post" action=PATH>
                <input type="hidden" name="proposal" value=id />
                <button type="submit" name="action" value="accept">
                    "Accept"
                    <span class="visually-hidden">" proposal " {id}</span>
                </button>
                <button type="submit" name="action" value="dismiss">
                    "Dismiss"
                    <span class="visually-hidden">" proposal " {id}</span>
                </button>
            </form>
        }
    });
    view! {
        <li>
            <div class="proposal">
                {side(term, row.item, row.beginning)}
                {row.instead.map(|(item, text)| side("After", item, text))}
            </div>
            <p class="hint">
                {what} ", proposed by " <bdi>{row.agent}</bdi> " " <When at=row.proposed /> ": " {row.why}
            </p>
            {decide}
        </li>
    }
    .into_any()
}

#[component]
fn NotWorth(unwanted: Vec<UnwantedRow>, can_decide: bool, form: FormState) -> impl IntoView {
    let rows = unwanted.into_iter().map(|row| {
        let action = match row.item {
            Some(item) => view! {
                <button type="submit" name="action" value="restore">
                    "Restore"
                    <span class="visually-hidden">" memory " {item}</span>
                </button>
            }
            .into_any(),
            None => ().into_any(),
        };
        let actions = can_decide.then(|| {
            view! {
                <form class="actions" method="post" action=PATH>
                    <input type="hidden" name="line" value=row.id />
                    <input type="hidden" name="item" value=row.item.unwrap_or_default() />
                    {action}
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
