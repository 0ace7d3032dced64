use keepsake::accounts::Password;
use keepsake::accounts::admin_events::{AdminAction, AdminActor};
use reqwest::StatusCode;

use crate::support::Sql as _;
use crate::support::{Browser, PASSWORD, TestApp, TestUser};

const NEW: &str = "a wholly new password";

struct Place {
    app: TestApp,
    anna: TestUser,
    admin: Browser,
    ben: TestUser,
}

impl Place {
    async fn start() -> Self {
        let (app, anna) = TestApp::start_for("anna").await;
        app.make_admin(&anna).await;
        let admin = app.signed_in(&anna).await;
        let ben = app.user("ben").await;
        Self { app, anna, admin, ben }
    }

    async fn make_link(&self) -> String {
        let path = format!("/admin/users/{}/reset", self.ben.id.0);
        let response = self.admin.post(&path, &[]).await;
        assert_eq!(response.status(), StatusCode::OK);
        let page = response.text().await.unwrap();
        let at = page.find("/reset/").expect("a link on the page");
        // The form's own action ends in /reset.
        page[at..].chars().take("/reset/".len() + 64).collect()
    }

    async fn sign_in(&self, password: &str) -> StatusCode {
        let fields = [("email", self.ben.email.as_str()), ("password", password)];
        self.app.browser().post("/login", &fields).await.status()
    }

    async fn events(&self) -> Vec<String> {
        let events = self.app.accounts.list_admin_events().await.unwrap();
        events.into_iter().map(|event| event.action).collect()
    }
}

async fn use_link(app: &TestApp, link: &str, password: &str) -> (StatusCode, String) {
    let response = app.browser().post(link, &[("password", password)]).await;
    let status = response.status();
    (status, response.text().await.unwrap())
}

