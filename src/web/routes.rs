//! The whole route table, grouped by caller.

use std::sync::Arc;

use app::docs::DocsPage;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{any, get, post};
use axum::{Extension, Router};
use tower::ServiceBuilder;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;
use tower_http::services::{ServeDir, ServeFile};
use tower_http::set_header::SetResponseHeaderLayer;

use super::api::openapi::Published;
use super::error::{Problem, wrong_method};
use super::{
    AppState, address, api, auth, calls, cors, downloads, frozen, headers, health, host, mcp,
    metrics, oauth, observe, session, subpath, unread,
};

pub fn router(state: AppState) -> Router {
    // Leptos spawns its tasks on this runtime; setting it twice is harmless.
    any_spawner::Executor::init_tokio().ok();
    let published = Published::new(&state.registry, &state.public_url);
    let docs = api::openapi::page(&published, state.public_url.as_str());
    let routes = Router::new()
        .merge(probes())
        .merge(programs(&state, Arc::new(published)))
        .merge(people(&state, Arc::new(docs)))
        .merge(files(&state))
        .layer(CatchPanicLayer::custom(|_| app::broken()))
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
fn programs(state: &AppState, published: Arc<Published>) -> Router<AppState> {
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
        .route("/api/v1/openapi.json", get(move || std::future::ready(published.answer())))
        .route("/api/{*rest}", any(no_such_endpoint));
    let door = mcp::Door::new(state);
    let same = door.clone();
    let mcp = Router::new()
        .route("/mcp", post(move |request| door.answer(request)))
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
        .route("/oauth/register", post(oauth::register))
        .route("/oauth/token", post(oauth::tokens::token))
        .route("/oauth/revoke", post(oauth::tokens::revoke))
        .route("/.well-known/{*rest}", any(oauth::not_here))
}

/// For people, by web session.
fn people(state: &AppState, docs: Arc<DocsPage>) -> Router<AppState> {
    app::pages()
        .route("/connect.py", get(downloads::connect))
        .route("/documents/{id}/raw", get(downloads::document))
        .route("/data/export", get(downloads::export))
        .route("/data/imports/{id}/report.jsonl", get(downloads::import_report))
        .route("/erased/{receipt}/receipt.json", get(downloads::receipt))
        .method_not_allowed_fallback(app::wrong_method)
        .fallback(app::not_found)
        .layer(Extension(docs))
        .layer(
            ServiceBuilder::new()
                .layer(from_fn_with_state(state.clone(), frozen::end_visits))
                .layer(from_fn_with_state(state.clone(), host::check))
                .layer(from_fn_with_state(state.clone(), auth::check_origin))
                .layer(session::layer(state))
                .layer(from_fn_with_state(state.clone(), app::identify_visitor)),
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
