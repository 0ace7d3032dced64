//! The import: writes records in batches of one transaction each. Existing records stay unchanged, so that an
//! import is idempotent, and an interrupted one can simply be repeated.

mod aside;
mod error;
mod links;
mod outcome;
mod records;
mod report;
mod store;

use std::collections::{BTreeMap, HashMap, HashSet};

use sqlx::PgConnection;
use time::OffsetDateTime;
use tokio::runtime::Handle;
use tokio::sync::mpsc;

use self::aside::{AsideItem, put_aside};
pub use self::error::ImportError;
use self::error::NOT_KEPT;
use self::links::WaitingLinks;
pub use self::outcome::{ImportOutcome, ImportProblem};
use self::records::ImportedProject;
pub use self::report::ImportReport;
use self::report::RowOutcome;
use self::store::{HeldPlace, ItemIdentity, KeyHolder};
use super::piece::{EntryPlace, FilePiece};
use super::read::{ImportRecord, ItemRecord, ThemeRecord};
use super::signature::FileOrigin;
use super::source::{self, ImportSource};
use crate::accounts::AgentName;
use crate::activity;
use crate::db::{Db, UserId};
use crate::embedding::Embeddings;
use crate::entities::EntityId;
use crate::input::Invalid;
use crate::memories::quota::{ItemQuota, too_many_themes};
use crate::memories::write::{NewEvent, NewSource, write};
use crate::memories::{self, ProjectRef};
use crate::quota::estimate;
use crate::redaction::{ScreenedField, TextDoor};

/// Per transaction. Other writers of the same spaces wait for it.
const ITEMS_A_BATCH: usize = 200;
/// Pieces that are read ahead of the database.
const PIECES_AHEAD: usize = 400;
/// Pieces after which the progress is told, written or not.
const PIECES_TOLD: usize = 10_000;
/// Records of their own transaction after which the progress is told.
const RECORDS_TOLD: usize = 200;
/// Bytes after which the progress is told.
const BYTES_TOLD: u64 = 8 * 1024 * 1024;
/// Maximum problems that are listed; the rest are counted.
const PROBLEMS_TOLD_MAX: usize = 20;

/// An import into one user's memory.
pub struct Importer {
    db: Db,
    embeddings: Embeddings,
    user: UserId,
    origin: FileOrigin,
    now: OffsetDateTime,
    outcome: ImportOutcome,
    report: ImportReport,
    themes: HashMap<String, i64>,
    agents: HashMap<String, Option<i64>>,
    /// By what the file calls them.
    projects: HashMap<ProjectRef, ImportedProject>,
    /// From the file's ids to ours; about 40 bytes per item.
    ids: HashMap<i64, i64>,
    entities: HashMap<i64, EntityId>,
    /// Documents being imported, by the file's id: no more than a user may have.
    documents: HashMap<i64, StartedDocument>,
    links: WaitingLinks,
    batch: Vec<(EntryPlace, ItemRecord)>,
    items_read: i64,
    quota: ItemQuota,
    /// How a file of lines ended; `None` for other formats.
    ending: Option<FileEnding>,
}

/// A document that is being imported.
#[derive(Clone, Copy)]
struct StartedDocument {
    /// Ours.
    id: i64,
    /// The number of its last revision.
    revision: i32,
    archived_at: Option<OffsetDateTime>,
}

enum FileEnding {
    Missing,
    Said { items: i64 },
}

impl Importer {
    pub fn new(db: &Db, embeddings: &Embeddings, user: UserId, origin: FileOrigin) -> Self {
        Self {
            db: db.clone(),
            embeddings: embeddings.clone(),
            user,
            origin,
            now: embeddings.now(),
            outcome: ImportOutcome::default(),
            report: ImportReport::default(),
            themes: HashMap::new(),
            agents: HashMap::new(),
            projects: HashMap::new(),
            ids: HashMap::new(),
            entities: HashMap::new(),
            documents: HashMap::new(),
            links: WaitingLinks::default(),
            batch: Vec::new(),
            items_read: 0,
            quota: ItemQuota::default(),
            ending: None,
        }
    }

    /// What it did with each entry, also if it ends before its file.
    pub fn report(&self) -> ImportReport {
        self.report.clone()
    }

