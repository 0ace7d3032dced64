//! The path of `KEEPSAKE_PUBLIC_URL`, such as `/keepsake`. Routes, forms and pages are written for a server at the root of its
//! host, and none of them knows the path: a request loses it here, if the proxy has not removed it, and the addresses of an
//! answer gain it here. At the root none of this runs.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderValue, Uri, header};
use axum::middleware::Next;
use axum::response::Response;
use html5gum::{DefaultEmitter, Token, Tokenizer};

const WELL_KNOWN: &str = "/.well-known/";
/// The attributes of pages whose value is an address.
const ADDRESSES: [&str; 5] = ["href", "src", "action", "formaction", "data-renewed-from"];

/// Around all routes.
pub async fn translate(State(path): State<Arc<str>>, mut request: Request, next: Next) -> Response {
    if let Some(uri) = without(&path, request.uri()) {
        *request.uri_mut() = uri;
    }
    let mut response = next.run(request).await;
    let location = response.headers().get(header::LOCATION).and_then(|l| l.to_str().ok());
    if let Some(location) = location.filter(|location| lacks(&path, location))
        && let Ok(location) = HeaderValue::from_str(&format!("{path}{location}"))
    {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

/// `None` where the path is not in it.
fn without(path: &str, uri: &Uri) -> Option<Uri> {
    let whole = uri.path();
    // RFC 8414 and RFC 9728 put the path behind the document's name, which is at the root of the host.
    let name = whole.strip_prefix(WELL_KNOWN).and_then(|rest| rest.find('/'));
    let (before, rest) = whole.split_at(name.map_or(0, |length| WELL_KNOWN.len() + length));
    let rest = rest.strip_prefix(path).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
    let stripped = match (before, rest) {
        ("", "") => "/".to_owned(),
        _ => format!("{before}{rest}"),
    };
    let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(format!("{stripped}{query}")).ok()?);
    Uri::from_parts(parts).ok()
}

/// Whether this is an address of ours without the path.
fn lacks(path: &str, address: &str) -> bool {
    let has_path = address
        .strip_prefix(path)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?', '#']));
    address.starts_with('/') && !address.starts_with("//") && !has_path
}

/// The page, with the path before each address of ours. What people and agents wrote is in no such attribute: pages link
/// it only where it names another host.
pub fn addressed(path: &str, page: &str) -> String {
    let mut tokens = Tokenizer::new_with_emitter(page, DefaultEmitter::<usize>::new_with_span());
    let mut places = Vec::new();
    while let Some(Ok(token)) = tokens.next() {
        let Token::StartTag(tag) = token else {
            continue;
        };
        if *tag.name == b"script" {
            tokens.set_state(html5gum::State::ScriptData);
        }
        for (name, value) in &tag.attributes {
            let name = str::from_utf8(name).unwrap_or_default();
            // What is `content="5; url=/memory"` of <meta http-equiv="refresh">, else the whole value.
            let opening = match (name, &tag.name[..]) {
                ("content", b"meta") => "content=\"5; url=".to_owned(),
                (name, _) if ADDRESSES.contains(&name) => format!("{name}=\""),
                _ => continue,
            };
            let rest = page.get(value.span.start..).and_then(|rest| rest.strip_prefix(&*opening));
            let address = rest.and_then(|rest| rest.split('"').next());
            if address.is_some_and(|address| lacks(path, address)) {
                places.push(value.span.start + opening.len());
            }
        }
    }
    places.sort_unstable();
    let mut addressed = String::with_capacity(page.len() + places.len() * path.len());
    let mut written = 0;
    for place in places {
        addressed.push_str(&page[written..place]);
        addressed.push_str(path);
        written = place;
    }
    addressed.push_str(&page[written..]);
    addressed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_loses_the_path_where_it_has_it() {
        for (asked, is) in [
            ("/keepsake", "/"),
            ("/keepsake/", "/"),
            ("/keepsake?next=/keepsake", "/?next=/keepsake"),
            ("/keepsake/memory/5?q=a", "/memory/5?q=a"),
            ("/keepsake//evil.example", "//evil.example"),
            (
                "/.well-known/oauth-protected-resource/keepsake/mcp",
                "/.well-known/oauth-protected-resource/mcp",
            ),
            (
                "/.well-known/oauth-authorization-server/keepsake",
                "/.well-known/oauth-authorization-server",
            ),
            (
                "/keepsake/.well-known/oauth-authorization-server",
                "/.well-known/oauth-authorization-server",
            ),
        ] {
            let uri = without("/keepsake", &asked.parse().expect("a URI")).expect(asked);
            assert_eq!(uri.to_string(), is);
        }
        for stays in
            ["/", "/memory", "/keepsakes", "/memory/keepsake", "/.well-known/keepsake", "/Keepsake"]
        {
            assert_eq!(without("/keepsake", &stays.parse().expect("a URI")), None, "{stays}");
        }
        let absolute = "http://h.example/keepsake/memory".parse().expect("a URI");
        let uri = without("/keepsake", &absolute).expect("a path");
        assert_eq!(uri.to_string(), "http://h.example/memory");
    }

    #[test]
    fn the_addresses_of_a_page_gain_the_path_and_its_words_do_not() {
        let page = "<!DOCTYPE html><html><head><link rel=\"icon\" href=\"/favicon.svg\"><link href=\"/k/pkg/a.js\">\
            <script nonce=\"n\">for(i=0;i<a.length;i++)\"<a href='\" + '<a href=\"/x\">'</script></head>\
            <body>größe 记忆 <a class=\"a\" href=\"/memory?a=1&amp;b=2\" data-live-link=\"more\">href=\"/memory\"</a>\
            <noscript><meta http-equiv=\"refresh\" content=\"5; url=/admin\"><a href=\"/\">/</a></noscript>\
            <a href=\"#top\">a</a><a href=\"https://h.example/memory\">b</a><a href=\"//h.example/\">c</a>\
            <meta name=\"theme\" content=\"/memory\"><form action=\"/login\" data-renewed-from=\"/agents?connect=1\">\
            <input name=\"next\" value=\"/memory\"><textarea>&lt;a href=\"/x\"&gt;</textarea></form></body></html>";
        let is = addressed("/k", page);
        let mut expected = page.to_owned();
        for address in [
            "href=\"/favicon.svg\"",
            "href=\"/memory?",
            "url=/admin",
            "href=\"/\"",
            "action=\"/login\"",
            "from=\"/agents?",
        ] {
            let (name, value) = address.split_once('/').expect("an address");
            assert_eq!(page.matches(address).count(), 1, "{address}");
            expected = expected.replace(address, &format!("{name}/k/{value}"));
        }
        assert_eq!(is, expected);
        assert_eq!(addressed("/k", &is), is);
    }
}
