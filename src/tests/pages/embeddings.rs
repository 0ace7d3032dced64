use super::{assert_has, endpoint_form};
use crate::support::{Provider, TestApp};
use crate::turns::{ended, message};

#[tokio::test(crate = "crate::support::shared")]
async fn the_memory_page_shows_each_items_state_and_filters_by_it() {
    let (app, anna) = TestApp::with_user().await;
    let provider = Provider::start().await;
    app.use_provider(&anna, &provider, "model").await;
    anna.add("the ready one").await;
    anna.add("the poison one").await;
    provider.behave(|b| b.poison = Some("poison"));
    app.drain(&anna).await;
    anna.add("the pending one").await;
    let browser = app.signed_in(&anna).await;
    for state in ["ready", "error", "pending"] {
        let shown = if state == "error" { "poison" } else { state };
        for words in ["", "&q=one"] {
            let page = browser.look(&format!("/memory?embedding={state}{words}")).await;
            assert!(page.contains(&format!("the {shown}")), "{state}{words}");
            assert_eq!(page.matches("data-row=").count(), 1, "{state}{words}");
        }
    }
    let page = browser.look("/memory").await;
    assert_eq!(page.matches("data-row=").count(), 3);
    assert!(page.contains("The endpoint failed with status 500."));
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_list_found_by_words_alone_says_why() {
    let (app, anna) = TestApp::with_user().await;
    let provider = Provider::start().await;
    app.use_provider(&anna, &provider, "model").await;
    anna.add("Anna keeps bees.").await;
    app.drain(&anna).await;
    provider.behave(|b| b.status = Some(503));
    let browser = app.signed_in(&anna).await;
    let page = browser.look("/memory?q=bees").await;
    assert!(page.contains("The endpoint failed with status 503; found by words alone."));
}

#[tokio::test]
async fn the_admin_page_and_its_forms_are_not_there_for_members_and_a_stranger_signs_in_first() {
    let (app, anna, ben) = TestApp::start_for_two().await;
    app.make_admin(&anna).await;
    for path in ["/settings/embeddings", "/admin"] {
        assert_eq!(app.browser().get(path).await.0, 303, "{path}");
    }
    let browser = app.signed_in(&ben).await;
    assert_eq!(browser.get("/admin").await.0, 404);
    for (path, fields) in [
        ("/admin/embeddings", [("action", "builtin_off"), ("url", "")]),
        ("/admin/endpoints", [("action", "add"), ("endpoint", "127.0.0.1:80")]),
    ] {
        browser.answers(404, path, &fields).await;
    }
    let overview = app.embeddings.system_overview().await.unwrap();
    assert!(overview.settings.builtin_enabled && overview.allowed.is_empty());
    let browser = app.signed_in(&anna).await;
    assert_eq!(browser.get("/admin").await.0, 200);
    for (endpoint, purpose, status, told) in [
        ("127.0.0.1:80", "", 303, ""),
        ("127.0.0.1:80", "webhooks", 303, ""),
        ("127.0.0.1:80", "mail", 422, "none of models, webhooks and clients"),
        ("nonsense", "webhooks", 422, "is not host:port"),
    ] {
        let fields = [("action", "add"), ("endpoint", endpoint), ("purpose", purpose)];
        browser.says(status, "/admin/endpoints", &fields, told).await;
    }
    let remove = [("action", "remove"), ("endpoint", "127.0.0.1:80"), ("purpose", "models")];
    browser.says(303, "/admin/endpoints", &remove, "").await;
    let left = app.embeddings.system_overview().await.unwrap().allowed;
    assert_eq!(left, [("127.0.0.1".to_owned(), 80, "webhooks".to_owned())]);
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_wrong_setting_stands_beside_its_field_and_changes_nothing_and_no_key_comes_back() {
    let (app, anna, browser) = TestApp::with_browser().await;
    let own = endpoint_form("save", "https://api.example.com/v1", "text-embedding-3-large");
    let fields = [&own[..], &[("dimensions", "3072"), ("key", "sk-secret-key")]].concat();
    let page = browser.answers(422, "/settings/embeddings", &fields).await;
    assert!(page.contains("`dimensions` is out of range; give 1 to 1024"));
    assert!(page.contains("text-embedding-3-large") && !page.contains("sk-secret-key"));
    assert!(!app.embeddings.overview(anna.id).await.unwrap().settings.own_enabled);
    browser.answers(422, "/settings/embeddings", &[("action", "explode")]).await;
    let stolen = endpoint_form("confirm", "https://a.example", "m");
    let stolen = [&stolen[..], &[("staged", "bm9uc2Vuc2U")]].concat();
    browser.answers(422, "/settings/embeddings", &stolen).await;
}

#[tokio::test]
async fn a_rebuild_counts_memories_and_messages_apart() {
    let (app, anna, ben) = TestApp::start_for_two().await;
    app.make_admin(&ben).await;
    let provider = Provider::start().await;
    app.use_provider(&anna, &provider, "model").await;
    anna.add("Anna keeps bees.").await;
    let said = [message("m1", "user", "I live in Porto."), message("m2", "assistant", "Noted.")];
    ended(&app, &anna, "s1", &said).await;
    let browser = app.signed_in(&anna).await;
    let page = browser.look("/memory").await;
    assert!(page.contains("Embedding 0 of 1 memory;"));
    app.drain(&anna).await;
    let all = "3 texts (1 memory, 2 from messages and documents)";
    let page = browser.look("/settings/embeddings").await;
    let again = format!("{all} will be embedded again by");
    assert_has(&page, &[&format!("All {all} ready"), &again]);
    let url = provider.url();
    let save = endpoint_form("save", &url, "other");
    let (_, asked) = browser.submit("/settings/embeddings", &save).await;
    assert!(asked.contains(&format!("{all} will be rebuilt with other")));
    app.embeddings.rebuild(anna.id).await.unwrap();
    let page = browser.look("/settings/embeddings").await;
    assert!(page.contains("0 of 3 texts"));
    let admin = app.signed_in(&ben).await;
    let save = [("action", "save"), ("url", &url), ("model", "other")];
    let (_, asked) = admin.submit("/admin/embeddings", &save).await;
    assert!(asked.contains(&format!("{all} of 1 user will be rebuilt")));
}

#[tokio::test(crate = "crate::support::shared")]
async fn the_link_to_all_that_failed_leads_to_archived_ones_too() {
    let (app, anna) = TestApp::with_user().await;
    let provider = Provider::start().await;
    app.use_provider(&anna, &provider, "model").await;
    provider.behave(|b| b.poison = Some("poison"));
    let mut last = 0;
    for n in 0..6 {
        last = anna.add(&format!("poison number {n}")).await;
    }
    app.drain(&anna).await;
    let archive = serde_json::json!({ "item_id": last });
    anna.call("memory_archive", archive).await;
    let browser = app.signed_in(&anna).await;
    let page = browser.look("/settings/embeddings").await;
    let link = page.split("href=\"").find(|rest| rest.contains("See all"));
    let link = link.expect("a link to all");
    let link = link.split('"').next().unwrap().replace("&amp;", "&");
    let all = browser.look(&link).await;
    assert!(all.contains("poison number 5"), "{link}: {all}");
}
