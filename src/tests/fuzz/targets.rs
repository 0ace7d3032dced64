//! What must hold of the parsers whatever they are fed: one function a target,
//! shared by the ten seconds of `make test` (fuzz/mod.rs) and the coverage-guided
//! minutes of `make check` (end2end/fuzz).
//!
//! A new parser of what comes from outside gets a line in [`ALL`].

use keepsake::accounts::Token;
use keepsake::db::UserId;
use keepsake::export;
use keepsake::memories::{ThemeSlug, mentions, words};
use keepsake::providers::chat::read_chat_answer;
use keepsake::providers::settings::own_embedding_key;
use keepsake::providers::{EndpointUrl, parse_retry_after, read_answer};
use keepsake::seal::Sealer;
use keepsake::search::{RawQuery, SearchQuery};
use keepsake::tools::read_input;
use serde_json::json;

pub struct Target {
    pub name: &'static str,
    pub run: fn(&[u8]),
    /// Where mutations begin.
    pub seeds: &'static [&'static str],
}

#[rustfmt::skip]
pub const ALL: &[Target] = &[
    Target { name: "query", run: query, seeds: &[
        "*", "", "green tea", "src/db.rs ERR-5021 192.168.1.168", "\"exact words\" -not or OR and",
        "東京タワーに行きました naïve ﬁle Straße", "a1b2c3-d4_e5.f6@g7", "1763709600000000.42", "it's 'quoted' \\ & | ! ( ) :*",
    ] },
    Target { name: "token", run: token, seeds: &[
        "ks_", "ks_0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef01234567",
        "Bearer ks_é", "ks_éééééééééééééééééééééééééééééééé0",
    ] },
    Target { name: "slug", run: slug, seeds: &[
        "general", "Work Stuff", "  home--lab__2 ", "ẞİıǅ ﷺ", "e\u{301}\u{301}", "日本語 の メモ", "\u{202e}abc\u{200d}", "---",
    ] },
    Target { name: "answer", run: answer, seeds: &[
        r#"{"object":"list","data":[{"index":1,"embedding":[0.0,1e-3]},{"index":0,"embedding":[1,0]}],"model":"m"}"#,
        r#"{"embeddings":[[0.1,0.2],[0.3,null]],"model":"m"}"#, r#"{"embedding":[1,2,3]}"#,
        r#"[{"index":0,"embedding":[[0.1,0.2],[0.3,0.4]]}]"#, "[[0.1,0.2],[0.3,0.4]]",
        r#"{"data":[{"index":18446744073709551615,"embedding":[1e400,-0]}]}"#, r#"[[NaN,Infinity]]"#,
        r#"{"error":{"message":"the model does not exist","code":"model_not_found","type":"invalid_request_error"}}"#,
        "<!doctype html><html>", r#"{"error":"input is too large"}"#, "120", "Wed, 21 Oct 2015 07:28:00 GMT", "1e308",
        r#"{"choices":[{"message":{"content":[{"type":"text","text":"{\"city\":1}"}],"tool_calls":[{"function":{"arguments":"{\"city\":2}"}}]}}]}"#,
        "data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"city\\\":1}\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n",
    ] },
    Target { name: "endpoint", run: endpoint, seeds: &[
        "http://127.0.0.1:8080", "https://api.example.com/v1?x=1", "http://[::ffff:127.0.0.1]:1/", "http://0x7f.1/",
        "http://user:pass@host/#f", "http:\\\\host\\path", "http://１２７.0.0.1", "http://[fe80::1%25eth0]/", "https://ex%61mple.com",
    ] },
    Target { name: "import", run: import, seeds: &[
        r#"{"keepsake_export":1,"exported_at":"2026-11-21T12:00:00Z"}"#,
        r#"{"record":"item","id":1,"type":"fact","theme":"work","content":"tea","tags":["a"],"status":"active","created_at":"2026-11-21T12:00:00Z"}"#,
        r#"{"results":[{"id":"a","memory":"tea","metadata":{"theme":"x"},"created_at":"2026-11-21T12:00:00Z"}]}"#,
        r#"[{"title":"t","mapping":{"a":{"message":{"author":{"role":"assistant"},"recipient":"bio","content":{"parts":["tea"]}}}}}]"#,
    ] },
    Target { name: "sealed", run: sealed, seeds: &["\u{1}0123456789012345678901234567890123456789"] },
    Target { name: "mentions", run: mentions, seeds: &[
        "Die Ägypten-Reise mit der Über-App, Öko-Strom in Île-de-France.", "Zoë's Ü2.5 is at ACME GmbH & Co. KG.", "Caroline: I met J. R. R. Tolkien",
        "l’Été de D’Angelo", "`code` @anna.b #Éte2 https://example.com/a. anna@example.com SHA-256 2026-05-17", "株式会社アイ 東京",
    ] },
    Target { name: "tool_input", run: tool_input, seeds: &[
        r#"{"text":"tea","n":5,"x":0.5,"is":true,"kind":"tool_call","tags":["a"],"kinds":["web"],"lines":[1,-1],"time":{"from":"2019"}}"#,
        r##"{"text":42,"n":"#12","x":"1e-3","is":"False","kind":"Tool Call","tags":"a, b","kinds":"[\"Web\"]","lines":"1,-1","time":"{\"from\":2019}"}"##,
        r#""{\"text\":\"\\ud800\",\"place\":{\"name\":null}}""#, r#"{"text":"","text":1,"toolCallId":[[[{}]]],"n":1e400,"place":"[]"}"#, "\u{feff}null",
    ] },
];

