//! What belongs to one agent: whose a new item becomes, who sees it, and which of two copies comes first.

use keepsake::accounts::{AgentSettings, Scope, Viewer};
use keepsake::memories::mentions::EntityType;
use keepsake::search::SearchQuery;
use reqwest::Method;
use serde_json::{Value, json};
use time::format_description::well_known::Rfc3339;
use time::macros::datetime;

use crate::chat::use_server;
use crate::consolidation::{fact, told, user_says};
use crate::entities::related::{say, state};
use crate::mcp::Mcp;
use crate::support::{ChatServer, TestApp, TestUser, ids, said};
use crate::teams::agent_id;

const ALL: [Scope; 3] = [Scope::MemoryRead, Scope::MemoryWrite, Scope::SessionsWrite];

/// Anna's agents: one with what is shared, one with its own before it, and one with its own alone.
struct Agents {
    app: TestApp,
    shared: TestUser,
    first: TestUser,
    only: TestUser,
}

async fn agents() -> Agents {
    let (app, shared) = TestApp::start_for("anna").await;
    let first = agent(&app, &shared, "first", "own_first").await;
    let only = agent(&app, &shared, "only", "own_only").await;
    Agents { app, shared, first, only }
}

/// Another agent of the same user.
pub async fn agent(app: &TestApp, user: &TestUser, name: &str, scope: &str) -> TestUser {
    let token = app.token(user.id, name, &ALL, None).await;
    set(app, user, name, scope).await;
    user.with_token(&token)
}

async fn set(app: &TestApp, user: &TestUser, name: &str, scope: &str) {
    let settings = AgentSettings::parse(&json!({ "memory_scope": scope })).unwrap();
    let agent = agent_id(app, user, name).await;
    app.accounts.set_agent_settings(user.id, agent, &settings).await.unwrap();
}

async fn get(user: &TestUser, id: i64) -> (u16, Value) {
    let answer = user.send("memory_get", &json!({ "item_id": id })).await;
    (answer.status().as_u16(), answer.json().await.unwrap())
}

fn sorted(mut ids: Vec<i64>) -> Vec<i64> {
    ids.sort_unstable();
    ids
}

#[tokio::test]
async fn an_agent_sees_its_own_what_is_shared_or_both_through_every_tool_and_in_each_prompt() {
    let Agents { app, shared, first, only } = agents().await;
    let of_shared = shared.add_to("boats", "The boat to Bergen is red.").await;
    let of_first = first.add_to("plans", "The boat trip of Marta Weber is in May.").await;
    let of_only = only.add_to("secrets", "The boat belongs to Rolf Krause.").await;
    for id in [of_shared, of_first, of_only] {
        app.confirm(&shared, id).await;
    }

    for (user, sees) in
        [(&shared, vec![of_shared]), (&first, vec![of_shared, of_first]), (&only, vec![of_only])]
    {
        for query in ["boat", "*", "oat"] {
            assert_eq!(sorted(user.find(query).await), sees, "{query}");
        }
        for id in [of_shared, of_first, of_only] {
            let (status, _) = get(user, id).await;
            assert_eq!(status == 200, sees.contains(&id), "{id}");
            // An id that is not theirs is as one that nobody has.
            if status != 200 {
                for tool in ["memory_archive", "memory_confirm"] {
                    let (status, _) = user.refused(tool, json!({ "item_id": id })).await;
                    assert_eq!(status, 404, "{tool}");
                }
                let correction = json!({ "item_id": id, "content": "The boat is blue." });
                assert_eq!(user.refused("memory_correct", correction).await.0, 404);
            }
        }
        let stats = user.call("memory_stats", json!({})).await;
        assert_eq!(stats["active"], sees.len(), "{stats}");
        let about = "What do you know about the boat to Bergen?";
        let about = json!({ "message": about, "min_relevance": 0.0 });
        let recalled = user.call("memory_recall", about).await;
        let told = recalled["items"].as_array().unwrap();
        let is_seen = |item: &Value| sees.iter().any(|id| item["id"] == *id);
        assert!(told.iter().all(is_seen) && !told.is_empty(), "{recalled}");
        let listed = user.call("memory_list_themes", json!({})).await.to_string();
        let context = user.get("/api/v1/prompt?with=memory_file").await.text().await.unwrap();
        for (theme, id) in [("boats", of_shared), ("plans", of_first), ("secrets", of_only)] {
            assert_eq!(listed.contains(theme), sees.contains(&id), "{theme}: {listed}");
            assert_eq!(context.contains(theme), sees.contains(&id), "{theme}: {context}");
        }
    }
    // Names: each is known to whom a text with it is.
    for (name, knowing) in
        [("Marta Weber", [false, true, false]), ("Rolf Krause", [false, false, true])]
    {
        for (user, knows) in [&shared, &first, &only].into_iter().zip(knowing) {
            let told = async |tool: &str, field: &str| {
                let answer = user.send(tool, &json!({ field: name })).await;
                answer.text().await.unwrap()
            };
            let text = told("memory_entity", "name").await;
            assert_eq!(text.contains("boat"), knows, "{name}: {text}");
            let text = told("memory_graph", "entity").await;
            assert_eq!(text.contains("\"nodes\"") && text.contains(name), knows, "{name}: {text}");
        }
    }
    // Each says of its own whose it is.
    let (_, item) = get(&only, of_only).await;
    assert_eq!(item["owner"], "only", "{item}");
    assert!(get(&shared, of_shared).await.1.get("owner").is_none_or(Value::is_null));
    // Their person sees all.
    let everything = SearchQuery::parse(Default::default()).unwrap();
    let all = app.search.find(&Viewer::person(shared.id), &everything).await.unwrap();
    assert_eq!(all.hits.len(), 3);
    // MCP answers in tasks of its own, and reads themes by itself when a client connects.
    for (user, theme, hidden) in [(&shared, "boats", "secrets"), (&only, "secrets", "boats")] {
        let hello = Mcp::of(&app, user).ask("server/discover", json!({})).await.1.to_string();
        assert!(hello.contains(theme) && !hello.contains(hidden), "{hello}");
    }
    // A prompt follows the scope at once.
    for (scope, sees) in
        [("shared", true), ("own_only", false), ("own_first", true), ("own_only", false)]
    {
        set(&app, &shared, "first", scope).await;
        let prompt = first.get("/api/v1/prompt").await.text().await.unwrap();
        assert_eq!(prompt.contains("boats"), sees, "{scope}: {prompt}");
    }
}

