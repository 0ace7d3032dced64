//! Speakers: a conversation text can begin with its speaker ("Caroline: …"). Such texts get extra lexemes that no word of a
//! text or query produces, so that a search can tell "said by Caroline" from "mentions Caroline". Depends only on the text.

use super::words::{QUERY_TERMS_MAX, plain_words};
use crate::embedding::NamedWord;
use crate::languages::characters::fold;

/// Limits of the speaker's name before the colon.
const SPEAKER_WORDS_MAX: usize = 3;
const SPEAKER_CHARS_MAX: usize = 40;
/// The lexeme of every text that begins with a speaker.
const SAID: &str = ":";
/// Words before a colon that are labels and no speakers, if they are the last word there. Sorted, folded.
#[rustfmt::skip]
pub(super) const LABELS: [&str; 248] = [
    "action", "actions", "address", "addresses", "agenda", "agendas", "allergies", "allergy",
    "answer", "answers", "assumption", "assumptions", "author", "authors", "background",
    "birthday", "birthdays", "blocker", "blockers", "budget", "budgets", "bug", "bugs", "cause",
    "causes", "caveat", "caveats", "change", "changes", "command", "commands", "comment",
    "comments", "conclusion", "conclusions", "config", "configs", "configuration",
    "configurations", "constraint", "constraints", "contact", "contacts", "context", "contexts",
    "correction", "corrections", "date", "dates", "deadline", "deadlines", "decision",
    "decisions", "definition", "definitions", "dependencies", "dependency", "deploy",
    "deployment", "deployments", "description", "descriptions", "detail", "details", "diet",
    "email", "emails", "environment", "environments", "error", "errors", "event", "events",
    "example", "examples", "fact", "facts", "feature", "features", "feedback", "fix", "fixes",
    "follow-up", "fyi", "goal", "goals", "guideline", "guidelines", "habit", "habits", "hint",
    "hints", "hobbies", "hobby", "idea", "ideas", "important", "info", "information", "insight",
    "insights", "instruction", "instructions", "issue", "issues", "job", "jobs", "key",
    "language", "languages", "lesson", "lessons", "limitation", "limitations", "link", "links",
    "list", "lists", "location", "locations", "meeting", "meetings", "memories", "memory",
    "name", "names", "next", "note", "notes", "number", "numbers", "objective", "objectives",
    "observation", "observations", "option", "options", "outcome", "outcomes", "owner",
    "owners", "password", "passwords", "path", "paths", "phone", "phones", "plan", "plans",
    "policies", "policy", "port", "ports", "preference", "preferences", "priorities",
    "priority", "problem", "problems", "progress", "project", "projects", "purpose", "purposes",
    "question", "questions", "reason", "reasons", "recipe", "recipes", "recommendation",
    "recommendations", "reference", "references", "reminder", "reminders", "repo", "repos",
    "repositories", "repository", "requirement", "requirements", "result", "results", "risk",
    "risks", "role", "roles", "rule", "rules", "schedule", "schedules", "setting", "settings",
    "setup", "solution", "solutions", "source", "sources", "status", "step", "steps", "subject",
    "subjects", "suggestion", "suggestions", "summaries", "summary", "tag", "tags", "takeaway",
    "takeaways", "task", "tasks", "team", "teams", "time", "times", "timezone", "timezones",
    "tip", "tips", "title", "titles", "tldr", "to-do", "to-dos", "todo", "todos", "tool",
    "tools", "topic", "topics", "type", "types", "update", "updates", "url", "urls", "usage",
    "version", "versions", "warning", "warnings", "workaround", "workarounds", "workflow",
    "workflows",
];

/// The extra lexemes of a text: `:` and, for example, `caroline:`; none if it does not begin with a speaker.
pub(super) fn lexemes(content: &str) -> Vec<String> {
    let speaker = speaker(content);
    let said = (!speaker.is_empty()).then_some(String::new());
    said.into_iter().chain(speaker).map(|name| format!("{name}{SAID}")).collect()
}

/// A text without its speaker.
pub(super) fn without_speaker(content: &str) -> &str {
    match content.split_once(": ") {
        Some((_, said)) if !speaker(content).is_empty() => said,
        _ => content,
    }
}

/// The folded words of the speaker's name; empty for a label ("Next Steps: …") and for text without one.
fn speaker(content: &str) -> Vec<String> {
    let beginning = content.split('\n').next().unwrap_or_default();
    let Some((name, _)) = beginning.split_once(": ") else {
        return Vec::new();
    };
    let is_name = |word: &str| {
        word.starts_with(char::is_uppercase)
            && word.chars().all(|c| c.is_alphanumeric() || c == '-')
    };
    let names = name.split(' ');
    let fits = name.chars().count() <= SPEAKER_CHARS_MAX
        && names.clone().count() <= SPEAKER_WORDS_MAX
        && names.clone().all(is_name);
    let mut folded: Vec<String> = names.filter(|_| fits).map(fold).collect();
    let is_label = |word: &String| LABELS.binary_search(&word.as_str()).is_ok();
    if folded.last().is_some_and(is_label) {
        return Vec::new();
    }
    folded.sort();
    folded.dedup();
    folded
}

/// The words of a query that may name a speaker, deduplicated, with their positions.
pub fn names(query: &str) -> Vec<NamedWord> {
    let mut names: Vec<NamedWord> = Vec::new();
    for (word, place) in plain_words(query).filter(|(w, _)| w.starts_with(char::is_alphabetic)) {
        match names.iter_mut().find(|n| n.word == word) {
            Some(name) => name.places.push(place),
            None => names.push(NamedWord { word, places: vec![place] }),
        }
    }
    names.truncate(QUERY_TERMS_MAX);
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_speaks_stands_before_the_first_colon() {
        assert_eq!(speaker("Caroline: I moved"), ["caroline"]);
        assert_eq!(speaker("Zoë Van-Dam: hi: there"), ["van-dam", "zoe"]);
        for nobody in [
            "I moved",
            "see: this",
            "Caroline:hi",
            "The port of staging is: 80",
            "He said\nAnna: no",
            "Http://x: y",
            ": x",
            "",
        ] {
            assert_eq!(speaker(nobody), [""; 0], "{nobody}");
        }
        assert_eq!(lexemes("Caroline: hi"), [":", "caroline:"]);
        assert_eq!(lexemes("at 10:30, caroline: hi"), [""; 0]);
    }

    #[test]
    fn a_label_does_not_speak() {
        assert!(LABELS.is_sorted());
        for label in ["Decision", "Note", "TODO", "To-Do", "Next Steps", "Open Question"] {
            assert_eq!(lexemes(&format!("{label}: we stay")), [""; 0], "{label}");
        }
        for name in ["User", "Assistant", "System", "Caroline", "Note Taker"] {
            assert_ne!(speaker(&format!("{name}: hi")), [""; 0], "{name}");
        }
    }

    #[test]
    fn each_name_of_a_query_tells_where_it_stands() {
        let query = "When did Caroline meet Caroline's 3 friends?";
        let found: Vec<(String, usize)> =
            names(query).into_iter().map(|n| (n.word, n.places.len())).collect();
        let expected = [("caroline", 2), ("meet", 1), ("friends", 1)];
        assert_eq!(found, expected.map(|(w, n)| (w.to_owned(), n)));
    }
}
