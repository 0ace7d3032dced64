//! What a person may delete in one act, as its page shows it.

use crate::page::PageError;
use crate::view::{AboutPage, FoundAbout, FoundKind, FoundRow};

use crate::accounts::Viewer;
use crate::erasure::ErasureError;
use crate::erasure::about::{
    self, FOUND_MAX, FoundPlace, FoundPlaces, MESSAGES_SEARCHED, PlaceKind, SHOWN_MAX, Subject,
    SubjectKind,
};
use crate::input::{Invalid, sentence};
use crate::page::{Page, database};

impl Page {
    pub(crate) async fn about_view(
        &self,
        viewer: &Viewer,
        asked: &[(String, String)],
    ) -> Result<AboutPage, PageError> {
        let (db, user) = (&self.state.db, viewer.user_id);
        let field = |name: &str| {
            let found = asked.iter().find(|(field, _)| field == name);
            found.map(|(_, value)| value.as_str())
        };
        let told = |invalid: Invalid| (invalid.field.into_owned(), invalid.sentence);
        let (subject, mut problem) = match Subject::parse(field) {
            Ok(subject) => (subject, None),
            Err(invalid) => (None, Some(told(invalid))),
        };
        let mut found = None;
        if let Some(subject) = &subject {
            let told = match about::find(db, user, subject).await {
                Err(ErasureError::Database(error)) => return Err(database(error)),
                Err(error) => Some(sentence(&error.to_string())),
                Ok(None) => Some("There is no such thing.".to_owned()),
                Ok(places) => {
                    found = places;
                    None
                }
            };
            problem = told.map(|told| (subject.field().0.to_owned(), told));
        }
        let subjects = about::list_subjects(db, user).await.map_err(database)?.into_iter();
        let is_asked = |kind, id| subject == Some(Subject::Of(kind, id));
        Ok(AboutPage {
            words: field("words").unwrap_or_default().to_owned(),
            subjects: subjects
                .map(|(kind, id, name)| (kind.as_str(), id, name, is_asked(kind, id)))
                .collect(),
            found: subject
                .as_ref()
                .zip(found)
                .map(|(subject, found)| self.found_view(subject, found)),
            problem,
        })
    }

    fn found_view(&self, subject: &Subject, found: FoundPlaces) -> FoundAbout {
        let kinds = found.places.into_iter().map(|(kind, places)| {
            let shown = places.iter().take(SHOWN_MAX);
            let (label, hint) = words_of(kind);
            FoundKind {
                slug: kind.as_str(),
                label,
                hint,
                total: places.len(),
                has_more: places.len() == FOUND_MAX,
                is_chosen: is_chosen(subject, kind),
                rows: shown.map(|place| self.found_row(kind, place)).collect(),
            }
        });
        FoundAbout {
            asked: subject.field(),
            name: found.name,
            kinds: kinds.collect(),
            names: found.names,
            messages_searched: MESSAGES_SEARCHED,
        }
    }

    fn found_row(&self, kind: PlaceKind, place: &FoundPlace) -> FoundRow {
        let (id, position) = (place.id, place.position);
        FoundRow {
            value: place.part(kind),
            href: match kind {
                PlaceKind::Memories | PlaceKind::Episodes => Some(format!("/memory/{id}")),
                PlaceKind::Messages => Some(format!("/sessions/{id}?from={position}")),
                PlaceKind::Sessions => Some(format!("/sessions/{id}")),
                PlaceKind::Documents => Some(format!("/documents/{id}")),
                PlaceKind::Entities => Some(format!("/entities/{id}")),
                PlaceKind::Summary => Some("/summary".to_owned()),
                PlaceKind::Calls => None,
            },
            text: place.text.clone(),
            at: place.at,
        }
    }
}

/// A document says much else, and so do the other memories with most of one's words.
fn is_chosen(subject: &Subject, kind: PlaceKind) -> bool {
    let is_memory = matches!(subject, Subject::Of(SubjectKind::Memory, _));
    match kind {
        PlaceKind::Documents => matches!(subject, Subject::Of(SubjectKind::Project, _)),
        PlaceKind::Entities => !is_memory,
        _ => true,
    }
}

fn words_of(kind: PlaceKind) -> (&'static str, &'static str) {
    match kind {
        PlaceKind::Memories => {
            ("Memories", "Deleted with their history, embeddings, and what was derived from them.")
        }
        PlaceKind::Episodes => ("Episodes", "Summaries of sessions; each is deleted whole."),
        PlaceKind::Messages => {
            ("Messages", "Each stays in its session without its text, and is not found any more.")
        }
        PlaceKind::Sessions => ("Sessions", "Deleted with all their messages."),
        PlaceKind::Documents => ("Documents", "Deleted whole, with all revisions."),
        PlaceKind::Entities => ("Entities", "Deleted with their names and relations."),
        PlaceKind::Calls => {
            ("Search queries", "The calls stay in the activity, without the query.")
        }
        PlaceKind::Summary => ("Summary", "Its text is deleted, and written again."),
    }
}
