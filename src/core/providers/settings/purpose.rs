//! The purposes of chat calls, and what a user allows: for each purpose a switch and a share of the daily
//! limit.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::db::labels;
use crate::input::{Invalid, number};

/// Default tokens per user and day.
pub const DAILY_TOKEN_CAP: i64 = 200_000;
/// Bounds of the daily limit. The lower one allows any single call of an extraction or a summary.
pub const CAP_TOKENS_MIN: i64 = 10_000;
pub const CAP_TOKENS_MAX: i64 = 1_000_000_000;

labels! {
    #[derive(PartialOrd, Ord)]
    pub enum ChatPurpose {
        /// Extracting memories and episodes from sessions, in one answer.
        Facts = "facts",
        /// Reading memories for entities at night.
        Enrichment = "enrichment",
        Summary = "summary",
        /// The weekly reflection.
        Reflection = "reflection",
        /// What lasts of several sessions, and which memories to merge.
        Dreaming = "dreaming",
        Evaluation = "evaluation",
    }
}

/// What a user allows the model for one purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    pub is_on: bool,
    /// Percentage of the daily limit, 1 to 100.
    pub share: i64,
}

impl Allowance {
    /// Tokens per day.
    pub fn cap(self, cap: i64) -> i64 {
        let of_cap = i128::from(cap) * i128::from(self.share) / 100;
        i64::try_from(of_cap).unwrap_or(cap)
    }
}

impl Default for Allowance {
    fn default() -> Self {
        Self { is_on: true, share: 100 }
    }
}

/// By purpose; a missing one has the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowances(BTreeMap<ChatPurpose, Allowance>);

impl Allowances {
    pub fn of(&self, purpose: ChatPurpose) -> Allowance {
        self.0.get(&purpose).copied().unwrap_or_default()
    }

    #[must_use]
    pub fn with(mut self, purpose: ChatPurpose, allowance: Allowance) -> Self {
        self.0.insert(purpose, allowance);
        self
    }

    /// Parses the column.
    pub(in crate::providers) fn from_column(column: &Value) -> Self {
        let of = |purpose: ChatPurpose| {
            let found = column.get(purpose.as_str())?;
            let is_on = found.get("on").and_then(Value::as_bool).unwrap_or(true);
            let share = found.get("share").and_then(Value::as_i64);
            let share = share.filter(|share| (1..=100).contains(share)).unwrap_or(100);
            Some((purpose, Allowance { is_on, share }))
        };
        Self(ChatPurpose::ALL.into_iter().filter_map(of).collect())
    }

    pub(in crate::providers) fn as_column(&self) -> Value {
        let of = |(purpose, allowance): (&ChatPurpose, &Allowance)| {
            let value = json!({ "on": allowance.is_on, "share": allowance.share });
            (purpose.as_str().to_owned(), value)
        };
        Value::Object(self.0.iter().map(of).collect())
    }

    /// Parses a form: `on_…` and `share_…` for each purpose; an empty share means 100 %.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn parse<'a>(form: impl Fn(&str) -> &'a str) -> Result<Self, Invalid> {
        let of = |purpose: ChatPurpose| {
            let (on, share) = purpose.fields();
            let allowance =
                Allowance { is_on: form(on) == "1", share: parse_share(share, form(share))? };
            Ok((purpose, allowance))
        };
        let parsed: Result<_, Invalid> = ChatPurpose::ALL.into_iter().map(of).collect();
        parsed.map(Self)
    }

    /// Checks that the share of each enabled purpose allows at least one call.
    pub(in crate::providers) fn check(&self, cap: i64) -> Result<(), Invalid> {
        let mut all = self.0.iter();
        match all.find(|(_, one)| one.is_on && one.cap(cap) < CAP_TOKENS_MIN) {
            None => Ok(()),
            Some((purpose, one)) => {
                let (_, field) = purpose.fields();
                let least = (100 * CAP_TOKENS_MIN + cap - 1) / cap;
                let sentence = format!(
                    "`{field}` is too little: {} % of {cap} tokens a day may not hold one call; give at least {least}.",
                    one.share
                );
                Err(Invalid::new(field, "out_of_range", sentence))
            }
        }
    }
}

impl ChatPurpose {
    /// The names of a form's fields: of its switch, and of its share.
    pub fn fields(self) -> (&'static str, &'static str) {
        match self {
            Self::Facts => ("on_facts", "share_facts"),
            Self::Enrichment => ("on_enrichment", "share_enrichment"),
            Self::Summary => ("on_summary", "share_summary"),
            Self::Reflection => ("on_reflection", "share_reflection"),
            Self::Dreaming => ("on_dreaming", "share_dreaming"),
            Self::Evaluation => ("on_evaluation", "share_evaluation"),
        }
    }
}

fn parse_share(field: &'static str, text: &str) -> Result<i64, Invalid> {
    if text.trim().is_empty() {
        return Ok(100);
    }
    number(field, text, 1..=100, "give a whole number of percent, 1 to 100")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_and_what_is_missing_is_on_with_all_of_it() {
        let kept =
            Allowances::default().with(ChatPurpose::Summary, Allowance { is_on: false, share: 30 });
        assert_eq!(Allowances::from_column(&kept.as_column()), kept);
        assert_eq!(kept.of(ChatPurpose::Facts), Allowance::default());
        let odd = json!({ "summary": { "share": 900 }, "unknown": {}, "facts": 3 });
        let read = Allowances::from_column(&odd);
        assert_eq!(read.of(ChatPurpose::Summary), Allowance::default());
    }

    #[test]
    fn a_share_that_holds_no_call_is_refused_with_the_least_that_does() {
        let form = |name: &str| match name {
            "share_summary" => "40",
            name if name.starts_with("share_") => "100",
            _ => "1",
        };
        let parsed = Allowances::parse(form).unwrap();
        let refused = parsed.check(20_000).unwrap_err();
        assert!(
            refused.field == "share_summary" && refused.sentence.contains("at least 50."),
            "{refused:?}"
        );
        assert_eq!(parsed.check(25_000), Ok(()));
        assert_eq!(parsed.of(ChatPurpose::Summary).cap(25_000), 10_000);
        for bad in ["0", "101", "1.5", "x"] {
            let form = |name: &str| if name.starts_with("on") { "1" } else { bad };
            assert_eq!(Allowances::parse(form).unwrap_err().field, "share_facts", "{bad}");
        }
    }
}
