//! The endpoint policy, from outside: who is connected to, and who never is.

use std::sync::atomic::Ordering;

use keepsake::providers::{NotEmbeddings, ProviderError, ProviderType, Reach};

use super::{DEADLINE, Table, answering, embedder, embedder_knowing, endpoint, http, json, texts};

const ONE: &str = r#"{"data":[{"index":0,"embedding":[1,0]}]}"#;

#[tokio::test]
async fn private_addresses_are_forbidden_in_every_spelling_unless_allowed() {
    let server = answering(json(ONE)).await;
    let port = server.address.port();
    let embedder = embedder_knowing(Table::of(&[
        ("evil.test", &["127.0.0.1"]),
        ("mapped.test", &["::ffff:127.0.0.1"]),
        ("localhost", &["127.0.0.1"]),
    ]));
    let hosts = [
        "127.0.0.1",
        "2130706433",
        "0x7f000001",
        "127.1",
        "[::ffff:127.0.0.1]",
        "evil.test",
        "mapped.test",
        "localhost",
    ];
    for host in hosts {
        let mut endpoint = endpoint(ProviderType::Openai, &format!("http://{host}:{port}"));
        endpoint.reach = Reach::Public;
        let answer = embedder.embed(&endpoint, &texts(&["one"]), DEADLINE).await;
        assert_eq!(answer.unwrap_err(), ProviderError::Forbidden, "{host}");
    }
    assert_eq!(server.connections(), 0);
    for host in ["127.0.0.1", "evil.test", "localhost"] {
        let endpoint = endpoint(ProviderType::Openai, &format!("http://{host}:{port}"));
        let answer = embedder.embed(&endpoint, &texts(&["one"]), DEADLINE).await;
        assert!(answer.is_ok(), "{host}: {answer:?}");
    }
    assert_eq!(server.connections(), 3);
}

#[tokio::test]
async fn names_for_this_machine_are_forbidden_without_asking_anybody() {
    let names = Table::of(&[]);
    let embedder = embedder_knowing(names.clone());
    for host in ["localhost", "LOCALHOST.", "app.localhost", "localhost.localdomain"] {
        let mut endpoint = endpoint(ProviderType::Ollama, &format!("http://{host}:1"));
        endpoint.reach = Reach::Public;
        let answer = embedder.embed(&endpoint, &texts(&["one"]), DEADLINE).await;
        assert_eq!(answer.unwrap_err(), ProviderError::Forbidden, "{host}");
    }
    assert_eq!(names.asked.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn metadata_link_local_and_unspecified_addresses_are_forbidden_to_everybody() {
    let embedder = embedder_knowing(Table::of(&[
        ("metadata.test", &["169.254.169.254"]),
        ("metadata6.test", &["fd00:ec2::254", "fe80::1"]),
        ("any.test", &["0.0.0.0", "::"]),
    ]));
    for host in [
        "169.254.169.254",
        "0.0.0.0",
        "0",
        "[::]",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "[::ffff:169.254.169.254]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:a9fe:a9fe::]",
        "100.100.100.200",
        "168.63.129.16",
        "224.0.0.1",
        "255.255.255.255",
        "metadata.test",
        "metadata6.test",
        "any.test",
    ] {
        for reach in [Reach::Public, Reach::Private] {
            let mut endpoint = endpoint(ProviderType::CustomHttp, &format!("http://{host}:1"));
            endpoint.reach = reach;
            let answer = embedder.embed(&endpoint, &texts(&["one"]), DEADLINE).await;
            assert_eq!(answer.unwrap_err(), ProviderError::Forbidden, "{host}");
        }
    }
}

#[tokio::test]
async fn of_several_addresses_only_the_allowed_ones_are_called() {
    let server = answering(json(ONE)).await;
    let names = Table::of(&[("mixed.test", &["169.254.169.254", "127.0.0.1", "::"])]);
    let url = format!("http://mixed.test:{}", server.address.port());
    let endpoint = endpoint(ProviderType::Openai, &url);
    let embedder = embedder_knowing(names);
    let answer = embedder.embed(&endpoint, &texts(&["one"]), DEADLINE).await;
    assert!(answer.is_ok(), "{answer:?}");
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_name_is_looked_up_once_and_that_address_is_the_one_called() {
    // "connection: close": each call is a new connection, and looks up anew.
    let server = answering(json(ONE)).await;
    let names = Table::of(&[("flips.test", &["127.0.0.1"])]);
    let url = format!("http://flips.test:{}", server.address.port());
    let endpoint = endpoint(ProviderType::Openai, &url);
    let embedder = embedder_knowing(names.clone());
    let call = || async { embedder.embed(&endpoint, &texts(&["one"]), DEADLINE).await };
    assert!(call().await.is_ok());
    assert_eq!(names.asked.load(Ordering::SeqCst), 1);
    // A second look-up between check and connection would find another answer.
    names.set("flips.test", &["169.254.169.254"]);
    assert_eq!(call().await.unwrap_err(), ProviderError::Forbidden);
    assert_eq!(names.asked.load(Ordering::SeqCst), 2);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_name_that_turns_to_loopback_after_the_check_is_not_called_there() {
    let server = answering(json(ONE)).await;
    // What was checked when the endpoint was saved plays no part any more.
    let names = Table::of(&[("rebound.test", &["127.0.0.1"])]);
    let url = format!("http://rebound.test:{}", server.address.port());
    let embedder = embedder_knowing(names);
    let mut endpoint = endpoint(ProviderType::Openai, &url);
    // A connection that an admin's call left open is not lent to others either.
    let allowed = embedder.embed(&endpoint, &texts(&["one"]), DEADLINE).await;
    assert!(allowed.is_ok());
    endpoint.reach = Reach::Public;
    let answer = embedder.embed(&endpoint, &texts(&["one"]), DEADLINE).await;
    assert_eq!(answer.unwrap_err(), ProviderError::Forbidden);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let target = answering(json(ONE)).await;
    for location in ["http://169.254.169.254/latest/", &target.url()] {
        let header = format!("location: {location}\r\n");
        for status in ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"] {
            let server = answering(http(status, &header, "")).await;
            let endpoint = endpoint(ProviderType::Openai, &server.url());
            let answer = embedder().embed(&endpoint, &texts(&["one"]), DEADLINE).await;
            let redirect = ProviderError::NotEmbeddings(NotEmbeddings::Redirect);
            assert_eq!(answer.unwrap_err(), redirect);
            assert_eq!(server.connections(), 1);
        }
    }
    assert_eq!(target.connections(), 0);
}
