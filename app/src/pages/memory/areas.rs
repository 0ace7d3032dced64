//! Themes as areas: the larger, the more memories; the stronger the colour, the more of them changed lately. Drawn for a desk
//! and for a phone, of which `style/main.css` shows one. The list of themes has the same counts.

use leptos::prelude::*;

use std::collections::HashMap;

use crate::address::MemoryFilters;
use crate::components::{count, memories};
use crate::memories::MemoryTheme;
use crate::pages::used::level;

/// Smaller themes share an area.
const AREAS_MAX: usize = 20;
/// Width and height.
const DESK: (f64, f64) = (720.0, 320.0);
const PHONE: (f64, f64) = (328.0, 420.0);
/// Of a letter, on average, and of a line.
const LETTER: f64 = 7.5;
const LINE: f64 = 18.0;
const MARGIN: f64 = 6.0;

/// One theme, or the rest: then without an address.
#[derive(Clone)]
struct Area {
    name: String,
    href: Option<String>,
    active: i64,
    changed: i64,
}

#[component]
pub fn Areas(
    themes: Vec<MemoryTheme>,
    /// Memories that were added or changed in the last 30 days, by the slug.
    changed: HashMap<String, i64>,
    filters: MemoryFilters,
) -> impl IntoView {
    let mut areas: Vec<Area> = themes
        .into_iter()
        .filter(|theme| theme.active_count > 0)
        .map(|theme| Area {
            href: Some(filters.with_theme(Some(&theme.slug)).href()),
            changed: changed.get(&theme.slug).copied().unwrap_or(0),
            name: theme.display_name,
            active: theme.active_count,
        })
        .collect();
    let rest = areas.split_off(areas.len().min(AREAS_MAX));
    if !rest.is_empty() {
        areas.push(Area {
            name: format!("{} others", rest.len()),
            href: None,
            active: rest.iter().map(|area| area.active).sum(),
            changed: rest.iter().map(|area| area.changed).sum(),
        });
        areas.sort_by_key(|area| std::cmp::Reverse(area.active));
    }
    // One area says nothing.
    let body = (areas.len() > 1 && filters.shows_areas()).then(|| {
        view! {
            <details class="fold" id="areas">
                <summary>"Themes as areas"</summary>
                <p class="hint">
                    "The larger a theme, the more active memories it has. The stronger its colour, the more of them were added or changed in the last 30 days."
                </p>
                {drawn("areas areas-wide", DESK, &areas)}
                {drawn("areas areas-narrow", PHONE, &areas)}
            </details>
        }
    });
    view! { <div class="theme-areas" data-live="areas">{body}</div> }.into_any()
}

fn drawn(class: &'static str, (width, height): (f64, f64), areas: &[Area]) -> AnyView {
    let sizes: Vec<f64> = areas.iter().map(|area| area.active as f64).collect();
    let most = areas.iter().map(|area| area.changed).max().unwrap_or(0);
    let frame = Rect { x: 0.0, y: 0.0, width, height };
    let drawn = areas.iter().zip(laid_out(&sizes, frame));
    let drawn = drawn.map(|(area, rect)| one(area.clone(), rect, most));
    view! {
        <svg class=class viewBox=format!("0 0 {width} {height}") role="group" aria-label="Themes, by their number of memories">
            {drawn.collect_view()}
        </svg>
    }
    .into_any()
}

fn one(area: Area, rect: Rect, most: i64) -> AnyView {
    let title = format!(
        "{}: {}, {} changed in the last 30 days",
        area.name,
        memories(area.active),
        count(area.changed),
    );
    let shade = match area.changed {
        0 => 0,
        n => level(n, most),
    };
    let chars = ((rect.width - 2.0 * MARGIN) / LETTER).max(0.0) as usize;
    let lines = ((rect.height - MARGIN) / LINE).max(0.0) as usize;
    let (x, y) = (round(rect.x), round(rect.y));
    let line = |at: usize, text: String| {
        (at < lines).then(|| {
            view! {
                <text x=round(rect.x + MARGIN) y=round(rect.y + LINE * (at as f64 + 1.0))>
                    {text}
                </text>
            }
        })
    };
    let fits = |text: &str| text.chars().count() <= chars;
    let name = match fits(&area.name) {
        true => Some(area.name.clone()),
        false => (chars > 3).then(|| area.name.chars().take(chars - 1).chain(['…']).collect()),
    };
    let numbers =
        [format!("{}, {} changed", count(area.active), count(area.changed)), count(area.active)];
    let numbers = numbers.into_iter().find(|text| fits(text));
    let face = view! {
        <title>{title.clone()}</title>
        <rect x=x y=y width=round(rect.width) height=round(rect.height) />
        {name.and_then(|name| line(0, name))}
        {numbers.and_then(|numbers| line(1, numbers))}
    };
    match area.href {
        Some(href) => view! {
            <a href=href data-level=shade data-live-link="theme" aria-label=title>
                {face}
            </a>
        }
        .into_any(),
        None => view! { <g data-level=shade>{face}</g> }.into_any(),
    }
}

