//! Episodes (GoClaw's second tier): what a session, or a stretch of one, was about. The summary is the
//! agent's if it sends one, otherwise the chat model's, from the same answer as the facts, otherwise an
//! extract of the most informative sentences. Sentences that state nothing are left out of an extract, and
//! make no abstract.

mod retold;
mod store;
mod taken;

use std::collections::HashMap;

use serde_json::Value;
use sqlx::PgConnection;
use time::{Duration, OffsetDateTime};

pub use retold::retell;
pub use taken::import;

use super::ConsolidationError;
use super::facts::{clean, without_thoughts};
use super::sentences::sentences;
use super::transcript::{ToolNames, without_own_memory};
use crate::accounts::{AgentId, UserId};
use crate::db::Db;
use crate::db::labels;
use crate::embedding::Embeddings;
use crate::languages::{self, is_dense};
use crate::memories::chatter::is_chatter;
use crate::memories::mentions::{self, EntityType};
use crate::memories::quoted::own_words;
use crate::memories::write::{NewSource, write};
use crate::memories::{MemoryError, ProjectId, Trust, words};
use crate::sessions::model::SessionExtraction;
use crate::sessions::{MessageRole, StoredMessage};

/// Maximum length of an abstract.
pub const ABSTRACT_CHARS_MAX: usize = 200;
/// A shorter sentence is used only if there is no other.
const ABSTRACT_CHARS_MIN: usize = 40;
/// Questions are less informative than statements.
const QUESTION_WEIGHT: f64 = 0.3;
/// Maximum length of a summary: about 1,024 tokens of a model, or an agent's.
pub const SUMMARY_CHARS_MAX: usize = 4_000;
const SUMMARY_CHARS_MIN: usize = 20;
/// The same, of a script without spaces, or of syllables.
const DENSE_CHARS_MIN: usize = 8;
/// Maximum length of an extract.
const EXTRACT_CHARS_MAX: usize = 900;
const EXTRACT_SENTENCES: usize = 6;
const SENTENCE_CHARS: std::ops::RangeInclusive<usize> = 12..=400;
/// Maximum sentences of a session that are ranked.
const SENTENCES_MAX: usize = 2_000;
pub const TOPICS_MAX: usize = 8;
/// A model's summary is used only if this share of its words occurs in the session.
const SAID_SHARE_MIN: f64 = 0.5;
/// Episodes removed per transaction.
const REMOVED_AT_ONCE: i64 = 500;

labels! {
    /// Who wrote a summary; a later variant replaces an earlier one.
    #[derive(PartialOrd, Ord)]
    pub enum SummaryAuthor {
        Extract = "extract",
        Model = "model",
        Agent = "agent",
    }
}

/// An episode before it is stored.
#[derive(Clone, Debug)]
pub(super) struct EpisodeDraft {
    /// Empty if no sentence states something.
    pub summary: String,
    /// One sentence; as empty.
    pub short: String,
    pub topics: Vec<String>,
    pub made_by: SummaryAuthor,
    pub trust: Trust,
    /// Like `trust`, but including tool results, which a model and the agent have read.
    heard: Trust,
    pub began_at: OffsetDateTime,
    pub ended_at: OffsetDateTime,
    /// All words of the session, for checking a model's summary.
    words: HashMap<String, u32>,
}

