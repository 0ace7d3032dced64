//! How far a long work is: a bar with its failed share apart, drawn as SVG
//! because the content security policy forbids a width in a `style` attribute.

use leptos::prelude::*;

/// In percent: a single failure among thousands is still seen.
const VISIBLE_SHARE: f64 = 0.5;

/// Of `total`, `done` are ready and `failed` are not going to be.
/// `line` says the same in words; it is what is read out. Those that failed
/// are listed under `#failures`.
#[component]
pub fn Progress(label: String, done: i64, failed: i64, total: i64, line: String) -> impl IntoView {
    let share = |n: i64| 100.0 * n.max(0) as f64 / total.max(1) as f64;
    let done_share = share(done).min(100.0);
    let failed_share = match failed {
        0 => 0.0,
        failed => share(failed).max(VISIBLE_SHARE),
    };
    let done_share = done_share.min(100.0 - failed_share);
    view! {
        <div class="progress">
            <svg
                viewBox="0 0 100 4"
                preserveAspectRatio="none"
                role="progressbar"
                aria-label=label
                aria-valuemin="0"
                aria-valuemax=total
                aria-valuenow=(done + failed).min(total)
                aria-valuetext=line.clone()
            >
                <rect class="progress-rail" width="100" height="4" />
                <rect class="progress-done" width=format!("{done_share:.2}") height="4" />
                <rect
                    class="progress-failed"
                    x=format!("{done_share:.2}")
                    width=format!("{failed_share:.2}")
                    height="4"
                />
            </svg>
            <p class="progress-line">
                <span data-progress-line="">{line}</span>
                {(failed > 0).then(|| view! { <a href="#failures">"Show them"</a> })}
            </p>
        </div>
    }
    .into_any()
}
