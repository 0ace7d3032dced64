//! The tool registry: each tool is defined once, in its own file, and every interface calls it through
//! [`Registry::call`]. A tool has a name, a description for models, a typed input and output whose JSON
//! Schemas are derived, and a run function.
//!
//! To add one: copy the most similar file and add it to [`Registry::new`] with the smallest profile that
//! lists it, or none: each listed tool costs tokens in every conversation.

mod connector_fetch;
mod connector_search;
mod error;
pub mod guidance;
mod input;
mod lent;
mod memory;
mod memory_add;
mod memory_archive;
mod memory_confirm;
mod memory_correct;
mod memory_describe_theme;
mod memory_entity;
mod memory_files;
mod memory_forget;
mod memory_get;
mod memory_graph;
mod memory_list_themes;
mod memory_recall;
mod memory_search;
mod memory_stats;
mod memory_summary;
mod note;
mod project;
mod secrets;
mod values;

use std::time::Instant;

use async_trait::async_trait;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tracing::Instrument;

use crate::accounts::ToolProfile::{self, Connector, Core, Full, Single};
use crate::accounts::{ActingFor, AgentAccess, Scope};
use crate::activity::RunningCall;
use crate::db::actor;
use crate::db::{UserId, labels};
use crate::metrics;
use crate::quota::estimate;
use crate::services::Services;
pub use error::ToolError;
pub use input::{NOT_AN_OBJECT, ReadInput, parse_for, read_input};
pub use project::ProjectPlace;

labels! {
    /// The interface through which a call came.
    pub enum CallInterface {
        Rest = "rest",
        Mcp = "mcp",
    }
}

/// Recorded instead of an unknown tool's name, since that is arbitrary client text.
const UNKNOWN_TOOL: &str = "unknown";
const DATABASE_UNAVAILABLE: &str = "database_unavailable";

/// A tool, as its file defines it.
#[async_trait]
trait Tool: Send + Sync + 'static {
    const NAME: &'static str;
    /// For people.
    const TITLE: &'static str;
    /// For a model: when to use it, when not, an example.
    const DESCRIPTION: &'static str;
    const SCOPE: Scope;
    const READ_ONLY: bool = matches!(Self::SCOPE, Scope::MemoryRead);
    /// Some calls add to the memory.
    const ADDS: bool = !Self::READ_ONLY;
    /// Arguments that are hidden from models to save tokens.
    const FOR_SCRIPTS: &'static [&'static str] = &[];
    type Input: DeserializeOwned + JsonSchema + Send;
    type Output: Serialize + JsonSchema;

    /// A tool that writes passes `call` on, so that it is recorded in the same transaction.
    async fn run(
        context: &Services,
        call: &RunningCall,
        input: Self::Input,
    ) -> Result<Self::Output, ToolError>;

    /// The scope of this call, if it needs more than [`Self::SCOPE`].
    fn needs(_input: &Self::Input) -> Scope {
        Self::SCOPE
    }

    /// Limits of this write's texts, before they are screened.
    fn check(_input: &Self::Input) -> Result<(), ToolError> {
        Ok(())
    }

    /// Whether this call adds anything; if not, it is done past the user's storage limit too.
    fn adds(_input: &Self::Input) -> bool {
        Self::ADDS
    }

    /// Arguments of this write that only find what is stored; all others are screened for secrets.
    fn not_stored(_input: &Self::Input) -> &'static [&'static str] {
        &[]
    }

    /// Items that were returned, added or archived.
    fn touched(output: &Self::Output) -> Vec<i64>;

    /// The search query for the activity, which is stored only if the user allows it.
    fn query(_input: &Self::Input) -> Option<&str> {
        None
    }
}

/// The result of a successful call.
struct ToolAnswer {
    output: Value,
    touched: Vec<i64>,
    query: Option<String>,
}

