//! The global pool of an operator: memory of one of its users that all its others fall back to.

use reqwest::{Client, Method};
use serde_json::{Value, json};

use crate::support::{Sql as _, TestApp, problem};
use keepsake::accounts::{AgentName, Scope, TokenWish, UserId};

async fn call(app: &TestApp, token: &str, user: &str, tool: &str, input: Value) -> (u16, Value) {
    let request = Client::new().post(format!("{}/api/v1/tools/{tool}", app.base));
    let request = request.bearer_auth(token).header("keepsake-user", user).json(&input);
    let answer = request.send().await.unwrap();
    match answer.status().as_u16() {
        200 => (200, answer.json().await.unwrap()),
        _ => problem(answer).await,
    }
}

async fn find(app: &TestApp, token: &str, user: &str) -> Vec<(String, Option<String>)> {
    let query = json!({ "query": "support hours" });
    let (_, found) = call(app, token, user, "memory_search", query).await;
    let results = found["results"].as_array().unwrap().iter();
    let of = |hit: &Value| {
        let text = hit["content_snippet"].as_str().unwrap().to_owned();
        (text, hit["memory_of"].as_str().map(str::to_owned))
    };
    results.map(of).collect()
}

fn with_pool() -> Vec<Scope> {
    Scope::ALL.into_iter().chain([Scope::PoolWrite]).collect()
}

fn fact(content: &str) -> Value {
    json!({ "type": "fact", "content": content, "theme": "support" })
}

