//! Time words of English, German, French and Spanish, lower case, without accents.

use time::{Month, Weekday};

/// Limit on the words of a question.
const WORDS_MAX: usize = 100;

pub const MONTHS: [(Month, &[&str]); 12] = [
    (Month::January, &["january", "januar", "jan", "janvier", "enero", "janner"]),
    (Month::February, &["february", "februar", "feb", "fevrier", "febrero", "feber"]),
    (Month::March, &["march", "marz", "mar", "mars", "marzo"]),
    (Month::April, &["april", "apr", "avril", "abril"]),
    (Month::May, &["may", "mai", "mayo"]),
    (Month::June, &["june", "juni", "jun", "juin", "junio"]),
    (Month::July, &["july", "juli", "jul", "juillet", "julio"]),
    (Month::August, &["august", "aug", "aout", "agosto"]),
    (Month::September, &["september", "sep", "sept", "septembre", "septiembre"]),
    (Month::October, &["october", "oktober", "oct", "okt", "octobre", "octubre"]),
    (Month::November, &["november", "nov", "novembre", "noviembre"]),
    (Month::December, &["december", "dezember", "dec", "dez", "decembre", "diciembre"]),
];

pub const WEEKDAYS: [(Weekday, &[&str]); 7] = [
    (Weekday::Monday, &["monday", "montag", "lundi", "lunes"]),
    (Weekday::Tuesday, &["tuesday", "dienstag", "mardi", "martes"]),
    (Weekday::Wednesday, &["wednesday", "mittwoch", "mercredi", "miercoles"]),
    (Weekday::Thursday, &["thursday", "donnerstag", "jeudi", "jueves"]),
    (Weekday::Friday, &["friday", "freitag", "vendredi", "viernes"]),
    (Weekday::Saturday, &["saturday", "samstag", "sonnabend", "samedi", "sabado"]),
    (Weekday::Sunday, &["sunday", "sonntag", "dimanche", "domingo"]),
];

/// By first month.
pub const SEASONS: [(Month, &[&str]); 4] = [
    (Month::March, &["spring", "fruhling", "fruhjahr", "printemps", "primavera"]),
    (Month::June, &["summer", "sommer", "ete", "verano"]),
    (Month::September, &["autumn", "fall", "herbst", "automne", "otono"]),
    (Month::December, &["winter", "hiver", "invierno"]),
];

/// Number of days before today.
pub const DAYS: [(i64, &[&str]); 3] = [
    (0, &["today", "heute", "aujourd'hui", "hoy"]),
    (1, &["yesterday", "gestern", "hier", "ayer"]),
    (2, &["vorgestern", "avant-hier", "anteayer"]),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Day,
    Week,
    Month,
    Year,
}

pub const UNITS: [(Unit, &[&str]); 4] = [
    (Unit::Day, &["day", "days", "tag", "tage", "tagen", "jour", "jours", "dia", "dias"]),
    (Unit::Week, &["week", "weeks", "woche", "wochen", "semaine", "semaines", "semana", "semanas"]),
    (
        Unit::Month,
        &["month", "months", "monat", "monate", "monaten", "monats", "mois", "mes", "meses"],
    ),
    (
        Unit::Year,
        &[
            "year", "years", "jahr", "jahre", "jahren", "jahres", "an", "ans", "annee", "annees",
            "ano", "anos",
        ],
    ),
];

pub const NUMBERS: [(i64, &[&str]); 12] = [
    (1, &["a", "an", "one", "ein", "einem", "einer", "eine", "un", "une", "una"]),
    (2, &["two", "zwei", "deux", "dos"]),
    (3, &["three", "drei", "trois", "tres"]),
    (4, &["four", "vier", "quatre", "cuatro"]),
    (5, &["five", "funf", "cinq", "cinco"]),
    (6, &["six", "sechs", "seis"]),
    (7, &["seven", "sieben", "sept", "siete"]),
    (8, &["eight", "acht", "huit", "ocho"]),
    (9, &["nine", "neun", "neuf", "nueve"]),
    (10, &["ten", "zehn", "dix", "diez"]),
    (11, &["eleven", "elf", "onze", "once"]),
    (12, &["twelve", "zwolf", "douze", "doce"]),
];

