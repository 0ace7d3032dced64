//! The score of a hit: drawn, in figures, and taken apart. SVG, because the
//! content security policy forbids a width in a `style` attribute; a popover,
//! because it opens, closes and takes keys without JavaScript.

use crate::search::Explanation;
use leptos::prelude::*;

/// A button that shows the parts of the score, which is 0 to 1 within one answer; `id` keeps those of one page apart.
#[component]
pub fn Score(id: i64, score: f64, parts: Explanation) -> impl IntoView {
    let popover_id = format!("score-{id}");
    view! {
        <button
            class="score"
            type="button"
            popovertarget=popover_id.clone()
            title="Score breakdown"
        >
            <Bar value=score />
            <span class="visually-hidden">"score "</span>
            {format!("{score:.2}")}
        </button>
        <div
            class="score-popover"
            id=popover_id
            popover="auto"
            // It may scroll, and keys must reach it then.
            tabindex="0"
            role="group"
            aria-label="Score breakdown"
        >
            <ScoreTable score parts />
        </div>
    }
    .into_any()
}

/// The sum, line by line, and what each line was made of.
#[component]
pub fn ScoreTable(score: f64, parts: Explanation) -> impl IntoView {
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
    let (factor, likeness) =
        (parts.tier_weight * parts.own_weight * parts.scale, parts.likeness_scale);
    view! {
        <table class="sum">
            <caption>"Score breakdown"</caption>
            <thead class="visually-hidden">
                <tr>
                    <th scope="col">"Signal"</th>
                    <th scope="col">"In common"</th>
                    <th scope="col">"Weight"</th>
                    <th scope="col">"Share"</th>
                </tr>
            </thead>
            <tbody>
                {line("Semantic", parts.semantic_normalised, parts.weights.semantic * likeness)}
                {line("Keyword", parts.lexical, parts.weights.lexical * likeness)}
                {added("Speaker", parts.speaker)}
                {added("Entities", parts.entities)}
                {added("Time", parts.time)}
                {added("Stated by you", parts.trust)}
                {added("Neighbouring messages", parts.neighbours * likeness)}
                {added("Exact words", parts.exact / factor)}
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
            {(parts.speaker > 0.0).then(|| note("Speaker: the query names who said it."))}
            {(parts.entities > 0.0).then(|| note("Entities: it mentions what the query names."))}
            {(parts.time > 0.0).then(|| note("Time: it is of the time that the query names, or near it."))}
            {(parts.trust > 0.0).then(|| note("Stated by you: you said it yourself."))}
            {(parts.neighbours > 0.0).then(|| note("Neighbouring messages: a share of their scores."))}
            {(parts.exact > 0.0).then(|| note("Exact words: it has the query's rare words, numbers or codes."))}
            {(parts.scale < 1.0).then(|| note("Sums are divided by the largest, so that none exceeds 1."))}
            {(parts.tier_weight * parts.own_weight < 1.0).then(|| note("It counts less: it is a message, states nothing or has faded."))}
            {note("Semantic is 0 for unrelated texts and 1 for paraphrases.")}
            {note("Keyword is the share of the query's words.")}
            {note("Both weights are divided by the best result's sum of the two.")}
        </ul>
    }
    .into_any()
}

fn note(text: &'static str) -> impl IntoView {
    view! { <li>{text}</li> }
}

fn meaning_of(parts: &Explanation) -> String {
    match (parts.distance, parts.late) {
        (Some(distance), Some(late)) => {
            let share = parts.late_share * 100.0;
            format!(
                "Semantic: {share:.0} % by tokens ({late:.3}), the rest by distance ({distance:.3})."
            )
        }
        (Some(distance), None) => format!("Semantic: by distance ({distance:.3})."),
        (None, _) => "Semantic: it has no embedding here.".to_owned(),
    }
}

fn words_of(parts: &Explanation) -> String {
    let found = match parts.words_matched {
        _ if parts.is_substring => "found inside a longer word".to_owned(),
        0 => return "Keyword: it has none of the query's words.".to_owned(),
        1 => "1 word of the query matched".to_owned(),
        n => format!("{n} words of the query matched"),
    };
    format!("Keyword: {found}.")
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
