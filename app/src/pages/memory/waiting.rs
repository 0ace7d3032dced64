//! How far the embedding of memories is: one line with a bar above the list, in place of a
//! mark on every row.

use leptos::prelude::*;

use crate::components::{Progress, count, memories};
use crate::view::EmbeddingWait;

const LOOK_SECONDS: u32 = 5;

/// Empty once nothing is pending, so that it can be replaced at any time.
#[component]
pub fn Waiting(waiting: Option<EmbeddingWait>) -> impl IntoView {
    let look_again = waiting.as_ref().map(|_| LOOK_SECONDS);
    let body = waiting.map(|waiting| {
        let done = waiting.total - waiting.pending;
        view! {
            <Progress
                label="Embedding".to_owned()
                done
                failed=0
                total=waiting.total
                line=line(&waiting, done)
            />
        }
    });
    view! {
        <div data-renewed-from="/memory">
            <div class="waiting" data-live="embedding" data-look-again=look_again>
                {body}
            </div>
        </div>
    }
    .into_any()
}

fn line(waiting: &EmbeddingWait, done: i64) -> String {
    let total = memories(waiting.total);
    match &waiting.problem {
        None => format!("Embedding {} of {total}; keyword search works meanwhile", count(done)),
        Some(problem) => format!(
            "{} of {total} not embedded yet; keyword search works meanwhile. {problem}",
            count(waiting.pending)
        ),
    }
}
