//! Wikilinks of notes, as relations between entities: `- works_at [[Acme]]` in the words of the note, and other links between
//! notes of the same import. A link says no more than that there is one.

use std::collections::{HashMap, HashSet};

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag};
use time::OffsetDateTime;

use super::front_matter::FrontMatter;
use super::graph::{RELATIONS_MAX, RelationText, entity_type_of};
use super::{ForeignReader, ReadResult, WHOLE_FILE};
use crate::memories::mentions::EntityType;

const LINKS_A_NOTE_MAX: usize = 100;
const SENTENCE_CHARS_MAX: usize = 300;
/// A longer text before a link is a sentence, not how two things relate.
const WORDS_MAX: usize = 3;
const WORDS_CHARS_MAX: usize = 40;
/// How two notes relate when nothing is said of it.
const LINKS_TO: &str = "links to";

struct Link {
    /// `None`: it stands in a text.
    words: Option<String>,
    target: String,
    sentence: String,
}

/// What a note is called, and what it links to.
pub struct NoteLinks {
    path: String,
    title: String,
    /// Other names it is linked by.
    names: Vec<String>,
    entity_type: EntityType,
    links: Vec<Link>,
    is_cut: bool,
}

/// Those of all notes of an import.
#[derive(Default)]
pub struct Links {
    notes: Vec<(NoteLinks, OffsetDateTime)>,
    total: usize,
}

impl NoteLinks {
    pub fn of(path: &str, front: &FrontMatter, content: &str) -> Self {
        let stem = stem_of(path);
        let title = front.title.clone().unwrap_or_else(|| stem.to_owned());
        let mut names = front.aliases.clone();
        names.push(stem.to_owned());
        let word = front.note_type.as_deref().unwrap_or_default();
        let entity_type = entity_type_of(word).unwrap_or(EntityType::Other);
        let text = content.get(front.bytes..).unwrap_or_default();
        let mut links = Vec::new();
        let parsed = Parser::new_ext(text, Options::ENABLE_WIKILINKS).into_offset_iter();
        let wikilinks = parsed.filter_map(|(event, range)| match event {
            Event::Start(Tag::Link { link_type: LinkType::WikiLink { .. }, dest_url, .. }) => {
                Some((dest_url, range))
            }
            _ => None,
        });
        let mut is_cut = false;
        // Each costs its line, which may be the whole text.
        for (number, (dest_url, range)) in wikilinks.take(LINKS_A_NOTE_MAX + 1).enumerate() {
            is_cut = number == LINKS_A_NOTE_MAX;
            let begin = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
            let end = text[range.end..].find('\n').map_or(text.len(), |at| range.end + at);
            let words = words_of(&text[begin..range.start], &text[range.end..end]);
            let target = dest_url.split(['#', '|', '^']).next().unwrap_or_default().trim();
            if !is_cut && !target.is_empty() {
                let sentence = text[begin..end].trim().chars().take(SENTENCE_CHARS_MAX).collect();
                links.push(Link { words, target: target.to_owned(), sentence });
            }
        }
        Self { path: path.to_owned(), title, names, entity_type, links, is_cut }
    }
}

/// How a bullet says that its note relates to what it links to: `- works_at [[Acme]] (since 2024)`.
fn words_of(before: &str, after: &str) -> Option<String> {
    let words = before.trim_start().strip_prefix(['-', '*', '+'])?.strip_prefix(' ')?.trim();
    let words = words.trim_matches(['"', '“', '”']).trim_end_matches([':', '：']).trim();
    let after = after.trim();
    let is_alone = after.is_empty() || after.starts_with('(') && after.ends_with(')');
    let is_short = words.split_whitespace().count() <= WORDS_MAX
        && words.chars().count() <= WORDS_CHARS_MAX
        && !words.contains(['[', ']', '.', ',', '。', '،']);
    (is_alone && is_short && words.chars().any(char::is_alphabetic))
        .then(|| words.replace('_', " "))
}

