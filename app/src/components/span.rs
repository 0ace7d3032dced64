//! The time for which something is true, as a bar on an axis that several bars share.

use leptos::prelude::*;
use time::OffsetDateTime;

use crate::memories::Period;

/// Minimum width of a bar, in thousandths of the axis.
const BAR_MIN: f64 = 8.0;
const AXIS: f64 = 1_000.0;

/// A bar, in thousandths of the length of its axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelationBar {
    pub x: u32,
    pub width: u32,
    /// Nobody said since when: it begins where it was first said, and may be older.
    pub is_open_start: bool,
}

pub struct Axis {
    pub from: OffsetDateTime,
    pub to: OffsetDateTime,
}

impl Axis {
    fn place(&self, at: OffsetDateTime) -> f64 {
        let length = (self.to - self.from).as_seconds_f64().max(1.0);
        ((at - self.from).as_seconds_f64() / length * AXIS).clamp(0.0, AXIS)
    }

    /// The bar of a validity period, drawn from `begins`.
    pub fn bar_of(&self, begins: OffsetDateTime, period: Period) -> RelationBar {
        let from = self.place(begins).min(AXIS - BAR_MIN);
        let until = self.place(period.until.unwrap_or(self.to));
        let width = (until - from).max(BAR_MIN);
        RelationBar { x: from as u32, width: width as u32, is_open_start: period.from.is_none() }
    }
}

/// Faded at its beginning where nobody said when that was.
#[component]
pub fn SpanBar(bar: RelationBar) -> impl IntoView {
    const FADE: u32 = 24;
    let (x, width) = (bar.x, bar.width);
    let fade = bar.is_open_start.then(|| {
        [1, 2, 3]
            .into_iter()
            .filter(|step| x >= FADE * step)
            .map(|step| {
                let class = format!("span-fade-{step}");
                view! { <rect class=class x=x - FADE * step y="0" width=FADE height="8" /> }
            })
            .collect_view()
    });
    view! {
        <svg
            class="span-bar"
            viewBox="0 0 1000 8"
            preserveAspectRatio="none"
            aria-hidden="true"
            focusable="false"
        >
            <rect class="span-rail" x="0" y="3.5" width="1000" height="1" />
            {fade}
            <rect class="span-held" x=x y="0" width=width height="8" />
        </svg>
    }
    .into_any()
}