#[tokio::test]
async fn users_of_an_operator_fall_back_to_its_pool_and_change_nothing_of_it() {
    let (app, admin) = TestApp::start_for("carla").await;
    app.make_admin(&admin).await;
    let browser = app.signed_in(&admin).await;
    let bot = app.service_token("bot", &with_pool()).await;
    let rival = app.service_token("rival", &Scope::ALL).await;
    let hours = "Support hours are nine to five.";
    let (_, added) = call(&app, &bot, "everybody", "memory_add", fact(hours)).await;
    let id = added["id"].as_i64().unwrap();
    let own = "This customer has support hours until ten.";
    for token in [&bot, &rival] {
        call(&app, token, "customer", "memory_add", fact(own)).await;
        call(&app, token, "everybody-else", "memory_add", fact("Unheard.")).await;
        assert_eq!(find(&app, token, "customer").await, [(own.to_owned(), None)]);
    }

    let operators = app.accounts.list_operators().await.unwrap();
    let operator = operators.iter().find(|o| o.name == "bot").unwrap().id.0;
    let path = format!("/admin/operators/{operator}");
    let set_pool = async |pool: &str| {
        let answer = browser.post(&path, &[("users_max", "10"), ("pool", pool)]).await;
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    let (status, page) = set_pool(&"x".repeat(201)).await;
    assert!(status == 422 && page.contains("`pool` is too long"), "{status} {page}");
    assert_eq!(set_pool("everybody").await.0, 303);
    let page = browser.look("/admin").await;
    assert!(page.contains("all also read the memory of"), "{page}");

    let pool = Some("the global pool".to_owned());
    let both = [(own.to_owned(), None), (hours.to_owned(), pool.clone())];
    assert_eq!(find(&app, &bot, "customer").await, both, "its own first");
    let search = json!({ "action": "search", "text": "support hours" });
    let (_, lines) = call(&app, &bot, "customer", "memory", search).await;
    let lines = lines["output"].as_str().unwrap().lines();
    let lines: Vec<&str> = lines.filter(|line| line.starts_with('#')).collect();
    let of_pool = |line: &&str| line.contains(", of the global pool) ");
    assert_eq!(lines.iter().map(of_pool).collect::<Vec<_>>(), [false, true]);
    let of_pool = [(hours.to_owned(), pool)];
    assert_eq!(find(&app, &bot, "somebody-new").await, of_pool, "the first question of all");
    call(&app, &bot, "somebody-new", "memory_add", fact("Likes tea.")).await;
    assert_eq!(find(&app, &bot, "somebody-new").await, of_pool);
    assert_eq!(find(&app, &bot, "everybody").await, [(hours.to_owned(), None)]);
    assert_eq!(find(&app, &rival, "customer").await, [(own.to_owned(), None)]);
    let item = json!({ "item_id": id });
    let (status, read) = call(&app, &bot, "customer", "memory_get", item.clone()).await;
    assert_eq!((status, &read["memory_of"]), (200, &json!("the global pool")));
    let (status, problem) = call(&app, &bot, "customer", "memory_archive", item.clone()).await;
    assert_eq!((status, &problem["code"]), (403, &json!("read_only_memory")));
    assert_eq!(problem["detail"], "Memory of the global pool is read-only.");
    for (token, user, tool, status) in [
        (&rival, "customer", "memory_get", 404),
        (&rival, "customer", "memory_archive", 404),
        // Whoever acts for its user changes it.
        (&bot, "everybody", "memory_archive", 200),
    ] {
        assert_eq!(call(&app, token, user, tool, item.clone()).await.0, status, "{user} {tool}");
    }
    assert_eq!(find(&app, &bot, "customer").await, [(own.to_owned(), None)]);

    call(&app, &bot, "everybody", "memory_add", fact("Support hours are eight to four.")).await;
    assert_eq!(find(&app, &bot, "customer").await.len(), 2);
    // Calls say what they found in it, until that is erased.
    app.activity.flush().await.unwrap();
    let reads = format!("activity a, unnest(a.lent_ids) AS lent (id) WHERE lent.id = {id}");
    assert_eq!(app.count(&reads).await, 5, "four searches and a memory_get");
    let of_pool = "SELECT user_id FROM memory_items WHERE id = $1";
    let of_pool = UserId(app.sql(of_pool).bind(id).value().await);
    let mut tx = app.db.as_writer(of_pool).await.unwrap();
    tx.sql("SELECT erase_item($1, 'receipt', now())").bind(id).run().await;
    tx.commit().await.unwrap();
    assert_eq!(app.count(&reads).await, 0);
    set_pool(" ").await;
    assert_eq!(find(&app, &bot, "customer").await, [(own.to_owned(), None)]);
}

#[tokio::test]
async fn the_pool_is_written_only_with_a_scope_of_its_own() {
    let (app, anna) = TestApp::start_for("anna").await;
    let bot = app.service_token("bot", &Scope::ALL).await;
    let writer = app.service_token("bot", &[Scope::MemoryWrite, Scope::PoolWrite]).await;
    app.sql("UPDATE operators SET pool = 'everybody'").run().await;
    let send = async |token: &str, method: Method, path: &str, body: Value| {
        let request = Client::new().request(method, format!("{}/api/v1{path}", app.base));
        let request = request.bearer_auth(token).header("keepsake-user", "everybody");
        request.json(&body).send().await.unwrap()
    };
    let said = json!({ "messages": [{ "id": "m1", "role": "user", "content": "Call 0900." }] });
    let writes = [
        (Method::POST, "/tools/memory_add", fact("Call 0900.")),
        (Method::POST, "/tools/memory", json!({ "action": "save", "text": "Call 0900." })),
        (Method::POST, "/sessions/talk/messages", said),
        (Method::PUT, "/documents/hours.md", json!({ "content": "Call 0900." })),
        (Method::PUT, "/settings/secrets", json!({ "policy": "mask" })),
    ];
    for has_begun in [false, true] {
        for (method, path, body) in &writes {
            let answer = send(&bot, method.clone(), path, body.clone()).await;
            let (status, told) = problem(answer).await;
            assert_eq!(
                (status, &told["code"]),
                (403, &json!("missing_scope")),
                "{path} {has_begun}"
            );
            assert!(told["detail"].as_str().unwrap().contains("pool:write"), "{path}: {told}");
        }
        let begun = i64::from(has_begun);
        assert_eq!(app.count("users WHERE external_id = 'everybody'").await, begun);
        assert_eq!(app.count("memory_items").await, begun);
        let (status, _) =
            call(&app, &writer, "everybody", "memory_add", fact("Hours: nine to five.")).await;
        assert_eq!(status, 200);
        let search = json!({ "query": "hours" });
        let (status, found) = call(&app, &bot, "everybody", "memory_search", search).await;
        assert_eq!(
            (status, found["results"].as_array().unwrap().len()),
            (200, 1),
            "reading goes on"
        );
    }
    // The scope gives nothing to agents.
    let wish = TokenWish { scopes: [Scope::PoolWrite].into(), lifetime: None, profile: None };
    let name = AgentName::parse("agent").unwrap();
    let made = app.accounts.create_token_by_name(anna.id, &name, &wish).await;
    assert!(made.unwrap_err().to_string().contains("service tokens"));
}

#[tokio::test]
async fn the_first_read_of_documents_has_those_of_the_pool() {
    let app = TestApp::start().await;
    let bot = app.service_token("bot", &with_pool()).await;
    app.sql("UPDATE operators SET pool = 'everybody'").run().await;
    let send = async |method: Method, user: &str, path: &str| -> Value {
        let address = format!("{}/api/v1/documents{path}", app.base);
        let request = Client::new().request(method.clone(), address);
        let request = request.bearer_auth(&bot).header("keepsake-user", user);
        let answer = match method {
            Method::PUT => request.json(&json!({ "content": "Nine to five." })).send(),
            _ => request.send(),
        };
        let answer = answer.await.unwrap();
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        answer.json().await.unwrap()
    };
    send(Method::PUT, "everybody", "/hours.md").await;
    let listed = send(Method::GET, "new-1", "").await;
    let listed = listed["documents"].as_array().unwrap();
    assert_eq!((listed.len(), &listed[0]["memory_of"]), (1, &json!("the global pool")));
    for (user, path) in [("new-2", "/hours.md"), ("new-3", "/hours.md?revision=1")] {
        let read = send(Method::GET, user, path).await;
        assert_eq!(read["content"], "Nine to five.");
        assert_eq!(read["memory_of"], "the global pool");
    }
}
