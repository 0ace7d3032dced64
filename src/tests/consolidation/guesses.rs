//! What is kept without a model: guesses, beside what is held, until a model reads the same messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use time::Duration;

use super::{active, fact, finding, items, ledger, told, user_of, user_says};
use crate::chat::use_server;
use crate::pages::assert_has;
use crate::support::{ChatServer, TestApp, TestUser, refused, said};

const GUESS: (&str, &str) = ("guess", "agent");
/// The person asked to remember it.
const ASKED: (&str, &str) = ("user_explicit", "user");

/// Reads all of this user that is due.
async fn read(app: &TestApp, user: &TestUser) {
    let consolidation = &app.consolidation;
    while let Some((due, at)) = consolidation.next_due(user.id).await.unwrap() {
        if at > app.embeddings.now() {
            break;
        }
        consolidation.extract(due).await.unwrap();
    }
}

/// Ann says this in a session of this name, which is over and read.
async fn say(app: &TestApp, user: &TestUser, session: &str, words: &str) {
    told(user, session, &[user_says("m1", words)]).await;
    read(app, user).await;
}

/// The item with this text.
async fn item(app: &TestApp, user: &TestUser, content: &str) -> Value {
    let all = items(app, user).await;
    let found = all.iter().find(|item| item["content"] == content);
    found.unwrap_or_else(|| panic!("{content}: {all:?}")).clone()
}

async fn events(app: &TestApp, item: &Value) -> Vec<String> {
    let events = "SELECT event FROM memory_item_events WHERE item_id = $1 ORDER BY id";
    app.sql(events).bind(item["id"].as_i64()).values().await
}

/// The sentence, its theme, and whose word it is.
const KEPT: &[(&str, &str, (&str, &str))] = &[
    ("My name is Kim.", "profile", GUESS),
    ("I prefer tea.", "preferences", GUESS),
    ("I moved to the second file.", "profile", GUESS),
    ("I work at night.", "profile", GUESS),
    ("Remember that I take my tea without sugar.", "other", ASKED),
    ("Ich heiße Kim.", "profile", GUESS),
    ("Ich trinke am liebsten grünen Tee.", "preferences", GUESS),
    ("Bitte merk dir, dass ich auf Platz vier parke.", "other", ASKED),
    ("我叫王芳。", "profile", GUESS),
    ("我更喜欢喝茶。", "preferences", GUESS),
    ("请记住，我把车停在四号位。", "other", ASKED),
    ("اسمي ليلى.", "profile", GUESS),
    ("أنا أفضل الشاي بدون سكر.", "preferences", GUESS),
    ("تذكر أن موقفي رقم أربعة.", "other", ASKED),
    ("Je préfère le thé au café.", "preferences", GUESS),
    ("Me llamo Kim.", "profile", GUESS),
    ("私は東京に住んでいます。", "profile", GUESS),
    ("Меня зовут Ким.", "profile", GUESS),
];

const NOT_KEPT: &[&str] = &[
    "Call me when the build is finished.",
    "Do I live in a simulation?",
    "Remember that my password is hunter2.",
    "Translate this: \"My name is Bob.\"",
    "Weißt du, wie ich heiße?",
    "Ich mag das Wetter heute.",
    "你叫什么名字？",
    "هل تعرف ما اسمي؟",
];

