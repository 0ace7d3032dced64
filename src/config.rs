//! The only reader of the environment. What it finds is checked here, once, and
//! a wrong value is refused with a sentence that says what would be accepted.

use std::env;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use sha2::{Digest, Sha256};
use url::{Host, Url};

use crate::seal::SecretKey;

const LISTEN_DEFAULT: &str = "127.0.0.1:3000";
const DATA_DIR_DEFAULT: &str = "./data";
const LOG_DEFAULT: &str = "info,sqlx=warn,tower_sessions_core=error";

const METRICS_TOKEN_CHARS_MIN: usize = 16;
/// Balancers ask every second or two.
const STOP_GRACE_DEFAULT: Duration = Duration::from_secs(2);
/// The requests under way need time too, within the 30 s that a stop takes at most.
const STOP_GRACE_MAX: Duration = Duration::from_secs(20);

/// Who may make an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignUp {
    /// The first, who becomes the admin; then nobody.
    First,
    Open,
    Closed,
}

#[derive(Clone, Debug)]
pub struct Config {
    /// `KEEPSAKE_LISTEN`
    pub listen: SocketAddr,
    /// `KEEPSAKE_DATA_DIR`
    pub data_dir: PathBuf,
    /// `KEEPSAKE_DATABASE_URL`; without it the server starts its own PostgreSQL.
    pub database_url: Option<String>,
    /// `KEEPSAKE_PUBLIC_URL`, without a slash at its end: how browsers and agents reach this server.
    pub public_url: PublicUrl,
    /// `KEEPSAKE_SECRET_KEY`; without it the data folder keeps one.
    pub secret_key: Option<SecretKey>,
    /// `KEEPSAKE_SECRET_KEYS_OLD`, comma-separated: they open, and seal nothing.
    pub old_secret_keys: Vec<SecretKey>,
    /// `KEEPSAKE_LLAMACPP_URL`
    pub llamacpp_url: Option<Url>,
    /// `KEEPSAKE_SIGNUP`
    pub sign_up: SignUp,
    /// `KEEPSAKE_TRUSTED_PROXIES`
    pub trusted_proxies: TrustedProxies,
    /// `KEEPSAKE_LOG`, in tracing's filter syntax.
    pub log: String,
    /// `KEEPSAKE_LOG_FORMAT`
    pub log_format: LogFormat,
    /// `KEEPSAKE_METRICS_TOKEN`: opens `/metrics` to others than this machine.
    pub metrics_token: Option<MetricsToken>,
    /// `OTEL_EXPORTER_OTLP_ENDPOINT`: where spans are sent, less `/v1/traces`.
    pub otlp_endpoint: Option<Url>,
    /// `KEEPSAKE_STOP_GRACE_SECONDS`: after SIGTERM new requests are answered so long.
    pub stop_grace: Duration,
    /// `KEEPSAKE_SITE_DIR`: stylesheet, icons and islands. Found when not given.
    pub site_dir: Option<PathBuf>,
}

/// How a line of the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    /// One object a line.
    Json,
}

/// Kept as its hash, so that it stands in no log and is compared in the same time
/// whatever is given.
#[derive(Clone)]
pub struct MetricsToken([u8; 32]);

impl MetricsToken {
    pub fn new(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    pub fn matches(&self, given: &str) -> bool {
        let given: [u8; 32] = Sha256::digest(given.as_bytes()).into();
        let differing = self
            .0
            .iter()
            .zip(given)
            .fold(0, |all, (a, b)| all | (a ^ b));
        differing == 0
    }
}

impl std::fmt::Debug for MetricsToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MetricsToken")
    }
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{name} is {problem}; {accepted}")]
pub struct ConfigError {
    name: &'static str,
    problem: String,
    accepted: &'static str,
}

