//! Whose word a memory is, and which of two that contradict each other holds.

use keepsake::accounts::Viewer;
use keepsake::memories::{
    self, AddedItem, ConflictPolicy, ItemId, ItemKey, ItemType, NewItem, Provenance, Trust,
};
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};

use crate::support::{TestApp, TestUser};

/// What docs/consolidation.md says of each pair: what holds (`None`: what is confirmed, of any class),
/// what comes, and the cell.
fn documented() -> Vec<(Option<Trust>, Trust, String)> {
    let page = include_str!("../../../docs/consolidation.md");
    let table = page.lines().skip_while(|line| !line.starts_with("| what holds |"));
    let rows = table.skip(2).take_while(|line| line.starts_with('|'));
    let mut cells = Vec::new();
    for row in rows {
        let row: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let holds = Trust::parse(row[0].trim_matches('`'));
        assert!(holds.is_some() || row[0].starts_with("confirmed"), "{row:?}");
        for (comes, cell) in Trust::ALL.into_iter().zip(&row[1..]) {
            cells.push((holds, comes, (*cell).to_owned()));
        }
    }
    assert_eq!(cells.len(), 20);
    cells
}

struct Pair<'a> {
    app: &'a TestApp,
    viewer: Viewer,
    now: OffsetDateTime,
}

impl Pair<'_> {
    async fn keep(&self, content: &str, key: &str, trust: Trust, ago: Duration) -> AddedItem {
        let item = NewItem::parse(ItemType::Fact, content, None, &[])
            .unwrap()
            .with_key(ItemKey::parse(key).unwrap())
            .with_provenance(Provenance {
                trust: Some(trust),
                said_at: Some(self.now - ago),
                ..Provenance::default()
            })
            .yielding(ConflictPolicy::PutAside);
        let mut tx = self.app.db.as_writer(self.viewer.user_id).await.unwrap();
        let added = memories::add_in(&mut tx, &self.app.embeddings, &self.viewer, &item, self.now);
        let added = added.await.unwrap();
        tx.commit().await.unwrap();
        added
    }

    async fn confirm(&self, id: ItemId) {
        let confirmed = "UPDATE memory_items SET protected = true WHERE id = $1";
        let confirmed = sqlx::query(confirmed).bind(id.0);
        confirmed.execute(&mut self.app.superuser().await).await.unwrap();
    }
}

#[tokio::test]
async fn of_each_pair_that_holds_which_the_table_says_by_key_and_by_a_models_verdict() {
    let (app, anna) = TestApp::start_for("anna").await;
    let pair = Pair { app: &app, viewer: Viewer::person(anna.id), now: app.embeddings.now() };
    let hours = Duration::hours;
    for (row, comes, cell) in documented() {
        let holders = match row {
            Some(trust) => vec![trust],
            None => Trust::ALL.to_vec(),
        };
        for holds in holders {
            for is_later in [true, false] {
                let gives_way = match cell.as_str() {
                    "what comes" => true,
                    "what holds" => false,
                    "the later" => is_later,
                    other => panic!("{other}"),
                };
                let case = format!("{row:?} {holds} {comes} {is_later}");
                let (first, then) = match is_later {
                    true => (hours(2), hours(1)),
                    false => (hours(1), hours(2)),
                };
                let holder = pair.keep(&format!("a {case}"), &case, holds, first).await;
                if row.is_none() {
                    pair.confirm(holder.id).await;
                }
                let came = pair.keep(&format!("b {case}"), &case, comes, then).await;
                let expected = match gives_way {
                    true => (Some(holder.id), None),
                    false => (None, Some(holder.id)),
                };
                assert_eq!((came.superseded, came.put_aside_for), expected, "{case}");

                let holder = pair.keep(&format!("c {case}"), "", holds, first).await;
                if row.is_none() {
                    pair.confirm(holder.id).await;
                }
                let came = pair.keep(&format!("d {case}"), "", comes, then).await;
                let mut tx = app.db.as_writer(anna.id).await.unwrap();
                let viewer = &pair.viewer;
                let given =
                    memories::supersede_in(&mut tx, viewer, holder.id, came.id, pair.now).await;
                tx.commit().await.unwrap();
                assert_eq!(given.unwrap(), gives_way, "{case}");
                let (gone, stays) = match gives_way {
                    true => (holder.id, came.id),
                    false => (came.id, holder.id),
                };
                let gone = get(&anna, gone.0).await;
                assert_eq!(
                    (&gone["status"], &gone["superseded_by"]),
                    (&json!("archived"), &json!(stays.0)),
                    "{case}"
                );
            }
        }
    }
}

