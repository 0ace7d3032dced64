//! Settings › Embeddings: who makes the vectors and why, how far they are, and the person's own endpoint. The parts marked
//! `data-live` are those that the island [`LiveProgress`] replaces while something is under way; the form is none of them, so
//! that nothing that is typed is lost. An entered key is sealed or sent to the endpoint, and never part of a response.

pub mod post;
mod status;

use std::sync::Arc;

use axum::response::Response;
use keepsake_edge::error::Problem;
use leptos::prelude::*;
use serde::Deserialize;

use crate::components::{Done, EndpointKind, FormError, LateView, OwnEndpoint, Renewal, Section};
use crate::embedding::model::{Space, TokenSigns};
use crate::embedding::{EmbeddingOverview, Saved, Texts};
use crate::endpoint::{
    EndpointView, embedding_endpoint_view, embeddings_beside, host_port, own, paused_reason,
};
use crate::forms::endpoint::{EndpointFields, fill, test};
use crate::forms::{
    self, Attempt, Confirmation, Field, FormName, FormState, Outcome, Posted, Submission, done,
};
use crate::input::sentence;
use crate::islands::LiveProgress;
use crate::page::{Page, PageError, chat_error, embedding_error};
use crate::providers::builtin::BuiltinModel;
use crate::providers::settings::{self, Effective, EndpointForm, EndpointSettings, SpaceSettings};
use crate::providers::{BuiltinFlaw, ProviderType};
use crate::words;
use status::{Failures, Serving, Status, Switches};

const PATH: &str = "/settings/embeddings";
/// The staged value of a confirmation that switches embeddings on.
const STAGED_ENABLE: &str = "enable";

static OWN: EndpointKind = EndpointKind {
    path: PATH,
    page: PATH,
    formats: &[
        ("openai", "OpenAI-compatible"),
        ("ollama", "Ollama"),
        ("custom_http", "llama.cpp or TEI, native"),
    ],
    has_thinking: false,
    url_example: "http://localhost:11434",
    model_example: "nomic-embed-text",
    test_hint: "Test sends two short sample sentences, none of your memories.",
};

/// What the page tells.
struct EmbeddingsView {
    overview: EmbeddingOverview,
    /// Who makes the vectors, and why.
    name: &'static str,
    reason: String,
    /// One sentence: why no vectors are being made right now.
    problem: Option<String>,
    own: EndpointView,
}

impl EmbeddingsView {
    async fn load(page: &Page) -> Result<Self, PageError> {
        let (embeddings, user) = (&page.state.embeddings, page.viewer.user_id);
        let overview = embeddings.overview(user).await;
        let chat = page.state.chat.overview(user).await;
        let (overview, chat) = (overview.map_err(embedding_error)?, chat.map_err(chat_error)?);
        let (name, reason) = name_and_reason(&overview);
        Ok(Self {
            name,
            reason,
            problem: problem_of(&overview),
            own: own_view(&overview, &chat.settings.own),
            overview,
        })
    }

    fn has_provider(&self) -> bool {
        self.overview.effective.settings().is_some()
    }

    fn serving(&self) -> Option<&Space> {
        self.overview.serving.as_ref().filter(|_| self.has_provider())
    }

    /// How it stands with late interaction; `None` where the model gives no token vectors.
    fn late(&self) -> Option<LateView> {
        let (overview, space) = (&self.overview, self.serving()?);
        let is_wanted = overview.system.late_interaction;
        match space.token_signs {
            _ if !space.settings.is_builtin() => None,
            TokenSigns::All if is_wanted => Some(LateView::On),
            _ if is_wanted => {
                Some(LateView::Making { done: overview.signed, of: overview.counts.ready })
            }
            _ => Some(LateView::Off),
        }
    }

    /// Something changes by itself: the page is worth looking at again.
    fn is_working(&self) -> bool {
        let overview = &self.overview;
        let is_making = || matches!(self.late(), Some(LateView::Making { .. }));
        overview.rebuild.is_some()
            || (overview.settings.enabled && (overview.counts.pending > 0 || is_making()))
    }
}

pub async fn show(page: Page) -> Response {
    let is_held = page.asked_for("hold").is_some();
    let form = page.form.clone();
    let found = EmbeddingsView::load(&page).await.map(Arc::new);
    page.render(Section::Embeddings, "Embeddings", PATH, found, move |page| {
        view! { <EmbeddingsPage page form=form.clone() is_held /> }.into_any()
    })
    .await
}

fn problem_of(overview: &EmbeddingOverview) -> Option<String> {
    overview.effective.settings()?;
    let rebuild = overview.rebuild.as_ref().and_then(|rebuild| rebuild.space.problem.as_ref());
    let serving = overview.serving.as_ref().and_then(|space| space.problem.as_ref());
    rebuild.or(serving).cloned().or_else(|| {
        overview.is_declined.then(|| {
            "You cancelled the rebuild that these settings need: search keeps the existing embeddings. You can rebuild at any time.".to_owned()
        })
    })
}

