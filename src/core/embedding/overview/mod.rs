//! The data of the page Settings › Embeddings.

pub mod store;

use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

use super::model::{FailedEmbedding, PendingMemories, Space, StateCounts, Texts, TokenSigns};
use super::spaces::Spaces;
use super::{EmbeddingError, Embeddings, RATE_WINDOW};
use crate::db::UserId;
use crate::providers::builtin::BuiltinModel;
use crate::providers::settings::{
    Effective, SpaceSettings, SystemEmbeddingSettings, UserEmbeddingSettings,
};

const FAILURES_SHOWN: i64 = 5;

pub struct EmbeddingOverview {
    pub settings: UserEmbeddingSettings,
    pub system: SystemEmbeddingSettings,
    pub effective: Effective<SpaceSettings>,
    /// What was learned of the effective endpoint, in words.
    pub learned: Vec<&'static str>,
    /// The builtin model of the effective settings, if its files are missing.
    pub missing_model: Option<BuiltinModel>,
    /// The space that searches use.
    pub serving: Option<Space>,
    /// Of the serving space.
    pub counts: StateCounts,
    pub rebuild: Option<RebuildProgress>,
    pub failures: Vec<FailedEmbedding>,
    /// The user cancelled the rebuild that the settings require.
    pub is_declined: bool,
    pub texts: Texts,
    /// Number of texts with token signs, while these are being created.
    pub signed: i64,
    /// Memories whose embeddings were made without their key ([`Embeddings::embed_keys`]).
    pub without_key: i64,
}

/// A space that is being built while another one serves.
pub struct RebuildProgress {
    pub space: Space,
    pub counts: StateCounts,
    /// `None` without recent progress.
    pub rate_per_second: Option<f64>,
    pub left: Option<Duration>,
    pub started_at: OffsetDateTime,
}

impl Embeddings {
    pub async fn overview(&self, user: UserId) -> Result<EmbeddingOverview, EmbeddingError> {
        let now = self.now();
        let system = self.system_settings().await?;
        let mut tx = self.db.as_user(user).await?;
        let (settings, effective) = self.effective(&mut tx, user).await?;
        let spaces = Spaces::of(&mut tx, user).await?;
        let texts = store::count_texts(&mut tx, user).await?;
        let mut failures = Vec::new();
        let counts = match spaces.serving() {
            Some(space) => store::count_states(&mut tx, user, space.id, now - RATE_WINDOW).await?,
            // The job will create the space.
            None if settings.awaited(&effective).is_some() => {
                StateCounts { pending: texts.total(), ..StateCounts::default() }
            }
            None => StateCounts::default(),
        };
        let mut rebuild = None;
        if let Some(space) = &spaces.building {
            let counts = store::count_states(&mut tx, user, space.id, now - RATE_WINDOW).await?;
            rebuild = Some(RebuildProgress::new(space.clone(), counts, now));
        }
        if let Some(space) = spaces.filled() {
            failures = store::list_failures(&mut tx, user, space.id, FAILURES_SHOWN).await?;
        }
        let signed = match spaces.serving() {
            Some(space) if space.token_signs == TokenSigns::Some => {
                store::count_ready(&mut tx, user, space.id, true).await?
            }
            _ => 0,
        };
        let without_key = match spaces.filled_by(effective.settings()) {
            Some(space) => store::count_without_key(&mut tx, user, space.id).await?,
            None => 0,
        };
        tx.commit().await?;
        let is_declined = settings.awaited(&effective).is_none()
            && effective.settings().is_some_and(|wanted| !spaces.has(wanted));
        let learned = match effective.settings() {
            Some(wanted) => self.shared.embedder.learned(&wanted.endpoint).await,
            None => Vec::new(),
        };
        Ok(EmbeddingOverview {
            learned,
            serving: spaces.serving().cloned(),
            missing_model: effective.settings().and_then(|wanted| self.missing_model(wanted)),
            settings,
            system,
            effective,
            counts,
            rebuild,
            failures,
            is_declined,
            texts,
            signed,
            without_key,
        })
    }
}

impl Embeddings {
    /// Memories that are found by words only, for now or permanently. Zero without a provider, because then nothing is pending.
    pub async fn waiting(
        &self,
        conn: &mut PgConnection,
        user: UserId,
    ) -> Result<PendingMemories, sqlx::Error> {
        let (settings, effective) = self.effective(conn, user).await?;
        if effective.settings().is_none() {
            return Ok(PendingMemories::default());
        }
        if let Some(waiting) = store::count_waiting(conn, user).await? {
            return Ok(waiting);
        }
        let pending = match settings.awaited(&effective) {
            Some(_) => store::count_texts(conn, user).await?.memories,
            None => 0,
        };
        Ok(PendingMemories { pending, ..PendingMemories::default() })
    }
}

impl RebuildProgress {
    fn new(space: Space, counts: StateCounts, now: OffsetDateTime) -> Self {
        let window = RATE_WINDOW.min(now - space.created_at).max(Duration::seconds(1));
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
