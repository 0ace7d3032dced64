//! `memory_files`: documents as files below `/memories`, with the commands and messages of Anthropic's memory
//! tool (`memory_20250818`), so that its clients can use Keepsake as backend (clients/).

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::project::{ProjectInput, known_project, project_of};
use super::values;
use super::{Services, Tool, ToolError};
use crate::accounts::{Scope, UserId};
use crate::activity::RunningCall;
use crate::documents::{
    ChangeAuthor, Document, DocumentError, DocumentPath, Documents, ExpectedRevision, FullDocument,
    PATH_CHARS_MAX, check_content,
};
use crate::input::Invalid;
use crate::texts::edit::{self, NotReplaced};

pub struct MemoryFiles;

const ROOT: &str = "/memories";
const LINES_MAX: usize = 999_999;
/// Folder levels that `view` lists.
const LEVELS: usize = 2;
/// Lines of context around a change.
const CONTEXT_LINES: usize = 2;
/// Maximum characters of a search text and its matches that an error quotes.
const QUOTED_CHARS_MAX: usize = 2_000;
const PLACES_MAX: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum FileCommand {
    View,
    Create,
    StrReplace,
    Insert,
    Delete,
    Rename,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FilesInput {
    command: FileCommand,
    /// All commands except rename.
    #[schemars(length(max = PATH_CHARS_MAX))]
    path: Option<String>,
    /// view: first and last line; -1: to the end.
    view_range: Option<Vec<i64>>,
    /// create: the text.
    file_text: Option<String>,
    /// str_replace: must occur exactly once.
    old_str: Option<String>,
    new_str: Option<String>,
    /// insert: after this line; 0: before the first.
    insert_line: Option<values::WholeNumber>,
    insert_text: Option<String>,
    /// rename
    old_path: Option<String>,
    new_path: Option<String>,
    project: Option<ProjectInput>,
}

#[derive(Serialize, JsonSchema)]
pub struct FilesOutput {
    /// The result as text for the model.
    output: String,
    #[serde(skip)]
    documents: Vec<i64>,
}

#[async_trait]
impl Tool for MemoryFiles {
    const NAME: &'static str = "memory_files";
    const TITLE: &'static str = "Keep files";
    const DESCRIPTION: &'static str = "Read and write files under /memories, such as /memories/MEMORY.md: view a folder or \
        file, create, str_replace, insert, delete, rename. Example: {\"command\": \"view\", \"path\": \"/memories\"}";
    /// The scope for viewing; every other command needs to write.
    const SCOPE: Scope = Scope::MemoryRead;
    const READ_ONLY: bool = false;
    type Input = FilesInput;
    type Output = FilesOutput;

    fn needs(input: &FilesInput) -> Scope {
        match input.command {
            FileCommand::View => Scope::MemoryRead,
            _ => Scope::MemoryWrite,
        }
    }

    fn check(input: &FilesInput) -> Result<(), ToolError> {
        for (field, text) in [
            ("file_text", &input.file_text),
            ("new_str", &input.new_str),
            ("insert_text", &input.insert_text),
        ] {
            check_content(field, text.as_deref().unwrap_or_default())?;
        }
        let stored = match input.command {
            FileCommand::Create => ("path", &input.path),
            FileCommand::Rename => ("new_path", &input.new_path),
            _ => return Ok(()),
        };
        place(stored.0, stored.1)?;
        Ok(())
    }

    fn not_stored(input: &FilesInput) -> &'static [&'static str] {
        match input.command {
            FileCommand::Create => &["old_str", "old_path"],
            _ => &["path", "old_str", "old_path", "project"],
        }
    }

    async fn run(
        context: &Services,
        call: &RunningCall,
        input: FilesInput,
    ) -> Result<FilesOutput, ToolError> {
        let project = match input.command {
            FileCommand::Create => project_of(context, call, &input.project).await?,
            _ => known_project(context, call, &input.project).await?,
        };
        let documents = context.documents.clone().in_project(project);
        let files = Files {
            documents: &documents,
            user: call.viewer.user_id,
            by: ChangeAuthor::agent(call),
            call,
        };
        match input.command {
            FileCommand::View => files.view(&input).await,
            FileCommand::Create => files.create(&input).await,
            FileCommand::StrReplace => files.replace(&input).await,
            FileCommand::Insert => files.insert(&input).await,
            FileCommand::Delete => files.delete(&input).await,
            FileCommand::Rename => files.rename(&input).await,
        }
    }

    fn adds(input: &FilesInput) -> bool {
        !matches!(input.command, FileCommand::Delete)
    }

    fn touched(output: &FilesOutput) -> Vec<i64> {
        output.documents.clone()
    }
}

