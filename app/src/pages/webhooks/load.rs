//! Webhooks, as their page shows them.

use crate::page::PageError;
use crate::view::{DeliveryRow, WebhookRow, WebhooksPage};

use crate::accounts::Viewer;
use crate::memories::feed::FeedEventType;
use crate::page::{Page, database};
use crate::webhooks::{DELIVERIES_KEPT, Delivery, WEBHOOKS_MAX, Webhook, WebhookState};

impl Page {
    pub(crate) async fn webhooks_view(&self, viewer: &Viewer) -> Result<WebhooksPage, PageError> {
        let found = self.state.webhooks.list(viewer.user_id).await;
        let found = found.map_err(database)?.into_iter();
        Ok(WebhooksPage {
            webhooks: found
                .map(|(webhook, deliveries)| self.webhook_row(webhook, deliveries))
                .collect(),
            webhooks_max: WEBHOOKS_MAX,
            deliveries_kept: DELIVERIES_KEPT,
        })
    }

    fn webhook_row(&self, webhook: Webhook, deliveries: Vec<Delivery>) -> WebhookRow {
        let (now, events) = (self.state.clock.now(), webhook.events.into_iter());
        let moment = |at| at;
        WebhookRow {
            id: webhook.id,
            url: webhook.url,
            state: match (webhook.state, webhook.failing_since) {
                (WebhookState::On, Some(_)) => "failed",
                (state, _) => state.as_str(),
            },
            events: events.map(FeedEventType::as_str).collect(),
            includes_text: webhook.includes_text,
            created: moment(webhook.created_at),
            delivered: webhook.delivered_at.map(moment),
            failing_since: webhook.failing_since.map(moment),
            next_try: webhook.next_try_at.map(moment),
            old_secret_until: webhook.old_secret_until.filter(|at| *at > now).map(moment),
            deliveries: deliveries.into_iter().map(|one| self.delivery_row(one)).collect(),
        }
    }

    fn delivery_row(&self, delivery: Delivery) -> DeliveryRow {
        DeliveryRow {
            event: delivery.event,
            at: delivery.at,
            status: delivery.status.map_or(String::new(), |s| s.to_string()),
            took_ms: delivery.took_ms,
            problem: delivery.problem,
        }
    }
}
