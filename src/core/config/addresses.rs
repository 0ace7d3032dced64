//! How clients reach this server: its public address, and the proxies whose forwarded addresses are trusted.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use ipnet::IpNet;
use url::{Host, Url};

use super::ConfigError;

/// The first parts of Keepsake's own addresses. The path of a public address begins with none of them: behind a proxy that
/// removes the path, `/memory/5` would have two meanings.
pub const OWN_ADDRESSES: &[&str] = &[
    ".well-known",
    "account",
    "activity",
    "admin",
    "agents",
    "api",
    "connect.py",
    "data",
    "docs",
    "documents",
    "dreams",
    "entities",
    "erased",
    "favicon.svg",
    "fonts",
    "graph",
    "invitation",
    "learned",
    "livez",
    "login",
    "logout",
    "mcp",
    "memory",
    "metrics",
    "oauth",
    "pkg",
    "readyz",
    "reset",
    "sessions",
    "settings",
    "signup",
    "summary",
    "team",
    "timeline",
    "used",
];

/// The path that a server has under its host: `/keepsake`, or empty at the root.
///
/// # Errors
/// What is wrong with it.
pub(super) fn parse_path(url: &Url) -> Result<&str, String> {
    let path = url.path().strip_suffix('/').unwrap_or(url.path());
    let Some(parts) = path.strip_prefix('/') else {
        return Ok("");
    };
    // What is not ASCII has been percent-encoded. Anything else has a meaning in cookies, shells or HTML.
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.~%".contains(&b);
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(is_plain);
    if !parts.split('/').all(is_part) {
        return Err("a URL whose path has other characters than letters, digits, - _ . ~ and single slashes".into());
    }
    let first = parts.split('/').next().unwrap_or_default();
    match OWN_ADDRESSES.contains(&first) {
        true => {
            Err(format!("a URL whose path begins with /{first}, as Keepsake's own addresses do"))
        }
        false => Ok(path),
    }
}

/// The address that browsers and agents use. Sign-in requires https, or a loopback address, which cannot be
/// intercepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    address: String,
    /// Of `address`, in bytes; the rest is the path.
    origin_length: usize,
    is_https: bool,
}

impl PublicUrl {
    fn new(origin: &str, path: &str, is_https: bool) -> Self {
        Self { address: format!("{origin}{path}"), origin_length: origin.len(), is_https }
    }

    /// The MCP endpoint, and nothing else, is what tokens of OAuth open.
    pub fn mcp_resource(&self) -> String {
        format!("{}/mcp", self.address)
    }

    /// Falls back to `listen` when `text` is `None`.
    pub fn parse(text: Option<String>, listen: SocketAddr) -> Result<Self, ConfigError> {
        let Some(text) = text else {
            let host = match listen.ip() {
                ip if ip.is_loopback() => listen.to_string(),
                _ => format!("localhost:{}", listen.port()),
            };
            return Ok(Self::new(&format!("http://{host}"), "", false));
        };
        let refuse = |problem: &str| ConfigError {
            name: "KEEPSAKE_PUBLIC_URL",
            problem: problem.to_owned(),
            accepted: "give https://name, or http:// with a loopback host such as http://localhost:3000; a path may follow, \
                       such as https://name/keepsake",
        };
        let url = Url::parse(&text).map_err(|_| refuse("not a URL"))?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err(refuse("a URL with a query or a fragment"));
        }
        let is_loopback = match url.host() {
            Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
            Some(Host::Ipv4(ip)) => ip.is_loopback(),
            Some(Host::Ipv6(ip)) => ip.is_loopback(),
            None => false,
        };
        match url.scheme() {
            "https" => {}
            "http" if is_loopback => {}
            "http" => {
                return Err(refuse(
                    "plain http, which would show passwords and tokens to the network",
                ));
            }
            _ => return Err(refuse("not an http or https URL")),
        }
        let path = parse_path(&url).map_err(|problem| refuse(&problem))?;
        Ok(Self::new(&url.origin().ascii_serialization(), path, url.scheme() == "https"))
    }

    /// The whole address: `https://memory.example.com`, or `https://example.com/keepsake`. What follows begins with a slash.
    pub fn as_str(&self) -> &str {
        &self.address
    }

    /// What browsers call the origin: without the path.
    pub fn origin(&self) -> &str {
        self.address.split_at(self.origin_length).0
    }

    /// `/keepsake`, or empty for a server at the root of its host.
    pub fn path(&self) -> &str {
        self.address.split_at(self.origin_length).1
    }

    /// The origin with an explicit port, even the default one: `https://memory.example.com:443`.
    pub fn origin_with_port(&self) -> String {
        let port_is_named =
            self.origin().rsplit(':').next().is_some_and(|end| end.parse::<u16>().is_ok());
        match (port_is_named, self.is_https) {
            (true, _) => self.origin().to_owned(),
            (false, true) => format!("{}:443", self.origin()),
            (false, false) => format!("{}:80", self.origin()),
        }
    }

    /// `memory.example.com`, or `memory.example.com:8443`.
    pub fn host(&self) -> &str {
        self.origin().split_once("://").map_or("", |(_, host)| host)
    }

    pub fn is_https(&self) -> bool {
        self.is_https
    }
}

/// Proxies whose forwarded client addresses are trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies(Arc<[IpNet]>);

