//! A document's Markdown, already a tree of plain nodes, as elements. Its text is text: nothing here makes HTML of words.

use leptos::prelude::*;

use super::markdown::{Block, Inline, ListItem};
use crate::components::Marked;

/// The page has headings above these.
const HEADINGS_ABOVE: u8 = 2;

/// How deep this nests is bounded where the nodes are made.
pub fn blocks(all: Vec<Block>) -> AnyView {
    all.into_iter().map(block).collect_view().into_any()
}

fn block(block: Block) -> AnyView {
    match block {
        Block::Heading(level, words) => heading(level, inlines(words)),
        Block::Paragraph(words) => view! { <p dir="auto">{inlines(words)}</p> }.into_any(),
        Block::Words(words) => view! { <span dir="auto">{inlines(words)}</span> }.into_any(),
        Block::Quote(inside) => view! { <blockquote>{blocks(inside)}</blockquote> }.into_any(),
        Block::Code(text) => view! {
            <pre tabindex="0" role="group" aria-label="Code" dir="ltr">
                <code>
                    <Marked text />
                </code>
            </pre>
        }
        .into_any(),
        Block::List { start, items } => list(start, items),
        Block::Table { head, rows } => table(head, rows),
        Block::Rule => view! { <hr /> }.into_any(),
    }
}

fn heading(level: u8, words: AnyView) -> AnyView {
    match level.saturating_add(HEADINGS_ABOVE) {
        ..=3 => view! { <h3 dir="auto">{words}</h3> }.into_any(),
        4 => view! { <h4 dir="auto">{words}</h4> }.into_any(),
        5 => view! { <h5 dir="auto">{words}</h5> }.into_any(),
        _ => view! { <h6 dir="auto">{words}</h6> }.into_any(),
    }
}

fn list(start: Option<u64>, items: Vec<ListItem>) -> AnyView {
    let items = items.into_iter().map(|item| {
        let is_task = item.done.is_some().then_some("");
        let task = item.done.map(|is_done| {
            let (mark, words) = match is_done {
                true => ("☑", "done: "),
                false => ("☐", "to do: "),
            };
            view! {
                <span class="task" aria-hidden="true">
                    {mark}
                </span>
                <span class="visually-hidden">{words}</span>
            }
        });
        view! { <li data-task=is_task>{task} {blocks(item.blocks)}</li> }
    });
    let items = items.collect_view();
    match start {
        Some(start) => view! { <ol start=start.to_string()>{items}</ol> }.into_any(),
        None => view! { <ul>{items}</ul> }.into_any(),
    }
}

fn table(head: Vec<Vec<Inline>>, rows: Vec<Vec<Vec<Inline>>>) -> AnyView {
    let head = head.into_iter().map(|cell| view! { <th scope="col">{inlines(cell)}</th> });
    let rows = rows.into_iter().map(|row| {
        let cells = row.into_iter().map(|cell| view! { <td>{inlines(cell)}</td> });
        view! { <tr>{cells.collect_view()}</tr> }
    });
    view! {
        <div class="scrolled" tabindex="0" role="group" aria-label="Table">
            <table>
                <thead>
                    <tr>{head.collect_view()}</tr>
                </thead>
                <tbody>{rows.collect_view()}</tbody>
            </table>
        </div>
    }
    .into_any()
}

fn inlines(all: Vec<Inline>) -> AnyView {
    all.into_iter().map(inline).collect_view().into_any()
}

fn inline(inline: Inline) -> AnyView {
    match inline {
        Inline::Text(text) => view! { <Marked text /> }.into_any(),
        Inline::Code(text) => view! {
            <code>
                <Marked text />
            </code>
        }
        .into_any(),
        Inline::Emphasis(words) => view! { <em>{inlines(words)}</em> }.into_any(),
        Inline::Strong(words) => view! { <strong>{inlines(words)}</strong> }.into_any(),
        Inline::Struck(words) => view! { <s>{inlines(words)}</s> }.into_any(),
        Inline::Link { href, words } => view! {
            <a href=href rel="nofollow noreferrer noopener">
                {inlines(words)}
            </a>
        }
        .into_any(),
        Inline::Image { alt, address } => view! {
            <span class="image-words">
                "Image: " <Marked text=alt /> " "
                <code>
                    <Marked text=address />
                </code>
            </span>
        }
        .into_any(),
        Inline::Break => view! { <br /> }.into_any(),
    }
}
