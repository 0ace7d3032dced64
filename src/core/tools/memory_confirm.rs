//! `memory_confirm`: confirm that an item is true, so that it does not fade.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::values::WholeNumber;
use super::{Services, Tool, ToolError, lent};
use crate::accounts::Scope;
use crate::activity::RunningCall;
use crate::memories::{self, ItemId, Reconfirmation};

pub struct MemoryConfirm;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfirmInput {
    /// `id` of a search result.
    #[schemars(range(min = 1))]
    item_id: WholeNumber,
}

#[derive(Serialize, JsonSchema)]
pub struct ConfirmOutput {
    id: i64,
    /// It does not fade.
    #[schemars(extend("const" = true))]
    protected: bool,
    #[schemars(extend("const" = 100))]
    confidence: i64,
}

#[async_trait]
impl Tool for MemoryConfirm {
    const NAME: &'static str = "memory_confirm";
    const TITLE: &'static str = "Confirm a memory";
    const DESCRIPTION: &'static str = "Mark an item as certain: confidence 100, no fading. Use it only when the user \
        confirms it. Example: {\"item_id\": 42}";
    const SCOPE: Scope = Scope::MemoryWrite;
    type Input = ConfirmInput;
    type Output = ConfirmOutput;

    async fn run(
        context: &Services,
        call: &RunningCall,
        input: ConfirmInput,
    ) -> Result<ConfirmOutput, ToolError> {
        let id = ItemId(input.item_id.0);
        let confirmed =
            memories::confirm(&context.db, &context.clock, call, id, Reconfirmation::Renews);
        if let Err(error) = confirmed.await {
            return Err(lent::refused(context, call, id, error).await);
        }
        Ok(ConfirmOutput { id: id.0, protected: true, confidence: 100 })
    }

    fn touched(output: &ConfirmOutput) -> Vec<i64> {
        vec![output.id]
    }
}
