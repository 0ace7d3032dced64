//! Reads the time that a question names ("last summer", "im Mai 2023", "三天前") in the question's language. The words are in
//! `languages/`; a language without them has no times but those in digits.

mod calendar;
mod chunk;
mod cut;
mod event;
mod holiday;
mod lexicon;
mod numeric;
mod parse;
mod reading;
mod sides;

use std::collections::BTreeSet;
use std::ops::Range;

use time::{Date, OffsetDateTime};

use self::chunk::{Chunk, chunks, parts};
use self::cut::tokens;
pub use self::event::EventClause;
use self::lexicon::{Kind, Lexicon, TimeRelation, lexicons};
use self::reading::TimeReading;
use crate::clock::Zone;
use crate::languages::characters::is_unspaced;
use crate::memories::Period;

/// Half-open range of days; `None`: unbounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Days {
    from: Option<Date>,
    until: Option<Date>,
}

impl Days {
    fn beside(side: Option<TimeRelation>, days: Range<Date>) -> Self {
        let (from, until) = match side {
            None => (Some(days.start), Some(days.end)),
            Some(TimeRelation::Before) => (None, Some(days.start)),
            Some(TimeRelation::After) => (Some(days.end), None),
            Some(TimeRelation::Since) => (Some(days.start), None),
            Some(TimeRelation::Until) => (None, Some(days.end)),
        };
        Self { from, until }
    }
}

/// The period that a question names, in the given time zone.
pub fn named(question: &str, zone: &str, now: OffsetDateTime) -> Option<Period> {
    let zone = Zone::from_column(zone);
    let days = days(question, zone.local(now))?;
    Some(Period {
        from: days.from.map(|day| zone.midnight(day)),
        until: days.until.map(|day| zone.midnight(day)),
    })
}

/// The days that a question names. Where it may be in several languages, they must agree.
fn days(question: &str, now: OffsetDateTime) -> Option<Days> {
    let chunks = chunks(question);
    let lexicons = lexicons(question).into_iter();
    let read: Vec<(&Lexicon, Option<TimeNamed>)> =
        lexicons.map(|lexicon| (lexicon, read(&chunks, lexicon, now))).collect();
    let first = read.iter().find_map(|(_, named)| named.as_ref())?;
    let agrees = |(lexicon, named): &(&Lexicon, Option<TimeNamed>)| match named {
        Some(named) => named.days == first.days,
        // It has one of the words for something else: German "hier" is not French "yesterday".
        None => !first.words.iter().any(|word| lexicon.knows(word)),
    };
    read.iter().all(agrees).then_some(first.days)
}

/// Whether a question asks for what is over: "where did I live before?"
pub fn asks_past(question: &str) -> bool {
    let chunks = chunks(question);
    let asks = |lexicon| {
        let tokens = tokens(&chunks, lexicon, OffsetDateTime::UNIX_EPOCH.year());
        let before = [Kind::Side(TimeRelation::Before), Kind::SideAfter(TimeRelation::Before)];
        let begins = |token: &cut::TimeToken| before.iter().any(|kind| token.kinds.contains(kind));
        tokens.first().is_some_and(begins)
            || tokens.iter().any(|token| token.kinds.contains(&Kind::Earlier))
    };
    lexicons(question).into_iter().any(asks)
}

struct TimeNamed {
    days: Days,
    words: BTreeSet<String>,
}

fn read(chunks: &[Chunk], lexicon: &'static Lexicon, now: OffsetDateTime) -> Option<TimeNamed> {
    let tokens = tokens(chunks, lexicon, now.year());
    let reading = TimeReading { tokens: &tokens, lexicon, now };
    let found = reading.found();
    let words = found.iter().flat_map(|one| tokens[one.words.clone()].iter());
    let words = words.map(|token| token.text.clone()).collect();
    Some(TimeNamed { days: reading.days(&found)?, words })
}

/// The words of a question, folded.
pub fn words_of(question: &str) -> Vec<String> {
    chunks(question).iter().flat_map(|chunk| parts(&chunk.text)).collect()
}

/// Words of a question that only express a time: those of the times that it names, or "before" and the like.
pub fn words_of_time(question: &str) -> Vec<String> {
    let chunks = chunks(question);
    let of_language = |lexicon| {
        // Which words they are does not depend on today.
        let now =
            OffsetDateTime::UNIX_EPOCH.replace_year(2026).unwrap_or(OffsetDateTime::UNIX_EPOCH);
        let tokens = tokens(&chunks, lexicon, now.year());
        let reading = TimeReading { tokens: &tokens, lexicon, now };
        let found = reading.found();
        if found.is_empty() {
            let sides = (0..tokens.len()).filter(|at| reading.side(*at).is_some());
            return sides.map(|at| tokens[at].text.clone()).collect::<Vec<_>>();
        }
        let spans = found.iter().map(|one| &tokens[reading.around(&one.words)]);
        spans.flat_map(|span| span_words(span, &chunks)).collect()
    };
    let words: BTreeSet<String> = lexicons(question).into_iter().flat_map(of_language).collect();
    words.into_iter().collect()
}

