//! Projects, as lines of an export and an import. What belongs to one names it.

pub(super) mod store;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use crate::input::{Invalid, required_text};
use crate::memories::ProjectRef;
use crate::memories::projects::{ALIASES_MAX, AliasKind, NAME_CHARS_MAX};

const PLACES_MAX: usize = ALIASES_MAX as usize;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProjectLine {
    #[serde(skip)]
    pub id: i64,
    /// As the other lines name it.
    pub name: String,
    #[serde(default, deserialize_with = "crate::export::fields::first_of::<_, _, PLACES_MAX>")]
    pub repositories: Vec<String>,
    #[serde(default, deserialize_with = "crate::export::fields::first_of::<_, _, PLACES_MAX>")]
    pub folders: Vec<String>,
    #[serde(with = "crate::export::moment")]
    pub created_at: OffsetDateTime,
}

impl ProjectLine {
    /// Its name, and what else it is found by.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn taken(&self) -> Result<(ProjectRef, Vec<(AliasKind, String)>), Invalid> {
        let name = named(Some(&self.name))?;
        let name = name.ok_or_else(|| Invalid::new("name", "required", "`name` is empty."))?;
        let repositories = self.repositories.iter().map(|text| (Some(text.as_str()), None));
        let folders = self.folders.iter().map(|text| (None, Some(text.as_str())));
        let mut aliases = Vec::new();
        for (repository, folder) in repositories.chain(folders) {
            let place = ProjectRef::of(None, repository, folder)?;
            aliases.extend(place.iter().flat_map(ProjectRef::aliases));
        }
        Ok((name, aliases))
    }
}

/// The project that a line names.
///
/// # Errors
/// [`Invalid`] naming `project`.
pub fn named(name: Option<&str>) -> Result<Option<ProjectRef>, Invalid> {
    let name = name.map(|name| required_text("project", name, NAME_CHARS_MAX)).transpose()?;
    ProjectRef::of(name, None, None)
}