#[tokio::test(crate = "crate::support::shared")]
async fn without_a_model_complete_keeps_what_flush_keeps_in_the_persons_words() {
    let app = TestApp::shared().await;
    for (sentence, theme, (source, trust)) in KEPT {
        let user = app.user("kim").await;
        say(app, &user, "talk", &format!("Hello!\n{sentence}")).await;
        let kept = items(app, &user).await;
        assert_eq!(kept.len(), 1, "{sentence}: {kept:?}");
        for (name, value) in [
            ("content", json!(sentence)),
            ("context", json!(sentence)),
            ("theme", json!(theme)),
            ("source", json!(source)),
            ("trust", json!(trust)),
            ("key", Value::Null),
            ("confidence", json!(60)),
            ("status", json!("active")),
            ("message", json!(1)),
        ] {
            assert_eq!(kept[0][name], value, "{name} of {sentence}");
        }
        let row = ledger(&user, "talk").await;
        assert_eq!([&row["outcome"], &row["fallback"]], [&json!("skipped"), &json!(true)]);
        assert!(row["reason"].as_str().unwrap().contains("no chat model"), "{row}");
        let flushed = app.user("kim").await;
        let messages = json!({ "messages": [user_says("m1", &format!("Hello!\n{sentence}"))] });
        flushed.post("/api/v1/sessions/talk/messages", &messages).await;
        flushed.post("/api/v1/sessions/talk/flush", &json!({ "wait": false })).await;
        read(app, &flushed).await;
        assert_eq!(active(app, &flushed).await, [*sentence]);
    }
    for sentence in NOT_KEPT {
        let user = app.user("kim").await;
        say(app, &user, "talk", sentence).await;
        assert_eq!(active(app, &user).await, Vec::<String>::new(), "{sentence}");
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_guess_is_under_review_and_called_one_where_people_see_it() {
    let (app, user, browser) = TestApp::with_browser().await;
    say(app, &user, "talk", "Ich heiße Kim. Merk dir, dass ich auf Platz vier parke.").await;
    for path in ["/learned", "/memory"] {
        let page = browser.look(path).await;
        assert_has(&page, &["Ich heiße Kim.", "a guess", "auf Platz vier", "stated by you"]);
    }
    let guess = item(app, &user, "Ich heiße Kim.").await;
    assert_has(&browser.look(&format!("/memory/{}", guess["id"])).await, &["a guess", "60 %"]);
    let session: i64 =
        app.sql("SELECT id FROM sessions WHERE user_id = $1").bind(user.id.0).value().await;
    let page = browser.look(&format!("/sessions/{session}")).await;
    assert_has(&page, &["by their words alone: 2.", "Read again"]);
    let found = user.call("memory_search", json!({ "query": "Kim", "types": ["fact"] })).await;
    assert_eq!(found["results"][0]["source"], "guess");
}

/// What is held, by key, and what is said then.
const HELD: &[(&str, &str, &str)] = &[
    ("location", "Lives in Graz", "I moved to the second file."),
    ("employer", "Siemens", "I work at night."),
    ("name", "Anna", "My name is on the list over there."),
    ("location", "Wohnt in Graz", "Ich lebe in der Vergangenheit."),
    ("preferred_name", "Kim", "Nenne mich altmodisch."),
    ("location", "住在格拉茨", "我搬到了第二个文件。"),
    ("employer", "西门子", "我在晚上工作。"),
    ("location", "تعيش في غراتس", "أعيش في عالم آخر."),
    ("location", "Vive en Graz", "Vivo en las nubes."),
    ("location", "Живёт в Граце", "Я живу в прошлом."),
];

#[tokio::test(crate = "crate::support::shared")]
async fn a_guess_stands_beside_what_is_held_and_gives_way_to_no_key() {
    let app = TestApp::shared().await;
    for (key, value, sentence) in HELD {
        let user = app.user("anna").await;
        let held = json!({ "type": "fact", "theme": "profile", "key": key, "content": value });
        user.call("memory_add", held).await;
        let before = item(app, &user, value).await;
        say(app, &user, "talk", sentence).await;
        assert_eq!(item(app, &user, value).await, before, "{sentence}");
        assert_eq!(active(app, &user).await, [*value, *sentence]);
        assert_eq!(item(app, &user, sentence).await["key"], Value::Null, "{sentence}");
    }
}

/// What is said; what a model then finds of it; what becomes of the sentence.
type ReadLater = (&'static str, Option<(&'static str, &'static str, &'static str)>, &'static str);

const READ_LATER: &[ReadLater] = &[
    ("My name is Kim.", Some(("profile", "name", "Kim")), "merged"),
    ("Ich wohne in Freiburg.", Some(("profile", "home_city", "Wohnt in Freiburg")), "merged"),
    // The same words: the fact has them, with its key.
    ("我对花生过敏。", Some(("profile", "allergy", "我对花生过敏。")), "merged"),
    ("أنا أفضل الشاي بدون سكر.", Some(("preferences", "tea", "الشاي بدون سكر")), "merged"),
    ("请记住，我把车停在四号位。", Some(("other", "parking", "车停在四号位")), "merged"),
    ("I moved to the second file.", None, "read_again"),
    ("Ich lebe in der Vergangenheit.", None, "read_again"),
    ("أعيش في عالم آخر.", None, "read_again"),
    ("Remember that I take my tea without sugar.", None, "added"),
    ("Bitte merk dir, dass ich auf Platz vier parke.", None, "added"),
];

/// A model that is down, or finds what [`READ_LATER`] says.
async fn model_that_comes_back() -> (ChatServer, Arc<AtomicBool>) {
    let is_up = Arc::new(AtomicBool::new(false));
    let asked_up = is_up.clone();
    let model = ChatServer::answering(move |body, _| {
        if !asked_up.load(Ordering::Relaxed) {
            return refused(503, "down");
        }
        let text = body["messages"][1]["content"].as_str().unwrap_or_default();
        let one = READ_LATER.iter().find(|(sentence, ..)| text.contains(sentence));
        let found = one.and_then(|(sentence, found, _)| Some((sentence, found.as_ref()?)));
        let facts = found.map(|(sentence, (category, key, value))| {
            fact(category, key, value, "user_explicit", sentence)
        });
        said(&json!({ "facts": facts.into_iter().collect::<Vec<_>>() }).to_string())
    })
    .await;
    (model, is_up)
}

#[tokio::test]
async fn with_a_model_that_is_down_the_same_is_kept_and_goes_when_the_model_has_read_it() {
    let app = TestApp::start().await;
    let (model, is_up) = model_that_comes_back().await;
    let mut users = Vec::new();
    for (n, (sentence, ..)) in READ_LATER.iter().enumerate() {
        let user = user_of(&app, &format!("kim-{n}"), &model).await;
        say(&app, &user, "talk", sentence).await;
        assert_eq!(active(&app, &user).await, Vec::<String>::new(), "it may answer in a minute");
        users.push(user);
    }
    // One of them does not want it: no later attempt makes it again.
    let anna = user_of(&app, "anna", &model).await;
    say(&app, &anna, "talk", "I prefer tea.").await;
    for minutes in [2, 3] {
        app.clock.advance(Duration::minutes(minutes));
        for ((sentence, ..), user) in READ_LATER.iter().zip(&users) {
            read(&app, user).await;
            assert_eq!(active(&app, user).await, [*sentence]);
        }
        read(&app, &anna).await;
        let id = item(&app, &anna, "I prefer tea.").await["id"].clone();
        anna.call("memory_archive", json!({ "item_id": id })).await;
    }
    assert_eq!(items(&app, &anna).await.len(), 1);

    is_up.store(true, Ordering::Relaxed);
    app.clock.advance(Duration::hours(1));
    for ((sentence, found, event), user) in READ_LATER.iter().zip(&users) {
        read(&app, user).await;
        assert_eq!(ledger(user, "talk").await["fallback"], false, "{sentence}");
        let all = items(&app, user).await;
        let guess = &all[0];
        assert_eq!(guess["content"], *sentence);
        assert_eq!(events(&app, guess).await.last().unwrap(), event, "{sentence}");
        let is_active = *event == "added";
        assert_eq!(guess["status"] == "active", is_active, "{sentence}");
        match found {
            Some((_, key, value)) => {
                assert_eq!([&all[1]["key"], &all[1]["content"]], [key, value], "{all:?}");
                assert_eq!([&all[1]["trust"], &all[1]["status"]], ["user", "active"], "{all:?}");
                assert_eq!(guess["superseded_by"], all[1]["id"], "{sentence}");
            }
            None => assert_eq!((all.len(), &guess["superseded_by"]), (1, &Value::Null), "{all:?}"),
        }
    }
    let browser = app.signed_in(&users[5]).await;
    let gone = item(&app, &users[5], READ_LATER[5].0).await;
    let page = browser.look(&format!("/memory/{}", gone["id"])).await;
    assert_has(&page, &["archived: a guess, and a chat model has read its conversation since"]);
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_model_that_is_set_later_reads_the_latest_guesses_again_with_each_new_session() {
    let (app, kim) = TestApp::with_user().await;
    for n in 0..7 {
        say(app, &kim, &format!("talk-{n}"), &format!("I like number {n} best of all.")).await;
    }
    say(app, &kim, "nothing", "What is the time?").await;
    let model = finding(json!([]), "unrelated").await;
    use_server(app, &kim, &model).await;
    read(app, &kim).await;
    assert_eq!((active(app, &kim).await.len(), model.asked().len()), (7, 0));
    say(app, &kim, "new", "How are you?").await;
    assert_eq!((active(app, &kim).await.len(), model.asked().len()), (2, 6));
    say(app, &kim, "newer", "And now?").await;
    assert_eq!((active(app, &kim).await.len(), model.asked().len()), (0, 9));
    assert_eq!(ledger(&kim, "nothing").await["outcome"], "skipped", "it has no guess");
}

#[tokio::test(crate = "crate::support::shared")]
async fn who_saves_a_model_on_its_page_has_the_latest_guesses_read() {
    let (app, kim, browser) = TestApp::with_browser().await;
    say(app, &kim, "talk", "我叫王芳。").await;
    let model = finding(json!([]), "unrelated").await;
    app.allow(&model.host_port()).await;
    let url = model.url();
    let fields = [
        ("action", "save"),
        ("own_enabled", "1"),
        ("provider_type", "openai"),
        ("url", url.as_str()),
        ("model", "small"),
    ];
    let (status, page) = browser.submit("/settings/chat", &fields).await;
    assert_eq!(status, 200, "{page}");
    read(app, &kim).await;
    assert_eq!((active(app, &kim).await.len(), model.asked().len()), (0, 1));
}

#[tokio::test(crate = "crate::support::shared")]
async fn what_somebody_has_decided_about_a_guess_stays() {
    let (app, kim, browser) = TestApp::with_browser().await;
    let sentences = [
        "I prefer tea.",
        "Ich wohne in Freiburg.",
        "我叫王芳。",
        "أعيش في عالم آخر.",
        "Me llamo Kim.",
        "I like green doors.",
    ];
    say(app, &kim, "talk", &sentences.join("\n")).await;
    let id = async |n: usize| item(app, &kim, sentences[n]).await["id"].as_i64().unwrap();
    let confirmed = id(0).await.to_string();
    browser.submit("/learned", &[("action", "confirm"), ("item", &confirmed)]).await;
    let kept = id(1).await.to_string();
    browser.submit("/learned", &[("action", "keep"), ("item", &kept)]).await;
    let path = format!("/memory/{}", id(2).await);
    for action in ["archive", "restore"] {
        browser.submit(&path, &[("action", action)]).await;
    }
    // Said by an agent too, with a tag.
    let again =
        json!({ "type": "fact", "theme": "profile", "content": sentences[3], "tags": ["x"] });
    kim.call("memory_add", again).await;
    kim.call("memory_archive", json!({ "item_id": id(4).await })).await;
    let model = finding(json!([]), "unrelated").await;
    use_server(app, &kim, &model).await;
    say(app, &kim, "new", "How are you?").await;
    assert_eq!(active(app, &kim).await, sentences[..4]);
    let gone = item(app, &kim, sentences[5]).await;
    assert_eq!(events(app, &gone).await, ["added", "read_again"]);
    let forgotten = item(app, &kim, sentences[4]).await;
    assert_eq!(events(app, &forgotten).await, ["added", "archived"]);
}

#[tokio::test(crate = "crate::support::shared")]
async fn what_a_model_finds_elsewhere_neither_repeats_nor_gives_way_to_a_guess() {
    let (app, kim) = TestApp::with_user().await;
    say(app, &kim, "talk", "I always drink green tea in the morning.").await;
    let words = "I always drink green tea in the morning.";
    let tea = fact("preferences", "tea", words, "user_explicit", words);
    // Compared, it would be the same.
    let model = finding(json!([tea]), "same").await;
    use_server(app, &kim, &model).await;
    told(&kim, "new", &[user_says("m1", words)]).await;
    let (due, _) = app.consolidation.next_due(kim.id).await.unwrap().unwrap();
    app.consolidation.extract(due).await.unwrap();
    let all = items(app, &kim).await;
    let fact = all.iter().find(|item| item["key"] == "tea").expect("it has its key");
    assert_eq!([&fact["status"], &fact["trust"]], ["active", "user"], "{all:?}");
}
