//! Renders the pages of `app`, with a backend, a nonce and a policy for each request.

use std::sync::Arc;

use app::IslandsBuilt;
use app::backend::Backend;
use app::view::FormState;
use axum::body::{Body, to_bytes};
use axum::extract::{Extension, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use leptos::nonce::use_nonce;
use leptos::prelude::{expect_context, provide_context};
use leptos_axum::ResponseOptions;

use super::error::Problem;
use super::headers::page_policy;
use super::ui::Ui;
use super::visitor::{SignedIn, Visitor};
use super::{AppState, subpath};

/// No page is there.
const NOWHERE: &str = "/no-such-page";

pub async fn behind_sign_in(
    State(state): State<AppState>,
    signed_in: SignedIn,
    request: Request,
) -> Response {
    let visitor = Visitor::SignedIn(signed_in);
    render(&state, visitor, FormState::default(), request).await
}

pub async fn open_to_all(
    State(state): State<AppState>,
    Extension(visitor): Extension<Visitor>,
    request: Request,
) -> Response {
    render(&state, visitor, FormState::default(), request).await
}

/// Redirects to the memory page if already signed in.
pub async fn sign_in(
    State(state): State<AppState>,
    Extension(visitor): Extension<Visitor>,
    request: Request,
) -> Response {
    match visitor {
        Visitor::SignedIn(_) => Redirect::to("/memory").into_response(),
        Visitor::Stranger => render(&state, visitor, FormState::default(), request).await,
    }
}

pub async fn not_found(
    State(state): State<AppState>,
    Extension(visitor): Extension<Visitor>,
    request: Request,
) -> Response {
    let mut response = render(&state, visitor, FormState::default(), request).await;
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

/// A 404 for forms that this visitor may not use.
pub async fn not_found_for(state: &AppState, signed_in: SignedIn) -> Response {
    let visitor = Visitor::SignedIn(signed_in);
    let form = FormState::default();
    after_form(state, visitor, NOWHERE, form, StatusCode::NOT_FOUND).await
}

/// A page with the sentence of the problem, where no form or page can show it.
pub async fn refused(state: &AppState, visitor: Visitor, problem: Problem) -> Response {
    let retry_after_s = problem.retry_after_s();
    let form = FormState { error: Some(problem.detail), ..FormState::default() };
    let mut response = after_form(state, visitor, NOWHERE, form, problem.status).await;
    if let Some(seconds) = retry_after_s {
        let headers = response.headers_mut();
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// For addresses that only forms are sent to, and pages that take none.
pub async fn wrong_method(
    State(state): State<AppState>,
    Extension(visitor): Extension<Visitor>,
    method: Method,
) -> Response {
    let sentence = match method.is_safe() {
        true => "This is where a form is sent to; it is no page.",
        false => "This page takes no form.",
    };
    let problem = Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", sentence);
    refused(&state, visitor, problem).await
}

/// Renders the page at `path` as the response to a posted form.
pub async fn after_form(
    state: &AppState,
    visitor: Visitor,
    path: &str,
    form: FormState,
    status: StatusCode,
) -> Response {
    let mut request = Request::new(Body::empty());
    *request.uri_mut() = path.parse().unwrap_or_default();
    let mut response = render(state, visitor, form, request).await;
    *response.status_mut() = status;
    response
}

/// The page after a panic: one sentence, without details.
pub fn broken() -> Response {
    tracing::error!("a request handler panicked");
    (StatusCode::INTERNAL_SERVER_ERROR, "Something broke on our side; nothing was changed.\n")
        .into_response()
}

async fn render(state: &AppState, visitor: Visitor, form: FormState, request: Request) -> Response {
    let backend: Arc<dyn Backend> = Arc::new(Ui::new(state, visitor, form));
    let islands_built = state.site.islands_built;
    let provide = move || {
        provide_context(backend.clone());
        provide_context(IslandsBuilt(islands_built));
        if let Some(nonce) = use_nonce()
            && let Ok(policy) = HeaderValue::from_str(&page_policy(&nonce))
        {
            expect_context::<ResponseOptions>()
                .insert_header(header::CONTENT_SECURITY_POLICY, policy);
        }
    };
    let options = state.site.leptos.clone();
    let render =
        leptos_axum::render_app_async_with_context(provide, move || app::shell(options.clone()));
    let response = render(request).await;
    match state.public_url.path() {
        "" => response,
        path => under(path, response).await,
    }
}

/// The page with the path of the public address before its own addresses.
async fn under(path: &str, response: Response) -> Response {
    let (parts, body) = response.into_parts();
    match to_bytes(body, usize::MAX).await {
        Ok(page) => {
            let page = subpath::addressed(path, &String::from_utf8_lossy(&page));
            Response::from_parts(parts, Body::from(page))
        }
        Err(_) => broken(),
    }
}
