//! What several sessions were about is read together once they have ended: written down once, of what was said alone, gone with
//! any of it; and what is proposed of memories changes nothing of the person's own word, and can be taken back.

use std::sync::{Arc, Mutex};

use keepsake::accounts::{AgentSettings, Scope};
use keepsake::memories::ItemId;
use keepsake::memories::manage::set_browser_read_only;
use keepsake::memories::settle::{
    Decider, ItemPair, Settlement, SettlementUndo, settle_in, take_back_in,
};
use keepsake::providers::chat::{Allowance, Allowances, ChatPurpose};
use serde_json::{Value, json};
use time::Duration;

use super::{erase_session, read_due, told, user_of, user_says};
use crate::chat::{set_limits, use_server, without};
use crate::data::{export, import, records};
use crate::support::{Browser, ChatServer, TestApp, TestUser, is_left_out, refused, said};

const ALL: [Scope; 3] = [Scope::MemoryRead, Scope::MemoryWrite, Scope::SessionsWrite];
pub const QUIET: Duration = Duration::minutes(11);
const WROTE: &str = "## Preferences\n- Anna prefers linden honey over clover honey.\n## Key decisions\n- Anna sold one of her hives to Marta.\n- Anna moves to Paris in 2031.";
/// What five sessions are about.
const TALKS: [&str; 5] = [
    "I am Anna, and I sold one of my hives to Marta Helgesen this morning.",
    "I always prefer linden honey over clover honey, whatever it costs.",
    "My bees need a new queen before the summer, says the vet in Graz.",
    "The shed behind the house is where I keep all my honey jars now.",
    "Marta Helgesen helps me every Friday with the hives in the garden.",
];

