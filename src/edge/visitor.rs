//! Who looks at a page: a signed-in person, or a stranger.

use axum::extract::FromRequestParts;
use axum::http::Method;
use axum::http::request::Parts;
use axum::response::Redirect;

use crate::accounts::{User, Viewer};

/// The signed-in person, for pages that require sign-in.
#[derive(Clone, Debug)]
pub struct SignedIn(pub User);

impl SignedIn {
    pub fn viewer(&self) -> Viewer {
        Viewer::person(self.0.id)
    }
}

/// Who a request's web session belongs to.
#[derive(Clone, Debug)]
pub enum Visitor {
    Stranger,
    SignedIn(SignedIn),
}

/// Redirects strangers to the sign-in page, and back afterwards.
impl<S: Send + Sync> FromRequestParts<S> for SignedIn {
    type Rejection = Redirect;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Redirect> {
        match parts.extensions.get::<Visitor>() {
            Some(Visitor::SignedIn(signed_in)) => Ok(signed_in.clone()),
            _ => Err(Redirect::to(&sign_in_url(parts))),
        }
    }
}

fn sign_in_url(parts: &Parts) -> String {
    let path = parts.uri.path_and_query().map_or("/memory", |p| p.as_str());
    match parts.method {
        Method::GET => {
            let next: String = url::form_urlencoded::byte_serialize(path.as_bytes()).collect();
            format!("/login?next={next}")
        }
        _ => "/login".to_owned(),
    }
}