fn round(n: f64) -> f64 {
    (n * 10.0).round() / 10.0
}

#[derive(Clone, Copy, Debug)]
struct Rect {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

/// Divides the frame by these sizes, largest first, into areas that are nearly square (squarified treemap: Bruls, Huizing
/// and van Wijk, 2000).
fn laid_out(sizes: &[f64], frame: Rect) -> Vec<Rect> {
    let (mut rest, mut left) = (frame, sizes.iter().sum::<f64>());
    let mut rects = Vec::with_capacity(sizes.len());
    while let [first, ..] = sizes[rects.len()..] {
        let sizes = &sizes[rects.len()..];
        let short = rest.width.min(rest.height);
        let scale = rest.width * rest.height / left;
        let (mut n, mut sum) = (1, first);
        while n < sizes.len()
            && longest(&sizes[..=n], sum + sizes[n], short, scale)
                <= longest(&sizes[..n], sum, short, scale)
        {
            sum += sizes[n];
            n += 1;
        }
        let depth = sum * scale / short;
        let mut along = 0.0;
        for size in &sizes[..n] {
            let length = size * scale / depth;
            rects.push(match rest.width > rest.height {
                true => Rect { x: rest.x, y: rest.y + along, width: depth, height: length },
                false => Rect { x: rest.x + along, y: rest.y, width: length, height: depth },
            });
            along += length;
        }
        match rest.width > rest.height {
            true => {
                rest.x += depth;
                rest.width -= depth;
            }
            false => {
                rest.y += depth;
                rest.height -= depth;
            }
        }
        left -= sum;
    }
    rects
}

/// The ratio of sides of the longest area of a row along the short side.
fn longest(row: &[f64], sum: f64, short: f64, scale: f64) -> f64 {
    let depth = sum * scale / short;
    let ratio = |size: &f64| {
        let length = size * scale / depth;
        (depth / length).max(length / depth)
    };
    row.iter().map(ratio).fold(1.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Rect = Rect { x: 0.0, y: 0.0, width: 600.0, height: 400.0 };

    #[test]
    fn areas_are_as_large_as_their_themes_fill_the_frame_and_do_not_overlap() {
        for sizes in [
            vec![1.0],
            vec![6.0, 6.0, 4.0, 3.0, 2.0, 2.0, 1.0],
            vec![1000.0, 1.0, 1.0],
            (1..=21).rev().map(f64::from).collect(),
        ] {
            let total: f64 = sizes.iter().sum();
            let rects = laid_out(&sizes, FRAME);
            assert_eq!(rects.len(), sizes.len());
            for (rect, size) in rects.iter().zip(&sizes) {
                let share = rect.width * rect.height / (FRAME.width * FRAME.height);
                assert!((share - size / total).abs() < 1e-9, "{rect:?} is {share}");
                let (right, bottom) = (rect.x + rect.width, rect.y + rect.height);
                assert!(rect.x >= 0.0 && right < FRAME.width + 1e-6, "{rect:?}");
                assert!(rect.y >= 0.0 && bottom < FRAME.height + 1e-6, "{rect:?}");
            }
            for (at, one) in rects.iter().enumerate() {
                for other in &rects[at + 1..] {
                    let across =
                        (one.x + one.width).min(other.x + other.width) - one.x.max(other.x);
                    let down =
                        (one.y + one.height).min(other.y + other.height) - one.y.max(other.y);
                    assert!(across < 1e-6 || down < 1e-6, "{one:?} {other:?}");
                }
            }
        }
        assert!(laid_out(&[], FRAME).is_empty());
    }

    #[test]
    fn areas_are_nearly_square() {
        // The example of the paper.
        let rects = laid_out(&[6.0, 6.0, 4.0, 3.0, 2.0, 2.0, 1.0], FRAME);
        let ratio = |r: &Rect| (r.width / r.height).max(r.height / r.width);
        assert!(rects.iter().all(|rect| ratio(rect) < 2.8), "{rects:?}");
        assert!((rects[0].width, rects[0].height) == (300.0, 200.0), "{rects:?}");
    }
}
