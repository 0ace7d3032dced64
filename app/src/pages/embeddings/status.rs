//! Who makes the vectors, how far they are, what search uses meanwhile, and the
//! buttons that start, stop and repeat the work.

use leptos::prelude::*;

use super::PATH;
use crate::components::{
    Effective, Facts, FoldedStep, Progress, SwitchedOff, When, count, memories, rate, some_texts,
    space_facts, texts, time_left, with_code,
};
use crate::view::{EmbeddingCounts, EmbeddingsPage, FailedItem, Rebuild};

/// How often the island looks again: while things move, and while an endpoint is out.
const LOOK_SECONDS: u32 = 1;
const LOOK_SECONDS_IN_TROUBLE: u32 = 5;

#[component]
pub fn Status(page: EmbeddingsPage) -> impl IntoView {
    let look_again = page.is_working().then_some(match page.problem {
        None => LOOK_SECONDS,
        Some(_) => LOOK_SECONDS_IN_TROUBLE,
    });
    let problem = page.problem.clone().map(|problem| {
        view! {
            <p class="problem">
                <strong>"No vectors are being made right now. "</strong>
                {with_code(&problem)}
            </p>
        }
    });
    let missing = page.missing_model.clone().filter(|_| page.problem.is_none()).map(|missing| {
        view! { <p class="problem">{with_code(&missing)} " Until then it makes no embeddings."</p> }
    });
    view! {
        <section
            class="part status"
            data-live="status"
            data-look-again=look_again
            aria-labelledby="effective"
        >
            <Effective effective=page.effective.clone() state=state_of(&page) />
            {missing}
            {problem}
            <HowFar page=page.clone() />
        </section>
    }
    .into_any()
}

fn state_of(page: &EmbeddingsPage) -> &'static str {
    let has_provider = page.effective.model.is_some();
    match page {
        page if !page.is_enabled || !has_provider => "off",
        page if page.problem.is_some() || page.missing_model.is_some() => "waiting",
        page if page.rebuild.is_some() => "rebuilding",
        page if page.counts.ready + page.counts.failed < page.counts.total => "preparing",
        page if page.counts.failed > 0 => "failed",
        _ => "ready",
    }
}

fn failed_of(page: &EmbeddingsPage) -> i64 {
    page.rebuild.as_ref().map_or(page.counts.failed, |rebuild| rebuild.failed)
}

fn all_texts(counts: &EmbeddingCounts) -> String {
    texts(counts.total - counts.from_messages, counts.from_messages)
}

#[component]
fn HowFar(page: EmbeddingsPage) -> impl IntoView {
    let counts = page.counts;
    if let Some(rebuild) = page.rebuild {
        let is_stuck = page.problem.is_some();
        let from_messages = counts.from_messages;
        return view! { <Rebuilding rebuild from_messages is_stuck /> }.into_any();
    }
    if !page.is_enabled || page.effective.model.is_none() {
        return ().into_any();
    }
    if counts.total == 0 {
        return view! {
            <p class="hint">
                "No memories yet. Each is embedded shortly after it is added; "
                <a href="/memory">"Memory"</a> " shows how to begin."
            </p>
        }
        .into_any();
    }
    let mut line = match counts.ready {
        ready if ready == counts.total => format!("All {} ready", all_texts(&counts)),
        ready => format!("{} of {} ready", count(ready), all_texts(&counts)),
    };
    if counts.pending > 0 {
        line += &format!(" · {} pending", count(counts.pending));
    }
    if counts.failed > 0 {
        line += &format!(" · {} failed", count(counts.failed));
    }
    view! {
        <Progress
            label="Embeddings ready".to_owned()
            done=counts.ready
            failed=counts.failed
            total=counts.total
            line
        />
    }
    .into_any()
}

#[component]
fn Rebuilding(rebuild: Rebuild, from_messages: i64, is_stuck: bool) -> impl IntoView {
    let total = some_texts(rebuild.total, from_messages);
    let mut line = format!("{} of {total}", count(rebuild.done));
    if rebuild.failed > 0 {
        line += &format!(" · {} failed", count(rebuild.failed));
    }
    // While nothing moves, a rate of before would mislead.
    if let Some(per_second) = rebuild.rate_per_second.filter(|_| !is_stuck) {
        line += &format!(" · {}", rate(per_second));
    }
    if let Some(seconds) = rebuild.seconds_left.filter(|_| !is_stuck) {
        line += &format!(" · {}", time_left(seconds));
    }
    view! {
        <div class="rebuild">
            <p>
                "Rebuilding with " <bdi class="theme">{rebuild.model}</bdi> " · " {rebuild.provider}
                " · started " <When at=rebuild.started />
            </p>
            <Progress
                label="Rebuild".to_owned()
                done=rebuild.done
                failed=rebuild.failed
                total=rebuild.total
                line
            />
            <form class="actions" method="post" action=PATH>
                <button id="cancel" type="submit" name="action" value="cancel">
                    "Cancel"
                </button>
                <span class="hint">"Deletes the new embeddings; search keeps the old ones."</span>
            </form>
        </div>
    }
    .into_any()
}

