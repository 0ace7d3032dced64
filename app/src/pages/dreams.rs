//! Dreams: each with what it read, what it wrote, and what it proposes of two memories, side by side; accepted, dismissed and
//! undone here.

pub mod load;
pub mod post;

use axum::response::Response;
use leptos::prelude::*;

use crate::components::{
    Done, Field, FormError, Marked, Progress, Section, StateBadge, When, count,
};
use crate::forms::{FormName, FormState};
use crate::page::Page;
use crate::view::{
    DreamView, DreamsPage, DreamtOf, ProposalKind, ProposalSide, ProposalState, ProposalView,
};

const PATH: &str = "/dreams";
const FORM: FormName = FormName::Dreams;
const SETTINGS_FORM: FormName = FormName::DreamSettings;

pub async fn show(page: Page) -> Response {
    let before = page.asked_for("before").and_then(|id| id.parse().ok());
    let form = page.form.clone();
    let found = page.dreams_view(&page.viewer, before).await;
    page.render(Section::Memory, "Dreams", PATH, found, move |page| {
        view! { <Whole page form=form.clone() is_first=before.is_none() /> }.into_any()
    })
    .await
}

#[component]
fn Whole(page: DreamsPage, form: FormState, is_first: bool) -> impl IntoView {
    let can_decide = page.is_manageable;
    let next = is_first.then(|| view! { <Next page=page.clone() /> });
    let settings =
        is_first.then(|| view! { <Settings page=page.clone() form=form.of(SETTINGS_FORM) /> });
    let older = page.older_than.map(|before| {
        view! {
            <p class="more">
                <a href=format!("{PATH}?before={before}")>"Older dreams"</a>
            </p>
        }
    });
    let dreams = page.dreams.into_iter().map(|dream| view! { <One dream can_decide /> });
    view! {
        <div class="page">
            <p class="back">
                <a href="/memory">
                    <span aria-hidden="true">"← "</span>
                    "All memories"
                </a>
            </p>
            <h1>"Dreams"</h1>
            <p class="lead">
                "After several sessions, the chat model reads their episodes together. It writes down what lasts, and proposes which memories are duplicates and which are outdated."
            </p>
            <Done form=form.of(FORM) />
            <FormError form=form.of(FORM) fields=&[] />
            {next}
            <div class="dreams">{dreams.collect_view()}</div>
            {older}
            {settings}
        </div>
    }
    .into_any()
}

/// When the next one comes, or why none does.
#[component]
fn Next(page: DreamsPage) -> impl IntoView {
    if let Some(why) = page.why_none {
        return view! {
            <p class="hint">{why} " " <a href="/settings/chat">"Settings › Chat model"</a></p>
        }
        .into_any();
    }
    let line = match page.waiting {
        waiting if waiting >= page.episodes_min => {
            format!(
                "{} sessions are waiting: the next dream starts ten minutes after the last of them.",
                count(waiting)
            )
        }
        waiting => format!(
            "{} of {} sessions have ended since the last dream.",
            count(waiting),
            count(page.episodes_min)
        ),
    };
    view! {
        <Progress
            label="Sessions until the next dream".to_owned()
            done=page.waiting.min(page.episodes_min)
            failed=0
            total=page.episodes_min
            line
        />
    }
    .into_any()
}

