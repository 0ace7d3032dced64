//! Every limit of DESIGN §10 and every shape of wrong body: one clear sentence,
//! a stable code, the field named, 4xx.

use reqwest::{Client, Response};
use serde_json::{Value, json};

use super::{code, with};
use crate::support::{TestApp, TestUser, problem};

fn fact(more: Value) -> Value {
    with(json!({ "type": "fact", "content": "ok" }), more)
}

/// What was sent, in short, and what it is answered.
fn sentence(sent: &str, (status, problem): &(u16, Value)) -> String {
    let sent: String = sent.chars().take(72).collect();
    let [code, field, detail] = ["code", "field", "detail"].map(|name| &problem[name]);
    format!("{}\n  {status} {code} {field}: {detail}", sent.trim_end())
}

#[tokio::test(crate = "crate::support::shared")]
async fn each_limit_is_named_with_its_field() {
    let (_, anna) = TestApp::with_user().await;
    let (long_theme, big) = (format!(" {}", "x".repeat(64)), "99999999999999999999.1");
    let mut told = Vec::new();
    for (tool, input) in [
        ("memory_add", fact(json!({ "content": "x".repeat(20_001) }))),
        ("memory_add", fact(json!({ "content": "" }))),
        ("memory_add", fact(json!({ "content": " \n " }))),
        ("memory_add", fact(json!({ "content": "a\u{0}b" }))),
        ("memory_add", fact(json!({ "content": 5 }))),
        ("memory_add", fact(json!({ "type": "opinion" }))),
        ("memory_add", fact(json!({ "type": null }))),
        ("memory_add", json!({ "type": "fact" })),
        ("memory_add", json!({ "content": "ok" })),
        ("memory_add", fact(json!({ "colour": "red" }))),
        ("memory_add", fact(json!({ "theme": "x".repeat(65) }))),
        // Blanks count, as in the schema.
        ("memory_add", fact(json!({ "theme": long_theme }))),
        ("memory_search", json!({ "theme": " ".repeat(65) })),
        ("memory_add", fact(json!({ "theme": "!!!" }))),
        ("memory_add", fact(json!({ "theme": "a\u{0}" }))),
        ("memory_add", fact(json!({ "tags": vec!["t"; 33] }))),
        ("memory_add", fact(json!({ "tags": ["x".repeat(65)] }))),
        ("memory_add", fact(json!({ "tags": ["a\u{0}"] }))),
        ("memory_add", fact(json!({ "tags": "work" }))),
        ("memory_add", fact(json!({ "tags": [1] }))),
        ("memory_search", json!({ "query": "x".repeat(8_001) })),
        ("memory_search", json!({ "query": "a\u{0}b" })),
        ("memory_search", json!({ "query": ["tea"] })),
        ("memory_search", json!({ "limit": 51 })),
        ("memory_search", json!({ "limit": 0 })),
        ("memory_search", json!({ "limit": -1 })),
        ("memory_search", json!({ "limit": 1.5 })),
        ("memory_search", json!({ "limit": 1e30 })),
        ("memory_search", json!({ "limit": "10" })),
        ("memory_search", json!({ "types": ["fact", "opinion"] })),
        ("memory_search", json!({ "status": "deleted" })),
        ("memory_search", json!({ "recency_days": 0 })),
        ("memory_search", json!({ "recency_days": 36_501 })),
        ("memory_search", json!({ "cursor": "nonsense" })),
        ("memory_search", json!({ "cursor": big })),
        ("memory_search", json!({ "query": "tea", "cursor": "1.1" })),
        ("memory_search", json!({ "user_id": 1 })),
        ("memory_get", json!({})),
        ("memory_get", json!({ "item_id": "1" })),
        ("memory_get", json!({ "item_id": 1e300 })),
        ("memory_archive", json!({ "item_id": null })),
        ("memory_list_themes", json!({ "themes": 1 })),
    ] {
        let problem = anna.refused(tool, input.clone()).await;
        told.push(sentence(&format!("{tool} {input}"), &problem));
    }
    insta::assert_snapshot!(told.join("\n"), @r#"
    memory_add {"content":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
      422 "too_long" "content": "`content` has 20001 characters; at most 20000 are accepted."
    memory_add {"content":"","type":"fact"}
      422 "required" "content": "`content` is empty; give 1 to 20000 characters."
    memory_add {"content":" \n ","type":"fact"}
      422 "required" "content": "`content` is empty; give 1 to 20000 characters."
    memory_add {"content":"a\u0000b","type":"fact"}
      422 "invalid_text" "content": "`content` contains a NUL character (U+0000); send text without it."
    memory_add {"content":5,"type":"fact"}
      422 "invalid_type" "content": "`content` has the wrong type; expected a string."
    memory_add {"content":"ok","type":"opinion"}
      422 "invalid_type" "type": "`type` has the wrong type; expected one of `preference`, `fact`, `instruction`, `summary`, `other`."
    memory_add {"content":"ok","type":null}
      422 "invalid_type" "type": "`type` has the wrong type; expected value."
    memory_add {"type":"fact"}
      422 "required" "content": "`content` is missing."
    memory_add {"content":"ok"}
      422 "required" "type": "`type` is missing."
    memory_add {"colour":"red","content":"ok","type":"fact"}
      422 "unknown_field" "colour": "`colour` is not a field of this tool; it takes one of `type`, `content`, `theme`, `tags`, `key`, `source`, `confidence`, `expires_in_days`, `valid_from`, `valid_until`, `project`, `source_context`."
    memory_add {"content":"ok","theme":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
      422 "too_long" "theme": "`theme` has 65 characters; at most 64 are accepted."
    memory_add {"content":"ok","theme":" xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
      422 "too_long" "theme": "`theme` has 65 characters; at most 64 are accepted."
    memory_search {"theme":"
      422 "too_long" "theme": "`theme` has 65 characters; at most 64 are accepted."
    memory_add {"content":"ok","theme":"!!!","type":"fact"}
      422 "invalid_theme" "theme": "`theme` has no letter or digit; give a name such as work or home-lab."
    memory_add {"content":"ok","theme":"a\u0000","type":"fact"}
      422 "invalid_text" "theme": "`theme` contains a NUL character (U+0000); send text without it."
    memory_add {"content":"ok","tags":["t","t","t","t","t","t","t","t","t","
      422 "too_many" "tags": "`tags` has 33 entries; at most 32 are accepted."
    memory_add {"content":"ok","tags":["xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
      422 "too_long" "tags": "`tags` has 65 characters; at most 64 are accepted."
    memory_add {"content":"ok","tags":["a\u0000"],"type":"fact"}
      422 "invalid_text" "tags": "`tags` contains a NUL character (U+0000); send text without it."
    memory_add {"content":"ok","tags":"work","type":"fact"}
      422 "invalid_type" "tags": "`tags` has the wrong type; expected a sequence."
    memory_add {"content":"ok","tags":[1],"type":"fact"}
      422 "invalid_type" "tags[0]": "`tags[0]` has the wrong type; expected a string."
    memory_search {"query":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
      422 "too_long" "query": "`query` has 8001 characters; at most 8000 are accepted."
    memory_search {"query":"a\u0000b"}
      422 "invalid_text" "query": "`query` contains a NUL character (U+0000); send text without it."
    memory_search {"query":["tea"]}
      422 "invalid_type" "query": "`query` has the wrong type; expected a string."
    memory_search {"limit":51}
      422 "out_of_range" "limit": "`limit` is out of range; give 1 to 50."
    memory_search {"limit":0}
      422 "out_of_range" "limit": "`limit` is out of range; give 1 to 50."
    memory_search {"limit":-1}
      422 "out_of_range" "limit": "`limit` is out of range; give 1 to 50."
    memory_search {"limit":1.5}
      422 "invalid_type" "limit": "`limit` has the wrong type; expected a whole number."
    memory_search {"limit":1e+30}
      422 "invalid_type" "limit": "`limit` has the wrong type; expected a whole number."
    memory_search {"limit":"10"}
      422 "invalid_type" "limit": "`limit` has the wrong type; expected a whole number."
    memory_search {"types":["fact","opinion"]}
      422 "invalid_type" "types[1]": "`types[1]` has the wrong type; expected one of `preference`, `fact`, `instruction`, `summary`, `other`, `reflection`, `turn`, `document`, `episode`."
    memory_search {"status":"deleted"}
      422 "invalid_status" "status": "`status` is not known; give active, archived or any."
    memory_search {"recency_days":0}
      422 "out_of_range" "recency_days": "`recency_days` is out of range; give 1 to 36500."
    memory_search {"recency_days":36501}
      422 "out_of_range" "recency_days": "`recency_days` is out of range; give 1 to 36500."
    memory_search {"cursor":"nonsense"}
      422 "invalid_cursor" "cursor": "`cursor` is not one of ours; give the `cursor` of the answer before, or none."
    memory_search {"cursor":"99999999999999999999.1"}
      422 "invalid_cursor" "cursor": "`cursor` is not one of ours; give the `cursor` of the answer before, or none."
    memory_search {"cursor":"1.1","query":"tea"}
      422 "invalid_cursor" "cursor": "`cursor` goes on from a listing by date; leave it out, or give query \"*\"."
    memory_search {"user_id":1}
      422 "unknown_field" "user_id": "`user_id` is not a field of this tool; it takes one of `query`, `limit`, `theme`, `types`, `project`, `recency_days`, `min_similarity`, `balance`, `status`, `as_of`, `at`, `time`, `spread`, `by_strength`, `explain`, `cursor`."
    memory_get {}
      422 "required" "item_id": "`item_id` is missing."
    memory_get {"item_id":"1"}
      422 "invalid_type" "item_id": "`item_id` has the wrong type; expected a whole number."
    memory_get {"item_id":1e+300}
      422 "invalid_type" "item_id": "`item_id` has the wrong type; expected a whole number."
    memory_archive {"item_id":null}
      422 "invalid_type" "item_id": "`item_id` has the wrong type; expected a whole number."
    memory_list_themes {"themes":1}
      422 "unknown_field" "themes": "`themes` is not a field of this tool; it takes `limit`."
    "#);
    // The limits themselves are inside.
    let tags: Vec<_> = (0..32).map(|n| format!("{n:064}")).collect();
    let query = json!({ "query": "x".repeat(8_000), "limit": 50, "recency_days": 36_500 });
    for (tool, input) in [
        ("memory_add", fact(json!({ "content": "é".repeat(20_000) }))),
        ("memory_add", fact(json!({ "tags": tags }))),
        ("memory_search", query),
    ] {
        anna.call(tool, input).await;
    }
}

async fn post(
    app: &TestApp,
    user: &TestUser,
    content_type: &str,
    body: impl Into<reqwest::Body>,
) -> Response {
    Client::new()
        .post(format!("{}/api/v1/tools/memory_add", app.base))
        .bearer_auth(&user.token)
        .header("content-type", content_type)
        .body(body)
        .send()
        .await
        .unwrap()
}

#[tokio::test(crate = "crate::support::shared")]
async fn wrong_bodies_are_told_apart() {
    let (app, anna) = TestApp::with_user().await;
    let ok = r#"{"type":"fact","content":"ok"}"#;
    let mut told = Vec::new();
    for body in [
        "{",
        "",
        "[]",
        r#"["fact", "ok"]"#,
        "null",
        r#""text""#,
        r#"{"type":"fact","content":"ok"} {}"#,
        r#"{"type":"fact","content":"ok","content":"again"}"#,
        r#"{"type":"fact","content":"\ud800"}"#,
        r#"{"type":"fact","content":"a\udc00b"}"#,
        r#"{"type":"fact","content":"ok","tags":["\ud800"]}"#,
    ] {
        let response = post(app, &anna, "application/json", body).await;
        told.push(sentence(body, &problem(response).await));
    }
    insta::assert_snapshot!(told.join("\n"), @r#"
    {
      400 "invalid_json" null: "The input is not valid JSON (line 1, column 1)."

      422 "required" "type": "`type` is missing."
    []
      400 "invalid_json" null: "The input must be a JSON object, such as {}."
    ["fact", "ok"]
      400 "invalid_json" null: "The input must be a JSON object, such as {}."
    null
      400 "invalid_json" null: "The input must be a JSON object, such as {}."
    "text"
      400 "invalid_json" null: "The input must be a JSON object, such as {}."
    {"type":"fact","content":"ok"} {}
      400 "invalid_json" null: "The input has something after its JSON object; send one object."
    {"type":"fact","content":"ok","content":"again"}
      422 "duplicate_field" "content": "`content` is given twice; give it once."
    {"type":"fact","content":"\ud800"}
      422 "invalid_text" "content": "`content` contains half of a surrogate pair; send valid Unicode text."
    {"type":"fact","content":"a\udc00b"}
      422 "invalid_text" "content": "`content` contains half of a surrogate pair; send valid Unicode text."
    {"type":"fact","content":"ok","tags":["\ud800"]}
      422 "invalid_text" "tags[0]": "`tags[0]` contains half of a surrogate pair; send valid Unicode text."
    "#);
    let no_utf8 = b"{\"type\":\"fact\",\"content\":\"\xff\"}".to_vec();
    assert_eq!(problem(post(app, &anna, "application/json", no_utf8).await).await.0, 400);
    assert_eq!(code(post(app, &anna, "text/plain", ok).await).await, "415 unsupported_media_type");
    assert_eq!(post(app, &anna, "application/json; charset=utf-8", ok).await.status(), 200);
}

#[tokio::test(crate = "crate::support::shared")]
async fn deep_json_and_a_body_over_one_mebibyte_are_refused() {
    let (app, anna) = TestApp::with_user().await;
    // The stack does not overflow.
    let deep = format!(r#"{{"type":"fact","content":"ok","tags":{}"#, "[".repeat(200_000));
    let (status, _) = problem(post(app, &anna, "application/json", deep).await).await;
    assert!(status == 400 || status == 422, "deep: {status}");
    for size in [1024 * 1024 + 1, 10 * 1024 * 1024] {
        let response = post(app, &anna, "application/json", vec![b' '; size]).await;
        assert_eq!(code(response).await, "413 body_too_large", "{size}");
    }
}

#[tokio::test(crate = "crate::support::shared")]
async fn unknown_tools_endpoints_and_methods_are_problems_too() {
    let (app, anna) = TestApp::with_user().await;
    assert_eq!(code(anna.send("memory_delete", &json!({})).await).await, "404 unknown_tool");
    let client = Client::new();
    let nowhere = client.get(format!("{}/api/v1/nowhere", app.base)).send().await.unwrap();
    assert_eq!(problem(nowhere).await.0, 404);
    let get = client.get(format!("{}/api/v1/tools/memory_add", app.base)).send().await.unwrap();
    assert_eq!(problem(get).await.0, 405);
}

#[tokio::test(crate = "crate::support::shared")]
async fn a_sentence_never_repeats_what_was_sent() {
    let (_, anna) = TestApp::with_user().await;
    for input in [
        json!({ "type": "canary-7", "content": "x" }),
        json!({ "type": "fact", "content": { "canary-7": 1 } }),
        json!({ "type": "fact", "content": "canary-7\u{0}" }),
        json!({ "type": "fact", "content": "x", "tags": "canary-7" }),
    ] {
        let (_, problem) = anna.refused("memory_add", input).await;
        assert!(!problem.to_string().contains("canary"), "{problem}");
    }
}
