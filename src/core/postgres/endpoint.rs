//! How clients connect to PostgreSQL: a Unix socket in a folder that only its owner may enter, or loopback if
//! the socket's path would be too long. It must never listen on other addresses.

use std::path::PathBuf;

use sqlx::postgres::{PgConnectOptions, PgSslMode};

/// Part of the socket's file name, too.
const SOCKET_PORT: u16 = 5432;
/// `sun_path`, without its final NUL.
const SOCKET_PATH_MAX_BYTES: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// What `PGOPTIONS` of the environment may say otherwise, of another PostgreSQL: the last value counts.
pub(super) const OWN_SETTINGS: [(&str, &str); 2] =
    [("search_path", "public"), ("default_transaction_read_only", "off")];

/// How clients connect to PostgreSQL.
#[derive(Debug, Clone)]
pub(super) enum PostgresEndpoint {
    /// A Unix socket in this folder, which only its owner may enter.
    Socket(PathBuf),
    /// 127.0.0.1, on this port.
    Loopback(u16),
}

impl PostgresEndpoint {
    /// The socket in `folder`, if its path is one that the OS and sqlx accept.
    pub(super) fn socket_in(folder: PathBuf) -> Option<Self> {
        let path = folder.join(format!(".s.PGSQL.{SOCKET_PORT}"));
        let is_short = path.to_str()?.len() <= SOCKET_PATH_MAX_BYTES;
        is_short.then_some(Self::Socket(folder))
    }

    pub(super) fn connect_options(&self, password: &str) -> PgConnectOptions {
        let options = PgConnectOptions::new_without_pgpass()
            .username("postgres")
            .password(password)
            .database("keepsake")
            .application_name("keepsake")
            .ssl_mode(PgSslMode::Disable)
            .options(OWN_SETTINGS);
        match self {
            Self::Socket(folder) => options.socket(folder).port(SOCKET_PORT),
            Self::Loopback(port) => options.host("127.0.0.1").port(*port),
        }
    }

    /// PostgreSQL's lock file for the socket.
    pub(super) fn socket_lock(&self) -> Option<PathBuf> {
        match self {
            Self::Socket(folder) => Some(folder.join(format!(".s.PGSQL.{SOCKET_PORT}.lock"))),
            Self::Loopback(_) => None,
        }
    }

    /// The settings that make PostgreSQL listen here and nowhere else.
    pub(super) fn settings(&self) -> [String; 4] {
        let (addresses, folder, port) = match self {
            // PostgreSQL parses a list; the quotes protect commas and blanks in the path.
            Self::Socket(folder) => {
                let folder = folder.display().to_string().replace('"', "\"\"");
                ("", format!("\"{folder}\""), SOCKET_PORT)
            }
            Self::Loopback(port) => ("127.0.0.1", String::new(), *port),
        };
        [
            format!("listen_addresses={addresses}"),
            format!("unix_socket_directories={folder}"),
            "unix_socket_permissions=0700".to_owned(),
            format!("port={port}"),
        ]
    }
}
