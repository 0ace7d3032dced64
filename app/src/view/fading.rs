//! The types of Settings › Fading, and of how strong one memory is.

use crate::words::count;
use time::OffsetDateTime;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct FadingPage {
    pub is_on: bool,
    /// In percent.
    pub threshold: i64,
    /// Each type that may fade, with its half-life in days; `None`: it never fades.
    pub half_lives: Vec<(&'static str, Option<i64>)>,
    /// All that are active.
    pub active: i64,
    /// Weaker than the threshold now, in 30 days and in a year, if nobody uses them.
    pub weak: [i64; 3],
    /// When the next night comes: "every day at 04:00".
    pub schedule: String,
    /// The weakest of those that are weak now.
    pub weakest: Vec<FadingRow>,
    pub faded_count: i64,
    /// The last that have faded.
    pub faded: Vec<FadedRow>,
    /// A person decides about memories here.
    pub is_manageable: bool,
}

/// A memory that is weak.
#[derive(Clone, Debug, PartialEq)]
pub struct FadingRow {
    pub id: i64,
    pub item_type: &'static str,
    pub beginning: String,
    /// 0 to 100
    pub strength: i64,
    pub used: OffsetDateTime,
    pub uses: i64,
}

/// A memory that has faded.
#[derive(Clone, Debug, PartialEq)]
pub struct FadedRow {
    pub id: i64,
    pub item_type: &'static str,
    pub beginning: String,
    pub at: OffsetDateTime,
}

/// How strong a memory is, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemStrength {
    /// 0 to 100
    pub percent: i64,
    pub uses: i64,
    /// The last of them.
    pub used: Option<OffsetDateTime>,
    /// When it is weaker than the threshold, if nobody uses it.
    pub fades: Option<OffsetDateTime>,
    /// In days; `None`: it never fades.
    pub half_life: Option<i64>,
    /// The half-life is set for this memory alone.
    pub is_own: bool,
    /// What is weak is archived, for this user.
    pub is_on: bool,
    /// Its half-life can be set: it is not confirmed, and of a type that fades.
    pub can_be_set: bool,
}

impl ItemStrength {
    /// "62 %, used 3 times"
    pub fn in_words(&self) -> String {
        let uses = match self.uses {
            0 => "not used yet".to_owned(),
            1 => "used once".to_owned(),
            n => format!("used {} times", count(n)),
        };
        let never = match self.half_life {
            None => ", never fades",
            Some(_) => "",
        };
        format!("{} %, {uses}{never}", self.percent)
    }
}