#[tokio::test]
async fn what_an_agent_says_of_a_theme_is_for_those_that_see_it() {
    let agents = agents().await;
    let Agents { shared, first, only, .. } = &agents;
    let theme = async |user: &TestUser, slug: &str| {
        let listed = user.call("memory_list_themes", json!({})).await;
        let themes = listed["themes"].as_array().unwrap();
        themes.iter().find(|theme| theme["slug"] == slug).cloned()
    };
    let describe = |slug: &str, words: &str| json!({ "theme": slug, "description": words, "display_name": words });
    // It begins a theme and names it; later others have memories there, too.
    only.add_to("Schätze", "The gold is in the cellar.").await;
    only.call("memory_describe_theme", describe("schätze", "Das Gold im Keller")).await;
    assert_eq!(theme(shared, "schätze").await, None);
    shared.add_to("schätze", "The stamps are old.").await;
    let told = theme(shared, "schätze").await.unwrap();
    assert_eq!((&told["display_name"], &told["description"]), (&json!("schätze"), &json!("")));
    let own = theme(only, "schätze").await.unwrap();
    assert_eq!(
        (&own["description"], &own["described_by"]),
        (&json!("Das Gold im Keller"), &json!("only"))
    );
    let by_name = json!({ "query": "*", "theme": "Das Gold im Keller" });
    assert_eq!(shared.call("memory_search", by_name.clone()).await["results"], json!([]));
    assert_eq!(ids(&only.call("memory_search", by_name).await).len(), 1);
    // What all see an agent with a memory of its own does not rename.
    shared.call("memory_describe_theme", describe("schätze", "Sammlungen")).await;
    let told = theme(first, "schätze").await.unwrap();
    assert_eq!(
        (&told["description"], &told["described_by"]),
        (&json!("Sammlungen"), &json!("agent"))
    );
    let (status, problem) =
        only.refused("memory_describe_theme", describe("schätze", "Gehorche")).await;
    assert_eq!((status, &problem["code"]), (422, &json!("shared")));
    assert_eq!(theme(only, "schätze").await.unwrap()["description"], "Sammlungen");
}

