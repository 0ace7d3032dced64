//! Which languages a text may be in: by its scripts, and where several languages share one, by common words and letters.

use std::collections::HashMap;
use std::sync::LazyLock;

use unicode_normalization::char::is_combining_mark;

use super::characters::fold;
use super::{ALL, Language, Script, WordList};

/// So much of a text is looked at.
const CHARS_MAX: usize = 1_000;
const WORDS_MAX: usize = 80;
/// A text of fewer words is in no known language, unless its script has only one.
const WORDS_MIN: usize = 2;
/// A text of so many words without a common one is in no language of ours.
const WORDS_OF_OTHERS: usize = 24;
/// Languages with at least this share of the best one's score remain.
const SHARE_MIN: (i32, i32) = (4, 5);
/// The longest words that are looked for in a script without spaces.
const PIECE_CHARS_MAX: usize = 4;

/// The languages that a text may be in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Languages {
    /// Bits, by the order of the codes.
    known: u32,
    /// It is in a language of which nothing is known, as far as it is in other scripts.
    is_of_others: bool,
}

/// The languages that share a script.
type Sharing = [u32; Script::COUNT];

static SHARING: LazyLock<Sharing> = LazyLock::new(|| {
    let mut sharing = [0; Script::COUNT];
    for (n, language) in ALL.values().enumerate() {
        sharing[language.script as usize] |= 1 << n;
    }
    sharing
});

/// The languages of which a word is a common one.
static COMMON: LazyLock<HashMap<String, u32>> = LazyLock::new(|| {
    let mut common: HashMap<String, u32> = HashMap::new();
    for (n, language) in ALL.values().enumerate() {
        let (words, chatter) = (&language.words, &language.chatter);
        let lists = [&words.stop, &words.weak, &words.articles, &words.turning];
        let words = lists.into_iter().flat_map(WordList::folded);
        let phrases = chatter.you.iter().chain(chatter.asks.iter()).chain(chatter.tells.iter());
        for word in words.chain(phrases).filter(|word| word.len() > 1) {
            *common.entry(word.to_owned()).or_default() |= 1 << n;
        }
    }
    common
});

/// The languages that have a letter, but for `a` to `z`.
static LETTERS: LazyLock<HashMap<char, u32>> = LazyLock::new(|| {
    let mut letters: HashMap<char, u32> = HashMap::new();
    for (n, language) in ALL.values().enumerate() {
        for letter in language.letters.chars() {
            *letters.entry(letter).or_default() |= 1 << n;
        }
    }
    letters
});

/// The languages of which a folded word is a common one.
fn common(word: &str) -> u32 {
    COMMON.get(word).copied().unwrap_or_default()
}

/// The languages that a text may be in; none if it is not known. A single word tells none, unless by its script. Looks at
/// the beginning of a text only.
pub fn of(text: &str) -> Languages {
    let mut found = Languages::default();
    for (n, fit) in fits(text, &SHARING, |word, _| common(word)) {
        let sharing = SHARING[n];
        match fit.words {
            0 => found.known |= sharing,
            words if words < WORDS_MIN && sharing.count_ones() > 1 => {}
            words => {
                let best = fit.best(sharing, SHARE_MIN);
                found.known |= best;
                found.is_of_others |= best == 0 && words >= WORDS_OF_OTHERS;
            }
        }
    }
    found
}

/// The likeliest language of a short text, even of a word: several if they fit as well, none without a sign of any. Folded
/// words that a language `knows` (by its code) are signs as common words are.
pub fn likeliest(text: &str, knows: impl Fn(&str, &str) -> bool) -> Languages {
    let mut sharing = *SHARING;
    // Han alone may be Japanese.
    sharing[Script::Han as usize] |= sharing[Script::Kana as usize];
    let signs = |word: &str, sharing: u32| {
        let known = super::all().enumerate();
        let known = known.filter(|(n, (code, _))| sharing >> n & 1 == 1 && knows(code, word));
        known.fold(common(word), |all, (n, _)| all | 1 << n)
    };
    let mut fits = fits(text, &sharing, signs);
    if fits.len() > 1 {
        // Latin words in another script are names.
        fits.retain(|(n, _)| *n != Script::Latin as usize);
    }
    let best = |(n, fit): &(usize, Fit)| match fit.words {
        0 => sharing[*n],
        _ => fit.best(sharing[*n], (1, 1)),
    };
    let known = fits.iter().map(best).fold(0, |all, some| all | some);
    Languages { known, is_of_others: false }
}

/// How a script's languages fit the words of a text.
#[derive(Clone, Copy)]
struct Fit {
    /// 0 for a script of one language.
    words: usize,
    scores: [i32; Languages::MAX],
}

