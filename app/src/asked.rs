//! A request for a page: who asks, for what address, and how a form of the page ended.

use axum::extract::{Extension, FromRequestParts};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use keepsake_edge::visitor::Visitor;
use keepsake_edge::{AppState, flash};
use leptos::prelude::*;
use time::OffsetDateTime;
use url::form_urlencoded;

use crate::accounts::{User, UserId};
use crate::clock::Zone;
use crate::form::FormState;
use crate::moment::{Moment, moment};

/// A request for a page that is open to all.
#[derive(Clone)]
pub struct Asked {
    pub state: AppState,
    pub visitor: Visitor,
    /// How the form posted in this request ended; the default when none was.
    pub form: FormState,
    /// The path and the query, with no `?` before it.
    path: String,
    query: String,
}

impl Asked {
    /// `address` is a path with or without a query.
    pub fn new(state: &AppState, visitor: Visitor, form: FormState, address: &str) -> Self {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        Self { state: state.clone(), visitor, form, path: path.to_owned(), query: query.to_owned() }
    }

    /// The last part of the path: an id, or a token.
    pub fn id(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    pub fn query(&self) -> &str {
        &self.query
    }

    /// Each name and value of the query.
    pub fn asked_for_all(&self) -> Vec<(String, String)> {
        form_urlencoded::parse(self.query.as_bytes()).into_owned().collect()
    }

    /// The first value of this name in the query.
    pub fn asked_for(&self, name: &str) -> Option<String> {
        let mut pairs = form_urlencoded::parse(self.query.as_bytes());
        pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    }

    pub fn account(&self) -> Option<&User> {
        match &self.visitor {
            Visitor::SignedIn(signed_in) => Some(&signed_in.0),
            Visitor::Stranger => None,
        }
    }

    /// The time zone of the signed-in person.
    pub fn zone(&self) -> Zone {
        match &self.visitor {
            Visitor::SignedIn(signed_in) => signed_in.0.time_zone.clone(),
            Visitor::Stranger => Zone::utc(),
        }
    }

    /// As it is told now.
    pub fn moment(&self, at: OffsetDateTime) -> Moment {
        moment(at, self.state.clock.now())
    }
}

impl FromRequestParts<AppState> for Asked {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Response> {
        let visitor = Extension::<Visitor>::from_request_parts(parts, state).await;
        let Extension(visitor) = visitor.map_err(IntoResponse::into_response)?;
        let user = match &visitor {
            Visitor::SignedIn(signed_in) => Some(signed_in.0.id),
            Visitor::Stranger => None,
        };
        let (address, form) = asked_at(parts, state, user);
        Ok(Self::new(state, visitor, form, address))
    }
}

/// The address of a request, and what waits to be told there.
pub fn asked_at<'a>(
    parts: &'a Parts,
    state: &AppState,
    user: Option<UserId>,
) -> (&'a str, FormState) {
    let address = parts.uri.path_and_query().map_or("/", |address| address.as_str());
    let form = flash::take(state, user, address, &parts.headers);
    (address, form.unwrap_or_default())
}

/// The request whose page is being rendered.
pub fn asked() -> Asked {
    expect_context::<Asked>()
}