#[component]
fn One(dream: DreamView, can_decide: bool) -> impl IntoView {
    let id = dream.id;
    let title = format!("dream-{id}");
    let gone = dream.episodes - dream.read.len() as i64;
    let gone = (gone > 0 && dream.document.is_some()).then(|| {
        let told = match gone {
            1 => "1 has expired.".to_owned(),
            n => format!("{} have expired.", count(n)),
        };
        view! { <p class="hint">{told}</p> }
    });
    let sessions = match dream.episodes {
        1 => "1 session".to_owned(),
        n => format!("{} sessions", count(n)),
    };
    let read = dream.read.into_iter().map(|one| view! { <Read one /> });
    let body = dream.body.into_iter().map(|(heading, lines)| {
        let lines = lines.into_iter().map(|line| {
            view! {
                <li dir="auto">
                    <Marked text=line />
                </li>
            }
        });
        view! {
            <h4>{heading}</h4>
            <ul>{lines.collect_view()}</ul>
        }
    });
    let wrote = match dream.document {
        Some((document, path)) => view! {
            <p>
                <a href=format!("/documents/{document}") class="path">
                    <bdi>{path}</bdi>
                </a>
                {dream.word.map(|word| view! { <span class="hint">", " {word}</span> })}
            </p>
            <div class="dream-body">{body.collect_view()}</div>
        }
        .into_any(),
        None => view! { <p class="hint">"Nothing lasting."</p> }.into_any(),
    };
    view! {
        <article class="dream" id=title.clone() aria-labelledby=format!("{title}-title")>
            <h2 id=format!("{title}-title")>
                <When at=dream.at />
                {dream.owner.map(|owner| view! { ", of what " <bdi>{owner}</bdi> " keeps for itself" })}
            </h2>
            <details>
                <summary>"Read: " {sessions}</summary>
                <ul class="dream-read">{read.collect_view()}</ul>
                {gone}
            </details>
            <h3>"Result"</h3>
            {wrote}
            <Proposals id proposals=dream.proposals can_decide />
        </article>
    }
    .into_any()
}

#[component]
fn Read(one: DreamtOf) -> impl IntoView {
    let href = match one.session {
        Some(session) => format!("/sessions/{session}"),
        None => format!("/memory/{}", one.id),
    };
    view! {
        <li>
            <a href=href dir="auto">
                <Marked text=one.short />
            </a>
            <span class="hint">" " <When at=one.at /></span>
        </li>
    }
    .into_any()
}

#[component]
fn Proposals(id: i64, proposals: Vec<ProposalView>, can_decide: bool) -> impl IntoView {
    if proposals.is_empty() {
        return ().into_any();
    }
    let open = proposals.iter().filter(|one| one.state == ProposalState::Open);
    let (asks, others): (Vec<_>, Vec<_>) =
        open.partition(|one| one.kind == ProposalKind::Contradiction);
    let (acceptable, open) = (others.len(), asks.len() + others.len());
    let is_applied =
        |one: &&ProposalView| matches!(one.state, ProposalState::Accepted | ProposalState::Applied);
    let applied = proposals.iter().filter(is_applied).count();
    let button = |action: &'static str, label: String| {
        view! {
            <button type="submit" name="action" value=action>
                {label}
            </button>
        }
    };
    let all = (can_decide && (open > 1 || applied > 0)).then(|| {
        view! {
            <form class="actions" method="post" action=PATH>
                <input type="hidden" name="dream" value=id />
                {(acceptable > 1).then(|| button("accept_all", format!("Accept {acceptable}")))}
                {(open > 1).then(|| button("dismiss_all", "Dismiss all".to_owned()))}
                {(applied > 0)
                    .then(|| {
                        let label = match applied {
                            1 => "Undo its change".to_owned(),
                            n => format!("Undo all {n} changes"),
                        };
                        button("undo", label)
                    })}
            </form>
        }
    });
    let rows = proposals.into_iter().map(|one| view! { <Proposal id one can_decide /> });
    view! {
        <h3>"Proposes"</h3>
        <ol class="proposals">{rows.collect_view()}</ol>
        {all}
    }
    .into_any()
}

