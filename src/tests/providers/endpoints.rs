//! What is accepted as an endpoint's address.

use keepsake::providers::{EndpointUrl, ProviderType};

#[test]
fn an_address_is_http_or_https_with_a_host() {
    let parse = |text: &str| EndpointUrl::parse("url", text);
    let url = parse(" http://Models.example:8080/v1 ").unwrap();
    assert_eq!(url.as_str(), "http://models.example:8080/v1");
    assert_eq!((url.host(), url.port()), ("models.example", 8_080));
    assert_eq!(parse("https://a.example").unwrap().port(), 443);
    assert_eq!(parse("http://[::1]/").unwrap().host(), "[::1]");
    // Other spellings of an address become the address, which the policy then sees.
    assert_eq!(parse("http://2130706433/").unwrap().host(), "127.0.0.1");
    assert_eq!(parse("http://0x7f.1/").unwrap().host(), "127.0.0.1");
}

#[test]
fn all_else_is_refused_with_the_field_and_an_example() {
    for text in [
        "",
        "localhost:8080",
        "ftp://a.example",
        "file:///etc/passwd",
        "http://",
        "http://me:secret@a.example",
        "http://me@a.example",
        "http://a.example/#part",
        "not an address",
        &format!("http://a.example/{}", "x".repeat(2_000)),
    ] {
        let error = EndpointUrl::parse("url", text).unwrap_err();
        assert_eq!(error.field, "url");
        assert!(error.sentence.contains("http://127.0.0.1:8080"), "{error}");
        assert!(!error.sentence.contains("secret"));
    }
}

#[test]
fn types_are_known_by_their_names() {
    for known in ProviderType::ALL {
        assert_eq!(ProviderType::parse("type", known.as_str()), Ok(known));
    }
    let error = ProviderType::parse("type", "OpenAI").unwrap_err();
    assert_eq!(error.code, "unknown_provider_type");
}