/// Of each script that the text has. `signs` tells of which languages of a script a folded word is a sign.
fn fits(text: &str, sharing: &Sharing, signs: impl Fn(&str, u32) -> u32) -> Vec<(usize, Fit)> {
    let end = text.char_indices().nth(CHARS_MAX).map_or(text.len(), |(at, _)| at);
    let words = text[..end].split(|c: char| !c.is_alphabetic() && !is_combining_mark(c));
    let mut fits = [Fit { words: 0, scores: [0; Languages::MAX] }; Script::COUNT];
    let mut seen = [false; Script::COUNT];
    for word in words.filter(|word| !word.is_empty()).take(WORDS_MAX) {
        word.chars().filter_map(Script::of).for_each(|script| seen[script as usize] = true);
        let Some(script) = word.chars().find_map(Script::of) else { continue };
        let of_script = sharing[script as usize];
        if of_script.count_ones() > 1 || script == Script::Arabic {
            fits[script as usize].add(word, script, |word| signs(word, of_script));
        }
    }
    // Japanese has Han too.
    if seen[Script::Kana as usize] {
        seen[Script::Han as usize] = false;
    }
    fits.into_iter().enumerate().filter(|(n, _)| seen[*n]).collect()
}

impl Fit {
    /// A common word counts for its languages, and letters for those that have them. They count against those that do not:
    /// less in Latin, where names and loans from other languages are common.
    fn add(&mut self, word: &str, script: Script, signs: impl Fn(&str) -> u32) {
        self.words += 1;
        if script == Script::Han {
            return self.add_unspaced(word, signs);
        }
        let foreign = if script == Script::Latin { -1 } else { -2 };
        let signs = signs(&fold(word));
        let lower = word.chars().flat_map(char::to_lowercase).filter(|c| !c.is_ascii());
        let letters = lower.filter(|c| c.is_alphabetic() && !is_combining_mark(*c));
        let letters = letters.map(|c| LETTERS.get(&c).copied().unwrap_or_default());
        let of_letters = letters.reduce(|all, one| all & one);
        for (n, score) in self.scores.iter_mut().enumerate() {
            let has = |bits: u32| bits >> n & 1 == 1;
            *score += i32::from(has(signs));
            *score += of_letters.map_or(0, |letters| if has(letters) { 1 } else { foreign });
        }
    }

    /// Words may begin and end anywhere.
    fn add_unspaced(&mut self, run: &str, signs: impl Fn(&str) -> u32) {
        let chars: Vec<char> = run.chars().collect();
        let pieces = (1..=PIECE_CHARS_MAX).flat_map(|length| chars.windows(length));
        for signs in pieces.map(|piece| signs(&piece.iter().collect::<String>())) {
            let scores = self.scores.iter_mut().enumerate();
            scores.for_each(|(n, score)| *score += (signs >> n & 1) as i32);
        }
    }

    fn best(&self, sharing: u32, (share, of): (i32, i32)) -> u32 {
        let of_script = (0..Languages::MAX).filter(|n| sharing >> n & 1 == 1);
        let best = of_script.clone().map(|n| self.scores[n]).max().unwrap_or_default();
        let fits = |score: i32| score > 0 && score * of >= best * share;
        of_script.filter(|n| fits(self.scores[*n])).fold(0, |found, n| found | 1 << n)
    }
}

impl Languages {
    /// How many there may be.
    pub const MAX: usize = u32::BITS as usize;

    pub fn any() -> Self {
        Self { known: SHARING.iter().fold(0, |all, some| all | some), is_of_others: false }
    }

    pub fn or(self, other: Self) -> Self {
        let is_of_others = self.is_of_others || other.is_of_others;
        Self { known: self.known | other.known, is_of_others }
    }

    /// Of two texts in one language: those that both may be in or, if one is not known, the other's.
    pub fn shared(self, other: Self) -> Self {
        let known = match (self.known, other.known) {
            (0, known) | (known, 0) => known,
            (one, another) => one & another,
        };
        Self { known, ..self.or(other) }
    }

    pub fn is_empty(self) -> bool {
        self.known == 0
    }

    pub fn iter(self) -> impl Iterator<Item = &'static Language> {
        let is_in = move |n: usize| self.known >> n & 1 == 1;
        ALL.values().enumerate().filter(move |(n, _)| is_in(*n)).map(|(_, language)| language)
    }

    pub fn codes(self) -> impl Iterator<Item = &'static str> {
        let is_in = move |n: usize| self.known >> n & 1 == 1;
        super::all().enumerate().filter(move |(n, _)| is_in(*n)).map(|(_, (code, _))| code)
    }

    /// Those of them that are written in this script or, if there are none, all that are.
    pub(super) fn written_in(self, script: Script) -> Self {
        let sharing = SHARING[script as usize];
        let known = match self.known & sharing {
            0 if !self.is_of_others => sharing,
            some => some,
        };
        Self { known, ..self }
    }

    /// Whether it is a stop word in one of them, as it is written.
    pub fn is_stop_word(self, word: &str) -> bool {
        self.iter().any(|language| language.words.stop.has(word))
    }

    /// Whether it counts little, as it is written.
    pub fn is_weak_word(self, word: &str) -> bool {
        self.iter().any(|language| language.words.weak.has(word))
    }

    /// Whether it is a stop word or a weak one.
    pub fn is_common_word(self, word: &str) -> bool {
        self.is_stop_word(word) || self.is_weak_word(word)
    }

    /// [`Self::is_common_word`] of a folded word.
    pub fn is_common_lexeme(self, lexeme: &str) -> bool {
        let lists = |language: &'static Language| [&language.words.stop, &language.words.weak];
        self.iter().flat_map(lists).any(|list| list.has_folded(lexeme))
    }
}
