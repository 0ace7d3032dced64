//! Web sessions in PostgreSQL, for tower-sessions. The cookie's id gives access to an account, so only its
//! SHA-256 is stored.

use async_trait::async_trait;
use sha2::{Digest, Sha256};
use time::OffsetDateTime;
use tower_sessions::cookie::SameSite;
use tower_sessions::session::{Id, Record};
use tower_sessions::session_store::{Error, Result};
use tower_sessions::{Expiry, Session, SessionManagerLayer, SessionStore};

use super::AppState;
use crate::accounts::{UserId, store};
use crate::clock::SharedClock;
use crate::db::Db;
use crate::db::actor::Actor;

/// The key of the user id in a web session.
pub const SESSION_USER: &str = "user_id";

/// The key of the day of the last visit: a session is stored again, with a new expiry, at the first visit of a day.
const VISITED: &str = "visited";

/// A session expires after this time without a visit.
const IDLE: time::Duration = time::Duration::days(30);

/// The name of a cookie. `__Host-` binds it to this host over https, and asks for `Path=/`: under a path `__Secure-` is what is
/// left. Plain http is served on loopback only (`config`), where browsers would reject such a cookie.
pub fn cookie_name(state: &AppState, name: &str) -> String {
    match (state.public_url.is_https(), state.public_url.path()) {
        (false, _) => name.to_owned(),
        (true, "") => format!("__Host-{name}"),
        (true, _) => format!("__Secure-{name}"),
    }
}

/// The `Path` of a cookie.
pub fn cookie_path(state: &AppState) -> String {
    match state.public_url.path() {
        "" => "/".to_owned(),
        path => path.to_owned(),
    }
}

pub fn layer(state: &AppState) -> SessionManagerLayer<PgSessionStore> {
    SessionManagerLayer::new(PgSessionStore { db: state.db.clone(), clock: state.clock.clone() })
        .with_name(cookie_name(state, "keepsake"))
        .with_secure(state.public_url.is_https())
        .with_http_only(true)
        .with_same_site(SameSite::Lax)
        .with_path(cookie_path(state))
        .with_expiry(Expiry::OnInactivity(IDLE))
}

/// Moves the expiry of a signed-in visitor's session.
///
/// # Errors
/// If the session cannot be read.
pub async fn note_visit(
    session: &Session,
    clock: &SharedClock,
) -> std::result::Result<(), tower_sessions::session::Error> {
    let today = clock.now().date().to_julian_day();
    session.insert(VISITED, today).await
}

/// The authority of this web session's forms.
pub fn actor(session: &Session, user: UserId) -> Option<Actor> {
    session.id().map(|id| Actor::Person {
        user,
        session_hash: hash(&id),
        is_admin_act: false,
        manages_memory: false,
    })
}

#[derive(Clone)]
pub struct PgSessionStore {
    db: Db,
    clock: SharedClock,
}

impl std::fmt::Debug for PgSessionStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PgSessionStore")
    }
}

impl PgSessionStore {
    /// By our own clock; a record's own date uses the system's.
    fn expires_at(&self) -> OffsetDateTime {
        self.clock.now() + IDLE
    }
}

#[async_trait]
impl SessionStore for PgSessionStore {
    async fn create(&self, record: &mut Record) -> Result<()> {
        let data = data_of(record)?;
        let mut conn = self.db.system_connection().await.map_err(backend)?;
        loop {
            let id_hash = hash(&record.id);
            let user = user_of(record);
            let expires_at = self.expires_at();
            if store::insert_web_session(&mut conn, &id_hash, user, &data, expires_at)
                .await
                .map_err(backend)?
            {
                return Ok(());
            }
            record.id = Id::default();
        }
    }

    async fn save(&self, record: &Record) -> Result<()> {
        let data = data_of(record)?;
        let mut conn = self.db.system_connection().await.map_err(backend)?;
        store::update_web_session(
            &mut conn,
            &hash(&record.id),
            user_of(record),
            &data,
            self.expires_at(),
        )
        .await
        .map_err(backend)
    }

    async fn load(&self, id: &Id) -> Result<Option<Record>> {
        let mut conn = self.db.system_connection().await.map_err(backend)?;
        let found = store::find_web_session(&mut conn, &hash(id), self.clock.now()).await;
        let record = |(data, expiry_date): (serde_json::Value, OffsetDateTime)| {
            let data = serde_json::from_value(data).map_err(|e| Error::Decode(e.to_string()))?;
            Ok(Record { id: *id, data, expiry_date })
        };
        found.map_err(backend)?.map(record).transpose()
    }

    async fn delete(&self, id: &Id) -> Result<()> {
        let mut conn = self.db.system_connection().await.map_err(backend)?;
        store::delete_web_session(&mut conn, &hash(id)).await.map_err(backend)
    }
}

fn hash(id: &Id) -> [u8; 32] {
    Sha256::digest(id.0.to_le_bytes()).into()
}

fn user_of(record: &Record) -> Option<UserId> {
    record.data.get(SESSION_USER).and_then(serde_json::Value::as_i64).map(UserId)
}

fn data_of(record: &Record) -> Result<serde_json::Value> {
    serde_json::to_value(&record.data).map_err(|e| Error::Encode(e.to_string()))
}

/// PostgreSQL's message may quote values; the kind is enough here.
fn backend(error: sqlx::Error) -> Error {
    let kind = if matches!(error, sqlx::Error::Database(_)) { "refused" } else { "unreachable" };
    Error::Backend(format!("the database is {kind}"))
}
