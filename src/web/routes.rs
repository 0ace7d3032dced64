//! The whole route table, grouped by caller.

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Redirect;
use axum::routing::{any, get, post};
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::services::{ServeDir, ServeFile};
use tower_http::set_header::SetResponseHeaderLayer;

use super::error::{Problem, wrong_method};
use super::{
    AppState, address, api, auth, calls, cors, downloads, forms, frozen, headers, health, host,
    mcp, metrics, oauth, observe, pages, session, subpath, unread,
};

pub fn router(state: AppState) -> Router {
    // Leptos spawns its tasks on this runtime; setting it twice is harmless.
    any_spawner::Executor::init_tokio().ok();
    let routes = Router::new()
        .merge(probes())
        .merge(programs(&state))
        .merge(people(&state))
        .merge(files(&state))
        .layer(CatchPanicLayer::custom(|_| pages::broken()))
        .layer(from_fn_with_state(state.body_time, unread::finish))
        .layer(from_fn(headers::secure))
        .layer(from_fn_with_state(state.readiness.clone(), observe::request));
    let path = state.public_url.path();
    if path.is_empty() {
        return routes.with_state(state);
    }
    // Around the routing, which a layer of the routes is not.
    let translate = from_fn_with_state(Arc::<str>::from(path), subpath::translate);
    let routes = ServiceBuilder::new().layer(translate).service(routes.with_state(state));
    Router::new().fallback_service(routes)
}

/// For monitoring.
fn probes() -> Router<AppState> {
    Router::new()
        .route("/livez", get(health::livez))
        .route("/readyz", get(health::readyz))
        .route("/metrics", get(metrics::show))
        .method_not_allowed_fallback(|| async { wrong_method() })
}

/// For agents, by token.
fn programs(state: &AppState) -> Router<AppState> {
    let api = Router::new()
        .route("/api/v1/tools", get(api::tools::list))
        .route("/api/v1/tools/{name}", post(api::tools::call))
        .route("/api/v1/prompt", get(api::prompt::show))
        .route("/api/v1/summary", get(api::summary::show))
        .route("/api/v1/recall", post(api::summary::recall))
        .route("/api/v1/changes", get(api::changes::list))
        .route(
            "/api/v1/settings/secrets",
            get(api::secret_policy::show).put(api::secret_policy::save),
        )
        .route("/api/v1/documents", get(api::documents::list).delete(api::documents::clear))
        .route(
            "/api/v1/documents/{*path}",
            get(api::documents::show).put(api::documents::put).delete(api::documents::delete),
        )
        .route("/api/v1/sessions/{external_id}", get(api::sessions::show))
        .route(
            "/api/v1/sessions/{external_id}/messages",
            get(api::sessions::messages).post(api::sessions::add),
        )
        .route("/api/v1/sessions/{external_id}/complete", post(api::sessions::complete))
        .route("/api/v1/sessions/{external_id}/flush", post(api::flush::flush))
        .route("/api/v1/openapi.json", get(api::openapi::document))
        .route("/api/{*rest}", any(no_such_endpoint));
    let door = mcp::Door::new(state);
    let same = door.clone();
    let mcp = Router::new()
        .route(mcp::PATH, post(move |request| door.answer(request)))
        .route("/mcp/", post(move |request| same.answer(request)));
    // CORS comes last, so that it is in every answer.
    guarded(api, state)
        .merge(guarded(mcp, state).layer(cors::mcp()))
        .merge(guarded(clients(), state).layer(cors::oauth()))
}

/// The same for all programs, whatever they call.
fn guarded(routes: Router<AppState>, state: &AppState) -> Router<AppState> {
    routes
        .method_not_allowed_fallback(|| async { wrong_method() })
        .layer(from_fn_with_state(state.clone(), auth::scope_agent))
        .layer(from_fn(calls::hold))
        .layer(from_fn_with_state(state.clone(), address::refuse_tokens))
        .layer(from_fn_with_state(state.clone(), frozen::end_calls))
}