/// A tool in the registry, with its types erased.
#[async_trait]
trait AnyTool: Send + Sync {
    fn definition(&self) -> &Definition;
    /// Validates the types of the input, and the scope that it needs.
    fn check(&self, access: &AgentAccess, input: &[u8]) -> Result<(), ToolError>;
    async fn call(
        &self,
        context: &Services,
        access: &AgentAccess,
        call: &RunningCall,
        input: &[u8],
    ) -> Result<ToolAnswer, ToolError>;
}

/// Definition of a tool.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Tool")]
pub struct Definition {
    pub name: &'static str,
    #[serde(skip)]
    pub title: &'static str,
    pub description: &'static str,
    pub read_only: bool,
    /// A call may add to the memory, which needs room.
    #[serde(skip)]
    pub adds: bool,
    #[serde(skip)]
    pub scope: Scope,
    /// The smallest profile that lists it; `None`: no profile does, but scripts may call it.
    #[serde(skip)]
    pub profile: Option<ToolProfile>,
    /// See [`Tool::FOR_SCRIPTS`].
    #[serde(skip)]
    pub for_scripts: &'static [&'static str],
    #[schemars(with = "InlinedSchema")]
    pub input_schema: Value,
    #[schemars(with = "InlinedSchema")]
    pub output_schema: Value,
}

/// A JSON Schema (2020-12) of an object, without references.
#[derive(JsonSchema)]
#[schemars(rename = "JsonSchema")]
pub struct InlinedSchema(pub serde_json::Map<String, Value>);

/// Parts of a schema that models do not need: they cannot count characters, and the server's error names an
/// exceeded limit.
const NOT_FOR_MODELS: [&str; 5] = ["format", "minLength", "maxLength", "minItems", "maxItems"];

impl Definition {
    /// The input schema for function-calling models, as short as possible to save tokens. A nullable field
    /// becomes an optional one.
    pub fn parameters(&self) -> Value {
        let mut schema = self.input_schema.clone();
        if let Some(properties) = schema["properties"].as_object_mut() {
            properties.retain(|name, _| !self.for_scripts.contains(&name.as_str()));
            properties.values_mut().for_each(shorten);
        }
        schema
    }
}

fn shorten(schema: &mut Value) {
    let Some(schema) = schema.as_object_mut() else {
        return;
    };
    schema.retain(|name, _| !NOT_FOR_MODELS.contains(&name.as_str()));
    let is_null = |value: &Value| value.is_null() || value == "null";
    for name in ["type", "enum"] {
        if let Some(Value::Array(values)) = schema.get_mut(name) {
            values.retain(|value| !is_null(value));
        }
    }
    if let Some(Value::Array(types)) = schema.get("type")
        && let [only] = types.as_slice()
    {
        let only = only.clone();
        schema.insert("type".to_owned(), only);
    }
    if let Some(items) = schema.get_mut("items") {
        shorten(items);
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().for_each(shorten);
        // The server ignores unknown properties, and says so.
        schema.remove("additionalProperties");
    }
}

struct Registered<T> {
    definition: Definition,
    tool: std::marker::PhantomData<fn() -> T>,
}

#[async_trait]
impl<T: Tool> AnyTool for Registered<T> {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn check(&self, access: &AgentAccess, input: &[u8]) -> Result<(), ToolError> {
        self.parse(access, input).map(drop)
    }

    async fn call(
        &self,
        context: &Services,
        access: &AgentAccess,
        call: &RunningCall,
        input: &[u8],
    ) -> Result<ToolAnswer, ToolError> {
        let (read, mut parsed, needed) = self.parse(access, input)?;
        let mut warnings = Vec::new();
        if needed != Scope::MemoryRead {
            actor::require_team_writes();
            T::check(&parsed)?;
            if T::adds(&parsed) {
                let room = estimate(input.len(), 1);
                context.embeddings.quota().take(call.viewer.user_id, room).await?;
            }
            let not_stored = T::not_stored(&parsed);
            let screened = secrets::screen(context, call, &read.value, not_stored).await?;
            if let Some((changed, found)) = screened {
                parsed = input::typed(&self.definition.input_schema, &changed)?;
                warnings = found;
            }
        }
        let query = T::query(&parsed).map(str::to_owned);
        let output = T::run(context, call, parsed).await?;
        let touched = T::touched(&output);
        let output = secrets::with_warnings(serde_json::to_value(output)?, &warnings)?;
        Ok(ToolAnswer { touched, output: note::with_note(output, read.note), query })
    }
}