/// The words as search cuts them: with blanks whole ("7th"), without them in single characters and pairs.
fn span_words(span: &[cut::TimeToken], chunks: &[Chunk]) -> Vec<String> {
    let text: Vec<char> = span.iter().flat_map(|token| token.text.chars()).collect();
    let runs = text.chunk_by(|a, b| is_unspaced(*a) == is_unspaced(*b));
    let runs = runs.filter(|run| is_unspaced(run[0]));
    let pieces = runs.flat_map(|run| (1..=2).flat_map(|length| run.windows(length)));
    let pieces = pieces.map(|piece| piece.iter().collect());
    let whole = span.iter().map(|token| token.text.clone());
    let of_chunks = span.iter().map(|token| chunks[token.chunk].text.clone());
    pieces.chain(whole).chain(of_chunks.filter(|text| !text.contains(is_unspaced))).collect()
}

#[cfg(test)]
mod tests {
    use time::Duration;
    use time::macros::datetime;

    use super::holiday::Holiday;
    use super::*;
    use crate::languages;

    /// A Thursday, 12:00.
    const NOW: OffsetDateTime = datetime!(2026-11-26 12:00 UTC);

    fn told(question: &str) -> Option<[Option<String>; 2]> {
        let told = |day: Option<Date>| day.map(|day| day.to_string());
        days(question, NOW).map(|days| [told(days.from), told(days.until)])
    }

    #[test]
    fn every_language_reads_its_examples() {
        let mut wrong = Vec::new();
        for (code, language) in languages::all() {
            let times = &language.times;
            assert!(times.examples.len() > 9, "{code} has few examples");
            assert_eq!(
                (times.months.len(), times.weekdays.len(), times.seasons.len()),
                (12, 7, 4),
                "{code}"
            );
            for example in &times.examples {
                let event = [&example.before, &example.after];
                let is_time = !example.none && event == [&None, &None];
                let expected = is_time.then(|| [example.from.clone(), example.until.clone()]);
                let found = told(&example.say);
                if found != expected {
                    wrong.push(format!("{code}: {} is {found:?}, not {expected:?}", example.say));
                }
                let named = EventClause::named(&example.say);
                let is_named = named.as_ref().is_some_and(|clause| clause.is_beside(event));
                if is_named == (event == [&None, &None]) {
                    wrong.push(format!("{code}: {} is {named:?}, not {event:?}", example.say));
                }
            }
            for days in times.holidays.keys() {
                assert!(Holiday::parse(days).is_some(), "{code}: {days}");
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn days_begin_where_the_person_is() {
        let now = datetime!(2026-11-25 12:00 UTC);
        let period = named("yesterday", "Pacific/Auckland", now).expect("a time");
        let begins = datetime!(2026-11-24 11:00 UTC);
        assert_eq!((period.from, period.until), (Some(begins), Some(begins + Duration::days(1))));
    }

    #[test]
    fn dates_in_digits_need_no_language() {
        let day = Some([Some("2023-05-07".to_owned()), Some("2023-05-08".to_owned())]);
        for question in [
            "2023-05-07",
            "2023-5-7",
            "2023/05/07",
            "2023.5.7",
            "7.5.2023",
            "07.05.2023",
            "07.05.23?",
            "5/7/2023",
            "5/7/23",
            "٢٠٢٣-٠٥-٠٧",
            "२०२३-०५-०७",
            "２０２３-０５-０７",
            "2023-05-07T10:00:00Z",
        ] {
            assert_eq!(told(question), day, "{question}");
        }
        for question in [
            "2023-13-45",
            "7.5",
            "1.2.23",
            "192.168.1.1",
            "10:30",
            "1,250",
            "2023",
            "555-1234",
            "24/7",
            "v2023-05-07",
        ] {
            assert_eq!(told(question), None, "{question}");
        }
    }

    #[test]
    fn languages_that_tie_must_agree() {
        // German "here", French "yesterday".
        for question in ["hier", "Anna hier", "", "5"] {
            assert_eq!(told(question), None, "{question}");
        }
        let may = Some([Some("2023-05-01".to_owned()), Some("2023-06-01".to_owned())]);
        assert_eq!(told("Mai 2023"), may);
    }

    #[test]
    fn hostile_input_is_bounded() {
        for word in ["ago ", "last ", "may", "前", "2023年", "between May and ", "1-", "'s "] {
            let question = word.repeat(100_000);
            days(&question, NOW);
            words_of_time(&question);
            EventClause::named(&question);
        }
    }

    #[test]
    fn the_29th_of_february_is_the_last_that_was() {
        assert_eq!(
            told("on 29 February"),
            Some([Some("2024-02-29".to_owned()), Some("2024-03-01".to_owned())])
        );
        assert_eq!(told("31 February"), None);
    }

    #[test]
    fn words_of_time_are_those_of_the_times() {
        for (question, words) in [
            ("lunch on May 7th, 2023", vec!["2023", "7", "7th", "may", "on", "th"]),
            ("lunch before the move", vec!["before"]),
            ("port 2049", vec![]),
        ] {
            assert_eq!(words_of_time(question), words, "{question}");
        }
        assert!(words_of_time("上个月吃了什么").iter().any(|word| word == "个月"));
    }
}