fn name_and_reason(overview: &EmbeddingOverview) -> (&'static str, String) {
    let settings = &overview.settings;
    let (name, reason) = match &overview.effective {
        Effective::Off => {
            let paused = paused_reason(&settings.own.endpoint, "embeddings");
            if let Some(reason) = paused.filter(|_| settings.is_paused) {
                return ("None", reason);
            }
            ("None", "You switched embeddings off: search uses keywords only.")
        }
        Effective::System(settings) if settings.is_builtin() => (
            "Builtin model",
            "No system llama.cpp is set and you have no endpoint of your own: the model inside this server serves you.",
        ),
        Effective::System(_) => (
            "System llama.cpp",
            "An admin set a system llama.cpp; it takes precedence over users' own endpoints.",
        ),
        Effective::Own(_) => {
            ("Your endpoint", "You have an endpoint of your own, and no system llama.cpp is set.")
        }
        Effective::Nothing => (
            "None",
            "No endpoint is set, neither by an admin nor by you, and an admin switched the builtin model off.",
        ),
    };
    (name, reason.to_owned())
}

/// Without an effective provider and an own endpoint, the form suggests the host of the chat endpoint, which
/// may serve embeddings too.
fn own_view(overview: &EmbeddingOverview, chat: &EndpointSettings) -> EndpointView {
    let settings = &overview.settings;
    let is_unserved = overview.effective == Effective::Nothing && !settings.own.endpoint.is_set();
    let of_chat = embeddings_beside(chat).filter(|_| is_unserved);
    let is_from_chat = of_chat.is_some();
    let shown = match of_chat {
        Some(endpoint) => SpaceSettings { endpoint, ..SpaceSettings::default() },
        None => settings.own.clone(),
    };
    let view =
        embedding_endpoint_view(&shown, settings.pace, settings::EndpointKind::OwnEmbeddings);
    EndpointView { is_from_chat, ..own(view, settings.own_enabled) }
}

pub fn provider_name(provider_type: ProviderType) -> &'static str {
    match provider_type {
        ProviderType::Builtin => "Builtin model",
        ProviderType::Llamacpp => "System llama.cpp",
        ProviderType::Ollama
        | ProviderType::Openai
        | ProviderType::Anthropic
        | ProviderType::CustomHttp => "Your endpoint",
    }
}

fn missing_model(model: BuiltinModel) -> String {
    sentence(&BuiltinFlaw::NoFiles(model).to_string())
}

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum EmbeddingsForm {
    Fill { vendor: Field },
    Test(EndpointFields),
    Save(EndpointFields),
    Confirm(EndpointFields),
    Enable,
    Disable,
    Cancel,
    Retry,
    Rebuild,
    EmbedKeys,
}

pub async fn change(Posted(posted, form): Posted<EmbeddingsForm>) -> Response {
    use EmbeddingsForm::{Confirm, Fill, Save, Test};
    let name = match form {
        Ok(Fill { .. } | Test(_) | Save(_) | Confirm(_)) => FormName::Embeddings,
        _ => FormName::Progress,
    };
    let outcome = apply(&posted, form).await;
    posted.respond(show, PATH, name, outcome).await
}

async fn apply(posted: &Submission, form: Result<EmbeddingsForm, Problem>) -> Attempt {
    // With the job timeout, since a rebuild inserts a row per memory.
    let embeddings = posted.state.embeddings.for_jobs();
    let user = posted.user();
    let sentence = match form? {
        EmbeddingsForm::Fill { vendor } => {
            return fill(FormName::Embeddings, settings::EndpointKind::OwnEmbeddings, &vendor);
        }
        EmbeddingsForm::Test(fields) => {
            return test(posted, FormName::Embeddings, embeddings.test_own(user, &fields.form()))
                .await;
        }
        EmbeddingsForm::Save(fields) => {
            let saved = embeddings.save(user, &fields.form(), false).await?;
            return Ok(show_saved(posted, &fields.form(), saved));
        }
        EmbeddingsForm::Confirm(fields) if fields.form().staged == STAGED_ENABLE => {
            embeddings.set_enabled(user, true, true).await?;
            return Ok(Outcome::Redirect);
        }
        EmbeddingsForm::Confirm(fields) => {
            let saved = embeddings.save(user, &fields.form(), true).await?;
            return Ok(show_saved(posted, &fields.form(), saved));
        }
        EmbeddingsForm::Enable => {
            let enabled = embeddings.set_enabled(user, true, false).await?;
            return Ok(show_enabled(enabled));
        }
        EmbeddingsForm::Disable => {
            embeddings.set_enabled(user, false, true).await?;
            "Embeddings are off: search uses keywords only. Existing embeddings are kept."
                .to_owned()
        }
        EmbeddingsForm::Cancel => match embeddings.cancel_rebuild(user).await? {
            true => "The rebuild is cancelled. Search keeps the old embeddings.".to_owned(),
            false => "No rebuild was under way.".to_owned(),
        },
        EmbeddingsForm::Retry => match embeddings.retry(user).await? {
            1 => "1 text will be embedded again.".to_owned(),
            many => format!("{} texts will be embedded again.", words::count(many as i64)),
        },
        EmbeddingsForm::Rebuild => {
            embeddings.rebuild(user).await?;
            return Ok(Outcome::Redirect);
        }
        EmbeddingsForm::EmbedKeys => {
            let again = embeddings.embed_keys(user).await?;
            format!("{} will be embedded again, with key.", words::memories(again as i64))
        }
    };
    Ok(done(FormName::Progress, sentence))
}