impl<T: Tool> Registered<T> {
    /// The input, and the scope that it needs, which the caller has.
    fn parse(
        &self,
        access: &AgentAccess,
        input: &[u8],
    ) -> Result<(ReadInput, T::Input, Scope), ToolError> {
        let schema = &self.definition.input_schema;
        let read = read_input(schema, input)?;
        let parsed = input::typed(schema, &read.value)?;
        let needed = T::needs(&parsed);
        access.require(needed).map_err(ToolError::MissingScope)?;
        Ok((read, parsed, needed))
    }
}

/// All tools, by name.
pub struct Registry {
    tools: Vec<Box<dyn AnyTool>>,
    context: Services,
    guidance: guidance::Guidance,
}

impl Registry {
    pub fn new(context: Services) -> Self {
        let tools = vec![
            register::<memory_search::MemorySearch>(Core),
            register::<memory_add::MemoryAdd>(Core),
            register::<memory_get::MemoryGet>(Core),
            register::<memory_archive::MemoryArchive>(Core),
            register::<memory_list_themes::MemoryListThemes>(Core),
            register::<memory_correct::MemoryCorrect>(Full),
            register::<memory_confirm::MemoryConfirm>(Full),
            register::<memory_forget::MemoryForget>(Full),
            register::<memory_describe_theme::MemoryDescribeTheme>(None),
            register::<memory_stats::MemoryStats>(Full),
            register::<memory_summary::MemorySummary>(Full),
            register::<memory_entity::MemoryEntity>(Full),
            register::<memory_graph::MemoryGraph>(Full),
            register::<memory_files::MemoryFiles>(Full),
            register::<memory_recall::MemoryRecall>(None),
            register::<memory::Memory>(Single),
            register::<connector_search::ConnectorSearch>(Connector),
            register::<connector_fetch::ConnectorFetch>(Connector),
        ];
        Self { tools, context, guidance: guidance::Guidance::new() }
    }

