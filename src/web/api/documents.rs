//! The REST endpoints of documents: list, read, write, delete (which archives) and clear. Calls are recorded
//! under the tool `memory_files`, which does the same over MCP.

use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, Request, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::json;
use time::OffsetDateTime;

use super::tools::{check_content_type, read_body_to};
use crate::accounts::{ActingFor, AgentAccess, Scope, Viewer};
use crate::activity::Call;
use crate::documents::{
    By, Document, DocumentError, DocumentPath, Documents, Expected, MemoryOf, Whole,
};
use crate::input::Invalid;
use crate::tools::{ToolError, parse_for};
use crate::web::AppState;
use crate::web::error::Problem;

/// The name in the activity; the tool has the same body limit.
pub const TOOL: &str = "memory_files";
/// A document of 1 MiB as JSON, where a character may take six bytes.
pub const BODY_BYTES_MAX: usize = 8 * 1024 * 1024;

type Named = Result<Path<String>, PathRejection>;

#[derive(Deserialize)]
pub struct ListParams {
    folder: Option<String>,
}

#[derive(Deserialize)]
pub struct ReadParams {
    revision: Option<i32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PutIn {
    content: String,
    /// That was read; 0: there is none yet.
    revision: Option<i32>,
}

#[derive(Serialize)]
pub struct DocumentOut {
    id: i64,
    path: String,
    revision: i32,
    bytes: i32,
    trust: &'static str,
    #[serde(with = "time::serde::rfc3339")]
    created_at: OffsetDateTime,
    #[serde(with = "time::serde::rfc3339")]
    updated_at: OffsetDateTime,
    /// Who lends it; left out of one's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_of: Option<String>,
}

#[derive(Serialize)]
pub struct WholeOut {
    #[serde(flatten)]
    document: DocumentOut,
    content: String,
}

#[derive(Serialize)]
pub struct ListOut {
    documents: Vec<DocumentOut>,
}

#[derive(Serialize)]
pub struct ArchivedOut {
    archived: usize,
}

impl DocumentOut {
    fn lent((document, memory_of): (Document, MemoryOf)) -> Self {
        Self {
            memory_of: memory_of.map(|name| name.to_string()),
            ..Self::of(document)
        }
    }

