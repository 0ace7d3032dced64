//! The handles of one process, made once: what tools, jobs, pages and commands work with.

use std::time::Duration;

use crate::accounts::Accounts;
use crate::activity::Activity;
use crate::backup::Backups;
use crate::clock::SharedClock;
use crate::config::PublicUrl;
use crate::consolidation::Consolidation;
use crate::db::Db;
use crate::documents::Documents;
use crate::embedding::Embeddings;
use crate::evaluation::Evaluation;
use crate::memories::Adding;
use crate::memories::quota::ItemQuota;
use crate::providers::chat::Chat;
use crate::providers::{Embedder, EndpointUrl, Outbound};
use crate::seal::Sealer;
use crate::search::{Reader, Search};
use crate::webhooks::Webhooks;

/// Every part is cheap to clone.
#[derive(Clone)]
pub struct Services {
    pub db: Db,
    pub clock: SharedClock,
    pub accounts: Accounts,
    pub embeddings: Embeddings,
    pub search: Search,
    pub chat: Chat,
    pub adding: Adding,
    pub documents: Documents,
    pub consolidation: Consolidation,
    pub evaluation: Evaluation,
    /// This process's own, so that an erasure can flush its buffered calls first.
    pub activity: Activity,
    pub webhooks: Webhooks,
    /// For the descriptions of OAuth clients.
    pub outbound: Outbound,
    /// `None` where no backup folder is set.
    pub backups: Option<Backups>,
    /// Of the pages that an answer refers to.
    pub public_url: PublicUrl,
}

/// What [`Services`] are made of.
pub struct ServiceParts {
    pub db: Db,
    pub clock: SharedClock,
    pub accounts: Accounts,
    pub embedder: Embedder,
    pub sealer: Sealer,
    /// A llama.cpp that the operator offers to everybody.
    pub offered: Option<EndpointUrl>,
    /// After which a search continues with words only.
    pub query_deadline: Duration,
    pub reader: Reader,
    pub quota: ItemQuota,
    pub backups: Option<Backups>,
    pub public_url: PublicUrl,
}

impl Services {
    pub fn new(parts: ServiceParts) -> Self {
        let ServiceParts { db, clock, accounts, embedder, sealer, public_url, .. } = parts;
        embedder.keep_in(db.clone());
        let chat_model = embedder.chat_model();
        let outbound = embedder.outbound();
        let chat = Chat::new(db.clone(), clock.clone(), chat_model, sealer.clone());
        let webhooks = Webhooks::new(
            db.clone(),
            clock.clone(),
            outbound.clone(),
            sealer.clone(),
            public_url.clone(),
        );
        let embeddings =
            Embeddings::new(db.clone(), clock.clone(), embedder, sealer, parts.offered)
                .with_query_deadline(parts.query_deadline);
        let search = Search::new(db.clone(), embeddings.clone(), parts.reader);
        Self {
            adding: Adding::with_quota(db.clone(), clock.clone(), embeddings.clone(), parts.quota),
            documents: Documents::new(db.clone(), embeddings.clone()),
            consolidation: Consolidation::new(search.clone(), chat.clone(), clock.clone()),
            evaluation: Evaluation::new(search.clone(), chat.clone()),
            activity: Activity::new(db.clone(), clock.clone()),
            backups: parts.backups,
            db,
            clock,
            accounts,
            embeddings,
            search,
            chat,
            webhooks,
            outbound,
            public_url,
        }
    }

    /// For background jobs, which wait longer for the database and yield to interactive searches.
    pub fn for_jobs(&self) -> Self {
        let search = self.search.for_jobs();
        let (db, embeddings) = (search.db().clone(), search.embeddings().clone());
        let (chat, clock) = (self.chat.clone(), self.clock.clone());
        Self {
            documents: Documents::new(db.clone(), embeddings.clone()),
            db,
            embeddings,
            consolidation: Consolidation::new(search.clone(), chat.clone(), clock),
            evaluation: Evaluation::new(search.clone(), chat),
            search,
            ..self.clone()
        }
    }
}
