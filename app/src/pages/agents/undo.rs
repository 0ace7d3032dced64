//! All that an agent has changed since a moment, undone in one act: first counted, then done, then taken back.

use std::collections::BTreeMap;

use axum::response::Response;
use keepsake_edge::error::Problem;
use leptos::prelude::*;
use serde::Deserialize;
use time::format_description::well_known::Rfc3339;

use super::{PATH, show};
use crate::accounts::{AccountError, AgentId};
use crate::components::{Done, FormError, When};
use crate::containment::{self, AgentUndo, MadeUndo};
use crate::db::actor;
use crate::forms::{Attempt, Field, FormName, FormState, Outcome, Posted, Submission, page};
use crate::input::Invalid;
use crate::memories::Period;
use crate::services::Services;
use crate::tools::ToolError;

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum UndoForm {
    /// Counts what would be undone.
    Look {
        since: Field,
    },
    Undo {
        since: Field,
    },
    TakeBack,
}

/// Undoes what an agent has changed since a moment. An admin can make it read-only, like all decisions about memories.
pub async fn undo(Posted(mut posted, form): Posted<UndoForm>) -> Response {
    actor::require_open_browser();
    posted.show_id("agent");
    let attempt = undo_or_look(&posted, form).await;
    posted.respond(show, PATH, FormName::AgentUndo, attempt).await
}

async fn undo_or_look(posted: &Submission, form: Result<UndoForm, Problem>) -> Attempt {
    let (state, user) = (&posted.state, posted.user());
    let agent = AgentId(posted.id()?);
    if !state.accounts.agent_names(user).await?.iter().any(|(id, _)| *id == agent) {
        return Err(AccountError::NotFound.into());
    }
    let Services { db, documents, clock, .. } = &state.for_jobs();
    let since = |text: &str| {
        let zone = &posted.signed_in.0.time_zone;
        let since = Period::parse_as(["since", "since"], zone, Some(text), None)?.from;
        since.ok_or_else(|| {
            Invalid::new("since", "required", "`since` is missing; give a date and a time.")
        })
    };
    let mut values = BTreeMap::from([("agent".to_owned(), agent.0.to_string())]);
    let sentence = match form? {
        UndoForm::Look { since: text } => {
            let since = since(&text)?;
            let found = containment::preview(db, documents, (user, agent), since, clock.now());
            let found = sentence_of(&found.await.map_err(ToolError::from)?, false);
            let exact = since.format(&Rfc3339).unwrap_or_default();
            values.extend([("since".to_owned(), (*text).clone()), ("exact".to_owned(), exact)]);
            format!("Undo would {found}")
        }
        UndoForm::Undo { since: text } => {
            let call = posted.begin("memory_undo_agent");
            let undone =
                containment::undo(db, documents, clock, &call, (agent, since(&text)?)).await;
            call.ended_unknown();
            format!("Undone: {}", sentence_of(&undone.map_err(ToolError::from)?, true))
        }
        UndoForm::TakeBack => {
            let call = posted.begin("memory_undo_agent");
            let taken = containment::redo(db, documents, clock, &call, agent).await;
            call.ended_unknown();
            match taken.map_err(ToolError::from)? {
                Some(taken) => format!("Taken back: {}", sentence_of(&taken, true)),
                None => "There is nothing to take back.".to_owned(),
            }
        }
    };
    Ok(Outcome::from(FormState { done: Some(sentence), values, ..page(FormName::AgentUndo) }))
}

/// "archive 3 memories, restore 1 document." or, done, "archived 3 memories …".
fn sentence_of(undo: &AgentUndo, is_done: bool) -> String {
    let count = |n: usize, one: &str, many: &str| match n {
        0 => None,
        1 => Some(format!("1 {one}")),
        n => Some(format!("{n} {many}")),
    };
    let mut told = Vec::new();
    let mut stay = 0;
    for (one, many, taken) in
        [("memory", "memories", undo.memories), ("document", "documents", undo.documents)]
    {
        for ((now, past), n) in [
            (("archive", "archived"), taken.archived),
            (("restore", "restored"), taken.restored),
            (("set back", "set back"), taken.set_back),
        ] {
            let verb = if is_done { past } else { now };
            told.extend(count(n, one, many).map(|n| format!("{verb} {n}")));
        }
        stay += taken.stay;
    }
    let told = match told.is_empty() {
        true => (if is_done { "nothing" } else { "change nothing" }).to_owned(),
        false => told.join(", "),
    };
    match stay {
        0 => format!("{told}."),
        1 => format!(
            "{told}. 1 stays as it is: changed since by somebody else, or what it was is not known."
        ),
        n => format!(
            "{told}. {n} stay as they are: changed since by somebody else, or what they were is not known."
        ),
    }
}

#[component]
pub fn Undo(
    id: i64,
    name: String,
    undone: Option<MadeUndo>,
    form: FormState,
    since: String,
) -> impl IntoView {
    let is_open = form.error.is_some() || form.done.is_some();
    let path = format!("/agents/{id}/undo");
    let exact = form.value("exact");
    let decide = (!exact.is_empty()).then(|| {
        view! {
            <form class="actions" method="post" action=path.clone()>
                <input type="hidden" name="since" value=exact />
                <button class="danger" type="submit" name="action" value="undo">
                    "Undo all of this"
                </button>
            </form>
        }
    });
    let back = undone.map(|undone| {
        view! {
            <form class="actions" method="post" action=path.clone()>
                <p class="hint">
                    "Undone " <When at=undone.made_at /> ", from " <When at=undone.since /> " on."
                </p>
                <button type="submit" name="action" value="take_back">
                    "Take back" <span class="visually-hidden">" the undo of " {name.clone()}</span>
                </button>
            </form>
        }
    });
    let since = match form.value("since") {
        typed if typed.is_empty() => since,
        typed => typed,
    };
    let field = format!("agent-{id}-since");
    view! {
        <details class="fold" open=is_open>
            <summary>
                "Undo its changes" <span class="visually-hidden">" of " {name.clone()}</span>
            </summary>
            <p class="hint">
                "Archives what it added since then, restores what it archived or replaced, sets back what it changed, and its documents. What you or others changed since stays. Switch its memory off first if it still writes."
            </p>
            <FormError form=form.clone() fields=&["since"] />
            <form class="stack" method="post" action=path.clone()>
                <div class="field">
                    <label for=field.clone()>"Since"</label>
                    <input id=field type="datetime-local" name="since" value=since required />
                    {form.error_of("since").map(|error| view! { <p class="error">{error}</p> })}
                </div>
                <div>
                    <button type="submit" name="action" value="look">"Count"</button>
                </div>
            </form>
            <Done form=form.clone() />
            {decide}
            {back}
        </details>
    }
    .into_any()
}