fn stem_of(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    [".md", ".markdown", ".txt"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

/// Days and numbers are no things that relate.
fn is_a_name(name: &str) -> bool {
    name.chars().any(char::is_alphabetic)
}

impl Links {
    pub fn gather(&mut self, note: NoteLinks, at: OffsetDateTime) {
        self.total += note.links.len();
        if self.total <= RELATIONS_MAX {
            self.notes.push((note, at));
        }
    }

    pub(super) fn write(self, reader: &mut ForeignReader<'_>) -> ReadResult {
        if self.total > RELATIONS_MAX {
            let sentence = format!(
                "Its notes have {} links: {RELATIONS_MAX} at once are the most.",
                self.total
            );
            reader.skip(WHOLE_FILE, sentence)?;
        }
        let mut by_name: HashMap<String, usize> = HashMap::new();
        for (at, (note, _)) in self.notes.iter().enumerate() {
            let path = note.path.trim_end_matches(".md").to_lowercase();
            for name in
                note.names.iter().chain([&note.title]).map(|name| name.to_lowercase()).chain([path])
            {
                by_name.entry(name).or_insert(at);
            }
        }
        let find = |target: &str| {
            let whole = target.trim_end_matches(".md").to_lowercase();
            by_name.get(&whole).or_else(|| by_name.get(stem_of(&whole))).copied()
        };
        for (note, at) in &self.notes {
            let place = super::collection::shown_path(&note.path);
            if note.is_cut {
                let sentence = format!(
                    "It has more than {LINKS_A_NOTE_MAX} links: those after are no relations."
                );
                reader.skip(&place, sentence)?;
            }
            let mut seen = HashSet::new();
            for link in &note.links {
                let target =
                    find(&link.target).and_then(|at| self.notes.get(at)).map(|(note, _)| note);
                let object = match (target, &link.words) {
                    (Some(target), _) => target.title.clone(),
                    (None, Some(_)) => stem_of(&link.target).to_owned(),
                    // A link to nothing, or to a picture.
                    (None, None) => continue,
                };
                let words = link.words.clone().unwrap_or_else(|| LINKS_TO.to_owned());
                let is_new = seen.insert((words.clone(), object.clone()));
                if !is_new || object == note.title || !is_a_name(&object) || !is_a_name(&note.title)
                {
                    continue;
                }
                let place = format!("{place}: link");
                for note in [Some(note), target].into_iter().flatten() {
                    reader.entity(&place, &note.title, note.entity_type, &[])?;
                }
                let relation = RelationText {
                    subject: note.title.clone(),
                    words,
                    object,
                    sentence: Some(link.sentence.clone()),
                    at: Some(*at),
                };
                reader.relate(&place, relation)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_notes_relate_is_said_by_a_bullet_and_else_only_that_they_are_linked() {
        let text = "---\ntype: person\n---\n# Anna\n\n- works_at [[Acme GmbH]] (since 2024)\n- 住在 [[上海]]\n- [job] Leads [[Apollo|the project]]\n- Met with Ben about the garden at [[Berlin]]\n\nSee [[Ben#Work]], ![[photo.png]] and `[[code]]`.\n\n```\n[[ -f x ]]\n```\n";
        let note = NoteLinks::of("people/Anna.md", &FrontMatter::of(text), text);
        let links: Vec<_> =
            note.links.iter().map(|link| (link.words.as_deref(), link.target.as_str())).collect();
        assert_eq!(
            links,
            [
                (Some("works at"), "Acme GmbH"),
                (Some("住在"), "上海"),
                (None, "Apollo"),
                (None, "Berlin"),
                (None, "Ben"),
            ]
        );
        assert_eq!((note.title.as_str(), note.entity_type), ("Anna", EntityType::Person));
        assert_eq!(note.links[0].sentence, "- works_at [[Acme GmbH]] (since 2024)");
    }
}
