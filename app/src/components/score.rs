//! The score of a hit: drawn, in figures, and taken apart. SVG, because the
//! content security policy forbids a width in a `style` attribute; a popover,
//! because it opens, closes and takes keys without JavaScript.

use leptos::prelude::*;

use crate::view::ScoreParts;

/// `score` is 0 to 1 within one answer. With `parts` it is a button that shows
/// them; `id` keeps those of one page apart.
#[component]
pub fn Score(id: i64, score: f64, parts: Option<ScoreParts>) -> impl IntoView {
    let figures = view! {
        <Bar value=score />
        <span class="visually-hidden">"score "</span>
        {format!("{score:.2}")}
    };
    let Some(parts) = parts else {
        return view! {
            <span class="score" title="How well it matches, within this answer">
                {figures}
            </span>
        }
        .into_any();
    };
    let popover_id = format!("score-{id}");
    view! {
        <button
            class="score"
            type="button"
            popovertarget=popover_id.clone()
            title="How this score came about"
        >
            {figures}
        </button>
        <div
            class="score-popover"
            id=popover_id
            popover="auto"
            role="group"
            aria-label="How this score came about"
        >
            <ScoreTable score parts />
        </div>
    }
    .into_any()
}

/// The sum, line by line, and what each line was made of.
#[component]
pub fn ScoreTable(score: f64, parts: ScoreParts) -> impl IntoView {
    let line = |name: &'static str, value: f64, weight: f64| {
        view! {
            <tr>
                <th scope="row">{name}</th>
                <td>
                    <span class="score">
                        <Bar value />
                        {format!("{value:.2}")}
                    </span>
                </td>
                <td>{format!("× {}", short(weight))}</td>
                <td>{format!("{:.2}", value * weight)}</td>
            </tr>
        }
    };
    let added = |name: &'static str, share: f64| {
        (share > 0.0).then(|| {
            view! {
                <tr>
                    <th scope="row">{name}</th>
                    <td></td>
                    <td></td>
                    <td>{format!("{share:.2}")}</td>
                </tr>
            }
        })
    };
    let factor = parts.weight_tier * parts.scale;
    view! {
        <table class="sum">
            <caption>"How this score came about"</caption>
            <thead class="visually-hidden">
                <tr>
                    <th scope="col">"Signal"</th>
                    <th scope="col">"Within this answer"</th>
                    <th scope="col">"Weight"</th>
                    <th scope="col">"Share"</th>
                </tr>
            </thead>
            <tbody>
                {line("Meaning", parts.semantic_normalised, parts.weight_semantic)}
                {line("Words", parts.lexical_normalised, parts.weight_lexical)}
                {added("Speaker", parts.speaker)}
                {added("Names", parts.entities)}
                {added("Time", parts.time)}
                {added("Your own words", parts.trust)}
                {added("Beside it", parts.neighbours)}
            </tbody>
            <tfoot>
                <tr>
                    <th scope="row">"Score"</th>
                    <td></td>
                    <td>{(factor < 1.0).then(|| format!("× {}", short(factor)))}</td>
                    <td>{format!("{score:.2}")}</td>
                </tr>
            </tfoot>
        </table>
        <ul class="sum-notes hint">
            <li>{meaning_of(&parts)}</li>
            <li>{words_of(&parts)}</li>
            {(parts.speaker > 0.0).then(|| view! { <li>"Speaker: it was said by whom the query names."</li> })}
            {(parts.entities > 0.0).then(|| view! { <li>"Names: it mentions what the query names."</li> })}
            {(parts.time > 0.0)
                .then(|| {
                    view! { <li>"Time: it was said in the time that the query names, or near it."</li> }
                })}
            {(parts.trust > 0.0).then(|| view! { <li>"Your own words: you said it, and no agent or tool."</li> })}
            {(parts.neighbours > 0.0)
                .then(|| {
                    view! { <li>"Beside it: a share of what was said just before and after it."</li> }
                })}
            {(parts.scale < 1.0)
                .then(|| {
                    view! { <li>"The sums are divided by the largest, so that none is more than 1."</li> }
                })}
            {(parts.weight_tier < 1.0)
                .then(|| {
                    view! {
                        <li>
                            "It is a turn, so the sum counts for less: a memory of the same words comes first."
                        </li>
                    }
                })}
            <li>"Each signal is scaled from 0, the weakest of this answer (with turns in it: nothing in common), to 1, its strongest."</li>
        </ul>
    }
    .into_any()
}

fn meaning_of(parts: &ScoreParts) -> String {
    match (parts.distance, parts.late) {
        (Some(distance), Some(late)) => {
            let share = parts.late_share * 100.0;
            format!(
                "Meaning: {share:.0} % token by token ({late:.3} before scaling), {:.0} % as a whole (distance {distance:.3}).",
                100.0 - share
            )
        }
        (Some(distance), None) => format!(
            "Meaning: distance {distance:.3} from the query, so {:.3} before scaling.",
            parts.semantic
        ),
        (None, _) => "Meaning: nothing to compare, as it has no vector here.".to_owned(),
    }
}

fn words_of(parts: &ScoreParts) -> String {
    let found = match parts.words_matched {
        _ if parts.is_substring => "found inside a longer word".to_owned(),
        0 => return "Words: none of the query's is in it.".to_owned(),
        1 => "1 of the query's matched".to_owned(),
        n => format!("{n} of the query's matched"),
    };
    format!("Words: {found}, {:.3} before scaling.", parts.lexical)
}

/// "0.7", "1"
fn short(weight: f64) -> String {
    let text = format!("{weight:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[component]
fn Bar(value: f64) -> impl IntoView {
    let value = value.clamp(0.0, 1.0);
    view! {
        <svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
            <rect class="score-rail" width="100" height="4" />
            <rect class="score-value" width=format!("{:.1}", value * 100.0) height="4" />
        </svg>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_written_without_idle_zeros() {
        assert_eq!([0.7, 0.3, 1.0, 0.0].map(short), ["0.7", "0.3", "1", "0"]);
    }
}
