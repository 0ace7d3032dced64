//! Where something stands in a user's memory, so that its person can delete it everywhere: by words, or of a memory, an entity, a
//! theme, an agent or a project.

mod store;

use std::collections::HashSet;

use time::OffsetDateTime;
use unicode_normalization::UnicodeNormalization;

use super::{Chosen, ErasedRows, ErasureError};
use crate::db::{Db, UserId, labels};
use crate::input::{Invalid, check_text};
use crate::memories::words::telling_words;

/// Of one kind; more are not found at once.
pub const FOUND_MAX: usize = 10_000;
/// Of one kind.
pub const SHOWN_MAX: usize = 200;
/// The user's newest messages, which are searched.
pub const MESSAGES_SEARCHED: i64 = 100_000;
pub const WORDS_CHARS_MAX: usize = 200;
/// Of a memory, the words that tell most.
const TELLING_WORDS: usize = 12;
/// A text that has this share of them says the same.
const TELLING_SHARE: f64 = 0.6;
/// A shorter word is looked for whole, a longer one with its endings too.
const WHOLE_WORD_CHARS: usize = 3;
const NAMES_MAX: i64 = 20;
const SHOWN_CHARS: i32 = 160;

/// What is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// All of these words.
    Words(String),
    Of(SubjectKind, i64),
}

labels! {
    pub enum SubjectKind {
        Memory = "memory",
        Entity = "entity",
        Theme = "theme",
        Agent = "agent",
        Project = "project",
    }
}

impl Subject {
    /// Of fields by name: `words`, or the id of a `memory`, an `entity`, a `theme`, an `agent` or a `project`; the first that is
    /// not empty. `None` if all are.
    ///
    /// # Errors
    /// An [`Invalid`] that names the field.
    pub fn parse<'f>(field: impl Fn(&str) -> Option<&'f str>) -> Result<Option<Self>, Invalid> {
        let given = |name| field(name).map(str::trim).filter(|text| !text.is_empty());
        if let Some(words) = given("words") {
            check_text("words", words, WORDS_CHARS_MAX)?;
            if patterns_of(words.split(|c: char| !is_of_word(c))).is_empty() {
                let sentence = "`words` has no word; give a name, or words that the texts have.";
                return Err(Invalid::new("words", "required", sentence));
            }
            return Ok(Some(Self::Words(words.to_owned())));
        }
        for kind in SubjectKind::ALL {
            if let Some(id) = given(kind.as_str()) {
                let id = id.parse().map_err(|_| {
                    let name = kind.as_str();
                    Invalid::new(name, "invalid_id", format!("`{name}` is no ID; give a number."))
                })?;
                return Ok(Some(Self::Of(kind, id)));
            }
        }
        Ok(None)
    }

    /// As [`Self::parse`] reads it: the field's name, and its value.
    pub fn field(&self) -> (&'static str, String) {
        match self {
            Self::Words(words) => ("words", words.clone()),
            Self::Of(kind, id) => (kind.as_str(), id.to_string()),
        }
    }

    /// Its id, if it is of this kind.
    fn id_of(&self, kind: SubjectKind) -> Option<i64> {
        match self {
            Self::Of(own, id) if *own == kind => Some(*id),
            _ => None,
        }
    }
}

labels! {
    pub enum PlaceKind {
        Memories = "memories",
        Episodes = "episodes",
        Messages = "messages",
        Sessions = "sessions",
        Documents = "documents",
        Entities = "entities",
        Calls = "calls",
        Summary = "summary",
    }
}

impl PlaceKind {
    /// The name in receipts.
    fn rows(self) -> &'static str {
        match self {
            Self::Memories => "memory_items",
            Self::Episodes => "episodes",
            Self::Messages => "session_messages",
            Self::Sessions => "sessions",
            Self::Documents => "documents",
            Self::Entities => "entities",
            Self::Calls => "queries",
            Self::Summary => "memory_summaries",
        }
    }
}

/// A row with the words, or of the subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPlace {
    /// Of a message, its session's; of the summary, 0.
    pub id: i64,
    /// Of a message.
    pub position: i32,
    /// Its beginning, or name.
    pub text: String,
    pub at: OffsetDateTime,
}

impl FoundPlace {
    /// As [`PlaceChoice::parse`] reads it.
    pub fn part(&self, kind: PlaceKind) -> String {
        match kind {
            PlaceKind::Messages => format!("{}:{}:{}", kind.as_str(), self.id, self.position),
            _ => format!("{}:{}", kind.as_str(), self.id),
        }
    }
}

/// What of it is to be deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceChoice {
    /// All of a kind, with how many were shown.
    pub whole: Vec<(PlaceKind, usize)>,
    /// By kind, id and position.
    pub parts: HashSet<(PlaceKind, i64, i32)>,
}

