//! Who makes the vectors, how far they are, what search uses meanwhile, and the
//! buttons that start, stop and repeat the work.

use std::sync::Arc;

use leptos::prelude::*;

use super::{EmbeddingsView, PATH, in_words, missing_model, provider_name};
use crate::asked::asked;
use crate::components::{
    EffectiveModel, Facts, FoldedStep, LateView, Progress, SpaceView, SwitchedOff, When, count,
    memories, rate, some_texts, space_facts, time_left, with_code,
};
use crate::embedding::RebuildProgress;
use crate::embedding::model::{FailedEmbedding, Space};
use crate::endpoint::model_name;

/// How often the island looks again: while things move, and while an endpoint is out.
const LOOK_SECONDS: u32 = 1;
const LOOK_SECONDS_IN_TROUBLE: u32 = 5;

#[component]
pub fn Status(page: Arc<EmbeddingsView>) -> impl IntoView {
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
    let missing = page.overview.missing_model.filter(|_| page.problem.is_none()).map(|model| {
        let missing = missing_model(model);
        view! { <p class="problem">{with_code(&missing)} " Until then it makes no embeddings."</p> }
    });
    let effective = page.overview.effective.settings();
    view! {
        <section
            class="part status"
            data-live="status"
            data-look-again=look_again
            aria-labelledby="effective"
        >
            <EffectiveModel
                state=state_of(&page)
                name=page.name
                reason=page.reason.clone()
                endpoint=effective.map(|settings| settings.endpoint.clone())
                dimensions=dimensions_of(&page)
                learned=page.overview.learned.join("; ")
            />
            {missing}
            {problem}
            <HowFar page=page.clone() />
        </section>
    }
    .into_any()
}

/// Of the effective settings, once they have made a vector.
fn dimensions_of(page: &EmbeddingsView) -> Option<i32> {
    let wanted = page.overview.effective.settings()?;
    let building = page.overview.rebuild.as_ref().map(|rebuild| &rebuild.space);
    let mut spaces = [building, page.overview.serving.as_ref()].into_iter().flatten();
    let of_these = |space: &&Space| space.settings.makes_the_vectors_of(wanted);
    spaces.find(of_these).and_then(|space| space.dimensions)
}

fn state_of(page: &EmbeddingsView) -> &'static str {
    let (overview, counts) = (&page.overview, page.overview.counts);
    match page {
        page if !overview.settings.enabled || !page.has_provider() => "off",
        page if page.problem.is_some() || overview.missing_model.is_some() => "waiting",
        _ if overview.rebuild.is_some() => "rebuilding",
        _ if counts.ready + counts.failed < overview.texts.total() => "preparing",
        _ if counts.failed > 0 => "failed",
        _ => "ready",
    }
}

#[component]
fn HowFar(page: Arc<EmbeddingsView>) -> impl IntoView {
    let (counts, texts) = (page.overview.counts, page.overview.texts);
    if let Some(rebuild) = &page.overview.rebuild {
        return rebuilding(rebuild, texts.from_messages, page.problem.is_some());
    }
    if !page.overview.settings.enabled || !page.has_provider() {
        return ().into_any();
    }
    let total = texts.total();
    if total == 0 {
        return view! {
            <p class="hint">
                "No memories yet. Each is embedded shortly after it is added; "
                <a href="/memory">"Memory"</a> " shows how to begin."
            </p>
        }
        .into_any();
    }
    let mut line = match counts.ready {
        ready if ready == total => format!("All {} ready", in_words(texts)),
        ready => format!("{} of {} ready", count(ready), in_words(texts)),
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
            total
            line
        />
    }
    .into_any()
}