impl Config {
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::from_lookup(|name| env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn from_lookup(get: impl Fn(&'static str) -> Option<String>) -> Result<Self, ConfigError> {
        let listen = parse_listen(get("KEEPSAKE_LISTEN"))?;
        Ok(Self {
            listen,
            data_dir: get("KEEPSAKE_DATA_DIR")
                .unwrap_or(DATA_DIR_DEFAULT.into())
                .into(),
            database_url: parse_database_url(get("KEEPSAKE_DATABASE_URL"))?,
            public_url: PublicUrl::parse(get("KEEPSAKE_PUBLIC_URL"), listen)?,
            secret_key: parse_secret_key(get("KEEPSAKE_SECRET_KEY"))?,
            old_secret_keys: parse_old_secret_keys(get("KEEPSAKE_SECRET_KEYS_OLD"))?,
            llamacpp_url: parse_llamacpp_url(get("KEEPSAKE_LLAMACPP_URL"))?,
            sign_up: parse_sign_up(get("KEEPSAKE_SIGNUP"))?,
            trusted_proxies: TrustedProxies::parse(get("KEEPSAKE_TRUSTED_PROXIES"))?,
            log: get("KEEPSAKE_LOG").unwrap_or(LOG_DEFAULT.into()),
            log_format: parse_log_format(get("KEEPSAKE_LOG_FORMAT"))?,
            metrics_token: parse_metrics_token(get("KEEPSAKE_METRICS_TOKEN"))?,
            otlp_endpoint: parse_otlp_endpoint(get("OTEL_EXPORTER_OTLP_ENDPOINT"))?,
            stop_grace: parse_stop_grace(get("KEEPSAKE_STOP_GRACE_SECONDS"))?,
            site_dir: get("KEEPSAKE_SITE_DIR").map(PathBuf::from),
        })
    }
}

/// What `keepsake mcp` is told. It holds a token, so it has no `Debug`.
pub struct BridgeConfig {
    /// Of its /mcp: from `KEEPSAKE_URL`, else as this machine's own server is reached.
    pub server: Url,
    /// `KEEPSAKE_TOKEN`
    pub token: Option<String>,
}

impl BridgeConfig {
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::from_lookup(|name| env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn from_lookup(get: impl Fn(&'static str) -> Option<String>) -> Result<Self, ConfigError> {
        let text = match get("KEEPSAKE_URL") {
            Some(url) => url,
            None => {
                let listen = parse_listen(get("KEEPSAKE_LISTEN"))?;
                PublicUrl::parse(get("KEEPSAKE_PUBLIC_URL"), listen)?.origin
            }
        };
        let url = Url::parse(&text).ok().filter(|url| {
            matches!(url.scheme(), "http" | "https")
                && url.has_host()
                && matches!(url.path(), "/" | "/mcp")
                && url.query().is_none()
                && url.username().is_empty()
        });
        let mut server = url.ok_or_else(|| ConfigError {
            name: "KEEPSAKE_URL",
            problem: "not the address of a server".into(),
            accepted: "give https://name, or http://host:port",
        })?;
        server.set_path("/mcp");
        Ok(Self {
            server,
            token: get("KEEPSAKE_TOKEN").map(|token| token.trim().to_owned()),
        })
    }
}

/// The address that browsers and agents use. Sign-in needs https, or a
/// loopback address where nobody listens in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    origin: String,
    is_https: bool,
}

impl PublicUrl {
    /// `listen` is what it falls back to.
    pub fn parse(text: Option<String>, listen: SocketAddr) -> Result<Self, ConfigError> {
        let Some(text) = text else {
            let host = match listen.ip() {
                ip if ip.is_loopback() => listen.to_string(),
                _ => format!("localhost:{}", listen.port()),
            };
            return Ok(Self {
                origin: format!("http://{host}"),
                is_https: false,
            });
        };
        let refuse = |problem: &str| ConfigError {
            name: "KEEPSAKE_PUBLIC_URL",
            problem: problem.to_owned(),
            accepted: "give https://name, or http:// with a loopback host such as http://localhost:3000",
        };
        let url = Url::parse(&text).map_err(|_| refuse("not a URL"))?;
        if url.path() != "/" || url.query().is_some() {
            return Err(refuse(
                "a URL with a path, and Keepsake is served from the root",
            ));
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
        Ok(Self {
            origin: url.origin().ascii_serialization(),
            is_https: url.scheme() == "https",
        })
    }

    /// `https://memory.example.com`, without a slash at its end.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The same with its port, be it the usual one or not: `https://memory.example.com:443`.
    pub fn origin_with_port(&self) -> String {
        let port_is_named = self
            .origin
            .rsplit(':')
            .next()
            .is_some_and(|end| end.parse::<u16>().is_ok());
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

/// Proxies that are believed about whom they pass on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies(Arc<[IpNet]>);

impl TrustedProxies {
    /// Addresses and networks with commas between them.
    pub fn parse(text: Option<String>) -> Result<Self, ConfigError> {
        let text = text.unwrap_or_default();
        let parse_one = |one: &str| {
            let network = one.parse().ok();
            let network = network.or_else(|| one.parse::<IpAddr>().ok().map(IpNet::from));
            // Whoever trusts every address believes what strangers say of themselves.
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

    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }
}

fn parse_listen(text: Option<String>) -> Result<SocketAddr, ConfigError> {
    let text = text.unwrap_or(LISTEN_DEFAULT.into());
    text.parse().map_err(|_| ConfigError {
        name: "KEEPSAKE_LISTEN",
        problem: format!("{text:?}"),
        accepted: "give an address and a port, such as 127.0.0.1:3000 or [::1]:3000",
    })
}

fn parse_database_url(text: Option<String>) -> Result<Option<String>, ConfigError> {
    let is_postgres =
        |url: &String| url.starts_with("postgres://") || url.starts_with("postgresql://");
    match text {
        Some(url) if !is_postgres(&url) => Err(ConfigError {
            name: "KEEPSAKE_DATABASE_URL",
            problem: "not a PostgreSQL URL".into(),
            accepted: "give postgres://user:password@host/database, or leave it out for the built-in database",
        }),
        other => Ok(other),
    }
}

fn parse_secret_key(text: Option<String>) -> Result<Option<SecretKey>, ConfigError> {
    let Some(text) = text else { return Ok(None) };
    let key = SecretKey::parse(&text).ok_or_else(|| ConfigError {
        name: "KEEPSAKE_SECRET_KEY",
        problem: "not 32 bytes in base64 or hex".into(),
        accepted: "make one with: openssl rand -base64 32",
    })?;
    Ok(Some(key))
}

fn parse_old_secret_keys(text: Option<String>) -> Result<Vec<SecretKey>, ConfigError> {
    let text = text.unwrap_or_default();
    let named = text.split(',').filter(|key| !key.trim().is_empty());
    let keys: Option<Vec<_>> = named.map(SecretKey::parse).collect();
    keys.ok_or_else(|| ConfigError {
        name: "KEEPSAKE_SECRET_KEYS_OLD",
        problem: "not a list of keys of 32 bytes in base64 or hex".into(),
        accepted: "give those that KEEPSAKE_SECRET_KEY was before, with commas between them",
    })
}

fn parse_llamacpp_url(text: Option<String>) -> Result<Option<Url>, ConfigError> {
    let Some(text) = text else { return Ok(None) };
    let url = Url::parse(&text)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .filter(|url| url.username().is_empty() && url.password().is_none());
    url.map(Some).ok_or_else(|| ConfigError {
        name: "KEEPSAKE_LLAMACPP_URL",
        problem: "not the URL of an endpoint".into(),
        accepted: "give http://host:port of a llama.cpp server started with --embeddings",
    })
}

fn parse_sign_up(text: Option<String>) -> Result<SignUp, ConfigError> {
    match text.as_deref() {
        None | Some("first") => Ok(SignUp::First),
        Some("open") => Ok(SignUp::Open),
        Some("closed") => Ok(SignUp::Closed),
        Some(other) => Err(ConfigError {
            name: "KEEPSAKE_SIGNUP",
            problem: format!("{other:?}"),
            accepted: "give first (the first account, an admin, then closed), open, or closed",
        }),
    }
}

fn parse_log_format(text: Option<String>) -> Result<LogFormat, ConfigError> {
    match text.as_deref() {
        None | Some("text") => Ok(LogFormat::Text),
        Some("json") => Ok(LogFormat::Json),
        Some(other) => Err(ConfigError {
            name: "KEEPSAKE_LOG_FORMAT",
            problem: format!("{other:?}"),
            accepted: "give text or json",
        }),
    }
}

fn parse_metrics_token(text: Option<String>) -> Result<Option<MetricsToken>, ConfigError> {
    match text.as_deref().map(str::trim) {
        Some(token) if token.chars().count() < METRICS_TOKEN_CHARS_MIN => Err(ConfigError {
            name: "KEEPSAKE_METRICS_TOKEN",
            problem: "too short to be a secret".into(),
            accepted: "give 16 characters or more; make one with: openssl rand -hex 32",
        }),
        token => Ok(token.map(MetricsToken::new)),
    }
}

fn parse_otlp_endpoint(text: Option<String>) -> Result<Option<Url>, ConfigError> {
    let Some(text) = text else { return Ok(None) };
    let url = Url::parse(&text)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.map(Some).ok_or_else(|| ConfigError {
        name: "OTEL_EXPORTER_OTLP_ENDPOINT",
        problem: "not the URL of a collector".into(),
        accepted: "give http://host:4318, where it takes OTLP over HTTP",
    })
}

fn parse_stop_grace(text: Option<String>) -> Result<Duration, ConfigError> {
    let Some(text) = text else {
        return Ok(STOP_GRACE_DEFAULT);
    };
    let seconds: Option<u64> = text.trim().parse().ok();
    seconds
        .map(Duration::from_secs)
        .filter(|grace| *grace <= STOP_GRACE_MAX)
        .ok_or_else(|| ConfigError {
            name: "KEEPSAKE_STOP_GRACE_SECONDS",
            problem: format!("{text:?}"),
            accepted: "give whole seconds from 0 to 20",
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &'static str, value: &'static str) -> Result<Config, ConfigError> {
        Config::from_lookup(move |asked| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn nothing_set_means_loopback_with_its_own_database() {
        let config = Config::from_lookup(|_| None).expect("defaults are valid");
        assert_eq!(config.public_url.origin(), "http://127.0.0.1:3000");
        assert_eq!(config.sign_up, SignUp::First);
        assert!(config.database_url.is_none());
    }

    #[test]
    fn a_public_url_knows_its_host_and_its_port() {
        for (url, host, origin) in [
            (
                "https://m.example.com",
                "m.example.com",
                "https://m.example.com:443",
            ),
            (
                "https://m.example.com:8443",
                "m.example.com:8443",
                "https://m.example.com:8443",
            ),
            ("http://localhost", "localhost", "http://localhost:80"),
            ("http://[::1]", "[::1]", "http://[::1]:80"),
        ] {
            let public = with("KEEPSAKE_PUBLIC_URL", url).expect("valid").public_url;
            assert_eq!(
                (public.host(), public.origin_with_port().as_str()),
                (host, origin)
            );
        }
    }

    #[test]
    fn the_bridge_finds_its_server() {
        const ALL: &[(&str, &str)] = &[
            ("KEEPSAKE_URL", "https://m.example.com/mcp"),
            ("KEEPSAKE_PUBLIC_URL", "https://p.example.com"),
            ("KEEPSAKE_LISTEN", "0.0.0.0:4000"),
        ];
        let server = |set: &'static [(&str, &str)]| {
            let get = |name| {
                set.iter()
                    .find(|(n, _)| *n == name)
                    .map(|(_, v)| (*v).to_owned())
            };
            BridgeConfig::from_lookup(get).map(|bridge| bridge.server.to_string())
        };
        assert_eq!(server(ALL).as_deref(), Ok("https://m.example.com/mcp"));
        assert_eq!(
            server(&ALL[1..]).as_deref(),
            Ok("https://p.example.com/mcp")
        );
        assert_eq!(
            server(&ALL[2..]).as_deref(),
            Ok("http://localhost:4000/mcp")
        );
        assert_eq!(server(&[]).as_deref(), Ok("http://127.0.0.1:3000/mcp"));
        assert!(server(&[("KEEPSAKE_URL", "https://user@m.example.com")]).is_err());
    }

    #[test]
    fn a_public_url_is_https_or_loopback() {
        let origin = |url| with("KEEPSAKE_PUBLIC_URL", url).map(|c| c.public_url.origin);
        assert_eq!(
            origin("https://m.example.com/").as_deref(),
            Ok("https://m.example.com")
        );
        assert_eq!(
            origin("http://localhost:3000").as_deref(),
            Ok("http://localhost:3000")
        );
        for refused in [
            "http://192.168.1.5:3000",
            "ftp://localhost",
            "https://a/b",
            "memory",
        ] {
            assert!(origin(refused).is_err(), "{refused}");
        }
        let open = with("KEEPSAKE_LISTEN", "0.0.0.0:8080").expect("an address");
        assert_eq!(open.public_url.origin(), "http://localhost:8080");
    }

    #[test]
    fn trusted_proxies_are_addresses_and_networks_but_not_everybody() {
        let parse = |text: &str| TrustedProxies::parse(Some(text.to_owned()));
        let proxies = parse("127.0.0.1, 10.0.0.0/8,::1").expect("proxies");
        let trusts = |ip: &str| proxies.contains(ip.parse().expect("an address"));
        assert!(trusts("127.0.0.1") && trusts("10.9.8.7") && trusts("::1"));
        assert!(!trusts("127.0.0.2") && !trusts("11.0.0.1"));
        for refused in [
            "0.0.0.0/0",
            "::/0",
            "proxy.example.com",
            "10.0.0.0/33",
            "all",
        ] {
            let error = parse(refused).expect_err("refused").to_string();
            assert!(error.contains("10.0.0.0/8"), "{error}");
        }
    }

    #[test]
    fn secrets_are_checked_and_not_repeated() {
        let error = with("KEEPSAKE_SECRET_KEY", "hunter2")
            .expect_err("refused")
            .to_string();
        assert!(
            error.contains("openssl rand") && !error.contains("hunter2"),
            "{error}"
        );
        let error = with("KEEPSAKE_SECRET_KEYS_OLD", "hunter2")
            .expect_err("refused")
            .to_string();
        assert!(
            error.contains("commas") && !error.contains("hunter2"),
            "{error}"
        );
        let two = concat!(
            "0707070707070707070707070707070707070707070707070707070707070707, ",
            "CAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg="
        );
        let old = with("KEEPSAKE_SECRET_KEYS_OLD", two).expect("two keys");
        assert_eq!(old.old_secret_keys.len(), 2);
        let error = with("KEEPSAKE_LLAMACPP_URL", "llamacpp:8080")
            .expect_err("refused")
            .to_string();
        assert!(error.contains("http://host:port"), "{error}");
        assert!(with("KEEPSAKE_LLAMACPP_URL", "http://llamacpp:8080").is_ok());
    }

    #[test]
    fn a_wrong_value_is_named_with_what_would_be_accepted() {
        let error = with("KEEPSAKE_SIGNUP", "maybe")
            .expect_err("refused")
            .to_string();
        assert!(
            error.contains("KEEPSAKE_SIGNUP") && error.contains("first"),
            "{error}"
        );
        for (name, value, told) in [
            ("KEEPSAKE_LOG_FORMAT", "xml", "text or json"),
            ("KEEPSAKE_STOP_GRACE_SECONDS", "90", "from 0 to 20"),
            ("KEEPSAKE_METRICS_TOKEN", "hunter2", "openssl rand"),
            (
                "OTEL_EXPORTER_OTLP_ENDPOINT",
                "collector",
                "http://host:4318",
            ),
        ] {
            let error = with(name, value).expect_err("refused").to_string();
            assert!(error.contains(name) && error.contains(told), "{error}");
        }
        let error = with("KEEPSAKE_DATABASE_URL", "mysql://x")
            .expect_err("refused")
            .to_string();
        assert!(
            error.contains("KEEPSAKE_DATABASE_URL") && !error.contains("mysql"),
            "{error}"
        );
    }
}
