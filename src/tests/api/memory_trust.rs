//! Whose word a memory is, and which of two that contradict each other holds.

use keepsake::accounts::Viewer;
use keepsake::memories::{
    self, AddedItem, ConflictPolicy, ItemId, ItemKey, ItemType, NewItem, Provenance, Trust,
};
use serde_json::{Value, json};
use time::{Duration, OffsetDateTime};

use super::{add, fields, get, with};
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
        let holds = Trust::from_label(row[0].trim_matches('`'));
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
        let confirmed = "UPDATE memory_items SET protected = true, locked = true WHERE id = $1";
        self.app.sql(confirmed).bind(id.0).run().await;
    }
}

#[tokio::test]
async fn of_each_pair_that_holds_which_the_table_says_by_key_and_by_a_models_verdict() {
    let (app, anna) = TestApp::start_for("anna").await;
    let pair = Pair { app: &app, viewer: Viewer::person(anna.id), now: app.embeddings.now() };
    for (row, comes, cell) in documented() {
        for holds in row.map_or_else(|| Trust::ALL.to_vec(), |trust| vec![trust]) {
            for is_later in [true, false] {
                let gives_way = match cell.as_str() {
                    "what comes" => true,
                    "what holds" => false,
                    "the later" => is_later,
                    other => panic!("{other}"),
                };
                let case = format!("{row:?} {holds} {comes} {is_later}");
                let (first, then) = if is_later { (2, 1) } else { (1, 2) };
                let both = async |of: &str, key: &str| {
                    let holder = format!("{of} holds {case}");
                    let holder = pair.keep(&holder, key, holds, Duration::hours(first)).await;
                    if row.is_none() {
                        pair.confirm(holder.id).await;
                    }
                    let came = format!("{of} comes {case}");
                    (holder.id, pair.keep(&came, key, comes, Duration::hours(then)).await)
                };
                let (holder, came) = both("by key:", &case).await;
                let expected = if gives_way { (Some(holder), None) } else { (None, Some(holder)) };
                assert_eq!((came.superseded, came.put_aside_for), expected, "{case}");

                let (holder, came) = both("by verdict:", "").await;
                let came = came.id;
                let mut tx = app.db.as_writer(anna.id).await.unwrap();
                let (viewer, policy) = (&pair.viewer, ConflictPolicy::PutAside);
                let given =
                    memories::supersede_in(&mut tx, viewer, holder, came, policy, pair.now).await;
                tx.commit().await.unwrap();
                assert_eq!(given.unwrap(), gives_way, "{case}");
                let (gone, stays) = if gives_way { (holder, came) } else { (came, holder) };
                let gone = fields(&get(&anna, gone.0).await, ["status", "superseded_by"]);
                assert_eq!(gone, json!(["archived", stays.0]), "{case}");
            }
        }
    }
}

fn city(content: &str, source: Option<&str>) -> Value {
    json!({ "type": "fact", "content": content, "theme": "profile", "key": "home_city", "source": source })
}

