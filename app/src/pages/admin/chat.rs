//! The chat model for everybody who has none of their own, and how much of it each
//! of them may use a day.

use leptos::prelude::*;

use crate::components::{CHAT_FIELDS, ChatFields, EndpointForm, Facts, Field, StateBadge, count};
use crate::view::{FormState, SystemChatView};

const PATH: &str = "/admin/chat";

#[component]
pub fn SystemChat(chat: SystemChatView, form: FormState) -> impl IntoView {
    let has_key = chat.endpoint.has_key;
    let state = match chat.in_force {
        Some(_) => "in use",
        None => "off",
    };
    let facts = chat.in_force.map(|host| {
        let model = match chat.endpoint.model.as_str() {
            "" => "the endpoint's default".to_owned(),
            model => model.to_owned(),
        };
        let facts = vec![
            ("Endpoint", view! { <bdi>{host}</bdi> }.into_any()),
            ("Model", view! { <bdi>{model}</bdi> }.into_any()),
            ("Tokens per user and day", count(chat.cap).into_any()),
        ];
        view! { <Facts facts inline=true /> }
    });
    let mut saved = chat.endpoint.values();
    saved.push(("daily_token_cap", count(chat.cap)));
    let form = form.or_saved(saved);
    view! {
        <section class="part" aria-labelledby="chat-system">
            <div class="title-row">
                <h2 id="chat-system">"System chat model"</h2>
                <StateBadge state />
            </div>
            <p class="lead">
                "It reads the conversations of users without a chat endpoint of their own, and extracts memories. It creates no embeddings."
            </p>
            {facts}
            <EndpointForm form=form.clone() path=PATH fields=CHAT_FIELDS>
                <ChatFields
                    form=form.clone()
                    has_key
                    url_example="http://llama:8080"
                    url_hint="Leave blank for none."
                />
                <Field
                    form
                    name="daily_token_cap"
                    label="Tokens per user and day"
                    hint="10,000 to 1,000,000,000. Resets at midnight UTC."
                    inputmode="numeric"
                    autocomplete="off"
                    maxlength="14"
                    optional=true
                />
            </EndpointForm>
        </section>
    }
    .into_any()
}