#[component]
fn Proposal(id: i64, one: ProposalView, can_decide: bool) -> impl IntoView {
    let is_open = one.state == ProposalState::Open;
    let what = match one.kind {
        ProposalKind::Merge => "Both say the same: the first would be archived.",
        ProposalKind::Supersede => "The second replaces the first.",
        ProposalKind::Contradiction if is_open => "They contradict each other. Which one is true?",
        ProposalKind::Contradiction => "They contradict each other.",
    };
    let state = match one.state {
        ProposalState::Open => None,
        ProposalState::Accepted => Some("accepted"),
        ProposalState::Applied => Some("applied"),
        ProposalState::Dismissed => Some("dismissed"),
        ProposalState::Undone => Some("undone"),
        ProposalState::Void => Some("no longer applies"),
    };
    let state = state.map(|state| view! { <StateBadge state /> }.into_any());
    let is_applied = matches!(one.state, ProposalState::Accepted | ProposalState::Applied);
    let asks = is_open && one.kind == ProposalKind::Contradiction;
    let (before, after) = match one.kind {
        ProposalKind::Contradiction => ("One", "Other"),
        _ => ("Before", "After"),
    };
    let n = one.n;
    let kept = one.kept.id;
    let decide = can_decide.then(|| {
        view! {
            <form class="actions" method="post" action=PATH>
                <input type="hidden" name="dream" value=id />
                <input type="hidden" name="n" value=n />
                {(is_open && !asks)
                    .then(|| {
                        view! {
                            <input type="hidden" name="kept" value=kept />
                            <button type="submit" name="action" value="accept">
                                "Accept"
                            </button>
                        }
                    })}
                {is_open
                    .then(|| {
                        view! {
                            <button type="submit" name="action" value="dismiss">
                                "Dismiss"
                            </button>
                        }
                    })}
                {is_applied
                    .then(|| {
                        view! {
                            <button type="submit" name="action" value="undo">
                                "Undo"
                            </button>
                        }
                    })}
            </form>
        }
        .into_any()
    });
    let choose = move |side: i64| {
        (asks && can_decide).then(|| {
            view! {
                <form method="post" action=PATH>
                    <input type="hidden" name="dream" value=id />
                    <input type="hidden" name="n" value=n />
                    <input type="hidden" name="kept" value=side />
                    <button type="submit" name="action" value="accept">
                        "This is true"
                        <span class="visually-hidden">": memory " {side}</span>
                    </button>
                </form>
            }
            .into_any()
        })
    };
    view! {
        <li>
            <p class="proposal-what">
                {what} " " {state}
            </p>
            <div class="proposal">
                <div class="proposal-side" class:proposal-gone=!asks>
                    <Side term=before side=one.gone.clone() />
                    {choose(one.gone.id)}
                </div>
                <div class="proposal-side">
                    <Side term=after side=one.kept.clone() />
                    {choose(one.kept.id)}
                </div>
            </div>
            <p class="hint">
                "Why: " <bdi>{one.why}</bdi>
            </p>
            {decide}
        </li>
    }
    .into_any()
}

#[component]
fn Side(term: &'static str, side: ProposalSide) -> impl IntoView {
    view! {
        <p class="proposal-term">{term}</p>
        <p class="proposal-words">
            <a href=format!("/memory/{}", side.id) dir="auto">
                <Marked text=side.beginning />
            </a>
        </p>
        <p class="hint">
            {side.word} {side.is_confirmed.then_some(", confirmed")} ", " <When at=side.said />
        </p>
    }
    .into_any()
}

#[component]
fn Settings(page: DreamsPage, form: FormState) -> impl IntoView {
    let mode = if page.applies { "apply" } else { "propose" };
    let form = form
        .or_saved(vec![("mode", mode.to_owned()), ("episodes_min", page.episodes_min.to_string())]);
    let chosen = form.value("mode");
    let choice = |value: &'static str, label: &'static str, hint: &'static str| {
        view! {
            <label class="check">
                <input type="radio" name="mode" value=value checked=chosen == value />
                <span>{label} " " <span class="hint">{hint}</span></span>
            </label>
        }
    };
    view! {
        <section class="part" aria-labelledby="dream-settings-title">
            <h2 id="dream-settings-title">"How dreams work"</h2>
            <form class="stack" method="post" action=PATH>
                <FormError form=form.clone() fields=&["mode", "episodes_min"] />
                <fieldset>
                    <legend>"Proposals"</legend>
                    {choice("propose", "Wait for me", "You accept or dismiss each one.")}
                    {choice(
                        "apply",
                        "Apply at once",
                        "You can undo each at any time. Memories that you stated or confirmed still wait for you.",
                    )}
                </fieldset>
                <Field
                    form
                    name="episodes_min"
                    label="Sessions per dream"
                    hint="A dream starts after this many sessions, 2 to 10. It reads at most ten."
                    inputmode="numeric"
                    autocomplete="off"
                    maxlength="2"
                />
                <div>
                    <button type="submit" name="action" value="save">
                        "Save"
                    </button>
                </div>
            </form>
            <p class="hint">
                "To switch dreams off or limit their tokens, open "
                <a href="/settings/chat">"Settings › Chat model"</a> "."
            </p>
        </section>
    }
    .into_any()
}
