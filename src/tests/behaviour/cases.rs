//! How a case is written, and that it is written right.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use toml::Spanned;

use super::generated;

/// So far down the best results go.
const TOP: usize = 3;
const CASES_MIN: usize = 400;

/// How it stands with the embeddings, and what surrounds a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum State {
    Ready,
    /// Nothing is embedded yet.
    Pending,
    /// None of the group has a vector or will get one; the question has one, and so have a few other memories.
    Failed,
    /// The user has switched embeddings off.
    Off,
    /// Ready, and each memory stands amid so much other prose that it has 1,000 characters at least.
    Long,
    LongPending,
    /// Pending, among 200 other facts.
    Among,
}

#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    pub name: String,
    #[serde(skip)]
    pub file: String,
    /// So many other facts stand beside its memories.
    #[serde(default)]
    pub fill: usize,
    /// By label: what `memory_add` gets, or the content alone.
    #[serde(deserialize_with = "in_order")]
    pub memories: Vec<(String, Value)>,
    /// By label: `{ user = "…" }` or `{ assistant = "…" }`, of one conversation.
    #[serde(default, deserialize_with = "in_order")]
    pub said: Vec<(String, Value)>,
    /// In which it is asked; left out: in all.
    #[serde(default)]
    pub states: Vec<State>,
    pub cases: Vec<Case>,
}

/// A question, and of which memories what is expected.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Case {
    pub ask: String,
    pub first: Option<String>,
    /// All of them within the first three.
    pub top: Vec<String>,
    /// All of them within the results.
    pub found: Vec<String>,
    /// The one is found before the other, which may be missing.
    pub ahead: Vec<String>,
    /// Not found.
    pub absent: Vec<String>,
    /// What else `memory_search` gets.
    pub with: Map<String, Value>,
    pub needs: Option<Need>,
    pub language: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Need {
    /// No word tells: it is asked only where vectors are ready.
    Meaning,
}

