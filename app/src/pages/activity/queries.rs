//! Whether the words of searches are kept, and the step that forgets those
//! that were: by plain forms, each of which says what it does.

use axum::response::Response;
use leptos::prelude::*;
use serde::Deserialize;

use super::show;
use crate::components::{FormError, count};
use crate::forms::{FormName, FormState, Posted, done};

const FORM: FormName = FormName::Queries;
const PATH: &str = "/activity/queries";

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum QueriesForm {
    Keep,
    Stop,
    Forget,
}

pub async fn change(Posted(posted, form): Posted<QueriesForm>) -> Response {
    let attempt = async {
        let (activity, user) = (&posted.state.activity, posted.user());
        let sentence = match form? {
            QueriesForm::Keep => {
                activity.keep_queries(user, true).await?;
                "Search queries are now logged.".to_owned()
            }
            QueriesForm::Stop => {
                activity.keep_queries(user, false).await?;
                "Search queries are no longer logged. Queries already logged stay until you delete them.".to_owned()
            }
            QueriesForm::Forget => {
                let forgotten = activity.forget_queries(user).await?;
                format!("Deleted the queries of {forgotten} searches.")
            }
        };
        Ok(done(FORM, sentence))
    };
    posted.respond(show, "/activity", FORM, attempt.await).await
}

/// `kept_for` says how long calls are kept; empty where there are none yet.
#[component]
pub fn Queries(is_on: bool, kept: i64, form: FormState, kept_for: String) -> impl IntoView {
    let (state, action, button) = match is_on {
        true => (
            "Search queries are logged with each call, so that you can see what an agent looked for.",
            "stop",
            "Stop logging queries",
        ),
        false => (
            "Search queries are not logged: a call shows which memories it found, not what was asked. You can log later queries, up to 500 characters each. Only you see them.",
            "keep",
            "Log search queries",
        ),
    };
    let forget = (kept > 0).then(|| forget(kept));
    view! {
        <section class="part" aria-labelledby="queries">
            <h2 id="queries">"Query logging"</h2>
            {(!kept_for.is_empty()).then(|| view! { <p>{kept_for}</p> })}
            <p>{state}</p>
            <FormError form fields=&[] />
            <form method="post" action=PATH>
                <button type="submit" name="action" value=action>
                    {button}
                </button>
            </form>
            {forget}
        </section>
    }
    .into_any()
}

fn forget(kept: i64) -> impl IntoView {
    let searches = match kept {
        1 => "1 search".to_owned(),
        n => format!("{} searches", count(n)),
    };
    view! {
        <details class="confirm">
            <summary>{format!("Delete the queries of {searches}")}</summary>
            <div>
                <p>
                    {format!("The queries of {searches} are deleted permanently. The calls stay.")}
                </p>
                <form method="post" action=PATH>
                    <button class="danger" type="submit" name="action" value="forget">
                        "Delete queries"
                    </button>
                </form>
            </div>
        </details>
    }
    .into_any()
}
