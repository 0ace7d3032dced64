//! The admin's setting *read-only browser*.

use serde_json::json;
use time::Duration;

use super::Place;
use crate::pages::held_body::{held_form, sign_in};
use crate::pages::{assert_has, assert_lacks};
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
    admin.says(200, PATH, &[("action", action)], says).await;
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
    assert_lacks(&page, &["id=\"manage\"", "name=\"event\""]);
    assert!(!page.contains("<button type=\"submit\" name=\"action\""));
    let before = place.row(id).await;
    for action in ["archive", "restore", "confirm", "unconfirm", "share", "own", "undo", "x"] {
        let fields = [("action", action), ("event", event.as_str())];
        if action == "x" {
            // Refused for what it says, or for where.
            assert!(place.post(id, &fields).await.status().is_client_error());
            continue;
        }
        let page = place.answers(403, id, &fields).await;
        assert_has(&page, &["read-only; nothing was changed", "</html>"]);
    }
    assert_eq!(place.row(id).await, before);
    // Agents go on, and deletion is a right.
    place.anna.call("memory_archive", json!({ "item_id": id })).await;
    assert_has(&place.browser.look("/data").await, &["Delete one memory"]);
    for action in ["delete", "undo", "delete"] {
        let fields = [("action", action), ("item", &id.to_string())];
        place.browser.answers(303, "/data/delete", &fields).await;
    }
    place.tells(id, &["deleted permanently in ten seconds"]).await;
    place.app.clock.advance(Duration::seconds(10));
    assert_eq!(place.app.run_job("delete").await, 1);

    let other = place.fact("Anna rows.").await;
    set(&admin, "open", OPEN).await;
    place.tells(other, &["id=\"manage\""]).await;
    place.decide(other, "confirm").await;
    let events: Vec<(String, bool, Option<i64>)> = place.app.sql("SELECT action, by_command, subject_id FROM admin_events WHERE action LIKE '%browser' ORDER BY id").rows().await;
    let event = |action: &str| (action.to_owned(), false, None);
    assert_eq!(events, [event("close_browser"), event("open_browser")]);
    assert_has(&admin.look("/admin/users").await, &["made the memory browser read-only"]);
}

#[tokio::test]
async fn only_admins_set_it_and_what_is_unknown_is_refused() {
    let place = Place::start().await;
    place.browser.answers(404, PATH, &[("action", "close")]).await;
    let admin = place.admin().await;
    admin.says(422, PATH, &[("action", "maybe")], "`action` is not known").await;
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
    assert_eq!(place.status(id).await, "active");
    let held = held_form(&place.app, &cookie, &path, "action=archive").await;
    set(&admin, "open", OPEN).await;
    assert_eq!(held.finish().await.0, 303);
    assert_eq!(place.status(id).await, "archived");
}