/// Makes an episode of messages without a model; `None` if they contain no sentences.
pub(super) fn of_messages(messages: &[StoredMessage]) -> Option<EpisodeDraft> {
    let tools = ToolNames::of(messages);
    let mut said: Vec<(String, bool)> = Vec::new();
    let mut trust = Trust::User;
    let mut topics: HashMap<String, usize> = HashMap::new();
    for message in messages {
        if tools.is_own_memory(message) {
            continue;
        }
        let text = match message.role {
            MessageRole::Tool => continue,
            MessageRole::User => own_words(&without_own_memory(&message.content)),
            MessageRole::Assistant => without_own_memory(&message.content).into_owned(),
        };
        trust = trust.min(trust_of(message, &tools));
        for named in mentions::find(&text) {
            let is_address =
                matches!(named.entity_type, EntityType::Date | EntityType::Email | EntityType::Url);
            if named.is_sure && !is_address {
                *topics.entry(named.name).or_default() += 1;
            }
        }
        let room = SENTENCES_MAX.saturating_sub(said.len());
        let of_text = sentences(&text).map(str::trim).filter(|s| has_fitting_length(s));
        let of_text =
            of_text.map(|sentence| (sentence.to_owned(), message.role == MessageRole::User));
        said.extend(of_text.take(room));
    }
    let mut words: HashMap<String, u32> = HashMap::new();
    for (sentence, _) in &said {
        for word in telling(sentence) {
            *words.entry(word).or_default() += 1;
        }
    }
    let (first, last) = (messages.first()?, messages.last()?);
    if said.is_empty() {
        return None;
    }
    said.retain(|(sentence, _)| !is_chatter(sentence));
    let (summary, short) = extract(&said, &words).unwrap_or_default();
    let mut topics: Vec<(String, usize)> = topics.into_iter().collect();
    topics.sort_by(|(a, of_a), (b, of_b)| of_b.cmp(of_a).then(a.cmp(b)));
    let at = StoredMessage::said_at;
    Some(EpisodeDraft {
        summary,
        short,
        topics: topics.into_iter().take(TOPICS_MAX).map(|(name, _)| name).collect(),
        made_by: SummaryAuthor::Extract,
        trust,
        heard: heard_in(messages, &tools),
        began_at: at(first).min(at(last)),
        ended_at: at(last).max(at(first)),
        words,
    })
}

/// The least trust of these messages, including tool results.
fn heard_in(messages: &[StoredMessage], tools: &ToolNames<'_>) -> Trust {
    let others = messages.iter().filter(|m| !tools.is_own_memory(m));
    let each = others.map(|message| trust_of(message, tools));
    each.min().unwrap_or(Trust::User)
}

fn trust_of(message: &StoredMessage, tools: &ToolNames<'_>) -> Trust {
    match message.role {
        MessageRole::User => Trust::User,
        MessageRole::Assistant => Trust::Agent,
        MessageRole::Tool => tools.trust_of(message),
    }
}

fn has_fitting_length(sentence: &str) -> bool {
    SENTENCE_CHARS.contains(&sentence.chars().count())
}

fn is_telling(sentence: &&str) -> bool {
    has_fitting_length(sentence) && !is_chatter(sentence)
}

/// A summary that says nothing.
fn is_too_short(summary: &str) -> bool {
    let min = if summary.chars().any(is_dense) { DENSE_CHARS_MIN } else { SUMMARY_CHARS_MIN };
    summary.chars().count() < min
}

fn telling(text: &str) -> impl Iterator<Item = String> {
    let languages = languages::of(text);
    // Of a script without spaces, two characters are a word.
    let is_long =
        |word: &str| word.chars().count() > if word.chars().any(is_dense) { 1 } else { 2 };
    let is_telling = move |word: &String| is_long(word) && !languages.is_common_lexeme(word);
    words::lexemes(text).filter(is_telling)
}

