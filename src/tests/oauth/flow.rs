//! What goes well: from a 401 to a tool's answer, and to the end of the connection.

use serde_json::{Value, json};
use time::Duration;

use super::{
    CALLBACK, Connecting, ISSUER, answer_of, is_invalid_grant, opens, post, register, text,
};
use crate::backup::{backed_up, restored, server_of};
use crate::mcp::Mcp;
use crate::support::{Browser, PASSWORD, TestApp, Wish, fresh_database};
use crate::teams::agent_id;

async fn json_at(app: &TestApp, path: &str) -> Value {
    let response = reqwest::get(format!("{}{path}", app.base)).await.unwrap();
    assert_eq!(response.status(), 200, "{path}");
    assert_eq!(response.headers()["access-control-allow-origin"], "*");
    response.json().await.unwrap()
}

/// A client of a server with this public address finds its way from a 401.
async fn is_led_from_a_401(app: &TestApp, issuer: &str, host: &str) {
    let at_mcp = reqwest::Client::new().post(format!("{}/mcp", app.base)).json(&json!({}));
    let refused = at_mcp.header("host", host).send().await.unwrap();
    assert_eq!(refused.status(), 401);
    let metadata = format!("{issuer}/.well-known/oauth-protected-resource/mcp");
    let challenge = format!(
        "Bearer realm=\"keepsake\", resource_metadata=\"{metadata}\", scope=\"memory:read memory:write\""
    );
    assert_eq!(refused.headers()["www-authenticate"], challenge);
    let resource = json_at(app, "/.well-known/oauth-protected-resource/mcp").await;
    assert_eq!(resource, json_at(app, "/.well-known/oauth-protected-resource").await);
    let server = json_at(app, "/.well-known/oauth-authorization-server").await;
    let told = format!("{resource:#}\n{server:#}").replace(issuer, "ISSUER");
    insta::allow_duplicates! { insta::assert_snapshot!(told, @r#"
    {
      "authorization_servers": [
        "ISSUER"
      ],
      "bearer_methods_supported": [
        "header"
      ],
      "resource": "ISSUER/mcp",
      "resource_name": "Keepsake",
      "scopes_supported": [
        "memory:read",
        "memory:write"
      ]
    }
    {
      "authorization_endpoint": "ISSUER/oauth/authorize",
      "authorization_response_iss_parameter_supported": true,
      "client_id_metadata_document_supported": true,
      "code_challenge_methods_supported": [
        "S256"
      ],
      "grant_types_supported": [
        "authorization_code",
        "refresh_token"
      ],
      "issuer": "ISSUER",
      "registration_endpoint": "ISSUER/oauth/register",
      "response_modes_supported": [
        "query"
      ],
      "response_types_supported": [
        "code"
      ],
      "revocation_endpoint": "ISSUER/oauth/revoke",
      "revocation_endpoint_auth_methods_supported": [
        "none"
      ],
      "scopes_supported": [
        "memory:read",
        "memory:write"
      ],
      "token_endpoint": "ISSUER/oauth/token",
      "token_endpoint_auth_methods_supported": [
        "none"
      ]
    }
    "#); }
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_client_finds_its_way_from_a_401() {
    let app = TestApp::shared().await;
    is_led_from_a_401(app, ISSUER, &app.base["http://".len()..]).await;
}

#[tokio::test]
async fn a_public_address_is_what_a_client_is_told() {
    let public_url = Some("https://k.example");
    let app = TestApp::start_as(Wish { public_url, ..Wish::default() }).await;
    is_led_from_a_401(&app, "https://k.example", "k.example").await;
}

#[tokio::test]
async fn under_a_path_a_client_is_led_there_and_its_token_opens_that_address_alone() {
    const ADDRESS: &str = "http://127.0.0.1:3000/tools/keepsake";
    const RESOURCE: (&str, &str) = ("resource", "http://127.0.0.1:3000/tools/keepsake/mcp");
    let mut app = TestApp::start_as(Wish { public_url: Some(ADDRESS), ..Wish::default() }).await;
    let anna = app.user("anna").await;
    let names = ["oauth-protected-resource", "oauth-authorization-server", "openid-configuration"];
    let at = async |root: &str, path: &str| {
        let response = reqwest::get(format!("{root}{path}")).await.unwrap();
        (response.status().as_u16(), response.json::<Value>().await.unwrap())
    };
    for (name, end) in names.into_iter().zip(["/mcp", "", ""]) {
        let root = format!("/.well-known/{name}/tools/keepsake{end}");
        let below = format!("/tools/keepsake/.well-known/{name}{end}");
        let told = at(&app.base, &root).await;
        assert_eq!(told.0, if name == "openid-configuration" { 404 } else { 200 }, "{root}");
        assert_eq!(at(&app.base, &below).await, told);
        assert!(told.1.to_string().contains(ADDRESS), "{}", told.1);
        assert_eq!(at(&app.base, &format!("/.well-known/{name}/elsewhere{end}")).await.0, 404);
    }
    let mut tokens = Vec::new();
    let root = app.base.clone();
    let below = format!("{root}/tools/keepsake");
    for base in [below.clone(), root] {
        app.base = base;
        is_led_from_a_401(&app, ADDRESS, "127.0.0.1:3000").await;
        let body = json!({ "redirect_uris": [CALLBACK], "client_name": "Claude" });
        let (_, registered) = register(&app, &body).await;
        // The cookie is sent below the path only, as by a browser.
        let browser = Browser::at(below.clone());
        browser.sign_in(&anna).await;
        let connecting = Connecting { app: &app, browser, client: text(&registered, "client_id") };
        let name = format!("Claude {}", tokens.len());
        let agent = [("agent", "new"), ("name", name.as_str())];
        let elsewhere = ("resource", "http://127.0.0.1:3000/mcp");
        let refused = connecting.allow(&connecting.path(&[elsewhere]), &agent).await;
        assert_eq!(refused.status(), 400);
        let allowed = connecting.allow(&connecting.path(&[RESOURCE]), &agent).await;
        let location = allowed.headers()["location"].to_str().unwrap().to_owned();
        let answer: std::collections::BTreeMap<_, _> =
            url::Url::parse(&location).unwrap().query_pairs().into_owned().collect();
        assert_eq!(answer["iss"], ADDRESS, "{location}");
        let (status, told) = connecting.redeem(&answer["code"], &[RESOURCE]).await;
        assert_eq!(status, 200, "{told}");
        assert!(opens(&app, &told).await);
        tokens.push(told);
    }
    let database = Some(app.options.clone());
    let moved = TestApp::start_as(Wish { database, ..Wish::default() }).await;
    assert!(!opens(&moved, &tokens[0]).await);
}

#[tokio::test]
async fn an_allowed_client_remembers_refreshes_and_is_revoked_and_no_secret_is_stored() {
    let (app, anna) = TestApp::start_for("anna").await;
    let connecting = Connecting::start(&app, &anna).await;
    let path = connecting.path(&[]);
    let page = connecting.browser.look(&path).await;
    for said in
        ["Claude", "claude.ai", "unverified", "memory:read", "memory:write", "a new agent", "Deny"]
    {
        assert!(page.contains(said), "{said}");
    }
    let allowed = connecting.allow(&path, &[("agent", "new"), ("name", "Claude web")]).await;
    let answer = answer_of(&allowed, CALLBACK);
    assert_eq!(answer["state"], "st4te");
    let (status, tokens) = connecting.redeem(&answer["code"], &[]).await;
    assert_eq!(status, 200, "{tokens}");
    assert_eq!((&tokens["token_type"], &tokens["expires_in"]), (&json!("Bearer"), &json!(3600)));
    assert_eq!(tokens["scope"], "memory:read memory:write");
    let (access, refresh) = (text(&tokens, "access_token"), text(&tokens, "refresh_token"));
    for table in ["agent_tokens", "oauth_grants", "oauth_clients", "web_sessions"] {
        let rows = format!("SELECT coalesce(string_agg(t::text, ' '), '') FROM {table} t");
        let all: String = app.sql(rows).value().await;
        for secret in [&answer["code"][..], &access[3..67], &refresh[4..68], &refresh[68..]] {
            assert!(!all.contains(secret), "{table}");
        }
    }

    let mcp = Mcp::with_token(&app, &access);
    let fact = json!({ "type": "fact", "content": "Anna plays the oboe." });
    let added = mcp.call("memory_add", fact).await;
    let (_, shown) = connecting.browser.get(&format!("/memory/{}", added["id"])).await;
    assert!(shown.contains("Claude web"), "written as the agent that was chosen");

    app.clock.advance(Duration::minutes(61));
    let (status, refused) = mcp.ask("tools/list", json!({})).await;
    assert_eq!((status, &refused["error"]["data"]["code"]), (401, &json!("expired_token")));
    let (status, renewed) = connecting.refresh(&refresh).await;
    assert_eq!(status, 200, "{renewed}");
    assert_ne!(renewed["access_token"], tokens["access_token"]);
    let mcp = Mcp::with_token(&app, &text(&renewed, "access_token"));
    mcp.call("memory_get", json!({ "item_id": added["id"] })).await;

    let (_, agents) = connecting.browser.get("/agents").await;
    assert!(agents.contains("claude.ai") && agents.contains("Claude web"), "{agents}");
    let revoke = agents.split('"').find(|action| action.ends_with("/revoke")).unwrap();
    assert_eq!(connecting.browser.post(revoke, &[]).await.status(), 303);
    let (status, refused) = mcp.ask("tools/list", json!({})).await;
    assert_eq!((status, &refused["error"]["data"]["code"]), (401, &json!("revoked_token")));
    is_invalid_grant(connecting.refresh(&text(&renewed, "refresh_token")).await);
}

#[tokio::test]
async fn a_person_signs_in_and_says_no_or_chooses_the_agent_and_fewer_permissions() {
    let (app, anna) = TestApp::start_for("anna").await;
    let connecting = Connecting::start(&app, &anna).await;
    // A stranger signs in first, and comes back to the same request.
    let path = connecting.path(&[]);
    let stranger = app.browser();
    let sent = stranger.client.get(format!("{}{path}", app.base)).send().await.unwrap();
    let login = sent.headers()["location"].to_str().unwrap();
    let next = login.strip_prefix("/login?").expect("the sign-in");
    let next: Vec<_> = url::form_urlencoded::parse(next.as_bytes()).into_owned().collect();
    assert_eq!(next, [("next".to_owned(), path.clone())]);
    let fields = [("email", anna.email.as_str()), ("password", PASSWORD), ("next", &path)];
    let signed_in = stranger.post("/login", &fields).await;
    assert_eq!(signed_in.headers()["location"].to_str().unwrap(), path);
    assert!(stranger.look(&path).await.contains("claude.ai"));
    // No is told to the client, and changes nothing.
    let denied = connecting.browser.post(&path, &[("action", "deny")]).await;
    let answer = answer_of(&denied, CALLBACK);
    assert_eq!((answer["error"].as_str(), answer["state"].as_str()), ("access_denied", "st4te"));
    assert_eq!(app.accounts.list_agents(anna.id).await.unwrap().len(), 1);
    let agent = agent_id(&app, &anna, "agent").await.0.to_string();
    let fields = [("action", "allow"), ("agent", &agent), ("scope", "memory:read")];
    let allowed = connecting.browser.post(&path, &fields).await;
    let code = answer_of(&allowed, CALLBACK)["code"].clone();
    let (_, tokens) = connecting.redeem(&code, &[]).await;
    assert_eq!(tokens["scope"], "memory:read");
    let mcp = Mcp::with_token(&app, &text(&tokens, "access_token"));
    let refused = mcp.result("memory_add", json!({ "type": "fact", "content": "x" })).await;
    assert_eq!(refused["isError"], true);
    // What was not asked for is not given, even if the form says it.
    let read_only = connecting.path(&[("scope", "memory:read")]);
    let allowed = connecting.allow(&read_only, &[("agent", "new"), ("name", "reader")]).await;
    let code = answer_of(&allowed, CALLBACK)["code"].clone();
    assert_eq!(connecting.redeem(&code, &[]).await.1["scope"], "memory:read");
    assert_eq!(app.accounts.list_agents(anna.id).await.unwrap().len(), 2);
    // A page whose agents cannot be read is none to decide on.
    app.sql("REVOKE SELECT ON agents FROM keepsake_app").run().await;
    let (status, page) = connecting.browser.get(&path).await;
    assert!(status == 503 && !page.contains("cannot be connected"), "{status} {page}");
}

#[tokio::test]
async fn a_person_chooses_the_list_of_tools_and_chatgpt_is_suggested_its_own() {
    let (app, anna) = TestApp::start_for("anna").await;
    let mut connecting = Connecting::start(&app, &anna).await;
    let profile_of = async |name: &str| {
        let agents = app.accounts.list_agents(anna.id).await.unwrap();
        let of = agents.into_iter().find(|(agent, _)| agent.name == name);
        of.unwrap_or_else(|| panic!("{name}")).0.profile.as_str()
    };
    let path = connecting.path(&[]);
    let (_, page) = connecting.browser.get(&path).await;
    assert!(page.contains("core; existing agents keep theirs"), "{page}");
    for (name, chosen, profile) in [
        ("plain", "", "core"),
        ("wide", "full", "full"),
        ("small", "single", "single"),
        ("reads", "connector", "connector"),
    ] {
        let fields = [("agent", "new"), ("name", name), ("tools", chosen)];
        answer_of(&connecting.allow(&path, &fields).await, CALLBACK);
        assert_eq!(profile_of(name).await, profile, "{name}");
    }
    let wrong = [("agent", "new"), ("name", "wrong"), ("tools", "everything")];
    let refused = connecting.allow(&path, &wrong).await;
    assert_eq!(refused.status(), 422);
    let page = refused.text().await.unwrap();
    assert!(page.contains("Choose one of the lists of tools."), "{page}");
    // An existing agent keeps its list, unless another is chosen.
    let wide = agent_id(&app, &anna, "wide").await.0.to_string();

    let callback = "https://chatgpt.com/connector/oauth/abc123";
    let body = json!({ "redirect_uris": [callback], "client_name": "ChatGPT" });
    connecting.client = text(&register(&app, &body).await.1, "client_id");
    let path = connecting.path(&[("redirect_uri", callback)]);
    let (_, page) = connecting.browser.get(&path).await;
    assert!(page.contains("connector; existing agents keep theirs"), "{page}");
    let new = [("agent", "new"), ("name", "ChatGPT"), ("tools", "")];
    let allowed = connecting.allow(&path, &new).await;
    assert_eq!(profile_of("ChatGPT").await, "connector");
    answer_of(&connecting.allow(&path, &[("agent", &wide)]).await, callback);
    assert_eq!(profile_of("wide").await, "full");
    let chosen = [("agent", wide.as_str()), ("tools", "core")];
    answer_of(&connecting.allow(&path, &chosen).await, callback);
    assert_eq!(profile_of("wide").await, "core");

    let code = answer_of(&allowed, callback)["code"].clone();
    let (status, tokens) = connecting.redeem(&code, &[("redirect_uri", callback)]).await;
    assert_eq!(status, 200, "{tokens}");
    let mcp = Mcp::with_token(&app, &text(&tokens, "access_token"));
    let (_, listed) = mcp.ask("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(names, ["search", "fetch"]);
    let (_, page) = connecting.browser.get("/agents").await;
    assert!(page.contains(">connector<") && page.contains("chatgpt.com"));
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_program_on_ones_own_machine_may_use_another_port() {
    let (app, anna) = TestApp::with_user().await;
    let mut connecting = Connecting::start(app, &anna).await;
    let body = json!({ "redirect_uris": ["http://127.0.0.1/callback"], "token_endpoint_auth_method": "client_secret_post" });
    let (status, registered) = register(app, &body).await;
    assert_eq!((status, &registered["token_endpoint_auth_method"]), (201, &json!("none")));
    assert!(registered.get("client_secret").is_none());
    connecting.client = text(&registered, "client_id");
    let callback = "http://127.0.0.1:43211/callback";
    let path = connecting.path(&[("redirect_uri", callback)]);
    let (_, page) = connecting.browser.get(&path).await;
    assert!(page.contains("127.0.0.1:43211") && page.contains("your own machine"));
    let code = connecting.code_at(callback, &[("agent", "new"), ("name", "cli")]).await;
    assert_eq!(connecting.redeem(&code, &[("redirect_uri", callback)]).await.0, 200);
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_client_revokes_its_own_tokens_and_nobody_elses() {
    let (app, anna) = TestApp::with_user().await;
    let connecting = Connecting::start(app, &anna).await;
    for (n, kind) in ["access_token", "refresh_token"].into_iter().enumerate() {
        let tokens = connecting.connect(&format!("agent {n}")).await;
        let token = text(&tokens, kind);
        let others = "ksc_00000000000000000000000000000000";
        for (client, still_opens) in [(others, true), (&connecting.client, false)] {
            let fields = [("token", token.as_str()), ("client_id", client)];
            assert_eq!(post(app, "/oauth/revoke", &fields).await.0, 200);
            assert_eq!(opens(app, &tokens).await, still_opens, "{kind} by {client}");
        }
    }
    // A token that a person made is none of a client's.
    let own = [("token", anna.token.as_str()), ("client_id", connecting.client.as_str())];
    assert_eq!(post(app, "/oauth/revoke", &own).await.0, 200);
    assert_eq!(Mcp::of(app, &anna).ask("tools/list", json!({})).await.0, 200);
}

#[tokio::test]
async fn after_a_restore_a_client_that_renewed_since_the_backup_goes_on() {
    let (app, anna) = TestApp::start_for("anna").await;
    let connecting = Connecting::start(&app, &anna).await;
    let first = text(&connecting.connect("Claude").await, "refresh_token");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keepsake.tar");
    backed_up(&app, &file).await;
    let (_, renewed) = connecting.refresh(&first).await;
    let (_, renewed) = connecting.refresh(&text(&renewed, "refresh_token")).await;

    let there = fresh_database().await;
    restored(&app, &file, &there).await.unwrap();
    let (next, late) = (server_of(&there).await, fresh_database().await);
    let at_next =
        Connecting { app: &next, browser: next.browser(), client: connecting.client.clone() };
    let (status, renewed) = at_next.refresh(&text(&renewed, "refresh_token")).await;
    assert_eq!(status, 200, "{renewed}");
    assert!(opens(&next, &renewed).await);
    // What it renewed by then lives as long as ever; an older one, which somebody may have found, ends the connection.
    next.clock.advance(Duration::days(2));
    let (status, renewed) = at_next.refresh(&text(&renewed, "refresh_token")).await;
    assert_eq!(status, 200, "{renewed}");
    is_invalid_grant(at_next.refresh(&first).await);
    assert!(!opens(&next, &renewed).await);
    // For a day only.
    restored(&app, &file, &late).await.unwrap();
    let next = server_of(&late).await;
    next.clock.advance(Duration::hours(25));
    let at_next =
        Connecting { app: &next, browser: next.browser(), client: connecting.client.clone() };
    is_invalid_grant(at_next.refresh(&first).await);
}

#[tokio::test]
async fn an_erased_account_takes_its_connections_along() {
    let (app, anna) = TestApp::start_for("anna").await;
    let connecting = Connecting::start(&app, &anna).await;
    let tokens = connecting.connect("Claude").await;
    let (_, of) = app.accounts.list_agents(anna.id).await.unwrap().remove(0);
    assert!(of[0].client.as_ref().is_some_and(|client| client.name == "Claude"));
    keepsake::erasure::begin(&app.db, anna.id, app.embeddings.now()).await.unwrap();
    app.run_job("erase").await;
    assert_eq!(app.count("oauth_grants").await, 0);
    is_invalid_grant(connecting.refresh(&text(&tokens, "refresh_token")).await);
}
