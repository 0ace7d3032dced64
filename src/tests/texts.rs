//! One text in several forms is one memory, and each is kept as it came.

use serde_json::{Value, json};

use crate::support::{TestApp, TestUser};

/// One text each, in two forms.
const FORMS: [(&str, &str); 6] = [
    ("Das Café in Köln öffnet um neun.", "Das Cafe\u{301} in Ko\u{308}ln o\u{308}ffnet um neun."),
    ("First line.\nSecond line.", "First line.\r\nSecond line."),
    ("The door code is 4711.", "\u{feff}The door\u{200b} code is 47\u{2060}11.\u{200b}"),
    ("او کتاب می‌خواهد.", "او کتاب میخواهد."),
    (
        "김민수는 서울에 산다.",
        "\u{1100}\u{1175}\u{11b7}\u{1106}\u{1175}\u{11ab}\u{1109}\u{116e}\u{1102}\u{1173}\u{11ab} \u{1109}\u{1165}\u{110b}\u{116e}\u{11af}\u{110b}\u{1166} \u{1109}\u{1161}\u{11ab}\u{1103}\u{1161}.",
    ),
    ("ضيافة القهوة ☕\u{fe0f}", "\u{200f}ضيافة القهوة ☕"),
];

async fn add(user: &TestUser, content: &str) -> Value {
    user.call("memory_add", json!({ "type": "fact", "content": content })).await
}

async fn content(user: &TestUser, id: &Value) -> Value {
    user.call("memory_get", json!({ "item_id": id })).await["content"].clone()
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_memory_in_two_forms_is_one_and_is_kept_as_it_came_first() {
    let (_, anna, ben) = TestApp::with_users().await;
    for (one, other) in FORMS {
        for (user, first, second) in [(&anna, one, other), (&ben, other, one)] {
            let added = add(user, first).await;
            assert_eq!(added["duplicate"], false, "{first:?}");
            let again = add(user, second).await;
            assert_eq!(
                (&again["id"], &again["duplicate"]),
                (&added["id"], &json!(true)),
                "{second:?}"
            );
            assert_eq!(content(user, &added["id"]).await, first.trim());
            // Corrected to the same it stays, too.
            let correct = json!({ "item_id": added["id"], "content": second });
            let corrected = user.call("memory_correct", correct).await;
            assert_eq!(corrected["id"], added["id"], "{second:?}");
        }
    }
    // What only looks alike is not the same.
    for (one, other) in [("Likes tea.", "Likes Tea."), ("Room 1", "Room １"), ("Cafe", "Café")] {
        assert_ne!(add(&anna, one).await["id"], add(&anna, other).await["id"], "{other}");
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn keys_themes_and_tags_in_two_forms_are_one() {
    let (_, anna) = TestApp::with_user().await;
    let keyed = |theme: &str, key: &str, text: &str, tag: &str| json!({ "type": "fact", "content": text, "theme": theme, "key": key, "tags": [tag] });
    let older = anna.call("memory_add", keyed("Café", "größe", "Wears 42.", "schön")).await;
    let newer = keyed("Cafe\u{301}", "gro\u{308}\u{200b}ße", "Wears 43.", "scho\u{308}n");
    let newer = anna.call("memory_add", newer).await;
    assert_eq!(newer["superseded"], older["id"], "{newer}");
    let again = keyed("Caf\u{200b}é", "größe", "Wears 43.", "schön\u{200b}");
    let again = anna.call("memory_add", again).await;
    assert_eq!((&again["id"], &again["duplicate"]), (&newer["id"], &json!(true)));
    let item = anna.call("memory_get", json!({ "item_id": newer["id"] })).await;
    assert_eq!(item["tags"].as_array().unwrap().len(), 1, "{item}");
    let themes = anna.call("memory_list_themes", json!({})).await;
    assert_eq!(themes["themes"].as_array().unwrap().len(), 1, "{themes}");
    let gone =
        anna.call("memory_forget", json!({ "key": "gro\u{308}ße", "theme": "Cafe\u{301}" })).await;
    assert_eq!(gone["archived"], json!([newer["id"]]));
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_text_with_nothing_to_see_is_empty() {
    let (_, anna) = TestApp::with_user().await;
    for nothing in ["\u{200b}", "\u{feff}\u{200d}", " \u{2060}\r\n", "\u{3164}", "\u{ad}"] {
        for (field, input) in [
            ("content", json!({ "type": "fact", "content": nothing })),
            ("tags", json!({ "type": "fact", "content": "x", "tags": [nothing] })),
        ] {
            let (status, problem) = anna.refused("memory_add", input).await;
            let told = (status, problem["code"].as_str(), problem["field"].as_str());
            assert_eq!(told, (422, Some("required"), Some(field)), "{nothing:?}: {problem}");
        }
        let (status, _) =
            anna.refused("memory", json!({ "action": "save", "text": nothing })).await;
        assert_eq!(status, 422, "{nothing:?}");
    }
    assert_eq!(anna.call("memory_stats", json!({})).await["active"], 0);
    // Within a text they stay: they join emoji, and letters of Persian and Indic scripts.
    for text in ["👩\u{200d}💻 works at night", "می\u{200c}خواهم", "क्\u{200d}ष"] {
        let added = add(&anna, text).await;
        assert_eq!(content(&anna, &added["id"]).await, text);
    }
}

#[tokio::test]
async fn memories_of_earlier_versions_are_compared_so_and_none_is_lost() {
    let (app, anna) = TestApp::start_for("anna").await;
    let set = async |id: i64, text: &str| {
        let old = "UPDATE memory_items SET content = $2, content_hash = sha256(convert_to($2, 'UTF8')) WHERE id = $1";
        app.sql(old).bind(id).bind(text).run().await;
    };
    let mut kept = Vec::new();
    for (n, (one, other)) in FORMS.into_iter().enumerate() {
        let first = anna.add(&format!("first {n}")).await;
        let second = anna.add(&format!("second {n}")).await;
        set(first, other.trim()).await;
        // Of half of them both forms were kept.
        if n % 2 == 0 {
            set(second, one).await;
        }
        kept.push((first, second, one, other));
    }
    app.sql(include_str!("../../migrations/20261231000210_compared_texts.sql")).run_all().await;
    for (first, second, one, other) in kept {
        let active = "SELECT count(*) FROM memory_items WHERE id IN ($1, $2) AND status = 'active'";
        assert_eq!(app.sql(active).bind(first).bind(second).value::<i64>().await, 2);
        for form in [one, other] {
            let again = add(&anna, form).await;
            assert_eq!(again["duplicate"], true, "{form:?}");
            let id = again["id"].as_i64().unwrap();
            assert!(id == first || id == second, "{form:?}");
        }
    }
    let wanted = keepsake::texts::comparable(FORMS[0].1).into_owned();
    let hashed =
        "SELECT count(*) FROM memory_items WHERE content_hash = sha256(convert_to($1, 'UTF8'))";
    assert_eq!(app.sql(hashed).bind(wanted).value::<i64>().await, 1);
}
