//! The score of a hit, drawn and in figures. SVG, because the content security
//! policy forbids a width in a `style` attribute.

use leptos::prelude::*;

/// `score` is 0 to 1 within one answer.
#[component]
pub fn Score(score: f64) -> impl IntoView {
    let score = score.clamp(0.0, 1.0);
    view! {
        <span class="score" title="How well it matches, within this answer">
            <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
                <rect class="score-rail" width="100" height="4" />
                <rect class="score-value" width=format!("{:.1}", score * 100.0) height="4" />
            </svg>
            <span class="visually-hidden">"score "</span>
            {format!("{score:.2}")}
        </span>
    }
}
