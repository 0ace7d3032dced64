//! Moves the picture of a graph: drag to pan, wheel, `+` and `−` to zoom, and a slider for the day.
//! Picture and table are complete without it; the day is also a field of the form above.

use leptos::prelude::*;

/// Within the figure `#graph`, whose `data-first`, `data-today` and `data-chosen` are days since 1970-01-01, and whose
/// `data-day` is the chosen one in words.
#[island]
pub fn GraphView() -> impl IntoView {
    let (awake, set_awake) = signal(false);
    Effect::new(move |_| {
        #[cfg(feature = "hydrate")]
        browser_side::start();
        set_awake.set(true);
    });
    let zoom = |by: f64| {
        #[cfg(feature = "hydrate")]
        browser_side::zoom(by);
        #[cfg(not(feature = "hydrate"))]
        let _ = by;
    };
    let fit = |_| {
        #[cfg(feature = "hydrate")]
        browser_side::fit();
    };
    view! {
        <span class="graph-controls" hidden=move || !awake.get()>
            <button type="button" aria-label="Zoom out" on:click=move |_| zoom(1.0 / 1.4)>
                "−"
            </button>
            <button type="button" aria-label="Zoom in" on:click=move |_| zoom(1.4)>
                "+"
            </button>
            <button type="button" on:click=fit>
                "Fit"
            </button>
            <label class="graph-slider">
                <span>"Day"</span>
                <input id="graph-slider" type="range" autocomplete="off" />
            </label>
        </span>
    }
}

#[cfg(feature = "hydrate")]
mod browser_side {
    use std::cell::RefCell;

    use wasm_bindgen::JsCast;
    use web_sys::{
        Element, Event, HtmlFormElement, HtmlInputElement, KeyboardEvent, MouseEvent, PointerEvent,
        WheelEvent,
    };

    use crate::islands::browser;

    const MS_A_DAY: f64 = 86_400_000.0;
    const ZOOM_MAX: f64 = 8.0;
    /// A press that moves farther than this drags the picture, and is no click.
    const CLICK_PX: f64 = 4.0;
    const STEP: f64 = 1.4;

    /// What part of the picture is seen.
    #[derive(Clone, Copy)]
    struct Frame {
        x: f64,
        y: f64,
        width: f64,
        height: f64,
    }

    #[derive(Default)]
    struct State {
        whole: Option<Frame>,
        seen: Option<Frame>,
        /// Where the pointer is, while it is down.
        held: Option<(f64, f64)>,
        moved_px: f64,
    }

    thread_local! {
        static STATE: RefCell<State> = RefCell::default();
    }

    fn picture() -> Option<Element> {
        browser::document()?.get_element_by_id("graph-picture")
    }

    pub fn start() -> Option<()> {
        let svg = picture()?;
        let whole = read(&svg)?;
        STATE.with_borrow_mut(|state| {
            state.whole = Some(whole);
            state.seen = Some(whole);
        });
        browser::listen(&svg, "wheel", |event: WheelEvent| {
            let by = (-event.delta_y() / 300.0).exp();
            // Where it can get no smaller, the page goes on scrolling.
            if zoom_at(by, at_pointer(event.as_ref())).is_some() {
                event.prevent_default();
            }
        });
        browser::listen(&svg, "pointerdown", |event: PointerEvent| {
            if event.button() == 0 {
                hold(Some((event.client_x().into(), event.client_y().into())));
            }
        });
        let window = browser::window()?;
        browser::listen(&window, "pointermove", |event: PointerEvent| {
            drag(event.client_x().into(), event.client_y().into());
        });
        for end in ["pointerup", "pointercancel"] {
            browser::listen(&window, end, |_: PointerEvent| hold(None));
        }
        // The browser's own dragging of links would take the pointer away.
        browser::listen(&svg, "dragstart", |event: Event| event.prevent_default());
        browser::listen(&svg, "click", |event: MouseEvent| {
            // A key's click has no count, and no drag before it.
            if event.detail() > 0 && STATE.with_borrow(|state| state.moved_px > CLICK_PX) {
                event.prevent_default();
            }
        });
        let figure = browser::document()?.get_element_by_id("graph")?;
        let day = |name: &str| figure.get_attribute(name);
        browser::listen(&figure, "keydown", |event: KeyboardEvent| {
            if key(&event).is_some() {
                event.prevent_default();
            }
        });
        let slider: HtmlInputElement = browser::by_id("graph-slider")?;
        slider.set_min(&day("data-first")?);
        slider.set_max(&day("data-today")?);
        slider.set_value(&day("data-chosen")?);
        slider.set_attribute("aria-valuetext", &day("data-day")?).ok()?;
        slide(&slider)
    }