/// Extracts the sentences with the most frequent words, in their order, and the best of them that stands
/// alone: not a question, and not too short.
fn extract(said: &[(String, bool)], words: &HashMap<String, u32>) -> Option<(String, String)> {
    let weight = |(sentence, by_user): &(String, bool)| {
        let mut own: Vec<String> = telling(sentence).collect();
        let length = own.len();
        own.sort();
        own.dedup();
        let sum: u32 = own.iter().filter_map(|word| words.get(word)).sum();
        let weight = f64::from(sum) / (length.max(1) as f64).sqrt();
        let asks = sentence.ends_with(['?', '？']);
        weight * if *by_user { 1.2 } else { 1.0 } * if asks { QUESTION_WEIGHT } else { 1.0 }
    };
    let mut ranked: Vec<(usize, f64)> = said.iter().map(weight).enumerate().collect();
    ranked.sort_by(|(a, of_a), (b, of_b)| of_b.total_cmp(of_a).then(a.cmp(b)));
    let tells = |(n, _): &&(usize, f64)| {
        let sentence = said[*n].0.as_str();
        !sentence.ends_with(['?', '？']) && sentence.chars().count() >= ABSTRACT_CHARS_MIN
    };
    let (best, _) = *ranked.iter().find(tells).or(ranked.first())?;
    let mut chosen: Vec<usize> = Vec::new();
    let mut chars = 0;
    for (n, _) in ranked {
        let sentence = said[n].0.as_str();
        let length = sentence.chars().count() + 1;
        let is_again = chosen.iter().any(|other| said[*other].0 == sentence);
        if is_again || chars + length > EXTRACT_CHARS_MAX {
            continue;
        }
        chars += length;
        chosen.push(n);
        if chosen.len() == EXTRACT_SENTENCES {
            break;
        }
    }
    chosen.sort_unstable();
    let summary: Vec<&str> = chosen.iter().map(|n| said[*n].0.as_str()).collect();
    Some((summary.join(" "), cut(&said[best].0)))
}

/// Cuts at a word boundary.
fn cut(sentence: &str) -> String {
    let Some((end, _)) = sentence.char_indices().nth(ABSTRACT_CHARS_MAX - 1) else {
        return sentence.to_owned();
    };
    let blank = sentence[..end].rfind(char::is_whitespace);
    format!("{}…", sentence[..blank.unwrap_or(end)].trim_end())
}

/// The summary in a model's answer; `None` if it has none.
pub(super) fn summary_in(answer: &str) -> Option<String> {
    let answer = without_thoughts(answer);
    let json = answer.get(answer.find('{')?..=answer.rfind('}')?)?;
    let value: Value = serde_json::from_str(json).ok()?;
    let summary = clean(value["summary"].as_str()?);
    (!summary.is_empty()).then_some(summary)
}

impl EpisodeDraft {
    /// Uses the model's summaries of the windows, unless they do not match what was said.
    pub(super) fn told_by_model(self, summaries: &[String]) -> Self {
        let summary = summaries.join(" ");
        let (mut all, mut of_these) = (0, 0);
        for word in telling(&summary) {
            all += 1;
            of_these += usize::from(self.words.contains_key(&word));
        }
        let is_said = all > 0 && of_these as f64 >= SAID_SHARE_MIN * f64::from(all);
        match is_said && summary.chars().count() <= SUMMARY_CHARS_MAX {
            true => self.told(summary, SummaryAuthor::Model, Trust::Agent),
            false => self,
        }
    }

    /// Uses the agent's summary.
    pub(super) fn told_by_agent(self, summary: &str) -> Self {
        self.told(summary.to_owned(), SummaryAuthor::Agent, Trust::Agent)
    }

    fn told(self, summary: String, made_by: SummaryAuthor, at_most: Trust) -> Self {
        if is_too_short(&summary) {
            return self;
        }
        let first = sentences(&summary).map(str::trim).find(is_telling);
        Self {
            short: match first {
                Some(first) => cut(first),
                None if self.short.is_empty() => cut(&summary),
                None => self.short.clone(),
            },
            summary,
            made_by,
            trust: self.heard.min(at_most),
            ..self
        }
    }
}

/// An episode of an export.
#[derive(Clone, Copy, Debug)]
pub struct ImportedEpisode<'a> {
    pub summary: &'a str,
    pub short: &'a str,
    pub topics: &'a [String],
    pub made_by: SummaryAuthor,
    pub trust: Trust,
    pub began_at: OffsetDateTime,
    pub ended_at: OffsetDateTime,
    pub expires_at: Option<OffsetDateTime>,
    pub promoted_at: Option<OffsetDateTime>,
}

/// An episode, as it is shown to its owner.
#[derive(Clone, Debug)]
pub struct EpisodeView {
    pub session: i64,
    pub first_position: i32,
    pub last_position: i32,
    pub short: String,
    pub summary: String,
    pub made_by: SummaryAuthor,
}