    /// In the order in which an agent should read them.
    pub fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.tools.iter().map(|tool| tool.definition())
    }

    /// The tools that a profile lists. An agent may also call the others within its scopes: profiles only
    /// keep lists short, and scripts need no list.
    pub fn listed(&self, profile: ToolProfile) -> impl Iterator<Item = &Definition> {
        self.definitions()
            .filter(move |tool| tool.profile.is_some_and(|least| profile.lists(least)))
    }

    /// The text for an agent's prompt: instructions and the largest themes, which may be a minute
    /// old; less if the agent may see less.
    pub async fn guidance(&self, access: &AgentAccess) -> String {
        let told = self.guidance.of(&self.context, access);
        self.on_authority_of(access, told).await
    }

    /// The agent's `MEMORY.md` as data, to follow the guidance; `None` if there is no such file.
    ///
    /// # Errors
    /// Database errors.
    pub async fn memory_file(&self, access: &AgentAccess) -> Result<Option<String>, ToolError> {
        guidance::memory_file(&self.context, access).await
    }

    /// Removes a user who is being erased from all caches.
    pub fn forget(&self, user: UserId) {
        self.guidance.forget(user);
        self.context.embeddings.forget(user);
    }

    /// Sets the acting caller here, since MCP answers in its own tasks, outside the request's scope.
    async fn on_authority_of<T>(&self, access: &AgentAccess, work: impl Future<Output = T>) -> T {
        let actor = Some(access.actor.clone());
        actor::scope(actor, &self.context.clock, work).await.0
    }

    fn names(&self) -> Vec<&'static str> {
        self.definitions().map(|tool| tool.name).collect()
    }

    /// Runs a tool for an agent, and records the call. `input` is the JSON text as received.
    pub async fn call(
        &self,
        door: CallInterface,
        access: &AgentAccess,
        name: &str,
        input: &[u8],
    ) -> Result<Value, ToolError> {
        let named =
            self.tools.iter().map(|tool| &**tool).find(|tool| tool.definition().name == name);
        let known_name = named.map_or(UNKNOWN_TOOL, |tool| tool.definition().name);
        let door = door.as_str();
        let began = Instant::now();
        let run = self.run(access, named, known_name, input).instrument(tracing::error_span!(
            "tool",
            tool = known_name,
            door
        ));
        let called = self.on_authority_of(access, run).await;
        let outcome = called.as_ref().map_or_else(ToolError::code, |_| "ok");
        metrics::tool_called(known_name, door, outcome, began.elapsed());
        called
    }

    async fn run(
        &self,
        access: &AgentAccess,
        named: Option<&dyn AnyTool>,
        known_name: &'static str,
        input: &[u8],
    ) -> Result<Value, ToolError> {
        let viewer = match &access.acting_for {
            ActingFor::User(viewer) => viewer.clone(),
            ActingFor::NewUser(user) => {
                // A call that is refused here creates no user and is not recorded.
                let tool = self.permitted(access, named)?;
                tool.check(access, input)?;
                self.context.accounts.make_user(user).await??
            }
        };
        let is_read = named.is_none_or(|tool| tool.definition().read_only);
        let call = self.context.activity.begin(&viewer, known_name);
        match self.answer(access, named, &call, input).await {
            Ok(answer) => {
                let query = answer.query.filter(|_| access.keeps_queries);
                call.succeeded(answer.touched, query.as_deref());
                Ok(answer.output)
            }
            Err(error) => {
                match error.code() {
                    // It is unknown whether such a call changed anything.
                    DATABASE_UNAVAILABLE if !is_read => call.ended_unknown(),
                    code => call.failed(code),
                }
                Err(error)
            }
        }
    }

    async fn answer(
        &self,
        access: &AgentAccess,
        named: Option<&dyn AnyTool>,
        call: &RunningCall,
        input: &[u8],
    ) -> Result<ToolAnswer, ToolError> {
        let tool = self.permitted(access, named)?;
        tool.call(&self.context, access, call, input).await
    }

    /// The tool, if it exists and the caller may call it.
    fn permitted<'t>(
        &self,
        access: &AgentAccess,
        named: Option<&'t dyn AnyTool>,
    ) -> Result<&'t dyn AnyTool, ToolError> {
        let tool =
            named.ok_or_else(|| ToolError::UnknownTool { known: self.names().join(", ") })?;
        if let Some(of) = access.memory_off {
            return Err(ToolError::MemoryOff(of));
        }
        let scope = tool.definition().scope;
        access.require(scope).map_err(ToolError::MissingScope)?;
        Ok(tool)
    }
}

fn register<T: Tool>(profile: impl Into<Option<ToolProfile>>) -> Box<dyn AnyTool> {
    Box::new(Registered::<T> {
        definition: Definition {
            name: T::NAME,
            title: T::TITLE,
            description: T::DESCRIPTION,
            read_only: T::READ_ONLY,
            adds: T::ADDS,
            scope: T::SCOPE,
            profile: profile.into(),
            for_scripts: T::FOR_SCRIPTS,
            input_schema: schema_of::<T::Input>(SchemaSettings::draft2020_12()),
            output_schema: note::schema_with_note(match T::READ_ONLY {
                true => schema_of::<T::Output>(SchemaSettings::draft2020_12().for_serialize()),
                false => secrets::schema_with_warnings::<T::Output>(),
            }),
        },
        tool: std::marker::PhantomData,
    })
}

/// Without `$schema` and references, which not every client supports.
pub fn schema_of<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let settings = settings.with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("title");
        // OpenAI rejects an object schema without `properties`, even if it has none.
        if object.get("type").is_some_and(|kind| kind == "object") {
            object.entry("properties").or_insert(json!({}));
        }
    }
    schema
}
