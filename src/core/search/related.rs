//! The memories that are like a given one.

use super::query::{Balance, Filters, Ingredients, SearchQuery, WHOLE_CHARS_MAX};
use super::reader::IndexRequest;
use super::{ResultPage, Search, store};
use crate::accounts::Viewer;
use crate::embedding::QueryVector;
use crate::memories::{ItemId, Status};

/// Memories that have nothing to do with each other are below it (bench/README.md, "How sure").
const RELEVANCE_MIN: f64 = 0.05;

impl Search {
    /// The memories that are like this one, most relevant first: by the embedding that it has, else by its words. Asks no provider.
    ///
    /// # Errors
    /// Database errors only.
    pub async fn related(
        &self,
        viewer: &Viewer,
        (item, text): (ItemId, &str),
        limit: usize,
    ) -> Result<ResultPage, sqlx::Error> {
        let user = viewer.user_id;
        let text: String = text.chars().take(WHOLE_CHARS_MAX).collect();
        let need = IndexRequest { user, space: None, theme: None, text: Some(&text) };
        let (mut tx, held) = self.reader.current(&self.db, &need).await?;
        let mut vector = None;
        if let Some(space) = &held.serving.space {
            let mean = store::find_mean(&mut tx, user, space.id, item.0).await?;
            vector = mean.map(|vector| QueryVector {
                space_id: space.id,
                is_fitted: space.settings.has_fitted_scale(),
                vector,
                tokens: None,
                speakers: Vec::new(),
            });
        }
        let query = SearchQuery {
            text: None,
            limit,
            filters: Filters {
                except: Some(item),
                status: Some(Status::Active),
                memories_alone: true,
                ingredients: Ingredients::OF_STATEMENTS,
                ..Filters::default()
            },
            cursor: None,
            min_similarity: None,
            balance: Balance::default(),
            explain: true,
        };
        let text = if vector.is_some() { "" } else { text.as_str() };
        let ranked = self.ranked(tx, user, &held, &query, text, vector.as_ref());
        let mut page = ranked.await?;
        page.hits.retain(|hit| hit.explanation.relevance >= RELEVANCE_MIN);
        Ok(page)
    }
}
