//! A client that a person connects, well and badly. Its code and its tokens are secrets.

use serde_json::{Value, json};
use url::Url;

use super::everything::{Everything, header};
use super::{KEY, QUERY, TEXT};
use crate::oauth::{CALLBACK, VERIFIER, challenge_of};

/// What was handed out: the code, and the secret parts of two pairs of tokens.
pub(super) async fn connect(all: &Everything) -> Vec<String> {
    let register = all.program.post(all.home.url("/oauth/register"));
    let metadata = json!({ "client_name": "a client", "redirect_uris": [CALLBACK] });
    let (status, client) = all.hear(register.json(&metadata)).await;
    assert_eq!(status, 201, "{client}");
    let client: Value = serde_json::from_str(&client).unwrap();
    let client = client["client_id"].as_str().unwrap();
    let path = asking(all, client, "st4te");
    for (path, expected) in [
        (path.clone(), 200),
        (asking(all, client, TEXT), 200),
        (asking(all, QUERY, TEXT), 400),
        (format!("{path}&redirect_uri={TEXT}"), 400),
    ] {
        let (status, page) = all.page(&path).await;
        assert_eq!(status, expected, "{page:.3000}");
    }
    for (field, value) in [("scope", TEXT), ("agent", TEXT), ("tools", TEXT), ("name", "")] {
        all.form(&path, &allowing(field, value)).await;
    }
    let allowed = all.send(&path, &allowing("name", "canary client")).await;
    let answer = Url::parse(&header(&allowed, "location")).unwrap();
    let code = answer.query_pairs().find(|(name, _)| name == "code");
    let code = code.expect("a code").1.into_owned();
    for (field, value) in [("code_verifier", TEXT), ("redirect_uri", QUERY), ("client_id", KEY)] {
        redeem(all, client, &code, (field, value)).await;
    }
    let first = redeem(all, client, &code, ("", "")).await;
    let refresh = |token: &str| {
        let fields =
            [("grant_type", "refresh_token"), ("refresh_token", token), ("client_id", client)];
        all.program.post(all.home.url("/oauth/token")).form(&fields)
    };
    let refreshed = all.hear(refresh(&first[1])).await;
    assert_eq!(refreshed.0, 200, "{}", refreshed.1);
    let second = tokens(&refreshed.1);
    let at_mcp = all.program.post(all.home.url("/mcp"));
    all.hear(at_mcp.bearer_auth(&second[0]).json(&json!({}))).await;
    // Used again, and looked for in vain: the connection ends.
    for token in [&first[1], &first[0], &second[1]] {
        all.hear(refresh(token)).await;
    }
    let revoke = [("token", second[1].as_str()), ("client_id", client)];
    let revoke = all.program.post(all.home.url("/oauth/revoke")).form(&revoke);
    all.hear(revoke).await;
    let mut secrets = vec![code];
    for [access, refresh] in [first, second] {
        secrets.extend([
            access[3..67].to_owned(),
            refresh[4..68].to_owned(),
            refresh[68..].to_owned(),
        ]);
    }
    secrets
}

fn asking(all: &Everything, client: &str, state: &str) -> String {
    let challenge = challenge_of(VERIFIER);
    let resource = all.home.url("/mcp");
    let params = [
        ("response_type", "code"),
        ("client_id", client),
        ("redirect_uri", CALLBACK),
        ("state", state),
        ("code_challenge", &challenge),
        ("code_challenge_method", "S256"),
        ("resource", &resource),
    ];
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    format!("/oauth/authorize?{}", query.extend_pairs(params).finish())
}

/// The fields of *Allow*, with one changed.
fn allowing<'a>(field: &'a str, value: &'a str) -> Vec<(&'a str, &'a str)> {
    let fields = [
        ("action", "allow"),
        ("agent", "new"),
        ("name", "canary client"),
        ("scope", "memory:read"),
    ];
    let kept = fields.into_iter().filter(|(name, _)| *name != field);
    kept.chain([(field, value)]).collect()
}

async fn redeem(all: &Everything, client: &str, code: &str, changed: (&str, &str)) -> [String; 2] {
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("client_id", client),
        ("redirect_uri", CALLBACK),
        ("code_verifier", VERIFIER),
    ];
    let fields =
        fields.map(|(name, value)| (name, if name == changed.0 { changed.1 } else { value }));
    let request = all.program.post(all.home.url("/oauth/token")).form(&fields);
    let (status, answer) = all.hear(request).await;
    match status {
        200 => tokens(&answer),
        _ => Default::default(),
    }
}

fn tokens(answer: &str) -> [String; 2] {
    let answer: Value = serde_json::from_str(answer).unwrap();
    ["access_token", "refresh_token"].map(|name| answer[name].as_str().unwrap().to_owned())
}