/// For OAuth clients.
fn clients() -> Router<AppState> {
    Router::new()
        .route("/.well-known/oauth-protected-resource", get(oauth::protected_resource))
        .route("/.well-known/oauth-protected-resource/mcp", get(oauth::protected_resource))
        .route("/.well-known/oauth-authorization-server", get(oauth::authorization_server))
        .route("/oauth/register", post(oauth::clients::register))
        .route("/oauth/token", post(oauth::tokens::token))
        .route("/oauth/revoke", post(oauth::tokens::revoke))
        .route("/.well-known/{*rest}", any(oauth::not_here))
}

/// For people, by web session.
fn people(state: &AppState) -> Router<AppState> {
    Router::new()
        .route("/", get(|| async { Redirect::to("/memory") }))
        .route("/login", get(pages::sign_in).post(forms::sign_in::sign_in))
        .route("/signup", post(forms::sign_in::sign_up))
        .route("/logout", post(forms::sign_in::sign_out))
        .route("/invitation/{token}", get(pages::open_to_all).post(forms::invitations::accept))
        .route("/reset/{token}", get(pages::open_to_all).post(forms::invitations::set_password))
        .route("/connect.py", get(downloads::connect))
        .route("/docs", get(pages::open_to_all))
        .route("/memory", get(pages::behind_sign_in))
        .route("/memory/{id}", get(pages::behind_sign_in).post(forms::manage::decide))
        .route("/agents", get(pages::behind_sign_in).post(forms::agents::create))
        .route("/oauth/authorize", get(forms::consent::show).post(forms::consent::decide))
        .route("/account/tokens", post(forms::account::end_tokens))
        .route("/agents/{agent_id}/tokens", post(forms::agents::create_token))
        .route("/agents/{agent_id}/tokens/{token_id}/revoke", post(forms::agents::revoke_token))
        .route("/agents/{agent_id}/memory", post(forms::agents::switch_memory))
        .route("/agents/{agent_id}/settings", post(forms::agents::change_settings))
        .route("/sessions", get(pages::behind_sign_in).post(forms::sessions::change))
        .route("/summary", get(pages::behind_sign_in).post(forms::summary::write_now))
        .route("/entities", get(pages::behind_sign_in))
        .route("/entities/pairs", post(forms::entities::pairs))
        .route("/entities/settings", post(forms::entities::settings))
        .route("/entities/{id}", get(pages::behind_sign_in).post(forms::entities::decide))
        .route("/documents", get(pages::behind_sign_in))
        .route("/documents/{id}", get(pages::behind_sign_in).post(forms::documents::decide))
        .route("/documents/{id}/erase", post(forms::documents::erase))
        .route("/documents/{id}/raw", get(downloads::document))
        .route("/graph", get(pages::behind_sign_in))
        .route("/sessions/{id}", get(pages::behind_sign_in))
        .route("/sessions/{id}/again", post(forms::sessions::read_again))
        .route("/sessions/{id}/erase", post(forms::sessions::erase))
        .route("/agents/{agent_id}/tools", post(forms::agents::choose_tools))
        .route("/agents/{agent_id}/undo", post(forms::agents::undo))
        .route("/agents/{agent_id}/team", post(forms::teams::change))
        .route("/team/{token}", get(pages::behind_sign_in).post(forms::teams::join))
        .route("/learned", get(pages::behind_sign_in).post(forms::learned::change))
        .route("/dreams", get(pages::behind_sign_in).post(forms::dreams::change))
        .route("/timeline", get(pages::behind_sign_in))
        .route("/activity", get(pages::behind_sign_in))
        .route("/used", get(pages::behind_sign_in))
        .route("/activity/queries", post(forms::activity::queries))
        .route("/settings/embeddings", get(pages::behind_sign_in).post(forms::embeddings::settings))
        .route("/settings/chat", get(pages::behind_sign_in).post(forms::chat::settings))
        .route("/settings/fading", get(pages::behind_sign_in).post(forms::fading::change))
        .route("/settings/webhooks", get(pages::behind_sign_in).post(forms::webhooks::change))
        .route("/settings/secrets", get(pages::behind_sign_in).post(forms::secrets::change))
        .route("/settings/work", get(pages::behind_sign_in))
        .route("/admin", get(pages::behind_sign_in))
        .route("/admin/jobs", get(pages::behind_sign_in).post(forms::jobs::change))
        .route("/admin/backups", get(pages::behind_sign_in).post(forms::backups::change))
        .route("/admin/users", get(pages::behind_sign_in))
        .route("/admin/users/{user_id}", post(forms::users::change))
        .route("/admin/users/{user_id}/reset", post(forms::users::make_reset_link))
        .route("/admin/invitations", post(forms::users::invite))
        .route("/admin/invitations/{invitation_id}/revoke", post(forms::users::revoke_invitation))
        .route("/admin/embeddings", post(forms::embeddings::system))
        .route("/admin/chat", post(forms::chat::system))
        .route("/admin/endpoints", post(forms::embeddings::allowed))
        .route("/admin/browser", post(forms::manage::browser))
        .route("/admin/storage", post(forms::storage::change))
        .route("/admin/operators", post(forms::operators::create))
        .route("/admin/operators/{operator_id}", post(forms::operators::change))
        .route("/admin/operators/{operator_id}/tokens", post(forms::operators::create_token))
        .route(
            "/admin/operators/{operator_id}/tokens/{token_id}/revoke",
            post(forms::operators::revoke_token),
        )
        .route("/account", get(pages::behind_sign_in))
        .route("/account/password", post(forms::account::change_password))
        .route("/account/memory", post(forms::account::switch_memory))
        .route("/account/time-zone", post(forms::account::set_time_zone))
        .route("/data", get(pages::behind_sign_in))
        .route("/data/export", get(downloads::export))
        // It is streamed to a file, with its own limit.
        .route(
            "/data/import",
            post(forms::data::import).layer(DefaultBodyLimit::max(forms::data::BODY_BYTES_MAX)),
        )
        .route("/data/imports/{id}/report.jsonl", get(downloads::import_report))
        .route("/data/about", get(pages::behind_sign_in).post(forms::about::change))
        .route("/data/about.json", get(forms::about::show))
        .route("/data/delete", post(forms::data::delete_item))
        .route("/data/erase", post(forms::data::erase_account))
        .route("/erased/{receipt}", get(pages::open_to_all))
        .route("/erased/{receipt}/receipt.json", get(downloads::receipt))
        .method_not_allowed_fallback(pages::wrong_method)
        .fallback(pages::not_found)
        .layer(
            ServiceBuilder::new()
                .layer(from_fn_with_state(state.clone(), frozen::end_visits))
                .layer(from_fn_with_state(state.clone(), host::check))
                .layer(from_fn_with_state(state.clone(), auth::check_origin))
                .layer(session::layer(state))
                .layer(from_fn_with_state(state.clone(), auth::identify_visitor)),
        )
        .layer(CompressionLayer::new().compress_when(headers::is_page))
        .layer(from_fn(headers::keep_queries_uncompressed))
}

/// Stylesheet, icons and islands: small, and revalidated so that changes take effect.
fn files(state: &AppState) -> Router<AppState> {
    let no_cache = SetResponseHeaderLayer::overriding(
        header::CACHE_CONTROL,
        HeaderValue::from_static("no-cache"),
    );
    // Its name has its version.
    let for_a_year = SetResponseHeaderLayer::overriding(
        header::CACHE_CONTROL,
        HeaderValue::from_static("public, max-age=31536000, immutable"),
    );
    let root = &state.site.root;
    let fonts = ServeDir::new(root.join("fonts"));
    let folder = ServeDir::new(root.join("pkg")).precompressed_gzip();
    let icon = ServeFile::new(root.join("favicon.svg")).precompressed_gzip();
    Router::new()
        .nest_service("/pkg", folder)
        .route_service("/favicon.svg", icon)
        .layer(no_cache)
        .nest_service("/fonts", ServiceBuilder::new().layer(for_a_year).service(fonts))
}

async fn no_such_endpoint() -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        "unknown_endpoint",
        "There is no such endpoint; the tools are at POST /api/v1/tools/{name}.",
    )
}