impl PlaceChoice {
    /// Reads `messages:12:5` (kind, id, position), `memories:17` and, as whole kinds, `memories:3412` (how many). What is not
    /// known is left out.
    pub fn parse(parts: &str, whole: &str) -> Self {
        let split = |text: &str| {
            let mut fields = text.split(':');
            let kind = PlaceKind::from_label(fields.next()?)?;
            let mut number = || fields.next().map_or(Some(0), |text| text.parse::<i64>().ok());
            Some((kind, number()?, i32::try_from(number()?).ok()?))
        };
        let whole = whole.split_whitespace().filter_map(split);
        Self {
            whole: whole.map(|(kind, n, _)| (kind, usize::try_from(n).unwrap_or(0))).collect(),
            parts: parts.split_whitespace().filter_map(split).collect(),
        }
    }

    fn has(&self, kind: PlaceKind, place: &FoundPlace) -> bool {
        self.parts.contains(&(kind, place.id, place.position))
            || self.whole.iter().any(|(whole, _)| *whole == kind)
    }
}

/// What was found, by kind; kinds with none are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPlaces {
    /// What was looked for, as its person calls it.
    pub name: String,
    /// Newest first, at most [`FOUND_MAX`] of each.
    pub places: Vec<(PlaceKind, Vec<FoundPlace>)>,
    /// Themes and projects with the words in their names, and the theme, agent or project that was asked for. They stay.
    pub names: i64,
}

impl FoundPlaces {
    pub fn choose(&self, choice: &PlaceChoice) -> Chosen {
        let mut chosen = Chosen::default();
        for (kind, place) in self.all() {
            if choice.has(kind, place) {
                match kind {
                    PlaceKind::Memories | PlaceKind::Episodes | PlaceKind::Documents => {
                        chosen.memories.push(place.id);
                    }
                    PlaceKind::Messages => chosen.messages.push((place.id, place.position)),
                    PlaceKind::Sessions => chosen.sessions.push(place.id),
                    PlaceKind::Entities => chosen.entities.push(place.id),
                    PlaceKind::Calls => chosen.calls.push(place.id),
                    PlaceKind::Summary => chosen.with_summary = true,
                }
            }
        }
        chosen
    }

    /// What is not among these, for the receipt.
    pub fn stays(&self, choice: &PlaceChoice) -> ErasedRows {
        let mut stays = ErasedRows::new();
        for (kind, place) in self.all() {
            if !choice.has(kind, place) {
                *stays.entry(kind.rows().to_owned()).or_default() += 1;
            }
        }
        if self.names > 0 {
            stays.insert("names".to_owned(), self.names);
        }
        stays
    }

    /// Whether as many were found of these kinds as their person was shown.
    pub fn are_as_shown(&self, choice: &PlaceChoice) -> bool {
        choice.whole.iter().all(|(kind, shown)| {
            let found = self.places.iter().find(|(found, _)| found == kind);
            found.map_or(0, |(_, places)| places.len()) == *shown
        })
    }

    fn all(&self) -> impl Iterator<Item = (PlaceKind, &FoundPlace)> {
        self.places.iter().flat_map(|(kind, places)| places.iter().map(move |place| (*kind, place)))
    }
}

/// What a text must have: so many of these regular expressions, over its folded form.
struct WantedWords {
    patterns: Vec<String>,
    least: i32,
}

impl WantedWords {
    /// All words.
    fn all_of(text: &str) -> Self {
        let patterns = patterns_of(text.split(|c: char| !is_of_word(c)));
        Self { least: patterns.len() as i32, patterns }
    }

    /// Most of the words that tell something.
    fn most_of(text: &str) -> Self {
        let words = telling_words(text, TELLING_WORDS);
        let patterns = patterns_of(words.iter().map(String::as_str));
        let least = (patterns.len() as f64 * TELLING_SHARE).ceil() as i32;
        Self { patterns, least: least.max(1) }
    }

    /// One of the names.
    fn one_of(names: &[String]) -> Self {
        let of = |name: &String| {
            let words = patterns_of(name.split(|c: char| !is_of_word(c)));
            (!words.is_empty()).then(|| words.join("[^[:alnum:]]*"))
        };
        Self { patterns: names.iter().filter_map(of).collect(), least: 1 }
    }

    const fn none() -> Self {
        Self { patterns: Vec::new(), least: 1 }
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || unicode_normalization::char::is_combining_mark(c)
}

/// As `folded` in the database: in small letters, without accents. Where a script has small letters, a word begins at its
/// border, and a short one ends there too; elsewhere words have no borders, or grow at both ends.
fn patterns_of<'t>(words: impl Iterator<Item = &'t str>) -> Vec<String> {
    let mut patterns: Vec<String> = Vec::new();
    for word in words {
        let folded: String = word
            .to_lowercase()
            .nfd()
            .filter(|c| !('\u{300}'..='\u{36f}').contains(c))
            .filter(|c| is_of_word(*c))
            .collect();
        let has_borders = folded.chars().all(|c| c.is_lowercase() || c.is_ascii_digit());
        let is_short = folded.chars().count() <= WHOLE_WORD_CHARS
            || folded.chars().all(|c| c.is_ascii_digit());
        let pattern = match (has_borders, is_short) {
            _ if folded.is_empty() => continue,
            (true, true) => format!("\\m{folded}\\M"),
            (true, false) => format!("\\m{folded}"),
            (false, _) => folded,
        };
        if !patterns.contains(&pattern) {
            patterns.push(pattern);
        }
    }
    patterns
}

