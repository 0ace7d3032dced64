//! Which memories are used, and by whom: a grid of agents by themes, the most used and those that were never used.

use axum::response::Response;
use leptos::prelude::*;

use crate::activity::{
    BEGINNING_CHARS, KEPT_DAYS, MemoryUsage, READS_COUNTED_MAX, ThemeReads, UsedItem,
};
use crate::address::{ActivityFilters, MemoryFilters};
use crate::components::{Marked, Section, When, calls, count, memories};
use crate::page::{Page, database};
use crate::words::{beginning, used};

pub const PATH: &str = "/used";

pub async fn show(page: Page) -> Response {
    let tools = page.state.registry.definitions();
    let tools = tools.filter(|tool| tool.read_only).map(|tool| tool.name.to_owned());
    let tools: Vec<String> = tools.collect();
    let usage = page.state.activity.usage(page.viewer.user_id, &tools).await;
    let usage = usage.map_err(database);
    page.render(Section::Activity, "Used and unused", PATH, usage, move |usage| {
        view! { <UsagePage usage /> }.into_any()
    })
    .await
}

#[component]
fn UsagePage(usage: MemoryUsage) -> impl IntoView {
    let line = match (usage.active, usage.unused) {
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
    let most = usage.most_used.into_iter().map(|item| {
        let times = used(item.uses).into_any();
        (item, times)
    });
    let never = usage.never_used.into_iter().map(|item| {
        let added = view! { <span>"added " <When at=item.created_at /></span> };
        (item, added.into_any())
    });
    let hint = format!(
        "Calls that returned memories of the theme, in the last {} days (at most the newest {} calls), of the ten busiest agents and themes.",
        KEPT_DAYS,
        count(READS_COUNTED_MAX),
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
            <Grid reads=usage.reads hint />
            <div class="side-by-side">
                {list("Most used", most.collect())} {list("Never used, oldest first", never.collect())}
            </div>
        </div>
    }
    .into_any()
}

#[component]
fn Grid(reads: Vec<ThemeReads>, hint: String) -> impl IntoView {
    let (agents, themes) = grid(&reads);
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

/// A row of the grid.
struct ThemeUse {
    slug: String,
    name: String,
    /// Calls of each agent, in their order.
    calls: Vec<i64>,
}

/// Agents by id and name, and a row for each theme; both the busiest first.
fn grid(reads: &[ThemeReads]) -> (Vec<(i64, String)>, Vec<ThemeUse>) {
    let (mut agents, mut themes) = (Vec::new(), Vec::new());
    for one in reads {
        add(&mut agents, (one.agent, &one.agent_name), one.calls);
        add(&mut themes, (&one.theme, &one.theme_name), one.calls);
    }
    for_busiest(&mut agents);
    for_busiest(&mut themes);
    let calls = |agent: i64, theme: &str| {
        let of = |one: &&ThemeReads| one.agent == agent && one.theme == theme;
        reads.iter().find(of).map_or(0, |one| one.calls)
    };
    let row = |((slug, name), _): ((&String, &String), i64)| ThemeUse {
        calls: agents.iter().map(|((agent, _), _)| calls(*agent, slug)).collect(),
        slug: slug.clone(),
        name: name.clone(),
    };
    let themes = themes.into_iter().map(row).collect();
    let agents = agents.iter().map(|((id, name), _)| (*id, (*name).clone()));
    (agents.collect(), themes)
}

fn add<K: PartialEq>(totals: &mut Vec<(K, i64)>, key: K, calls: i64) {
    match totals.iter_mut().find(|(known, _)| *known == key) {
        Some((_, total)) => *total += calls,
        None => totals.push((key, calls)),
    }
}

fn for_busiest<K: Ord>(totals: &mut [(K, i64)]) {
    totals.sort_by(|(one, n), (other, m)| m.cmp(n).then_with(|| one.cmp(other)));
}

/// 1 to 3, of those that are not 0.
fn level(n: i64, most: i64) -> i64 {
    (3 * n - 1) / most.max(1) + 1
}

fn list(heading: &'static str, items: Vec<(UsedItem, AnyView)>) -> Option<AnyView> {
    let rows = items.into_iter().map(|(item, hint)| {
        view! {
            <li>
                <a href=format!("/memory/{}", item.id) dir="auto">
                    <Marked text=beginning(item.beginning, BEGINNING_CHARS) />
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_has_the_busiest_first_and_a_count_in_each_cell() {
        let reads = |agent, theme: &str, calls| ThemeReads {
            agent,
            agent_name: format!("agent {agent}"),
            theme: theme.to_owned(),
            theme_name: theme.to_uppercase(),
            calls,
        };
        let (agents, themes) =
            grid(&[reads(1, "food", 2), reads(2, "work", 3), reads(2, "food", 2)]);
        assert_eq!(agents, [(2, "agent 2".to_owned()), (1, "agent 1".to_owned())]);
        let rows: Vec<_> = themes.iter().map(|t| (t.name.as_str(), &t.calls[..])).collect();
        assert_eq!(rows, [("FOOD", &[2, 2][..]), ("WORK", &[3, 0][..])]);
        let (agents, themes) = grid(&[]);
        assert!(agents.is_empty() && themes.is_empty());
    }
}