/// The episodes of these sessions, in session order.
///
/// # Errors
/// Only database errors.
pub async fn of_sessions(
    db: &Db,
    user: UserId,
    sessions: &[i64],
) -> Result<Vec<EpisodeView>, sqlx::Error> {
    db.for_user(user, async |conn, user| store::list_of_sessions(conn, user, sessions).await).await
}

/// Stores the episode of a stretch, in the transaction that stores what else was read in it. Replaces an
/// existing one if the new author ranks higher. Without a summary there is none.
pub(super) async fn keep(
    conn: &mut PgConnection,
    embeddings: &Embeddings,
    (user, agent): (UserId, Option<AgentId>),
    row: &SessionExtraction,
    (last_position, project): (i32, Option<ProjectId>),
    draft: &EpisodeDraft,
) -> Result<(), ConsolidationError> {
    if draft.summary.is_empty() {
        return Ok(());
    }
    let now = embeddings.now();
    let known = store::find_known(&mut *conn, user, row.session_id.0, row.first_position).await?;
    if let Some((source, made_by)) = known {
        if made_by >= draft.made_by {
            return Ok(());
        }
        store::remove(&mut *conn, &[source]).await?;
    }
    let days = store::find_days(&mut *conn, user, agent).await?;
    let source = NewSource {
        agent_id: agent.map(|agent| agent.0),
        project_id: project.map(|project| project.0),
        source: "conversation",
        trust: draft.trust.as_str(),
        created_at: draft.ended_at.min(now),
        expires_at: Some(now + Duration::days(i64::from(days))),
        ..NewSource::new("episode", &draft.summary, None, &draft.topics, now)
    };
    let written = write(&mut *conn, user, &[source], now).await?;
    if let Some(Some(id)) = written.ids.first() {
        store::insert(&mut *conn, user, id.0, row, last_position, draft, now).await?;
        let seen_to = embeddings.see_to(conn, user, written.noted).await;
        seen_to.map_err(MemoryError::from)?;
    }
    Ok(())
}