fn rebuilding(rebuild: &RebuildProgress, from_messages: i64, is_stuck: bool) -> AnyView {
    let (counts, endpoint) = (rebuild.counts, &rebuild.space.settings.endpoint);
    let total = some_texts(counts.total(), from_messages);
    let mut line = format!("{} of {total}", count(counts.ready));
    if counts.failed > 0 {
        line += &format!(" · {} failed", count(counts.failed));
    }
    // While nothing moves, a rate of before would mislead.
    if let Some(per_second) = rebuild.rate_per_second.filter(|_| !is_stuck) {
        line += &format!(" · {}", rate(per_second));
    }
    if let Some(left) = rebuild.left.filter(|_| !is_stuck) {
        line += &format!(" · {}", time_left(left.whole_seconds()));
    }
    view! {
        <div class="rebuild">
            <p>
                "Rebuilding with " <bdi class="theme">{model_name(endpoint)}</bdi> " · "
                {provider_name(endpoint.provider_type)} " · started "
                <When at=rebuild.started_at />
            </p>
            <Progress
                label="Rebuild".to_owned()
                done=counts.ready
                failed=counts.failed
                total=counts.total()
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
pub fn Failures(page: Arc<EmbeddingsView>) -> impl IntoView {
    let overview = &page.overview;
    let counts = overview.rebuild.as_ref().map_or(overview.counts, |rebuild| rebuild.counts);
    let failed = counts.failed;
    let is_shown = failed > 0 && overview.settings.enabled;
    let title = format!("{} failed", some_texts(failed, overview.texts.from_messages));
    let body = is_shown.then(|| failed_list(overview.failures.clone(), failed, title));
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

fn failed_list(failures: Vec<FailedEmbedding>, failed: i64, title: String) -> AnyView {
    let beyond = failed - failures.len() as i64;
    let rows = failures
        .into_iter()
        .map(|item| {
            view! {
                <li>
                    <a href=format!("/memory/{}", item.item_id) dir="auto">
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
pub fn Serving(page: Arc<EmbeddingsView>) -> impl IntoView {
    let overview = &page.overview;
    let is_empty = overview.counts.ready == 0 && overview.texts.total() > 0;
    let body = match page.serving() {
        Some(_) if is_empty => view! {
            <p>"Keyword search only, until the first embeddings are ready."</p>
        }
        .into_any(),
        Some(space) => view! {
            <Facts facts=space_facts("Provider", space_view(space, page.late())) />
        }
        .into_any(),
        None if overview.rebuild.is_some() => view! {
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

fn space_view(space: &Space, late: Option<LateView>) -> SpaceView {
    let endpoint = &space.settings.endpoint;
    SpaceView {
        provider: provider_name(endpoint.provider_type).to_owned(),
        model: model_name(endpoint),
        dimensions: space.dimensions,
        late,
        since: space.activated_at.unwrap_or(space.created_at),
    }
}

/// The steps that concern everything: each says what it will do before it does it.
#[component]
pub fn Switches(page: Arc<EmbeddingsView>) -> impl IntoView {
    let (overview, name) = (&page.overview, page.name);
    if !overview.settings.enabled {
        return view! {
            <SwitchedOff
                words="Search uses keywords only. Existing embeddings are kept; missing ones are created when you switch embeddings on."
                path=PATH
                button="Switch embeddings on"
            />
        }
        .into_any();
    }
    let can_rebuild = overview.texts.total() > 0 && page.has_provider();
    let title = if can_rebuild { "Rebuild, or switch off" } else { "Switch off" };
    let rebuild = can_rebuild.then(|| {
        view! {
            <FoldedStep
                summary="Rebuild all embeddings"
                words=format!(
                    "{} will be embedded again by {name}, including archived ones. Search uses the old embeddings until the new ones are complete.",
                    in_words(overview.texts),
                )
                path=PATH
                action="rebuild"
                button="Rebuild now"
            />
        }
    });
    let measure = asked().account().filter(|_| can_rebuild).map(|account| {
        let line = format!("keepsake eval --email {}", account.email);
        view! {
            <p class="hint">
                "To measure how well search finds your memories, run " <code>{line}</code>
                " on the server; within a day of a rebuild it compares the old embeddings too."
            </p>
        }
    });
    let keys = (overview.without_key > 0 && page.has_provider()).then(|| {
        let some = memories(overview.without_key);
        view! {
            <FoldedStep
                summary=format!("Embed {some} again, with key")
                words=format!(
                    "An earlier version left the key out of the embedding of {some}. {name} embeds key and text, of archived ones too. Until that is done, search finds them by keywords only.",
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
            {measure}
        </section>
    }
    .into_any()
}