pub const LAST: &[&str] = &[
    "last",
    "past",
    "previous",
    "letzte",
    "letzten",
    "letztes",
    "letzter",
    "letztem",
    "vorige",
    "voriges",
    "vorigen",
    "vergangene",
    "vergangenen",
    "vergangenes",
    "dernier",
    "derniere",
    "passe",
    "passee",
    "pasado",
    "pasada",
    "ultimo",
    "ultima",
];
pub const THIS: &[&str] = &[
    "this", "current", "diese", "diesen", "dieses", "dieser", "diesem", "ce", "cet", "cette",
    "este", "esta",
];
/// Words that may stand between a preposition and a time word.
pub const ARTICLES: &[&str] = &[
    "the", "der", "die", "das", "den", "dem", "des", "le", "la", "l", "les", "el", "los", "de",
    "du", "del", "of",
];
/// Prepositions that mark an ambiguous word as a month or season.
pub const IN: &[&str] = &["in", "during", "on", "im", "am", "en", "au", "pendant", "durante"];

/// Marks a question about the past, where a weekday is a past one.
pub const PAST: &[&str] = &[
    "did", "was", "were", "had", "said", "war", "waren", "hat", "habe", "haben", "hast", "hatte",
    "hatten", "ai", "as", "avons", "avez", "ont", "etait", "fue", "era", "dije", "dijo", "hice",
    "hizo", "hicimos", "estuve", "estuvo",
];
pub const BETWEEN: &[&str] = &["between", "zwischen", "entre"];
pub const WEEKEND: &[&str] = &["weekend", "night", "wochenende", "week-end", "finde"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeRelation {
    Before,
    /// From its end.
    After,
    /// From its beginning.
    Since,
    /// To its end.
    Until,
}

pub const SIDES: [(TimeRelation, &[&str]); 4] = [
    (TimeRelation::Before, &["before", "vor", "avant", "antes"]),
    (TimeRelation::After, &["after", "nach", "apres", "despues"]),
    (TimeRelation::Since, &["since", "seit", "depuis", "desde"]),
    (TimeRelation::Until, &["until", "till", "bis", "jusqu", "hasta"]),
];

pub fn of<T: Copy>(table: &[(T, &[&str])], word: &str) -> Option<T> {
    table.iter().find(|(_, words)| words.contains(&word)).map(|(value, _)| *value)
}

/// The first words, lower case, without accents. Splits at everything except letters, digits and hyphens.
pub fn words_of(question: &str) -> Vec<String> {
    let folded: String = question.to_lowercase().chars().map(fold).collect();
    let folded = folded.replace("aujourd'hui", "heute");
    folded
        .split(|c: char| !c.is_alphanumeric() && c != '-')
        .map(|word| word.trim_matches('-').to_owned())
        .filter(|word| !word.is_empty())
        .take(WORDS_MAX)
        .collect()
}

fn fold(c: char) -> char {
    match c {
        'á' | 'à' | 'â' | 'ä' => 'a',
        'é' | 'è' | 'ê' | 'ë' => 'e',
        'í' | 'î' | 'ï' => 'i',
        'ó' | 'ô' | 'ö' => 'o',
        'ú' | 'û' | 'ü' | 'ù' => 'u',
        'ñ' => 'n',
        'ç' => 'c',
        '’' => '\'',
        other => other,
    }
}

/// Words of a question that only express a time.
pub fn words_of_time(question: &str) -> Vec<String> {
    let is_of_time = |word: &String| {
        let word = word.as_str();
        of(&MONTHS, word).is_some()
            || of(&WEEKDAYS, word).is_some()
            || of(&SEASONS, word).is_some()
            || of(&DAYS, word).is_some()
            || of(&UNITS, word).is_some()
            || of(&SIDES, word).is_some()
            || LAST.contains(&word)
            || WEEKEND.contains(&word)
            || word == "ago"
            || word.starts_with(|c: char| c.is_ascii_digit())
    };
    words_of(question).into_iter().filter(is_of_time).collect()
}