#[tokio::test]
async fn a_reset_link_sets_the_password_once_and_signs_every_browser_out() {
    let place = Place::start().await;
    let app = &place.app;
    let bens = app.signed_in(&place.ben).await;
    let link = place.make_link().await;
    assert!(!place.admin.get("/admin/users").await.1.contains(&link), "shown once");
    assert_eq!(bens.get("/memory").await.0, 200, "nothing ends before it is used");

    let (status, page) = app.browser().get(&link).await;
    assert!(status == 200 && page.contains("ben@example.com"), "{page}");
    let (status, page) = use_link(app, &link, "short").await;
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(page.contains("at least 10 characters"), "{page}");
    let (status, page) = use_link(app, &link, NEW).await;
    assert_eq!(status, StatusCode::OK);
    assert!(page.contains("Your new password is set"), "{page}");

    assert_eq!(bens.get("/memory").await.0, 303, "signed out");
    assert_eq!(place.sign_in(PASSWORD).await, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(place.sign_in(NEW).await, StatusCode::SEE_OTHER);
    assert_eq!(place.events().await, ["use_reset_link", "make_reset_link"]);
    let (status, page) = use_link(app, &link, PASSWORD).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(page.contains("This link cannot be used"), "{page}");
}

#[tokio::test]
async fn a_password_that_its_person_changes_ends_an_open_reset_link() {
    let place = Place::start().await;
    let app = &place.app;
    let bens = app.signed_in(&place.ben).await;
    let link = place.make_link().await;
    let fields = [("current_password", PASSWORD), ("new_password", NEW)];
    let changed = bens.post("/account/password", &fields).await;
    assert_eq!(changed.status(), StatusCode::OK);
    assert_eq!(bens.get("/memory").await.0, 200, "this browser stays");
    let (status, _) = use_link(app, &link, "another long one").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_eq!(place.sign_in(NEW).await, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_reset_link_that_is_over_reads_the_same_whatever_the_reason() {
    let place = Place::start().await;
    let app = &place.app;
    let replaced = place.make_link().await;
    let of_another_kind =
        app.accounts.invite(place.anna.id, None, keepsake::accounts::Role::Member).await.unwrap();
    let of_another_kind = format!("/reset/{}", of_another_kind.reveal());
    let current = place.make_link().await;
    assert_eq!(app.browser().get(&current).await.0, 200);
    let as_invitation = current.replace("/reset/", "/invitation/");
    assert_eq!(app.browser().get(&as_invitation).await.0, 404, "makes no account");
    app.clock.advance(time::Duration::hours(25));
    let never = format!("/reset/{}", "0".repeat(64));
    for link in [replaced, current, never, of_another_kind, "/reset/cut".to_owned()] {
        let (status, page) = app.browser().get(&link).await;
        assert_eq!(status, 404, "{link}");
        assert!(page.contains("This link cannot be used"), "{page}");
        let (status, page) = use_link(app, &link, NEW).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{link}");
        assert!(page.contains("This link cannot be used"), "{page}");
    }
    assert_eq!(place.sign_in(PASSWORD).await, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_new_password_enables_nobody_and_a_demoted_admins_links_end() {
    let place = Place::start().await;
    let app = &place.app;
    let change = |user, act| app.accounts.change_person(AdminActor::Command, user, act);
    change(place.ben.id, AdminAction::Disable).await.unwrap();
    let link = place.make_link().await;
    assert_eq!(use_link(app, &link, NEW).await.0, StatusCode::OK);
    assert_eq!(place.sign_in(NEW).await, StatusCode::UNPROCESSABLE_ENTITY, "still disabled");
    let link = place.make_link().await;
    let zoe = app.user("zoe").await;
    app.make_admin(&zoe).await;
    change(place.anna.id, AdminAction::Demote).await.unwrap();
    assert_eq!(app.browser().get(&link).await.0, 404);
}

#[tokio::test]
async fn a_password_set_at_the_command_line_signs_every_browser_out_and_is_recorded() {
    let place = Place::start().await;
    let bens = place.app.signed_in(&place.ben).await;
    let link = place.make_link().await;
    let password = Password::parse_new("password", NEW).unwrap();
    let accounts = &place.app.accounts;
    accounts.set_password(place.ben.id, password).await.unwrap();
    assert_eq!(bens.get("/memory").await.0, 303, "signed out");
    assert_eq!(place.app.browser().get(&link).await.0, 404, "no second way in is left open");
    assert_eq!(place.sign_in(NEW).await, StatusCode::SEE_OTHER);
    assert_eq!(place.events().await[0], "set_password");
}

/// The change is under way in another transaction while the old password is verified.
#[tokio::test]
async fn a_sign_in_with_the_old_password_does_not_outlive_the_change() {
    let place = Place::start().await;
    let app = &place.app;
    let mut conn = app.superuser().await;
    let hash = "UPDATE users SET password_hash = 'another' WHERE email = 'ben@example.com'";
    let ended = "DELETE FROM web_sessions s USING users u WHERE u.id = s.user_id AND u.email = 'ben@example.com'";
    let change = format!("BEGIN; {hash}; {ended}");
    conn.sql(change).run_all().await;
    let signing_in = async { place.sign_in(PASSWORD).await };
    let finishing = async {
        app.until_blocked(1).await;
        conn.sql("COMMIT").run_all().await;
    };
    let (status, ()) = tokio::join!(signing_in, finishing);
    assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY);
    let left: i64 = app.sql("SELECT count(*) FROM web_sessions s JOIN users u ON u.id = s.user_id WHERE u.email = 'ben@example.com'").value().await;
    assert_eq!(left, 0);
}

#[tokio::test]
async fn what_admins_do_to_operators_and_providers_is_recorded() {
    let place = Place::start().await;
    for (path, fields) in [
        ("/admin/operators", &[("name", "shop"), ("users_max", "5"), ("scope", "memory:read")][..]),
        ("/admin/operators/1", &[("users_max", "7")]),
        ("/admin/operators/1/tokens", &[("scope", "memory:read")]),
        ("/admin/operators/1/tokens/1/revoke", &[]),
        ("/admin/embeddings", &[("action", "save"), ("url", "http://127.0.0.1:9")]),
        ("/admin/embeddings", &[("action", "save"), ("url", "")]),
        ("/admin/embeddings", &[("action", "builtin_off")]),
        ("/admin/embeddings", &[("action", "builtin_on")]),
        (
            "/admin/chat",
            &[
                ("action", "save"),
                ("provider_type", "openai"),
                ("url", "http://127.0.0.1:9/v1"),
                ("model", "m"),
            ],
        ),
        ("/admin/chat", &[("action", "save"), ("url", "")]),
        ("/admin/endpoints", &[("action", "add"), ("endpoint", "127.0.0.1:9")]),
        ("/admin/endpoints", &[("action", "remove"), ("endpoint", "127.0.0.1:9")]),
    ] {
        let response = place.admin.post(path, fields).await;
        assert!(response.status().as_u16() < 400, "{path} {}", response.text().await.unwrap());
    }
    let mut events = place.events().await;
    events.reverse();
    assert_eq!(
        events,
        [
            "make_operator",
            "make_service_token",
            "change_operator",
            "make_service_token",
            "revoke_service_token",
            "set_provider",
            "remove_provider",
            "builtin_off",
            "builtin_on",
            "set_chat",
            "remove_chat",
            "allow_endpoint",
            "disallow_endpoint",
        ]
    );
    let (_, page) = place.admin.get("/admin/users").await;
    assert!(page.contains("revoked a service token of") && page.contains("shop"), "{page}");
}
