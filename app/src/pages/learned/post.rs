//! The forms of Learned: keep, forget or confirm a reviewed memory, and edit what is not worth keeping. An
//! admin can make them read-only.

use axum::response::Response;
use serde::Deserialize;

use super::show;
use crate::db::actor;
use crate::forms::{Attempt, Field, FormName, Outcome, Posted, Submission, done};
use crate::memories::learned::{self, ProposalOutcome, ReviewList};
use crate::memories::manage::RestoreOutcome;
use crate::memories::{self, ItemId, Reconfirmation, proposals};
use crate::pages::item::post::memory_problem;
use keepsake_edge::error::Problem;

const PATH: &str = "/learned";
const FORM: FormName = FormName::Learned;
const UNWANTED_FORM: FormName = FormName::Unwanted;

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum LearnedForm {
    Keep {
        item: Field<i64>,
    },
    /// From the oldest to the newest that were shown.
    KeepAll {
        oldest: Field<i64>,
        item: Field<i64>,
    },
    /// Likewise, of imported ones.
    KeepImported {
        oldest: Field<i64>,
        item: Field<i64>,
    },
    /// Likewise, of what agents said were the person's words.
    KeepClaimed {
        oldest: Field<i64>,
        item: Field<i64>,
    },
    /// These are not the person's words.
    Disown {
        item: Field<i64>,
    },
    /// All imported ones up to this, shown or not.
    KeepAllImported {
        item: Field<i64>,
    },
    Forget {
        item: Field<i64>,
    },
    Confirm {
        item: Field<i64>,
    },
    Restore {
        item: Field<i64>,
        line: Field<i64>,
    },
    Wanted {
        line: Field<i64>,
    },
    Unwanted {
        text: Field,
    },
    /// One of an agent's proposals, or all that were shown.
    Accept {
        proposal: Field,
    },
    Dismiss {
        proposal: Field,
    },
}

pub async fn change(Posted(posted, form): Posted<LearnedForm>) -> Response {
    actor::require_open_browser();
    let name = match form {
        Ok(LearnedForm::Unwanted { .. }) => UNWANTED_FORM,
        _ => FORM,
    };
    let outcome = obey(&posted, form).await;
    posted.respond(show, PATH, name, outcome).await
}

async fn obey(posted: &Submission, form: Result<LearnedForm, Problem>) -> Attempt {
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
            let (list, shown) = (ReviewList::Imported, *oldest..=*item);
            learned::keep_shown(db, user, list, shown, clock.now()).await?;
            return Ok(Outcome::Redirect);
        }
        LearnedForm::KeepClaimed { oldest, item } => {
            let (list, shown) = (ReviewList::Claimed, *oldest..=*item);
            learned::keep_shown(db, user, list, shown, clock.now()).await?;
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
            decided(accepted.map_err(memory_problem)?)
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

fn decided(outcome: ProposalOutcome) -> String {
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