/// The first of those that failed, each with its sentence. Apart from the
/// progress, so that nothing moves when the first one fails.
#[component]
pub fn Failures(page: EmbeddingsPage) -> impl IntoView {
    let failed = failed_of(&page);
    let is_shown = failed > 0 && page.is_enabled;
    let title = format!("{} failed", some_texts(failed, page.counts.from_messages));
    let body = is_shown.then(|| failed_list(page.failures, failed, title));
    view! {
        <section
            class="failures"
            class:part=is_shown
            id="failures"
            data-live="failures"
            aria-labelledby=is_shown.then_some("failures-title")
        >
            {body}
        </section>
    }
    .into_any()
}

fn failed_list(failures: Vec<FailedItem>, failed: i64, title: String) -> AnyView {
    let beyond = failed - failures.len() as i64;
    let rows = failures
        .into_iter()
        .map(|item| {
            view! {
                <li>
                    <a href=format!("/memory/{}", item.id) dir="auto">
                        {item.snippet}
                    </a>
                    <p class="hint">{item.error}</p>
                </li>
            }
        })
        .collect_view();
    view! {
        <h2 id="failures-title">{title}</h2>
        <p class="hint">"Found by keyword search only."</p>
        <ul>{rows}</ul>
        <form class="actions" method="post" action=PATH>
            <button id="retry" type="submit" name="action" value="retry">
                "Retry failed"
            </button>
            {(beyond > 0)
                .then(|| {
                    view! {
                        <a href="/memory?status=all&embedding=error">
                            {format!("See all {}", count(failed))}
                        </a>
                    }
                })}
        </form>
    }
    .into_any()
}

/// What search compares with while, and until, new vectors are complete.
#[component]
pub fn Serving(page: EmbeddingsPage) -> impl IntoView {
    let is_empty = page.counts.ready == 0 && page.counts.total > 0;
    let body = match page.serving {
        Some(_) if is_empty => view! {
            <p>"Keyword search only, until the first embeddings are ready."</p>
        }
        .into_any(),
        Some(space) => view! {
            <Facts facts=space_facts("Provider", space) />
        }
        .into_any(),
        None if page.rebuild.is_some() => view! {
            <p>"Keywords, and the embeddings that are ready so far."</p>
        }
        .into_any(),
        None => view! { <p>"Keyword search only: no embeddings."</p> }.into_any(),
    };
    view! {
        <section class="part" data-live="serving" aria-labelledby="serving">
            <h2 id="serving">"Active search index"</h2>
            {body}
        </section>
    }
    .into_any()
}

/// The steps that concern everything: each says what it will do before it does it.
#[component]
pub fn Switches(page: EmbeddingsPage) -> impl IntoView {
    if !page.is_enabled {
        return view! {
            <SwitchedOff
                words="Search uses keywords only. Existing embeddings are kept; missing ones are created when you switch embeddings on."
                path=PATH
                button="Switch embeddings on"
            />
        }
        .into_any();
    }
    let total = page.counts.total;
    let can_rebuild = total > 0 && page.effective.model.is_some();
    let title = if can_rebuild { "Rebuild, or switch off" } else { "Switch off" };
    let rebuild = can_rebuild.then(|| {
        view! {
            <FoldedStep
                summary="Rebuild all embeddings"
                words=format!(
                    "{} will be embedded again by {}, including archived ones. Search uses the old embeddings until the new ones are complete.",
                    all_texts(&page.counts),
                    page.effective.name,
                )
                path=PATH
                action="rebuild"
                button="Rebuild now"
            />
        }
    });
    let keys = (page.without_key > 0 && page.effective.model.is_some()).then(|| {
        let some = memories(page.without_key);
        view! {
            <FoldedStep
                summary=format!("Embed {some} again, with key")
                words=format!(
                    "An earlier version left the key out of the embedding of {some}. {} embeds key and text, of archived ones too. Until that is done, search finds them by keywords only.",
                    page.effective.name,
                )
                path=PATH
                action="embed_keys"
                button="Embed again"
            />
        }
    });
    view! {
        <section class="part" aria-labelledby="switches">
            <h2 id="switches">{title}</h2>
            {keys}
            {rebuild}
            <FoldedStep
                summary="Switch embeddings off"
                words="Search uses keywords only, and nothing is sent to an endpoint. Existing embeddings are kept; a rebuild under way is cancelled."
                path=PATH
                action="disable"
                button="Switch off"
            />
        </section>
    }
    .into_any()
}
