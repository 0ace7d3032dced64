//! There is no such page, or what was sent is refused and no page can show why: says so, and shows the way back.

use axum::extract::{Extension, State};
use axum::http::{Method, StatusCode, header};
use axum::response::Response;
use keepsake_edge::AppState;
use keepsake_edge::error::Problem;
use keepsake_edge::visitor::{SignedIn, Visitor};
use leptos::prelude::*;

use crate::components::{NoSuchPage, Section};
use crate::forms::FormState;
use crate::page::Asked;

/// No page is there.
const NOWHERE: &str = "/no-such-page";

/// For an address that no page has.
pub async fn not_found(
    State(state): State<AppState>,
    Extension(visitor): Extension<Visitor>,
) -> Response {
    answer(&state, visitor, None, StatusCode::NOT_FOUND).await
}

/// A 404 for forms that this visitor may not use.
pub async fn not_found_for(state: &AppState, signed_in: SignedIn) -> Response {
    answer(state, Visitor::SignedIn(signed_in), None, StatusCode::NOT_FOUND).await
}

/// A page with the sentence of the problem, where no form or page can show it.
pub async fn refused(state: &AppState, visitor: Visitor, problem: Problem) -> Response {
    let retry_after_s = problem.retry_after_s();
    let mut response = answer(state, visitor, Some(problem.detail), problem.status).await;
    if let Some(seconds) = retry_after_s {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

async fn answer(
    state: &AppState,
    visitor: Visitor,
    error: Option<String>,
    status: StatusCode,
) -> Response {
    let form = FormState { error, ..FormState::default() };
    let mut response = show(Asked::new(state, visitor, form, NOWHERE)).await;
    *response.status_mut() = status;
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

async fn show(page: Asked) -> Response {
    let error = page.form.error.clone();
    let title = if error.is_some() { "Refused" } else { "Not found" };
    page.render(Section::Elsewhere, title, "/memory", Ok(error), |error| match error {
        Some(sentence) => view! {
            <div class="prose">
                <h1>"That did not work"</h1>
                <p role="alert">{sentence}</p>
                <p>
                    <a href="/memory">"Go to Memory"</a>
                </p>
            </div>
        }
        .into_any(),
        None => view! { <NoSuchPage /> }.into_any(),
    })
    .await
}