    fn hold(at: Option<(f64, f64)>) {
        STATE.with_borrow_mut(|state| {
            if at.is_some() {
                state.moved_px = 0.0;
            }
            state.held = at;
        });
    }

    fn key(event: &KeyboardEvent) -> Option<()> {
        if event.ctrl_key() || event.meta_key() || event.alt_key() {
            return None;
        }
        match event.key().as_str() {
            "+" | "=" => zoom(STEP),
            "-" | "−" => zoom(1.0 / STEP),
            "0" => fit(),
            _ => None,
        }
    }

    fn read(svg: &Element) -> Option<Frame> {
        let text = svg.get_attribute("viewBox")?;
        let numbers: Vec<f64> = text.split(' ').filter_map(|n| n.parse().ok()).collect();
        match numbers[..] {
            [x, y, width, height] => Some(Frame { x, y, width, height }),
            _ => None,
        }
    }

    fn show(frame: Frame) -> Option<()> {
        let Frame { x, y, width, height } = frame;
        let svg = picture()?;
        let text = format!("{x:.1} {y:.1} {width:.1} {height:.1}");
        svg.set_attribute("viewBox", &text).ok()?;
        let is_whole = STATE.with_borrow_mut(|state| {
            state.seen = Some(frame);
            state.whole.is_some_and(|whole| whole.width <= width)
        });
        // On a touch screen the page scrolls until the picture is larger than its place.
        svg.class_list().toggle_with_force("is-zoomed", !is_whole).ok()?;
        Some(())
    }

    /// The pointer's place in the picture, as parts of what is seen.
    fn at_pointer(event: &MouseEvent) -> (f64, f64) {
        let Some(svg) = picture() else {
            return (0.5, 0.5);
        };
        let place = svg.get_bounding_client_rect();
        let part =
            |at: f64, from: f64, length: f64| ((at - from) / length.max(1.0)).clamp(0.0, 1.0);
        (
            part(event.client_x().into(), place.left(), place.width()),
            part(event.client_y().into(), place.top(), place.height()),
        )
    }

    pub fn zoom(by: f64) -> Option<()> {
        zoom_at(by, (0.5, 0.5))
    }

    pub fn fit() -> Option<()> {
        show(STATE.with_borrow(|state| state.whole)?)
    }

    /// `None` where it is as large or as small as it gets.
    fn zoom_at(by: f64, (across, down): (f64, f64)) -> Option<()> {
        let (whole, seen) = STATE.with_borrow(|state| state.whole.zip(state.seen))?;
        let width = (seen.width / by).clamp(whole.width / ZOOM_MAX, whole.width);
        if (width - seen.width).abs() < 0.5 {
            return None;
        }
        let height = width * whole.height / whole.width;
        show(within(
            Frame {
                x: seen.x + (seen.width - width) * across,
                y: seen.y + (seen.height - height) * down,
                width,
                height,
            },
            whole,
        ))
    }

    fn within(frame: Frame, whole: Frame) -> Frame {
        Frame {
            x: frame.x.clamp(whole.x, whole.x + whole.width - frame.width),
            y: frame.y.clamp(whole.y, whole.y + whole.height - frame.height),
            ..frame
        }
    }

    fn drag(x: f64, y: f64) -> Option<()> {
        let (held, whole, seen) = STATE.with_borrow_mut(|state| {
            let held = state.held?;
            state.moved_px += (x - held.0).abs() + (y - held.1).abs();
            state.held = Some((x, y));
            Some((held, state.whole?, state.seen?))
        })?;
        let scale = seen.width / picture()?.get_bounding_client_rect().width().max(1.0);
        show(within(
            Frame { x: seen.x - (x - held.0) * scale, y: seen.y - (y - held.1) * scale, ..seen },
            whole,
        ))
    }

    /// The slider writes into the date field, whose form is sent once it is let go.
    fn slide(slider: &HtmlInputElement) -> Option<()> {
        let write = |slider: &HtmlInputElement| {
            let date: HtmlInputElement = browser::by_id("graph-at")?;
            let day: f64 = slider.value().parse().ok()?;
            date.set_value_as_number(day * MS_A_DAY);
            slider.set_attribute("aria-valuetext", &date.value()).ok()
        };
        let of = |event: Event| event.target()?.dyn_into::<HtmlInputElement>().ok();
        browser::listen(slider, "input", move |event: Event| {
            if let Some(slider) = of(event) {
                write(&slider);
            }
        });
        browser::listen(slider, "change", move |event: Event| {
            if let Some(slider) = of(event) {
                write(&slider);
            }
            if let Some(form) = browser::by_id::<HtmlFormElement>("filters") {
                form.request_submit().ok();
            }
        });
        Some(())
    }
}