struct Files<'a> {
    documents: &'a Documents,
    user: UserId,
    by: ChangeAuthor<'a>,
    call: &'a RunningCall,
}

/// A path as given, and the document or folder that it names; `None`: the root.
struct GivenPath<'a> {
    given: &'a str,
    path: Option<DocumentPath>,
}

fn given<'a, T>(field: &'static str, value: &'a Option<T>) -> Result<&'a T, Invalid> {
    value.as_ref().ok_or_else(|| {
        let sentence = format!("`{field}` is missing; this command needs it.");
        Invalid::new(field, "required", sentence)
    })
}

fn place<'a>(field: &'static str, value: &'a Option<String>) -> Result<GivenPath<'a>, Invalid> {
    let given = given(field, value)?;
    let below = given.strip_prefix(ROOT).ok_or(());
    let below = below.and_then(|below| match below {
        "" => Ok(""),
        below => below.strip_prefix('/').ok_or(()),
    });
    let below = below.map_err(|()| {
        let sentence =
            format!("`{field}` is not below /memories; give one such as /memories/MEMORY.md.");
        Invalid::new(field, "invalid_path", sentence)
    })?;
    let below = below.strip_suffix('/').unwrap_or(below);
    let path = match below {
        "" => None,
        below => Some(DocumentPath::parse(field, below).map_err(as_below_root)?),
    };
    Ok(GivenPath { given, path })
}

/// Changes the example path in an error to one below the root.
fn as_below_root(invalid: Invalid) -> Invalid {
    Invalid { sentence: invalid.sentence.replace("such as ", "such as /memories/"), ..invalid }
}

/// Renames the field in an error to the one that contained the text.
fn of_field(field: &'static str, error: DocumentError) -> DocumentError {
    match error {
        DocumentError::Invalid(invalid) if invalid.field == "content" => {
            DocumentError::Invalid(Invalid {
                sentence: invalid.sentence.replace("`content`", &format!("`{field}`")),
                field: field.into(),
                ..invalid
            })
        }
        error => error,
    }
}

/// An error with the text that the tool's clients expect.
fn refused(code: &'static str, words: String) -> ToolError {
    ToolError::Files { code, words }
}