async fn get(user: &TestUser, id: impl Into<Value>) -> Value {
    user.call("memory_get", json!({ "item_id": id.into() })).await
}

fn city(content: &str, source: Option<&str>) -> Value {
    json!({ "type": "fact", "content": content, "theme": "profile", "key": "home_city", "source": source })
}

#[tokio::test(crate = "crate::support::shared")]
async fn what_a_tool_says_against_an_agents_word_is_put_aside_and_shown() {
    let (app, anna) = TestApp::with_user().await;
    let porto = anna.call("memory_add", city("Lives in Porto.", None)).await;
    assert_eq!((&porto["trust"], &porto["note"]), (&json!("agent"), &json!(null)));
    for (source, trust, content) in
        [("web", "external", "Lives in Rome."), ("tool_call", "tool", "Lives in Oslo.")]
    {
        let aside = anna.call("memory_add", city(content, Some(source))).await;
        assert_eq!(
            (&aside["status"], &aside["trust"], &aside["superseded"], &aside["put_aside_for"]),
            (&json!("archived"), &json!(trust), &json!(null), &porto["id"])
        );
        assert!(aside["note"].as_str().unwrap().contains(&porto["id"].to_string()));
        // Once, however often it is said.
        let again = anna.call("memory_add", city(content, Some(source))).await;
        assert_eq!((&again["id"], &again["duplicate"]), (&aside["id"], &json!(true)));
    }
    let holder = get(&anna, porto["id"].clone()).await;
    assert_eq!(holder["status"], "active");
    assert_eq!(holder["contradicted_by"].as_array().unwrap().len(), 2);
    let browser = app.signed_in(&anna).await;
    let (_, page) = browser.get(&format!("/memory/{}", porto["id"])).await;
    for shown in
        ["Archived, because it contradicts this", "Lives in Oslo.", "from a tool", "from outside"]
    {
        assert!(page.contains(shown) || page.contains(&shown.replace("&#x27;", "'")), "{shown}");
    }
    let aside = &holder["contradicted_by"][0];
    let (_, page) = browser.get(&format!("/memory/{aside}")).await;
    assert!(page.contains("It contradicts another memory, which is active"));
    assert!(page.contains("archived, because it contradicts another memory"));

    // An agent's word takes a tool's place, whichever came first.
    let tool = json!({ "type": "fact", "content": "Uses Debian.", "key": "system", "source": "auto_discovery" });
    let tool = anna.call("memory_add", tool).await;
    let agent = json!({ "type": "fact", "content": "Uses Fedora.", "key": "system" });
    let agent = anna.call("memory_add", agent).await;
    assert_eq!(agent["superseded"], tool["id"]);
}

