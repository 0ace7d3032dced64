//! Who looks at a page, and the answer when they may not act any more.

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use keepsake_edge::auth::{admit, find_visitor};
use keepsake_edge::error::{Problem, in_plain_text};
use keepsake_edge::visitor::Visitor;
use keepsake_edge::{AppState, session};
use tower_sessions::Session;

use crate::db::actor::{self, ActorRefusal};
use crate::forms::{FormName, FormState};
use crate::nowhere::refused;
use crate::page::Asked;
use crate::pages::login;

/// Identifies the visitor and adds it to the request. While the database is unavailable, nobody can be
/// identified, and the answer says so.
pub async fn identify_visitor(
    State(state): State<AppState>,
    session: Session,
    mut request: Request,
    next: Next,
) -> Response {
    let (visitor, call) = match admit(&state, &session).await {
        Ok(admitted) => admitted,
        Err(problem) => return in_plain_text(problem),
    };
    let actor = match &visitor {
        Visitor::SignedIn(signed_in) => session::actor(&session, signed_in.0.id),
        Visitor::Stranger => None,
    };
    request.extensions_mut().insert(visitor);
    let (response, refusal) = actor::scope(actor, &state.clock, next.run(request)).await;
    let response = match refusal {
        None => response,
        Some(refusal) => refuse(&state, &session, refusal).await,
    };
    match call {
        Some(call) => call.answered(response),
        None => response,
    }
}

/// Replaces the handler's response: the person was signed in, but has lost the permission to act since.
async fn refuse(state: &AppState, session: &Session, refusal: ActorRefusal) -> Response {
    let problem = Problem::from(refusal);
    if refusal != ActorRefusal::SignedOut {
        // The page shows what they may do now.
        return match find_visitor(state, session).await {
            Ok(visitor) => refused(state, visitor, problem).await,
            Err(problem) => in_plain_text(problem),
        };
    }
    let form = FormState {
        form: Some(FormName::Login),
        error: Some(problem.detail),
        ..FormState::default()
    };
    let page = Asked::new(state, Visitor::Stranger, form, "/login");
    let mut response = login::show(page).await;
    *response.status_mut() = problem.status;
    response
}
