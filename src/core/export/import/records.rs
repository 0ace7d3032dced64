//! Imports everything but items: entities and relations, documents, episodes, and the origins of derived
//! memories.

use sqlx::PgConnection;

use super::{ImportError, Importer, StartedDocument, store};
use crate::accounts::AgentId;
use crate::consolidation::episodes;
use crate::db::write_as;
use crate::documents::{DocumentError, Documents, TakenNote};
use crate::entities;
use crate::export::documents::{DocumentLine, NoteRecord, RevisionLine};
use crate::export::entities::{EntityLine, RelationLine};
use crate::export::episodes::EpisodeLine;
use crate::export::origins::{self, OriginsLine, UnwantedLine};
use crate::export::piece::EntryPlace;
use crate::export::projects::{ProjectLine, named as projects_named};
use crate::input::{Invalid, sentence};
use crate::memories::mentions::EntityType;
use crate::memories::{ItemId, MemoryError, ProjectId, ProjectRef, learned, projects};

/// A project of the file.
#[derive(Clone, Copy)]
pub(super) struct ImportedProject {
    /// `None`: there was no room for it.
    pub(super) id: Option<ProjectId>,
    /// It is committed.
    pub(super) is_kept: bool,
}

impl Importer {
    /// An existing project with its repository, folder or name is reused.
    pub(super) async fn take_project(
        &mut self,
        line: &ProjectLine,
    ) -> Result<Result<(), Invalid>, ImportError> {
        let (named, places) = match line.taken() {
            Ok(taken) => taken,
            Err(invalid) => return Ok(Err(invalid)),
        };
        let mut tx = self.db.as_user(self.user).await?;
        let made = projects::take(&mut tx, self.user, &named, &places, self.now).await?;
        tx.commit().await?;
        let id = made.map(|project| project.id);
        self.projects.insert(named, ImportedProject { id, is_kept: true });
        Ok(Ok(()))
    }

    /// An existing entity with this name and type is reused; missing names are added.
    pub(super) async fn take_entity(
        &mut self,
        line: &EntityLine,
        entity_type: EntityType,
    ) -> Result<(), ImportError> {
        let mut tx = self.db.as_writer(self.user).await?;
        let taken =
            entities::import(&mut tx, self.user, line.as_taken(entity_type), self.now).await?;
        tx.commit().await?;
        if let Some(id) = taken {
            self.entities.insert(line.id, id);
        }
        Ok(())
    }

    /// The project with this name in the file. What belongs to one is never of none because there is no room for it.
    pub(super) async fn project(
        &mut self,
        conn: &mut PgConnection,
        asked: Option<&ProjectRef>,
    ) -> Result<Result<Option<ProjectId>, Invalid>, sqlx::Error> {
        let Some(asked) = asked else {
            return Ok(Ok(None));
        };
        let id = match self.projects.get(asked) {
            Some(known) => known.id,
            None => {
                let made = projects::find_or_make(conn, self.user, asked, self.now).await?;
                let id = made.map(|project| project.id);
                self.projects.insert(asked.clone(), ImportedProject { id, is_kept: false });
                id
            }
        };
        Ok(id.map(Some).ok_or_else(projects::too_many_projects))
    }

    pub(super) async fn take_relation(
        &mut self,
        line: &RelationLine,
    ) -> Result<Result<(), Invalid>, ImportError> {
        let entity = |id: i64| self.entities.get(&id).copied();
        let item = |id: i64| self.ids.get(&id).copied();
        let (stated, owner) = match line.stated(entity, item) {
            Ok(stated) => stated,
            Err(invalid) => return Ok(Err(invalid)),
        };
        let mut tx = self.db.as_writer(self.user).await?;
        let owner = self.owner(&mut tx, owner.as_ref()).await??;
        write_as(&mut tx, owner).await?;
        for one in stated {
            entities::relations::note(&mut tx, self.user, &one, self.now).await?;
        }
        tx.commit().await?;
        Ok(Ok(()))
    }

    pub(super) async fn take_episode(
        &mut self,
        line: &EpisodeLine,
    ) -> Result<Result<(), Invalid>, ImportError> {
        let (taken, agent, owner) = match line.taken() {
            Ok(taken) => taken,
            Err(invalid) => return Ok(Err(invalid)),
        };
        let mut tx = self.db.as_writer(self.user).await?;
        if store::is_erasing(&mut tx, self.user).await? {
            return Err(ImportError::Erasing);
        }
        let agent = self.agent(&mut tx, agent.as_ref()).await?.map(AgentId);
        let owner = self.owner(&mut tx, owner.as_ref()).await??;
        let project = match projects_named(line.project.as_deref()) {
            Ok(project) => self.project(&mut tx, project.as_ref()).await??,
            Err(invalid) => return Ok(Err(invalid)),
        };
        let whose = (agent, owner, project);
        let id = episodes::import(&mut tx, &self.embeddings, self.user, whose, &taken).await?;
        tx.commit().await?;
        self.ids.extend(id.map(|id| (line.id, id)));
        Ok(Ok(()))
    }

