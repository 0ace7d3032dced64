//! How everybody's vectors stand: what waits, which provider makes none and why, and the button
//! that tries again.

use leptos::prelude::*;
use sqlx::PgConnection;

use super::PATH;
use crate::components::{StateBadge, When, count, some_texts};
use crate::embedding::{Embeddings, OpenEmbeddings, ProviderTrouble};
use crate::providers::ProviderType;

/// Everybody's vectors.
pub struct OpenVectors {
    pub open: OpenEmbeddings,
    troubles: Vec<ProviderTrouble>,
    /// Spaces whose provider searches leave alone just now.
    open_breakers: i64,
}

impl OpenVectors {
    pub async fn load(
        embeddings: &Embeddings,
        conn: &mut PgConnection,
    ) -> Result<Self, sqlx::Error> {
        Ok(Self {
            open: embeddings.open_embeddings(conn).await?,
            troubles: embeddings.troubles(conn).await?,
            open_breakers: i64::try_from(embeddings.count_open_breakers()).unwrap_or(i64::MAX),
        })
    }

    /// Whether *Retry* has something to do.
    fn has_failures(&self) -> bool {
        self.open.failed > 0 || !self.troubles.is_empty() || self.open_breakers > 0
    }
}

pub fn vectors(vectors: &OpenVectors) -> AnyView {
    let state = match (vectors.has_failures(), vectors.open.pending > 0) {
        (true, _) => "failed",
        (false, true) => "pending",
        (false, false) => "ready",
    };
    let is_empty = state == "ready";
    let since = vectors.open.pending_since.map(|at| view! { " Oldest: " <When at /> "." });
    view! {
        <section class="part" id="vectors" aria-labelledby="vectors-title">
            <div class="title-row">
                <h2 id="vectors-title">"Embeddings"</h2>
                <StateBadge state />
            </div>
            <p class="lead">{line(&vectors.open)} {since}</p>
            {is_empty
                .then(|| {
                    view! {
                        <p class="hint">
                            "Nothing is pending and nothing has failed. A new memory is usually embedded in less than a second."
                        </p>
                    }
                })}
            {troubles(&vectors.troubles, vectors.open_breakers)}
            {given_up(vectors)}
        </section>
    }
    .into_any()
}

/// Memories and messages are counted together here.
fn texts_of_all(n: i64) -> String {
    some_texts(n, n)
}

fn line(open: &OpenEmbeddings) -> String {
    match (open.pending, open.failed) {
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
fn troubles(troubles: &[ProviderTrouble], open_breakers: i64) -> AnyView {
    let rows = troubles
        .iter()
        .map(|trouble| {
            view! {
                <p class="problem">
                    <strong>{provider_name(trouble.provider_type)}</strong>
                    " ("
                    {users(trouble.users)}
                    "): "
                    {trouble.problem.clone()}
                    {trouble.next_try.map(|at| view! { " Next attempt " <When at /> "." })}
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

fn provider_name(provider_type: ProviderType) -> &'static str {
    match provider_type {
        ProviderType::Llamacpp => "System llama.cpp",
        ProviderType::Ollama => "Ollama endpoints of users",
        ProviderType::Openai => "OpenAI-compatible endpoints of users",
        ProviderType::Anthropic | ProviderType::CustomHttp => "Custom endpoints of users",
        ProviderType::Builtin => "Builtin model",
    }
}

fn users(n: i64) -> String {
    match n {
        1 => "1 user".to_owned(),
        n => format!("{} users", count(n)),
    }
}

/// What was given up, and the button that sends it again.
fn given_up(vectors: &OpenVectors) -> AnyView {
    let failed = (vectors.open.failed > 0).then(|| {
        let sentence = format!(
            "{} of {} could not be embedded. Each user sees why on Settings › Embeddings.",
            texts_of_all(vectors.open.failed),
            users(vectors.open.failed_users)
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
