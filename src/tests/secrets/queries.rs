//! What is searched for leaves the server without secrets, as the user has set, and without what is private.

use keepsake::redaction::SecretPolicy;
use reqwest::Method;
use serde_json::json;

use super::incoming::{secret, set};
use crate::support::{Provider, TestApp};

#[tokio::test]
async fn an_embedding_endpoint_gets_no_query_with_a_secret_or_what_is_private() {
    let app = TestApp::start().await;
    let (anna, provider) = (app.user("anna").await, Provider::start().await);
    app.use_provider(&anna, &provider, "bees").await;
    anna.add("The hives stand on the roof in Lisbon.").await;
    app.drain(&anna).await;
    let secret = secret();
    let long = "The bees swarm in May. ".repeat(100);
    for (policy, kept) in [
        (SecretPolicy::Mask, "[removed: github-pat]"),
        (SecretPolicy::Refuse, "[removed: github-pat]"),
        (SecretPolicy::Warn, secret.as_str()),
    ] {
        set(&app, &anna, policy).await;
        let text = |n: i32| {
            format!(
                "{policy:?} {n}: where do the hives of {secret} stand? <private>kanarienvogel4711</private>"
            )
        };
        // What the cut of a long message leaves has lost its beginning.
        let message = format!("<private>kanarienvogel4711 {long}</private> {}", text(1));
        let straddling = format!("{secret} {} {policy:?} 2", &long[..1_960]);
        let private = format!(
            "<private>The key lies below the old mill at the river. The code is kanarienvogel4711</private> and, {policy:?}, where do the hives of my uncle stand this summer, at the mill or at the lake?"
        );
        let calls = [
            ("memory_recall", json!({ "message": message })),
            ("memory_recall", json!({ "messages": [text(3), "ok"] })),
            ("memory_recall", json!({ "message": straddling })),
            ("memory_search", json!({ "query": text(4) })),
            ("memory_search", json!({ "query": private })),
            ("memory", json!({ "action": "search", "text": text(5) })),
            ("search", json!({ "query": text(6) })),
        ];
        provider.forget_calls();
        for (tool, input) in calls {
            anna.call(tool, input).await;
        }
        let asked = Some(json!({ "message": text(7) }));
        assert_eq!(anna.request(Method::POST, "/api/v1/recall", asked).await.0, 200);
        let sent = provider.texts();
        // A long message is asked by its parts, too.
        assert!(sent.len() >= 9, "{sent:?}");
        for text in &sent {
            assert!(!text.contains("kanarienvogel"), "{text}");
            assert!(policy == SecretPolicy::Warn || !text.contains(&secret[30..]), "{text}");
        }
        let asked = format!("hives of {kept} stand");
        let of_four = sent.iter().find(|sent| sent.contains(" 4:")).unwrap();
        assert!(of_four.contains(&asked), "{sent:?}");
    }
    // Words are looked for here, and what is found stays what it was.
    provider.forget_calls();
    let found = json!({ "query": "<private>hives on the roof</private>" });
    let found = anna.call("memory_search", found).await;
    assert_eq!((&found["mode"], provider.texts().len()), (&json!("fts"), 0));
    assert!(found["degraded"].as_str().unwrap().contains("private as a whole"));
    assert_eq!(found["results"].as_array().unwrap().len(), 1);
    assert_eq!(app.count("secret_findings").await, 0);
}
