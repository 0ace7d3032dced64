//! What was derived from memories and messages follows them. A turn, an episode, a reflection, a dream, a summary, a portrait
//! or a relation still says what a memory said that was replaced or forgotten since: here is what each stands on, what became
//! of that, and which sentences may still be told. Nothing of it is stored, so that a restored memory is told again at once.

pub(crate) mod store;

use std::collections::{HashMap, HashSet};
use std::fmt;

use sqlx::PgConnection;
use time::OffsetDateTime;

use self::store::ChainLink;
use super::sentences::sentences;
use super::words::{self, Term};
use super::{ARCHIVED, EXPIRED, FADED, ItemId, MERGED, READ_AGAIN, with_key};
use crate::accounts::UserId;
use crate::texts::is_same;

/// A sentence with this share of a memory's words says what it says.
const SAME_SHARE: f64 = 0.5;

/// A memory that a text stands on.
#[derive(Clone, Debug)]
pub struct SourceFact {
    pub id: ItemId,
    /// Read from this very message or stretch, or noted as a source; false: from another message of the session.
    is_direct: bool,
    /// With its key, where the content alone is a bare value.
    text: String,
    /// `None` while it holds, also if it has faded or expired.
    pub ended: Option<FactEnd>,
}

/// How a memory came to hold no more.
#[derive(Clone, Debug)]
pub struct FactEnd {
    pub at: OffsetDateTime,
    /// What holds in its place, with its text.
    pub successor: Option<(ItemId, String)>,
    /// It was archived itself, by a person or an agent. False: it had been replaced.
    pub is_forgotten: bool,
}

/// What a text says of what does not hold any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outdated {
    ReplacedBy(ItemId),
    /// Nothing holds in its place.
    NotHeld,
}

impl fmt::Display for Outdated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReplacedBy(newer) => write!(f, "replaced by #{newer}"),
            Self::NotHeld => f.write_str("no longer held"),
        }
    }
}

/// What a text stands on.
#[derive(Clone, Debug, Default)]
pub struct TextBasis {
    facts: Vec<SourceFact>,
    /// The text is a message, which tells all that was read from it.
    is_message: bool,
}

/// What these sources of any kind stand on, by id; those that stand on no memory are left out. With `as_of`, what had not
/// ended by then holds.
///
/// # Errors
/// Database errors only.
pub async fn bases(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
    as_of: Option<OffsetDateTime>,
) -> Result<HashMap<i64, TextBasis>, sqlx::Error> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let links = store::list_links(conn, user, ids, (&[], &[])).await?;
    Ok(grouped(links, as_of))
}

/// The same of messages, by their places here.
///
/// # Errors
/// Database errors only.
pub async fn bases_of_messages(
    conn: &mut PgConnection,
    user: UserId,
    (sessions, positions): (&[i64], &[i32]),
    as_of: Option<OffsetDateTime>,
) -> Result<HashMap<usize, TextBasis>, sqlx::Error> {
    if sessions.is_empty() {
        return Ok(HashMap::new());
    }
    let links = store::list_links(conn, user, &[], (sessions, positions)).await?;
    let bases = grouped(links, as_of).into_iter();
    Ok(bases.filter_map(|(n, basis)| Some((usize::try_from(-n - 1).ok()?, basis))).collect())
}

/// What several sources together stand on.
///
/// # Errors
/// Database errors only.
pub async fn basis_of_all(
    conn: &mut PgConnection,
    user: UserId,
    ids: &[i64],
) -> Result<TextBasis, sqlx::Error> {
    let mut known = HashSet::new();
    let facts = bases(conn, user, ids, None).await?.into_values().flat_map(|basis| basis.facts);
    let facts = facts.filter(|fact| known.insert(fact.id)).collect();
    Ok(TextBasis { facts, is_message: false })
}

/// Cuts these texts, which are given with the ids of their sources, to what may still be told, and leaves out the others.
///
/// # Errors
/// Database errors only.
pub async fn still_told<T>(
    conn: &mut PgConnection,
    user: UserId,
    mut texts: Vec<T>,
    parts: impl Fn(&mut T) -> (i64, &mut String),
) -> Result<Vec<T>, sqlx::Error> {
    let ids: Vec<i64> = texts.iter_mut().map(|one| parts(one).0).collect();
    let bases = bases(conn, user, &ids, None).await?;
    texts.retain_mut(|one| {
        let (id, text) = parts(one);
        let Some(basis) = bases.get(&id) else {
            return true;
        };
        let told = basis.still_told(text);
        let is_told = told.is_some();
        *text = told.unwrap_or_default();
        is_told
    });
    Ok(texts)
}

