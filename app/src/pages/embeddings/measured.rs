//! What a rebuild did to how well the person's own memory is found: a small plot of before and
//! now, with its figures as text beside it.

use std::sync::Arc;

use leptos::prelude::*;

use super::{EmbeddingsView, PATH, provider_name};
use crate::components::{Progress, When, count};
use crate::evaluation::Measurement;
use crate::evaluation::asked::{MeasurementOffer, MeasurementState};
use crate::evaluation::model::SideScores;

const LOOK_SECONDS: u32 = 2;
/// Questions in a hundred: less than this is chance.
const TELLING_PERCENT: f64 = 3.0;
const PLACES: [&str; 3] = ["first", "Top 5", "Top 10"];

#[component]
pub fn MeasuredPart(page: Arc<EmbeddingsView>) -> impl IntoView {
    use MeasurementState::{GivenUp, Measured, Nothing, Offered, UnderWay};
    let measured = page.measured.clone();
    let is_under_way = matches!(page.measurement, UnderWay { .. });
    let is_offered = matches!(page.measurement, Offered(_));
    let is_idle = matches!(page.measurement, Nothing | Measured);
    let is_shown = page.overview.settings.enabled && (!is_idle || measured.is_some());
    let title = match is_offered {
        true => "Measure the effect of this change?",
        false => "Effect of the rebuild",
    };
    let state = match page.measurement.clone() {
        Nothing | Measured => ().into_any(),
        Offered(offer) => view! { <Offer offer /> }.into_any(),
        UnderWay { answers, total } => view! { <Answers answers total /> }.into_any(),
        GivenUp(why) => view! {
            <p class="problem">
                <strong>"It was not measured. "</strong>
                {why}
            </p>
        }
        .into_any(),
    };
    // What stands below is of another rebuild.
    let earlier =
        (!is_idle && measured.is_some()).then(|| view! { <h3>"Effect of an earlier rebuild"</h3> });
    let body = is_shown.then(|| {
        view! {
            <h2 id="measured-title">{title}</h2>
            {state}
            {earlier}
            {measured.map(|measured| view! { <Plot measured /> })}
        }
    });
    view! {
        <section
            class="measured"
            class:part=is_shown
            data-live="measured"
            data-look-again=is_under_way.then_some(LOOK_SECONDS)
            aria-labelledby=is_shown.then_some("measured-title")
        >
            {body}
        </section>
    }
    .into_any()
}

#[component]
fn Offer(offer: MeasurementOffer) -> impl IntoView {
    let cost = cost_of(offer);
    view! {
        <p>
            "Questions are generated from your memories, and searched with the old embeddings and the new."
        </p>
        <p class="hint">
            {cost} " This offer expires " <When at=offer.until />
            ", or when another rebuild starts."
        </p>
        <form class="actions" method="post" action=PATH>
            <button id="measure" type="submit" name="action" value="measure">
                "Measure"
            </button>
        </form>
    }
    .into_any()
}

fn cost_of(offer: MeasurementOffer) -> String {
    let estimate = offer.estimate;
    let count = |n: u64| count(n as i64);
    let asked = format!(
        "About {} questions, and about {} tokens at each of the two embedding models",
        count(estimate.questions),
        count(estimate.embedding_tokens)
    );
    match estimate.by_model {
        0 => format!("{asked}."),
        by_model => format!(
            "{asked}; about {} tokens of your chat model, which writes {} of them.",
            count(estimate.chat_tokens),
            count(by_model)
        ),
    }
}

#[component]
fn Answers(answers: i64, total: i64) -> impl IntoView {
    let line = match total {
        0 => "Generating the questions".to_owned(),
        total => format!("{} of {} answers", count(answers), count(total)),
    };
    view! {
        <p class="hint">
            "Measuring: each question is searched with the old embeddings and the new."
        </p>
        <Progress label="Questions answered".to_owned() done=answers failed=0 total line />
    }
    .into_any()
}

#[component]
fn Plot(measured: Measurement) -> impl IntoView {
    let questions = measured.asked.questions;
    let (now, before) = (&measured.now, measured.before.as_ref());
    let groups = [
        ("Search", now.found, before.map(|b| b.found)),
        ("Semantic only", now.found_by_meaning, before.map(|b| b.found_by_meaning)),
    ];
    let bodies = groups
        .map(|(title, now, before)| rows(title, now, before, questions))
        .into_iter()
        .collect_view();
    let has_before = measured.before.is_some();
    let by_model = (measured.asked.by_model > 0).then(|| {
        let by_model = count(measured.asked.by_model.into());
        format!(" {by_model} of them were written by your chat model.")
    });
    let took = (measured.tokens.embedding > 0).then(|| took(&measured));
    view! {
        <p>{verdict(&measured)}</p>
        <table class="plot">
            <thead>
                <tr>
                    <th scope="col">"Memory found in"</th>
                    <th scope="col" aria-hidden="true"></th>
                    {has_before.then(|| view! { <th scope="col"><span class="key before"></span>"Before"</th> })}
                    <th scope="col"><span class="key now"></span>"Now"</th>
                </tr>
            </thead>
            {bodies}
        </table>
        <p class="hint">
            {measured.before.as_ref().map(|before| view! { "Before: " <bdi>{name_of(before)}</bdi> ". " })}
            "Now: " <bdi>{name_of(&measured.now)}</bdi> ". "
            {format!("{} questions, each made from one of your memories without its most distinctive words.", count(questions.into()))}
            {by_model} " Measured " <When at=measured.at /> "." {took}
        </p>
    }
    .into_any()
}

