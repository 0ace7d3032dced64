//! How everybody's vectors stand: what waits, which provider makes none and why, and the button
//! that tries again.

use leptos::prelude::*;

use super::PATH;
use crate::components::{StateBadge, When, count, some_texts};
use crate::view::{TroubleRow, VectorsView};

#[component]
pub fn Vectors(vectors: VectorsView) -> impl IntoView {
    let state = match (vectors.has_failures(), vectors.pending > 0) {
        (true, _) => "failed",
        (false, true) => "pending",
        (false, false) => "ready",
    };
    let is_empty = state == "ready";
    let since =
        vectors.pending_since.clone().map(|moment| view! { " Oldest: " <When at=moment /> "." });
    view! {
        <section class="part" id="vectors" aria-labelledby="vectors-title">
            <div class="title-row">
                <h2 id="vectors-title">"Embeddings"</h2>
                <StateBadge state />
            </div>
            <p class="lead">{line(&vectors)} {since}</p>
            {is_empty
                .then(|| {
                    view! {
                        <p class="hint">
                            "Nothing is pending and nothing has failed. A new memory is usually embedded in less than a second."
                        </p>
                    }
                })}
            <Troubles troubles=vectors.troubles.clone() open_breakers=vectors.open_breakers />
            <Given vectors />
        </section>
    }
    .into_any()
}

/// Memories and messages are counted together here.
fn texts_of_all(n: i64) -> String {
    some_texts(n, n)
}

fn line(vectors: &VectorsView) -> String {
    match (vectors.pending, vectors.failed_items) {
        (0, 0) => "No embeddings are pending.".to_owned(),
        (pending, 0) => format!("{} to be embedded.", texts_of_all(pending)),
        (0, failed) => format!("{} could not be embedded.", texts_of_all(failed)),
        (pending, failed) => format!(
            "{} to be embedded; {} could not be embedded.",
            texts_of_all(pending),
            count(failed)
        ),
    }
}

/// Which provider makes no vectors, why, for how many, and when it is tried again.
#[component]
fn Troubles(troubles: Vec<TroubleRow>, open_breakers: i64) -> impl IntoView {
    let rows = troubles
        .into_iter()
        .map(|trouble| {
            view! {
                <p class="problem">
                    <strong>{trouble.provider}</strong>
                    " ("
                    {users(trouble.users)}
                    "): "
                    {trouble.problem}
                    {trouble.next_try.map(|moment| view! { " Next attempt " <When at=moment /> "." })}
                </p>
            }
        })
        .collect_view();
    let breakers = (open_breakers > 0).then(|| {
        let spaces = match open_breakers {
            1 => "one user's provider".to_owned(),
            n => format!("{} users' providers", count(n)),
        };
        view! { <p class="hint">{format!("For now, searches skip {spaces} and use keywords only.")}</p> }
    });
    view! {
        {(!rows.is_empty())
            .then(|| {
                view! {
                    <h3>"Why embedding has stopped"</h3>
                    {rows}
                }
            })}
        {breakers}
    }
    .into_any()
}

fn users(n: i64) -> String {
    match n {
        1 => "1 user".to_owned(),
        n => format!("{} users", count(n)),
    }
}

/// What was given up, and the button that sends it again.
#[component]
fn Given(vectors: VectorsView) -> impl IntoView {
    let failed = (vectors.failed_items > 0).then(|| {
        let sentence = format!(
            "{} of {} could not be embedded. Each user sees why on Settings › Embeddings.",
            texts_of_all(vectors.failed_items),
            users(vectors.failed_users)
        );
        view! { <p>{sentence}</p> }
    });
    vectors
        .has_failures()
        .then(|| {
            view! {
                {failed}
                <form method="post" action=PATH>
                    <button type="submit" id="retry-vectors" name="action" value="retry_vectors">
                        "Retry now"
                    </button>
                </form>
            }
        })
        .into_any()
}
