//! The forms of Admin › Users: invite somebody, revoke an invitation, make a password reset link, and decide
//! who may sign in and who is an admin. Members get a 404.

use app::view::FormState;
use axum::extract::{Path, RawForm, State};
use axum::http::StatusCode;
use axum::response::Response;

use super::{Form, Outcome, done, failed, parse_id, respond, unknown_action};
use crate::accounts::admin_events::{AdminAction, AdminActor};
use crate::accounts::invitations::InvitationId;
use crate::accounts::{Email, Role, UserId};
use crate::input::Invalid;
use crate::web::AppState;
use crate::web::auth::{Admin, Visitor};
use crate::web::error::Problem;
use crate::web::pages::after_form;

const PATH: &str = "/admin/users";

/// The only response that ever contains the link, so it cannot be a redirect.
pub async fn invite(
    State(state): State<AppState>,
    Admin(signed_in): Admin,
    body: RawForm,
) -> Response {
    let form = Form::parse(&body);
    let attempt = async {
        let email = match form.get("email").trim() {
            "" => None,
            text => Some(Email::parse(text)?),
        };
        let role = parse_role(form.get("role"))?;
        let admin = signed_in.0.id;
        let token = state.accounts.invite(admin, email.as_ref(), role).await?;
        Ok::<_, Problem>(FormState {
            form: "invitation".to_owned(),
            new_link: Some(format!(
                "{}/invitation/{}",
                state.public_url.origin(),
                token.reveal()
            )),
            ..FormState::default()
        })
    };
    let (status, outcome) = match attempt.await {
        Ok(page) => (StatusCode::OK, page),
        Err(problem) => failed("invitation", &form, problem),
    };
    after_form(&state, Visitor::SignedIn(signed_in), PATH, outcome, status).await
}

/// Like an invitation: the only response that ever contains the link.
pub async fn make_reset_link(
    State(state): State<AppState>,
    Admin(signed_in): Admin,
    Path(user): Path<String>,
) -> Response {
    let attempt = async {
        let user = UserId(parse_id(&user)?);
        let admin = signed_in.0.id;
        let (name, token) = state.accounts.make_reset_link(admin, user).await?;
        let origin = state.public_url.origin();
        Ok::<_, Problem>(FormState {
            form: "reset_link".to_owned(),
            new_link: Some(format!("{origin}/reset/{}", token.reveal())),
            values: [("email".to_owned(), name)].into(),
            ..FormState::default()
        })
    };
    let (status, outcome) = match attempt.await {
        Ok(page) => (StatusCode::OK, page),
        Err(problem) => failed("people", &Form(Vec::new()), problem),
    };
    after_form(&state, Visitor::SignedIn(signed_in), PATH, outcome, status).await
}

fn parse_role(text: &str) -> Result<Role, Invalid> {
    match text {
        "member" => Ok(Role::Member),
        "admin" => Ok(Role::Admin),
        _ => Err(Invalid::new(
            "role",
            "invalid_role",
            "`role` is not known; give member or admin.",
        )),
    }
}

pub async fn revoke_invitation(
    State(state): State<AppState>,
    Admin(signed_in): Admin,
    Path(invitation): Path<String>,
) -> Response {
    let attempt = async {
        let id = InvitationId(parse_id(&invitation)?);
        let admin = signed_in.0.id;
        state.accounts.revoke_invitation(admin, id).await?;
        Ok(Outcome::Redirect)
    };
    let (outcome, form) = (attempt.await, Form(Vec::new()));
    respond(&state, signed_in, PATH, "people", &form, outcome).await
}

pub async fn change(
    State(state): State<AppState>,
    Admin(signed_in): Admin,
    Path(user): Path<String>,
    body: RawForm,
) -> Response {
    let form = Form::parse(&body);
    let attempt = async {
        let user = UserId(parse_id(&user)?);
        let action = AdminAction::parse(form.get("action")).ok_or_else(unknown_action)?;
        let by = AdminActor::Admin(signed_in.0.id);
        let name = state.accounts.change_person(by, user, action).await?;
        state.search.reader().forget(user);
        Ok(done("people", format!("{name} {}", became(action))))
    };
    let outcome = attempt.await;
    respond(&state, signed_in, PATH, "people", &form, outcome).await
}

fn became(action: AdminAction) -> &'static str {
    match action {
        AdminAction::Disable => {
            "was disabled: every browser is signed out, and their tokens no longer work."
        }
        AdminAction::Enable => {
            "was enabled: they can sign in, and their agents' tokens work again."
        }
        AdminAction::Promote => "is now an admin.",
        _ => "is no longer an admin.",
    }
}