/// Whose vectors: "Your endpoint · nomic-embed-text".
fn name_of(scores: &SideScores) -> String {
    let provider = provider_name(scores.provider_type);
    match scores.model.as_str() {
        "" => provider.to_owned(),
        model => format!("{provider} · {model}"),
    }
}

fn took(measured: &Measurement) -> String {
    let vectors =
        format!(" It used about {} tokens for embeddings", count(measured.tokens.embedding));
    match measured.tokens.chat {
        0 => format!("{vectors}."),
        chat => format!("{vectors} and {} of your chat model.", count(chat)),
    }
}

fn percent(found: i32, questions: i32) -> f64 {
    100.0 * f64::from(found) / f64::from(questions.max(1))
}

fn rows(title: &'static str, now: [i32; 3], before: Option<[i32; 3]>, questions: i32) -> AnyView {
    let columns = 3 + usize::from(before.is_some());
    let rows = (0..PLACES.len())
        .map(|at| {
            let now = percent(now[at], questions);
            let before = before.map(|before| percent(before[at], questions));
            view! {
                <tr>
                    <th scope="row">{PLACES[at]}</th>
                    <td class="bars" aria-hidden="true">{bars(now, before)}</td>
                    {before.map(|share| view! { <td>{format!("{share:.0} %")}</td> })}
                    <td class="now">{format!("{now:.0} %")}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <tbody>
            <tr>
                <th class="group" scope="rowgroup" colspan=columns>{title}</th>
            </tr>
            {rows}
        </tbody>
    }
    .into_any()
}

/// SVG, because the content security policy forbids a width in a `style` attribute.
fn bars(now: f64, before: Option<f64>) -> AnyView {
    let bar = |class: &'static str, y: u32, share: f64| {
        view! { <rect class=class y=y width=format!("{share:.1}") height="4" /> }
    };
    let height = if before.is_some() { 9 } else { 4 };
    view! {
        <svg viewBox=format!("0 0 100 {height}") preserveAspectRatio="none" class:two=before.is_some()>
            <rect class="rail" width="100" height=height />
            {before.map(|share| bar("before", 0, share))}
            {bar("now", if before.is_some() { 5 } else { 0 }, now)}
        </svg>
    }
    .into_any()
}

fn verdict(measured: &Measurement) -> String {
    let among_ten = |scores: &SideScores| percent(scores.found[2], measured.asked.questions);
    let now = among_ten(&measured.now);
    let Some(before) = measured.before.as_ref().map(among_ten) else {
        return format!(
            "{now:.0} % of the questions find their memory in the top 10. The old embeddings could not be measured."
        );
    };
    let change = now - before;
    let (change, advice) = if change >= TELLING_PERCENT {
        ("Search finds more than before", "")
    } else if change <= -TELLING_PERCENT {
        (
            "Search finds less than before",
            " To go back, set the previous model again and confirm the rebuild.",
        )
    } else {
        ("Search finds about as much as before", "")
    };
    format!(
        "{change}: {now:.0} % of the questions find their memory in the top 10, before {before:.0} %.{advice}"
    )
}

#[cfg(test)]
mod tests {
    use time::OffsetDateTime;

    use super::*;
    use crate::evaluation::model::{AskedCounts, MeasurementTokens};
    use crate::providers::ProviderType;

    fn verdict_of(now: i32, before: Option<i32>) -> String {
        let scores = |n| SideScores {
            provider_type: ProviderType::Builtin,
            model: "a model".to_owned(),
            found: [0, 0, n],
            found_by_meaning: [0; 3],
        };
        verdict(&Measurement {
            at: OffsetDateTime::UNIX_EPOCH,
            asked: AskedCounts { items: 50, questions: 50, by_model: 0 },
            now: scores(now),
            before: before.map(scores),
            tokens: MeasurementTokens::default(),
        })
    }

    #[test]
    fn a_loss_says_how_to_go_back_and_chance_is_no_change() {
        assert!(
            verdict_of(40, Some(45))
                .ends_with("To go back, set the previous model again and confirm the rebuild.")
        );
        assert!(verdict_of(45, Some(40)).starts_with("Search finds more than before: 90 %"));
        assert!(verdict_of(45, Some(44)).starts_with("Search finds about as much"));
        assert!(verdict_of(45, None).contains("could not be measured"));
    }
}
