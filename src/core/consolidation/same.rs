//! Whether two short statements say the same, by their words alone. It lists what may differ (case,
//! punctuation, articles), not what may not, since a value can be any word. So another town, number, negation
//! or antonym makes another statement, in every language. In a language without lists, and where the language is not
//! known, nothing may be left out. It must never depend on a model.

use crate::languages::characters::is_unspaced;
use crate::languages::phrases::is_unparted;
use crate::languages::{self, Language, Languages};

/// Values of up to this many words mean nothing without their key: `name: Anna`.
const BARE_WORDS_MAX: usize = 3;
/// Of one message, equal statements of so many words are one, whatever their keys: `home`, `city`: lives in Graz.
const REPEATED_WORDS_MIN: usize = 3;
/// A newer statement that says less has at least this share of the older one's words.
const SHARE_MIN: f64 = 0.75;

/// Removed around words, not inside them: `C++`, `-5` and `src/db.rs` are words.
const PUNCTUATION: &[char] = &[
    '.', ',', ';', ':', '!', '?', '"', '\'', '(', ')', '[', ']', '“', '”', '„', '‘', '’', '«', '»',
    '…', '¿', '¡', '。', '、', '，', '！', '？', '「', '」', '–', '—',
];

/// A statement, split into words once for many comparisons.
#[derive(Clone, Debug)]
pub struct StatementWords {
    words: Vec<StatementWord>,
    length: usize,
    languages: Languages,
}

#[derive(Clone, Debug)]
struct StatementWord {
    /// In lower case.
    folded: String,
    /// Looks like a name or a number, so it is the value.
    is_value: bool,
    /// No name and not the last word.
    may_be_article: bool,
}

impl StatementWords {
    pub fn of(text: &str) -> Self {
        let all: Vec<&str> = text
            .split_whitespace()
            .map(|word| word.trim_matches(PUNCTUATION))
            .filter(|word| !word.is_empty() && *word != "-")
            .collect();
        let words = all.iter().enumerate().map(|(at, word)| {
            let folded = word.to_lowercase().replace('’', "'");
            let is_capital = word.starts_with(char::is_uppercase) && at > 0;
            StatementWord {
                is_value: is_capital || folded.contains(|c: char| c.is_numeric()),
                may_be_article: !is_capital && at + 1 < all.len(),
                folded,
            }
        });
        Self { words: words.collect(), length: length(&all), languages: languages::of(text) }
    }

    /// Without the articles of these languages.
    fn telling(&self, languages: Languages) -> Vec<&StatementWord> {
        let is_article = |word: &StatementWord| {
            word.may_be_article && languages.iter().any(|l| l.words.articles.has(&word.folded))
        };
        self.words.iter().filter(|word| !is_article(word)).collect()
    }

    /// True if it means nothing without its key.
    pub fn is_bare(&self) -> bool {
        self.length <= BARE_WORDS_MAX
    }

    /// Whether a model that read one message says this twice, under two keys.
    pub fn repeat(&self, other: &Self) -> bool {
        self.length >= REPEATED_WORDS_MIN && self.are_those_of(other)
    }

    /// The same words in the same order: for one key, the same value.
    pub fn are_those_of(&self, other: &Self) -> bool {
        let shared = self.languages.shared(other.languages);
        let (own, others) = (self.telling(shared), other.telling(shared));
        own.iter().map(|word| &word.folded).eq(others.iter().map(|word| &word.folded))
    }

    /// Whether this statement adds nothing to an `older` one with any key: it has the same words, or leaves
    /// out only words that do not change the meaning.
    pub fn say_no_more_than(&self, older: &Self) -> bool {
        if self.is_bare() || older.is_bare() {
            return false;
        }
        let shared = self.languages.shared(older.languages);
        let (own, others) = (self.telling(shared), older.telling(shared));
        if (own.len() as f64) < others.len() as f64 * SHARE_MIN {
            return false;
        }
        // Every word of this one must be in the older one, so no more than these may be left out. Two
        // statements of other words are told apart by their first few.
        let Some(mut spare) = others.len().checked_sub(own.len()) else {
            return false;
        };
        let has_lists = |language: &Language| !language.words.turning.is_empty();
        if spare > 0 && (shared.is_empty() || !shared.iter().all(has_lists)) {
            return false;
        }
        let languages = self.languages.or(older.languages);
        let mut wanted = own.iter().peekable();
        for word in others {
            if wanted.next_if(|next| next.folded == word.folded).is_some() {
                continue;
            }
            if spare == 0 || word.is_value || languages.iter().any(|l| turns(l, &word.folded)) {
                return false;
            }
            spare -= 1;
        }
        true
    }
}