    /// Reads the file to its end. `tell` gets the progress after each batch, and before long without one; it may take its time.
    pub async fn run<Told: Future<Output = ()>>(
        mut self,
        source: ImportSource,
        mut tell: impl FnMut(ImportOutcome) -> Told,
    ) -> Result<ImportOutcome, ImportError> {
        let (send, mut pieces) = mpsc::channel::<FilePiece>(PIECES_AHEAD);
        let (runtime, user, now) = (Handle::current(), self.user, self.now);
        let redactor = self.embeddings.redactor().clone();
        let reading = tokio::task::spawn_blocking(move || {
            let mut screen = |fields: &mut [ScreenedField<'_>]| {
                runtime.block_on(redactor.screen(user, None, TextDoor::Import, fields))
            };
            source::read(source, &mut screen, &mut |piece| send.blocking_send(piece).is_ok(), now)
        });
        let (mut untold, mut bytes_told, mut cost) = (0, 0, 0);
        let quota = self.embeddings.quota().clone();
        while let Some(piece) = pieces.recv().await {
            let bytes = usize::try_from(piece.cost.saturating_sub(cost)).unwrap_or(usize::MAX);
            cost = piece.cost;
            if let Err(full) = quota.take(user, estimate(bytes, 1)).await {
                self.write_batch().await?;
                return Err(full.into());
            }
            self.outcome.bytes = piece.bytes;
            untold += weight(&piece.record);
            self.take(piece.place, piece.record).await?;
            let is_full = self.batch.len() >= ITEMS_A_BATCH;
            if is_full {
                self.write_batch().await?;
            }
            if is_full || untold >= PIECES_TOLD || piece.bytes - bytes_told >= BYTES_TOLD {
                tell(self.outcome.clone()).await;
                (untold, bytes_told) = (0, piece.bytes);
            }
        }
        let read = reading.await.unwrap_or_else(|e| Err(e.into()));
        self.write_batch().await?;
        read.map_err(ImportError::Read)?;
        self.check_ending();
        Ok(self.outcome)
    }

    /// Reports a record that the database refuses, and continues. Only its other errors end the import.
    async fn take(
        &mut self,
        place: EntryPlace,
        record: Result<ImportRecord, Invalid>,
    ) -> Result<(), ImportError> {
        match self.take_record(place.clone(), record).await {
            Err(ImportError::Database(error)) if is_refusal(&error) => {
                self.forget_rolled_back();
                self.fail(place, NOT_KEPT.to_owned());
                Ok(())
            }
            taken => taken,
        }
    }

    async fn take_record(
        &mut self,
        place: EntryPlace,
        record: Result<ImportRecord, Invalid>,
    ) -> Result<(), ImportError> {
        match record.map(|record| self.origin.taken(record)) {
            Ok(ImportRecord::Header) => self.ending = Some(FileEnding::Missing),
            Ok(ImportRecord::End { items }) => self.ending = Some(FileEnding::Said { items }),
            Ok(ImportRecord::Entity(line, entity_type)) => {
                self.write_batch().await?;
                self.take_entity(&line, entity_type).await?;
                self.tell(&place, true);
            }
            Ok(ImportRecord::Relation(line)) => {
                self.write_batch().await?;
                match self.take_relation(&line).await? {
                    Ok(()) => self.tell(&place, true),
                    Err(invalid) => self.fail(place, invalid.sentence),
                }
            }
            Ok(ImportRecord::Document(line)) => {
                self.write_batch().await?;
                let taken = self.take_document(&line).await;
                self.told(place, taken)?;
            }
            Ok(ImportRecord::Revision(line)) => {
                let taken = self.take_revision(&line).await;
                self.told(place, taken)?;
            }
            Ok(ImportRecord::Episode(line)) => {
                self.write_batch().await?;
                if let Err(invalid) = self.take_episode(&line).await? {
                    self.fail(place, invalid.sentence);
                }
            }
            Ok(ImportRecord::Origins(line)) => {
                self.write_batch().await?;
                self.take_origins(&line).await?;
            }
            Ok(ImportRecord::Unwanted(line)) => {
                self.write_batch().await?;
                if let Err(invalid) = self.take_unwanted(&line).await? {
                    self.fail(place, invalid.sentence);
                }
            }
            Ok(ImportRecord::Note(note)) => {
                self.write_batch().await?;
                self.take_note(place, &note).await?;
            }
            Ok(ImportRecord::NotImported) => {}
            Ok(ImportRecord::Skipped(sentence)) => {
                self.outcome.skipped += 1;
                self.report.add(&place.name, RowOutcome::Skipped, sentence);
            }
            Ok(ImportRecord::Adapted(sentence)) => {
                self.report.add(&place.name, RowOutcome::Changed, sentence);
            }
            Ok(ImportRecord::Project(line)) => {
                if let Err(invalid) = self.take_project(&line).await? {
                    self.fail(place, invalid.sentence);
                }
            }
            Ok(ImportRecord::Theme(theme)) => self.take_theme(&theme).await?,
            Ok(ImportRecord::Agent(name, created_at)) => {
                let mut tx = self.db.as_user(self.user).await?;
                let created_at = created_at.map_or(self.now, |at| at.min(self.now));
                store::ensure_agent(&mut tx, self.user, &name, created_at).await?;
                tx.commit().await?;
            }
            Ok(ImportRecord::Item(item)) => {
                self.items_read += 1;
                self.batch.push((place, *item));
            }
            Err(invalid) => {
                // Counted as an item, so that the final count does not cause a second problem.
                self.items_read += 1;
                self.fail(place, invalid.sentence);
            }
        }
        Ok(())
    }