impl TrustedProxies {
    /// Parses addresses and networks, separated by commas.
    pub fn parse(text: Option<String>) -> Result<Self, ConfigError> {
        let text = text.unwrap_or_default();
        let parse_one = |one: &str| {
            let network = one.parse().ok();
            let network = network.or_else(|| one.parse::<IpAddr>().ok().map(IpNet::from));
            // Trusting every address would let any client forge its own.
            network
                .filter(|network: &IpNet| network.prefix_len() > 0)
                .ok_or_else(|| ConfigError {
                    name: "KEEPSAKE_TRUSTED_PROXIES",
                    problem: format!("{one:?}"),
                    accepted: "give the proxies' own addresses or networks, such as 127.0.0.1,10.0.0.0/8",
                })
        };
        let parts = text.split(',').map(str::trim).filter(|one| !one.is_empty());
        Ok(Self(parts.map(parse_one).collect::<Result<_, _>>()?))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn public(url: &str) -> Result<PublicUrl, ConfigError> {
        PublicUrl::parse(Some(url.to_owned()), SocketAddr::from(([127, 0, 0, 1], 3000)))
    }

    #[test]
    fn a_public_url_knows_its_host_and_its_port() {
        for (url, host, origin) in [
            ("https://m.example.com", "m.example.com", "https://m.example.com:443"),
            ("https://m.example.com:8443", "m.example.com:8443", "https://m.example.com:8443"),
            ("http://localhost", "localhost", "http://localhost:80"),
            ("http://[::1]", "[::1]", "http://[::1]:80"),
            ("https://m.example.com/keepsake", "m.example.com", "https://m.example.com:443"),
        ] {
            let public = public(url).expect("valid");
            assert_eq!((public.host(), public.origin_with_port().as_str()), (host, origin));
        }
    }

    #[test]
    fn a_public_url_is_https_or_loopback() {
        let origin = |url| public(url).map(|public| public.origin().to_owned());
        assert_eq!(origin("https://m.example.com/").as_deref(), Ok("https://m.example.com"));
        assert_eq!(origin("http://localhost:3000").as_deref(), Ok("http://localhost:3000"));
        for refused in ["http://192.168.1.5:3000", "ftp://localhost", "https://a/?b", "memory"] {
            assert!(origin(refused).is_err(), "{refused}");
        }
        let listen = SocketAddr::from(([0, 0, 0, 0], 8080));
        let open = PublicUrl::parse(None, listen).expect("nothing is wrong");
        assert_eq!(open.origin(), "http://localhost:8080");
    }

    #[test]
    fn a_public_url_may_have_a_path_that_is_none_of_keepsakes_own_addresses() {
        for (url, whole, path) in [
            ("https://h.example/keepsake", "https://h.example/keepsake", "/keepsake"),
            ("https://h.example/keepsake/", "https://h.example/keepsake", "/keepsake"),
            (
                "https://h.example/tools/my-memory_1.0~",
                "https://h.example/tools/my-memory_1.0~",
                "/tools/my-memory_1.0~",
            ),
            ("https://h.example/memories", "https://h.example/memories", "/memories"),
            ("https://h.example/tools/memory", "https://h.example/tools/memory", "/tools/memory"),
            (
                "https://h.example/a/../记忆",
                "https://h.example/%E8%AE%B0%E5%BF%86",
                "/%E8%AE%B0%E5%BF%86",
            ),
            ("http://localhost:3000/k", "http://localhost:3000/k", "/k"),
            ("https://h.example:443/", "https://h.example", ""),
        ] {
            let public = public(url).expect("valid");
            assert_eq!((public.as_str(), public.path()), (whole, path), "{url}");
            assert_eq!(public.mcp_resource(), format!("{whole}/mcp"));
            assert_eq!(format!("{}{path}", public.origin()), whole);
        }
        for refused in [
            "https://h.example//keepsake",
            "https://h.example/keepsake//",
            "https://h.example/a//b",
            "https://h.example//",
            "https://h.example/a;b",
            "https://h.example/a'b",
            "https://h.example/$(id)",
            "https://h.example/keepsake?a",
            "https://h.example/keepsake#a",
            "https://h.example/memory",
            "https://h.example/api/v1",
            "https://h.example/mcp/",
            "https://h.example/.well-known/x",
        ] {
            let error = public(refused).expect_err(refused).to_string();
            assert!(error.contains("https://name/keepsake"), "{error}");
        }
    }

    #[test]
    fn trusted_proxies_are_addresses_and_networks_but_not_everybody() {
        let parse = |text: &str| TrustedProxies::parse(Some(text.to_owned()));
        let proxies = parse("127.0.0.1, 10.0.0.0/8,::1").expect("proxies");
        let trusts = |ip: &str| proxies.contains(ip.parse().expect("an address"));
        assert!(trusts("127.0.0.1") && trusts("10.9.8.7") && trusts("::1"));
        assert!(!trusts("127.0.0.2") && !trusts("11.0.0.1"));
        for refused in ["0.0.0.0/0", "::/0", "proxy.example.com", "10.0.0.0/33", "all"] {
            let error = parse(refused).expect_err("refused").to_string();
            assert!(error.contains("10.0.0.0/8"), "{error}");
        }
    }
}
