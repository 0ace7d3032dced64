//! Chat as users and admins set it, what it costs them, and its pages.

mod pages;
mod settings;
mod spend;

use std::time::Duration;

use keepsake::providers::chat::{
    Allowance, Allowances, Chat, ChatError, ChatLimits, ChatMessage, ChatPurpose, ChatRequest,
    Completion,
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
    app.allow(&server.host_port()).await;
    let url = server.url();
    chat(app).save(user.id, &form(&url, KEY)).await.unwrap();
}

/// Anna on a server of her own, and her chat model, which answers this to everything.
async fn anna_with(text: &'static str) -> (TestApp, TestUser, ChatServer) {
    let (app, anna) = TestApp::start_for("anna").await;
    let server = ChatServer::saying(text).await;
    use_server(&app, &anna, &server).await;
    (app, anna, server)
}

pub async fn set_limits(app: &TestApp, user: &TestUser, cap: &str, purposes: Allowances) {
    let limits = ChatLimits { daily_token_cap: cap, purposes };
    chat(app).save_limits(user.id, limits).await.unwrap();
}

/// Every purpose but this one is allowed.
pub fn without(purpose: ChatPurpose) -> Allowances {
    let off = Allowance { is_on: false, ..Allowance::default() };
    Allowances::default().with(purpose, off)
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