/// A case that does not hold yet.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Later {
    group: String,
    ask: String,
    /// Left out: all in which it is asked.
    #[serde(default)]
    states: Vec<State>,
    pub why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseFile {
    group: Vec<Group>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LaterFile {
    later: Vec<Later>,
}

/// A table as it stands in the file; serde would sort it.
fn in_order<'de, D: Deserializer<'de>>(table: D) -> Result<Vec<(String, Value)>, D::Error> {
    let table = BTreeMap::<String, Spanned<Value>>::deserialize(table)?;
    let mut all: Vec<(String, Spanned<Value>)> = table.into_iter().collect();
    all.sort_by_key(|(_, value)| value.span().start);
    Ok(all.into_iter().map(|(label, value)| (label, value.into_inner())).collect())
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/behaviour")
}

fn read<T: DeserializeOwned>(path: &Path) -> T {
    let text = fs::read_to_string(path).unwrap();
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Of all files, and those that are generated.
pub fn all() -> Vec<Group> {
    let entries = fs::read_dir(folder().join("cases")).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut groups = Vec::new();
    for path in paths {
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let written: CaseFile = read(&path);
        groups.extend(written.group.into_iter().map(|group| Group { file: file.clone(), ..group }));
    }
    groups.extend(generated::groups());
    groups
}

pub fn later() -> Vec<Later> {
    read::<LaterFile>(&folder().join("later.toml")).later
}

impl State {
    pub fn is_long(self) -> bool {
        matches!(self, Self::Long | Self::LongPending)
    }

    pub fn is_ready(self) -> bool {
        matches!(self, Self::Ready | Self::Long)
    }

    /// Whether this answer is of the state.
    pub fn is_told(self, case: &Case, answer: &Value) -> bool {
        let degraded = answer["degraded"].as_str();
        match self {
            Self::Ready | Self::Long => degraded.is_none(),
            // A filter may leave nothing that has a vector.
            Self::Failed => !case.with.is_empty() || answer["mode"] == "hybrid",
            Self::Off => degraded.is_some_and(|why| why.contains("switched off")),
            Self::Pending | Self::LongPending | Self::Among => {
                degraded.is_some_and(|why| why.contains("pending"))
            }
        }
    }
}

impl Group {
    pub fn is_asked_in(&self, state: State) -> bool {
        self.states.is_empty() || self.states.contains(&state)
    }

    pub fn cases_in(&self, state: State) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(move |case| case.needs.is_none() || state.is_ready())
    }
}

impl Case {
    pub fn of(ask: &str, first: &str) -> Self {
        Self { ask: ask.to_owned(), first: Some(first.to_owned()), ..Self::default() }
    }

    fn labels(&self) -> impl Iterator<Item = &String> {
        let others = [&self.top, &self.found, &self.ahead, &self.absent];
        self.first.iter().chain(others.into_iter().flatten())
    }

    /// Whether it is as expected that these were found, best first.
    pub fn holds(&self, found: &[&str]) -> bool {
        let place = |label: &String| found.iter().position(|found| *found == label.as_str());
        let is_ahead = match self.ahead.as_slice() {
            [one, other] => place(one).is_some_and(|n| place(other).is_none_or(|m| n < m)),
            _ => true,
        };
        is_ahead
            && self.first.iter().all(|label| place(label) == Some(0))
            && self.top.iter().all(|label| place(label).is_some_and(|n| n < TOP))
            && self.found.iter().all(|label| place(label).is_some())
            && self.absent.iter().all(|label| place(label).is_none())
    }

    /// What is expected, in words.
    pub fn expected(&self) -> String {
        let lists: [(&str, &[String]); 5] = [
            ("first", self.first.as_slice()),
            ("top", &self.top),
            ("found", &self.found),
            ("ahead", &self.ahead),
            ("absent", &self.absent),
        ];
        let told = lists.into_iter().filter(|(_, labels)| !labels.is_empty());
        let told: Vec<String> =
            told.map(|(what, labels)| format!("{what} {}", labels.join(", "))).collect();
        told.join("; ")
    }
}

impl Later {
    pub fn is_of(&self, group: &Group, case: &Case, state: State) -> bool {
        let is_listed = self.states.is_empty() || self.states.contains(&state);
        is_listed && self.group == group.name && self.ask == case.ask
    }
}

#[test]
fn cases_are_written_right() {
    let groups = all();
    let mut names = BTreeSet::new();
    for group in &groups {
        let name = &group.name;
        assert!(names.insert(name), "{name}: there is another group of this name");
        let mut labels = BTreeSet::new();
        for (label, _) in group.memories.iter().chain(&group.said) {
            assert!(labels.insert(label), "{name}: {label} stands for two");
        }
        let mut asked = BTreeSet::new();
        for case in &group.cases {
            let ask = &case.ask;
            let with = Value::Object(case.with.clone()).to_string();
            assert!(asked.insert((ask, with)), "{name}: {ask} is asked twice");
            let says_what = !ask.is_empty() && case.labels().next().is_some();
            assert!(says_what, "{name}: {ask} expects nothing");
            let fits = case.top.len() <= TOP && [0, 2].contains(&case.ahead.len());
            assert!(fits, "{name}: {ask} expects what cannot be");
            for label in case.labels() {
                assert!(labels.contains(label), "{name}: {ask} expects {label}, which is nothing");
            }
        }
    }
    let count: usize = groups.iter().map(|group| group.cases.len()).sum();
    assert!(count >= CASES_MIN, "{count} cases");
    for one in later() {
        let group = groups.iter().find(|group| group.name == one.group);
        let case = group.and_then(|group| group.cases.iter().find(|case| case.ask == one.ask));
        assert!(case.is_some(), "later.toml: {} is not asked {}", one.group, one.ask);
        assert!(!one.why.is_empty(), "later.toml: why is it that {} fails?", one.ask);
    }
}
