//! Embeddings, as pages show them: their lifecycle in view types. No key comes in here, and none goes out.

use crate::view::EmbeddingState as StateView;
use crate::view::{
    EffectiveProvider, EmbeddingCounts, EmbeddingWait, EmbeddingsPage, EndpointView,
    EvaluationOffer, EvaluationView, FailedItem, FoundView, ItemEmbedding as ItemEmbeddingView,
    LateView, MeasuredView, Rebuild as RebuildView, ScoreParts, SpaceView,
};

use crate::embedding::model::{Space, StateCounts, TokenSigns};
use crate::embedding::{
    EmbeddingOverview, EmbeddingState, ItemEmbedding, PendingMemories, RebuildProgress, Texts,
};
use crate::endpoint::load::{self, embedding_endpoint_view, embeddings_beside, model_name};
use crate::evaluation::Measurement;
use crate::evaluation::asked::{MeasurementOffer, MeasurementState};
use crate::evaluation::model::SideScores;
use crate::input::sentence;
use crate::page::{Page, PageError, chat_error, database, embedding_error};
use crate::providers::builtin::BuiltinModel;
use crate::providers::settings::{Effective, EndpointKind, EndpointSettings, SpaceSettings};
use crate::providers::{BuiltinFlaw, ProviderType};
use crate::search::Explanation;

pub(crate) fn score_parts(why: &Explanation) -> ScoreParts {
    let factor = why.tier_weight * why.own_weight * why.strength;
    ScoreParts {
        lexical: why.lexical,
        late: why.late,
        late_share: why.late_share,
        semantic_normalised: why.semantic_normalised,
        distance: why.distance,
        words_matched: why.words_matched,
        is_substring: why.is_substring,
        weight_semantic: why.semantic_weight * why.likeness_scale,
        weight_lexical: why.lexical_weight * why.likeness_scale,
        speaker: why.speaker,
        entities: why.entities,
        time: why.time,
        trust: why.trust,
        neighbours: why.neighbours * why.likeness_scale,
        exact: why.exact / (factor * why.scale),
        scale: why.scale,
        factor,
    }
}

fn state(state: EmbeddingState) -> Option<StateView> {
    match state {
        EmbeddingState::Pending => Some(StateView::Pending),
        EmbeddingState::Ready => Some(StateView::Ready),
        EmbeddingState::Error => Some(StateView::Error),
        EmbeddingState::Off => None,
    }
}

pub(crate) fn state_filter(state: StateView) -> EmbeddingState {
    match state {
        StateView::Pending => EmbeddingState::Pending,
        StateView::Ready => EmbeddingState::Ready,
        StateView::Error => EmbeddingState::Error,
    }
}

/// Why the item could not be embedded.
pub(crate) fn error(embedding: &ItemEmbedding) -> Option<String> {
    let failed = embedding.state == EmbeddingState::Error;
    failed.then(|| embedding.error.clone().unwrap_or_default())
}

pub(crate) fn waiting_view(waiting: PendingMemories, total: i64) -> Option<EmbeddingWait> {
    (waiting.pending > 0).then_some(EmbeddingWait {
        pending: waiting.pending,
        total,
        problem: waiting.problem,
    })
}

impl Page {
    pub async fn embeddings_page(&self) -> Result<EmbeddingsPage, PageError> {
        let viewer = &self.viewer;
        let overview = self.state.embeddings.overview(viewer.user_id).await;
        let chat = self.state.chat.overview(viewer.user_id).await;
        let is_admin = self.is_admin();
        let (overview, chat) = (overview.map_err(embedding_error)?, chat.map_err(chat_error)?);
        let evaluation = &self.state.evaluation;
        let measured = evaluation.latest(viewer.user_id).await;
        let standing = evaluation.standing(viewer.user_id).await;
        Ok(self.embeddings_view(
            overview,
            &chat.settings.own,
            measured.map_err(database)?,
            standing.map_err(chat_error)?,
            is_admin,
        ))
    }

