//! The REST endpoints of documents: list, read, write, delete (which archives) and clear. Calls are recorded
//! under the tool `memory_files`, which does the same over MCP.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, Request, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{InPath, caller, check_access, read_json, text_of};
use crate::accounts::{ActingFor, AgentAccess, Scope, Viewer};
use crate::activity::RunningCall;
use crate::documents::{
    CONTENT_BYTES_MAX, ChangeAuthor, Document, DocumentError, DocumentPath, Documents,
    ExpectedRevision, FullDocument, LentMemoryName, PATH_CHARS_MAX, check_content,
};
use crate::input::Invalid;
use crate::json::JsonTime;
use crate::memories::projects::PLACE_CHARS_MAX;
use crate::memories::{ProjectRef, Trust, projects};
use crate::quota::estimate;
use crate::redaction::{ScreenedField, SecretWarning, TextDoor};
use crate::tools::{ProjectPlace, ToolError};
use crate::web::AppState;
use crate::web::error::Problem;

/// The name in the activity; the tool has the same body limit.
pub const TOOL: &str = "memory_files";
/// A document of 1 MiB as JSON, where a character may take six bytes.
pub const BODY_BYTES_MAX: usize = 8 * 1024 * 1024;

#[derive(Deserialize, JsonSchema)]
pub struct FolderQuery {
    /// Only documents in this folder and its subfolders.
    #[schemars(with = "String", length(min = 1, max = PATH_CHARS_MAX), example = &"memory")]
    folder: Option<String>,
    /// Only documents of this project and documents without a project. Default: all.
    #[schemars(with = "String", length(max = PLACE_CHARS_MAX), example = &"tidepool")]
    project: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
pub struct RevisionQuery {
    /// Revision to read. Default: the latest.
    #[schemars(with = "i32", range(min = 1, max = i32::MAX), example = 1)]
    revision: Option<i32>,
    /// The project whose document is meant; if it has none at this path, the document without a project. Left out: the document without a project; if there is none, that of any project.
    #[schemars(with = "String", length(max = PLACE_CHARS_MAX), example = &"tidepool")]
    project: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
pub struct ProjectQuery {
    /// The project whose document is meant; if it has none at this path, the document without a project. Left out: the document without a project; if there is none, that of any project.
    #[schemars(with = "String", length(max = PLACE_CHARS_MAX), example = &"tidepool")]
    project: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DocumentRequest {
    /// At most 1 MiB.
    #[schemars(length(max = CONTENT_BYTES_MAX))]
    content: String,
    /// The revision that you read; 0 if the document must not exist. Left out: the document is written unconditionally.
    #[schemars(range(min = 0, max = i32::MAX))]
    revision: Option<i32>,
    /// The document's project. Left out: none. Each project has its own document for a path.
    project: Option<ProjectPlace>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Document")]
pub struct DocumentAnswer {
    id: i64,
    path: String,
    /// Number of the revision, from 1. Each change creates a revision.
    #[schemars(range(min = 0))]
    revision: i32,
    /// Size of the text in bytes.
    #[schemars(range(min = 0))]
    bytes: i32,
    /// Trust class of the author.
    trust: Trust,
    /// The document's project. Omitted if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<String>,
    created_at: JsonTime,
    updated_at: JsonTime,
    /// The team leader or the global pool that shares the document. It is read-only. Omitted for the user's own documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    memory_of: Option<String>,
    /// Possible secrets in the text that was written, or in the path of a new document. Only in the response to a write;
    /// omitted if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<SecretWarning>,
}

#[derive(Serialize, JsonSchema)]
pub struct WholeDocument {
    #[serde(flatten)]
    document: DocumentAnswer,
    content: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Documents")]
pub struct DocumentList {
    documents: Vec<DocumentAnswer>,
}

#[derive(Serialize, JsonSchema)]
pub struct ArchivedDocuments {
    /// Number of archived documents.
    archived: usize,
}

impl DocumentAnswer {
    fn lent((document, memory_of): (Document, LentMemoryName)) -> Self {
        Self { memory_of: memory_of.map(|name| name.to_string()), ..Self::of(document) }
    }

    fn of(document: Document) -> Self {
        Self {
            id: document.id,
            path: document.path.as_str().to_owned(),
            revision: document.revision,
            bytes: document.bytes,
            trust: document.trust,
            project: document.project.map(|project| project.name),
            created_at: JsonTime(document.created_at),
            updated_at: JsonTime(document.updated_at),
            memory_of: None,
            warnings: Vec::new(),
        }
    }
}

impl WholeDocument {
    fn of((whole, memory_of): (FullDocument, LentMemoryName)) -> Self {
        Self { document: DocumentAnswer::lent((whole.document, memory_of)), content: whole.content }
    }
}

pub async fn list(
    access: AgentAccess,
    State(state): State<AppState>,
    params: Result<Query<FolderQuery>, QueryRejection>,
) -> Result<Json<DocumentList>, Problem> {
    check_access(&access, Scope::MemoryRead)?;
    let Query(params) = params.map_err(|_| once("folder"))?;
    let folder = params.folder.map(|text| DocumentPath::parse("folder", &text));
    let folder = folder.transpose()?;
    let viewer = caller(access, &state).await?;
    let documents = of_project(&state, &viewer, params.project).await?;
    let listed = documents.list_for(&viewer, folder.as_ref()).await?;
    Ok(Json(DocumentList { documents: listed.into_iter().map(DocumentAnswer::lent).collect() }))
}

pub async fn show(
    access: AgentAccess,
    State(state): State<AppState>,
    path: InPath,
    params: Result<Query<RevisionQuery>, QueryRejection>,
) -> Result<Json<WholeDocument>, Problem> {
    check_access(&access, Scope::MemoryRead)?;
    let path = parse_path(path)?;
    let Query(params) = params.map_err(|_| once("revision"))?;
    let viewer = caller(access, &state).await?;
    let documents = of_project(&state, &viewer, params.project).await?;
    let call = state.activity.begin(&viewer, TOOL);
    let read = async {
        let Some(revision) = params.revision else {
            return documents.read_for(&viewer, &path).await;
        };
        let of = documents.read_revision_for(&viewer, &path, revision);
        let (whole, memory_of) = of.await?;
        // The size of this revision, not of the latest.
        let document = Document { revision, bytes: whole.content.len() as i32, ..whole.document };
        let content = whole.content;
        Ok((FullDocument { document, content }, memory_of))
    };
    let read = read.await;
    if let Ok((whole, Some(_))) = &read {
        call.read_lent(vec![whole.document.id]);
    }
    let whole = recorded(call, read, |(whole, _)| vec![whole.document.id])?;
    Ok(Json(WholeDocument::of(whole)))
}

pub async fn put(
    access: AgentAccess,
    State(state): State<AppState>,
    path: InPath,
    request: Request,
) -> Result<(StatusCode, Json<DocumentAnswer>), Problem> {
    check_access(&access, Scope::MemoryWrite)?;
    let path = parse_path(path)?;
    let mut sent: DocumentRequest = read_json(request, BODY_BYTES_MAX, b"").await?;
    let expected = match sent.revision {
        None => ExpectedRevision::Any,
        Some(0) => ExpectedRevision::None,
        Some(revision) => ExpectedRevision::Revision(revision),
    };
    let mut project = ProjectPlace::parse(&sent.project)?;
    let viewer = caller(access, &state).await?;
    let call = state.activity.begin(&viewer, TOOL);
    let screened = async {
        let room = estimate(sent.content.len(), 1);
        state.embeddings.quota().take(viewer.user_id, room).await?;
        screen(&state, &viewer, path, (&mut sent.content, project.as_mut()), expected).await
    };
    let (path, warnings) = match screened.await {
        Ok(screened) => screened,
        Err(error) => {
            call.failed(error.code());
            return Err(error.into());
        }
    };
    let made = projects::ensure(&state.db, viewer.user_id, project.as_ref(), state.clock.now());
    let made = match made.await {
        Ok(made) => made.map(|project| project.id),
        Err(error) => {
            let error = ToolError::from(error);
            call.failed(error.code());
            return Err(error.into());
        }
    };
    let (documents, by) = (state.documents.clone().in_project(made), ChangeAuthor::agent(&call));
    let put = documents.put(viewer.user_id, by, &path, &sent.content, expected);
    let put = match put.await {
        Err(error) => Err(documents.refused_for(&viewer, &path, error).await),
        put => put,
    };
    let document = recorded(call, put, |document| vec![document.id])?;
    let status = match document.revision {
        1 => StatusCode::CREATED,
        _ => StatusCode::OK,
    };
    let answer = DocumentAnswer { warnings, ..DocumentAnswer::of(document) };
    Ok((status, Json(answer)))
}

/// Screens the text, and the path unless it only finds a document that is there.
async fn screen(
    state: &AppState,
    viewer: &Viewer,
    path: DocumentPath,
    (content, project): (&mut String, Option<&mut ProjectRef>),
    expected: ExpectedRevision,
) -> Result<(DocumentPath, Vec<SecretWarning>), ToolError> {
    check_content("content", content)?;
    let mut new_path = path.as_str().to_owned();
    let mut fields = vec![ScreenedField::new("content", content)];
    if !matches!(expected, ExpectedRevision::Revision(_)) {
        fields.push(ScreenedField::new("path", &mut new_path));
    }
    fields.extend(project.into_iter().flat_map(ProjectRef::fields));
    let (redactor, door) = (state.embeddings.redactor(), TextDoor::Call);
    let screened = redactor.screen(viewer.user_id, viewer.agent_id, door, &mut fields);
    let warnings = screened.await?;
    Ok((DocumentPath::parse("path", &new_path)?, warnings))
}

pub async fn delete(
    access: AgentAccess,
    State(state): State<AppState>,
    path: InPath,
    params: Result<Query<ProjectQuery>, QueryRejection>,
) -> Result<Json<ArchivedDocuments>, Problem> {
    check_access(&access, Scope::MemoryWrite)?;
    let path = parse_path(path)?;
    let Query(params) = params.map_err(|_| once("project"))?;
    let viewer = known(access)?;
    let documents = of_project(&state, &viewer, params.project).await?;
    let call = state.activity.begin(&viewer, TOOL);
    let by = ChangeAuthor::agent(&call);
    let archived = match documents.archive(viewer.user_id, by, &path).await {
        Err(error) => Err(documents.refused_for(&viewer, &path, error).await),
        archived => archived,
    };
    let archived = recorded(call, archived, |_| Vec::new())?;
    Ok(Json(ArchivedDocuments { archived }))
}

pub async fn clear(
    access: AgentAccess,
    State(state): State<AppState>,
) -> Result<Json<ArchivedDocuments>, Problem> {
    check_access(&access, Scope::MemoryWrite)?;
    let ActingFor::User(viewer) = access.acting_for else {
        return Ok(Json(ArchivedDocuments { archived: 0 }));
    };
    let call = state.activity.begin(&viewer, TOOL);
    let (documents, by) = (&state.documents, ChangeAuthor::agent(&call));
    let archived = documents.clear(viewer.user_id, by).await;
    let archived = recorded(call, archived, |_| Vec::new())?;
    Ok(Json(ArchivedDocuments { archived }))
}

/// Of the project that a query names.
async fn of_project(
    state: &AppState,
    viewer: &Viewer,
    named: Option<String>,
) -> Result<Documents, Problem> {
    let asked = named.map(|text| ProjectRef::parse(&text)).transpose()?.flatten();
    let project = projects::find_known(&state.db, viewer.user_id, asked.as_ref()).await?;
    Ok(state.documents.clone().in_project(project))
}

/// Records the outcome of a read or a failure; a change has recorded itself.
fn recorded<T>(
    call: RunningCall,
    result: Result<T, DocumentError>,
    touched: impl FnOnce(&T) -> Vec<i64>,
) -> Result<T, Problem> {
    match result {
        Ok(done) => {
            call.succeeded(touched(&done), None);
            Ok(done)
        }
        Err(error) => {
            let both = match &error {
                DocumentError::Changed { current, content, .. } => {
                    let both = json!({ "revision": current.revision, "content": content });
                    Some(Box::new(both))
                }
                _ => None,
            };
            let error = ToolError::from(error);
            call.failed(error.code());
            Err(Problem { current: both, ..error.into() })
        }
    }
}

fn parse_path(path: InPath) -> Result<DocumentPath, Invalid> {
    DocumentPath::parse("path", &text_of(path))
}

/// The caller of a deletion, which creates nobody: a user who does not exist yet has no documents.
fn known(access: AgentAccess) -> Result<Viewer, Problem> {
    match access.acting_for {
        ActingFor::User(viewer) => Ok(viewer),
        ActingFor::NewUser(_) => Err(ToolError::from(DocumentError::NotFound).into()),
    }
}

fn once(field: &'static str) -> Invalid {
    let sentence = format!("`{field}` is given once, or left out.");
    Invalid::new(field, "invalid", sentence)
}
