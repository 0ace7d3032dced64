//! Deletes everything about something: it is found first, wherever it stands, then its person chooses.

pub mod load;
pub mod post;

use axum::response::Response;
use leptos::prelude::*;

use crate::components::{Done, FormError, Pick, Section, When, count};
use crate::forms::{FormName, FormState};
use crate::page::Page;
use crate::view::{AboutPage, FoundAbout, FoundKind, FoundRow};

const PATH: &str = "/data/about";

pub async fn show(page: Page) -> Response {
    let asked = page.asked_for_all();
    let form = page.form.clone();
    let found = page.about_view(&page.viewer, &asked).await;
    page.render(Section::Data, "Delete everything about…", PATH, found, move |page| {
        view! { <Whole page form=form.clone() /> }.into_any()
    })
    .await
}

#[component]
fn Whole(page: AboutPage, form: FormState) -> impl IntoView {
    let form = match page.problem.clone() {
        Some((field, error)) => FormState {
            form: Some(FormName::About),
            field: Some(field),
            error: Some(error),
            ..FormState::default()
        },
        None => form,
    };
    let found = page.found.clone().map(|found| view! { <Found found /> });
    view! {
        <div class="column page">
            <h1>"Delete everything about…"</h1>
            <p class="lead">
                "Look for a name, or for words. You see where it stands (memories, conversations, documents), and choose what is deleted."
            </p>
            <Done form=form.clone() />
            <FormError form=form.clone() fields=&[] />
            <Ask words=page.words subjects=page.subjects />
            {found}
        </div>
    }
    .into_any()
}

#[component]
pub fn Ask(words: String, subjects: Vec<(&'static str, i64, String, bool)>) -> impl IntoView {
    let pick = |kind: &'static str, label: &'static str, any: &'static str| {
        let of_kind = subjects.iter().filter(|(of, ..)| *of == kind);
        let choices: Vec<_> =
            of_kind.map(|(_, id, name, chosen)| (id.to_string(), name.clone(), *chosen)).collect();
        (!choices.is_empty()).then(|| view! { <Pick name=kind label any choices /> })
    };
    view! {
        <form class="stack" method="get" action=PATH role="search">
            <div class="field">
                <label for="about-words">"Words that the texts have"</label>
                <input
                    id="about-words"
                    type="search"
                    name="words"
                    value=words
                    maxlength="200"
                    dir="auto"
                    autocomplete="off"
                />
            </div>
            <div class="actions">
                {pick("theme", "Theme", "or a theme")} {pick("agent", "Agent", "or an agent")}
                {pick("project", "Project", "or a project")} <button type="submit">"Look"</button>
            </div>
        </form>
    }
    .into_any()
}

#[component]
fn Found(found: FoundAbout) -> impl IntoView {
    let (field, value) = found.asked;
    if found.kinds.is_empty() {
        return view! {
            <section class="part" aria-labelledby="found-title">
                <h2 id="found-title">"Nothing found"</h2>
                <p>"Nothing of " <q dir="auto">{found.name}</q> " stands in your memory."</p>
            </section>
        }
        .into_any();
    }
    let has_messages = found.kinds.iter().any(|kind| kind.slug == "messages");
    let total: usize = found.kinds.iter().map(|kind| kind.total).sum();
    let kinds = found.kinds.into_iter().map(|kind| view! { <Kind kind /> }).collect_view();
    let names = (found.names > 0).then(|| {
        view! {
            <p class="hint">
                "Names of themes, agents and projects stay (" {count(found.names)} "): other memories may belong to them."
            </p>
        }
    });
    view! {
        <section class="part" aria-labelledby="found-title">
            <h2 id="found-title">{count(total as i64)} " places"</h2>
            <p>"About " <q dir="auto">{found.name}</q> ":"</p>
            <form class="stack" method="post" action=PATH>
                <input type="hidden" name=field value=value />
                {kinds}
                {names}
                {has_messages
                    .then(|| {
                        view! {
                            <p class="hint">
                                "The newest " {count(found.messages_searched)} " messages were looked through."
                            </p>
                        }
                    })}
                <p>
                    "What you chose is deleted permanently after ten seconds, and a receipt says how much it was. Until then you can undo it."
                </p>
                <div>
                    <button class="danger" type="submit" name="action" value="delete">
                        "Delete what is chosen"
                    </button>
                </div>
            </form>
        </section>
    }
    .into_any()
}

/// Where all rows are listed each is chosen by itself, else all together.
#[component]
fn Kind(kind: FoundKind) -> impl IntoView {
    let is_each = kind.rows.len() == kind.total;
    let is_chosen = kind.is_chosen;
    let all = (!is_each).then(|| {
        let value = format!("{}:{}", kind.slug, kind.total);
        let more =
            if kind.has_more { " There are more: they are found when these are gone." } else { "" };
        view! {
            <p>
                <label class="check">
                    <input type="checkbox" name="whole" value=value checked=is_chosen />
                    "All " {count(kind.total as i64)} "; the newest are listed." {more}
                </label>
            </p>
        }
    });
    let rows = kind
        .rows
        .into_iter()
        .map(|row| {
            let value = is_each.then(|| row.value.clone());
            view! { <Row row value is_chosen /> }
        })
        .collect_view();
    view! {
        <details class="found" open=true>
            <summary>{kind.label} " (" {count(kind.total as i64)} ")"</summary>
            <p class="hint">{kind.hint}</p>
            {all}
            <ul class="found-rows">{rows}</ul>
        </details>
    }
    .into_any()
}

#[component]
fn Row(row: FoundRow, value: Option<String>, is_chosen: bool) -> impl IntoView {
    let text = view! { <bdi dir="auto">{row.text}</bdi> };
    let said = match value {
        Some(value) => view! {
            <label class="check">
                <input type="checkbox" name="part" value=value checked=is_chosen />
                {text}
            </label>
        }
        .into_any(),
        None => view! { <p>{text}</p> }.into_any(),
    };
    let link = row.href.map(|href| view! { <a href=href>"Look at it"</a> });
    view! {
        <li>
            {said} <p class="hint">
                <When at=row.at /> " " {link}
            </p>
        </li>
    }
    .into_any()
}
