//! Which memories are used, and by whom: a grid of agents by themes, the most used and those that were never used.

pub mod load;

use axum::response::Response;
use leptos::prelude::*;

use crate::components::{Marked, Section, When, calls, count, memories};
use crate::page::Page;
use crate::view::{ActivityFilters, MemoryFilters, MemoryLine, ThemeUse, UsagePage};

pub const PATH: &str = "/used";

pub async fn show(page: Page) -> Response {
    let found = page.usage_view(&page.viewer).await;
    page.render(Section::Activity, "Used and unused", PATH, found, move |page| {
        view! { <Whole page /> }.into_any()
    })
    .await
}

#[component]
fn Whole(page: UsagePage) -> impl IntoView {
    let line = match (page.active, page.unused) {
        (0, _) => "No memories yet. The most used memories will be here, and those that no agent has ever used.".to_owned(),
        (_, 0) => "Agents have used every memory at least once.".to_owned(),
        (all, unused) => format!(
            "Of {}, {} {} never used: no agent has found or read {}.",
            memories(all),
            count(unused),
            if unused == 1 { "was" } else { "were" },
            if unused == 1 { "it" } else { "them" },
        ),
    };
    let most = page.most_used.into_iter().map(|(line, uses)| {
        let times = match uses {
            1 => "used once".to_owned(),
            n => format!("used {} times", count(n)),
        };
        (line, times.into_any())
    });
    let never = page.never_used.into_iter().map(|(line, at)| {
        let added = view! { <span>"added " <When at=at /></span> };
        (line, added.into_any())
    });
    let hint = format!(
        "Calls that returned memories of the theme, in the last {} days (at most the newest {} calls), of the ten busiest agents and themes.",
        page.days,
        count(page.counted_max),
    );
    view! {
        <div class="page">
            <p class="back">
                <a href="/activity">
                    <span aria-hidden="true">"← "</span>
                    "Activity"
                </a>
            </p>
            <h1>"Used and unused"</h1>
            <p class="lead">{line}</p>
            <Grid agents=page.agents themes=page.themes hint />
            <div class="side-by-side">
                {list("Most used", most.collect())} {list("Never used, oldest first", never.collect())}
            </div>
        </div>
    }
    .into_any()
}

#[component]
fn Grid(agents: Vec<(i64, String)>, themes: Vec<ThemeUse>, hint: String) -> impl IntoView {
    let most = themes.iter().flat_map(|theme| &theme.calls).max();
    let most = most.copied().unwrap_or(0);
    let heads = agents.iter().map(|(_, name)| {
        view! {
            <th scope="col">
                <bdi>{name.clone()}</bdi>
            </th>
        }
    });
    let heads = heads.collect_view();
    let rows = themes.into_iter().map(|theme| {
        let cells = theme.calls.iter().zip(&agents).map(|(n, (agent, name))| match n {
            0 => view! { <td>"0"</td> }.into_any(),
            n => {
                let label = format!("{}: {name}, {}", calls(*n), theme.name);
                view! {
                    <td data-level=level(*n, most)>
                        <a href=ActivityFilters::of_theme(*agent, &theme.slug).href() aria-label=label>
                            {count(*n)}
                        </a>
                    </td>
                }
                .into_any()
            }
        });
        let cells = cells.collect_view();
        let href = MemoryFilters::default().with_theme(Some(&theme.slug)).href();
        view! {
            <tr>
                <th scope="row">
                    <a href=href>
                        <bdi>{theme.name}</bdi>
                    </a>
                </th>
                {cells}
            </tr>
        }
    });
    let rows = rows.collect_view();
    let body = match agents.is_empty() {
        true => view! { <p class="hint">"No agent has found or read a memory yet."</p> }.into_any(),
        false => view! {
            <p class="hint">{hint}</p>
            <div class="use-grid" tabindex="0" role="group" aria-labelledby="grid-title">
                <table>
                    <thead>
                        <tr>
                            <th scope="col">"Theme"</th>
                            {heads}
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        }
        .into_any(),
    };
    view! {
        <section class="part" aria-labelledby="grid-title">
            <h2 id="grid-title">"Which agent reads which theme"</h2>
            {body}
        </section>
    }
    .into_any()
}

/// 1 to 3, of those that are not 0.
pub fn level(n: i64, most: i64) -> i64 {
    (3 * n - 1) / most.max(1) + 1
}

fn list(heading: &'static str, lines: Vec<(MemoryLine, AnyView)>) -> Option<AnyView> {
    let rows = lines.into_iter().map(|(line, hint)| {
        view! {
            <li>
                <a href=line.href dir="auto">
                    <Marked text=line.text />
                </a>
                <span class="hint">{hint}</span>
            </li>
        }
    });
    let rows: Vec<_> = rows.collect();
    (!rows.is_empty()).then(|| {
        view! {
            <section class="part">
                <h2>{heading}</h2>
                <ol class="lines">{rows}</ol>
            </section>
        }
        .into_any()
    })
}