/// All that a search makes of its words, and of what a text holds of them.
fn query(data: &[u8]) {
    let text = &String::from_utf8_lossy(data);
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let raw = |query, theme, cursor| RawQuery { query, theme, cursor, ..RawQuery::default() };
    for raw in [raw(text, None, None), raw(first, Some(rest), None), raw("*", None, Some(first))] {
        if let Ok(parsed) = SearchQuery::parse(raw) {
            assert!(parsed.text.is_none_or(|t| !t.is_empty() && t.chars().count() <= 8_000));
        }
    }
    let terms = words::query_terms(text);
    assert!(terms.len() <= words::QUERY_TERMS_MAX);
    for term in &terms {
        assert!(
            !term.alternatives.is_empty() && term.alternatives.iter().all(|a| !a.contains('\0'))
        );
    }
    assert!(words::query_fragments(text).len() <= words::QUERY_TERMS_MAX);
    let mut end = 0;
    for range in words::matches(text, &terms) {
        assert!(range.start >= end && range.end > range.start, "in order, apart");
        end = range.end;
        assert!(text.get(range).is_some(), "whole characters");
    }
    words::lexemes(text).for_each(drop);
}

fn token(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Some(token) = Token::parse(&text) {
        assert!(text.ends_with(token.hint()));
        assert_eq!(format!("{token:?}"), format!("Token(…{})", token.hint()));
        assert_eq!(token.reveal(), text);
    }
}

fn slug(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match ThemeSlug::parse(&text) {
        Ok(slug) => {
            let said = slug.as_str();
            assert!(!said.is_empty() && said.chars().count() <= 64, "{said:?}");
            assert!(!said.starts_with('-') && !said.ends_with('-') && !said.contains("--"));
            assert!(!said.chars().any(|c| c.is_control() || c.is_whitespace()));
            // Whoever gives back what a list of themes showed means the same theme.
            assert_eq!(ThemeSlug::parse(said).as_ref(), Ok(&slug), "{said:?}");
        }
        Err(refused) => assert!(refused.to_string().contains("`theme`")),
    }
}