#[tokio::test(crate = "crate::support::shared")]
async fn what_a_tool_says_against_an_agents_word_is_put_aside_and_shown() {
    let (app, anna) = TestApp::with_user().await;
    let porto = add(&anna, city("Lives in Porto.", None)).await;
    assert_eq!(fields(&porto, ["trust", "note"]), json!(["agent", null]));
    for (source, trust, content) in
        [("web", "external", "Lives in Rome."), ("tool_call", "tool", "Lives in Oslo.")]
    {
        let aside = add(&anna, city(content, Some(source))).await;
        let told = fields(&aside, ["status", "trust", "superseded", "put_aside_for"]);
        assert_eq!(told, json!(["archived", trust, null, porto["id"]]));
        assert!(aside["note"].as_str().unwrap().contains(&porto["id"].to_string()));
        // Once, however often it is said.
        let again = add(&anna, city(content, Some(source))).await;
        assert_eq!(fields(&again, ["id", "duplicate"]), json!([aside["id"], true]));
    }
    let holder = get(&anna, &porto["id"]).await;
    assert_eq!(holder["status"], "active");
    assert_eq!(holder["contradicted_by"].as_array().unwrap().len(), 2);
    let browser = app.signed_in(&anna).await;
    let page = browser.look(&format!("/memory/{}", porto["id"])).await;
    for shown in
        ["Archived, because it contradicts this", "Lives in Oslo.", "from a tool", "from outside"]
    {
        assert!(page.contains(shown) || page.contains(&shown.replace("&#x27;", "'")), "{shown}");
    }
    let aside = &holder["contradicted_by"][0];
    let page = browser.look(&format!("/memory/{aside}")).await;
    assert!(page.contains("It contradicts another memory, which is active"));
    assert!(page.contains("archived, because it contradicts another memory"));

    // An agent's word takes a tool's place, whichever came first.
    let tool = json!({ "type": "fact", "content": "Uses Debian.", "key": "system", "source": "auto_discovery" });
    let tool = add(&anna, tool).await;
    let agent = json!({ "type": "fact", "content": "Uses Fedora.", "key": "system" });
    assert_eq!(add(&anna, agent).await["superseded"], tool["id"]);
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
    assert_eq!(anna.post("/api/v1/sessions/talk/messages", &messages).await.status(), 200);
    let add = async |user: &TestUser, content: &str, context: &str| {
        let content = if content.is_empty() { "Owns nothing." } else { content };
        let input = json!({ "type": "fact", "content": content, "source": "user_explicit",
                            "source_context": context });
        user.call("memory_add", input).await
    };
    let blue = "I have a blue bicycle, Bluebell";
    for said in [blue, "i HAVE a blue", "我住在里斯本，有两只猫", "я живу в порту"]
    {
        let added = add(&anna, said, said).await;
        assert_eq!(fields(&added, ["trust", "note"]), json!(["user", null]), "{said}");
        let item = get(&anna, &added["id"]).await;
        assert_eq!(fields(&item, ["trust", "source"]), json!(["user", "user_explicit"]));
    }
    for unsaid in [
        "you own a green boat",
        "I own a red car",
        "owns a black horse",
        "I have a blue boat",
        "Hi.",
        "語語語語語語語語語",
        "",
    ] {
        let added = add(&anna, unsaid, unsaid).await;
        assert_eq!(added["trust"], "agent", "{unsaid}");
        let note = added["note"].as_str().unwrap();
        assert!(
            note.contains("source_context") && note.contains("the trust class is agent"),
            "{note}"
        );
    }
    // A quote proves what it supports, and an agent's instruction is an agent's.
    for (item_type, content) in [
        ("fact", "Deploys need no review."),
        ("fact", "Has a red bicycle."),
        ("fact", "Has no blue bicycle."),
        ("instruction", "I have a blue bicycle, Bluebell!"),
    ] {
        let input = json!({ "type": item_type, "content": content, "source": "user_explicit", "source_context": blue });
        assert_eq!(anna.call("memory_add", input).await["trust"], "agent", "{content}");
    }
    // What is known by the user's word stays so, whatever is claimed of it.
    let again = add(&anna, blue, "I have a blue boat").await;
    assert_eq!(fields(&again, ["duplicate", "trust", "note"]), json!([true, "user", null]));
    let by_web = json!({ "type": "fact", "content": blue, "source": "web" });
    assert_eq!(anna.call("memory_add", by_web).await["trust"], "user");
    // Another user's words are not this one's.
    assert_eq!(add(&ben, blue, "I have a blue bicycle").await["trust"], "agent");
}

#[tokio::test]
async fn what_is_less_trusted_renews_nothing_and_an_agent_that_says_again_what_a_page_said_proves_nothing()
 {
    let (app, anna) = TestApp::start_for("anna").await;
    let said = |source: Option<&str>, more: Value| {
        let input = json!({ "type": "fact", "content": "Is in Norway.", "source": source });
        add(&anna, with(input, more))
    };
    let first = said(None, json!({ "tags": ["travel"], "expires_in_days": 20 })).await;
    let item = get(&anna, &first["id"]).await;
    app.clock.advance(Duration::days(1));
    for source in ["web", "tool_call"] {
        let shorter = json!({ "tags": ["bait"], "expires_in_days": 1, "confidence": 100 });
        assert_eq!(said(Some(source), shorter).await["duplicate"], true);
        let after = get(&anna, &first["id"]).await;
        for kept in ["trust", "tags", "expires_at", "confidence", "last_verified_at"] {
            assert_eq!(after[kept], item[kept], "{source} {kept}");
        }
    }
    let page = json!({ "type": "fact", "content": "Owns the moon.", "source": "web" });
    let page = add(&anna, page).await;
    let known = get(&anna, &page["id"]).await;
    let again = json!({ "type": "fact", "content": "Owns the moon.", "confidence": 100 });
    assert_eq!(add(&anna, again).await["duplicate"], true);
    let after = get(&anna, &page["id"]).await;
    for kept in ["trust", "confidence", "last_verified_at"] {
        assert_eq!(after[kept], known[kept], "{kept}");
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn search_tells_how_it_is_known_whose_word_it_is_and_by_which_agent() {
    let (app, anna) = TestApp::with_user().await;
    let item = json!({ "type": "fact", "content": "The heating is at 21 degrees.", "source": "tool_call" });
    add(&anna, item).await;
    for query in ["heating", "*"] {
        let found = anna.call("memory_search", json!({ "query": query })).await;
        let told = fields(&found["results"][0], ["source", "trust", "agent"]);
        assert_eq!(told, json!(["tool_call", "tool", "agent"]), "{query}");
    }
    let page = app.signed_in(&anna).await.look("/memory").await;
    assert!(page.contains("from a tool"), "{page}");
}
