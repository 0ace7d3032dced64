//! Projects: what an agent was working on when something was learned, found by a name, a repository or a folder. What is
//! known of the person belongs to none. A value of a key, and a document's path, is one per project (docs/projects.md).

mod reference;
pub mod store;

use sqlx::PgConnection;
use time::OffsetDateTime;

pub use reference::{AliasKind, NAME_CHARS_MAX, PLACE_CHARS_MAX, ProjectRef, alias_of};
use store::KnownAlias;

use crate::db::{Db, UserId};
use crate::input::Invalid;

/// Per user.
pub const PROJECTS_MAX: i64 = 1_000;
/// Per project; more folders and repositories are not noted.
pub const ALIASES_MAX: i64 = 50;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(transparent)]
pub struct ProjectId(pub i64);

/// Of a project that is not known: nothing has it.
pub const UNKNOWN: ProjectId = ProjectId(0);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    pub id: ProjectId,
    pub name: String,
}

impl Project {
    pub(crate) fn of_row(row: Option<(i64, String)>) -> Option<Self> {
        row.map(|(id, name)| Self { id: ProjectId(id), name })
    }
}

pub fn too_many_projects() -> Invalid {
    let sentence = format!(
        "There are at most {PROJECTS_MAX} projects of a user; nothing was written: give one that is there, or none."
    );
    Invalid::new("project", "too_many_projects", sentence)
}

/// The project that is meant; `None` if it is not known.
///
/// # Errors
/// Database errors only.
pub async fn find(
    conn: &mut PgConnection,
    user: UserId,
    asked: &ProjectRef,
) -> Result<Option<Project>, sqlx::Error> {
    let known = store::list_known(conn, user, &asked.aliases()).await?;
    Ok(chosen(asked, &known))
}

/// The project that is meant, made if it is not known, with what it can be found by from then on. `None` if the user has
/// [`PROJECTS_MAX`] others.
///
/// # Errors
/// Database errors only.
pub async fn find_or_make(
    conn: &mut PgConnection,
    user: UserId,
    asked: &ProjectRef,
    now: OffsetDateTime,
) -> Result<Option<Project>, sqlx::Error> {
    let aliases = asked.aliases();
    let known = store::list_known(&mut *conn, user, &aliases).await?;
    if let Some(project) = chosen(asked, &known).filter(|project| {
        known.len() == aliases.len() && known.iter().all(|alias| alias.project.id == project.id)
    }) {
        return Ok(Some(project));
    }
    // Two that begin at once name one project.
    store::lock(&mut *conn, user).await?;
    let known = store::list_known(&mut *conn, user, &aliases).await?;
    let project = match chosen(asked, &known) {
        Some(project) => project,
        None => match make(&mut *conn, user, asked, now).await? {
            Some(project) => project,
            None => return Ok(None),
        },
    };
    store::insert_aliases(conn, user, project.id, &aliases, now).await?;
    Ok(Some(project))
}

/// [`find_or_make`] in a transaction of its own.
///
/// # Errors
/// Database errors, and [`too_many_projects`].
pub async fn ensure(
    db: &Db,
    user: UserId,
    asked: Option<&ProjectRef>,
    now: OffsetDateTime,
) -> Result<Option<Project>, super::MemoryError> {
    let Some(asked) = asked else {
        return Ok(None);
    };
    let mut tx = db.as_user(user).await?;
    let made = find_or_make(&mut tx, user, asked, now).await?;
    tx.commit().await?;
    Ok(Some(made.ok_or_else(too_many_projects)?))
}

/// [`find`] in a transaction of its own; one that is not known is [`UNKNOWN`].
///
/// # Errors
/// Database errors only.
pub async fn find_known(
    db: &Db,
    user: UserId,
    asked: Option<&ProjectRef>,
) -> Result<Option<ProjectId>, sqlx::Error> {
    let Some(asked) = asked else {
        return Ok(None);
    };
    let found = db.for_user(user, async |conn, user| find(conn, user, asked).await).await?;
    Ok(Some(found.map_or(UNKNOWN, |project| project.id)))
}