/// Whether a statement means something else without this word. Where words are not parted, any of the language's words in it
/// counts; else the parts beside an apostrophe do too (`n'aime`).
pub(super) fn turns(language: &Language, word: &str) -> bool {
    let turning = &language.words.turning;
    match word.contains(is_unspaced) {
        true => turning.folded().any(|one| word.contains(one)),
        false => turning.has(word) || word.split('\'').any(|part| turning.has(part)),
    }
}

/// In words; in scripts without blanks, two characters count as one.
fn length(words: &[&str]) -> usize {
    let of = |word: &&str| match word.chars().filter(|c| is_unparted(*c)).count() {
        0 => 1,
        chars => chars.div_ceil(2),
    };
    words.iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::languages::Examples;

    /// Pairs of a newer statement and an older one that says the same or more.
    #[rustfmt::skip]
    const SAME: &[(&str, &str)] = &[
        // English
        ("Lives in the old town of Graz, Austria", "lives in old town of graz (Austria)."),
        ("Drinks tea every morning", "Drinks green tea every morning"),
        ("Works as a nurse in Vienna", "works as nurse in Vienna"),
        ("The office is in Vienna", "Office is in Vienna."),
        ("Has 2 cats and a dog", "has 2 cats and dog"),
        ("Prefers tea over coffee", "prefers tea over coffee!"),
        ("Writes most code in C++", "writes most code in C++"),
        ("Doesn’t eat any meat", "doesn't eat any meat"),
        ("Reads science fiction before sleeping", "reads \"science fiction\" before sleeping"),
        ("Is allergic to peanuts", "is allergic to peanuts"),
        ("Keeps all notes in Markdown files", "Keeps nearby all notes in Markdown files"),
        ("Runs Debian on the home server", "runs Debian on home server"),
        // German
        ("Wohnt in der Altstadt von Graz", "wohnt in Altstadt von Graz"),
        ("Trinkt jeden Morgen Tee", "Trinkt jeden Morgen Tee."),
        ("Trinkt jeden Morgen Tee", "Trinkt jeden Morgen grünen Tee"),
        ("Hat eine Katze namens Mia", "hat eine Katze namens Mia"),
        ("Arbeitet als Krankenschwester in Wien", "arbeitet als Krankenschwester in Wien!"),
        ("Isst kein Fleisch und keinen Fisch", "isst kein Fleisch und keinen Fisch"),
        ("Fährt mit dem Rad zur Arbeit", "fährt mit Rad zur Arbeit"),
        ("Ihr Geburtstag ist der 3. Mai", "Ihr Geburtstag ist 3. Mai"),
        ("Spielt am Wochenende gern Schach", "spielt am Wochenende gern Schach"),
        ("Mag dunkle Oberflächen lieber als helle", "mag dunkle Oberflächen lieber als helle"),
        // French
        ("Habite dans la vieille ville de Lyon", "habite dans vieille ville de Lyon"),
        ("Boit du thé chaque matin", "boit du thé chaque matin."),
        ("Boit du thé chaque matin", "boit du thé vert chaque matin"),
        ("Ne mange pas de viande", "ne mange pas de viande"),
        ("Travaille comme infirmière à Paris", "travaille comme infirmière à Paris !"),
        ("A une fille nommée Anna", "a une fille nommée Anna"),
        ("Préfère le thé au café", "préfère le thé au café"),
        ("Parle le français et l’allemand", "parle le français et l'allemand"),
        ("Joue du piano le dimanche", "joue du piano le dimanche"),
        ("Son anniversaire est le 3 mai", "son anniversaire est 3 mai"),
        // Spanish
        ("Vive en el centro de Madrid", "vive en centro de Madrid"),
        ("Bebe té cada mañana temprano", "bebe té cada mañana temprano."),
        ("Bebe té todas las mañanas", "bebe té verde todas las mañanas"),
        ("No come carne ni pescado", "no come carne ni pescado"),
        ("Trabaja como enfermera en Sevilla", "trabaja como enfermera en Sevilla"),
        ("Tiene una hija llamada Ana", "tiene una hija llamada Ana"),
        ("Prefiere el té al café", "prefiere té al café"),
        ("Habla español y un poco de alemán", "habla español y poco de alemán"),
        ("Toca el piano los domingos", "toca piano los domingos"),
        ("¿Usa Debian en el servidor?", "usa Debian en el servidor"),
        // Italian, Chinese, Japanese
        ("Vive nel centro storico di Roma", "vive nel centro storico di Roma"),
        ("Beve il tè ogni mattina", "beve tè ogni mattina"),
        ("她住在格拉茨的老城区。", "她住在格拉茨的老城区"),
        ("毎朝緑茶を飲みます。", "毎朝緑茶を飲みます"),
    ];

    /// Pairs of a newer statement and an older one that says something else.
    #[rustfmt::skip]
    const OTHER: &[(&str, &str)] = &[
        // English
        ("Lives in the old town of Linz, Austria", "Lives in the old town of Graz, Austria"),
        ("lives in the old town of linz, austria", "lives in the old town of graz, austria"),
        ("Hates Rust for command line tools and servers", "Loves Rust for command line tools and servers"),
        ("Is a vegetarian at home", "Is not a vegetarian at home"),
        ("Always deploys the server on Fridays", "Never deploys the server on Fridays"),
        ("The database listens on port 5433", "The database listens on port 5432"),
        ("Prefers coffee over tea", "Prefers tea over coffee"),
        ("Takes the pills before every meal", "Takes the pills after every meal"),
        ("Wants notifications switched on at night", "Wants notifications switched off at night"),
        ("Writes most code in C", "Writes most code in C++"),
        ("Works with Anna on the compiler", "Works with Anna and Tom on the compiler"),
        ("Tom reports to Anna at work", "Anna reports to Tom at work"),
        ("Drinks coffee in the morning", "Rarely drinks coffee in the morning"),
        ("Drinks green tea every morning", "Drinks tea every morning"),
        ("Works at Siemens in Graz", "Worked at Siemens in Graz"),
        ("Has one sister and two brothers", "Has two sisters and one brother"),
        ("Takes vitamin A every day", "Takes vitamin D every day"),
        ("Likes working late on Friday evenings", "Dislikes working late on Friday evenings"),
        // German
        ("Wohnt in der Altstadt von Linz", "Wohnt in der Altstadt von Graz"),
        ("Isst zu Hause gern Fleisch", "Isst zu Hause nicht gern Fleisch"),
        ("Hat eine Katze und einen Hund", "Hat keine Katze und einen Hund"),
        ("Hat einen Hund namens Rex", "Hat keinen Hund namens Rex"),
        ("Liebt Rust für kleine Werkzeuge", "Hasst Rust für kleine Werkzeuge"),
        ("Trinkt immer Kaffee nach dem Essen", "Trinkt nie Kaffee nach dem Essen"),
        ("Nimmt die Tabletten vor dem Essen", "Nimmt die Tabletten nach dem Essen"),
        ("Hat 3 Kinder und ein Haus", "Hat 2 Kinder und ein Haus"),
        ("Arbeitet mit Anna am Compiler", "Arbeitet mit Anna und Tom am Compiler"),
        ("Mag helle Oberflächen am Abend", "Mag dunkle Oberflächen am Abend"),
        ("Trinkt morgens Kaffee mit Milch", "Trinkt morgens Kaffee ohne Milch"),
        ("Arbeitet bei Siemens in Graz", "Arbeitet nicht mehr bei Siemens in Graz"),
        // French
        ("Habite dans la vieille ville de Nice", "Habite dans la vieille ville de Lyon"),
        ("Mange de la viande à midi", "Ne mange pas de la viande à midi"),
        ("Aime travailler tard le vendredi soir", "Déteste travailler tard le vendredi soir"),
        ("Boit toujours du café après le repas", "Ne boit jamais de café après le repas"),
        ("Boit toujours du café après le repas", "Boit toujours du café avant le repas"),
        ("A 3 enfants et une maison", "A 2 enfants et une maison"),
        ("Prend son café avec du lait", "Prend son café sans du lait"),
        ("Travaille avec Anna sur le compilateur", "Travaille avec Anna et Tom sur le compilateur"),
        ("Préfère le café au thé", "Préfère le thé au café"),
        ("Fume à la maison le soir", "Fume rarement à la maison le soir"),
        // Spanish
        ("Vive en el centro de Sevilla", "Vive en el centro de Madrid"),
        ("Come carne en casa los domingos", "No come carne en casa los domingos"),
        ("Ama trabajar tarde los viernes", "Odia trabajar tarde los viernes"),
        ("Siempre bebe café después de comer", "Nunca bebe café después de comer"),
        ("Siempre bebe café después de comer", "Siempre bebe café antes de comer"),
        ("Tiene 3 hijos y una casa", "Tiene 2 hijos y una casa"),
        ("Toma el café con leche caliente", "Toma el café sin leche caliente"),
        ("Trabaja con Ana en el compilador", "Trabaja con Ana y Luis en el compilador"),
        ("Prefiere el café al té", "Prefiere el té al café"),
        ("Fuma en casa por la noche", "Fuma apenas en casa por la noche"),
        // Italian, Chinese, Japanese
        ("Vive nel centro storico di Milano", "Vive nel centro storico di Roma"),
        ("Mangia carne a casa la domenica", "Non mangia carne a casa la domenica"),
        ("她住在林茨的老城区", "她住在格拉茨的老城区"),
        ("她喜欢在早上喝绿茶", "她不喜欢在早上喝绿茶"),
        ("毎朝緑茶を飲みます", "毎朝緑茶を飲みません"),
        ("住在东京都的老城区", "住在东京的老城区"),
        // Bare values need their key.
        ("Anna", "Anna"),
        ("Anna Kovács", "Anna Kovács"),
        ("true", "True"),
        ("Lives in Graz", "lives in graz"),
        ("东京", "东京"),
        ("", ""),
    ];

    #[test]
    fn examples_of_each_language_say_the_same_or_not() {
        let say_no_more = |(newer, older): (&str, &str)| {
            StatementWords::of(newer).say_no_more_than(&StatementWords::of(older))
        };
        for (code, language) in languages::all() {
            for pair in Examples::pairs(&language.examples.same) {
                assert!(say_no_more(pair), "{code}: {pair:?}");
            }
            assert!(Examples::pairs(&language.examples.other).count() >= 2, "{code}");
            for pair in Examples::pairs(&language.examples.other) {
                assert!(!say_no_more(pair), "{code}: {pair:?}");
            }
        }
        assert!(
            !say_no_more(("Anakunywa chai asubuhi mapema", "Anakunywa chai moto asubuhi mapema")),
            "not known"
        );
    }

    #[test]
    fn a_statement_merges_into_one_that_says_the_same() {
        for (newer, older) in SAME {
            assert!(
                StatementWords::of(newer).say_no_more_than(&StatementWords::of(older)),
                "{newer} | {older}"
            );
        }
    }

    #[test]
    fn another_word_that_may_be_the_value_is_another_statement() {
        for (newer, older) in OTHER {
            assert!(
                !StatementWords::of(newer).say_no_more_than(&StatementWords::of(older)),
                "{newer} | {older}"
            );
        }
    }

    #[test]
    fn of_one_key_a_value_is_the_same_but_for_case_punctuation_and_articles() {
        let is_same = |a: &str, b: &str| StatementWords::of(a).are_those_of(&StatementWords::of(b));
        for (a, b) in [
            ("Anna", "anna."),
            ("Lives in Graz, Austria", "lives in Graz (Austria)"),
            ("The blue one", "blue one"),
            ("a", "A"),
            ("LA", "la"),
        ] {
            assert!(is_same(a, b), "{a} | {b}");
        }
        let others = OTHER.iter().filter(|(newer, older)| !newer.eq_ignore_ascii_case(older));
        for (a, b) in others.copied().chain([
            ("drinks tea", "drinks green tea"),
            ("C", "C++"),
            ("-5", "5"),
            ("vitamin A", "vitamin"),
            ("LA", "the"),
            ("1.5", "15"),
        ]) {
            assert!(!is_same(a, b), "{a} | {b}");
        }
    }
}
