//! Chat as users and admins set it, what it costs them, and its pages.

mod pages;
mod settings;
mod spend;

use std::time::Duration;

use keepsake::providers::chat::{
    Chat, ChatError, ChatMessage, ChatPurpose, ChatRequest, Completion,
};
use keepsake::providers::settings::EndpointForm;

use crate::support::{ChatServer, TestApp, TestUser};

pub const KEY: &str = "sk-chat-canary-6f1d";

pub fn chat(app: &TestApp) -> Chat {
    app.chat.clone()
}

pub fn form<'a>(url: &'a str, key: &'a str) -> EndpointForm<'a> {
    EndpointForm {
        own_enabled: true,
        provider_type: "openai",
        url,
        model: "small",
        key,
        ..EndpointForm::default()
    }
}

/// The user's own endpoint is this server from now on.
pub async fn use_server(app: &TestApp, user: &TestUser, server: &ChatServer) {
    app.embeddings.allow_endpoint(&server.host_port()).await.unwrap();
    let url = server.url();
    chat(app).save(user.id, &form(&url, KEY)).await.unwrap();
}

/// One call that may come to some hundred tokens.
pub async fn ask(app: &TestApp, user: &TestUser) -> Result<Completion, ChatError> {
    let messages = [ChatMessage::user("Hello?")];
    let request = ChatRequest {
        purpose: ChatPurpose::Facts,
        messages: &messages,
        schema: None,
        max_tokens: 98,
        temperature: 0.0,
        deadline: Duration::from_secs(10),
    };
    chat(app).complete(user.id, &request).await
}
