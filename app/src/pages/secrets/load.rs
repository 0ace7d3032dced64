//! Settings › Secrets, as its page shows it.

use crate::page::PageError;
use crate::view::{SecretRow, SecretsPage};

use crate::accounts::Viewer;
use crate::page::{Page, database};
use crate::redaction::rule_count;

impl Page {
    pub(crate) async fn secrets_view(&self, viewer: &Viewer) -> Result<SecretsPage, PageError> {
        let redactor = self.state.embeddings.redactor();
        let overview = redactor.overview(viewer.user_id).await;
        let overview = overview.map_err(database)?;
        let findings = overview.findings.into_iter().map(|finding| SecretRow {
            id: finding.id,
            fingerprint: finding.fingerprint,
            rule: finding.rule,
            field: finding.field,
            agent: finding.agent,
            last: finding.last_at,
            count: finding.count,
            is_allowed: finding.is_allowed,
        });
        Ok(SecretsPage {
            policy: overview.policy.as_str(),
            // And card and account numbers.
            rules: rule_count() as i64 + 2,
            counts: overview.counts,
            findings: findings.collect(),
        })
    }
}