impl Files<'_> {
    async fn view(&self, input: &FilesInput) -> Result<FilesOutput, ToolError> {
        let place = place("path", &input.path)?;
        let whole = match &place.path {
            Some(path) => self.read(path).await?,
            None => None,
        };
        match whole {
            Some(whole) => view_file(place.given, &whole, input.view_range.as_deref()),
            None => self.view_folder(&place).await,
        }
    }

    async fn view_folder(&self, place: &GivenPath<'_>) -> Result<FilesOutput, ToolError> {
        let folder = place.path.as_ref();
        let inside = self.documents.list_for(&self.call.viewer, folder).await?;
        let inside: Vec<Document> = inside.into_iter().map(|(document, _)| document).collect();
        if inside.is_empty() && folder.is_some() {
            let words =
                format!("The path {} does not exist. Please provide a valid path.", place.given);
            return Err(refused("not_found", words));
        }
        let skipped = folder.map_or(0, |folder| folder.as_str().len() + 1);
        let shown = place.given.strip_suffix('/').unwrap_or(place.given);
        let mut text = format!(
            "Here're the files and directories up to {LEVELS} levels deep in {shown}, excluding hidden items and node_modules:\n{}\t{shown}",
            size(inside.iter().map(|d| i64::from(d.bytes)).sum())
        );
        for (size, path) in listed(&inside, skipped) {
            text += &format!("\n{size}\t{shown}/{path}");
        }
        Ok(FilesOutput { output: text, documents: Vec::new() })
    }

    async fn create(&self, input: &FilesInput) -> Result<FilesOutput, ToolError> {
        let place = place("path", &input.path)?;
        let text = given("file_text", &input.file_text)?;
        let there = |at: &str| refused("exists", format!("Error: File {at} already exists"));
        let path = place.path.as_ref().ok_or_else(|| there(place.given))?;
        let put = self.documents.put(self.user, self.by, path, text, ExpectedRevision::None);
        match put.await {
            Ok(document) => Ok(FilesOutput {
                output: format!("File created successfully at: {}", place.given),
                documents: vec![document.id],
            }),
            Err(DocumentError::Exists | DocumentError::IsFolder) => Err(there(place.given)),
            Err(DocumentError::IsDocument) => Err(inside_a_file(place.given)),
            Err(error) => Err(of_field("file_text", error).into()),
        }
    }

    async fn replace(&self, input: &FilesInput) -> Result<FilesOutput, ToolError> {
        let place = place("path", &input.path)?;
        let old = given("old_str", &input.old_str)?.clone();
        let new = input.new_str.clone().unwrap_or_default();
        let shown = place.given.to_owned();
        let edited = self.edit(&place, "new_str", move |content| {
            let quoted: String = old.chars().take(QUOTED_CHARS_MAX).collect();
            edit::replace(content, &old, &new, PLACES_MAX).map_err(|why| match why {
                NotReplaced::Empty => {
                    let sentence = "`old_str` is empty; give the text that is to be replaced.";
                    Invalid::new("old_str", "required", sentence).into()
                }
                NotReplaced::Missing => DocumentError::Refused(format!(
                    "No replacement was performed, old_str `{quoted}` did not appear verbatim in {shown}."
                )),
                NotReplaced::NotUnique(lines) => {
                    let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
                    DocumentError::Refused(format!(
                        "No replacement was performed. Multiple occurrences of old_str `{quoted}` in lines: {}. Please ensure it is unique",
                        lines.join(", ")
                    ))
                }
            })
        });
        let edited = edited.await?;
        let Some((edited, line)) = edited else {
            let words = format!(
                "Error: The path {} does not exist. Please provide a valid path.",
                place.given
            );
            return Err(refused("not_found", words));
        };
        let first = line.saturating_sub(CONTEXT_LINES);
        let lines = shown_lines(&edited.content).enumerate();
        let around = lines.skip(first).take(line - first + CONTEXT_LINES + 1);
        Ok(FilesOutput {
            output: format!("The memory file has been edited.\n{}", numbered(around)),
            documents: vec![edited.document.id],
        })
    }

    async fn insert(&self, input: &FilesInput) -> Result<FilesOutput, ToolError> {
        let place = place("path", &input.path)?;
        let line = given("insert_line", &input.insert_line)?.0;
        let text = given("insert_text", &input.insert_text)?.clone();
        let edited = self.edit(&place, "insert_text", move |content| {
            let inserted = edit::insert(content, line, &text).map_err(|lines| {
                DocumentError::Refused(format!(
                    "Error: Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: [0, {lines}]"
                ))
            });
            Ok((inserted?, ()))
        });
        let edited = edited.await?;
        let (edited, ()) = edited.ok_or_else(|| not_there(place.given))?;
        Ok(FilesOutput {
            output: format!("The file {} has been edited.", place.given),
            documents: vec![edited.document.id],
        })
    }

    async fn delete(&self, input: &FilesInput) -> Result<FilesOutput, ToolError> {
        let place = place("path", &input.path)?;
        let path = place.path.as_ref().ok_or_else(|| {
            refused("conflict", "Error: The directory /memories itself is not deleted".to_owned())
        })?;
        match self.documents.archive(self.user, self.by, path).await {
            Ok(_) => Ok(FilesOutput {
                output: format!("Successfully deleted {}", place.given),
                documents: Vec::new(),
            }),
            Err(error) => match self.refused(path, error).await {
                DocumentError::NotFound => Err(not_there(place.given)),
                error => Err(error.into()),
            },
        }
    }

    async fn rename(&self, input: &FilesInput) -> Result<FilesOutput, ToolError> {
        let (from, to) = (place("old_path", &input.old_path)?, place("new_path", &input.new_path)?);
        let there =
            || refused("exists", format!("Error: The destination {} already exists", to.given));
        let new = to.path.as_ref().ok_or_else(there)?;
        let old = from.path.as_ref().ok_or_else(|| {
            refused("conflict", "Error: The directory /memories itself is not renamed".to_owned())
        })?;
        if new.as_str().starts_with(&format!("{old}/")) {
            let words = format!("Error: {} is inside {}", to.given, from.given);
            return Err(refused("conflict", words));
        }
        match self.documents.rename(self.user, self.by, old, new).await {
            Ok(()) => Ok(FilesOutput {
                output: format!("Successfully renamed {} to {}", from.given, to.given),
                documents: Vec::new(),
            }),
            Err(error @ DocumentError::NotFound) => match self.refused(old, error).await {
                DocumentError::NotFound => Err(not_there(from.given)),
                error => Err(error.into()),
            },
            Err(DocumentError::Exists | DocumentError::IsFolder) => Err(there()),
            Err(DocumentError::IsDocument) => Err(inside_a_file(to.given)),
            Err(error) => Err(error.into()),
        }
    }

    async fn read(&self, path: &DocumentPath) -> Result<Option<FullDocument>, ToolError> {
        match self.documents.read_for(&self.call.viewer, path).await {
            Ok((whole, memory_of)) => {
                if memory_of.is_some() {
                    self.call.read_lent(vec![whole.document.id]);
                }
                Ok(Some(whole))
            }
            Err(DocumentError::NotFound) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Changes the error if the path belongs to a shared memory.
    async fn refused(&self, path: &DocumentPath, error: DocumentError) -> DocumentError {
        let refused = self.documents.refused_for(&self.call.viewer, path, error);
        refused.await
    }

    /// `None` if there is no such file; a folder may have that path.
    async fn edit<T: Send + 'static>(
        &self,
        place: &GivenPath<'_>,
        field: &'static str,
        change: impl FnOnce(&str) -> Result<(String, T), DocumentError> + Send + 'static,
    ) -> Result<Option<(FullDocument, T)>, ToolError> {
        let Some(path) = &place.path else {
            return Ok(None);
        };
        match self.documents.edit(self.user, self.by, path, change).await {
            Ok(edited) => Ok(Some(edited)),
            Err(error) => match self.refused(path, error).await {
                DocumentError::NotFound => Ok(None),
                error => Err(of_field(field, error).into()),
            },
        }
    }
}

