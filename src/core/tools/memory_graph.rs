//! `memory_graph`: the relations of an entity at a time (GoClaw's `knowledge_graph_search`).

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::values::{DateText, WholeNumber, given, time_zone};
use super::{Services, Tool, ToolError};
use crate::accounts::Scope;
use crate::activity::RunningCall;
use crate::clock::Zone;
use crate::entities::graph::{self, DEPTH_MAX, EdgeKind, GraphEdge, GraphQuery};
use crate::entities::{self, Predicate};
use crate::input::Invalid;
use crate::memories::Day;
use crate::memories::mentions::EntityType;
use crate::memories::mentions::normal::NAME_CHARS_MAX;

pub struct MemoryGraph;

const NODES_MAX: i64 = 50;
const NODES_DEFAULT: i64 = 25;
/// Of the answer as JSON: about 2,000 tokens.
const BYTES_MAX: usize = 7_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphInput {
    /// Name of the entity.
    #[schemars(length(max = NAME_CHARS_MAX))]
    entity: String,
    /// Steps; default 1.
    #[schemars(range(min = 1, max = DEPTH_MAX))]
    depth: Option<WholeNumber>,
    /// Only this relation, such as works_on.
    relation: Option<String>,
    /// True on this date, e.g. 2024-05-17.
    at: Option<DateText>,
    /// Known on this date.
    as_of: Option<DateText>,
    /// Default 25.
    #[schemars(range(min = 1, max = NODES_MAX))]
    limit: Option<WholeNumber>,
}

#[derive(Serialize, JsonSchema)]
pub struct GraphOutput {
    /// The first node is the requested entity.
    nodes: Vec<NodeOut>,
    edges: Vec<EdgeOut>,
    /// The graph was truncated.
    cut: bool,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct NodeOut {
    id: i64,
    name: String,
    #[serde(rename = "type")]
    entity_type: EntityType,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct EdgeOut {
    from: i64,
    to: i64,
    relation: String,
    /// Period, such as "since 2019" or "until May 2024". Omitted if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    when: Option<String>,
    /// Id of the memory that states it. Omitted if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    item_id: Option<i64>,
}

#[async_trait]
impl Tool for MemoryGraph {
    const NAME: &'static str = "memory_graph";
    const TITLE: &'static str = "See what is connected";
    const DESCRIPTION: &'static str = "List what an entity is connected to, now or on another date. \
        Example: {\"entity\": \"Alice\", \"relation\": \"works_on\"}";
    const SCOPE: Scope = Scope::MemoryRead;
    type Input = GraphInput;
    type Output = GraphOutput;

    async fn run(
        context: &Services,
        call: &RunningCall,
        input: GraphInput,
    ) -> Result<GraphOutput, ToolError> {
        let user = call.viewer.user_id;
        let within = |field, given: Option<WholeNumber>, default: i64, most: i64| {
            let n = given.map_or(default, |n| n.0);
            (1..=most).contains(&n).then_some(n).ok_or_else(|| {
                let sentence = format!("`{field}` is {n}; 1 to {most} are accepted.");
                Invalid::new(field, "out_of_range", sentence)
            })
        };
        let depth = within("depth", input.depth, 1, DEPTH_MAX.into())?;
        let limit = within("limit", input.limit, NODES_DEFAULT, NODES_MAX)?;
        let predicate = given(&input.relation).map(parse_predicate).transpose()?;
        let now = context.clock.now();
        let zone = time_zone(&context.db, user).await?;
        let day = Day::parse(&zone, DateText::text(&input.as_of), DateText::text(&input.at), now)?;
        let center = entities::find_named(&context.search, user, &input.entity).await?;
        let query = GraphQuery {
            around: Some(center),
            depth: depth as u8,
            types: Vec::new(),
            predicate,
            at: day.at.or(day.as_of).unwrap_or(now),
            as_of: day.as_of,
            with_together: false,
            limit: limit as usize,
        };
        let found = graph::read(&context.db, user, &query).await?;
        let mut output = GraphOutput {
            cut: found.is_cut || found.nodes.len() < found.nodes_total,
            edges: found.edges.iter().map(|edge| EdgeOut::new(edge, &zone)).collect(),
            nodes: found
                .nodes
                .into_iter()
                .map(|node| NodeOut {
                    id: node.id.0,
                    name: node.name,
                    entity_type: node.entity_type,
                })
                .collect(),
        };
        // Drops the last nodes and their edges until the answer fits.
        while serde_json::to_vec(&output)?.len() > BYTES_MAX && output.nodes.len() > 1 {
            let keep = output.nodes.len() * 3 / 4;
            output.nodes.truncate(keep.max(1));
            let told: Vec<i64> = output.nodes.iter().map(|node| node.id).collect();
            output.edges.retain(|e| told.contains(&e.from) && told.contains(&e.to));
            output.cut = true;
        }
        Ok(output)
    }

    fn touched(output: &GraphOutput) -> Vec<i64> {
        let mut items: Vec<i64> = output.edges.iter().filter_map(|edge| edge.item_id).collect();
        items.sort_unstable();
        items.dedup();
        items
    }
}

fn parse_predicate(text: &str) -> Result<Predicate, Invalid> {
    Predicate::parse(text).ok_or_else(|| {
        let known: Vec<&str> = Predicate::all().map(Predicate::as_str).collect();
        let sentence = format!("`relation` is unknown; give one of {}.", known.join(", "));
        Invalid::new("relation", "unknown_relation", sentence)
    })
}

impl EdgeOut {
    fn new(edge: &GraphEdge, zone: &Zone) -> Self {
        let (when, item_id) = match &edge.tie {
            EdgeKind::Relation { period, item, .. } => {
                let when = Some(period.told(zone)).filter(|when| !when.is_empty());
                (when, *item)
            }
            EdgeKind::Together(_) => (None, None),
        };
        Self { from: edge.from.0, to: edge.to.0, relation: edge.in_words(), when, item_id }
    }
}