/// Removes some of a user's expired episodes. Returns how many.
///
/// # Errors
/// Only database errors.
pub async fn remove_expired(
    db: &Db,
    user: UserId,
    now: OffsetDateTime,
) -> Result<usize, sqlx::Error> {
    let mut tx = db.as_writer(user).await?;
    let expired = store::list_expired(&mut tx, user, now, REMOVED_AT_ONCE).await?;
    let removed = store::remove(&mut tx, &expired).await?;
    tx.commit().await?;
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consolidation::testing;

    fn message(position: i32, role: MessageRole, content: &str) -> StoredMessage {
        let created_at = OffsetDateTime::UNIX_EPOCH + Duration::minutes(i64::from(position));
        StoredMessage { created_at, ..testing::message(position, role, content) }
    }

    fn talk() -> Vec<StoredMessage> {
        vec![
            message(1, MessageRole::User, "Hi there, how are you today?"),
            message(2, MessageRole::Assistant, "Fine, thank you. What can I do?"),
            message(
                3,
                MessageRole::User,
                "We plan the boat trip to Bergen with Marta Helgesen. The boat leaves on Friday.",
            ),
            message(
                4,
                MessageRole::Assistant,
                "The boat trip to Bergen is on Friday then. I will book the boat for Marta Helgesen.",
            ),
        ]
    }

    #[test]
    fn the_most_telling_sentences_are_what_it_was_about() {
        let draft = of_messages(&talk()).expect("taken");
        assert!(draft.summary.contains("We plan the boat trip to Bergen"), "{draft:?}");
        assert!(draft.short.contains("boat") && draft.short.chars().count() <= ABSTRACT_CHARS_MAX);
        assert!(draft.topics.contains(&"Marta Helgesen".to_owned()), "{:?}", draft.topics);
        assert_eq!((draft.made_by, draft.trust), (SummaryAuthor::Extract, Trust::Agent));
        assert!(draft.began_at < draft.ended_at);
        assert!(of_messages(&[]).is_none());
        assert!(of_messages(&[message(1, MessageRole::User, "ok")]).is_none());
    }

    #[test]
    fn what_states_nothing_makes_no_episode() {
        let asked = message(1, MessageRole::User, "Who was the very first to climb the mountain?");
        let noted = message(2, MessageRole::Assistant, "Noted: I keep that in mind.");
        let told = message(3, MessageRole::User, "My new boots are blue.");
        let draft = of_messages(&[asked.clone(), noted.clone(), told]).expect("taken");
        assert_eq!([draft.summary, draft.short], ["My new boots are blue."; 2]);
        let draft = of_messages(&[asked, noted]).expect("taken");
        assert_eq!((draft.summary.as_str(), draft.short.as_str()), ("", ""));
        let told = draft.clone().told_by_agent("They asked who was first to climb the mountain.");
        assert_eq!(told.short, "They asked who was first to climb the mountain.");
        let summary = "They asked who was first to climb the mountain.".to_owned();
        assert_eq!(draft.told_by_model(&[summary]).made_by, SummaryAuthor::Model);
    }

    #[test]
    fn a_long_sentence_is_cut_at_a_word() {
        let long = "word ".repeat(100);
        let short = cut(&long);
        assert!(short.chars().count() <= ABSTRACT_CHARS_MAX && short.ends_with("word…"));
    }

    #[test]
    fn a_model_is_believed_where_it_tells_what_was_said() {
        let draft = of_messages(&talk()).expect("taken");
        let told = draft.clone().told_by_model(&[
            "They planned a boat trip to Bergen on Friday. Marta comes along.".to_owned(),
        ]);
        assert_eq!(told.made_by, SummaryAuthor::Model);
        assert_eq!(told.short, "They planned a boat trip to Bergen on Friday.");
        for nonsense in
            ["Quantum flux capacitors were discussed at great length by robots.", "", "ok", "{}"]
        {
            assert_eq!(
                draft.clone().told_by_model(&[nonsense.to_owned()]).made_by,
                SummaryAuthor::Extract
            );
        }
        let by_agent = draft.told_by_agent("Trip booked; Marta pays later.");
        assert_eq!(
            (by_agent.made_by, by_agent.summary.as_str()),
            (SummaryAuthor::Agent, "Trip booked; Marta pays later.")
        );
    }

    #[test]
    fn a_model_is_believed_in_chinese_and_japanese_too() {
        for (said, summary, nonsense) in [
            (
                "我们周五早上坐船去卑尔根。船票在王芳那里。",
                "他们周五坐船去卑尔根，王芳有船票。",
                "他们讨论了量子通量电容器。",
            ),
            (
                "金曜日の朝に船でベルゲンへ行きます。切符は田中さんが持っています。",
                "金曜日に船でベルゲンへ行く。切符は田中さん。",
                "量子コンデンサについて議論した。",
            ),
        ] {
            let draft = of_messages(&[message(1, MessageRole::User, said)]).expect("taken");
            let made_by =
                |summary: &str| draft.clone().told_by_model(&[summary.to_owned()]).made_by;
            assert_eq!(made_by(summary), SummaryAuthor::Model, "{summary}");
            assert_eq!(made_by(nonsense), SummaryAuthor::Extract, "{nonsense}");
        }
    }

    #[test]
    fn a_summary_is_found_in_an_answer() {
        let answer =
            "<think>hm</think> {\"facts\": [], \"summary\": \" They\\u0000 met.\\u0007 \"}";
        assert_eq!(summary_in(answer).as_deref(), Some("They met."));
        for none in [
            "",
            "{}",
            "{\"summary\": 7}",
            "{\"summary\": \"\"}",
            "}{",
            "} {",
            "[]}\n\n{\"facts\": [{\"key\": \"a\", \"val",
            "no",
        ] {
            assert_eq!(summary_in(none), None, "{none}");
        }
    }
}
