//! The endpoints that an admin sets for everybody: the system's llama.cpp, whose change begins
//! once it is confirmed, and the chat model. An entered key is sealed or sent to the endpoint, and never part of a response.

use axum::response::Response;
use leptos::prelude::*;
use serde::Deserialize;
use time::OffsetDateTime;

use super::{EMBEDDINGS_PATH, PATH, show};
use crate::components::{self, SpaceView, SystemEndpoint, count, space_facts};
use crate::embedding::SystemOverview;
use crate::endpoint::{
    EndpointView, chat_endpoint_view, embedding_endpoint_view, embeddings_beside, host_port,
    model_name,
};
use crate::forms::endpoint::{EndpointFields, fill, test};
use crate::forms::{Admin, Field, FormName, FormState, Posted, done};
use crate::pages::chat;
use crate::providers::ProviderType;
use crate::providers::settings::{
    EndpointKind, EndpointSettings, SpaceSettings, SystemChatSettings,
};

static LLAMACPP: components::EndpointKind = components::EndpointKind {
    path: EMBEDDINGS_PATH,
    page: PATH,
    formats: &[],
    has_thinking: false,
    url_example: "http://llama:8080",
    model_example: "nomic-embed-text",
    test_hint: "",
};
static CHAT: components::EndpointKind = components::EndpointKind {
    path: "/admin/chat",
    page: PATH,
    url_example: "http://llama:8080",
    test_hint: "",
    ..chat::OWN
};

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum SystemChatForm {
    Fill { vendor: Field },
    Test(EndpointFields),
    Save(EndpointFields),
}

pub async fn save_chat(_: Admin, Posted(posted, form): Posted<SystemChatForm>) -> Response {
    let (chat, name) = (&posted.state.chat, FormName::ChatSystem);
    let attempt = async {
        match form? {
            SystemChatForm::Fill { vendor } => fill(name, EndpointKind::Chat, &vendor),
            SystemChatForm::Test(fields) => {
                test(&posted, name, chat.test_system(&fields.form())).await
            }
            SystemChatForm::Save(fields) => {
                chat.save_system(&fields.form(), fields.text("daily_token_cap")).await?;
                Ok(done(name, "Saved."))
            }
        }
    };
    posted.respond(show, PATH, name, attempt.await).await
}

/// The form starts with the endpoint in force, else with the offered one, else with the host of the chat model where nothing
/// else makes embeddings.
pub fn llamacpp(
    system: &SystemOverview,
    chat: &SystemChatSettings,
    now: OffsetDateTime,
    form: FormState,
) -> AnyView {
    let settings = &system.settings;
    let is_unserved = settings.provider.is_none() && system.missing_model.is_some();
    let of_chat = embeddings_beside(&chat.endpoint)
        .filter(|_| is_unserved && system.offered.is_none())
        .filter(|found| found.provider_type == ProviderType::Openai);
    let is_from_chat = of_chat.is_some();
    let shown = settings.provider.clone().unwrap_or_else(|| SpaceSettings {
        endpoint: of_chat.unwrap_or_else(|| EndpointSettings {
            url: system.offered.clone().unwrap_or_default(),
            ..EndpointSettings::default()
        }),
        ..SpaceSettings::default()
    });
    let endpoint = embedding_endpoint_view(&shown, settings.pace, EndpointKind::SystemEmbeddings);
    let facts = settings.provider.as_ref().map(|provider| {
        let space = SpaceView {
            provider: host_port(&provider.endpoint.url),
            model: model_name(&provider.endpoint),
            dimensions: provider.dimensions,
            late: None,
            since: system.provider_since.unwrap_or(now),
        };
        space_facts("Endpoint", space)
    });
    let state = match (&settings.provider, &system.offered) {
        (_, Some(_)) => "offered",
        (Some(_), None) => "in use",
        (None, None) => "off",
    };
    let offered = system.offered.clone().map(|url| {
        view! {
            <p class="aside offered">
                <code>"KEEPSAKE_LLAMACPP_URL"</code> " names " <code>{url}</code>
                ". Nothing is rebuilt until you confirm: save it below to see how much that is."
            </p>
        }
        .into_any()
    });
    let from_chat = is_from_chat.then(|| {
        view! {
            <p class="aside">
                "Filled in from the chat model below, whose server may support embeddings too. Test it, then save. Nothing changes before that."
            </p>
        }
        .into_any()
    });
    view! {
        <SystemEndpoint
            kind=&LLAMACPP
            endpoint=EndpointView { is_from_chat, ..endpoint }
            form
            id="system"
            title="System llama.cpp"
            state
            lead="When set, it creates the embeddings of all users. It takes precedence over their own endpoints and the builtin model."
            facts
            before=offered.into_iter().chain(from_chat).collect()
        />
    }
    .into_any()
}

pub fn chat_model(chat: &SystemChatSettings, form: FormState) -> AnyView {
    let (host, cap) = (host_port(&chat.endpoint.url), count(chat.daily_token_cap));
    let mut endpoint = chat_endpoint_view(&chat.endpoint);
    endpoint.values.push(("daily_token_cap", cap.clone()));
    let state = if host.is_empty() { "off" } else { "in use" };
    let facts = (!host.is_empty()).then(|| {
        vec![
            ("Endpoint", view! { <bdi>{host}</bdi> }.into_any()),
            ("Model", view! { <bdi>{model_name(&chat.endpoint)}</bdi> }.into_any()),
            ("Tokens per user and day", cap.into_any()),
        ]
    });
    view! {
        <SystemEndpoint
            kind=&CHAT
            endpoint
            form
            id="chat-system"
            title="System chat model"
            state
            lead="It reads the conversations of users without a chat endpoint of their own, and extracts memories. It creates no embeddings."
            facts
            before=Vec::new()
        />
    }
    .into_any()
}
