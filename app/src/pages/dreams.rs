//! Dreams: each with what it read, what it wrote, and what it proposes of two memories, side by side; accepted, dismissed and
//! undone here.

mod proposals;

use axum::response::Response;
use keepsake_edge::error::Problem;
use leptos::prelude::*;
use serde::Deserialize;

use crate::components::{Done, Field, FormError, Marked, Progress, Section, When, count};
use crate::consolidation::dreaming::decide::{self, DecisionOutcome, UndoOutcome};
use crate::consolidation::dreaming::model::{Dream, ReadEpisode};
use crate::consolidation::dreaming::{self, DreamSettings};
use crate::db::actor;
use crate::documents::DocumentError;
use crate::forms::{self, Attempt, FormName, FormState, Outcome, Posted, Submission, done};
use crate::kinds::whose;
use crate::memories::ItemId;
use crate::page::{Page, PageError, database};
use crate::providers::chat::{ChatError, ChatPurpose};
use proposals::Proposals;

const PATH: &str = "/dreams";
const FORM: FormName = FormName::Dreams;

/// The newest dreams, or those before one.
#[derive(Clone)]
struct LoadedDreams {
    /// Each with what its document says.
    dreams: Vec<(Dream, Vec<Chapter>)>,
    /// The number of the last of them, where there are older ones.
    older_than: Option<i64>,
    /// Why there will be none, where no chat model may be asked.
    why_none: Option<&'static str>,
    settings: DreamSettings,
    /// Sessions that have ended since the last dream.
    waiting: i64,
    can_decide: bool,
}

/// A heading with its lines.
type Chapter = (String, Vec<String>);

pub async fn show(page: Page) -> Response {
    let before = page.asked_for("before").and_then(|id| id.parse().ok());
    let form = page.form.clone();
    let found = load(&page, before).await;
    page.render(Section::Memory, "Dreams", PATH, found, move |found| {
        view! { <DreamsPage found form=form.clone() is_first=before.is_none() /> }.into_any()
    })
    .await
}

async fn load(page: &Page, before: Option<i64>) -> Result<LoadedDreams, PageError> {
    let (db, user, now) = (&page.state.db, page.viewer.user_id, page.state.clock.now());
    let (found, has_more) = decide::list(db, user, before).await.map_err(database)?;
    let settings = dreaming::settings(db, user).await.map_err(database)?;
    let waiting = decide::count_waiting(db, user, now).await.map_err(database)?;
    let why_none = match page.state.chat.effective(user, ChatPurpose::Dreaming).await {
        Ok(Some(_)) => None,
        Err(ChatError::Database(error)) => return Err(database(error)),
        Ok(None) | Err(_) => {
            Some("No dreams: they need a chat model that is switched on for dreaming.")
        }
    };
    let older_than = found.last().map(|dream| dream.id).filter(|_| has_more);
    let mut dreams = Vec::with_capacity(found.len());
    for dream in found {
        let chapters = chapters(page, &dream).await?;
        dreams.push((dream, chapters));
    }
    let can_decide = page.is_manageable().await?;
    Ok(LoadedDreams { dreams, older_than, why_none, settings, waiting, can_decide })
}

/// What the dream's document says, less the title, which the page has.
async fn chapters(page: &Page, dream: &Dream) -> Result<Vec<Chapter>, PageError> {
    let Some((id, _)) = dream.document.as_ref().filter(|_| !dream.is_archived) else {
        return Ok(Vec::new());
    };
    let whole = match page.state.documents.read_revision(page.viewer.user_id, *id, None).await {
        Ok(whole) => whole.content,
        Err(DocumentError::Database(error)) => return Err(database(error)),
        // Deleted in the meantime.
        Err(_) => return Ok(Vec::new()),
    };
    let mut chapters: Vec<Chapter> = Vec::new();
    for line in whole.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            chapters.push((heading.to_owned(), Vec::new()));
        } else if let (Some(said), Some((_, lines))) =
            (line.strip_prefix("- "), chapters.last_mut())
        {
            lines.push(said.to_owned());
        }
    }
    Ok(chapters)
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum DreamForm {
    Save { mode: forms::Field, episodes_min: forms::Field },
    Accept(AcceptForm),
    AcceptAll { dream: forms::Field<i64> },
    Dismiss { dream: forms::Field<i64>, n: forms::Field<i16> },
    DismissAll { dream: forms::Field<i64> },
    Undo { dream: forms::Field<i64>, n: forms::Field },
}

#[derive(Deserialize)]
pub struct AcceptForm {
    dream: forms::Field<i64>,
    n: forms::Field<i16>,
    kept: forms::Field,
}

pub async fn change(Posted(posted, form): Posted<DreamForm>) -> Response {
    let name = match form {
        Ok(DreamForm::Save { .. }) => FormName::DreamSettings,
        _ => {
            actor::require_open_browser();
            FORM
        }
    };
    let outcome = apply(&posted, form).await;
    posted.respond(show, PATH, name, outcome).await
}