    /// What was rolled back may have created themes, agents and projects.
    fn forget_rolled_back(&mut self) {
        self.themes.clear();
        self.agents.clear();
        self.projects.retain(|_, project| project.is_kept);
    }

    fn fail(&mut self, place: EntryPlace, sentence: String) {
        self.outcome.failed += 1;
        let place = place.name;
        self.report.add(&place, RowOutcome::Refused, sentence.clone());
        if self.outcome.problems.len() < PROBLEMS_TOLD_MAX {
            self.outcome.problems.push(ImportProblem { place, sentence });
        }
    }

    /// A row for an entry that is here now.
    fn tell(&mut self, place: &EntryPlace, is_new: bool) {
        let (outcome, sentence) = match (is_new, place.changes.is_empty()) {
            (false, _) => (RowOutcome::Known, String::new()),
            (true, true) => (RowOutcome::Taken, String::new()),
            (true, false) => {
                self.outcome.changed += 1;
                (RowOutcome::Changed, place.changes.join(" "))
            }
        };
        self.report.add(&place.name, outcome, sentence);
    }

    fn check_ending(&mut self) {
        let sentence = match self.ending {
            Some(FileEnding::Missing) => {
                "It has no last line: it was cut off when it was written. What was in it is taken in; export again and import that, too."
            }
            Some(FileEnding::Said { items }) if items > self.items_read => {
                "It has fewer memories than its last line says: lines are missing. What was in it is taken in."
            }
            _ => return,
        };
        self.fail(EntryPlace::of("The file".to_owned()), sentence.to_owned());
    }

    async fn take_theme(&mut self, theme: &ThemeRecord) -> Result<(), ImportError> {
        let mut tx = self.db.as_user(self.user).await?;
        if !memories::themes::store::has_room_for_theme(&mut tx, self.user).await? {
            // Themes of items are created with the items, if needed.
            return Ok(());
        }
        store::insert_theme(&mut tx, self.user, theme, self.now).await?;
        tx.commit().await?;
        Ok(())
    }

    /// If the database refuses a batch, its items are tried one by one, so that an invalid item does not
    /// affect the others.
    async fn write_batch(&mut self) -> Result<(), ImportError> {
        let batch = std::mem::take(&mut self.batch);
        match self.write(&batch).await {
            Err(ImportError::Database(error)) if is_refusal(&error) => {
                self.forget_rolled_back();
                for one in batch.chunks(1) {
                    match self.write(one).await {
                        Err(ImportError::Database(error)) if is_refusal(&error) => {
                            self.forget_rolled_back();
                            self.fail(one[0].0.clone(), NOT_KEPT.to_owned());
                        }
                        other => other?,
                    }
                }
                Ok(())
            }
            other => other,
        }
    }

