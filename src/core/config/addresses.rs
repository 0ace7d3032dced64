//! How clients reach this server: its public address, and the proxies whose forwarded addresses are trusted.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use ipnet::IpNet;
use url::{Host, Url};

use super::ConfigError;

/// The address that browsers and agents use. Sign-in requires https, or a loopback address, which cannot be
/// intercepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    origin: String,
    is_https: bool,
}

impl PublicUrl {
    /// The MCP endpoint, and nothing else, is what tokens of OAuth open.
    pub fn mcp_resource(&self) -> String {
        format!("{}/mcp", self.origin)
    }

    /// Falls back to `listen` when `text` is `None`.
    pub fn parse(text: Option<String>, listen: SocketAddr) -> Result<Self, ConfigError> {
        let Some(text) = text else {
            let host = match listen.ip() {
                ip if ip.is_loopback() => listen.to_string(),
                _ => format!("localhost:{}", listen.port()),
            };
            return Ok(Self { origin: format!("http://{host}"), is_https: false });
        };
        let refuse = |problem: &str| ConfigError {
            name: "KEEPSAKE_PUBLIC_URL",
            problem: problem.to_owned(),
            accepted: "give https://name, or http:// with a loopback host such as http://localhost:3000",
        };
        let url = Url::parse(&text).map_err(|_| refuse("not a URL"))?;
        if url.path() != "/" || url.query().is_some() {
            return Err(refuse("a URL with a path, and Keepsake is served from the root"));
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
        Ok(Self { origin: url.origin().ascii_serialization(), is_https: url.scheme() == "https" })
    }

    /// `https://memory.example.com`, without a trailing slash.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The origin with an explicit port, even the default one: `https://memory.example.com:443`.
    pub fn origin_with_port(&self) -> String {
        let port_is_named =
            self.origin.rsplit(':').next().is_some_and(|end| end.parse::<u16>().is_ok());
        match (port_is_named, self.is_https) {
            (true, _) => self.origin.clone(),
            (false, true) => format!("{}:443", self.origin),
            (false, false) => format!("{}:80", self.origin),
        }
    }

    /// `memory.example.com`, or `memory.example.com:8443`.
    pub fn host(&self) -> &str {
        self.origin.split_once("://").map_or("", |(_, host)| host)
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
        ] {
            let public = public(url).expect("valid");
            assert_eq!((public.host(), public.origin_with_port().as_str()), (host, origin));
        }
    }

    #[test]
    fn a_public_url_is_https_or_loopback() {
        let origin = |url| public(url).map(|public| public.origin);
        assert_eq!(origin("https://m.example.com/").as_deref(), Ok("https://m.example.com"));
        assert_eq!(origin("http://localhost:3000").as_deref(), Ok("http://localhost:3000"));
        for refused in ["http://192.168.1.5:3000", "ftp://localhost", "https://a/b", "memory"] {
            assert!(origin(refused).is_err(), "{refused}");
        }
        let listen = SocketAddr::from(([0, 0, 0, 0], 8080));
        let open = PublicUrl::parse(None, listen).expect("nothing is wrong");
        assert_eq!(open.origin(), "http://localhost:8080");
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