/// By its name, else by its repository, else by its folder, unless that is now another repository's.
fn chosen(asked: &ProjectRef, known: &[KnownAlias]) -> Option<Project> {
    let of = |kind: AliasKind| known.iter().find(|alias| alias.kind == kind);
    let has_repository = asked.aliases().iter().any(|(kind, _)| *kind == AliasKind::Repository);
    let of_folder =
        || of(AliasKind::Folder).filter(|alias| !has_repository || !alias.has_repository);
    let alias = of(AliasKind::Name).or_else(|| of(AliasKind::Repository)).or_else(of_folder);
    alias.map(|alias| alias.project.clone())
}

/// A project of an export: the one with one of its places or, if both do not have other repositories, with its name; else a
/// new one. `None` if there is no room.
///
/// # Errors
/// Database errors only.
pub async fn take(
    conn: &mut PgConnection,
    user: UserId,
    named: &ProjectRef,
    places: &[(AliasKind, String)],
    now: OffsetDateTime,
) -> Result<Option<Project>, sqlx::Error> {
    store::lock(&mut *conn, user).await?;
    let of_place = store::list_known(&mut *conn, user, places).await?;
    let of_name = store::list_known(&mut *conn, user, &named.aliases()).await?;
    let has_repository = places.iter().any(|(kind, _)| *kind == AliasKind::Repository);
    let mut known = of_place.iter().chain(&of_name).filter(|known| {
        known.kind == AliasKind::Repository || !has_repository || !known.has_repository
    });
    let project = match known.next() {
        Some(known) => Some(known.project.clone()),
        None => make(&mut *conn, user, named, now).await?,
    };
    if let Some(project) = &project {
        store::insert_aliases(conn, user, project.id, places, now).await?;
    }
    Ok(project)
}

/// What a project that is not found by its places is called.
enum Naming {
    /// As one that was made by this name alone: it is that one.
    Known(Project),
    Free(String),
}

/// `None`: all names that it may be called are others'.
async fn naming(
    conn: &mut PgConnection,
    user: UserId,
    asked: &ProjectRef,
) -> Result<Option<Naming>, sqlx::Error> {
    let names = asked.names();
    let aliases: Vec<_> = names.iter().map(|name| (AliasKind::Name, alias_of(name))).collect();
    let taken = store::list_known(conn, user, &aliases).await?;
    let of = |name: &String| taken.iter().find(|known| known.alias == alias_of(name));
    if let Some(first) = of(&names[0]).filter(|known| !asked.has_name() && !known.has_place) {
        return Ok(Some(Naming::Known(first.project.clone())));
    }
    Ok(names.iter().find(|name| of(name).is_none()).cloned().map(Naming::Free))
}

/// A new project, or one of the same name that was made without a place.
async fn make(
    conn: &mut PgConnection,
    user: UserId,
    asked: &ProjectRef,
    now: OffsetDateTime,
) -> Result<Option<Project>, sqlx::Error> {
    let name = match naming(&mut *conn, user, asked).await? {
        Some(Naming::Known(project)) => return Ok(Some(project)),
        Some(Naming::Free(name)) => name,
        None => return Ok(None),
    };
    if !store::has_room(&mut *conn, user).await? {
        return Ok(None);
    }
    let id = store::insert(&mut *conn, user, &name, now).await?;
    store::insert_aliases(conn, user, id, &[(AliasKind::Name, alias_of(&name))], now).await?;
    Ok(Some(Project { id, name }))
}

/// The sentence by which an agent's model learns what to give the memory tools. It says the alias, which has letters, digits
/// and hyphens only: a repository's or a folder's name is anybody's text.
pub fn sentence_of(name: &str) -> String {
    let alias = alias_of(name);
    format!("The user works in the project \"{alias}\": give the memory tools project \"{alias}\".")
}

/// What this project is called, or would be; `None` if there is no name left for it.
///
/// # Errors
/// Database errors only.
pub async fn told_name(
    db: &Db,
    user: UserId,
    asked: Option<&ProjectRef>,
) -> Result<Option<String>, sqlx::Error> {
    let Some(asked) = asked else {
        return Ok(None);
    };
    let mut tx = db.as_user(user).await?;
    let naming = match find(&mut tx, user, asked).await? {
        Some(known) => Some(Naming::Known(known)),
        None => naming(&mut tx, user, asked).await?,
    };
    tx.commit().await?;
    Ok(naming.map(|naming| match naming {
        Naming::Known(project) => project.name,
        Naming::Free(name) => name,
    }))
}

