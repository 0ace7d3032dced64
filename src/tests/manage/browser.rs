//! The admin's setting *read-only browser*.

use reqwest::StatusCode;
use serde_json::{Value, json};
use time::Duration;

use super::Place;
use crate::pages::held_body::{held_form, sign_in};
use crate::support::Browser;

const PATH: &str = "/admin/browser";

impl Place {
    /// Signed in as an admin.
    async fn admin(&self) -> Browser {
        let zoe = self.app.user("zoe").await;
        self.app.make_admin(&zoe).await;
        self.app.signed_in(&zoe).await
    }
}

async fn set(admin: &Browser, action: &str, says: &str) {
    let answer = admin.post(PATH, &[("action", action)]).await;
    assert_eq!(answer.status(), StatusCode::OK);
    let page = answer.text().await.unwrap();
    assert!(page.contains(says), "{page}");
}

const CLOSED: &str = "The memory browser is now read-only for all users.";
const OPEN: &str = "Users can manage memories in the browser again.";

#[tokio::test]
async fn a_read_only_browser_has_no_section_and_takes_no_form_but_deletion() {
    let place = Place::start().await;
    let admin = place.admin().await;
    let id = place.fact("Anna keeps bees.").await;
    place.decide(id, "archive").await;
    let event = place.offered(id).await;
    set(&admin, "close", CLOSED).await;
    set(&admin, "close", CLOSED).await;
    let page = place.page(id).await;
    assert!(!page.contains("id=\"manage\""), "{page}");
    assert!(
        !page.contains("name=\"event\"")
            && !page.contains("<button type=\"submit\" name=\"action\"")
    );
    let before = place.row(id).await;
    for action in ["archive", "restore", "confirm", "unconfirm", "share", "own", "undo", "x"] {
        let fields = [("action", action), ("event", event.as_str())];
        let answer = place.post(id, &fields).await;
        if action == "x" {
            // Refused for what it says, or for where.
            assert!(answer.status().is_client_error());
            continue;
        }
        assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{action}");
        let told = answer.text().await.unwrap();
        assert!(told.contains("read-only; nothing was changed"), "{told}");
        assert!(told.contains("</html>"), "a page: {told}");
    }
    assert_eq!(place.row(id).await, before);
    // Agents go on, and deletion is a right.
    place.anna.call("memory_archive", json!({ "item_id": id })).await;
    let (_, data) = place.browser.get("/data").await;
    assert!(data.contains("Delete one memory"), "{data}");
    let item = id.to_string();
    let delete = |action| [("action", action), ("item", item.as_str())];
    for action in ["delete", "undo", "delete"] {
        let answer = place.browser.post("/data/delete", &delete(action)).await;
        assert_eq!(answer.status(), StatusCode::SEE_OTHER, "{action}");
    }
    let page = place.page(id).await;
    assert!(page.contains("deleted permanently in ten seconds"), "{page}");
    place.app.clock.advance(Duration::seconds(10));
    assert_eq!(place.app.run_job("delete").await, 1);

    let other = place.fact("Anna rows.").await;
    set(&admin, "open", OPEN).await;
    assert!(place.page(other).await.contains("id=\"manage\""));
    place.decide(other, "confirm").await;
    let events: Vec<(String, bool, Option<i64>)> = place.app.sql("SELECT action, by_command, subject_id FROM admin_events WHERE action LIKE '%browser' ORDER BY id").rows().await;
    let event = |action: &str| (action.to_owned(), false, None);
    assert_eq!(events, [event("close_browser"), event("open_browser")]);
    let (_, users) = admin.get("/admin/users").await;
    assert!(users.contains("made the memory browser read-only"), "{users}");
}

#[tokio::test]
async fn only_admins_set_it_and_what_is_unknown_is_refused() {
    let place = Place::start().await;
    let answer = place.browser.post(PATH, &[("action", "close")]).await;
    assert_eq!(answer.status(), StatusCode::NOT_FOUND);
    let admin = place.admin().await;
    let answer = admin.post(PATH, &[("action", "maybe")]).await;
    assert_eq!(answer.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let page = answer.text().await.unwrap();
    assert!(page.contains("`action` is not known"), "{page}");
    let set: bool = place.app.sql("SELECT read_only_browser FROM system_settings").value().await;
    assert!(!set);
}

#[tokio::test]
async fn the_setting_is_read_in_the_transaction_that_acts() {
    let place = Place::start().await;
    let admin = place.admin().await;
    let id = place.fact("Anna keeps bees.").await;
    let cookie = sign_in(&place.app, &place.anna).await;
    let path = format!("/memory/{id}");
    let held = held_form(&place.app, &cookie, &path, "action=archive").await;
    set(&admin, "close", CLOSED).await;
    let (status, said) = held.finish().await;
    assert_eq!(status, 403, "{said}");
    assert!(said.contains("read-only; nothing was changed"), "{said}");
    assert_eq!(place.row(id).await["status"], "active");
    let held = held_form(&place.app, &cookie, &path, "action=archive").await;
    set(&admin, "open", OPEN).await;
    assert_eq!(held.finish().await.0, 303);
    let row: Value = place.row(id).await;
    assert_eq!(row["status"], "archived");
}