#[tokio::test(crate = "crate::support::shared")]
async fn that_the_user_said_so_is_looked_up_in_what_they_said() {
    let (_, anna, ben) = TestApp::with_users().await;
    let messages = json!({ "messages": [
        { "id": "m1", "role": "user", "content": "Hi. I have a   blue\nbicycle, \"Bluebell\"." },
        { "id": "m5", "role": "user", "content": "我住在里斯本，有两只猫。 Я живу в ПОРТУ." },
        { "id": "m2", "role": "assistant", "content": "So you own a green boat." },
        { "id": "m3", "role": "user", "content": "What does this say?\n> I own a red car\nThanks." },
        { "id": "m4", "role": "tool", "content": "The user owns a black horse." },
    ] });
    let posted = anna.post("/api/v1/sessions/talk/messages", &messages).await;
    assert_eq!(posted.status(), 200);
    let add = async |user: &TestUser, n: usize, context: &str| {
        let input = json!({ "type": "fact", "content": format!("Owns thing {n}."), "source": "user_explicit",
                            "source_context": context });
        user.call("memory_add", input).await
    };
    for (n, said) in [
        "I have a blue bicycle, Bluebell",
        "i HAVE a blue",
        "我住在里斯本，有两只猫",
        "я живу в порту",
    ]
    .into_iter()
    .enumerate()
    {
        let added = add(&anna, n, said).await;
        assert_eq!((&added["trust"], &added["note"]), (&json!("user"), &json!(null)), "{said}");
        let item = get(&anna, added["id"].clone()).await;
        assert_eq!((&item["trust"], &item["source"]), (&json!("user"), &json!("user_explicit")));
    }
    for (n, unsaid) in [
        "you own a green boat",
        "I own a red car",
        "owns a black horse",
        "I have a blue boat",
        "Hi.",
        "語語語語語語語語語",
        "",
    ]
    .into_iter()
    .enumerate()
    {
        let added = add(&anna, 10 + n, unsaid).await;
        assert_eq!(added["trust"], "agent", "{unsaid}");
        let note = added["note"].as_str().unwrap();
        assert!(note.contains("source_context") && note.contains("the agent's word"), "{note}");
    }
    // What is known by the user's word stays so, whatever is claimed of it.
    let again = add(&anna, 0, "I have a blue boat").await;
    assert_eq!(
        (&again["duplicate"], &again["trust"], &again["note"]),
        (&json!(true), &json!("user"), &json!(null))
    );
    let by_web = json!({ "type": "fact", "content": "Owns thing 0.", "source": "web" });
    assert_eq!(anna.call("memory_add", by_web).await["trust"], "user");
    // Another user's words are not this one's.
    let added = add(&ben, 0, "I have a blue bicycle").await;
    assert_eq!(added["trust"], "agent");
}

#[tokio::test]
async fn what_is_less_trusted_renews_nothing_and_the_same_text_is_as_trusted_as_the_more_trusted() {
    let (app, anna) = TestApp::start_for("anna").await;
    let said = |source: Option<&str>, more: Value| {
        let mut input = json!({ "type": "fact", "content": "Is in Norway.", "source": source });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        input
    };
    let first = anna.call("memory_add", said(Some("web"), json!({}))).await;
    let by_agent = said(None, json!({ "tags": ["travel"], "expires_in_days": 20 }));
    let again = anna.call("memory_add", by_agent).await;
    assert_eq!((&again["id"], &again["duplicate"]), (&first["id"], &json!(true)));
    let item = get(&anna, first["id"].clone()).await;
    assert_eq!((&item["trust"], &item["tags"]), (&json!("agent"), &json!(["travel"])));
    app.clock.advance(Duration::days(1));
    for source in ["web", "tool_call"] {
        let shorter = json!({ "tags": ["bait"], "expires_in_days": 1, "confidence": 100 });
        let again = anna.call("memory_add", said(Some(source), shorter)).await;
        assert_eq!(again["duplicate"], true);
        let after = get(&anna, first["id"].clone()).await;
        for kept in ["trust", "tags", "expires_at", "confidence", "last_verified_at"] {
            assert_eq!(after[kept], item[kept], "{source} {kept}");
        }
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn search_tells_how_it_is_known_whose_word_it_is_and_by_which_agent() {
    let (app, anna) = TestApp::with_user().await;
    let item = json!({ "type": "fact", "content": "The heating is at 21 degrees.", "source": "tool_call" });
    anna.call("memory_add", item).await;
    for query in ["heating", "*"] {
        let found = anna.call("memory_search", json!({ "query": query })).await;
        let hit = &found["results"][0];
        assert_eq!(
            (&hit["source"], &hit["trust"], &hit["agent"]),
            (&json!("tool_call"), &json!("tool"), &json!("agent")),
            "{query}"
        );
    }
    let browser = app.signed_in(&anna).await;
    let (_, page) = browser.get("/memory").await;
    assert!(page.contains("from a tool"), "{page}");
}
