//! Every page: its address, what shows it, and where its forms are sent.

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::response::Redirect;
use axum::routing::{get, post};
use keepsake_edge::AppState;

use crate::pages::{
    account, activity, admin, agents, chat, consent, data, docs, documents, dreams, embeddings,
    entities, fading, graph, invitation, item, join, learned, login, memory, reset, secrets,
    sessions, summary, timeline, used, webhooks, work,
};

/// For people, by web session. `docs` needs the extension `Arc<DocsPage>`.
pub fn pages() -> Router<AppState> {
    Router::new()
        .route("/", get(|| async { Redirect::to("/memory") }))
        .route("/login", get(login::show).post(login::sign_in))
        .route("/signup", post(login::sign_up))
        .route("/logout", post(login::sign_out))
        .route("/invitation/{token}", get(invitation::show).post(invitation::accept))
        .route("/reset/{token}", get(reset::show).post(reset::set_password))
        .route("/docs", get(docs::show))
        .route("/memory", get(memory::show))
        .route("/memory/{id}", get(item::show).post(item::manage::decide))
        .route("/agents", get(agents::show).post(agents::create))
        .route("/oauth/authorize", get(consent::show).post(consent::decide))
        .route("/account/tokens", post(account::end_tokens))
        .route("/agents/{agent_id}/tokens", post(agents::create_token))
        .route("/agents/{agent_id}/tokens/{token_id}/revoke", post(agents::revoke_token))
        .route("/agents/{agent_id}/memory", post(agents::switch_memory))
        .route("/agents/{agent_id}/settings", post(agents::settings::change))
        .route("/sessions", get(sessions::show).post(sessions::change))
        .route("/summary", get(summary::show).post(summary::write_now))
        .route("/entities", get(entities::show))
        .route("/entities/pairs", post(entities::same::decide))
        .route("/entities/settings", post(entities::change_settings))
        .route("/entities/{id}", get(entities::one::show).post(entities::one::decide))
        .route("/documents", get(documents::show))
        .route("/documents/{id}", get(documents::one::show).post(documents::one::decide))
        .route("/documents/{id}/erase", post(documents::one::erase))
        .route("/graph", get(graph::show))
        .route("/sessions/{id}", get(sessions::one::show))
        .route("/sessions/{id}/again", post(sessions::one::read_again))
        .route("/sessions/{id}/erase", post(sessions::one::erase))
        .route("/agents/{agent_id}/tools", post(agents::choose_tools))
        .route("/agents/{agent_id}/undo", post(agents::undo::undo))
        .route("/agents/{agent_id}/team", post(agents::team::change))
        .route("/team/{token}", get(join::show).post(join::join))
        .route("/learned", get(learned::show).post(learned::change))
        .route("/dreams", get(dreams::show).post(dreams::change))
        .route("/timeline", get(timeline::show))
        .route("/activity", get(activity::show))
        .route("/used", get(used::show))
        .route("/activity/queries", post(activity::queries::change))
        .route("/settings/embeddings", get(embeddings::show).post(embeddings::change))
        .route("/settings/chat", get(chat::show).post(chat::change))
        .route("/settings/fading", get(fading::show).post(fading::change))
        .route("/settings/webhooks", get(webhooks::show).post(webhooks::change))
        .route("/settings/secrets", get(secrets::show).post(secrets::change))
        .route("/settings/work", get(work::show))
        .route("/admin", get(admin::show))
        .route("/admin/jobs", get(admin::jobs::show).post(admin::jobs::change))
        .route("/admin/backups", get(admin::backups::show).post(admin::backups::change))
        .route("/admin/users", get(admin::users::show))
        .route("/admin/users/{user_id}", post(admin::users::change))
        .route("/admin/users/{user_id}/reset", post(admin::users::make_reset_link))
        .route("/admin/invitations", post(admin::users::invitations::invite))
        .route("/admin/invitations/{invitation_id}/revoke", post(admin::users::invitations::revoke))
        .route("/admin/embeddings", post(embeddings::post::system))
        .route("/admin/chat", post(admin::system::save_chat))
        .route("/admin/endpoints", post(embeddings::post::allowed))
        .route("/admin/browser", post(item::manage::browser))
        .route("/admin/storage", post(admin::storage::change))
        .route("/admin/operators", post(admin::operators::create))
        .route("/admin/operators/{operator_id}", post(admin::operators::change))
        .route("/admin/operators/{operator_id}/tokens", post(admin::operators::create_token))
        .route(
            "/admin/operators/{operator_id}/tokens/{token_id}/revoke",
            post(admin::operators::revoke_token),
        )
        .route("/account", get(account::show))
        .route("/account/password", post(account::change_password))
        .route("/account/memory", post(account::switch_memory))
        .route("/account/time-zone", post(account::set_time_zone))
        .route("/data", get(data::show))
        // It is streamed to a file, with its own limit.
        .route(
            "/data/import",
            post(data::import::post).layer(DefaultBodyLimit::max(data::import::BODY_BYTES_MAX)),
        )
        .route("/data/about", get(data::about::show).post(data::about::change))
        .route("/data/about.json", get(data::about::list))
        .route("/data/delete", post(data::delete_item))
        .route("/data/erase", post(data::erase_account))
        .route("/erased/{receipt}", get(data::receipt::show))
}
