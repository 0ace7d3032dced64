//! What other pages say of embeddings. No key comes in here, and none goes out.

use super::{missing_model, provider_name};
use crate::embedding::{EmbeddingState, ItemEmbedding, SystemOverview};
use crate::endpoint::{embedding_endpoint_view, embeddings_beside, host_port, model_name};
use crate::page::Page;
use crate::pages::chat::load::system_view;
use crate::providers::ProviderType;
use crate::providers::builtin::BuiltinModel;
use crate::providers::settings::{
    EndpointKind, EndpointSettings, SpaceSettings, SystemChatSettings,
};
use crate::search::Explanation;
use crate::view::{
    AdminPage, BuiltinExchange, EmbeddingState as StateView, EndpointView,
    ItemEmbedding as ItemEmbeddingView, JobsLine, LateSwitch, OperatorRow, QueueCounts, ScoreParts,
    ServerStorage, SpaceView,
};

pub(crate) fn score_parts(why: &Explanation) -> ScoreParts {
    let factor = why.tier_weight * why.own_weight;
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

impl Page {
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

    pub(crate) fn admin_view(
        &self,
        system: SystemOverview,
        chat: &SystemChatSettings,
        users: i64,
        operators: Vec<OperatorRow>,
        (jobs, storage): (JobsLine, ServerStorage),
        is_browser_read_only: bool,
    ) -> AdminPage {
        let settings = system.settings;
        let is_unserved = settings.provider.is_none() && system.missing_model.is_some();
        let of_chat = embeddings_beside(&chat.endpoint)
            .filter(|_| is_unserved && system.offered.is_none())
            .filter(|found| found.provider_type == ProviderType::Openai);
        let is_from_chat = of_chat.is_some();
        let shown = settings.provider.clone().unwrap_or_else(|| SpaceSettings {
            endpoint: of_chat.unwrap_or_else(|| EndpointSettings {
                url: system.offered.clone().unwrap_or_default(),
                ..EndpointSettings::default()
            }),
            ..SpaceSettings::default()
        });
        AdminPage {
            in_force: settings.provider.as_ref().map(|provider| SpaceView {
                provider: host_port(&provider.endpoint.url),
                model: model_name(&provider.endpoint),
                dimensions: provider.dimensions,
                late: None,
                since: system.provider_since.unwrap_or(self.state.clock.now()),
            }),
            offered: system.offered,
            system: EndpointView {
                is_from_chat,
                ..embedding_endpoint_view(&shown, settings.pace, EndpointKind::SystemEmbeddings)
            },
            chat: system_view(chat),
            missing_model: system.missing_model.map(missing_model),
            builtin_enabled: settings.builtin_enabled,
            exchange: BuiltinExchange {
                is_postponed: settings.builtin_model == BuiltinModel::English,
                can_postpone: system.has_english_model,
                users: system.builtin_users.all,
                done: system.builtin_users.of_model,
            },
            late: LateSwitch {
                is_on: settings.late_interaction,
                users: system.builtin_users.all,
                done: system.builtin_users.late,
            },
            is_browser_read_only,
            storage,
            allowed_endpoints: system
                .allowed
                .into_iter()
                .map(|(host, port, purpose)| (format!("{host}:{port}"), purpose))
                .collect(),
            queue: QueueCounts {
                pending: system.open.pending,
                failed: system.open.failed,
                users_waiting: system.open.pending_users,
            },
            jobs,
            users,
            operators,
            public_url: self.state.public_url.as_str().to_owned(),
        }
    }
}
