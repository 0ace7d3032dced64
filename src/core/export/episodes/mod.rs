//! Episodes, as lines of an export and an import. Sessions are not imported, so an imported episode has none:
//! it is identified by its period and text.

pub(super) mod store;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

use super::fields::{agent_name, date, trust};
use crate::accounts::AgentName;
use crate::consolidation::episodes::{
    ABSTRACT_CHARS_MAX, ImportedEpisode, SUMMARY_CHARS_MAX, SummaryAuthor, TOPICS_MAX,
};
use crate::input::{Invalid, required_text};

const TOPIC_CHARS_MAX: usize = 200;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EpisodeLine {
    #[serde(default)]
    pub id: i64,
    /// The `id` of its session.
    pub session: Option<i64>,
    pub agent: Option<String>,
    /// The agent that owns it; null: it is shared.
    pub owner: Option<String>,
    /// By name; null: of none.
    pub project: Option<String>,
    pub summary: String,
    #[serde(rename = "abstract")]
    pub short: String,
    #[serde(default, deserialize_with = "crate::export::fields::first_of::<_, _, TOPICS_MAX>")]
    pub topics: Vec<String>,
    pub made_by: String,
    pub trust: String,
    #[serde(with = "crate::export::moment")]
    pub began_at: OffsetDateTime,
    #[serde(with = "crate::export::moment")]
    pub ended_at: OffsetDateTime,
    #[serde(default, with = "crate::export::moment::option")]
    pub expires_at: Option<OffsetDateTime>,
    #[serde(default, with = "crate::export::moment::option")]
    pub promoted_at: Option<OffsetDateTime>,
}

impl EpisodeLine {
    /// Checks the line.
    ///
    /// # Errors
    /// [`Invalid`] naming the field.
    pub fn taken(
        &self,
    ) -> Result<(ImportedEpisode<'_>, Option<AgentName>, Option<AgentName>), Invalid> {
        let refused =
            |field: &'static str, sentence: String| Invalid::new(field, "invalid", sentence);
        let made_by = SummaryAuthor::from_label(&self.made_by).ok_or_else(|| {
            refused("made_by", "`made_by` is extract, model or agent.".to_owned())
        })?;
        if self.topics.len() > TOPICS_MAX {
            let sentence = format!("`topics` has at most {TOPICS_MAX} entries.");
            return Err(refused("topics", sentence));
        }
        for topic in &self.topics {
            required_text("topics", topic, TOPIC_CHARS_MAX)?;
        }
        let taken = ImportedEpisode {
            summary: required_text("summary", &self.summary, SUMMARY_CHARS_MAX)?,
            short: required_text("abstract", &self.short, ABSTRACT_CHARS_MAX)?,
            topics: &self.topics,
            made_by,
            trust: trust(&self.trust)?,
            began_at: date("began_at", self.began_at)?,
            ended_at: date("ended_at", self.ended_at)?,
            expires_at: self.expires_at.map(|at| date("expires_at", at)).transpose()?,
            promoted_at: self.promoted_at.map(|at| date("promoted_at", at)).transpose()?,
        };
        let agent = agent_name(self.agent.as_deref())?;
        Ok((taken, agent, agent_name(self.owner.as_deref())?))
    }
}
