//! The only reader of environment variables. Each value is validated here, once; an invalid one is refused
//! with a sentence that says what is accepted.

mod addresses;
mod environment;

use addresses::parse_path;
pub use addresses::{OWN_ADDRESSES, PublicUrl, TrustedProxies};

use std::env;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};
use url::Url;

use crate::seal::SealKey;

const LISTEN_DEFAULT: &str = "127.0.0.1:3000";
const DATA_DIR_DEFAULT: &str = "./data";
/// As `KEEPSAKE_BACKUP_DIR`.
const BACKUPS_OFF: &str = "off";
const LOG_DEFAULT: &str = "info,sqlx=warn,tower_sessions_core=error";

const METRICS_TOKEN_CHARS_MIN: usize = 16;
/// Load balancers poll every second or two.
const STOP_GRACE_DEFAULT: Duration = Duration::from_secs(2);
/// Leaves time for requests in progress within the 30 s that a stop may take.
const STOP_GRACE_MAX: Duration = Duration::from_secs(20);

/// Who may create an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignUp {
    /// Only the first, who becomes the admin.
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
    /// `KEEPSAKE_BACKUP_DIR`: where nightly backups go; `None`: none are made.
    pub backup_dir: Option<PathBuf>,
    /// `KEEPSAKE_DATABASE_DIR`: a folder on the disk of a PostgreSQL of one's own, whose free space is watched too.
    pub database_dir: Option<PathBuf>,
    /// `KEEPSAKE_DISK_FREE_MB`, in bytes: with less free, nothing is added; `None`: by the disk's size.
    pub disk_free_bytes: Option<u64>,
    /// `KEEPSAKE_READER_MB`, in bytes: the memory limit for search indexes.
    pub reader_bytes: usize,
    /// `KEEPSAKE_DATABASE_URL`; without it the server starts its own PostgreSQL.
    pub database_url: Option<String>,
    /// `KEEPSAKE_PUBLIC_URL`: how browsers and agents reach this server.
    pub public_url: PublicUrl,
    /// `KEEPSAKE_SECRET_KEY`; without it a key is kept in the data folder.
    pub secret_key: Option<SealKey>,
    /// `KEEPSAKE_SECRET_KEYS_OLD`, comma-separated: they decrypt only.
    pub old_secret_keys: Vec<SealKey>,
    /// `KEEPSAKE_LLAMACPP_URL`
    pub llamacpp_url: Option<Url>,
    /// `KEEPSAKE_SIGNUP`
    pub sign_up: SignUp,
    /// `KEEPSAKE_TRUSTED_PROXIES`
    pub trusted_proxies: TrustedProxies,
    /// `KEEPSAKE_LOG`: a level, or levels by target.
    pub log: String,
    /// `KEEPSAKE_LOG_FORMAT`
    pub log_format: LogFormat,
    /// `KEEPSAKE_METRICS_TOKEN`: allows other machines to read `/metrics`.
    pub metrics_token: Option<MetricsToken>,
    /// `OTEL_EXPORTER_OTLP_ENDPOINT`: where spans are sent, without `/v1/traces`.
    pub otlp_endpoint: Option<Url>,
    /// `KEEPSAKE_STOP_GRACE_SECONDS`: how long new requests are still answered after SIGTERM.
    pub stop_grace: Duration,
    /// `KEEPSAKE_SITE_DIR`: stylesheet, icons and islands. Searched for if not set.
    pub site_dir: Option<PathBuf>,
}

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Text,
    /// One object per line.
    Json,
}

/// Holds only the token's hash, so that it cannot be logged and is compared in constant time.
#[derive(Clone)]
pub struct MetricsToken([u8; 32]);

