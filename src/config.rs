//! The only reader of the environment. What it finds is checked here, once, and
//! a wrong value is refused with a sentence that says what would be accepted.

use std::env;
use std::net::SocketAddr;
use std::path::PathBuf;

use url::{Host, Url};

use crate::seal::SecretKey;

const LISTEN_DEFAULT: &str = "127.0.0.1:3000";
const DATA_DIR_DEFAULT: &str = "./data";
const LOG_DEFAULT: &str = "info,sqlx=warn,tower_sessions_core=error";

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
    /// `KEEPSAKE_LOG`, in tracing's filter syntax.
    pub log: String,
    /// `KEEPSAKE_SITE_DIR`: stylesheet, icons and islands. Found when not given.
    pub site_dir: Option<PathBuf>,
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
            log: get("KEEPSAKE_LOG").unwrap_or(LOG_DEFAULT.into()),
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
        let error = with("KEEPSAKE_DATABASE_URL", "mysql://x")
            .expect_err("refused")
            .to_string();
        assert!(
            error.contains("KEEPSAKE_DATABASE_URL") && !error.contains("mysql"),
            "{error}"
        );
    }
}
