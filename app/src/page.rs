//! A page: a request of a signed-in person for one, its document, and why there is none. A page's `show` loads what it tells and
//! renders it with [`Asked::render`]; nothing is awaited while a view is made, and nothing on a page waits for a script.

use std::ops::Deref;

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use keepsake_edge::error::{DATABASE_SENTENCE, Problem, RETRY_AFTER_S};
use keepsake_edge::flash;
use keepsake_edge::headers::page_policy;
use keepsake_edge::visitor::{SignedIn, Visitor};
use keepsake_edge::{AppState, subpath};
use leptos::nonce::use_nonce;
use leptos::prelude::*;
use leptos_axum::ResponseOptions;
use time::OffsetDateTime;

pub use crate::asked::{Asked, asked};

use crate::accounts::{AccountError, Role, Viewer};
use crate::asked::asked_at;
use crate::components::{Frame, Retired, Section, Trouble};
use crate::embedding::EmbeddingError;
use crate::form::FormState;
use crate::input::{Invalid, sentence};
use crate::jobs::{self, schedule};
use crate::memories::{MemoryError, Status, manage};
use crate::providers::chat::ChatError;
use crate::shell::{IslandsBuilt, shell};

/// Why a page could not be made. The sentence is for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageError {
    /// What the address asks for cannot be; otherwise the server cannot now.
    pub is_invalid: bool,
    pub sentence: String,
}

impl Asked {
    /// An expired item counts as archived even before the job has archived it.
    pub fn retired(
        &self,
        status: Status,
        is_superseded: bool,
        expires_at: Option<OffsetDateTime>,
    ) -> Option<Retired> {
        let is_past = expires_at.is_some_and(|at| at <= self.state.clock.now());
        match status {
            Status::Active if is_past => Some(Retired::Expired),
            Status::Active => None,
            Status::Archived if is_superseded => Some(Retired::Superseded),
            Status::Archived if is_past => Some(Retired::Expired),
            Status::Archived => Some(Retired::Archived),
        }
    }

    /// The page in its frame: what `view` makes of what was found, or why there is nothing, with a link to `href`.
    pub async fn render<T: Clone + Send + Sync + 'static>(
        &self,
        section: Section,
        title: impl Into<String>,
        href: impl Into<String>,
        found: Result<T, PageError>,
        view: impl Fn(T) -> AnyView + Clone + Send + Sync + 'static,
    ) -> Response {
        let (title, href, account) = (title.into(), href.into(), self.account().cloned());
        let failed = found.as_ref().err().cloned();
        let mut response = document(self.clone(), move || {
            let (title, href) = (title.clone(), href.clone());
            let body = match found.clone() {
                Ok(found) => view(found),
                Err(error) => {
                    view! { <Trouble title=title.clone() sentence=error.sentence href /> }
                        .into_any()
                }
            };
            view! {
                <Frame section title account=account.clone()>
                    {body}
                </Frame>
            }
            .into_any()
        })
        .await;
        if let Some(error) = failed {
            *response.status_mut() = match error.is_invalid {
                true => StatusCode::UNPROCESSABLE_ENTITY,
                false => StatusCode::SERVICE_UNAVAILABLE,
            };
            if !error.is_invalid {
                response.headers_mut().insert(header::RETRY_AFTER, RETRY_AFTER_S.into());
            }
        }
        response
    }
}

/// A request for a page of a signed-in person.
#[derive(Clone)]
pub struct Page {
    asked: Asked,
    pub signed_in: SignedIn,
    pub viewer: Viewer,
}

impl Page {
    pub fn new(state: &AppState, signed_in: SignedIn, form: FormState, address: &str) -> Self {
        let visitor = Visitor::SignedIn(signed_in.clone());
        let viewer = signed_in.viewer();
        Self { asked: Asked::new(state, visitor, form, address), signed_in, viewer }
    }

    pub fn is_admin(&self) -> bool {
        self.signed_in.0.role == Role::Admin
    }