fn answer(data: &[u8]) {
    let said = |error: &dyn std::fmt::Display| {
        let (text, words) = (String::from_utf8_lossy(data), error.to_string());
        // What an endpoint says is never repeated: it may hold the key, or a text. Words that
        // could be a sentence of ours tell nothing: the fuzzer knows those too.
        let is_theirs = text.len() >= 40 && text.contains(['{', '[', '<', '"']);
        assert!(!is_theirs || !words.contains(text.as_ref()), "{words}");
    };
    for status in [200, 400, 401, 404, 413, 429, 500] {
        if let Err(error) = read_chat_answer(status, data.to_vec()) {
            said(&error);
        }
        for asked_dimensions in [false, true] {
            match read_answer(status, data.to_vec(), asked_dimensions) {
                Ok(vectors) => assert!(status == 200 && vectors.len() <= data.len()),
                Err(error) => said(&error),
            }
        }
    }
    if let Ok(header) = str::from_utf8(data) {
        let now = time::macros::datetime!(2026-11-21 07:28 UTC);
        let wait = parse_retry_after(header, now);
        assert!(wait.is_none_or(|wait| wait.as_secs() <= 24 * 60 * 60));
    }
}

/// By a schema that has all that those of the tools have.
fn tool_input(data: &[u8]) {
    let kind = json!({ "type": ["string", "null"], "enum": ["tool_call", "web", null] });
    let (text, whole) = (json!({ "type": ["string", "null"] }), json!({ "type": "integer" }));
    let place = json!({ "type": ["string", "object", "null"], "properties": { "name": text } });
    let schema = json!({
        "type": "object",
        "properties": {
            "text": { "type": "string" }, "n": whole, "x": { "type": "number" }, "is": { "type": ["boolean", "null"] },
            "kind": kind, "tags": { "type": "array", "items": { "type": "string", "maxLength": 64 } },
            "kinds": { "type": ["array", "null"], "items": kind }, "lines": { "type": "array", "items": whole },
            "time": { "type": "object", "properties": { "from": text } }, "place": place,
        },
        "required": ["text"],
    });
    match read_input(&schema, data) {
        Ok(read) => {
            let again = read_input(&schema, read.value.to_string().as_bytes()).unwrap();
            assert_eq!((again.value, again.note), (read.value, None));
        }
        Err(refused) => {
            let words = refused.to_string();
            assert!(words.len() < 600 && !words.contains(char::is_control), "{words}");
        }
    }
}

/// A line of an export, and a file of another program.
fn import(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for line in text.lines() {
        if let Err(refused) = export::read::parse_line(line) {
            assert!(!refused.to_string().is_empty());
        }
    }
    for name in [None, Some("a.csv"), Some("a.md"), Some("a.txt")] {
        if let Err(refused) = export::parse_foreign(name, data) {
            assert!(!refused.to_string().is_empty());
        }
    }
}

fn endpoint(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match EndpointUrl::parse("url", &text) {
        Ok(url) => {
            assert!(url.as_str().starts_with("http") && !url.host().is_empty());
            assert!(!url.as_str().contains('#') && url.host() == url.host().to_lowercase());
            let host = url.as_str().split("//").nth(1).unwrap().split(['/', '?']).next();
            assert!(!host.unwrap().contains('@'), "{url}");
            assert_eq!(EndpointUrl::parse("url", url.as_str()).as_ref(), Ok(&url));
        }
        Err(refused) => assert!(refused.to_string().contains("`url`")),
    }
}

/// Every name stands in the text, in order.
fn mentions(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (chars, mut from) = (text.chars().count(), 0);
    for name in mentions::find(&text) {
        assert!(name.start >= from && name.length > 0, "{name:?}");
        assert!(name.start + name.length <= chars, "{name:?}");
        from = name.start;
    }
}

fn sealed(data: &[u8]) {
    let sealer = Sealer::new(&[7; 32]);
    let bound = own_embedding_key(UserId(1));
    assert!(sealer.open(bound, data).is_err(), "nobody sealed this");
    if let Ok(text) = str::from_utf8(data) {
        let sealed = sealer.seal(bound, text).unwrap();
        assert_eq!(sealer.open(bound, &sealed).as_deref(), Ok(text));
    }
}