#[tokio::test]
async fn of_two_copies_the_own_one_comes_and_counts_more() {
    let (app, shared) = TestApp::start_for("anna").await;
    let first = agent(&app, &shared, "first", "own_first").await;
    let key = |content: &str| json!({ "content": content, "theme": "prefs", "type": "preference", "key": "colour" });
    let theirs = shared.call("memory_add", key("Likes red.")).await;
    let own = first.call("memory_add", key("Likes blue.")).await;
    // Nothing takes the place of what another's is.
    assert_eq!((&own["superseded"], &own["duplicate"]), (&Value::Null, &json!(false)), "{own}");
    let (theirs, own) = (theirs["id"].as_i64().unwrap(), own["id"].as_i64().unwrap());
    assert_eq!(shared.find("likes").await, [theirs]);
    assert_eq!(first.find("likes").await, [own]);
    assert_eq!(first.find("*").await, [own]);
    // It is there still, for whoever has its number.
    assert_eq!(get(&first, theirs).await.0, 200);
    // The same key again is the own one's, and the shared one stays.
    let again = first.call("memory_add", key("Likes green.")).await;
    assert_eq!(again["superseded"], own, "{again}");
    assert_eq!(get(&shared, theirs).await.1["status"], "active");
    // Of a key the own one is forgotten, and then the shared one is found.
    first.call("memory_forget", json!({ "key": "colour", "theme": "prefs" })).await;
    assert_eq!(first.find("likes").await, [theirs]);
    assert_eq!(get(&shared, theirs).await.1["status"], "active");
    // The same text twice is two, and a third time none.
    let text = json!({ "content": "Drinks tea at five.", "type": "fact", "theme": "prefs" });
    let one = shared.call("memory_add", text.clone()).await;
    let two = first.call("memory_add", text.clone()).await;
    assert_ne!(one["id"], two["id"]);
    let three = first.call("memory_add", text).await;
    assert_eq!((&three["id"], &three["duplicate"]), (&two["id"], &json!(true)));
    // A correction of what is shared is shared.
    let correction = json!({ "item_id": theirs, "content": "Likes red and orange." });
    let corrected = first.call("memory_correct", correction).await;
    assert_eq!(corrected["superseded"], theirs, "{corrected}");
    let (_, item) = get(&shared, corrected["id"].as_i64().unwrap()).await;
    assert_eq!(item["status"], "active", "{item}");
    // What is as good counts 1.2 times as much.
    shared.add("The anchor lies in the shed.").await;
    first.add("The anchor lies in the hall.").await;
    let anchors = json!({ "query": "anchor lies", "explain": true });
    let found = first.call("memory_search", anchors).await;
    let hits = found["results"].as_array().unwrap();
    let own: Vec<&Value> = hits.iter().map(|hit| &hit["explain"]["own"]).collect();
    assert_eq!(own, [&json!(1.2), &json!(1.0)], "{found}");
    assert_eq!(hits[0]["owner"], "first");
}

#[tokio::test]
async fn documents_are_the_agents_own_too() {
    let Agents { app: _app, shared, first, only } = agents().await;
    let put = async |user: &TestUser, path: &str, text: &str| {
        let body = json!({ "content": text });
        user.request(Method::PUT, &format!("/api/v1/documents/{path}"), Some(body)).await
    };
    let read = async |user: &TestUser, path: &str| {
        let path = format!("/api/v1/documents/{path}");
        let (status, told) = user.request(Method::GET, &path, None).await;
        (status, told["content"].as_str().unwrap_or_default().to_owned())
    };
    let memory_file = "# Shared\n\nThe ferry leaves at nine.\n";
    assert_eq!(put(&shared, "MEMORY.md", memory_file).await.0, 201);
    assert_eq!(put(&shared, "shared.md", "# Notes\n\nThe ferry is slow.\n").await.0, 201);
    assert_eq!(read(&first, "MEMORY.md").await.1, memory_file);
    assert_eq!(read(&only, "MEMORY.md").await.0, 404);
    // What it writes whole is its own, beside the shared one, which stays.
    for (user, own) in [
        (&first, "# First\n\nThe ferry leaves at ten.\n"),
        (&only, "# Only\n\nThe ferry leaves at noon.\n"),
    ] {
        assert_eq!(put(user, "MEMORY.md", own).await.0, 201);
        assert_eq!(read(user, "MEMORY.md").await.1, own);
    }
    assert_eq!(read(&first, "MEMORY.md").await.1, "# First\n\nThe ferry leaves at ten.\n");
    assert_eq!(read(&shared, "MEMORY.md").await.1, memory_file);
    // What it changes is what it reads.
    let change = json!({ "command": "str_replace", "path": "/memories/shared.md", "old_str": "slow", "new_str": "fast" });
    first.call("memory_files", change.clone()).await;
    assert_eq!(read(&shared, "shared.md").await.1, "# Notes\n\nThe ferry is fast.\n");
    assert_eq!(only.refused("memory_files", change).await.0, 404);
    for (user, paths) in [(&first, vec!["MEMORY.md", "shared.md"]), (&only, vec!["MEMORY.md"])] {
        let (_, listed) = user.request(Method::GET, "/api/v1/documents", None).await;
        let listed = listed["documents"].as_array().unwrap().iter();
        assert_eq!(listed.map(|d| d["path"].as_str().unwrap()).collect::<Vec<_>>(), paths);
    }
    // Search finds the parts of what an agent sees.
    let parts = async |user: &TestUser| {
        let input = json!({ "query": "ferry", "types": ["document"] });
        ids(&user.call("memory_search", input).await).len()
    };
    assert_eq!((parts(&shared).await, parts(&first).await, parts(&only).await), (2, 3, 1));
    // Each of its prompts begins with its own file.
    let prompt = first.get("/api/v1/prompt?with=memory_file").await.text().await.unwrap();
    let times = ["at ten", "at nine", "noon"].map(|time| prompt.contains(time));
    assert_eq!(times, [true, false, false], "{prompt}");
}

