//! `memory_archive`: archive an item without deleting it (Nova §3.2.4).

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::values::WholeNumber;
use super::{Services, Tool, ToolError, lent};
use crate::accounts::Scope;
use crate::activity::RunningCall;
use crate::memories::{self, ItemId, Status};

pub struct MemoryArchive;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArchiveInput {
    /// `id` of a search result.
    #[schemars(range(min = 1))]
    item_id: WholeNumber,
}

#[derive(Serialize, JsonSchema)]
pub struct ArchiveOutput {
    id: i64,
    #[schemars(extend("const" = "archived"))]
    status: &'static str,
}

#[async_trait]
impl Tool for MemoryArchive {
    const NAME: &'static str = "memory_archive";
    const TITLE: &'static str = "Archive a memory";
    const DESCRIPTION: &'static str = "Archive an item: search hides it by default, the user still sees it. If the user \
        confirmed it, the change is only proposed. Only when the user asks to forget it, or it is wrong. \
        Example: {\"item_id\": 42}";
    const SCOPE: Scope = Scope::MemoryWrite;
    const ADDS: bool = false;
    type Input = ArchiveInput;
    type Output = ArchiveOutput;

    async fn run(
        context: &Services,
        call: &RunningCall,
        input: ArchiveInput,
    ) -> Result<ArchiveOutput, ToolError> {
        let id = ItemId(input.item_id.0);
        let archived = memories::archive(&context.db, &context.clock, call, id).await;
        if let Err(error) = archived {
            return Err(lent::refused(context, call, id, error).await);
        }
        Ok(ArchiveOutput { id: id.0, status: Status::Archived.as_str() })
    }

    fn touched(output: &ArchiveOutput) -> Vec<i64> {
        vec![output.id]
    }
}