    pub(crate) fn item_embedding(&self, embedding: ItemEmbedding) -> ItemEmbeddingView {
        ItemEmbeddingView {
            state: state(embedding.state),
            error: embedding.error,
            provider: embedding.provider_type.map(|t| provider_name(t).to_owned()),
            model: embedding.model,
            dimensions: embedding.dimensions,
            passages: embedding.passages,
            passages_ready: embedding.passages_ready,
            updated: embedding.updated_at,
        }
    }

    fn measured_view(&self, measured: Measurement) -> MeasuredView {
        MeasuredView {
            at: measured.at,
            questions: measured.asked.questions,
            by_model: measured.asked.by_model,
            now: found_view(measured.now),
            before: measured.before.map(found_view),
            embedding_tokens: measured.tokens.embedding,
            chat_tokens: measured.tokens.chat,
        }
    }

    fn evaluation_view(&self, standing: MeasurementState) -> EvaluationView {
        match standing {
            MeasurementState::Nothing | MeasurementState::Measured => EvaluationView::Idle,
            MeasurementState::UnderWay { answers, total } => {
                EvaluationView::UnderWay { answers, total }
            }
            MeasurementState::GivenUp(why) => EvaluationView::GivenUp(why),
            MeasurementState::Offered(MeasurementOffer { estimate, until }) => {
                EvaluationView::Offered(EvaluationOffer {
                    questions: estimate.questions as i64,
                    by_model: estimate.by_model as i64,
                    embedding_tokens: estimate.embedding_tokens as i64,
                    chat_tokens: estimate.chat_tokens as i64,
                    until: until,
                })
            }
        }
    }

    /// `chat` is the user's own chat endpoint.
    pub(crate) fn embeddings_view(
        &self,
        overview: EmbeddingOverview,
        chat: &EndpointSettings,
        measured: Option<Measurement>,
        standing: MeasurementState,
        is_admin: bool,
    ) -> EmbeddingsPage {
        let in_use = overview.effective.settings().is_some();
        let own = own_view(&overview, chat);
        let problem = overview
            .rebuild
            .as_ref()
            .and_then(|r| r.space.problem.clone())
            .or_else(|| overview.serving.as_ref().and_then(|s| s.problem.clone()))
            .or_else(|| {
                overview.is_declined.then(|| {
                    "You cancelled the rebuild that these settings need: search keeps the existing embeddings. You can rebuild at any time.".to_owned()
                })
            });
        EmbeddingsPage {
            is_enabled: overview.settings.enabled,
            missing_model: overview.missing_model.map(missing_model),
            effective: effective_view(&overview),
            serving: overview.serving.as_ref().filter(|_| in_use).map(|space| SpaceView {
                late: late_view(&overview),
                ..self.space_view(space, provider_name(space.settings.endpoint.provider_type))
            }),
            problem: problem.filter(|_| in_use),
            counts: counts_view(overview.counts, overview.texts),
            rebuild: overview.rebuild.map(|rebuild| self.rebuild_view(rebuild)),
            without_key: overview.without_key,
            own,
            failures: overview
                .failures
                .into_iter()
                .map(|failure| FailedItem {
                    id: failure.item_id,
                    snippet: failure.snippet,
                    error: failure.error,
                })
                .collect(),
            is_admin,
            measured: measured.map(|measured| self.measured_view(measured)),
            evaluation: self.evaluation_view(standing),
        }
    }

    fn space_view(&self, space: &Space, provider: &str) -> SpaceView {
        SpaceView {
            provider: provider.to_owned(),
            model: model_name(&space.settings.endpoint),
            dimensions: space.dimensions,
            late: None,
            since: space.activated_at.unwrap_or(space.created_at),
        }
    }

    fn rebuild_view(&self, rebuild: RebuildProgress) -> RebuildView {
        RebuildView {
            provider: provider_name(rebuild.space.settings.endpoint.provider_type).to_owned(),
            model: model_name(&rebuild.space.settings.endpoint),
            done: rebuild.counts.ready,
            failed: rebuild.counts.failed,
            total: rebuild.counts.total(),
            rate_per_second: rebuild.rate_per_second,
            seconds_left: rebuild.left.map(|left| left.whole_seconds()),
            started: rebuild.started_at,
        }
    }
}

