//! Implements rmcp's server interface: server information, tools and prompts, and calling them. Tools come
//! from the registry. A failing tool returns a result with REST's message, which a model can read, not a
//! protocol error.

use std::sync::Arc;

use axum::http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
    CustomResult, DiscoverResult, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, Implementation, InitializeRequestParams, InitializeResult, JsonObject,
    ListPromptsResult, ListToolsResult, MetaObject, PaginatedRequestParams, Prompt, PromptArgument,
    PromptMessage, Role, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::watch;
use tracing::{Instrument, Span};

use crate::accounts::{AgentAccess, ToolProfile};
use crate::tools::{CallInterface, Definition, Registry, ToolError, guidance};
use crate::web::error::Problem;

/// The `_meta` key of a tool error's `{code, field}`. Some clients would check structured content against the
/// tool's output schema.
const PROBLEM_META: &str = "keepsake/problem";

/// The prompt, and the tool behind it.
const RECALL: &str = "recall";
const RECALL_TOOL: &str = "memory_recall";

/// The authenticated caller, or why it cannot be authenticated now.
#[derive(Clone)]
pub struct Caller(pub Result<AgentAccess, Problem>);

/// A tool's arguments, unparsed.
#[derive(Clone)]
pub struct Arguments(pub Option<Box<RawValue>>);

/// The span of the HTTP request.
#[derive(Clone)]
pub struct RequestSpan(pub Span);

/// Signals that the client has disconnected: the sender is dropped.
#[derive(Clone)]
pub struct HungUp(pub watch::Receiver<()>);

#[derive(Clone)]
pub struct Handler {
    registry: Arc<Registry>,
    /// Each with the smallest profile that lists it.
    tools: Arc<Vec<(ToolProfile, Tool)>>,
    server: Arc<Implementation>,
}

impl Handler {
    pub fn new(registry: Arc<Registry>, website: &str) -> Self {
        let tools = registry.definitions();
        let tools = tools.filter_map(|of| Some((of.profile?, tool(of)))).collect();
        let server = Implementation::new("keepsake", env!("CARGO_PKG_VERSION"))
            .with_title("Keepsake")
            .with_description("Long-term memory of a user")
            .with_website_url(website);
        Self { registry, tools: Arc::new(tools), server: Arc::new(server) }
    }

    /// The same guidance as `/api/v1/prompt`; the minimal text if the caller cannot be authenticated.
    async fn instructions(&self, context: &RequestContext<RoleServer>) -> String {
        let parts = context.extensions.get::<Parts>();
        match parts.and_then(|parts| parts.extensions.get::<Caller>()) {
            Some(Caller(Ok(access))) => self.registry.guidance(access).await,
            _ => guidance::UNAVAILABLE.to_owned(),
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_prompts().build())
            .with_server_info((*self.server).clone())
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let instructions = self.instructions(&context).await;
        let result = self.negotiate_initialize(&request)?;
        context.peer.set_peer_info(request);
        Ok(result.with_instructions(instructions))
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let info = self.get_info().with_instructions(self.instructions(&context).await);
        Ok(DiscoverResult::from_server_info(versions, info))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let parts = context.extensions.get::<Parts>();
        let profile = match parts.and_then(|parts| parts.extensions.get::<Caller>()) {
            Some(Caller(Ok(access))) => access.profile,
            _ => ToolProfile::default(),
        };
        let listed = self.tools.iter().filter(|(least, _)| profile.lists(*least));
        let listed = listed.map(|(_, tool)| tool.clone()).collect();
        Ok(ListToolsResult::with_all_items(listed))
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let message = PromptArgument::new("message")
            .with_description("The user's message.")
            .with_required(true);
        let about = "The message, preceded by the memories that are relevant to it.";
        let prompt = Prompt::new(RECALL, Some(about), Some(vec![message]));
        Ok(ListPromptsResult::with_all_items(vec![prompt]))
    }

