use keepsake::providers::chat::{ChatError, ChatPurpose};
use keepsake::providers::settings::{self, Effective, EndpointOwner, EndpointPurpose};
use keepsake::providers::{ProviderError, Reach};

use super::{KEY, anna_with, ask, chat, form, use_server};
use crate::support::Sql as _;
use crate::support::{ChatServer, Provider, TestApp};

#[tokio::test]
async fn an_answer_has_no_control_characters_but_newline_and_tab() {
    let (app, anna, _server) = anna_with("An\u{0}na\r\n\u{1b}has\ttea\u{7}.\u{85}").await;
    assert_eq!(ask(&app, &anna).await.unwrap().text, "Anna\nhas\ttea.");
}

#[tokio::test]
async fn ones_own_comes_before_the_servers_and_off_before_both() {
    let (app, anna) = TestApp::start_for("anna").await;
    let chat = chat(&app);
    let effective = async || chat.effective(anna.id, ChatPurpose::Facts).await.unwrap();
    assert!(effective().await.is_none());
    assert!(matches!(ask(&app, &anna).await, Err(ChatError::NoProvider)));
    let (own, all) = (ChatServer::saying("own").await, ChatServer::saying("all").await);
    chat.save_system(&form(&all.url(), KEY), "15000").await.unwrap();
    let of_all = effective().await.unwrap();
    assert_eq!((of_all.owner, of_all.cap), (EndpointOwner::System, 15_000));
    assert_eq!(of_all.endpoint.reach, Reach::Private);
    assert_eq!(ask(&app, &anna).await.unwrap().text, "all");
    use_server(&app, &anna, &own).await;
    let of_anna = effective().await.unwrap();
    assert_eq!((of_anna.owner, of_anna.cap), (EndpointOwner::User, 200_000));
    assert_eq!(ask(&app, &anna).await.unwrap().text, "own");
    // Each is sent its own key and no other.
    for server in [&own, &all] {
        assert_eq!(server.asked()[0].authorization, Some(format!("Bearer {KEY}")));
    }
    chat.set_enabled(anna.id, false).await.unwrap();
    assert!(effective().await.is_none());
    chat.set_enabled(anna.id, true).await.unwrap();
    chat.remove(anna.id).await.unwrap();
    assert_eq!(ask(&app, &anna).await.unwrap().text, "all");
    chat.save_system(&form("", ""), "").await.unwrap();
    let overview = chat.overview(anna.id).await.unwrap();
    assert_eq!(overview.effective, Effective::Nothing);
}

#[tokio::test]
async fn a_member_reaches_public_addresses_and_what_an_admin_has_allowed() {
    let app = TestApp::start().await;
    let (anna, ben) = (app.user("anna").await, app.user("ben").await);
    app.make_admin(&ben).await;
    let server = ChatServer::saying("{\"city\": \"Paris\"}").await;
    let (chat, url) = (chat(&app), server.url());
    let form = form(&url, "");
    assert_eq!(chat.test_own(anna.id, &form).await.unwrap().report, Err(ProviderError::Forbidden));
    // Saved it is called no more than tested.
    chat.save(anna.id, &form).await.unwrap();
    assert!(matches!(ask(&app, &anna).await, Err(ChatError::Provider(ProviderError::Forbidden))));
    assert!(server.asked().is_empty());
    assert!(chat.test_own(ben.id, &form).await.unwrap().report.is_ok());
    app.allow(&server.host_port()).await;
    assert!(ask(&app, &anna).await.is_ok());
    // What is no longer allowed is no longer called.
    let models = EndpointPurpose::Models;
    app.embeddings.disallow_endpoint(&server.host_port(), models).await.unwrap();
    assert!(ask(&app, &anna).await.is_err());
}

#[tokio::test]
async fn a_key_is_sealed_for_its_user_and_given_again_when_the_url_changes() {
    let (app, anna, server) = anna_with("Hi.").await;
    let kept: Vec<u8> = app.sql("SELECT sealed_key FROM chat_settings").value().await;
    assert!(!kept.windows(KEY.len()).any(|w| w == KEY.as_bytes()));
    // Saved again without a key, it stays.
    let chat = chat(&app);
    chat.save(anna.id, &form(&server.url(), "")).await.unwrap();
    ask(&app, &anna).await.unwrap();
    let moved = form("https://evil.example.com", "");
    let elsewhere = chat.save(anna.id, &moved).await;
    assert!(matches!(elsewhere, Err(ChatError::Invalid(i)) if i.code == "key_again"));
    assert!(matches!(chat.test_own(anna.id, &moved).await, Err(ChatError::Invalid(_))));
    // Copied into another's row it does not open.
    let ben = app.user("ben").await;
    use_server(&app, &ben, &server).await;
    app.sql("UPDATE chat_settings SET sealed_key = $1").bind(&kept).run().await;
    assert!(ask(&app, &anna).await.is_ok());
    assert!(matches!(ask(&app, &ben).await, Err(ChatError::Seal(_))));
}