fn grouped(links: Vec<ChainLink>, as_of: Option<OffsetDateTime>) -> HashMap<i64, TextBasis> {
    let mut bases: HashMap<i64, TextBasis> = HashMap::new();
    for chain in links.chunk_by(|a, b| (a.source, a.fact) == (b.source, b.fact)) {
        let first = &chain[0];
        // Otherwise it is not visible to the reader; a guess that was read again was no memory.
        if first.n == 0 && first.event.as_deref() != Some(READ_AGAIN) {
            let fact = SourceFact {
                id: ItemId(first.id),
                is_direct: first.is_direct,
                text: text_of(first),
                ended: end_of(chain, as_of),
            };
            let basis = bases.entry(first.source).or_default();
            basis.facts.push(fact);
            basis.is_message |= first.is_message;
        }
    }
    bases
}

fn text_of(link: &ChainLink) -> String {
    let is_bare = words::query_terms(&link.content).len() < 2;
    with_key(link.key.as_deref().filter(|_| is_bare), &link.content).into_owned()
}

/// How the first of a chain ended. What was merged is what it was merged into; what replaced a replacement is the successor.
fn end_of(chain: &[ChainLink], as_of: Option<OffsetDateTime>) -> Option<FactEnd> {
    let first = &chain[0];
    let mut replaced_at = None;
    for link in chain {
        let ended_at = link.ended_at.filter(|at| as_of.is_none_or(|as_of| *at <= as_of));
        let event = link.event.as_deref().unwrap_or_default();
        let Some(ended_at) = ended_at.filter(|_| ![FADED, EXPIRED].contains(&event)) else {
            // The same again, after something else, holds again.
            let is_same = is_same(&link.content, &first.content) && link.key == first.key;
            return replaced_at.filter(|_| !is_same).map(|at| FactEnd {
                at,
                successor: Some((ItemId(link.id), text_of(link))),
                is_forgotten: false,
            });
        };
        match event {
            ARCHIVED => {
                return Some(FactEnd {
                    at: replaced_at.unwrap_or(ended_at),
                    successor: None,
                    is_forgotten: replaced_at.is_none(),
                });
            }
            MERGED => {}
            _ => replaced_at = replaced_at.or(Some(ended_at)),
        }
    }
    // What replaced it was deleted, or is not visible to the reader.
    replaced_at.map(|at| FactEnd { at, successor: None, is_forgotten: false })
}

impl TextBasis {
    /// Whether more than half of what it stands on does not hold.
    pub fn is_mostly_ended(&self) -> bool {
        let direct = || self.facts.iter().filter(|fact| fact.is_direct);
        direct().filter(|fact| fact.ended.is_some()).count() * 2 > direct().count()
    }

    /// When the last of these ended, and whether one was forgotten; `None` if one holds. Those that do not have these words
    /// are left out, unless none has.
    pub fn all_ended(&self, words: &str) -> Option<(OffsetDateTime, bool)> {
        let words = words.to_lowercase();
        let direct = || self.facts.iter().filter(|fact| fact.is_direct);
        let has_words = |fact: &&SourceFact| fact.text.to_lowercase().contains(&words);
        let meant: Vec<_> = match direct().any(|fact| has_words(&fact)) {
            true => direct().filter(has_words).collect(),
            false => direct().collect(),
        };
        let ends: Option<Vec<_>> = meant.iter().map(|fact| fact.ended.as_ref()).collect();
        let ends = ends?;
        let at = ends.iter().map(|end| end.at).max()?;
        Some((at, ends.iter().any(|end| end.successor.is_none())))
    }

