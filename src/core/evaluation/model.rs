//! The figures of a measurement.

use time::OffsetDateTime;

use super::score::CUTOFFS;
use crate::embedding::model::Space;
use crate::providers::ProviderType;

/// What was asked, the same for both sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AskedCounts {
    /// Items that questions could be made of.
    pub items: i64,
    pub questions: i32,
    /// How many of the questions the chat model wrote.
    pub by_model: i32,
}

/// The rank at which a question finds its item, from 1; 0: not found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuestionRanks {
    /// By words and meaning, as search ranks.
    pub found: i32,
    pub by_meaning: i32,
}

/// How many questions found their item first, among the first 5, and among the first 10.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideScores {
    pub provider_type: ProviderType,
    pub model: String,
    /// By words and meaning, as search ranks.
    pub found: [i32; CUTOFFS.len()],
    pub found_by_meaning: [i32; CUTOFFS.len()],
}

impl SideScores {
    pub(super) fn of(space: &Space, places: &[QuestionRanks]) -> Self {
        let within = |of: fn(&QuestionRanks) -> i32| {
            CUTOFFS.map(|most| {
                let is_within = |at: &i32| (1..=most).contains(&usize::try_from(*at).unwrap_or(0));
                let n = places.iter().map(of).filter(is_within).count();
                i32::try_from(n).unwrap_or(i32::MAX)
            })
        };
        Self {
            provider_type: space.settings.endpoint.provider_type,
            model: space.settings.endpoint.model.clone(),
            found: within(|place| place.found),
            found_by_meaning: within(|place| place.by_meaning),
        }
    }
}

/// Approximate cost of a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeasurementTokens {
    /// Sent to both models to embed the questions.
    pub embedding: i64,
    /// Read and written by the chat model.
    pub chat: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measurement {
    pub at: OffsetDateTime,
    pub asked: AskedCounts,
    pub now: SideScores,
    /// `None` if its vectors were deleted, or its model stopped answering.
    pub before: Option<SideScores>,
    pub tokens: MeasurementTokens,
}
