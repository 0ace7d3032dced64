//! PostgreSQL is stopped, not gone (`SIGSTOP`): every request has an answer, and all is well once it goes on. That it comes in
//! time is measured by `end2end/reliability/frozen.py`.

use futures_util::future::join_all;
use reqwest::Method;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use super::{Home, Server, TOKEN, call, is_ready};
use crate::support::{Browser, HANG_GUARD, PASSWORD, Sql as _, until};

/// Of all processes of a home's PostgreSQL; goes on when it is dropped, so that the server can stop it.
struct Frozen(Vec<Pid>);

impl Frozen {
    fn new(home: &Home) -> Self {
        let postmaster = home.postmaster();
        // The one that would start others is first.
        kill_process(postmaster, Signal::STOP).unwrap();
        let children = format!("/proc/{0}/task/{0}/children", postmaster.as_raw_nonzero());
        let children = std::fs::read_to_string(children).unwrap();
        let mut all = vec![postmaster];
        all.extend(children.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)));
        all.iter().for_each(|pid| _ = kill_process(*pid, Signal::STOP));
        Self(all)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        self.0.iter().for_each(|pid| _ = kill_process(*pid, Signal::CONT));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_door_answers_while_postgresql_is_stopped_and_serves_when_it_goes_on() {
    let home = Home::new();
    home.create_user("anna@example.com");
    let token = home.say(&TOKEN);
    let server = Server::start(&home).await;
    let browser = Browser::at(home.url(""));
    let fields = [("email", "anna@example.com"), ("password", PASSWORD)];
    assert_eq!(browser.post("/login", &fields).await.status(), 303);
    let add = |text: String| json!({ "type": "fact", "content": text, "key": text });
    let (status, kept) = call(&home, &token, "memory_add", add("before".to_owned())).await;
    assert_eq!(status, 200, "{kept}");
    let search = json!({ "query": "before" });
    join_all((0..4).map(|_| call(&home, &token, "memory_search", search.clone()))).await;

    let client = reqwest::Client::builder().timeout(HANG_GUARD).build().unwrap();
    let ask = async |method: Method, path: &str, body: Option<Value>| {
        let mut request = client.request(method, home.url(path)).bearer_auth(&token);
        if let Some(body) = body {
            request = request.json(&body).header("accept", "application/json, text/event-stream");
        }
        let answer = request.send().await.unwrap_or_else(|error| panic!("{path}: {error}"));
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    let rpc = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "memory_add", "arguments": add("by MCP".to_owned()) } });
    let messages =
        json!({ "messages": [{ "id": "1", "role": "user", "content": "Hello there." }] });
    let doors = || {
        [
            ("/api/v1/tools/memory_search", Method::POST, Some(search.clone())),
            ("/api/v1/tools/memory_add", Method::POST, Some(add("meanwhile".to_owned()))),
            ("/api/v1/recall", Method::POST, Some(json!({ "message": "What was before?" }))),
            ("/api/v1/sessions/s/messages", Method::POST, Some(messages.clone())),
            ("/api/v1/documents/a.md", Method::PUT, Some(json!({ "content": "x" }))),
            ("/api/v1/documents", Method::GET, None),
            ("/api/v1/changes", Method::GET, None),
            ("/mcp", Method::POST, Some(rpc.clone())),
            (
                "/oauth/register",
                Method::POST,
                Some(json!({ "redirect_uris": ["http://127.0.0.1:1/"] })),
            ),
            ("/readyz", Method::GET, None),
        ]
    };
    let ask = &ask;
    // Twice: at first the connections are the pool's, then there are none.
    for round in 0..2 {
        let frozen = Frozen::new(&home);
        // More at once than run at once.
        let many = (0..12).map(|n| call(&home, &token, "memory_add", add(format!("{round} {n}"))));
        let one_each = doors()
            .map(|(path, method, body)| async move { (path, ask(method, path, body).await) });
        let (many, one_each, prompt, page, form, alive) = tokio::join!(
            join_all(many),
            join_all(one_each),
            ask(Method::GET, "/api/v1/prompt", None),
            browser.get("/memory"),
            browser.post("/agents", &[("name", "another")]),
            ask(Method::GET, "/livez", None),
        );
        for (status, problem) in &many {
            assert!(
                problem["detail"].as_str().is_some_and(|said| said.starts_with("The database ")),
                "{problem}"
            );
            assert_eq!((*status, &problem["code"]), (503, &json!("database_unavailable")));
        }
        for (path, (status, said)) in one_each {
            // Of a tool, MCP's own answer.
            let is_said = path == "/mcp" && said.contains("\"isError\":true");
            assert!(status == 503 || is_said && said.contains("The database "), "{path}: {said}");
        }
        assert_eq!(prompt, (200, keepsake::tools::guidance::UNAVAILABLE.to_owned()));
        assert_eq!((page.0, form.status().as_u16()), (503, 503), "{}", page.1);
        assert_eq!(alive, (200, "ok\n".to_owned()));
        drop(frozen);
        until("it is ready again", async || is_ready(&home).await == Some(true)).await;
    }
    // What was not acknowledged may be there or not, once; a retry with its key leaves one of it.
    for n in 0..12 {
        let (status, added) = call(&home, &token, "memory_add", add(format!("0 {n}"))).await;
        assert_eq!(status, 200, "{added}");
    }
    for (path, method, body) in doors() {
        let (status, said) = ask(method, path, body).await;
        assert!((200..300).contains(&status), "{path}: {status} {said}");
    }
    assert_eq!(browser.get("/memory").await.0, 200);
    let options = keepsake::postgres::of_running_server(home.folder.path()).unwrap().unwrap();
    let mut conn = PgConnection::connect_with(&options).await.unwrap();
    let twice = "SELECT key FROM memory_items WHERE key IS NOT NULL AND status = 'active' GROUP BY key HAVING count(*) > 1";
    assert_eq!(conn.sql(twice).values::<String>().await, Vec::<String>::new());
    let mut open = async || {
        let open = "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'";
        conn.sql(open).value::<i64>().await
    };
    let began = std::time::Instant::now();
    while open().await > 0 {
        assert!(began.elapsed() < HANG_GUARD, "a transaction is left open");
    }
    assert_eq!(server.stop().0, Some(0));
}