#[tokio::test]
async fn nothing_of_chat_changes_a_vector() {
    let (app, anna) = TestApp::start_for("anna").await;
    let provider = Provider::start().await;
    app.use_provider(&anna, &provider, "model").await;
    anna.add("Anna keeps bees.").await;
    app.drain(&anna).await;
    let vectors = app.vectors(&anna, "active").await;
    let server = ChatServer::saying("Hi.").await;
    chat(&app).save_system(&form(&server.url(), KEY), "").await.unwrap();
    use_server(&app, &anna, &server).await;
    chat(&app).set_enabled(anna.id, false).await.unwrap();
    chat(&app).remove(anna.id).await.unwrap();
    app.embeddings.sweep().await.unwrap();
    app.drain(&anna).await;
    assert_eq!(app.vectors(&anna, "active").await, vectors);
    assert_eq!(app.embeddings.overview(anna.id).await.unwrap().rebuild.map(|_| ()), None);
}

#[tokio::test]
async fn nobody_elses_settings_or_spending_are_seen_and_the_servers_by_no_user() {
    let (app, anna, _server) = anna_with("Hi.").await;
    let ben = app.user("ben").await;
    ask(&app, &anna).await.unwrap();
    let overview = chat(&app).overview(ben.id).await.unwrap();
    assert_eq!(overview.settings.own.url, "");
    assert!(overview.days.len() == 30 && overview.days.iter().all(|day| day.calls == 0));
    for table in ["chat_settings", "chat_spend", "chat_reservations"] {
        let mut tx = app.db.as_user(ben.id).await.unwrap();
        assert_eq!(tx.count(table).await, 0, "{table}");
    }
    for (as_system, what) in [
        (false, "FROM system_chat_provider"),
        (true, "sealed_key FROM chat_settings"),
        (true, "endpoint FROM chat_settings"),
        (true, "FROM chat_spend"),
        (true, "FROM chat_reservations"),
    ] {
        let mut tx = match as_system {
            true => app.db.as_system().await.unwrap(),
            false => app.db.as_user(ben.id).await.unwrap(),
        };
        let refused = tx.sql(format!("SELECT {what}")).try_run().await.unwrap_err();
        assert!(refused.to_string().contains("permission denied"), "{what}");
    }
}

#[tokio::test]
async fn a_change_keeps_what_another_changes_at_the_same_time() {
    let (app, anna, _server) = anna_with("Hi.").await;
    let mut removal = app.db.as_writer(anna.id).await.unwrap();
    let update = "UPDATE chat_settings SET endpoint = '', sealed_key = NULL WHERE user_id = $1";
    removal.sql(update).bind(anna.id.0).run().await;
    let (chat, user) = (chat(&app), anna.id);
    let off = tokio::spawn(async move { chat.set_enabled(user, false).await });
    app.until_blocked(1).await;
    removal.commit().await.unwrap();
    off.await.unwrap().unwrap();
    let kept = app.sql("SELECT enabled, endpoint, sealed_key FROM chat_settings");
    let kept: (bool, String, Option<Vec<u8>>) = kept.row().await;
    assert_eq!(kept, (false, String::new(), None));
}

#[tokio::test]
async fn a_servers_key_that_an_admin_removes_is_not_written_again_by_another() {
    let app = TestApp::start().await;
    let server = ChatServer::saying("Hi.").await;
    let chat = chat(&app);
    chat.save_system(&form(&server.url(), KEY), "").await.unwrap();
    let mut removal = app.db.as_system().await.unwrap();
    settings::store::lock_system_settings(&mut removal).await.unwrap();
    removal.sql("UPDATE system_chat_provider SET endpoint = '', sealed_key = NULL").run().await;
    let url = server.url();
    let again = tokio::spawn(async move { chat.save_system(&form(&url, ""), "15000").await });
    app.until_blocked(1).await;
    removal.commit().await.unwrap();
    again.await.unwrap().unwrap();
    let key: Option<Vec<u8>> = app.sql("SELECT sealed_key FROM system_chat_provider").value().await;
    assert_eq!(key, None);
}