    async fn write(&mut self, batch: &[(EntryPlace, ItemRecord)]) -> Result<(), ImportError> {
        if batch.is_empty() {
            return Ok(());
        }
        let mut tx = self.db.as_writer(self.user).await?;
        if store::is_erasing(&mut tx, self.user).await? {
            return Err(ImportError::Erasing);
        }
        let count = batch.len() as i64;
        if !self.quota.take(self.user, count) {
            self.quota.count_and_take(&mut tx, self.user, count).await??;
        }
        let mut rows = self.sources_of(&mut tx, batch).await?;
        let found = store::find_known(&mut tx, self.user, &rows, self.now).await?;
        let mut holders = store::find_holders(&mut tx, self.user, &rows).await?;
        let mut aside = put_aside(&mut rows, &found, &holders, self.now);
        let new = self.new_of(&mut tx, batch, &mut rows, &found, &aside).await?;
        let written = write(&mut tx, self.user, &new, self.now).await?;
        let made: HashMap<ItemIdentity, i64> = new
            .iter()
            .zip(&written.ids)
            .filter_map(|(row, id)| Some((ItemIdentity::of(row), id.as_ref()?.0)))
            .collect();
        let mut used = BTreeMap::new();
        let mut ids = Vec::new();
        let mut put_aside = Vec::new();
        for (at, ((_, item), row)) in batch.iter().zip(&rows).enumerate() {
            let id = match (found.get(&at), made.get(&ItemIdentity::of(row))) {
                (Some(known), _) => *known,
                (None, Some(id)) => {
                    used.insert(*id, item.uses(self.now));
                    *id
                }
                // Same text as an existing item without its key: a duplicate.
                (None, None) => continue,
            };
            match aside.remove(&at) {
                Some(aside) => put_aside.push((id, aside.held)),
                None => {
                    if let Some(held) = HeldPlace::of(row) {
                        holders.insert(held, KeyHolder { id, created_at: row.created_at });
                    }
                }
            }
            ids.push((id, item));
        }
        let used: Vec<_> = used.into_iter().map(|(id, (count, last))| (id, count, last)).collect();
        activity::count_uses(&mut tx, self.user, &used).await?;
        let mut known_ids = HashMap::new();
        let mut links = Vec::new();
        for (id, item) in ids {
            if let Some(theirs) = item.id {
                known_ids.insert(theirs, id);
            }
            links.extend(item.superseded_by.map(|newer| (id, newer)));
        }
        let now = self.now;
        let put_aside =
            put_aside.into_iter().filter_map(|(id, held)| Some((id, holders.of(&held, now)?.id)));
        let of_batch = |(older, newer): &(i64, i64)| {
            let newer = known_ids.get(newer).or_else(|| self.ids.get(newer))?;
            Some((*older, *newer))
        };
        let ready: Vec<(i64, i64)> = self
            .links
            .to(&known_ids)
            .chain(links.iter().filter_map(of_batch))
            .chain(put_aside)
            .collect();
        store::link(&mut tx, self.user, &ready).await?;
        if !made.is_empty() {
            let (user, noted) = (self.user, written.noted);
            self.embeddings.see_to(&mut tx, user, noted).await?;
        }
        tx.commit().await?;
        self.links.end(&known_ids);
        self.ids.extend(known_ids);
        for (older, newer) in links {
            if !self.ids.contains_key(&newer) {
                self.links.add(older, newer);
            }
        }
        self.outcome.added += made.len() as u64;
        self.outcome.known += (batch.len() - made.len()) as u64;
        let mut unseen: HashSet<i64> = made.values().copied().collect();
        for ((place, _), row) in batch.iter().zip(&rows) {
            let is_new = made.get(&ItemIdentity::of(row)).is_some_and(|id| unseen.remove(id));
            self.tell(place, is_new);
        }
        Ok(())
    }