    /// Those that do not hold and that the text tells.
    pub fn told_by(&self, text: &str) -> Vec<&SourceFact> {
        let ended = self.ended();
        if ended.is_empty() {
            return Vec::new();
        }
        let said: Vec<SentenceWords> = sentences(text).map(SentenceWords::of).collect();
        let is_told = |one: &EndedWords<'_>| {
            self.is_message && one.fact.is_direct
                || said.iter().any(|sentence| one.are_in(sentence))
        };
        // In other words, perhaps.
        let is_free = !self.is_message && self.is_mostly_ended() && !ended.iter().any(is_told);
        let told = ended.iter().filter(|one| is_free && one.fact.is_direct || is_told(one));
        told.map(|one| one.fact).collect()
    }

    /// What the text says of what does not hold any more; the last one that was replaced, if there are several.
    pub fn outdated(&self, text: &str) -> Option<Outdated> {
        let told = self.told_by(text);
        let ends = told.iter().filter_map(|fact| fact.ended.as_ref());
        let replaced = ends.filter_map(|end| Some((end.at, end.successor.as_ref()?.0)));
        let newer = replaced.max_by_key(|(at, _)| *at).map(|(_, id)| Outdated::ReplacedBy(id));
        newer.or((!told.is_empty()).then_some(Outdated::NotHeld))
    }

    /// The memories that it stands on and that hold.
    pub fn held(&self) -> impl Iterator<Item = ItemId> {
        self.facts.iter().filter(|fact| fact.is_direct && fact.ended.is_none()).map(|fact| fact.id)
    }

    /// The sentences that may still be told; `None` if none may, or if it says in other words what it mostly stands on and does
    /// not hold.
    pub fn still_told(&self, text: &str) -> Option<String> {
        let ended = self.ended();
        if ended.is_empty() {
            return Some(text.to_owned());
        }
        if self.is_message && ended.iter().any(|one| one.fact.is_direct) {
            return None;
        }
        let mut told: HashSet<ItemId> = HashSet::new();
        let (mut kept, mut rest) = (String::new(), text);
        for sentence in sentences(text) {
            let words = SentenceWords::of(sentence);
            let end = rest.find(sentence).unwrap_or_default() + sentence.len();
            let of_ended = ended.iter().filter(|one| one.are_in(&words)).map(|one| one.fact.id);
            let of_ended: Vec<ItemId> = of_ended.collect();
            if of_ended.is_empty() {
                kept.push_str(&rest[..end]);
            }
            told.extend(of_ended);
            rest = &rest[end..];
        }
        let is_untold = |one: &EndedWords<'_>| one.fact.is_direct && !told.contains(&one.fact.id);
        let is_free = self.is_mostly_ended() && ended.iter().any(is_untold);
        let kept = kept.trim();
        (!kept.is_empty() && !is_free).then(|| kept.to_owned())
    }

    fn ended(&self) -> Vec<EndedWords<'_>> {
        let words = |fact| EndedWords::of(fact, |id| self.facts.iter().any(|fact| fact.id == id));
        self.facts.iter().filter_map(words).collect()
    }
}

/// The words of a memory that does not hold.
struct EndedWords<'a> {
    fact: &'a SourceFact,
    /// Each with whether what replaced it lacks it.
    own: Vec<(Term, bool)>,
    /// Those of what replaced it alone.
    newer: Vec<Term>,
    /// The text stands on what replaced it, too.
    knows_newer: bool,
}

impl<'a> EndedWords<'a> {
    fn of(fact: &'a SourceFact, knows: impl Fn(ItemId) -> bool) -> Option<Self> {
        let successor = fact.ended.as_ref()?.successor.as_ref();
        let (in_older, newer) = (SentenceWords::of(&fact.text), successor.map(|(_, text)| text));
        let in_newer = newer.map(|text| SentenceWords::of(text));
        let is_old = |word: &Term| in_newer.as_ref().is_some_and(|newer| !newer.has(word));
        let own = words::query_terms(&fact.text).into_iter();
        let newer = newer.map_or_else(Vec::new, |text| words::query_terms(text));
        Some(Self {
            fact,
            own: own.map(|word| (word.clone(), is_old(&word))).collect(),
            newer: newer.into_iter().filter(|word| !in_older.has(word)).collect(),
            knows_newer: successor.is_some_and(|(id, _)| knows(*id)),
        })
    }

    /// Whether a sentence says what the memory said. One with words of the successor tells of the change, if its text stands on
    /// both.
    fn are_in(&self, sentence: &SentenceWords) -> bool {
        let has_newer = self.newer.iter().any(|word| sentence.has(word));
        if has_newer && self.knows_newer {
            return false;
        }
        let both = self.own.iter().filter(|(word, _)| sentence.has(word));
        let share = both.clone().count() as f64 / self.own.len().max(1) as f64;
        let is_direct = self.fact.is_direct;
        let is_same = share > SAME_SHARE || is_direct && share == SAME_SHARE;
        let has_older = both.clone().any(|(_, is_old)| *is_old);
        has_older && (is_direct || is_same) || is_same && !has_newer
    }
}

/// The lexemes of a sentence.
struct SentenceWords(HashSet<String>);

impl SentenceWords {
    fn of(sentence: &str) -> Self {
        Self(words::lexemes(sentence).collect())
    }

