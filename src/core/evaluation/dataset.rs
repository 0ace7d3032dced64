//! A data set in JSON Lines (docs/evaluation.md): items, questions, and which items answer them. Groups are
//! separate memories, so that a search in one never finds an item of another. Input that would be scored
//! wrongly is refused, never skipped silently.

use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;

use serde::Deserialize;
use time::OffsetDateTime;

use crate::clock::Zone;
use crate::memories::{ItemType, NewItem, Period, Provenance, Trust};
use crate::search::{RawQuery, SearchQuery};

#[derive(Debug, thiserror::Error)]
pub enum DataSetError {
    #[error("line {line}: {problem}")]
    Line { line: usize, problem: String },
    #[error(
        "the data set has no {0}: give lines with `id` and `content`, and lines with `question` and `evidence`"
    )]
    Empty(&'static str),
    #[error("the data set cannot be read: {0}")]
    Read(#[from] std::io::Error),
}

/// By group name.
#[derive(Debug, Default)]
pub struct DataSet {
    pub groups: BTreeMap<String, DataSetGroup>,
}

#[derive(Debug, Default)]
pub struct DataSetGroup {
    pub items: Vec<NewItem>,
    pub questions: Vec<DataSetQuestion>,
    by_id: HashMap<String, usize>,
}

#[derive(Debug)]
pub struct DataSetQuestion {
    pub text: String,
    /// Indexes into [`DataSetGroup::items`]; empty if nothing answers the question.
    pub evidence: Vec<usize>,
    /// Times in the question are relative to this moment; `None`: to now.
    pub asked_at: Option<OffsetDateTime>,
    pub category: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DataSetLine {
    #[serde(default)]
    group: String,
    id: Option<String>,
    content: Option<String>,
    #[serde(rename = "type")]
    item_type: Option<String>,
    theme: Option<String>,
    trust: Option<String>,
    at: Option<String>,
    question: Option<String>,
    evidence: Option<Vec<String>>,
    category: Option<String>,
}

impl DataSet {
    /// Parses a data set. Questions may precede the items that answer them.
    ///
    /// # Errors
    /// The first line that cannot be scored: its number, and why.
    pub fn read(lines: impl BufRead) -> Result<Self, DataSetError> {
        let mut set = Self::default();
        let mut asked = Vec::new();
        for (at, line) in lines.lines().enumerate() {
            let text = line?;
            if text.trim().is_empty() {
                continue;
            }
            let of_line = |problem| DataSetError::Line { line: at + 1, problem };
            let line: DataSetLine =
                serde_json::from_str(&text).map_err(|error| of_line(error.to_string()))?;
            match line.question {
                Some(_) => asked.push((at + 1, line)),
                None => set.take_item(line).map_err(of_line)?,
            }
        }
        for (number, line) in asked {
            set.take_question(line)
                .map_err(|problem| DataSetError::Line { line: number, problem })?;
        }
        match (set.items(), set.questions()) {
            (0, _) => Err(DataSetError::Empty("items")),
            (_, 0) => Err(DataSetError::Empty("questions")),
            _ => Ok(set),
        }
    }

    pub fn items(&self) -> usize {
        self.groups.values().map(|g| g.items.len()).sum()
    }

    pub fn questions(&self) -> usize {
        self.groups.values().map(|g| g.questions.len()).sum()
    }

    fn take_item(&mut self, line: DataSetLine) -> Result<(), String> {
        let (Some(id), Some(content)) = (line.id, line.content) else {
            return Err(
                "give `id` and `content` of an item, or `question` and `evidence`".to_owned()
            );
        };
        if line.evidence.is_some() || line.category.is_some() {
            return Err("an item has no `evidence` and no `category`; they belong to a `question`"
                .to_owned());
        }
        let item_type = match &line.item_type {
            Some(named) => ItemType::parse("type", named),
            None => Ok(ItemType::Fact),
        };
        let item = item_type
            .and_then(|of_type| NewItem::parse(of_type, &content, line.theme.as_deref(), &[]))
            .map_err(|invalid| invalid.to_string())?
            .with_provenance(Provenance {
                trust: trust_of(line.trust.as_deref())?,
                said_at: at_of(line.at.as_deref())?,
                ..Provenance::default()
            });
        let group = self.groups.entry(line.group).or_default();
        if group.by_id.insert(id.clone(), group.items.len()).is_some() {
            return Err(format!("`id` {id} is there twice in its group"));
        }
        group.items.push(item);
        Ok(())
    }

    fn take_question(&mut self, line: DataSetLine) -> Result<(), String> {
        let text = line.question.unwrap_or_default();
        if line.id.is_some()
            || line.content.is_some()
            || line.theme.is_some()
            || line.trust.is_some()
        {
            return Err("a line is an item or a question, not both".to_owned());
        }
        let query = SearchQuery::parse(RawQuery { query: &text, ..RawQuery::default() })
            .map_err(|invalid| invalid.to_string())?;
        if query.text.is_none() {
            return Err("`question` is empty".to_owned());
        }
        let Some(ids) = line.evidence else {
            return Err(
                "`evidence` is missing; name the `id` of each item that answers the question, or give [] where none does"
                    .to_owned(),
            );
        };
        let group = self.groups.entry(line.group).or_default();
        let place = |id: &String| {
            let missing =
                || format!("`evidence` names {id}, and no item of its group has that `id`");
            group.by_id.get(id).copied().ok_or_else(missing)
        };
        let evidence = ids.iter().map(place).collect::<Result<_, _>>()?;
        group.questions.push(DataSetQuestion {
            text,
            evidence,
            asked_at: at_of(line.at.as_deref())?,
            category: line.category,
        });
        Ok(())
    }
}

/// A moment, or the start of a day (UTC).
fn at_of(text: Option<&str>) -> Result<Option<OffsetDateTime>, String> {
    let period = Period::parse_as(["at", "at"], &Zone::utc(), text, None);
    Ok(period.map_err(|invalid| invalid.to_string())?.from)
}

/// The item's trust; `None` if the data set gives none.
fn trust_of(text: Option<&str>) -> Result<Option<Trust>, String> {
    let known = || {
        let known = Trust::ALL.map(Trust::as_str).join(", ");
        format!("`trust` is not known; give one of {known}")
    };
    text.map(|text| Trust::from_label(text).ok_or_else(known)).transpose()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn refused(lines: &str) -> String {
        DataSet::read(lines.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn a_group_keeps_its_items_and_questions_apart_from_others() {
        let set = DataSet::read(
            r#"{"group":"b","question":"Which tea?","evidence":["1"],"category":"one"}
{"group":"a","id":"1","content":"Anna drinks green tea."}

{"group":"b","id":"1","content":"Ben drinks mate.","type":"preference","theme":"drinks"}
"#
            .as_bytes(),
        )
        .unwrap();
        assert_eq!((set.items(), set.questions()), (2, 1));
        let b = &set.groups["b"];
        assert_eq!(b.questions[0].evidence, [0]);
        assert_eq!(b.questions[0].category.as_deref(), Some("one"));
        assert!(set.groups["a"].questions.is_empty());
    }

    #[test]
    fn each_flaw_is_told_with_its_line_and_what_would_do() {
        let item = r#"{"id":"1","content":"Anna drinks green tea."}"#;
        for (lines, said) in [
            ("{", "line 1: EOF while parsing an object at line 1 column 1".to_owned()),
            (r#"{"id":"1"}"#, "line 1: give `id` and `content` of an item, or `question` and `evidence`".to_owned()),
            (r#"{"id":"1","content":" "}"#, "line 1: `content` is empty; give 1 to 20000 characters.".to_owned()),
            (r#"{"id":"1","content":"Tea","trust":"me"}"#, "line 1: `trust` is not known; give one of external, tool, agent, user".to_owned()),
            (r#"{"question":"Tea?","evidence":["9"]}"#, "line 1: `evidence` names 9, and no item of its group has that `id`".to_owned()),
            (r#"{"question":"Tea?"}"#, "line 1: `evidence` is missing; name the `id` of each item that answers the question, or give [] where none does".to_owned()),
            (r#"{"question":"Tea?","evidence":[],"at":"soon"}"#, "line 1: `at` is no date; give a year, a month, a day or a moment: 2019, 2019-05, 2019-05-17 or 2019-05-17T15:04:05Z.".to_owned()),
            (r#"{"question":" ","evidence":["1"]}"#, "line 1: `question` is empty".to_owned()),
            (item, "the data set has no questions: give lines with `id` and `content`, and lines with `question` and `evidence`".to_owned()),
            ("", "the data set has no items: give lines with `id` and `content`, and lines with `question` and `evidence`".to_owned()),
        ] {
            assert_eq!(refused(lines), said, "{lines}");
        }
        assert_eq!(
            refused(&format!("{item}\n{item}")),
            "line 2: `id` 1 is there twice in its group"
        );
        assert!(
            refused(r#"{"id":"1","content":"a","colour":"red"}"#)
                .contains("unknown field `colour`")
        );
    }
}
