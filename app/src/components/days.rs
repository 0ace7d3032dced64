//! What happened a day, as bars. SVG, because the content security policy forbids a
//! height in a `style` attribute.

use leptos::prelude::*;

use super::count;

const BAR_WIDTH: usize = 8;
const STEP: usize = 10;
const HEIGHT: f64 = 40.0;
/// Of a day with any calls at all.
const HEIGHT_MIN: f64 = 2.0;

/// What went well, and what failed, on top of it.
pub const OUTCOMES: &[&str] = &["day-ok", "day-failed"];

/// One day: the parts of its bar, the lowest first.
pub struct Bar {
    pub title: String,
    pub parts: Vec<i64>,
}

impl Bar {
    fn total(&self) -> i64 {
        self.parts.iter().sum()
    }
}

/// Days side by side, today the last; `classes` are those of the parts, `summary` says the same in words. `links` are where
/// each leads, as far as there is something to see.
#[component]
pub fn Bars(
    bars: Vec<Bar>,
    #[prop(optional)] links: Vec<Option<String>>,
    first: Option<String>,
    summary: String,
    classes: &'static [&'static str],
) -> impl IntoView {
    let most = bars.iter().map(Bar::total).max().unwrap_or(0).max(1);
    let width = bars.len() * STEP - (STEP - BAR_WIDTH);
    let role = if links.is_empty() { "img" } else { "group" };
    let mut links = links.into_iter();
    let bars = bars
        .into_iter()
        .enumerate()
        .map(|(at, one)| {
            let (title, drawn) = (one.title.clone(), bar(at, one, classes, most));
            match links.next().flatten() {
                Some(href) => view! {
                    <a href=href aria-label=title>
                        {drawn}
                    </a>
                }
                .into_any(),
                None => drawn.into_any(),
            }
        })
        .collect_view();
    view! {
        <figure class="days">
            <figcaption class="hint">{summary.clone()}</figcaption>
            <p class="hint number days-most" aria-hidden="true">{count(most)}</p>
            <svg
                viewBox=format!("0 0 {width} {HEIGHT}")
                preserveAspectRatio="none"
                role=role
                aria-label=summary
            >
                {bars}
            </svg>
            <p class="hint days-ends" aria-hidden="true">
                <span>{first}</span>
                <span>"today"</span>
            </p>
        </figure>
    }
    .into_any()
}

fn bar(at: usize, bar: Bar, classes: &'static [&'static str], most: i64) -> impl IntoView {
    let x = at * STEP;
    let mut top = HEIGHT;
    let parts = heights(&bar.parts, most)
        .into_iter()
        .zip(classes)
        .map(|(height, class)| {
            top -= height;
            view! { <rect class=*class x=x y=top width=BAR_WIDTH height=height /> }
        })
        .collect_view();
    view! {
        <g>
            <title>{bar.title}</title>
            <rect class="day-rail" x=x y="0" width=BAR_WIDTH height=HEIGHT />
            {parts}
        </g>
    }
}

/// Of each part, which stands on top of those before it.
fn heights(parts: &[i64], most: i64) -> Vec<f64> {
    let scaled = |n: &i64| match n {
        0 => 0.0,
        n => (*n as f64 / most as f64 * HEIGHT).max(HEIGHT_MIN),
    };
    let heights: Vec<f64> = parts.iter().map(scaled).collect();
    // What is lifted to be seen makes the others a little lower.
    let factor = (HEIGHT / heights.iter().sum::<f64>()).min(1.0);
    heights.into_iter().map(|height| height * factor).collect()
}

/// "1 call", "1,234 calls"
pub fn calls(n: i64) -> String {
    match n {
        1 => "1 call".to_owned(),
        n => format!("{} calls", count(n)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_bar_leaves_its_frame_and_none_that_counts_is_invisible() {
        for (ok, failed, most) in
            [(0, 0, 1), (1, 0, 100_000), (100, 0, 100), (99, 1, 100), (100_000, 1, 100_001)]
        {
            let heights = heights(&[ok, failed], most);
            assert!(heights.iter().sum::<f64>() <= HEIGHT + 1e-9, "{ok} {failed}");
            assert_eq!(heights[0] > 0.0, ok > 0);
            assert_eq!(heights[1] > 0.0, failed > 0);
        }
    }
}
