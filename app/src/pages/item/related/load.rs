//! The memories most like one, as its page shows them.

use crate::page::PageError;
use crate::view::{MemoryLine, RelatedRow, RelatedView};

use crate::accounts::Viewer;
use crate::memories::{MemoryItem, timeline, with_key};
use crate::page::{Page, database};
use crate::pages::item::load::beginning;
use crate::search::{Hit, Mode};

const SHOWN: usize = 5;

impl Page {
    pub(crate) async fn related_view(
        &self,
        viewer: &Viewer,
        item: &MemoryItem,
    ) -> Result<RelatedView, PageError> {
        let text = with_key(item.key.as_deref(), &item.content);
        let found = self.state.search.related(viewer, (item.id, &*text), SHOWN).await;
        let found = found.map_err(database)?;
        let row = |hit: Hit| {
            let text = with_key(hit.item.key.as_deref(), &hit.item.content);
            let text: String = text.chars().take(timeline::CHARS_MAX as usize).collect();
            RelatedRow {
                how: match hit.explanation.distance {
                    Some(_) => likeness(hit.explanation.relevance),
                    None => words_shared(hit.explanation.words_matched),
                },
                theme: hit.item.theme,
                item_type: hit.item.item_type.as_str().to_owned(),
                line: MemoryLine {
                    href: format!("/memory/{}", hit.item.id),
                    text: beginning(text, timeline::CHARS_MAX),
                },
            }
        };
        Ok(RelatedView {
            is_by_words: found.mode == Mode::Fts,
            rows: found.hits.into_iter().map(row).collect(),
        })
    }
}

/// In words and as a number, whichever model has embedded them.
fn likeness(relevance: f64) -> String {
    let words = match relevance {
        0.9.. => "almost the same",
        0.6.. => "very similar",
        0.3.. => "similar",
        _ => "slightly similar",
    };
    format!("{words} ({relevance:.2})")
}

fn words_shared(n: i64) -> String {
    match n {
        1 => "1 word in common".to_owned(),
        n => format!("{n} words in common"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similarity_is_told_in_words() {
        let said = [0.951, 0.71, 0.5, 0.1].map(likeness);
        assert_eq!(
            said,
            [
                "almost the same (0.95)",
                "very similar (0.71)",
                "similar (0.50)",
                "slightly similar (0.10)",
            ]
        );
        assert_eq!([1, 3].map(words_shared), ["1 word in common", "3 words in common"]);
    }
}
