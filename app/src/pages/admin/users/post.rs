//! The forms of Admin › Users: invite somebody, revoke an invitation, make a password reset link, and decide
//! who may sign in and who is an admin. Members get a 404.

use axum::extract::{Path, State};
use axum::response::Response;
use serde::Deserialize;

use super::show;
use crate::accounts::admin_events::{AdminAction, AdminActor};
use crate::accounts::invitations::InvitationId;
use crate::accounts::{Email, Role, UserId};
use crate::forms::{
    ActionForm, Admin, Field, Form, FormName, FormState, Outcome, Posted, done, page, parse_id,
    respond, unknown_action,
};
use crate::input::Invalid;
use keepsake_edge::AppState;

const PATH: &str = "/admin/users";
const FORM: FormName = FormName::People;

#[derive(Deserialize)]
pub struct InviteForm {
    email: Field,
    role: Field,
}

/// The only response that ever contains the link, so it cannot be a redirect.
pub async fn invite(_: Admin, Posted(posted, form): Posted<InviteForm>) -> Response {
    let state = &posted.state;
    let attempt = async {
        let form = form?;
        let email = match form.email.trim() {
            "" => None,
            text => Some(Email::parse(text)?),
        };
        let role = parse_role(&form.role)?;
        let admin = posted.user();
        let token = state.accounts.invite(admin, email.as_ref(), role).await?;
        let (server, token) = (state.public_url.as_str(), token.reveal());
        Ok(Outcome::from(FormState {
            new_link: Some(format!("{server}/invitation/{token}")),
            ..page(FormName::Invitation)
        }))
    };
    posted.respond(show, PATH, FormName::Invitation, attempt.await).await
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
        let (server, token) = (state.public_url.as_str(), token.reveal());
        Ok(Outcome::from(FormState {
            new_link: Some(format!("{server}/reset/{token}")),
            values: [("email".to_owned(), name)].into(),
            ..page(FormName::ResetLink)
        }))
    };
    let (outcome, fields) = (attempt.await, Form::default());
    respond(show, &state, signed_in, PATH, FORM, &fields, outcome).await
}

fn parse_role(text: &str) -> Result<Role, Invalid> {
    match text {
        "member" => Ok(Role::Member),
        "admin" => Ok(Role::Admin),
        _ => {
            Err(Invalid::new("role", "invalid_role", "`role` is not known; give member or admin."))
        }
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
    let (outcome, fields) = (attempt.await, Form::default());
    respond(show, &state, signed_in, PATH, FORM, &fields, outcome).await
}

pub async fn change(_: Admin, Posted(posted, form): Posted<ActionForm>) -> Response {
    let state = &posted.state;
    let attempt = async {
        let user = UserId(posted.id()?);
        let action = AdminAction::parse(&form?.action).ok_or_else(unknown_action)?;
        let by = AdminActor::Admin(posted.user());
        let name = state.accounts.change_person(by, user, action).await?;
        state.search.reader().forget(user);
        Ok(done(FORM, format!("{name} {}", became(action))))
    };
    posted.respond(show, PATH, FORM, attempt.await).await
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