    /// The recalled memories, followed by the message itself.
    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let refused = |sentence: &str| ErrorData::invalid_params(sentence.to_owned(), None);
        if request.name != RECALL {
            return Err(refused("There is no such prompt here; there is `recall`."));
        }
        let arguments = request.arguments.unwrap_or_default();
        let Some(Value::String(message)) = arguments.get("message") else {
            return Err(refused("`message` is missing; give the user's message."));
        };
        let parts = context.extensions.get::<Parts>();
        let caller = parts.and_then(|parts| parts.extensions.get::<Caller>());
        let Some(Caller(caller)) = caller else {
            return Err(ErrorData::internal_error("Try again in a moment.", None));
        };
        let access = caller.as_ref().map_err(|problem| refused(&problem.detail))?;
        let input = json!({ "message": message }).to_string();
        let called = self.registry.call(CallInterface::Mcp, access, RECALL_TOOL, input.as_bytes());
        let output = called.await.map_err(|error| refused(&Problem::from(error).detail))?;
        let text = match output["section"].as_str().unwrap_or_default() {
            "" => message.clone(),
            section => format!("{section}\n\n{message}"),
        };
        let messages = vec![PromptMessage::new_text(Role::User, text)];
        Ok(GetPromptResult::new(messages).into())
    }

    async fn on_custom_request(
        &self,
        _request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let sentence =
            "There is no such method here; tools/list lists the tools, and tools/call calls one.";
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, sentence, None))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let parts = context.extensions.get::<Parts>();
        let extensions = parts.map(|parts| &parts.extensions);
        let caller = extensions.and_then(|e| e.get::<Caller>());
        let arguments = extensions.and_then(|e| e.get::<Arguments>());
        let (Some(Caller(caller)), Some(Arguments(arguments))) = (caller, arguments) else {
            return Err(ErrorData::internal_error("Try again in a moment.", None));
        };
        let access = match caller {
            Ok(access) => access,
            Err(problem) => return Ok(tool_error(problem).into()),
        };
        let input = arguments.as_ref().map_or("{}", |given| given.get());
        let called =
            self.registry.call(CallInterface::Mcp, access, &request.name, input.as_bytes());
        // rmcp answers in its own task, which has no span and outlives the request.
        let request = extensions.and_then(|e| e.get::<RequestSpan>());
        let request = request.map_or_else(Span::none, |RequestSpan(span)| span.clone());
        let hung_up = extensions.and_then(|e| e.get::<HungUp>()).cloned();
        let hung_up = async {
            match hung_up {
                Some(HungUp(mut other_end)) => drop(other_end.changed().await),
                None => std::future::pending().await,
            }
        };
        let called = tokio::select! {
            called = called.instrument(request) => called,
            // Dropping the call also cancels its statement in the database.
            () = hung_up => return Err(ErrorData::internal_error("The client hung up.", None)),
        };
        match called {
            Ok(output) => Ok(tool_result(output).into()),
            Err(error @ ToolError::UnknownTool { .. }) => {
                let problem = Problem::from(error);
                let document = problem.document();
                Err(ErrorData::invalid_params(problem.detail, Some(document)))
            }
            Err(error) => Ok(tool_error(&Problem::from(error)).into()),
        }
    }
}

/// A text-only result is sent as text, since JSON would escape its lines.
fn tool_result(output: Value) -> CallToolResult {
    let text = output["output"].as_str().map(|text| {
        let note = output["note"].as_str();
        [text].into_iter().chain(note).map(ContentBlock::text).collect()
    });
    let mut result = CallToolResult::structured(output);
    if let Some(text) = text {
        result.content = text;
    }
    result
}

fn tool_error(problem: &Problem) -> CallToolResult {
    let mut about = json!({ "code": problem.code });
    if let Some(field) = &problem.field {
        about["field"] = field.as_str().into();
    }
    let mut meta = MetaObject::default();
    meta.insert(PROBLEM_META.to_owned(), about);
    let words = ContentBlock::text(problem.detail.as_str());
    CallToolResult::error(vec![words]).with_meta(Some(meta))
}

fn tool(definition: &Definition) -> Tool {
    // All tools are idempotent: a known item is not stored again, and an archived one stays archived.
    let annotations = ToolAnnotations::with_title(definition.title)
        .read_only(definition.read_only)
        .destructive(false)
        .idempotent(true)
        .open_world(false);
    Tool::new(definition.name, definition.description, object(definition.parameters()))
        .with_title(definition.title)
        .with_raw_output_schema(object(without_formats(definition.output_schema.clone())))
        .with_annotations(annotations)
}

/// A tool's schema is always an object.
fn object(schema: Value) -> Arc<JsonObject> {
    match schema {
        Value::Object(object) => Arc::new(object),
        _ => Arc::default(),
    }
}

/// Some clients warn about each `format` that they do not know (`int64`).
fn without_formats(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(object) => {
            object.retain(|name, value| name != "format" || !value.is_string());
            for value in object.values_mut() {
                *value = without_formats(value.take());
            }
        }
        Value::Array(values) => {
            for value in values {
                *value = without_formats(value.take());
            }
        }
        _ => {}
    }
    schema
}