fn show_enabled(enabled: Saved) -> Outcome {
    let Saved::AskFirst { texts, kept, .. } = enabled else {
        return Outcome::Redirect;
    };
    let sentence = format!(
        "Your embeddings were created with other settings: {} will be rebuilt. {}Search uses keywords only until then.",
        in_words(texts),
        known(kept),
    );
    Outcome::from(FormState {
        confirm: Some(Confirmation {
            sentence,
            items: texts.total(),
            users: None,
            staged: STAGED_ENABLE.to_owned(),
        }),
        ..forms::page(FormName::Embeddings)
    })
}

fn show_saved(posted: &Submission, form: &EndpointForm<'_>, saved: Saved) -> Outcome {
    match saved {
        Saved::InForce => done(FormName::Embeddings, "Saved."),
        Saved::Rebuilding { .. } => Outcome::Redirect,
        Saved::AskFirst { texts, kept, staged } => {
            let sentence = format!(
                "{} will be rebuilt with {}. {}Search uses the old embeddings until the new ones are complete.",
                in_words(texts),
                target(form),
                known(kept),
            );
            let confirm = Confirmation { sentence, items: texts.total(), users: None, staged };
            ask(posted, FormName::Embeddings, confirm)
        }
    }
}

/// Such as "nomic-embed-text at localhost:11434".
fn target(form: &EndpointForm<'_>) -> String {
    let host = host_port(form.url);
    match (form.own_enabled, form.model.trim()) {
        (true, "") => host,
        (true, model) => format!("{model} at {host}"),
        _ => "the provider that comes next".to_owned(),
    }
}

/// The form again, with what has to be confirmed.
fn ask(posted: &Submission, name: FormName, confirm: Confirmation) -> Outcome {
    Outcome::from(FormState {
        values: posted.fields.values(),
        confirm: Some(confirm),
        ..forms::page(name)
    })
}

fn in_words(texts: Texts) -> String {
    words::texts(texts.memories, texts.from_messages)
}

/// A sentence about embeddings that still exist, or nothing.
fn known(kept: i64) -> String {
    match kept {
        0 => String::new(),
        1 => "The embedding of 1 still exists and is used again. ".to_owned(),
        many => {
            format!("The embeddings of {} still exist and are used again. ", words::count(many))
        }
    }
}

#[component]
fn EmbeddingsPage(page: Arc<EmbeddingsView>, form: FormState, is_held: bool) -> impl IntoView {
    let is_working = page.is_working();
    let is_untouched = form.form.is_none();
    let progress = form.of(FormName::Progress);
    view! {
        <div class="page" data-renewed-from=PATH>
            <h1>"Embeddings"</h1>
            <p class="lead">
                "An embedding model lets search find memories by meaning, not only by keywords."
            </p>
            <Done form=form.clone() />
            <FormError form=progress fields=&[] />
            <div class="with-side parts">
                <div id="status-place">
                    <Status page=page.clone() />
                </div>
                <Serving page=page.clone() />
            </div>
            {(is_working && is_untouched).then(|| view! { <Renewal path=PATH.to_owned() is_held /> })}
            <div class="with-side parts">
                {page
                    .overview
                    .settings
                    .enabled
                    .then(|| {
                        view! {
                            <Endpoint own=page.own.clone() form=form.of(FormName::Embeddings) />
                        }
                    })}
                <div class="parts">
                    <Failures page=page.clone() />
                    <Switches page />
                </div>
            </div>
        </div>
        <LiveProgress />
    }
    .into_any()
}

#[component]
fn Endpoint(own: EndpointView, form: FormState) -> impl IntoView {
    let from_chat = own.is_from_chat.then(|| {
        view! {
            <p class="aside">
                "Filled in from your " <a href="/settings/chat">"chat model"</a>
                ", whose server may support embeddings too. Enter an embedding model, test it, then save. Nothing changes before that."
            </p>
        }
        .into_any()
    });
    view! {
        <OwnEndpoint
            kind=&OWN
            endpoint=own
            form
            lead="The text of your memories is sent there. Before anything is rebuilt, you see how much and confirm it."
            before=from_chat
            after=None
        />
    }
    .into_any()
}