fn missing_model(model: BuiltinModel) -> String {
    sentence(&BuiltinFlaw::NoFiles(model).to_string())
}

fn late_view(overview: &EmbeddingOverview) -> Option<LateView> {
    let space = overview.serving.as_ref()?;
    let is_wanted = overview.system.late_interaction;
    match space.token_signs {
        _ if !space.settings.is_builtin() => None,
        TokenSigns::All if is_wanted => Some(LateView::On),
        _ if is_wanted => {
            Some(LateView::Making { done: overview.signed, of: overview.counts.ready })
        }
        _ => Some(LateView::Off),
    }
}

fn found_view(scores: SideScores) -> FoundView {
    let provider = provider_name(scores.provider_type);
    FoundView {
        name: match scores.model.as_str() {
            "" => provider.to_owned(),
            model => format!("{provider} · {model}"),
        },
        found: scores.found,
        found_by_meaning: scores.found_by_meaning,
    }
}

fn counts_view(counts: StateCounts, texts: Texts) -> EmbeddingCounts {
    EmbeddingCounts {
        ready: counts.ready,
        pending: counts.pending,
        failed: counts.failed,
        total: texts.total(),
        from_messages: texts.from_messages,
    }
}

fn effective_view(overview: &EmbeddingOverview) -> EffectiveProvider {
    let settings = &overview.settings;
    let paused = load::paused_reason(&settings.own.endpoint, "embeddings");
    let paused = paused.filter(|_| settings.is_paused);
    let name_and_reason = match &overview.effective {
        Effective::Off if paused.is_some() => ("None", paused.as_deref().unwrap_or_default()),
        Effective::Off => ("None", "You switched embeddings off: search uses keywords only."),
        Effective::System(settings) if settings.is_builtin() => (
            "Builtin model",
            "No system llama.cpp is set and you have no endpoint of your own: the model inside this server serves you.",
        ),
        Effective::System(_) => (
            "System llama.cpp",
            "An admin set a system llama.cpp; it takes precedence over users' own endpoints.",
        ),
        Effective::Own(_) => {
            ("Your endpoint", "You have an endpoint of your own, and no system llama.cpp is set.")
        }
        Effective::Nothing => (
            "None",
            "No endpoint is set, neither by an admin nor by you, and an admin switched the builtin model off.",
        ),
    };
    let settings = overview.effective.settings();
    let of_these =
        |space: &&Space| settings.is_some_and(|wanted| space.settings.makes_the_vectors_of(wanted));
    let building = overview.rebuild.as_ref().map(|r| &r.space);
    let space = [building, overview.serving.as_ref()].into_iter().flatten().find(of_these);
    EffectiveProvider {
        dimensions: space.and_then(|s| s.dimensions),
        learned: overview.learned.join("; "),
        ..load::effective_view(name_and_reason, settings.map(|s| &s.endpoint))
    }
}

/// Without an effective provider and an own endpoint, the form suggests the host of the chat endpoint, which
/// may serve embeddings too.
fn own_view(overview: &EmbeddingOverview, chat: &EndpointSettings) -> EndpointView {
    let settings = &overview.settings;
    let is_unserved = overview.effective == Effective::Nothing && !settings.own.endpoint.is_set();
    let of_chat = embeddings_beside(chat).filter(|_| is_unserved);
    let is_from_chat = of_chat.is_some();
    let shown = match of_chat {
        Some(endpoint) => SpaceSettings { endpoint, ..SpaceSettings::default() },
        None => settings.own.clone(),
    };
    let view = embedding_endpoint_view(&shown, settings.pace, EndpointKind::OwnEmbeddings);
    EndpointView { is_from_chat, ..load::own(view, settings.own_enabled) }
}

fn provider_name(provider_type: ProviderType) -> &'static str {
    match provider_type {
        ProviderType::Builtin => "Builtin model",
        ProviderType::Llamacpp => "System llama.cpp",
        ProviderType::Ollama
        | ProviderType::Openai
        | ProviderType::Anthropic
        | ProviderType::CustomHttp => "Your endpoint",
    }
}
