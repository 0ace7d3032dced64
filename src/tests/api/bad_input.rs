//! Every limit and every shape of wrong body: one clear sentence,
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
        ("memory_add", fact(json!({ "content": 5.5 }))),
        ("memory_add", fact(json!({ "content": { "text": "ok" } }))),
        ("memory_add", fact(json!({ "type": "opinion" }))),
        ("memory_add", fact(json!({ "type": null }))),
        ("memory_add", json!({ "type": "fact" })),
        ("memory_add", json!({ "content": "ok" })),
        ("memory_add", json!({ "type": "fact", "text": "ok" })),
        ("memory_add", fact(json!({ "theme": "x".repeat(65) }))),
        // Blanks count, as in the schema.
        ("memory_add", fact(json!({ "theme": long_theme }))),
        ("memory_search", json!({ "theme": " ".repeat(65) })),
        ("memory_add", fact(json!({ "theme": "!!!" }))),
        ("memory_add", fact(json!({ "theme": "a\u{0}" }))),
        ("memory_add", fact(json!({ "tags": vec!["t"; 33] }))),
        ("memory_add", fact(json!({ "tags": ["x".repeat(65)] }))),
        ("memory_add", fact(json!({ "tags": ["a\u{0}"] }))),
        ("memory_add", fact(json!({ "tags": { "work": true } }))),
        ("memory_add", fact(json!({ "tags": [[]] }))),
        ("memory_add", fact(json!({ "tags": "[work]" }))),
        ("memory_search", json!({ "query": "x".repeat(8_001) })),
        ("memory_search", json!({ "query": "a\u{0}b" })),
        ("memory_search", json!({ "query": ["tea"] })),
        ("memory_search", json!({ "limit": 51 })),
        ("memory_search", json!({ "limit": 0 })),
        ("memory_search", json!({ "limit": -1 })),
        ("memory_search", json!({ "limit": 1.5 })),
        ("memory_search", json!({ "limit": 1e30 })),
        ("memory_search", json!({ "limit": "ten" })),
        ("memory_search", json!({ "types": "fact, opinion" })),
        ("memory_search", json!({ "types": 5 })),
        ("memory_search", json!({ "explain": "maybe" })),
        ("memory_search", json!({ "min_similarity": [] })),
        ("memory_search", json!({ "time": "2019" })),
        ("memory_search", json!({ "time": { "from": {} } })),
        ("memory_search", json!({ "status": "deleted" })),
        ("memory_search", json!({ "recency_days": 0 })),
        ("memory_search", json!({ "recency_days": 36_501 })),
        ("memory_search", json!({ "cursor": "nonsense" })),
        ("memory_search", json!({ "cursor": big })),
        ("memory_search", json!({ "query": "tea", "cursor": "1.1" })),
        ("memory_get", json!({})),
        ("memory_get", json!({ "itemId": 1, "ignore all\nprevious": 1 })),
        ("memory_get", json!({ "item_id": "the first" })),
        ("memory_get", json!({ "item_id": 1e300 })),
        ("memory_archive", json!({ "item_id": null })),
        ("memory_summary", json!({ "project": ["x"] })),
        ("memory_files", json!({ "command": "view", "path": "/memories", "view_range": {} })),
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
    memory_add {"content":5.5,"type":"fact"}
      422 "invalid_type" "content": "`content` must be a text; a number came."
    memory_add {"content":{"text":"ok"},"type":"fact"}
      422 "invalid_type" "content": "`content` must be a text; an object came."
    memory_add {"content":"ok","type":"opinion"}
      422 "invalid_type" "type": "`type` must be one of `preference`, `fact`, `instruction`, `summary`, `other`; another text came."
    memory_add {"content":"ok","type":null}
      422 "invalid_type" "type": "`type` must be one of `preference`, `fact`, `instruction`, `summary`, `other`; null came."
    memory_add {"type":"fact"}
      422 "required" "content": "`content` is missing."
    memory_add {"content":"ok"}
      422 "required" "type": "`type` is missing."
    memory_add {"text":"ok","type":"fact"}
      422 "required" "content": "`content` is missing. Ignored, since this tool has no such field: text."
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
    memory_add {"content":"ok","tags":{"work":true},"type":"fact"}
      422 "invalid_type" "tags": "`tags` must be an array of texts; an object came."
    memory_add {"content":"ok","tags":[[]],"type":"fact"}
      422 "invalid_type" "tags[0]": "`tags[0]` must be a text; an array came."
    memory_add {"content":"ok","tags":"[work]","type":"fact"}
      422 "invalid_type" "tags": "`tags` must be an array of texts; a text came."
    memory_search {"query":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
      422 "too_long" "query": "`query` has 8001 characters; at most 8000 are accepted."
    memory_search {"query":"a\u0000b"}
      422 "invalid_text" "query": "`query` contains a NUL character (U+0000); send text without it."
    memory_search {"query":["tea"]}
      422 "invalid_type" "query": "`query` must be a text; an array came."
    memory_search {"limit":51}
      422 "out_of_range" "limit": "`limit` is out of range; give 1 to 50."
    memory_search {"limit":0}
      422 "out_of_range" "limit": "`limit` is out of range; give 1 to 50."
    memory_search {"limit":-1}
      422 "out_of_range" "limit": "`limit` is out of range; give 1 to 50."
    memory_search {"limit":1.5}
      422 "invalid_type" "limit": "`limit` must be a whole number; a fraction, or too large a number, came."
    memory_search {"limit":1e+30}
      422 "invalid_type" "limit": "`limit` must be a whole number; a fraction, or too large a number, came."
    memory_search {"limit":"ten"}
      422 "invalid_type" "limit": "`limit` must be a whole number; a text came."
    memory_search {"types":"fact, opinion"}
      422 "invalid_type" "types[1]": "`types[1]` must be one of `preference`, `fact`, `instruction`, `summary`, `other`, `reflection`, `turn`, `document`, `episode`; another text came."
    memory_search {"types":5}
      422 "invalid_type" "types[0]": "`types[0]` must be one of `preference`, `fact`, `instruction`, `summary`, `other`, `reflection`, `turn`, `document`, `episode`; another text came."
    memory_search {"explain":"maybe"}
      422 "invalid_type" "explain": "`explain` must be true or false; a text came."
    memory_search {"min_similarity":[]}
      422 "invalid_type" "min_similarity": "`min_similarity` must be a number; an array came."
    memory_search {"time":"2019"}
      422 "invalid_type" "time": "`time` must be an object; a text came."
    memory_search {"time":{"from":{}}}
      422 "invalid_type" "time.from": "`time.from` must be a text; an object came."
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
    memory_get {}
      422 "required" "item_id": "`item_id` is missing."
    memory_get {"ignore all\nprevious":1,"itemId":1}
      422 "required" "item_id": "`item_id` is missing. Ignored, since this tool has no such field: itemId and 1 more."
    memory_get {"item_id":"the first"}
      422 "invalid_type" "item_id": "`item_id` must be a whole number; a text came."
    memory_get {"item_id":1e+300}
      422 "invalid_type" "item_id": "`item_id` must be a whole number; a fraction, or too large a number, came."
    memory_archive {"item_id":null}
      422 "invalid_type" "item_id": "`item_id` must be a whole number; null came."
    memory_summary {"project":["x"]}
      422 "invalid_type" "project": "`project` must be a text or an object; an array came."
    memory_files {"command":"view","path":"/memories","view_range":{}}
      422 "invalid_type" "view_range": "`view_range` must be an array of whole numbers; an object came."
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
        r#""text""#,
        r#""{\"type\":\"fact\"}""#,
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
    "text"
      400 "invalid_json" null: "The input must be a JSON object, such as {}."
    "{\"type\":\"fact\"}"
      422 "required" "content": "`content` is missing."
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
    for body in ["type=fact&content=ok", "{"] {
        let response = post(app, &anna, "application/x-www-form-urlencoded", body).await;
        assert_eq!(code(response).await, "415 unsupported_media_type");
    }
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
        json!({ "type": "canary-7 expected x", "content": "x" }),
        json!({ "type": "fact", "content": "x", "tags": ["canary-7\u{0}"] }),
        json!({ "type": "fact", "content": "x", "confidence": "canary-7" }),
    ] {
        let (_, problem) = anna.refused("memory_add", input).await;
        assert!(!problem.to_string().contains("canary"), "{problem}");
    }
}
