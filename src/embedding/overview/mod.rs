//! The data of the page Settings › Embeddings.

pub mod store;

use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

use super::model::{Counts, Failure, Space, Texts, TokenSigns, Waiting};
use super::spaces::Spaces;
use super::{EmbeddingError, Embeddings, RATE_WINDOW};
use crate::db::UserId;
use crate::providers::settings::{Effective, SystemSettings, UserSettings};

const FAILURES_SHOWN: i64 = 5;

pub struct Overview {
    pub settings: UserSettings,
    pub system: SystemSettings,
    pub effective: Effective,
    pub has_builtin: bool,
    /// The space that searches use.
    pub serving: Option<Space>,
    /// Of the serving space.
    pub counts: Counts,
    pub rebuild: Option<Rebuild>,
    pub failures: Vec<Failure>,
    /// The user cancelled the rebuild that the settings require.
    pub is_declined: bool,
    pub texts: Texts,
    /// Number of texts with token signs, while these are being created.
    pub signed: i64,
}

/// A space that is being built while another one serves.
pub struct Rebuild {
    pub space: Space,
    pub counts: Counts,
    /// `None` without recent progress.
    pub rate_per_second: Option<f64>,
    pub left: Option<Duration>,
    pub started_at: OffsetDateTime,
}

impl Embeddings {
    pub async fn overview(&self, user: UserId) -> Result<Overview, EmbeddingError> {
        let now = self.0.clock.now();
        let system = self.system_settings().await?;
        let mut tx = self.0.db.as_user(user).await?;
        let (settings, effective) = self.effective(&mut tx, user).await?;
        let spaces = Spaces::of(&mut tx, user).await?;
        let texts = store::count_texts(&mut tx, user).await?;
        let mut failures = Vec::new();
        let counts = match spaces.serving() {
            Some(space) => store::count_states(&mut tx, user, space.id, now - RATE_WINDOW).await?,
            // The job will create the space.
            None if settings.awaited(&effective).is_some() => Counts {
                pending: texts.total(),
                ..Counts::default()
            },
            None => Counts::default(),
        };
        let mut rebuild = None;
        if let Some(space) = &spaces.building {
            let counts = store::count_states(&mut tx, user, space.id, now - RATE_WINDOW).await?;
            rebuild = Some(Rebuild::new(space.clone(), counts, now));
        }
        if let Some(space) = spaces.building.as_ref().or(spaces.active.as_ref()) {
            failures = store::list_failures(&mut tx, user, space.id, FAILURES_SHOWN).await?;
        }
        let signed = match spaces.serving() {
            Some(space) if space.token_signs == TokenSigns::Some => {
                store::count_ready(&mut tx, user, space.id, true).await?
            }
            _ => 0,
        };
        tx.commit().await?;
        let is_declined = settings.awaited(&effective).is_none()
            && effective
                .settings()
                .is_some_and(|wanted| !spaces.has(wanted));
        Ok(Overview {
            serving: spaces.serving().cloned(),
            has_builtin: self.0.embedder.has_builtin(),
            settings,
            system,
            effective,
            counts,
            rebuild,
            failures,
            is_declined,
            texts,
            signed,
        })
    }
}

impl Embeddings {
    /// Memories that are found by words only, for now or permanently. Zero without a provider, because then nothing is pending.
    pub async fn waiting(
        &self,
        conn: &mut PgConnection,
        user: UserId,
    ) -> Result<Waiting, sqlx::Error> {
        let (settings, effective) = self.effective(conn, user).await?;
        if effective.settings().is_none() {
            return Ok(Waiting::default());
        }
        if let Some(waiting) = store::count_waiting(conn, user).await? {
            return Ok(waiting);
        }
        let pending = match settings.awaited(&effective) {
            Some(_) => store::count_texts(conn, user).await?.memories,
            None => 0,
        };
        Ok(Waiting {
            pending,
            ..Waiting::default()
        })
    }
}

impl Rebuild {
    fn new(space: Space, counts: Counts, now: OffsetDateTime) -> Self {
        let window = RATE_WINDOW
            .min(now - space.created_at)
            .max(Duration::seconds(1));
        let rate = counts.recent as f64 / window.as_seconds_f64();
        let rate_per_second = (counts.recent > 0).then_some(rate);
        Self {
            left: rate_per_second.map(|rate| Duration::seconds_f64(counts.pending as f64 / rate)),
            started_at: space.created_at,
            rate_per_second,
            counts,
            space,
        }
    }
}