    /// People decide about memories here: not where an admin has made the browser read-only.
    pub async fn is_manageable(&self) -> Result<bool, PageError> {
        let read_only = manage::is_browser_read_only(&self.state.db).await;
        Ok(!read_only.map_err(database)?)
    }

    /// A job's schedule in words, such as "every day at 04:00".
    pub async fn schedule_of(&self, job: &str) -> Result<String, PageError> {
        let mut conn = self.state.db.system_connection().await.map_err(database)?;
        let found = match jobs::find(job) {
            Some(job) => schedule::find(&mut conn, job).await.map_err(database)?,
            None => None,
        };
        Ok(found.map_or(String::new(), |schedule| schedule.to_string()))
    }
}

impl Deref for Page {
    type Target = Asked;

    fn deref(&self) -> &Asked {
        &self.asked
    }
}

/// Strangers are redirected to the sign-in page, and back afterwards.
impl FromRequestParts<AppState> for Page {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Response> {
        let signed_in = SignedIn::from_request_parts(parts, state).await;
        let signed_in = signed_in.map_err(IntoResponse::into_response)?;
        let (address, told) = asked_at(parts, state, Some(signed_in.0.id));
        Ok(Self::new(state, signed_in, told, address))
    }
}

/// The document around what `view` makes. Everything was loaded before, so that it needs nothing of the request's task; in a task
/// of its own it has a stack of its own, below which no layer stands.
async fn document(
    asked: Asked,
    view: impl Fn() -> AnyView + Clone + Send + Sync + 'static,
) -> Response {
    let state = asked.state.clone();
    let islands_built = state.site.islands_built;
    let has_flash = asked.form.has_news();
    let options = state.site.leptos.clone();
    let provide = move || {
        provide_context(asked.clone());
        provide_context(IslandsBuilt(islands_built));
        if let Some(nonce) = use_nonce()
            && let Ok(policy) = HeaderValue::from_str(&page_policy(&nonce))
        {
            expect_context::<ResponseOptions>()
                .insert_header(header::CONTENT_SECURITY_POLICY, policy);
        }
    };
    let rendered = tokio::spawn(async move {
        let render = leptos_axum::render_app_async_with_context(provide, move || {
            shell(options.clone(), view.clone())
        });
        render(Request::new(Body::empty())).await
    });
    let Ok(mut response) = rendered.await else {
        return broken();
    };
    if has_flash && let Some(cookie) = flash::forget(&state) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
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

/// The page after a panic: one sentence, without details.
pub fn broken() -> Response {
    tracing::error!("a request handler panicked");
    (StatusCode::INTERNAL_SERVER_ERROR, "Something broke on our side; nothing was changed.\n")
        .into_response()
}

pub fn invalid(invalid: Invalid) -> PageError {
    PageError { is_invalid: true, sentence: invalid.sentence }
}

pub fn database(error: sqlx::Error) -> PageError {
    // The conversion logs the error.
    let Problem { detail, .. } = error.into();
    PageError { is_invalid: false, sentence: detail }
}

pub fn memory_error(error: MemoryError) -> PageError {
    match error {
        MemoryError::Database(error) => database(error),
        MemoryError::Embedding(error) => embedding_error(error),
        MemoryError::NotFound(_) => {
            PageError { is_invalid: false, sentence: "There is no such memory.".to_owned() }
        }
        // Pages never add or correct items.
        error => PageError { is_invalid: true, sentence: sentence(&error.to_string()) },
    }
}

pub fn embedding_error(error: EmbeddingError) -> PageError {
    let problem = Problem::from(error);
    PageError { is_invalid: problem.status.is_client_error(), sentence: problem.detail }
}

pub fn chat_error(error: ChatError) -> PageError {
    let problem = Problem::from(error);
    PageError { is_invalid: problem.status.is_client_error(), sentence: problem.detail }
}

pub fn account_error(error: AccountError) -> PageError {
    match error {
        AccountError::Database(error) => database(error),
        _ => PageError { is_invalid: false, sentence: DATABASE_SENTENCE.to_owned() },
    }
}