/// What projects a question is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeantProjects {
    /// Whoever asks works on one: what is of others stands behind.
    pub is_asked_in_one: bool,
    /// That one, if it is known.
    pub here: Option<Project>,
    /// Others that the question names.
    pub named: Vec<i64>,
}

impl MeantProjects {
    pub fn ids(&self) -> impl Iterator<Item = i64> {
        self.named.iter().copied().chain(self.here.iter().map(|here| here.id.0))
    }
}

/// The project that is worked on, and those that the text names.
///
/// # Errors
/// Database errors only.
pub async fn meant(
    conn: &mut PgConnection,
    user: UserId,
    asked: Option<&ProjectRef>,
    text: Option<&str>,
) -> Result<MeantProjects, sqlx::Error> {
    let here = match asked {
        Some(asked) => find(&mut *conn, user, asked).await?,
        None => None,
    };
    let mut meant = MeantProjects { is_asked_in_one: asked.is_some(), here, named: Vec::new() };
    if let Some(text) = text {
        let text = format!("-{}-", alias_of(text));
        let within = store::list_within(conn, user, &text).await?;
        meant.named = named_in(text, &within);
        let here = meant.here.as_ref().map(|project| project.id.0);
        meant.named.retain(|id| Some(*id) != here);
    }
    Ok(meant)
}

/// Which of these names, the longest first, stand in a text; both as [`alias_of`] writes them. One that is part of another
/// counts only where it stands by itself.
fn named_in(mut text: String, names: &[(i64, String)]) -> Vec<i64> {
    let mut named = Vec::new();
    for (id, alias) in names {
        // Chinese, Japanese and others write words without blanks between them.
        let has_borders = alias.is_ascii() || alias.contains('-');
        let found = if has_borders { format!("-{alias}-") } else { alias.clone() };
        if text.contains(&found) {
            named.push(*id);
            text = text.replace(&found, "-/-");
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(kind: AliasKind, id: i64, has_repository: bool) -> KnownAlias {
        KnownAlias {
            kind,
            alias: String::new(),
            project: Project { id: ProjectId(id), name: id.to_string() },
            has_repository,
            has_place: has_repository || kind == AliasKind::Folder,
        }
    }

    #[test]
    fn a_repository_tells_more_than_a_folder_and_a_name_more_than_both() {
        let asked = ProjectRef::of(None, Some("git@a.com:b/c.git"), Some("/w/c")).expect("valid");
        let asked = asked.expect("one");
        let of = |known: &[KnownAlias]| chosen(&asked, known).map(|project| project.id.0);
        let folder = |has_repository| known(AliasKind::Folder, 2, has_repository);
        assert_eq!(of(&[folder(true), known(AliasKind::Repository, 1, true)]), Some(1));
        // The folder had no repository yet; or holds another one now.
        assert_eq!(of(&[folder(false)]), Some(2));
        assert_eq!(of(&[folder(true)]), None);
        assert_eq!(
            of(&[known(AliasKind::Repository, 1, true), known(AliasKind::Name, 3, false)]),
            Some(3)
        );
    }

    #[test]
    fn a_name_stands_in_a_text_as_words() {
        let named = |names: &[&str], text: &str| {
            let names: Vec<(i64, String)> =
                (1..).zip(names.iter().map(|name| alias_of(name))).collect();
            named_in(format!("-{}-", alias_of(text)), &names)
        };
        assert_eq!(named(&["Tide Pool"], "Which port does tide-pool use?"), [1]);
        assert_eq!(named(&["app"], "Start the App, please."), [1]);
        assert!(named(&["app"], "What happened to the apple?").is_empty());
        assert_eq!(named(&["记账应用"], "记账应用的端口是多少？"), [1]);
        assert_eq!(named(&["İskele"], "iskele nerede?"), [1]);
        assert_eq!(named(&["shop-api-v2", "shop-api", "shop"], "Build shop-api-v2"), [1]);
        assert_eq!(named(&["shop-api", "shop"], "Is the shop api of the shop up?"), [1, 2]);
    }
}
