//! What a rebuild did to how well the person's own memory is found: a small plot of before and
//! now, with its figures as text beside it.

use leptos::prelude::*;

use super::PATH;
use crate::components::{Progress, When, count};
use crate::view::{EmbeddingsPage, EvaluationOffer, EvaluationView, FoundView, MeasuredView};

const LOOK_SECONDS: u32 = 2;
/// Questions in a hundred: less than this is chance.
const TELLING_PERCENT: f64 = 3.0;
const PLACES: [&str; 3] = ["first", "Top 5", "Top 10"];

#[component]
pub fn MeasuredPart(page: EmbeddingsPage) -> impl IntoView {
    let is_under_way = matches!(page.evaluation, EvaluationView::UnderWay { .. });
    let is_offered = matches!(page.evaluation, EvaluationView::Offered(_));
    let is_idle = page.evaluation == EvaluationView::Idle;
    let is_shown = page.is_enabled && (!is_idle || page.measured.is_some());
    let title = match is_offered {
        true => "Measure the effect of this change?",
        false => "Effect of the rebuild",
    };
    let standing = match page.evaluation {
        EvaluationView::Idle => ().into_any(),
        EvaluationView::Offered(offer) => view! { <Offer offer /> }.into_any(),
        EvaluationView::UnderWay { answers, total } => {
            view! { <UnderWay answers total /> }.into_any()
        }
        EvaluationView::GivenUp(why) => view! {
            <p class="problem">
                <strong>"It was not measured. "</strong>
                {why}
            </p>
        }
        .into_any(),
    };
    // What stands below is of another rebuild.
    let earlier = (!is_idle && page.measured.is_some())
        .then(|| view! { <h3>"Effect of an earlier rebuild"</h3> });
    let body = is_shown.then(|| {
        view! {
            <h2 id="measured-title">{title}</h2>
            {standing}
            {earlier}
            {page.measured.map(|measured| view! { <Plot measured /> })}
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
fn Offer(offer: EvaluationOffer) -> impl IntoView {
    let cost = cost_of(&offer);
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

fn cost_of(offer: &EvaluationOffer) -> String {
    let asked = format!(
        "About {} questions, and about {} tokens at each of the two embedding models",
        count(offer.questions),
        count(offer.embedding_tokens)
    );
    match offer.by_model {
        0 => format!("{asked}."),
        by_model => format!(
            "{asked}; about {} tokens of your chat model, which writes {} of them.",
            count(offer.chat_tokens),
            count(by_model)
        ),
    }
}

#[component]
fn UnderWay(answers: i64, total: i64) -> impl IntoView {
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
fn Plot(measured: MeasuredView) -> impl IntoView {
    let questions = measured.questions;
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
    let by_model = (measured.by_model > 0).then(|| {
        format!(" {} of them were written by your chat model.", count(measured.by_model.into()))
    });
    let took = (measured.embedding_tokens > 0).then(|| took(&measured));
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
            {measured.before.as_ref().map(|before| view! { "Before: " <bdi>{before.name.clone()}</bdi> ". " })}
            "Now: " <bdi>{measured.now.name.clone()}</bdi> ". "
            {format!("{} questions, each made from one of your memories without its most distinctive words.", count(questions.into()))}
            {by_model} " Measured " <When at=measured.at /> "." {took}
        </p>
    }
    .into_any()
}

fn took(measured: &MeasuredView) -> String {
    let vectors =
        format!(" It used about {} tokens for embeddings", count(measured.embedding_tokens));
    match measured.chat_tokens {
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

fn verdict(measured: &MeasuredView) -> String {
    let among_ten = |found: &FoundView| percent(found.found[2], measured.questions);
    let now = among_ten(&measured.now);
    let Some(before) = measured.before.as_ref().map(among_ten) else {
        return format!(
            "{now:.0} % of the questions find their memory in the top 10. The old embeddings could not be measured."
        );
    };
    let change = now - before;
    let (told, advice) = if change >= TELLING_PERCENT {
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
        "{told}: {now:.0} % of the questions find their memory in the top 10, before {before:.0} %.{advice}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use time::OffsetDateTime;

    fn verdict_of(now: i32, before: Option<i32>) -> String {
        let found = |n| FoundView {
            name: "a model".to_owned(),
            found: [0, 0, n],
            found_by_meaning: [0; 3],
        };
        verdict(&MeasuredView {
            at: OffsetDateTime {
                iso: String::new(),
                exact: String::new(),
                relative: String::new(),
            },
            questions: 50,
            by_model: 0,
            now: found(now),
            before: before.map(found),
            embedding_tokens: 0,
            chat_tokens: 0,
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