    fn of(document: Document) -> Self {
        Self {
            id: document.id,
            path: document.path.as_str().to_owned(),
            revision: document.revision,
            bytes: document.bytes,
            trust: document.trust.as_str(),
            created_at: document.created_at,
            updated_at: document.updated_at,
            memory_of: None,
        }
    }
}

impl WholeOut {
    fn of((whole, memory_of): (Whole, MemoryOf)) -> Self {
        Self {
            document: DocumentOut::lent((whole.document, memory_of)),
            content: whole.content,
        }
    }
}

pub async fn list(
    access: AgentAccess,
    State(state): State<AppState>,
    params: Result<Query<ListParams>, QueryRejection>,
) -> Result<Json<ListOut>, Problem> {
    check_access(&access, Scope::MemoryRead)?;
    let Query(params) = params.map_err(|_| once("folder"))?;
    let folder = params
        .folder
        .map(|text| DocumentPath::parse("folder", &text));
    let folder = folder.transpose()?;
    let documents = match &access.acting_for {
        ActingFor::User(viewer) => {
            let documents = documents(&state);
            documents.list_for(viewer, folder.as_ref()).await?
        }
        ActingFor::NewUser(_) => Vec::new(),
    };
    Ok(Json(ListOut {
        documents: documents.into_iter().map(DocumentOut::lent).collect(),
    }))
}

pub async fn show(
    access: AgentAccess,
    State(state): State<AppState>,
    path: Named,
    params: Result<Query<ReadParams>, QueryRejection>,
) -> Result<Json<WholeOut>, Problem> {
    check_access(&access, Scope::MemoryRead)?;
    let path = parse_path(path)?;
    let Query(params) = params.map_err(|_| once("revision"))?;
    let viewer = known(access)?;
    let (documents, call) = (documents(&state), state.activity.begin(&viewer, TOOL));
    let read = async {
        let Some(revision) = params.revision else {
            return documents.read_for(&viewer, &path).await;
        };
        let of = documents.read_revision_for(&viewer, &path, revision);
        let (whole, memory_of) = of.await?;
        // The size of this revision, not of the latest.
        let document = Document {
            revision,
            bytes: whole.content.len() as i32,
            ..whole.document
        };
        let content = whole.content;
        Ok((Whole { document, content }, memory_of))
    };
    let read = read.await;
    if let Ok((whole, Some(_))) = &read {
        call.read_lent(vec![whole.document.id]);
    }
    let whole = told(call, read, |(whole, _)| vec![whole.document.id])?;
    Ok(Json(WholeOut::of(whole)))
}

pub async fn put(
    access: AgentAccess,
    State(state): State<AppState>,
    path: Named,
    request: Request,
) -> Result<(StatusCode, Json<DocumentOut>), Problem> {
    check_access(&access, Scope::MemoryWrite)?;
    let path = parse_path(path)?;
    let (parts, body) = request.into_parts();
    let body = read_body_to(body, BODY_BYTES_MAX).await?;
    check_content_type(&parts.headers, &body)?;
    let sent: PutIn = parse_for("what is sent here", &body)?;
    let expected = match sent.revision {
        None => Expected::Any,
        Some(0) => Expected::None,
        Some(revision) => Expected::Revision(revision),
    };
    let viewer = match access.acting_for {
        ActingFor::User(viewer) => viewer,
        // As for tools: only a call that passed all checks creates a user.
        ActingFor::NewUser(user) => {
            let made = state.accounts.make_user(&user).await?;
            made.map_err(ToolError::from)?
        }
    };
    let call = state.activity.begin(&viewer, TOOL);
    let (documents, by) = (documents(&state), By::agent(&call));
    let put = documents.put(viewer.user_id, by, &path, &sent.content, expected);
    let put = match put.await {
        Err(error) => Err(documents.refused_for(&viewer, &path, error).await),
        put => put,
    };
    let document = told(call, put, |document| vec![document.id])?;
    let status = match document.revision {
        1 => StatusCode::CREATED,
        _ => StatusCode::OK,
    };
    Ok((status, Json(DocumentOut::of(document))))
}

pub async fn delete(
    access: AgentAccess,
    State(state): State<AppState>,
    path: Named,
) -> Result<Json<ArchivedOut>, Problem> {
    check_access(&access, Scope::MemoryWrite)?;
    let path = parse_path(path)?;
    let viewer = known(access)?;
    let call = state.activity.begin(&viewer, TOOL);
    let (documents, by) = (documents(&state), By::agent(&call));
    let archived = match documents.archive(viewer.user_id, by, &path).await {
        Err(error) => Err(documents.refused_for(&viewer, &path, error).await),
        archived => archived,
    };
    let archived = told(call, archived, |_| Vec::new())?;
    Ok(Json(ArchivedOut { archived }))
}

pub async fn clear(
    access: AgentAccess,
    State(state): State<AppState>,
) -> Result<Json<ArchivedOut>, Problem> {
    check_access(&access, Scope::MemoryWrite)?;
    let ActingFor::User(viewer) = access.acting_for else {
        return Ok(Json(ArchivedOut { archived: 0 }));
    };
    let call = state.activity.begin(&viewer, TOOL);
    let (documents, by) = (documents(&state), By::agent(&call));
    let archived = documents.clear(viewer.user_id, by).await;
    let archived = told(call, archived, |_| Vec::new())?;
    Ok(Json(ArchivedOut { archived }))
}

fn documents(state: &AppState) -> Documents {
    Documents::new(state.db.clone(), state.embeddings.clone())
}

/// Records the outcome of a read or a failure; a change has recorded itself.
fn told<T>(
    call: Call,
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
                DocumentError::Changed {
                    current, content, ..
                } => {
                    let both = json!({ "revision": current.revision, "content": content });
                    Some(Box::new(both))
                }
                _ => None,
            };
            let error = ToolError::from(error);
            call.failed(error.code());
            Err(Problem {
                current: both,
                ..error.into()
            })
        }
    }
}

fn check_access(access: &AgentAccess, scope: Scope) -> Result<(), ToolError> {
    if let Some(of) = access.memory_off {
        return Err(ToolError::MemoryOff(of));
    }
    if !access.scopes.contains(&scope) {
        return Err(ToolError::MissingScope(scope));
    }
    Ok(())
}

fn parse_path(path: Named) -> Result<DocumentPath, Invalid> {
    // A path that is not valid Unicode is as invalid as an empty one.
    let path = path.map_or_else(|_| String::new(), |Path(path)| path);
    DocumentPath::parse("path", &path)
}

/// The caller, for requests that create nothing: a user who does not exist yet has no documents.
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