fn inside_a_file(path: &str) -> ToolError {
    let words = format!("Error: A file stands where a directory of {path} would");
    refused("conflict", words)
}

fn not_there(path: &str) -> ToolError {
    refused("not_found", format!("Error: The path {path} does not exist"))
}

fn view_file(
    shown: &str,
    whole: &FullDocument,
    range: Option<&[i64]>,
) -> Result<FilesOutput, ToolError> {
    let lines = shown_lines(&whole.content).count();
    if lines > LINES_MAX {
        let words = format!("File {shown} exceeds maximum line limit of 999,999 lines.");
        return Err(refused("too_many_lines", words));
    }
    let (first, last) = match range {
        None | Some([]) => (1, lines),
        Some(range) => parse_range(range, lines)?,
    };
    let told = shown_lines(&whole.content).enumerate();
    let told = told.skip(first - 1).take(last + 1 - first);
    Ok(FilesOutput {
        output: format!("Here's the content of {shown} with line numbers:\n{}", numbered(told)),
        documents: vec![whole.document.id],
    })
}

fn parse_range(range: &[i64], lines: usize) -> Result<(usize, usize), Invalid> {
    let invalid = || {
        let sentence = format!(
            "`view_range` is no range of the file's {lines} lines; give the first and the last, such as [1, 20], or -1 for the last."
        );
        Invalid::new("view_range", "out_of_range", sentence)
    };
    let [first, last] = range else {
        return Err(invalid());
    };
    let last = if *last == -1 { lines } else { usize::try_from(*last).map_err(|_| invalid())? };
    let first = usize::try_from(*first).map_err(|_| invalid())?;
    match 1 <= first && first <= last && first <= lines {
        true => Ok((first, last.min(lines))),
        false => Err(invalid()),
    }
}

/// Numbers lines as the tool's clients do; the input counts from 0.
fn numbered<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> String {
    let told: Vec<String> = lines.map(|(n, line)| format!("{:>6}\t{line}", n + 1)).collect();
    told.join("\n")
}

/// With an empty one after the last line end.
fn shown_lines(content: &str) -> impl Iterator<Item = &str> {
    let is_ended = content.is_empty() || content.ends_with(['\n', '\r']);
    edit::lines(content).map(|(line, _)| line).chain(is_ended.then_some(""))
}

/// `0B`, `812B`, `1.5K`, `2M`: in the format of the tool's clients.
fn size(bytes: i64) -> String {
    let (mut size, mut unit) = (bytes as f64, 0);
    while size >= 1024.0 && unit < 3 {
        (size, unit) = (size / 1024.0, unit + 1);
    }
    let unit = ["B", "K", "M", "G"][unit];
    match size.fract() == 0.0 {
        true => format!("{size:.0}{unit}"),
        false => format!("{size:.1}{unit}"),
    }
}

/// Files and folders two levels deep with their sizes, by name; folders end with a slash.
fn listed(documents: &[Document], skipped: usize) -> Vec<(String, String)> {
    let mut entries: std::collections::BTreeMap<Vec<&str>, (i64, bool)> = Default::default();
    for document in documents {
        let names: Vec<&str> = document.path.as_str()[skipped..].split('/').collect();
        if names.iter().any(|name| name.starts_with('.') || *name == "node_modules") {
            continue;
        }
        for level in 1..=names.len().min(LEVELS) {
            let is_folder = level < names.len();
            let entry = entries.entry(names[..level].to_vec()).or_insert((0, is_folder));
            entry.0 += i64::from(document.bytes);
        }
    }
    let told = entries.into_iter().map(|(names, (bytes, is_folder))| {
        let end = if is_folder { "/" } else { "" };
        (size(bytes), names.join("/") + end)
    });
    told.collect()
}