    fn has(&self, word: &Term) -> bool {
        word.alternatives.iter().any(|alternative| self.0.contains(alternative))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(n: i32, id: i64, content: &str, ended: Option<&str>) -> ChainLink {
        ChainLink {
            source: 7,
            fact: 1,
            is_direct: true,
            is_message: false,
            n,
            id,
            key: None,
            content: content.to_owned(),
            ended_at: ended.map(|_| OffsetDateTime::UNIX_EPOCH + time::Duration::days(n.into())),
            event: ended.map(str::to_owned),
        }
    }

    /// A fact that ended, with what holds in its place, if anything.
    fn basis(older: &str, newer: Option<&str>) -> TextBasis {
        let mut links = vec![link(0, 1, older, Some(newer.map_or(ARCHIVED, |_| "superseded")))];
        links.extend(newer.map(|text| link(1, 2, text, None)));
        // Something else that holds.
        links.push(ChainLink { fact: 9, ..link(0, 9, "Bakes bread", None) });
        grouped(links, None).remove(&7).expect("a basis")
    }

    #[test]
    fn sentences_that_say_what_holds_no_more_are_left_out() {
        let cases: [(&str, Option<&str>, &str, Option<&str>); 14] = [
            (
                "Lives in Graz",
                Some("Lives in Linz"),
                "Anna lives in Graz. She bakes.",
                Some("She bakes."),
            ),
            ("Lives in Graz", Some("Lives in Linz"), "Her home is Graz.", None),
            ("Loves coffee", Some("Hates coffee"), "She loves coffee.", None),
            ("Eats meat", Some("Eats no meat"), "She eats meat. She bakes.", Some("She bakes.")),
            (
                "The sister is called Ursula",
                None,
                "Her sister is called Ursula. She bakes.",
                Some("She bakes."),
            ),
            (
                "The sister is called Ursula",
                None,
                "She bakes on Sundays.",
                Some("She bakes on Sundays."),
            ),
            (
                "Wohnt in Graz",
                Some("Wohnt in Linz"),
                "Sie wohnt in Graz. Sie bäckt.",
                Some("Sie bäckt."),
            ),
            ("Isst gern Fleisch", Some("Isst kein Fleisch"), "Sie isst gern Fleisch.", None),
            ("Die Tochter heißt Kunigunde", None, "Kunigunde heißt die Tochter.", None),
            (
                "住在上海",
                Some("住在成都"),
                "用户住在上海的静安区。用户烤面包。",
                Some("用户烤面包。"),
            ),
            ("妹妹叫王小红", None, "用户的妹妹叫王小红。", None),
            (
                "Живёт в Москве",
                Some("Живёт в Казани"),
                "Она живёт в Москве. Она печёт.",
                Some("Она печёт."),
            ),
            (
                "تسكن في القاهرة",
                Some("تسكن في دبي"),
                "تسكن آنا في القاهرة. تخبز الخبز.",
                Some("تخبز الخبز."),
            ),
            (
                "Asuu Oulussa",
                Some("Asuu Vaasassa"),
                "Anna asuu Oulussa. Anna leipoo.",
                Some("Anna leipoo."),
            ),
        ];
        for (older, newer, text, told) in cases {
            assert_eq!(basis(older, newer).still_told(text).as_deref(), told, "{older}: {text}");
        }
    }

    #[test]
    fn what_is_said_in_other_words_is_left_out_where_it_is_most_of_it() {
        let mut of_one = basis("Lives in Graz", Some("Lives in Linz"));
        let text = "Her home is the Styrian capital.";
        assert_eq!(of_one.still_told(text).as_deref(), Some(text));
        of_one.facts.truncate(1);
        assert_eq!(of_one.still_told(text), None);
        assert_eq!(of_one.told_by(text).len(), 1);
    }

    #[test]
    fn the_change_itself_is_told_by_what_stands_on_both() {
        let text = "She moved from Graz to Linz.";
        let mut both = basis("Lives in Graz", Some("Lives in Linz"));
        assert_eq!(both.still_told(text), None);
        let newer = SourceFact { id: ItemId(2), ended: None, ..both.facts[0].clone() };
        both.facts.push(newer);
        assert_eq!(both.still_told(text).as_deref(), Some(text));
    }

    #[test]
    fn a_chain_ends_where_something_holds() {
        let end = |links: &[(&str, Option<&str>)]| {
            let links = (0..)
                .zip(links)
                .map(|(n, (content, event))| link(n, i64::from(n) + 1, content, *event));
            let end = end_of(&links.collect::<Vec<_>>(), None)?;
            Some((end.successor.map(|(id, _)| id.0), end.is_forgotten))
        };
        let (by, gone) = (Some("superseded"), Some("archived"));
        assert_eq!(end(&[("A", None)]), None);
        assert_eq!(end(&[("A", by), ("B", by), ("C", None)]), Some((Some(3), false)));
        assert_eq!(end(&[("A", by), ("B", by), ("A", None)]), None);
        assert_eq!(end(&[("A", Some("merged")), ("a", None)]), None);
        assert_eq!(end(&[("A", Some("merged")), ("a", by), ("B", None)]), Some((Some(3), false)));
        assert_eq!(end(&[("A", Some("faded"))]), None);
        assert_eq!(end(&[("A", by), ("B", Some("faded"))]), Some((Some(2), false)));
        assert_eq!(end(&[("A", gone)]), Some((None, true)));
        assert_eq!(end(&[("A", by), ("B", gone)]), Some((None, false)));
        assert_eq!(end(&[("A", by)]), Some((None, false)));
        let aside = [("A", Some("put_aside")), ("B", None)];
        assert_eq!(end(&aside), Some((Some(2), false)));
    }
}