/// A model that writes a document, and names pairs of memories by their words.
pub struct Dreamer {
    server: ChatServer,
    wrote: Arc<Mutex<String>>,
    pairs: Arc<Mutex<Vec<[&'static str; 4]>>>,
}

impl Dreamer {
    pub async fn new() -> Self {
        let wrote = Arc::new(Mutex::new(WROTE.to_owned()));
        let pairs: Arc<Mutex<Vec<[&'static str; 4]>>> = Arc::default();
        let (written, named) = (wrote.clone(), pairs.clone());
        let server = ChatServer::answering(move |body, _| {
            let text = |n: usize| body["messages"][n]["content"].as_str().unwrap().to_owned();
            if text(0).contains("write down what lasts") {
                let wrote = written.lock().unwrap().clone();
                return match wrote.is_empty() {
                    true => refused(500, "out of order"),
                    false => said(&wrote),
                };
            }
            let place = |words: &str| {
                let line = text(1).lines().find(|line| line.contains(words)).map(str::to_owned);
                line.and_then(|line| line.split('.').next()?.parse::<u64>().ok())
            };
            let pairs = named.lock().unwrap().clone();
            let pairs: Vec<Value> = pairs
                .iter()
                .map(|[kind, first, second, why]| {
                    json!({ "kind": kind, "first": place(first), "second": place(second), "why": why })
                })
                .collect();
            said(&json!({ "pairs": pairs }).to_string())
        })
        .await;
        Self { server, wrote, pairs }
    }

    fn writes(&self, text: &str) {
        *self.wrote.lock().unwrap() = text.to_owned();
    }

    pub fn names(&self, pairs: &[[&'static str; 4]]) {
        *self.pairs.lock().unwrap() = pairs.to_vec();
    }

    fn asked(&self) -> String {
        self.server.asked().iter().map(|one| one.body.to_string()).collect()
    }
}

/// A session of one sentence, read without a model.
async fn session(app: &TestApp, user: &TestUser, name: &str, words: &str) {
    told(user, name, &[user_says("m1", words)]).await;
    read_due(app).await;
}

/// Of each of these a session, which is called so and by its number.
async fn sessions(app: &TestApp, user: &TestUser, name: &str, talks: &[&str]) {
    for (n, words) in talks.iter().enumerate() {
        session(app, user, &format!("{name}{n}"), words).await;
    }
}

/// Anna with five sessions, and a model from then on.
pub async fn five(app: &TestApp, model: &Dreamer) -> TestUser {
    let anna = app.user("anna").await;
    sessions(app, &anna, "s", &TALKS).await;
    use_server(app, &anna, &model.server).await;
    anna
}

/// The same on a server of its own; the model names these pairs.
async fn with_five(pairs: &[[&'static str; 4]]) -> (TestApp, Dreamer, TestUser) {
    let (app, model) = (TestApp::start().await, Dreamer::new().await);
    model.names(pairs);
    let anna = five(&app, &model).await;
    (app, model, anna)
}

/// Once the sessions are quiet: how many dreams there were.
async fn dream(app: &TestApp) -> u32 {
    app.clock.advance(QUIET);
    app.run_job("dream").await
}

async fn paths(app: &TestApp) -> Vec<String> {
    app.sql("SELECT path FROM documents ORDER BY id").values().await
}

async fn item(user: &TestUser, id: i64) -> Value {
    user.call("memory_get", json!({ "item_id": id })).await
}

async fn statuses(user: &TestUser, ids: &[i64]) -> Vec<String> {
    let mut all = Vec::new();
    for id in ids {
        all.push(item(user, *id).await["status"].as_str().unwrap().to_owned());
    }
    all
}

async fn press(browser: &Browser, fields: &[(&str, &str)]) -> (u16, String) {
    let answer = browser.post("/dreams", fields).await;
    (answer.status().as_u16(), answer.text().await.unwrap())
}

/// Does this with the only dream, and says more of it.
async fn decide(
    app: &TestApp,
    browser: &Browser,
    action: &str,
    more: &[(&str, &str)],
) -> (u16, String) {
    let id: i64 = app.sql("SELECT id FROM dreams").value().await;
    let id = id.to_string();
    press(browser, &[&[("dream", id.as_str()), ("action", action)][..], more].concat()).await
}

async fn look(browser: &Browser) -> String {
    browser.look("/dreams").await
}

/// Two memories that a person and an agent said, the later one later.
pub async fn memories(app: &TestApp, anna: &TestUser) -> [i64; 6] {
    let mut ids = [0; 6];
    for (id, (words, source)) in ids.iter_mut().zip([
        ("Anna keeps three hives in the garden", "conversation"),
        ("Anna keeps two hives in the garden", "conversation"),
        ("Anna prefers linden honey", "conversation"),
        ("Linden honey is what Anna likes best", "conversation"),
        ("I keep my honey jars in the shed", "user_explicit"),
        ("Anna keeps her honey jars in the cellar", "conversation"),
    ]) {
        let mut input = json!({ "content": words, "type": "fact", "theme": "bees", "source": source, "tags": [format!("t{}", words.len())] });
        if source == "user_explicit" {
            input["source_context"] = json!(TALKS[3]);
        }
        *id = anna.added(input).await;
        app.clock.advance(Duration::minutes(1));
    }
    ids
}

/// Of each memory what comes back as it was.
async fn kept(user: &TestUser, ids: &[i64]) -> Vec<Value> {
    let fields = "content status confidence protected trust tags superseded_by last_verified_at key valid_from";
    let mut all = Vec::new();
    for id in ids {
        let item = item(user, *id).await;
        all.push(fields.split(' ').map(|field| (field, item[field].clone())).collect());
    }
    all
}

pub const PAIRS: [[&str; 4]; 3] = [
    ["supersede", "keeps three hives", "keeps two hives", "Two hives came after three hives."],
    [
        "merge",
        "prefers linden honey",
        "what Anna likes best",
        "Both say linden honey, as Zoltan told in 2031.",
    ],
    ["supersede", "jars in the shed", "jars in the cellar", "The cellar came later."],
];

#[tokio::test]
async fn five_sessions_that_have_ended_become_one_document() {
    let (app, model) = (TestApp::start().await, Dreamer::new().await);
    let anna = user_of(&app, "anna", &model.server).await;
    let off = Allowance { is_on: false, ..Allowance::default() };
    let nothing = ChatPurpose::ALL
        .into_iter()
        .fold(Allowances::default(), |all, purpose| all.with(purpose, off));
    let dreams_alone = nothing.clone().with(ChatPurpose::Dreaming, Allowance::default());
    set_limits(&app, &anna, "", dreams_alone.clone()).await;
    sessions(&app, &anna, "s", &TALKS[..4]).await;
    assert_eq!(dream(&app).await, 0, "four are too few");
    let browser = app.signed_in(&anna).await;
    let page = look(&browser).await;
    assert!(page.contains("4 of 5 sessions have ended since the last dream."), "{page}");
    session(&app, &anna, "s4", TALKS[4]).await;
    assert_eq!(app.run_job("dream").await, 0, "something may still come");
    // Not wanted.
    set_limits(&app, &anna, "", nothing).await;
    assert_eq!(dream(&app).await, 0);
    assert!(look(&browser).await.contains("they need a chat model"));
    assert_eq!(model.server.asked().len(), 0);
    set_limits(&app, &anna, "", dreams_alone).await;
    assert_eq!(app.run_job("dream").await, 1);
    let asked = model.server.asked();
    assert_eq!(asked.len(), 1, "no memory, no pair");
    assert_eq!(asked[0].body["max_tokens"], 4_096);
    assert!(asked[0].body.to_string().contains("new queen before the summer"));

    let day = app.embeddings.now().date().to_string().replace('-', "");
    assert_eq!(paths(&app).await, [format!("_system/dreaming/{day}-consolidated.md")]);
    let input = json!({ "query": "Which honey is preferred?", "types": ["document"] });
    let found = anna.call("memory_search", input).await;
    assert_eq!(found["results"][0]["trust"], "agent", "{found}");
    let page = look(&browser).await;
    for kept in [
        "Anna prefers linden honey over clover honey.",
        "Anna sold one of her hives to Marta.",
        "5 sessions",
        "Marta Helgesen helps me",
    ] {
        assert!(page.contains(kept), "{kept}: {page}");
    }
    assert!(!page.contains("Paris"), "nothing that nobody said");
    assert_eq!(app.count("episodes WHERE promoted_at IS NOT NULL").await, 5);
    assert_eq!(app.count("memory_origins").await, 5);
    // A document is no memory that the page of an episode could lead to.
    let episode: i64 = app.sql("SELECT min(source_id) FROM episodes").value().await;
    let page = browser.look(&format!("/memory/{episode}")).await;
    assert!(!page.contains("Written from it"), "{page}");
    let id: i64 = app.sql("SELECT max(id) FROM dreams").value().await;
    let timeline = browser.look("/timeline").await;
    let link = format!("href=\"/dreams?before={}#dream-{id}\"", id + 1);
    assert!(timeline.contains(&link), "{timeline}");
    let older = browser.look(&format!("/dreams?before={}", id + 1)).await;
    assert!(older.contains(&format!("id=\"dream-{id}\"")), "{older}");
    let work = browser.look("/settings/work").await;
    let row = work.split("Dreaming").nth(1).unwrap_or_default();
    let row = row.split("</tr>").next().unwrap_or_default();
    assert!(row.contains("<time"), "{row}");
    assert_eq!(dream(&app).await, 0, "once");
    // Of five more another, of the same day.
    sessions(&app, &anna, "again", &TALKS).await;
    assert_eq!(dream(&app).await, 1);
    let both = paths(&app).await;
    assert_eq!((both.len(), both[0] == both[1]), (2, false));
    let spent: String = app.sql("SELECT purpose FROM chat_spend_purposes").value().await;
    assert_eq!(spent, "dreaming");
}

#[tokio::test]
async fn a_model_that_fails_is_asked_again_in_an_hour_and_one_that_invents_is_not() {
    let (app, model, anna) = with_five(&[]).await;
    model.writes("");
    assert_eq!(dream(&app).await, 0);
    let calls = model.server.asked().len();
    assert_eq!(app.count("dreams").await, 0);
    assert_eq!(app.count("episodes WHERE promoted_at IS NULL").await, 5);
    app.clock.advance(Duration::minutes(50));
    assert_eq!(app.run_job("dream").await, 0);
    assert_eq!(model.server.asked().len(), calls, "not yet");
    model.writes("- Zoltan Berg moved to Paris in 2031.");
    assert_eq!(dream(&app).await, 1);
    assert_eq!(app.count("dreams WHERE document_id IS NULL").await, 1);
    assert_eq!(app.count("documents").await, 0);
    let browser = app.signed_in(&anna).await;
    assert!(look(&browser).await.contains("Nothing lasting."));
    app.clock.advance(Duration::hours(3));
    assert_eq!(app.run_job("dream").await, 0);
}

#[tokio::test]
async fn what_is_proposed_waits_and_is_accepted_dismissed_and_undone() {
    let (app, _model, anna) = with_five(&PAIRS).await;
    let ids = memories(&app, &anna).await;
    let [three, two, prefers, likes, shed, cellar] = ids;
    let before = kept(&anna, &ids).await;
    assert_eq!(dream(&app).await, 1);
    assert_eq!(kept(&anna, &ids).await, before, "it only proposes");
    let browser = app.signed_in(&anna).await;
    let memory = browser.look("/memory").await;
    assert!(memory.contains("Proposed in dreams") && memory.contains(">3</span>"), "{memory}");
    let page = look(&browser).await;
    for told in [
        "Two hives came after three hives.",
        "Both say the same.",
        "They contradict each other. Which one is true?",
        "stated by you",
        "Accept 2",
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
    assert!(!page.contains("Zoltan"), "why, in words of the two alone");

    // Of a contradiction the person says what holds; without that, nothing is changed.
    let (_, page) = decide(&app, &browser, "accept", &[("n", "3")]).await;
    assert!(page.contains("Nothing was changed."), "{page}");
    let (_, page) = decide(&app, &browser, "accept_all", &[]).await;
    assert!(page.contains("2 changes were made; they can be undone."), "{page}");
    let is = async |id: i64| {
        let item = item(&anna, id).await;
        (item["status"].as_str().unwrap().to_owned(), item["superseded_by"].as_i64())
    };
    let gone = |by: i64| ("archived".to_owned(), Some(by));
    let active = ("active".to_owned(), None);
    assert_eq!(is(three).await, gone(two));
    assert_eq!(is(prefers).await, gone(likes));
    assert_eq!((is(shed).await, is(cellar).await), (active.clone(), active.clone()));
    let timeline = browser.look("/timeline").await;
    assert!(timeline.contains("by you, accepting a dream's proposal"), "{timeline}");
    let tags = item(&anna, likes).await["tags"].as_array().unwrap().len();
    assert_eq!(tags, 2, "it takes over what the other was tagged with");
    let history = browser.look(&format!("/memory/{prefers}")).await;
    for told in ["merged into another memory", "you, accepting a dream's proposal"] {
        assert!(history.contains(told), "{told}: {history}");
    }
    let shed_text = shed.to_string();
    let shed_holds = [("n", "3"), ("kept", shed_text.as_str())];
    decide(&app, &browser, "accept", &shed_holds).await;
    assert_eq!((is(cellar).await, is(shed).await), (gone(shed), active.clone()));
    // Again nothing.
    let (_, page) = decide(&app, &browser, "accept", &shed_holds).await;
    assert!(page.contains("Nothing was changed."));

    // One, and all; months later.
    app.clock.advance(Duration::days(20));
    decide(&app, &browser, "undo", &[("n", "3")]).await;
    assert_eq!((is(cellar).await, is(three).await), (active, gone(two)));
    for answer in ["2 changes were undone.", "Nothing was undone."] {
        let (_, page) = decide(&app, &browser, "undo", &[]).await;
        assert!(page.contains(answer), "{answer} {page}");
        assert_eq!(kept(&anna, &ids).await, before);
    }
}

#[tokio::test]
async fn what_something_newer_stands_on_is_named_and_stays() {
    let (app, _model, anna) = with_five(&PAIRS).await;
    let [three, two, prefers, likes, ..] = memories(&app, &anna).await;
    dream(&app).await;
    let browser = app.signed_in(&anna).await;
    decide(&app, &browser, "accept_all", &[]).await;
    let correct = json!({ "item_id": two, "content": "Anna keeps one hive in the garden" });
    let newer = anna.call("memory_correct", correct).await["id"].as_i64().unwrap();
    // The other was restored by hand.
    let fields = [("action", "restore"), ("newer", &*likes.to_string())];
    let restored = browser.post(&format!("/memory/{prefers}"), &fields).await;
    assert_eq!(restored.status(), 303);
    let (_, page) = decide(&app, &browser, "undo", &[]).await;
    let stays = format!("Memory {three} stays archived: the newer memory {newer} has replaced it.");
    let changed = format!("Memory {prefers} has changed since, and stays unchanged.");
    assert!(page.contains(&stays) && page.contains(&changed), "{page}");
    assert_eq!(statuses(&anna, &[three, newer]).await, ["archived", "active"]);
}

#[tokio::test]
async fn what_has_changed_since_it_was_proposed_is_proposed_no_more() {
    let (app, _model, anna) = with_five(&PAIRS).await;
    let [three, two, prefers, likes, ..] = memories(&app, &anna).await;
    dream(&app).await;
    anna.call("memory_archive", json!({ "item_id": two })).await;
    let browser = app.signed_in(&anna).await;
    let (_, page) = decide(&app, &browser, "accept_all", &[]).await;
    let told = "1 change was made; it can be undone. 1 no longer applies: one of its memories has changed.";
    assert!(page.contains(told), "{page}");
    let after = statuses(&anna, &[three, prefers, likes]).await;
    assert_eq!(after, ["active", "archived", "active"]);
}

#[tokio::test]
async fn a_dream_that_applies_never_touches_what_the_person_said_or_confirmed() {
    let (app, _model, anna) = with_five(&PAIRS).await;
    let browser = app.signed_in(&anna).await;
    let save = async |mode: &str, least: &str| {
        press(&browser, &[("action", "save"), ("mode", mode), ("episodes_min", least)]).await
    };
    for (mode, least) in
        [("eat", "5"), ("apply", "1"), ("apply", "11"), ("apply", "x"), ("apply", "")]
    {
        let (status, page) = save(mode, least).await;
        assert!(status == 422 || status == 400, "{status} {mode} {least}: {page}");
    }
    let (_, page) = save("apply", "4").await;
    assert!(page.contains("Saved."), "{page}");
    let ids = memories(&app, &anna).await;
    let [three, _, prefers, ..] = ids;
    anna.call("memory_confirm", json!({ "item_id": prefers })).await;
    assert_eq!(dream(&app).await, 1);
    // Of the second pair the first is confirmed; of the third the person has said one.
    let after = ["archived", "active", "active", "archived", "active", "active"];
    assert_eq!(statuses(&anna, &ids).await, after);
    for (path, told) in [
        (format!("/memory/{three}").as_str(), "a dream"),
        ("/timeline", "by a dream"),
        ("/dreams", "They contradict each other. Which one is true?"),
        ("/dreams", "Undo all 2 changes"),
    ] {
        let page = browser.look(path).await;
        assert!(page.contains(told), "{told}: {page}");
    }
}

#[tokio::test]
async fn what_is_erased_takes_the_document_along() {
    let (app, model, anna) = with_five(&PAIRS).await;
    let [three, ..] = memories(&app, &anna).await;
    // While the model writes.
    let held = model.server.hold();
    let erasing = async {
        model.server.until_asked().await;
        erase_session(&app, &anna, "s0").await;
        drop(held);
    };
    let (dreamt, ()) = tokio::join!(dream(&app), erasing);
    assert_eq!((dreamt, app.count("documents").await), (0, 0), "it is thrown away");
    use_server(&app, &anna, &model.server).await;
    set_limits(&app, &anna, "", without(ChatPurpose::Facts)).await;
    session(&app, &anna, "s9", TALKS[0]).await;
    app.clock.advance(Duration::minutes(61));
    assert_eq!(app.run_job("dream").await, 1);
    assert_eq!((app.count("documents").await, app.count("dream_proposals").await), (1, 3));
    // A memory takes what was proposed of it along.
    let browser = app.signed_in(&anna).await;
    app.delete_item(&browser, three).await;
    assert_eq!((app.count("documents").await, app.count("dream_proposals").await), (1, 2));
    // Episodes that expire leave the document, and their sessions take it along.
    app.clock.advance(Duration::days(100));
    app.run_job("expire").await;
    assert_eq!((app.count("episodes").await, app.count("documents").await), (0, 1));
    erase_session(&app, &anna, "s9").await;
    for table in [
        "documents",
        "document_revisions",
        "dreams",
        "dream_proposals",
        "memory_origins",
        "memory_items WHERE type = 'document'",
    ] {
        assert_eq!(app.count(table).await, 0, "{table}");
    }
    let receipts = app.count("erasure_receipts WHERE erased ->> 'documents' = '1'").await;
    assert_eq!(receipts, 1);
}

#[tokio::test]
async fn an_export_takes_along_what_a_document_stands_on() {
    let (app, _model, anna) = with_five(&[]).await;
    assert_eq!(dream(&app).await, 1);
    let file = export(&app, &anna).await;
    assert_eq!(records(&file, "origins").len(), 1);
    let ben = app.user("ben").await;
    for _ in 0..2 {
        let taken = import(&app, &ben, &file).await;
        assert_eq!(taken.failed, 0, "{taken:?}");
    }
    let bens = async |rows: &str| app.count(&format!("{rows} AND user_id = {}", ben.id.0)).await;
    assert_eq!(bens("memory_origins WHERE true").await, 5);
    let waiting = bens("episodes WHERE promoted_at IS NULL").await;
    assert_eq!(waiting, 0, "they are not dreamt of again");
    let browser = app.signed_in(&ben).await;
    let episode = app.sql("SELECT min(source_id) FROM episodes WHERE user_id = $1");
    let episode: i64 = episode.bind(ben.id.0).value().await;
    app.delete_item(&browser, episode).await;
    assert_eq!(bens("documents WHERE true").await, 0);
    assert_eq!(app.count("documents").await, 1, "Anna's stays");
}

#[tokio::test]
async fn what_one_agent_keeps_for_itself_is_dreamt_of_apart() {
    if is_left_out("an agent with a memory of its own") {
        return;
    }
    let (app, model) = (TestApp::start().await, Dreamer::new().await);
    model.names(&PAIRS);
    let anna = app.user("anna").await;
    let token = app.token(anna.id, "only", &ALL, None).await;
    let settings = AgentSettings::parse(&json!({ "memory_scope": "own_only" })).unwrap();
    let agents = app.accounts.list_agents(anna.id).await.unwrap();
    let (only, _) = agents.iter().find(|(agent, _)| agent.name == "only").unwrap();
    app.accounts.set_agent_settings(anna.id, only.id, &settings).await.unwrap();
    let only = anna.with_token(&token);
    // Three each are too few, whoever counts them together.
    sessions(&app, &anna, "s", &TALKS[..3]).await;
    sessions(&app, &only, "o", &TALKS[..3]).await;
    use_server(&app, &anna, &model.server).await;
    set_limits(&app, &anna, "", without(ChatPurpose::Facts)).await;
    assert_eq!(dream(&app).await, 0);
    // Half of each pair is shared, half its own.
    for (n, (words, user)) in [
        ("Anna keeps three hives in the garden", &anna),
        ("Anna keeps two hives in the garden", &only),
        ("Anna prefers linden honey", &only),
        ("Linden honey is what Anna likes best", &only),
    ]
    .into_iter()
    .enumerate()
    {
        user.add(words).await;
        app.clock.advance(Duration::minutes(n as i64));
    }
    sessions(&app, &only, "p", &TALKS[3..]).await;
    assert_eq!(dream(&app).await, 1);
    let owned = "documents d JOIN agents a ON a.id = d.owner_agent_id WHERE a.name = 'only'";
    assert_eq!((app.count(owned).await, app.count("documents").await), (1, 1));
    let kinds: Vec<String> = app.sql("SELECT kind FROM dream_proposals").values().await;
    assert_eq!(kinds, ["merge"], "nothing between what is its own and what is shared");
    let input = json!({ "query": "linden honey over clover", "types": ["document"] });
    let seen = async |user: &TestUser| {
        let found = user.call("memory_search", input.clone()).await;
        found["results"].as_array().unwrap().len()
    };
    let other = anna.with_token(&app.token(anna.id, "other", &ALL, None).await);
    assert_eq!((seen(&only).await, seen(&other).await), (1, 0));
    let browser = app.signed_in(&anna).await;
    let page = look(&browser).await;
    assert!(page.contains("keeps for itself"), "{page}");
}

#[tokio::test]
async fn nobody_else_decides_and_an_admin_may_close_it() {
    let (app, model, anna) = with_five(&PAIRS).await;
    let ben = app.user("ben").await;
    let ids = memories(&app, &anna).await;
    dream(&app).await;
    let his = app.signed_in(&ben).await;
    assert!(look(&his).await.contains("they need a chat model"));
    for action in ["accept_all", "dismiss_all", "undo"] {
        decide(&app, &his, action, &[]).await;
    }
    let hers = app.signed_in(&anna).await;
    set_browser_read_only(&app.db, &app.shared_clock(), true).await.unwrap();
    assert_eq!(decide(&app, &hers, "accept_all", &[]).await.0, 403);
    assert!(!look(&hers).await.contains("Accept"));
    assert_eq!(app.count("dream_proposals WHERE state = 'open'").await, 3);
    assert_eq!(statuses(&anna, &ids).await, ["active"; 6]);
    assert!(!model.asked().contains("ben"));
}

#[tokio::test]
async fn who_has_ten_thousand_sessions_is_dreamt_of_ten_at_a_time_beside_the_others() {
    let (app, model, anna) = with_five(&[]).await;
    let ben = app.user("ben").await;
    sessions(&app, &ben, "b", &TALKS).await;
    use_server(&app, &ben, &model.server).await;
    // Of Anna's first episode many more, each older than the last.
    let more = "DO $$
        DECLARE
            columns text;
        BEGIN
            SELECT string_agg(quote_ident(column_name::text), ', ') INTO columns FROM information_schema.columns
            WHERE table_name = 'memory_items' AND is_generated = 'NEVER' AND column_name NOT IN ('id', 'content');
            EXECUTE format('INSERT INTO memory_items (content, %1$s)
                SELECT content || '' '' || n, %1$s FROM memory_items, generate_series(1, 9995) n
                WHERE id = (SELECT min(source_id) FROM episodes)', columns);
        END $$;
        INSERT INTO episodes (user_id, source_id, first_position, last_position, abstract, made_by, began_at, ended_at, kept_at)
        SELECT e.user_id, i.id, 1, 1, e.abstract, e.made_by, e.began_at - i.id * interval '1 minute', e.ended_at - i.id * interval '1 minute', e.kept_at
        FROM episodes e JOIN memory_items i ON i.user_id = e.user_id
        WHERE e.source_id = (SELECT min(source_id) FROM episodes)
          AND i.type = 'episode' AND i.id NOT IN (SELECT source_id FROM episodes)";
    app.sql(more).run_all().await;
    assert_eq!(dream(&app).await, 2);
    let dreamt: Vec<i64> = app.sql("SELECT user_id FROM dreams ORDER BY user_id").values().await;
    assert_eq!(dreamt, [anna.id.0, ben.id.0]);
    let read = format!("episodes WHERE promoted_at IS NOT NULL AND user_id = {}", anna.id.0);
    assert_eq!(app.count(&read).await, 10);
    let all = format!("episodes WHERE user_id = {}", anna.id.0);
    assert_eq!(app.count(&all).await, 10_000);
    assert_eq!(dream(&app).await, 1);
    assert_eq!(app.count(&read).await, 20);
}

#[tokio::test]
async fn of_two_merges_into_one_memory_either_is_undone_by_itself() {
    let (app, anna) = TestApp::start_for("anna").await;
    let add = async |content: &str, more: Value| {
        let mut input = json!({ "content": content, "type": "fact" });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        anna.added(input).await
    };
    for is_first in [true, false] {
        let kept =
            add(&format!("Likes honey, {is_first}."), json!({ "tags": ["kept", "both"] })).await;
        let one = add("Is fond of honey.", json!({ "tags": ["one", "both", "shared"] })).await;
        let dated = json!({ "tags": ["two", "shared"], "valid_from": "2020" });
        let two = add("Loves honey.", dated).await;
        let pair = |gone| ItemPair { gone: ItemId(gone), kept: ItemId(kept) };
        let settled = app.embeddings.now();
        let mut tx = app.db.as_writer(anna.id).await.unwrap();
        for gone in [one, two] {
            let how = (Settlement::Same, Decider::Person);
            assert!(settle_in(&mut tx, anna.id, pair(gone), how, settled).await.unwrap());
        }
        tx.commit().await.unwrap();
        let of_kept = async || {
            let item = item(&anna, kept).await;
            (item["tags"].clone(), item["valid_from"].clone())
        };
        let year = json!("2020-01-01T00:00:00Z");
        let all = json!(["kept", "both", "one", "shared", "two"]);
        assert_eq!(of_kept().await, (all, year.clone()));
        // What is changed meanwhile stays, however much that is.
        app.sql("INSERT INTO memory_item_events (user_id, item_id, event, at)
             SELECT user_id, id, 'confirmed', $2 FROM memory_items CROSS JOIN generate_series(1, 500)
             WHERE id = $1 RETURNING user_id").bind(kept).bind(settled).run().await;
        let tags = json!(["kept", "both", "one", "shared", "two", "later"]);
        let later = json!({ "item_id": kept, "content": format!("Likes honey, {is_first}."), "tags": tags });
        anna.call("memory_correct", later).await;
        app.clock.advance(Duration::minutes(1));
        let undo = async |gone: i64| {
            let mut tx = app.db.as_writer(anna.id).await.unwrap();
            let now = app.embeddings.now();
            let undone = take_back_in(&mut tx, anna.id, pair(gone), settled, now).await;
            assert_eq!(undone.unwrap(), SettlementUndo::Done);
            tx.commit().await.unwrap();
            assert_eq!(item(&anna, gone).await["status"], "active");
        };
        let (gone, expected) = match is_first {
            true => (one, (json!(["kept", "both", "two", "later"]), year)),
            false => (two, (json!(["kept", "both", "one", "shared", "later"]), Value::Null)),
        };
        undo(gone).await;
        assert_eq!(of_kept().await, expected);
        undo(one + two - gone).await;
        let before = (json!(["kept", "both", "later"]), Value::Null);
        assert_eq!(of_kept().await, before);
        for id in [kept, one, two] {
            anna.call("memory_archive", json!({ "item_id": id })).await;
        }
    }
}
