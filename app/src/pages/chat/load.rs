//! Chat settings, as pages show them. No key comes in here, and none goes out.

use crate::view::{ChatPage, DayTokens, EffectiveProvider, PurposeView};
use time::macros::format_description;

use crate::endpoint::load::{chat_endpoint_view, effective_view, own, paused_reason};
use crate::page::{Page, PageError, chat_error};
use crate::providers::chat::{ChatOverview, ChatPurpose, DaySpend};
use crate::providers::settings::Effective;

impl Page {
    pub async fn chat_view(&self) -> Result<ChatPage, PageError> {
        let overview = self.state.chat.overview(self.viewer.user_id).await;
        Ok(self.chat_of(overview.map_err(chat_error)?, self.is_admin()))
    }

    pub(crate) fn chat_of(&self, overview: ChatOverview, is_admin: bool) -> ChatPage {
        let settings = &overview.settings;
        let paused = paused_reason(&settings.own, "the chat model").filter(|_| settings.is_paused);
        let name_and_reason = match &overview.effective {
            Effective::Off if paused.is_some() => ("None", paused.as_deref().unwrap_or_default()),
            Effective::Off => {
                ("None", "You switched the chat model off: no model reads your conversations.")
            }
            Effective::Own(_) => {
                ("Your endpoint", "Your own endpoint takes precedence over the system chat model.")
            }
            Effective::System(_) => (
                "System chat model",
                "An admin set a system chat model, and you use no endpoint of your own.",
            ),
            Effective::Nothing => (
                "None",
                "No chat model is set, neither by an admin nor by you: conversations are stored, and no model reads them.",
            ),
        };
        ChatPage {
            is_enabled: settings.enabled,
            effective: EffectiveProvider {
                learned: overview.learned.join("; "),
                ..effective_view(name_and_reason, overview.effective.settings())
            },
            own: own(chat_endpoint_view(&settings.own), settings.own_enabled),
            cap: overview.cap,
            server_cap: overview.server_cap,
            own_cap: settings.daily_token_cap,
            purposes: ChatPurpose::ALL
                .map(|purpose| {
                    let allowance = settings.purposes.of(purpose);
                    PurposeView {
                        name: purpose.as_str(),
                        title: title_of(purpose),
                        is_on: allowance.is_on,
                        share: allowance.share,
                    }
                })
                .to_vec(),
            days: overview.days.iter().map(day_view).collect(),
            is_admin,
        }
    }
}

fn title_of(purpose: ChatPurpose) -> &'static str {
    match purpose {
        ChatPurpose::Facts => "Reading sessions",
        ChatPurpose::Enrichment => "Nightly entity reading",
        ChatPurpose::Summary => "Summary",
        ChatPurpose::Reflection => "Weekly reflection",
        ChatPurpose::Dreaming => "Dreaming",
        ChatPurpose::Evaluation => "Measuring a rebuild",
    }
}

fn day_view(spent: &DaySpend) -> DayTokens {
    let format = format_description!("[day padding:none] [month repr:long]");
    DayTokens {
        day: spent.day.format(format).unwrap_or_default(),
        tokens_in: spent.tokens_in,
        tokens_out: spent.tokens_out,
        by_purpose: ChatPurpose::ALL
            .map(Some)
            .into_iter()
            .chain([None])
            .map(|purpose| {
                let of = spent.by_purpose.iter().filter(|(of, _)| *of == purpose);
                of.map(|(_, tokens)| tokens).sum()
            })
            .collect(),
        calls: spent.calls,
        failed_calls: spent.failed_calls,
    }
}
