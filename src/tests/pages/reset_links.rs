use keepsake::accounts::Password;
use keepsake::accounts::admin_events::{AdminAction, AdminActor};

use super::endpoint_form;
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
        let (app, anna, admin) = TestApp::start_with_admin().await;
        let ben = app.user("ben").await;
        Self { app, anna, admin, ben }
    }

    async fn make_link(&self) -> String {
        let path = format!("/admin/users/{}/reset", self.ben.id.0);
        let page = self.admin.answers(200, &path, &[]).await;
        let at = page.find("/reset/").expect("a link on the page");
        // The form's own action ends in /reset.
        page[at..].chars().take("/reset/".len() + 64).collect()
    }

    /// Gives the status.
    async fn sign_in(&self, password: &str) -> u16 {
        let fields = [("email", self.ben.email.as_str()), ("password", password)];
        self.app.browser().submit("/login", &fields).await.0
    }

    async fn events(&self) -> Vec<String> {
        let events = self.app.accounts.list_admin_events().await.unwrap();
        events.into_iter().map(|event| event.action.to_string()).collect()
    }
}

/// Is answered with this status. Gives the page.
async fn use_link(app: &TestApp, link: &str, password: &str, status: u16) -> String {
    app.browser().answers(status, link, &[("password", password)]).await
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
    let page = use_link(app, &link, "short", 422).await;
    assert!(page.contains("at least 10 characters"), "{page}");
    let page = use_link(app, &link, NEW, 200).await;
    assert!(page.contains("Your new password is set"), "{page}");

    assert_eq!(bens.get("/memory").await.0, 303, "signed out");
    assert_eq!(place.sign_in(PASSWORD).await, 422);
    assert_eq!(place.sign_in(NEW).await, 303);
    assert_eq!(place.events().await, ["use_reset_link", "make_reset_link"]);
    let page = use_link(app, &link, PASSWORD, 404).await;
    assert!(page.contains("This link cannot be used"), "{page}");
}

#[tokio::test]
async fn a_password_that_its_person_changes_ends_an_open_reset_link() {
    let place = Place::start().await;
    let app = &place.app;
    let bens = app.signed_in(&place.ben).await;
    let link = place.make_link().await;
    let fields = [("current_password", PASSWORD), ("new_password", NEW)];
    bens.answers(200, "/account/password", &fields).await;
    assert_eq!(bens.get("/memory").await.0, 200, "this browser stays");
    use_link(app, &link, "another long one", 404).await;
    assert_eq!(place.sign_in(NEW).await, 303);
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
        let page = use_link(app, &link, NEW, 404).await;
        assert!(page.contains("This link cannot be used"), "{page}");
    }
    assert_eq!(place.sign_in(PASSWORD).await, 303);
}

#[tokio::test]
async fn a_new_password_enables_nobody_and_a_demoted_admins_links_end() {
    let place = Place::start().await;
    let app = &place.app;
    let change = |user, act| app.accounts.change_person(AdminActor::Command, user, act);
    change(place.ben.id, AdminAction::Disable).await.unwrap();
    let link = place.make_link().await;
    use_link(app, &link, NEW, 200).await;
    assert_eq!(place.sign_in(NEW).await, 422, "still disabled");
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
    place.app.accounts.set_password(place.ben.id, password).await.unwrap();
    assert_eq!(bens.get("/memory").await.0, 303, "signed out");
    assert_eq!(place.app.browser().get(&link).await.0, 404, "no second way in is left open");
    assert_eq!(place.sign_in(NEW).await, 303);
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
    conn.sql(format!("BEGIN; {hash}; {ended}")).run_all().await;
    let signing_in = place.sign_in(PASSWORD);
    let finishing = async {
        app.until_blocked(1).await;
        conn.sql("COMMIT").run_all().await;
    };
    let (status, ()) = tokio::join!(signing_in, finishing);
    assert_eq!(status, 422);
    let sessions = app.sql("SELECT count(*) FROM web_sessions WHERE user_id = $1");
    assert_eq!(sessions.bind(place.ben.id.0).value::<i64>().await, 0);
}

#[tokio::test]
async fn what_admins_do_to_operators_and_providers_is_recorded() {
    let place = Place::start().await;
    let operator = [("name", "shop"), ("users_max", "5"), ("scope", "memory:read")];
    let [action, _, own @ ..] = endpoint_form("save", "http://127.0.0.1:9/v1", "m");
    let chat = [&[action][..], &own].concat();
    let endpoint = ("endpoint", "127.0.0.1:9");
    let mut expected = Vec::new();
    for (path, fields, told) in [
        ("/admin/operators", &operator[..], "make_operator make_service_token"),
        ("/admin/operators/1", &[("users_max", "7")], "change_operator"),
        ("/admin/operators/1/tokens", &[("scope", "memory:read")], "make_service_token"),
        ("/admin/operators/1/tokens/1/revoke", &[], "revoke_service_token"),
        ("/admin/embeddings", &[("action", "save"), ("url", "http://127.0.0.1:9")], "set_provider"),
        ("/admin/embeddings", &[("action", "save"), ("url", "")], "remove_provider"),
        ("/admin/embeddings", &[("action", "builtin_off")], "builtin_off"),
        ("/admin/embeddings", &[("action", "builtin_on")], "builtin_on"),
        ("/admin/chat", &chat[..], "set_chat"),
        ("/admin/chat", &[("action", "save"), ("url", "")], "remove_chat"),
        ("/admin/endpoints", &[("action", "add"), endpoint], "allow_endpoint"),
        ("/admin/endpoints", &[("action", "remove"), endpoint], "disallow_endpoint"),
    ] {
        let (status, page) = place.admin.submit(path, fields).await;
        assert!(status < 400, "{path}: {status} {page}");
        expected.extend(told.split(' '));
    }
    expected.reverse();
    assert_eq!(place.events().await, expected);
    let (_, page) = place.admin.get("/admin/users").await;
    assert!(page.contains("revoked a service token of") && page.contains("shop"), "{page}");
}
