//! Where a code may be sent, and how a request's address compares with the registered ones.

use std::fmt;

use url::{Host, Url};

pub const REDIRECT_CHARS_MAX: usize = 500;

/// Schemes of well-known programs whose name has no dot. Others need one (RFC 8252): a name that its owner's domain backs.
const PROGRAM_SCHEMES: [&str; 4] = ["cursor", "vscode", "vscode-insiders", "windsurf"];

const CHATGPT_HOST: &str = "chatgpt.com";

/// An address that a client may have a code sent to, as the client wrote it: https, http to this machine (loopback), or a
/// program's own scheme; without a fragment and without a user name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedirectUri(String);

impl RedirectUri {
    /// # Errors
    /// What is accepted.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        const ACCEPTED: &str = "a redirect URI must be https, http on a loopback host, or a program's own scheme, without `#` and without a user name, of at most 500 characters";
        let is_text =
            text.len() <= REDIRECT_CHARS_MAX && text.bytes().all(|b| b.is_ascii_graphic());
        let url = Url::parse(text).ok().filter(|_| is_text).ok_or(ACCEPTED)?;
        let is_bare =
            url.fragment().is_none() && url.username().is_empty() && url.password().is_none();
        let is_allowed = match url.scheme() {
            "https" => url.host_str().is_some_and(|host| !host.is_empty()),
            "http" => is_loopback(&url),
            scheme => scheme.contains('.') || PROGRAM_SCHEMES.contains(&scheme),
        };
        match is_bare && is_allowed {
            true => Ok(Self(text.to_owned())),
            false => Err(ACCEPTED),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a request may use this address, given a registered one: the same text, or, on a loopback host, the same but
    /// for the port, which a program draws anew at each start (RFC 8252).
    pub fn is_allowed_by(&self, registered: &Self) -> bool {
        if self == registered {
            return true;
        }
        let (Ok(mut asked), Ok(mut known)) = (Url::parse(&self.0), Url::parse(&registered.0))
        else {
            return false;
        };
        let both_local =
            [&asked, &known].iter().all(|url| url.scheme() == "http" && is_loopback(url));
        both_local && asked.set_port(None).is_ok() && known.set_port(None).is_ok() && asked == known
    }

    /// Whether the code goes to a program on the visitor's own machine.
    pub fn is_local(&self) -> bool {
        Url::parse(&self.0).is_ok_and(|url| url.scheme() != "https")
    }

    /// Whether the code goes to ChatGPT, which has several addresses of its own.
    pub fn is_of_chatgpt(&self) -> bool {
        let url = Url::parse(&self.0).ok().filter(|url| url.scheme() == "https");
        url.is_some_and(|url| url.host_str() == Some(CHATGPT_HOST))
    }

    /// What a person is shown: `claude.ai`, `127.0.0.1:33418`, or `cursor:`.
    pub fn shown(&self) -> String {
        let Ok(url) = Url::parse(&self.0) else {
            return String::new();
        };
        match (url.scheme(), url.host_str(), url.port()) {
            ("https" | "http", Some(host), Some(port)) => format!("{host}:{port}"),
            ("https" | "http", Some(host), None) => host.to_owned(),
            (scheme, ..) => format!("{scheme}:"),
        }
    }

    /// The address with an answer.
    pub fn with(&self, answer: &[(&str, &str)]) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(answer);
        let joint = if self.0.contains('?') { '&' } else { '?' };
        format!("{}{joint}{}", self.0, query.finish())
    }
}

impl fmt::Display for RedirectUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> RedirectUri {
        RedirectUri::parse(text).expect(text)
    }

    #[test]
    fn what_cannot_leak_a_code_is_accepted() {
        for accepted in [
            "https://claude.ai/api/mcp/auth_callback",
            "https://chatgpt.com/connector/oauth/abc123",
            "http://127.0.0.1:33418/callback",
            "http://localhost/callback?x=1",
            "http://[::1]:8080/",
            "cursor://anysphere.cursor-retrieval/oauth/callback",
            "com.example.app:/oauth",
        ] {
            of(accepted);
        }
        let long = format!("https://a.example/{}", "x".repeat(REDIRECT_CHARS_MAX));
        for refused in [
            "",
            "/callback",
            "http://evil.example/callback",
            "http://localhost.evil.example/",
            "http://127.0.0.1.evil.example/",
            "http://192.168.1.5/callback",
            "https://user@claude.ai/callback",
            "https://claude.ai@evil.example/",
            "https://claude.ai/callback#x",
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "https://claude.ai/\r\nx: y",
            "https://claude.ai/é",
            &long,
        ] {
            assert!(RedirectUri::parse(refused).is_err(), "{refused:?}");
        }
    }

    #[test]
    fn a_redirect_is_the_registered_one_but_for_a_loopback_port() {
        let allowed = |asked: &str, known: &str| of(asked).is_allowed_by(&of(known));
        let claude = "https://claude.ai/api/mcp/auth_callback";
        assert!(allowed(claude, claude));
        assert!(allowed("http://127.0.0.1:4711/cb", "http://127.0.0.1/cb"));
        assert!(allowed("http://localhost:1/cb", "http://localhost:2/cb"));
        assert!(allowed("http://[::1]:1/cb", "http://[::1]:2/cb"));
        for (asked, known) in [
            ("https://claude.ai/api/mcp/auth_callback/", claude),
            ("https://claude.ai/api/mcp/auth_callback?x=1", claude),
            ("https://claude.ai:444/api/mcp/auth_callback", claude),
            ("https://claude.ai/api/mcp/../mcp/auth_callback", claude),
            ("https://CLAUDE.ai/api/mcp/auth_callback", claude),
            ("https://evil.example/api/mcp/auth_callback", claude),
            ("http://127.0.0.1:1/other", "http://127.0.0.1:1/cb"),
            ("http://localhost:1/cb", "http://127.0.0.1:1/cb"),
            ("http://127.0.0.1:1/cb?x", "http://127.0.0.1:1/cb"),
        ] {
            assert!(!allowed(asked, known), "{asked}");
        }
    }

    #[test]
    fn an_answer_is_appended_to_the_query_that_is_there() {
        let answer = [("code", "a b"), ("iss", "https://k.example")];
        assert_eq!(
            of("https://a.example/cb").with(&answer),
            "https://a.example/cb?code=a+b&iss=https%3A%2F%2Fk.example"
        );
        let with_query = of("https://a.example/cb?x=1").with(&answer[..1]);
        assert_eq!(with_query, "https://a.example/cb?x=1&code=a+b");
        assert_eq!(of("https://a.example:8443/x").shown(), "a.example:8443");
        assert_eq!(of("cursor://x/y").shown(), "cursor:");
    }

    #[test]
    fn chatgpt_is_known_by_its_host() {
        assert!(of("https://chatgpt.com/connector/oauth/abc123").is_of_chatgpt());
        assert!(of("https://chatgpt.com/connector_platform_oauth_redirect").is_of_chatgpt());
        for other in [
            "https://chatgpt.com.evil.example/connector/oauth/x",
            "https://evil.example/chatgpt.com",
            "https://evilchatgpt.com/connector/oauth/x",
            "com.chatgpt:/oauth",
            "http://localhost/chatgpt.com",
        ] {
            assert!(!of(other).is_of_chatgpt(), "{other}");
        }
    }
}