    /// A row for each item.
    async fn sources_of<'a>(
        &mut self,
        conn: &mut PgConnection,
        batch: &'a [(EntryPlace, ItemRecord)],
    ) -> Result<Vec<NewSource<'a>>, ImportError> {
        let mut rows = Vec::with_capacity(batch.len());
        for (_, item) in batch {
            let theme_id = self.theme(conn, item).await?;
            let agent_id = self.agent(conn, item.agent.as_ref()).await?;
            let owner = self.owner(conn, item.owner.as_ref()).await??;
            let project = self.project(conn, item.project.as_ref()).await??;
            // Items without a date get distinct times, which tell them apart.
            let nth = self.outcome.added + self.outcome.known + rows.len() as u64;
            let imported_at = self.now + time::Duration::microseconds(nth as i64);
            rows.push(store::source_of(item, theme_id, (agent_id, owner, project), imported_at));
        }
        Ok(rows)
    }

    /// The rows that are not there yet, each once, with their history.
    async fn new_of<'a>(
        &mut self,
        conn: &mut PgConnection,
        batch: &'a [(EntryPlace, ItemRecord)],
        rows: &mut [NewSource<'a>],
        found: &HashMap<usize, i64>,
        aside: &HashMap<usize, AsideItem>,
    ) -> Result<Vec<NewSource<'a>>, ImportError> {
        let mut seen: HashSet<ItemIdentity> = HashSet::new();
        let mut new = Vec::new();
        for at in (0..rows.len()).filter(|at| !found.contains_key(at)) {
            // Duplicates within a batch become one item.
            if !seen.insert(ItemIdentity::of(&rows[at])) {
                continue;
            }
            let (_, item) = &batch[at];
            for event in &item.events {
                let agent_id = self.agent(conn, event.agent.as_ref()).await?;
                rows[at].events.push(NewEvent { agent_id, event: event.event, at: event.at });
            }
            let aside = aside.get(&at).map(|aside| aside.event);
            for event in ["imported"].into_iter().chain(aside) {
                rows[at].events.push(NewEvent { agent_id: None, event, at: self.now });
            }
            new.push(rows[at].clone());
        }
        Ok(new)
    }

    async fn theme(
        &mut self,
        conn: &mut PgConnection,
        item: &ItemRecord,
    ) -> Result<i64, ImportError> {
        let slug = item.item.theme().as_str();
        if let Some(id) = self.themes.get(slug) {
            return Ok(*id);
        }
        let made =
            memories::themes::store::ensure_theme(conn, self.user, &item.item, self.now).await?;
        let made = made.ok_or_else(too_many_themes)?;
        self.themes.insert(slug.to_owned(), made.0);
        Ok(made.0)
    }

    /// The owner's id. A private item is never shared because the limit of agents is reached.
    async fn owner(
        &mut self,
        conn: &mut PgConnection,
        name: Option<&AgentName>,
    ) -> Result<Result<Option<i64>, Invalid>, sqlx::Error> {
        Ok(match (name, self.agent(conn, name).await?) {
            (Some(_), None) => Err(no_room_for_owner()),
            (_, agent) => Ok(agent),
        })
    }

    /// The agent with this name, created without a token if it is missing; `None` if the limit of agents is
    /// reached.
    async fn agent(
        &mut self,
        conn: &mut PgConnection,
        name: Option<&AgentName>,
    ) -> Result<Option<i64>, sqlx::Error> {
        let Some(name) = name else {
            return Ok(None);
        };
        if let Some(known) = self.agents.get(name.as_str()) {
            return Ok(*known);
        }
        let id = store::ensure_agent(conn, self.user, name, self.now).await?;
        self.agents.insert(name.as_str().to_owned(), id);
        Ok(id)
    }
}

/// Of [`PIECES_TOLD`]: a record of its own transaction takes far longer than one that is refused, or waits for its batch.
fn weight(record: &Result<ImportRecord, Invalid>) -> usize {
    match record {
        Err(_)
        | Ok(
            ImportRecord::Header
            | ImportRecord::Item(_)
            | ImportRecord::NotImported
            | ImportRecord::Skipped(_)
            | ImportRecord::Adapted(_)
            | ImportRecord::End { .. },
        ) => 1,
        Ok(_) => PIECES_TOLD / RECORDS_TOLD,
    }
}

fn no_room_for_owner() -> Invalid {
    Invalid::new(
        "owner",
        "too_many_agents",
        "What belongs to one agent alone is not taken in without it, and there are as many agents as there may be.",
    )
}

/// Caused by the data, so not retryable: data exceptions, constraints, limits.
fn is_refusal(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|e| e.code());
    code.is_some_and(|code| ["22", "23", "54"].iter().any(|class| code.starts_with(class)))
}