    pub(super) async fn take_unwanted(
        &mut self,
        line: &UnwantedLine,
    ) -> Result<Result<(), Invalid>, ImportError> {
        let item = line.item.and_then(|id| self.ids.get(&id)).copied();
        let added = learned::add_unwanted(&self.db, self.user, item.map(ItemId), &line.text).await;
        match added {
            Ok(()) => Ok(Ok(())),
            Err(MemoryError::Invalid(invalid)) => Ok(Err(invalid)),
            Err(MemoryError::Database(error)) => Err(error.into()),
            Err(_) => Ok(Ok(())),
        }
    }

    pub(super) async fn take_origins(&mut self, line: &OriginsLine) -> Result<(), ImportError> {
        let document = self.documents.get(&line.item).map(|started| &started.id);
        let Some(item) = self.ids.get(&line.item).or(document) else {
            return Ok(());
        };
        let sources = line.sources.iter().filter_map(|id| self.ids.get(id));
        let sources: Vec<i64> = sources.copied().collect();
        let mut tx = self.db.as_user(self.user).await?;
        origins::store::insert(&mut tx, self.user, *item, &sources).await?;
        Ok(tx.commit().await?)
    }

    /// Reports a record that cannot be imported, and continues.
    pub(super) fn told(
        &mut self,
        place: EntryPlace,
        taken: Result<(), DocumentError>,
    ) -> Result<(), ImportError> {
        match taken {
            Ok(()) => Ok(()),
            Err(DocumentError::Database(error)) => Err(error.into()),
            Err(error) => {
                self.fail(place, sentence(&error.to_string()));
                Ok(())
            }
        }
    }

    pub(super) async fn take_document(&mut self, line: &DocumentLine) -> Result<(), DocumentError> {
        let documents = Documents::new(self.db.clone(), self.embeddings.clone());
        let mut tx = self.db.as_writer(self.user).await?;
        if store::is_erasing(&mut tx, self.user).await? {
            return Err(DocumentError::NotFound);
        }
        let (taken, owner) = line.taken()?;
        let owner = self.owner(&mut tx, owner.as_ref()).await??;
        let project = projects_named(line.project.as_deref())?;
        let project = self.project(&mut tx, project.as_ref()).await??;
        let whose = (owner, project);
        let id = documents.take_document(&mut tx, self.user, &taken, whose, self.now);
        let id = id.await?;
        tx.commit().await?;
        if let Some(id) = id {
            let started =
                StartedDocument { id, revision: line.revision, archived_at: line.archived_at };
            self.documents.insert(line.id, started);
        }
        Ok(())
    }

    /// Skips revisions of documents that existed already.
    pub(super) async fn take_revision(&mut self, line: &RevisionLine) -> Result<(), DocumentError> {
        let Some(document) = self.documents.get(&line.document).copied() else {
            return Ok(());
        };
        let documents = Documents::new(self.db.clone(), self.embeddings.clone());
        let (taken, agent) = line.taken()?;
        let user = self.user;
        let mut tx = self.db.as_writer(user).await?;
        if store::is_erasing(&mut tx, user).await? {
            return Err(DocumentError::NotFound);
        }
        let agent = self.agent(&mut tx, agent.as_ref()).await?.map(AgentId);
        let revision = documents.take_revision(&mut tx, user, document.id, agent, &taken);
        revision.await?;
        if line.revision == document.revision {
            let end =
                documents.take_end(&mut tx, user, document.id, document.archived_at, self.now);
            end.await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// A note becomes a document, unless one of its path has its text. Another document keeps its path: then the note is
    /// archived, and can be restored.
    pub(super) async fn take_note(
        &mut self,
        mut place: EntryPlace,
        note: &NoteRecord,
    ) -> Result<(), ImportError> {
        match self.write_note(note).await {
            Ok(TakenNote::Known) => {
                self.outcome.known += 1;
                self.tell(&place, false);
                Ok(())
            }
            Ok(taken) => {
                if taken == TakenNote::Archived {
                    let sentence =
                        "Another document has its path: it is archived, and can be restored.";
                    place.changes.push(sentence.to_owned());
                }
                self.outcome.documents += 1;
                self.tell(&place, true);
                Ok(())
            }
            Err(error) => self.told(place, Err(error)),
        }
    }

    async fn write_note(&mut self, note: &NoteRecord) -> Result<TakenNote, DocumentError> {
        let documents = Documents::new(self.db.clone(), self.embeddings.clone());
        let mut tx = self.db.as_writer(self.user).await?;
        if store::is_erasing(&mut tx, self.user).await? {
            return Err(DocumentError::NotFound);
        }
        let text = (note.content.as_str(), note.trust);
        let taken =
            documents.take_note(&mut tx, self.user, (&note.path, note.created_at), text, self.now);
        let taken = taken.await?;
        tx.commit().await?;
        Ok(taken)
    }
}