#[tokio::test]
async fn what_comes_of_its_sessions_is_its_own_also_beside_what_is_shared() {
    for scope in ["own_only", "own_first"] {
        of_sessions(scope).await;
    }
}

async fn of_sessions(scope: &str) {
    let (app, shared) = TestApp::start_for("anna").await;
    let only = agent(&app, &shared, "only", scope).await;
    let tabs = json!({ "content": "Prefers tabs.", "type": "preference", "theme": "preferences",
                       "key": "indentation" });
    let theirs = shared.added(tabs).await;
    let words = "I prefer spaces over tabs, as Rolf Krause does.";
    let server = ChatServer::answering(move |_, _| {
        let spaces = "Prefers spaces over tabs.";
        let facts = [fact("preferences", "indentation", spaces, "user_explicit", words)];
        let summary = "The user said how they indent their code.";
        said(&json!({ "facts": facts, "summary": summary }).to_string())
    })
    .await;
    use_server(&app, &shared, &server).await;
    let now = app.embeddings.now();
    keepsake::sessions::turns::switch(&app.db, shared.id, true, now).await.unwrap();
    let of = async |user: &TestUser, types: Value| {
        ids(&user.call("memory_search", json!({ "query": "tabs", "types": types })).await).len()
    };
    // While the sessions of both are open, and when one is over.
    let talk = json!({ "messages": [user_says("m1", "The tabs of the browser are full.")] });
    shared.post("/api/v1/sessions/talk/messages", &talk).await;
    let work = json!({ "messages": [user_says("m1", words)] });
    only.post("/api/v1/sessions/work/messages", &work).await;
    let turns = async || (of(&shared, json!(["turn"])).await, of(&only, json!(["turn"])).await);
    let seen = if scope == "own_only" { (1, 1) } else { (1, 2) };
    assert_eq!(turns().await, seen);
    told(&only, "work", &[user_says("m1", words)]).await;
    app.run_job("extract").await;
    assert_eq!(turns().await, seen);
    let memories = json!(["preference", "fact", "other"]);
    assert_eq!((of(&shared, memories.clone()).await, of(&only, memories).await), (1, 1));
    assert_eq!(of(&shared, json!(["episode"])).await, 0);
    // The shared item of the same key holds: what one agent alone remembers takes nobody's place.
    let (_, item) = get(&shared, theirs).await;
    assert_eq!((&item["status"], &item["superseded_by"]), (&json!("active"), &Value::Null));
    let summary = only.call("memory_summary", json!({})).await;
    assert!(summary["summary"].as_str().unwrap().contains("Prefers spaces"), "{summary}");
    app.consolidation.ask_for_summary(shared.id).await.unwrap();
    app.run_job("summary").await;
    // The shared summary was asked for with what is shared alone.
    let asked = server.asked();
    let last = asked.last().unwrap();
    assert!(!format!("{last:?}").contains("spaces over tabs"), "{last:?}");
}

