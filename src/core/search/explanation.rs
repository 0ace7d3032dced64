//! Why a hit has its rank: the signals and weights that `fuse.rs` makes a score of.

use schemars::JsonSchema;
use serde::Serialize;

// Why a hit has its rank (`explain: true`), as the tool returns it: its schema has no description. `SignalWeights` says how
// the score is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Explanation {
    /// Cosine distance, 0 to 2; null without an embedding.
    pub distance: Option<f64>,
    /// `1 / (1 + distance)`; 0 without an embedding.
    pub semantic: f64,
    /// Late-interaction similarity (token by token), 0 to about 0.8. Null if the model returns no token vectors, or the text has several passages.
    pub late: Option<f64>,
    /// Share of `late` in `semantic_normalised`, 0 to 1.
    pub late_share: f64,
    /// Semantic similarity, normalised: 0 for unrelated texts, 1 for paraphrases.
    pub semantic_normalised: f64,
    /// Share of the query's words that match, weighted by rarity, 0 to 1.
    pub lexical: f64,
    /// The same as `lexical`.
    pub lexical_normalised: f64,
    /// Number of the query's words that match.
    pub words_matched: i64,
    /// No word matches, but the text contains a part of the query.
    #[serde(rename = "substring")]
    pub is_substring: bool,
    pub weights: SignalWeights,
    /// Added if a person named in the query said it, or if a text without a speaker mentions that person.
    pub speaker: f64,
    /// Added if it mentions entities that the query names.
    pub entities: f64,
    /// Added if its date is in or near the requested period.
    pub time: f64,
    /// Added if the user stated it, unless the user stated all candidates.
    pub trust: f64,
    /// Added for matches in the neighbouring messages of the conversation.
    pub neighbours: f64,
    /// Factor that scales meaning, words and neighbours so that the best candidate has 1.
    pub likeness_scale: f64,
    /// Added if it contains all rare words of the query, or more of its numbers, addresses and codes than other candidates.
    pub exact: f64,
    /// Added if it replaced another found item, so that it ranks before that item.
    pub replaces: f64,
    /// Factor that keeps all scores at or below 1.
    pub scale: f64,
    /// Factor by kind of item: 0.6 for a turn, 0.7 for an episode, otherwise 1; multiplied by 0.4 if the text states nothing, by 0.5 if it is over or ahead, and by a factor for its project.
    #[serde(rename = "tier")]
    pub tier_weight: f64,
    /// Factor: 1.2 for the agent's own items if its settings rank those first, 1/1.2 for shared items of another user, otherwise 1.
    #[serde(rename = "own")]
    pub own_weight: f64,
    /// 0 to 1, no part of the score ([`super::relevance`]).
    #[serde(skip)]
    pub relevance: f64,
}

/// The score is `scale` × `tier` × `own` × (`likeness_scale` × (sum of each normalised signal × its weight + `neighbours`) + `speaker` + `entities` + `time` + `trust`) + `exact` + `replaces`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SignalWeights {
    // By the query's balance and whether it asks for rare words; 1 if no word of it occurs, 0 without a distance.
    pub semantic: f64,
    // `1 - semantic`; without a distance, less than 1 by what is expected of the meaning.
    pub lexical: f64,
}

impl Explanation {
    pub fn score(&self) -> f64 {
        self.likeness() + self.beside() + self.exact + self.replaces
    }

    /// Meaning and words in common.
    pub(super) fn signals(&self) -> f64 {
        self.weights.semantic * self.semantic_normalised + self.weights.lexical * self.lexical
    }

    pub(super) fn likeness(&self) -> f64 {
        let signals = self.likeness_scale * (self.signals() + self.neighbours);
        self.scale * self.tier_weight * self.own_weight * signals
    }

    fn beside(&self) -> f64 {
        let sum = self.speaker + self.entities + self.time + self.trust;
        self.scale * self.tier_weight * self.own_weight * sum
    }

    /// Cosine similarity; 0 without a ready embedding.
    pub fn similarity(&self) -> f64 {
        self.distance.map_or(0.0, |distance| 1.0 - distance)
    }
}
