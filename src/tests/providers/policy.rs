//! The endpoint policy, from outside: who is connected to, and who never is.

use std::sync::atomic::Ordering;

use keepsake::providers::{NotEmbeddings, ProviderError, ProviderType, Reach};

use super::{Table, answering, ask, call, embedder_knowing, http, json};

const ONE: &str = r#"{"data":[{"index":0,"embedding":[1,0]}]}"#;

#[tokio::test]
async fn private_addresses_are_forbidden_in_every_spelling_unless_allowed() {
    let server = answering(json(ONE)).await;
    let names = Table::of(&[
        ("evil.test", &["127.0.0.1"]),
        ("mapped.test", &["::ffff:127.0.0.1"]),
        ("localhost", &["127.0.0.1"]),
    ]);
    let embedder = embedder_knowing(names.clone());
    let at = |host: &str| format!("http://{host}:{}", server.address.port());
    let this_machine = "localhost LOCALHOST. app.localhost localhost.localdomain";
    let literal = "127.0.0.1 2130706433 0x7f000001 127.1 [::ffff:127.0.0.1]";
    // Names for this machine are forbidden without asking anybody.
    for (hosts, is_asked) in
        [(this_machine, false), (literal, false), ("evil.test mapped.test", true)]
    {
        for host in hosts.split(' ') {
            for provider_type in [ProviderType::Openai, ProviderType::Ollama] {
                let answer = call(&embedder, provider_type, &at(host), Reach::Public).await;
                assert_eq!(answer, Err(ProviderError::Forbidden), "{provider_type} {host}");
            }
        }
        assert_eq!(names.asked.load(Ordering::SeqCst) > 0, is_asked, "{hosts}");
    }
    assert_eq!(server.connections(), 0);
    for host in ["127.0.0.1", "evil.test", "localhost"] {
        let answer = call(&embedder, ProviderType::Openai, &at(host), Reach::Private).await;
        assert_eq!(answer, Ok(()), "{host}");
    }
    assert_eq!(server.connections(), 3);
}

#[tokio::test]
async fn each_call_looks_a_name_up_once_and_that_address_is_called_if_it_is_allowed() {
    // "connection: close": each call is a new connection, and looks up anew.
    let server = answering(json(ONE)).await;
    let names = Table::of(&[
        ("mixed.test", &["169.254.169.254", "127.0.0.1", "::"]),
        // A second look-up between check and connection would find another answer.
        ("flips.test", &["127.0.0.1"]),
        ("flips.test", &["169.254.169.254"]),
        ("rebound.test", &["127.0.0.1"]),
    ]);
    let embedder = embedder_knowing(names.clone());
    let (private, forbidden) = (Reach::Private, Err(ProviderError::Forbidden));
    for (name, reach, expected, asked, connections) in [
        ("mixed.test", private, Ok(()), 1, 1),
        ("flips.test", private, Ok(()), 2, 2),
        ("flips.test", private, forbidden.clone(), 3, 2),
        // A connection that an admin's call left open is not lent to others either, and what was
        // checked when the endpoint was saved plays no part any more.
        ("rebound.test", private, Ok(()), 4, 3),
        ("rebound.test", Reach::Public, forbidden, 5, 3),
    ] {
        let url = format!("http://{name}:{}", server.address.port());
        let answer = call(&embedder, ProviderType::Openai, &url, reach).await;
        assert_eq!(answer, expected, "{name} {reach:?}");
        let seen = (names.asked.load(Ordering::SeqCst), server.connections());
        assert_eq!(seen, (asked, connections), "{name} {reach:?}");
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let target = answering(json(ONE)).await;
    for location in ["http://169.254.169.254/latest/", &target.url()] {
        let header = format!("location: {location}\r\n");
        for status in ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"] {
            let server = answering(http(status, &header, "")).await;
            let redirect = ProviderError::NotEmbeddings(NotEmbeddings::Redirect);
            assert_eq!(ask(&server.url()).await.unwrap_err(), redirect);
            assert_eq!(server.connections(), 1);
        }
    }
    assert_eq!(target.connections(), 0);
}