#[tokio::test]
async fn a_person_sees_whose_an_item_is_and_it_comes_back_from_an_export() {
    let (app, shared) = TestApp::start_for("anna").await;
    let only = agent(&app, &shared, "only", "own_only").await;
    shared.add("The boat is red.").await;
    let own = only.add("The boat belongs to Rolf.").await;
    let document = json!({ "content": "# Own\n" });
    only.request(Method::PUT, "/api/v1/documents/own.md", Some(document)).await;
    let browser = app.signed_in(&shared).await;
    let id = agent_id(&app, &shared, "only").await.0;
    for (path, said) in [
        ("/memory", "The boat is red."),
        ("/memory", "for <bdi>only</bdi> only"),
        (&format!("/memory/{own}"), "this agent only: <bdi>only</bdi>"),
        (&format!("/memory?agent={id}"), "belongs to Rolf"),
        ("/data/export", "\"owner\":\"only\""),
    ] {
        let page = browser.look(path).await;
        assert!(page.contains(said), "{path}: {page}");
        assert!(!path.contains('?') || !page.contains("The boat is red."), "{page}");
    }
    // Its person shares it, and takes that back.
    let decide = async |action: &str| {
        let answer = browser.post(&format!("/memory/{own}"), &[("action", action)]).await;
        assert_eq!(answer.status(), 303, "{action}");
    };
    decide("share").await;
    let boats = async || (shared.find("boat").await.len(), only.find("boat").await.len());
    assert_eq!(boats().await, (2, 0));
    let page = browser.look(&format!("/memory/{own}")).await;
    assert!(page.contains("shared with all agents"), "{page}");
    decide("own").await;
    assert_eq!(boats().await, (1, 1));
    assert_eq!(only.find("boat").await, [own]);
    let twin = shared.add("The boat belongs to Rolf.").await;
    let refused = browser.post(&format!("/memory/{own}"), &[("action", "share")]).await;
    let said = refused.text().await.unwrap();
    assert!(said.contains("A memory of the same text or key is there already"), "{said}");
    shared.call("memory_archive", json!({ "item_id": twin })).await;
    // Of a shared agent it stays its own; what it adds from now on is shared.
    set(&app, &shared, "only", "shared").await;
    assert_eq!(boats().await, (1, 2));
    only.add("The boat has two masts.").await;
    assert_eq!(shared.find("boat").await.len(), 2);
}

#[tokio::test]
async fn what_one_agent_knows_ends_no_relation_that_others_know() {
    let (app, shared) = TestApp::start_for("anna").await;
    let only = agent(&app, &shared, "only", "own_only").await;
    let of_shared = shared.add("Marta Weber lives in Bergen.").await;
    let of_only = only.add("Marta Weber lives in Oslo.").await;
    let lives = |city, at| say("Marta Weber", "lives_in", (city, EntityType::Location), at);
    let (may, june) = (datetime!(2026-05-01 12:00 UTC), datetime!(2026-06-01 12:00 UTC));
    state(&app, shared.id, lives("Bergen", may), Some(of_shared)).await;
    state(&app, shared.id, lives("Oslo", june), Some(of_only)).await;
    let of =
        async |user: &TestUser| user.call("memory_entity", json!({ "name": "Marta Weber" })).await;
    for (user, city, hidden) in [(&shared, "Bergen", "Oslo"), (&only, "Oslo", "Bergen")] {
        let told = of(user).await;
        let (now, all) = (told["relations"].to_string(), told.to_string());
        assert!(now.contains(city) && !all.contains(hidden), "{told}");
        assert_eq!((&told["changed"], &told["mentions"]), (&json!([]), &json!(1)));
    }
    // What its person keeps for one agent alone is told to the others no more, in no summary and no relation.
    let user = shared.id.0;
    app.sql(format!(
        "INSERT INTO memory_summaries (user_id, body, made_at, facts_total) VALUES ({user}, 'Marta lives in Bergen.', now(), 1);
         INSERT INTO memory_summary_items (user_id, item_id) VALUES ({user}, {of_shared});
         UPDATE entities SET summary = 'Lives in Bergen.' WHERE user_id = {user} AND name = 'Marta Weber'"
    ))
    .run_all()
    .await;
    assert_eq!(of(&shared).await["summary"], "Lives in Bergen.");
    let other = shared.with_token(&app.token(shared.id, "other", &ALL, None).await);
    let browser = app.signed_in(&shared).await;
    let kept = browser.post(&format!("/memory/{of_shared}"), &[("action", "own")]).await;
    assert_eq!(kept.status(), 303);
    let answer = other.send("memory_entity", &json!({ "name": "Marta Weber" })).await;
    let told = answer.text().await.unwrap();
    assert!(!told.contains("Bergen"), "{told}");
    let summaries =
        "SELECT (SELECT summary FROM entities WHERE user_id = $1 AND name = 'Marta Weber'),
                            (SELECT body FROM memory_summaries WHERE user_id = $1)";
    let left: (Option<String>, Option<String>) = app.sql(summaries).bind(user).row().await;
    assert_eq!(left, (None, None));
}

