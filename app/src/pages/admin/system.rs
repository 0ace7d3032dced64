//! The endpoints that an admin sets for everybody: the system's llama.cpp, whose change begins
//! once it is confirmed, and the chat model.

use leptos::prelude::*;

use super::{EMBEDDINGS_PATH, PATH};
use crate::components::{EndpointKind, SystemEndpoint, count, space_facts};
use crate::forms::FormState;
use crate::pages::chat;
use crate::view::{AdminPage, SystemChatView};

static LLAMACPP: EndpointKind = EndpointKind {
    path: EMBEDDINGS_PATH,
    page: PATH,
    formats: &[],
    has_thinking: false,
    url_example: "http://llama:8080",
    model_example: "nomic-embed-text",
    test_hint: "",
};
static CHAT: EndpointKind = EndpointKind {
    path: "/admin/chat",
    page: PATH,
    formats: chat::OWN.formats,
    has_thinking: true,
    url_example: "http://llama:8080",
    model_example: chat::OWN.model_example,
    test_hint: "",
};

#[component]
pub fn System(page: AdminPage, form: FormState) -> impl IntoView {
    let state = match (&page.in_force, &page.offered) {
        (_, Some(_)) => "offered",
        (Some(_), None) => "in use",
        (None, None) => "off",
    };
    let offered = page.offered.map(|url| {
        view! {
            <p class="aside offered">
                <code>"KEEPSAKE_LLAMACPP_URL"</code> " names " <code>{url}</code>
                ". Nothing is rebuilt until you confirm: save it below to see how much that is."
            </p>
        }
        .into_any()
    });
    let from_chat = page.system.is_from_chat.then(|| {
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
            endpoint=page.system
            form
            id="system"
            title="System llama.cpp"
            state
            lead="When set, it creates the embeddings of all users. It takes precedence over their own endpoints and the builtin model."
            facts=page.in_force.map(|space| space_facts("Endpoint", space))
            before=offered.into_iter().chain(from_chat).collect()
        />
    }
    .into_any()
}

#[component]
pub fn SystemChat(chat: SystemChatView, form: FormState) -> impl IntoView {
    let state = if chat.in_force.is_some() { "in use" } else { "off" };
    let facts = chat.in_force.map(|(host, model)| {
        vec![
            ("Endpoint", view! { <bdi>{host}</bdi> }.into_any()),
            ("Model", view! { <bdi>{model}</bdi> }.into_any()),
            ("Tokens per user and day", count(chat.cap).into_any()),
        ]
    });
    view! {
        <SystemEndpoint
            kind=&CHAT
            endpoint=chat.endpoint
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