async fn apply(posted: &Submission, form: Result<DreamForm, Problem>) -> Attempt {
    let (db, user, now) = posted.context();
    let sentence = match form? {
        DreamForm::Save { mode, episodes_min } => {
            let settings = DreamSettings::parse(&mode, &episodes_min)?;
            dreaming::save(db, user, settings).await?;
            "Saved. It applies from the next dream on.".to_owned()
        }
        DreamForm::Accept(AcceptForm { dream, n, kept }) => {
            let kept = kept.parse().ok().map(ItemId);
            accepted(decide::accept(db, user, (*dream, Some(*n)), kept, now).await?)
        }
        DreamForm::AcceptAll { dream } => {
            accepted(decide::accept(db, user, (*dream, None), None, now).await?)
        }
        DreamForm::Dismiss { dream, n } => {
            decide::dismiss(db, user, (*dream, Some(*n)), now).await?;
            return Ok(Outcome::Redirect);
        }
        DreamForm::DismissAll { dream } => {
            decide::dismiss(db, user, (*dream, None), now).await?;
            return Ok(Outcome::Redirect);
        }
        DreamForm::Undo { dream, n } => {
            // Without a number, undoes everything that the dream applied.
            undone(&decide::undo(db, user, (*dream, n.parse().ok()), now).await?)
        }
    };
    Ok(done(FORM, sentence))
}

fn accepted(decided: DecisionOutcome) -> String {
    let applied = match decided.applied {
        0 => "Nothing was changed.".to_owned(),
        1 => "1 change was made; it can be undone.".to_owned(),
        n => format!("{n} changes were made; they can be undone."),
    };
    match decided.void {
        0 => applied,
        1 => format!("{applied} 1 no longer applies: one of its memories has changed."),
        n => format!("{applied} {n} no longer apply: their memories have changed."),
    }
}

fn undone(undone: &UndoOutcome) -> String {
    let mut told = vec![match undone.done {
        0 => "Nothing was undone.".to_owned(),
        1 => "1 change was undone.".to_owned(),
        n => format!("{n} changes were undone."),
    }];
    told.extend(
        undone
            .changed
            .iter()
            .map(|id| format!("Memory {id} has changed since, and stays unchanged.")),
    );
    told.extend(undone.stood_on.iter().map(|(id, newer)| {
        format!("Memory {id} stays archived: the newer memory {newer} has replaced it.")
    }));
    told.join(" ")
}

#[component]
fn DreamsPage(found: LoadedDreams, form: FormState, is_first: bool) -> impl IntoView {
    let LoadedDreams { dreams, older_than, why_none, settings, waiting, can_decide } = found;
    let episodes_min = settings.episodes_min.into();
    let next = is_first.then(|| view! { <NextDream why_none waiting episodes_min /> });
    let settings =
        is_first.then(|| view! { <Settings settings form=form.of(FormName::DreamSettings) /> });
    let older = older_than.map(|before| {
        view! {
            <p class="more">
                <a href=format!("{PATH}?before={before}")>"Older dreams"</a>
            </p>
        }
    });
    let dreams = dreams.into_iter();
    let dreams = dreams.map(|(dream, body)| view! { <DreamEntry dream body can_decide /> });
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
fn NextDream(why_none: Option<&'static str>, waiting: i64, episodes_min: i64) -> impl IntoView {
    if let Some(why) = why_none {
        return view! {
            <p class="hint">{why} " " <a href="/settings/chat">"Settings › Chat model"</a></p>
        }
        .into_any();
    }
    let line = match waiting {
        waiting if waiting >= episodes_min => {
            format!(
                "{} sessions are waiting: the next dream starts ten minutes after the last of them.",
                count(waiting)
            )
        }
        waiting => format!(
            "{} of {} sessions have ended since the last dream.",
            count(waiting),
            count(episodes_min)
        ),
    };
    view! {
        <Progress
            label="Sessions until the next dream".to_owned()
            done=waiting.min(episodes_min)
            failed=0
            total=episodes_min
            line
        />
    }
    .into_any()
}

#[component]
fn DreamEntry(dream: Dream, body: Vec<Chapter>, can_decide: bool) -> impl IntoView {
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
    let body = body.into_iter().map(|(heading, lines)| {
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
                {dream.trust.map(whose).map(|word| view! { <span class="hint">", " {word}</span> })}
            </p>
            <div class="dream-body">{body.collect_view()}</div>
        }
        .into_any(),
        None => view! { <p class="hint">"Nothing lasting."</p> }.into_any(),
    };
    view! {
        <article class="dream" id=title.clone() aria-labelledby=format!("{title}-title")>
            <h2 id=format!("{title}-title")>
                <When at=dream.dreamt_at />
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
fn Read(one: ReadEpisode) -> impl IntoView {
    let href = match one.session {
        Some(session) => format!("/sessions/{session}"),
        None => format!("/memory/{}", one.id),
    };
    view! {
        <li>
            <a href=href dir="auto">
                <Marked text=one.short />
            </a>
            <span class="hint">" " <When at=one.ended_at /></span>
        </li>
    }
    .into_any()
}

#[component]
fn Settings(settings: DreamSettings, form: FormState) -> impl IntoView {
    let mode = if settings.applies { "apply" } else { "propose" };
    let form = form.or_saved(vec![
        ("mode", mode.to_owned()),
        ("episodes_min", settings.episodes_min.to_string()),
    ]);
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