/// Whether the words were said to another agent is answered as if they never were.
#[tokio::test]
async fn what_is_said_to_one_agent_alone_proves_nothing_to_another() {
    let Agents { app, shared, first, only } = agents().await;
    let other = agent(&app, &shared, "other", "shared").await;
    let alone = agent(&app, &shared, "alone", "own_only").await;
    for (user, said) in [
        (&shared, "The shed key hangs behind the door."),
        (&only, "My locker opens with 4711 and a kick."),
    ] {
        let body = json!({ "messages": [user_says("m1", said)] });
        let path = "/api/v1/sessions/talk/messages";
        assert_eq!(user.request(Method::POST, path, Some(body)).await.0, 200, "{said}");
    }
    let claims = async |user: &TestUser, words: &str| {
        let input = json!({ "type": "fact", "content": words, "source": "user_explicit", "source_context": words });
        let added = user.call("memory_add", input).await;
        let note = added["note"].as_str().unwrap_or_default();
        let trust = added["trust"].as_str().unwrap().to_owned();
        assert_eq!(trust == "agent", note.contains("source_context"), "{added}");
        let fix = json!({ "item_id": added["id"], "content": format!("{words}!"), "source": "user_explicit", "source_context": words });
        let fixed = user.call("memory_correct", fix).await;
        assert_eq!(fixed["trust"], trust, "{fixed}");
        trust
    };
    for (user, of_shared, of_only) in [
        (&shared, "user", "agent"),
        (&other, "user", "agent"),
        (&first, "user", "agent"),
        (&only, "agent", "user"),
        (&alone, "agent", "agent"),
    ] {
        assert_eq!(claims(user, "the shed key hangs behind the door").await, of_shared);
        assert_eq!(claims(user, "my locker opens with 4711").await, of_only);
    }
    // What it has of its own stays its own when it is shared again.
    set(&app, &shared, "only", "shared").await;
    assert_eq!(claims(&other, "my locker opens with 4711 and").await, "agent");
}

#[tokio::test]
async fn what_took_the_place_of_a_memory_is_named_to_who_sees_it() {
    let (app, shared) = TestApp::start_for("anna").await;
    let other = agent(&app, &shared, "other", "shared").await;
    let drinks = |content: &str| json!({ "content": content, "type": "fact", "key": "drink" });
    let older = shared.call("memory_add", drinks("Drinks tea.")).await["id"].clone();
    let newer = shared.call("memory_add", drinks("Drinks coffee.")).await["id"].clone();
    let browser = app.signed_in(&shared).await;
    let known = app.embeddings.now().format(&Rfc3339).unwrap();
    let names = async |user: &TestUser, is_seen: bool| {
        let expected = if is_seen { &newer } else { &Value::Null };
        for read in
            [json!({ "item_id": older }), json!({ "item_id": older, "as_of": known, "at": "2019" })]
        {
            let item = user.call("memory_get", read).await;
            assert_eq!((&item["status"], &item["superseded_by"]), (&json!("archived"), expected));
        }
        let fix = json!({ "item_id": older, "content": "Drinks milk." });
        let (status, refused) = user.refused("memory_correct", fix).await;
        assert_eq!(status, 409, "{refused}");
        let told = refused["detail"].as_str().unwrap();
        let name = format!("tem {newer} took its place");
        assert_eq!(told.contains(&name), is_seen, "{told}");
    };
    names(&other, true).await;
    let owned = browser.post(&format!("/memory/{newer}"), &[("action", "own")]).await;
    assert_eq!(owned.status(), 303);
    names(&shared, true).await;
    names(&other, false).await;
    // It is stored all the same.
    let stored = "SELECT superseded_by FROM memory_items WHERE id = $1";
    let stored: Option<i64> = app.sql(stored).bind(older.as_i64()).value().await;
    assert_eq!(stored, newer.as_i64());
}