/// Finds it everywhere. `None` if the user has no such thing, or there is no word in the words.
///
/// # Errors
/// [`ErasureError::LooksAlready`], since it reads all texts of the user: one such search at a time. Database errors; a search that
/// takes too long is one.
pub async fn find(
    db: &Db,
    user: UserId,
    subject: &Subject,
) -> Result<Option<FoundPlaces>, ErasureError> {
    let mut tx = db.with_job_timeout().as_user(user).await?;
    let named = match subject {
        Subject::Words(words) => Some(words.trim().to_owned()),
        Subject::Of(kind, id) => store::find_name(&mut tx, user, *kind, *id).await?,
    };
    let Some(name) = named else {
        return Ok(None);
    };
    let wanted = match subject {
        Subject::Words(_) => WantedWords::all_of(&name),
        Subject::Of(SubjectKind::Memory, _) => WantedWords::most_of(&name),
        Subject::Of(SubjectKind::Entity, id) => {
            WantedWords::one_of(&store::list_names(&mut tx, user, *id, NAMES_MAX).await?)
        }
        Subject::Of(..) => WantedWords::none(),
    };
    if matches!(subject, Subject::Words(_)) && wanted.patterns.is_empty() {
        return Ok(None);
    }
    // Not before: what ends early would hold it until its transaction is rolled back, some time after the answer.
    if !store::begin(&mut tx, user).await? {
        return Err(ErasureError::LooksAlready);
    }
    let mut places = Vec::new();
    for kind in PlaceKind::ALL {
        let found = match kind {
            PlaceKind::Memories => {
                store::list_memories(&mut tx, user, subject, &wanted, false).await?
            }
            PlaceKind::Episodes => {
                store::list_memories(&mut tx, user, subject, &wanted, true).await?
            }
            PlaceKind::Messages => store::list_messages(&mut tx, user, subject, &wanted).await?,
            PlaceKind::Sessions => store::list_sessions(&mut tx, user, subject).await?,
            PlaceKind::Documents => store::list_documents(&mut tx, user, subject, &wanted).await?,
            PlaceKind::Entities => store::list_entities(&mut tx, user, subject, &wanted).await?,
            PlaceKind::Calls => store::list_calls(&mut tx, user, subject, &wanted).await?,
            PlaceKind::Summary => store::find_summary(&mut tx, user, &wanted).await?,
        };
        if !found.is_empty() {
            places.push((kind, found));
        }
    }
    let is_kept = matches!(
        subject,
        Subject::Of(SubjectKind::Theme | SubjectKind::Agent | SubjectKind::Project, _)
    );
    let names = store::count_names(&mut tx, user, &wanted).await? + i64::from(is_kept);
    tx.commit().await?;
    let name = name.chars().take(SHOWN_CHARS as usize).collect();
    Ok(Some(FoundPlaces { name, places, names }))
}

/// Themes, agents and projects by id and name, at most [`SHOWN_MAX`] of each.
pub async fn list_subjects(
    db: &Db,
    user: UserId,
) -> Result<Vec<(SubjectKind, i64, String)>, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let mut subjects = Vec::new();
    for kind in [SubjectKind::Theme, SubjectKind::Agent, SubjectKind::Project] {
        let of_kind = store::list_subjects(&mut tx, user, kind, SHOWN_MAX as i64).await?;
        subjects.extend(of_kind.into_iter().map(|(id, name)| (kind, id, name)));
    }
    tx.commit().await?;
    Ok(subjects)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_borders_where_their_script_has_small_letters() {
        let of = |text: &str| WantedWords::all_of(text).patterns;
        assert_eq!(
            of("Nadia, Zoë; 4711 Ann"),
            ["\\mnadia", "\\mzoe\\M", "\\m4711\\M", "\\mann\\M"]
        );
        assert_eq!(of("Надя"), ["\\mнадя"]);
        assert_eq!(of("نادية"), ["نادية"]);
        assert_eq!(of("李娜。"), ["李娜"]);
        assert!(of(" ,.(* ").is_empty());
        let of_name = WantedWords::one_of(&["Nadia Petrova".to_owned(), "-".to_owned()]);
        assert_eq!(of_name.patterns, ["\\mnadia[^[:alnum:]]*\\mpetrova"]);
        assert_eq!(WantedWords::most_of("Anna wohnt in Graz bei Nadia").least, 3);
    }
}