impl MetricsToken {
    pub fn new(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    pub fn matches(&self, given: &str) -> bool {
        let given: [u8; 32] = Sha256::digest(given.as_bytes()).into();
        let differing = self.0.iter().zip(given).fold(0, |all, (a, b)| all | (a ^ b));
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
        environment::parse(|get| Self::from_lookup(get))
    }

    fn from_lookup(get: impl Fn(&'static str) -> Option<String>) -> Result<Self, ConfigError> {
        let listen = parse_listen(get("KEEPSAKE_LISTEN"))?;
        let data_dir: PathBuf = get("KEEPSAKE_DATA_DIR").unwrap_or(DATA_DIR_DEFAULT.into()).into();
        let database_url = parse_database_url(get("KEEPSAKE_DATABASE_URL"))?;
        // Whoever has a PostgreSQL of their own has backups of their own.
        let backup_dir = database_url.is_none().then(|| data_dir.join("backups"));
        Ok(Self {
            listen,
            backup_dir: match get("KEEPSAKE_BACKUP_DIR").as_deref() {
                Some(BACKUPS_OFF) => None,
                named => named.map(PathBuf::from).or(backup_dir),
            },
            data_dir,
            database_dir: parse_database_dir(get("KEEPSAKE_DATABASE_DIR"))?,
            disk_free_bytes: parse_disk_free_mb(get("KEEPSAKE_DISK_FREE_MB"))?,
            reader_bytes: parse_reader_mb(get("KEEPSAKE_READER_MB"))?,
            database_url,
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

/// The folders of PostgreSQL and the embedding model: fetched into the data folder, or shipped beside the program.
pub fn runtime_dirs(data_dir: &Path) -> impl Iterator<Item = PathBuf> + Clone {
    let fetched = data_dir.join("runtime");
    let shipped = beside_the_program("runtime");
    std::iter::once(fetched).chain(shipped)
}

/// A file or folder beside the program, as in a release archive.
pub fn beside_the_program(name: &str) -> Option<PathBuf> {
    let program = env::current_exe().and_then(|program| program.canonicalize());
    Some(program.ok()?.parent()?.join(name))
}

/// The configuration of `keepsake mcp`. It holds a token, so it has no `Debug`.
pub struct BridgeConfig {
    /// The URL of /mcp: from `KEEPSAKE_URL`, or else this machine's own server.
    pub server: Url,
    /// `KEEPSAKE_TOKEN`
    pub token: Option<String>,
}

impl BridgeConfig {
    pub fn from_env() -> Result<Self, ConfigError> {
        environment::parse(|get| Self::from_lookup(get))
    }

    fn from_lookup(get: impl Fn(&'static str) -> Option<String>) -> Result<Self, ConfigError> {
        let text = match get("KEEPSAKE_URL") {
            Some(url) => url,
            None => {
                let listen = parse_listen(get("KEEPSAKE_LISTEN"))?;
                let public = PublicUrl::parse(get("KEEPSAKE_PUBLIC_URL"), listen)?;
                public.as_str().to_owned()
            }
        };
        let refuse = |problem: String| ConfigError {
            name: "KEEPSAKE_URL",
            problem,
            accepted: "give https://name, or http://host:port, with the path if it has one",
        };
        let text = text.trim_end_matches('/');
        let url = Url::parse(text.strip_suffix("/mcp").unwrap_or(text)).ok().filter(|url| {
            matches!(url.scheme(), "http" | "https")
                && url.has_host()
                && url.query().is_none()
                && url.fragment().is_none()
                && url.username().is_empty()
        });
        let mut server = url.ok_or_else(|| refuse("not the address of a server".into()))?;
        let path = format!("{}/mcp", parse_path(&server).map_err(refuse)?);
        server.set_path(&path);
        Ok(Self { server, token: get("KEEPSAKE_TOKEN").map(|token| token.trim().to_owned()) })
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

fn parse_secret_key(text: Option<String>) -> Result<Option<SealKey>, ConfigError> {
    let Some(text) = text else { return Ok(None) };
    let key = SealKey::parse(&text).ok_or_else(|| ConfigError {
        name: "KEEPSAKE_SECRET_KEY",
        problem: "not 32 bytes in base64 or hex".into(),
        accepted: "make one with: openssl rand -base64 32",
    })?;
    Ok(Some(key))
}

fn parse_old_secret_keys(text: Option<String>) -> Result<Vec<SealKey>, ConfigError> {
    let text = text.unwrap_or_default();
    let named = text.split(',').filter(|key| !key.trim().is_empty());
    let keys: Option<Vec<_>> = named.map(SealKey::parse).collect();
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

/// For the search indexes of all users together.
const READER_MB_DEFAULT: usize = 512;
const DISK_FREE_MB_MAX: u64 = 1 << 30;
const READER_MB: std::ops::RangeInclusive<usize> = 16..=1_048_576;

fn parse_reader_mb(text: Option<String>) -> Result<usize, ConfigError> {
    let Some(text) = text else {
        return Ok(READER_MB_DEFAULT << 20);
    };
    let megabytes = text.trim().parse().ok().filter(|mb| READER_MB.contains(mb));
    megabytes.map(|mb: usize| mb << 20).ok_or_else(|| ConfigError {
        name: "KEEPSAKE_READER_MB",
        problem: format!("{text:?}"),
        accepted: "give how many megabytes searches may keep in memory, 16 or more, such as 512",
    })
}

/// Watching the disk of another folder by mistake would be noticed too late.
fn parse_database_dir(text: Option<String>) -> Result<Option<PathBuf>, ConfigError> {
    match text.map(PathBuf::from) {
        Some(folder) if !folder.exists() => Err(ConfigError {
            name: "KEEPSAKE_DATABASE_DIR",
            problem: "not there".into(),
            accepted: "give a folder on the disk where PostgreSQL keeps its data, or leave it out",
        }),
        folder => Ok(folder),
    }
}

fn parse_disk_free_mb(text: Option<String>) -> Result<Option<u64>, ConfigError> {
    let Some(text) = text else { return Ok(None) };
    let megabytes: Option<u64> = text.trim().parse().ok().filter(|mb| *mb <= DISK_FREE_MB_MAX);
    megabytes.map(|mb| Some(mb << 20)).ok_or_else(|| ConfigError {
        name: "KEEPSAKE_DISK_FREE_MB",
        problem: format!("{text:?}"),
        accepted: "give how many megabytes of the disk have to stay free, such as 2048; 0: none",
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
    seconds.map(Duration::from_secs).filter(|grace| *grace <= STOP_GRACE_MAX).ok_or_else(|| {
        ConfigError {
            name: "KEEPSAKE_STOP_GRACE_SECONDS",
            problem: format!("{text:?}"),
            accepted: "give whole seconds from 0 to 20",
        }
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
        assert_eq!(config.public_url.as_str(), "http://127.0.0.1:3000");
        assert_eq!(config.sign_up, SignUp::First);
        assert!(config.database_url.is_none());
    }

    #[test]
    fn backups_are_in_the_data_folder_unless_the_database_is_elsewhere() {
        const OWN: (&str, &str) = ("KEEPSAKE_DATABASE_URL", "postgres://p@h/d");
        const NAMED: (&str, &str) = ("KEEPSAKE_BACKUP_DIR", "/mnt/b");
        const OFF: (&str, &str) = ("KEEPSAKE_BACKUP_DIR", "off");
        let folder = |set: &'static [(&str, &str)]| {
            let get = |name| {
                let found = set.iter().find(|(n, _)| *n == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            Config::from_lookup(get).expect("accepted").backup_dir
        };
        assert_eq!(folder(&[]), Some(PathBuf::from("./data/backups")));
        assert_eq!(folder(&[OWN]), None);
        assert_eq!(folder(&[OWN, NAMED]), Some(PathBuf::from("/mnt/b")));
        assert_eq!(folder(&[OFF]), None);
    }

    #[test]
    fn the_bridge_finds_its_server() {
        const ALL: &[(&str, &str)] = &[
            ("KEEPSAKE_URL", "https://m.example.com/mcp"),
            ("KEEPSAKE_PUBLIC_URL", "https://p.example.com"),
            ("KEEPSAKE_LISTEN", "0.0.0.0:4000"),
        ];
        let server = |set: &'static [(&str, &str)]| {
            let get = |name| set.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned());
            BridgeConfig::from_lookup(get).map(|bridge| bridge.server.to_string())
        };
        assert_eq!(server(ALL).as_deref(), Ok("https://m.example.com/mcp"));
        assert_eq!(server(&ALL[1..]).as_deref(), Ok("https://p.example.com/mcp"));
        assert_eq!(server(&ALL[2..]).as_deref(), Ok("http://localhost:4000/mcp"));
        assert_eq!(server(&[]).as_deref(), Ok("http://127.0.0.1:3000/mcp"));
        assert!(server(&[("KEEPSAKE_URL", "https://user@m.example.com")]).is_err());
        let under = Ok("https://m.example.com/keepsake/mcp");
        assert_eq!(server(&[("KEEPSAKE_URL", "https://m.example.com/keepsake")]).as_deref(), under);
        assert_eq!(
            server(&[("KEEPSAKE_URL", "https://m.example.com/keepsake/mcp/")]).as_deref(),
            under
        );
        const PUBLIC: &[(&str, &str)] =
            &[("KEEPSAKE_PUBLIC_URL", "https://m.example.com/keepsake/")];
        assert_eq!(server(PUBLIC).as_deref(), under);
    }

    #[test]
    fn secrets_are_checked_and_not_repeated() {
        let error = with("KEEPSAKE_SECRET_KEY", "hunter2").expect_err("refused").to_string();
        assert!(error.contains("openssl rand") && !error.contains("hunter2"), "{error}");
        let error = with("KEEPSAKE_SECRET_KEYS_OLD", "hunter2").expect_err("refused").to_string();
        assert!(error.contains("commas") && !error.contains("hunter2"), "{error}");
        let two = concat!(
            "0707070707070707070707070707070707070707070707070707070707070707, ",
            "CAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg="
        );
        let old = with("KEEPSAKE_SECRET_KEYS_OLD", two).expect("two keys");
        assert_eq!(old.old_secret_keys.len(), 2);
        let error =
            with("KEEPSAKE_LLAMACPP_URL", "llamacpp:8080").expect_err("refused").to_string();
        assert!(error.contains("http://host:port"), "{error}");
        assert!(with("KEEPSAKE_LLAMACPP_URL", "http://llamacpp:8080").is_ok());
    }

    /// tools/check_env.py refuses nothing that is accepted here, and what is clearly wrong.
    #[test]
    fn the_shapes_of_the_check_before_a_build_are_what_is_accepted() {
        const SAMPLES: [(&str, &[&str], &[&str]); 10] = [
            (
                "KEEPSAKE_LISTEN",
                &["127.0.0.1:3000", "[::1]:80"],
                &["localhost", "3000", "127.0.0.1"],
            ),
            ("KEEPSAKE_DATABASE_URL", &["postgres://u@h/d", "postgresql://h/d"], &["mysql://x"]),
            (
                "KEEPSAKE_PUBLIC_URL",
                &[
                    "https://m.example.com",
                    "https://m.example.com/keepsake",
                    "http://127.0.0.1:3000",
                ],
                &["m.example.com"],
            ),
            ("KEEPSAKE_LLAMACPP_URL", &["http://llamacpp:8080"], &["llamacpp:8080"]),
            ("KEEPSAKE_SIGNUP", &["first", "open", "closed"], &["maybe", "Open"]),
            ("KEEPSAKE_LOG_FORMAT", &["text", "json"], &["xml"]),
            ("KEEPSAKE_METRICS_TOKEN", &["0123456789abcdef"], &["0123456789abcde"]),
            (
                "KEEPSAKE_SECRET_KEY",
                &[
                    "0707070707070707070707070707070707070707070707070707070707070707",
                    "CAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg=",
                ],
                &["hunter2", "CAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg"],
            ),
            ("KEEPSAKE_STOP_GRACE_SECONDS", &["0", "9", "10", "20"], &["21", "-1", "2.5"]),
            ("KEEPSAKE_DISK_FREE_MB", &["0", "2048"], &["5%", "-1", "1.5"]),
        ];
        let script = include_str!("../../../tools/check_env.py");
        let shapes = script.split_once("SHAPES = {").expect("shapes").1;
        let shapes = shapes.split_once("\n}").expect("their end").0;
        let mut named = Vec::new();
        for line in shapes.lines().filter(|line| !line.trim().is_empty()) {
            let (name, shape) = line.trim().split_once(": r").expect("a name and a shape");
            let (name, shape) = (name.trim_matches('"'), shape.trim_matches(['"', ',']));
            let shape = regex::Regex::new(&format!("^(?:{shape})$")).expect("a shape");
            let sample = SAMPLES.iter().find(|(of, ..)| *of == name);
            let (name, accepted, refused) = sample.unwrap_or_else(|| panic!("{name}: no sample"));
            for (value, is_accepted) in accepted
                .iter()
                .map(|value| (value, true))
                .chain(refused.iter().map(|value| (value, false)))
            {
                assert_eq!(with(name, value).is_ok(), is_accepted, "{name}: {value}");
                assert_eq!(shape.is_match(value), is_accepted, "{name}: {value}");
            }
            named.push(*name);
        }
        assert_eq!(named, SAMPLES.map(|(name, ..)| name));
    }

    #[test]
    fn a_wrong_value_is_named_with_what_would_be_accepted() {
        let error = with("KEEPSAKE_SIGNUP", "maybe").expect_err("refused").to_string();
        assert!(error.contains("KEEPSAKE_SIGNUP") && error.contains("first"), "{error}");
        for (name, value, told) in [
            ("KEEPSAKE_LOG_FORMAT", "xml", "text or json"),
            ("KEEPSAKE_STOP_GRACE_SECONDS", "90", "from 0 to 20"),
            ("KEEPSAKE_METRICS_TOKEN", "hunter2", "openssl rand"),
            ("KEEPSAKE_DATABASE_DIR", "/no/such/folder", "a folder on the disk"),
            ("KEEPSAKE_DISK_FREE_MB", "5%", "how many megabytes"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector", "http://host:4318"),
        ] {
            let error = with(name, value).expect_err("refused").to_string();
            assert!(error.contains(name) && error.contains(told), "{error}");
        }
        let error = with("KEEPSAKE_DATABASE_URL", "mysql://x").expect_err("refused").to_string();
        assert!(error.contains("KEEPSAKE_DATABASE_URL") && !error.contains("mysql"), "{error}");
    }
}
