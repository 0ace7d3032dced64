//! The pages as plain HTML: what a browser without JavaScript does.

mod accounts;
mod activity;
mod agents;
mod any_day;
mod docs;
mod documents;
mod embeddings;
mod entities;
pub mod every_route;
pub mod held_body;
mod memory;
mod memory_switch;
mod operators;
mod payloads;
mod pictures;
mod reset_links;
mod sessions;
mod sign_in;
mod subpath;
mod told_once;
mod users;
mod work;

use crate::support::{Browser, TestApp, TestUser, without_marks};

impl TestApp {
    /// A member on the shared server, with a browser that is signed in.
    pub async fn with_browser() -> (&'static Self, TestUser, Browser) {
        let (app, user) = Self::with_user().await;
        let browser = app.signed_in(&user).await;
        (app, user, browser)
    }

    /// The same on a server of its own.
    pub async fn start_with_browser() -> (Self, TestUser, Browser) {
        let (app, user) = Self::start_for("anna").await;
        let browser = app.signed_in(&user).await;
        (app, user, browser)
    }

    /// The same, of an admin.
    pub async fn start_with_admin() -> (Self, TestUser, Browser) {
        let (app, user) = Self::start_for("anna").await;
        app.make_admin(&user).await;
        let browser = app.signed_in(&user).await;
        (app, user, browser)
    }

    /// A server of its own with two members.
    pub async fn start_for_two() -> (Self, TestUser, TestUser) {
        let (app, anna) = Self::start_for("anna").await;
        let ben = app.user("ben").await;
        (app, anna, ben)
    }
}

impl Browser {
    /// Posts a form. Gives status and page of the answer.
    pub async fn submit(&self, path: &str, fields: &[(&str, &str)]) -> (u16, String) {
        let response = self.post(path, fields).await;
        let status = response.status().as_u16();
        (status, without_marks(&response.text().await.unwrap()))
    }

    /// Posts a form that is to be answered with this status. Gives the page.
    pub async fn answers(&self, status: u16, path: &str, fields: &[(&str, &str)]) -> String {
        let (found, page) = self.submit(path, fields).await;
        assert_eq!(found, status, "{path} {fields:?}: {page}");
        page
    }

    /// Posts a form that is to be answered with this status, and a page with this sentence.
    pub async fn says(&self, status: u16, path: &str, fields: &[(&str, &str)], sentence: &str) {
        let page = self.answers(status, path, fields).await;
        assert!(page.contains(sentence), "{path} {fields:?}: {sentence}: {page}");
    }
}

/// Each of these stands on the page.
#[track_caller]
pub fn assert_has(page: &str, parts: &[&str]) {
    for part in parts {
        assert!(page.contains(*part), "{part} is not there: {page}");
    }
}

/// None of these stands on the page.
#[track_caller]
pub fn assert_lacks(page: &str, parts: &[&str]) {
    for part in parts {
        assert!(!page.contains(*part), "{part} is there: {page}");
    }
}

/// What stands on the page after this, up to that.
#[track_caller]
pub fn between<'a>(page: &'a str, from: &str, until: &str) -> &'a str {
    let rest = page.split_once(from).unwrap_or_else(|| panic!("{from} is not there: {page}")).1;
    rest.split(until).next().unwrap()
}

/// What is posted of an endpoint for embeddings or chat.
fn endpoint_form<'a>(action: &'a str, url: &'a str, model: &'a str) -> [(&'a str, &'a str); 5] {
    let own = ("own_enabled", "1");
    [("action", action), own, ("provider_type", "openai"), ("url", url), ("model", model)]
}

/// The address of the page's first form whose address ends so.
fn action_in(page: &str, end: &str) -> String {
    let mut actions = page.split("action=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    actions.find(|action| action.ends_with(end)).expect("a form").to_owned()
}

/// The token that a page shows once.
fn token_in(page: &str) -> String {
    let at = page.find("ks_").expect("a token on the page");
    page[at..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
}
