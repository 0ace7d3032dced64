//! Characters: folding, and which scripts need special treatment.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Joins emoji into one (`👩‍💻`), and letters of Indic scripts.
pub const JOINER: char = '\u{200D}';

/// Removes case, width, accents and skin tones, and writes digits of any script as 0 to 9. Vowel signs and voicing marks
/// stay, because they tell words apart.
pub fn fold(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let unaccented = word.nfkd().filter(|&c| !is_accent(c) && !is_skin_tone(c) && c != JOINER);
    let unaccented: String = unaccented.map(|c| digit(c).unwrap_or(c)).collect();
    let lower = unaccented.to_lowercase();
    let plain = LETTERS.iter().filter(|(letter, _)| lower.contains(*letter));
    let plain = plain.fold(lower.clone(), |word, (letter, plain)| word.replace(*letter, plain));
    plain.nfkc().collect()
}

/// Letters that Unicode does not take apart, as people write them without.
const LETTERS: [(char, &str); 10] = [
    ('ß', "ss"),
    ('æ', "ae"),
    ('œ', "oe"),
    ('ø', "o"),
    ('ł', "l"),
    ('đ', "d"),
    ('ð', "d"),
    ('þ', "th"),
    ('ħ', "h"),
    ('ı', "i"),
];

/// A word in lower case, as it is written otherwise; for what needs its accents.
pub fn lower(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    // The dot of a Turkish `İ`, which has it anyway as `i`.
    word.nfkc().collect::<String>().to_lowercase().replace('\u{307}', "")
}

/// The zeros of the scripts with digits of their own (Unicode 15.1, `Nd`, below U+10000), ascending; their 1 to 9 follow.
#[rustfmt::skip]
const ZEROS: [u32; 36] = [
    0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66, 0x0DE6, 0x0E50,
    0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50,
    0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10,
];

/// The digit 0 to 9 that a character of any script means.
pub fn digit(c: char) -> Option<char> {
    if c.is_ascii() {
        return c.is_ascii_digit().then_some(c);
    }
    let zero = ZEROS[..ZEROS.partition_point(|zero| *zero <= u32::from(c))].last()?;
    char::from_digit(u32::from(c) - zero, 10)
}

pub fn is_digit(c: char) -> bool {
    digit(c).is_some()
}

/// Marks of Latin, Greek, Cyrillic, Hebrew, Arabic and Syriac, and variant or enclosing marks of any script. In Indic
/// scripts a mark is a vowel or its absence, so it is not an accent.
fn is_accent(c: char) -> bool {
    matches!(u32::from(c),
        0x0300..=0x052F                                                      // Latin, Greek, Cyrillic
        | 0x0590..=0x074F | 0x0870..=0x08FF                                  // Hebrew, Arabic, Syriac
        | 0x1AB0..=0x1AFF | 0x1DC0..=0x20FF | 0x2DE0..=0x2DFF | 0xA640..=0xA69F // their extensions
        | 0xFE00..=0xFE2F | 0xE0100..=0xE01EF)                               // variants, half marks
        && is_combining_mark(c)
}

/// Scripts written without spaces between words, and Hangul, whose particles are attached to the word; not their digits.
pub fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c),
        0x0E01..=0x0E4E | 0x0E80..=0x0ECF | 0x0EDA..=0x0EDF                     // Thai, Lao
        | 0x1000..=0x103F | 0x104A..=0x108F | 0x109A..=0x109F | 0x1780..=0x17D3 // Myanmar, Khmer
        | 0x3005..=0x3007 | 0x3041..=0x309F | 0x30A1..=0x30FF | 0x31F0..=0x31FF // kana and marks
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0xFF66..=0xFF9F // Han, half-width kana
        | 0x1100..=0x11FF | 0x3130..=0x318F | 0xAC00..=0xD7AF                   // Hangul
        | 0x20000..=0x3134F)
        && c != '\u{30FB}'
}

/// Whether `c` belongs to the character before it in a script without spaces: a mark (`か` and U+3099), a half-width
/// voicing mark, or a separate Hangul vowel or final consonant.
pub fn is_attached(c: char) -> bool {
    matches!(c, '\u{FF9E}' | '\u{FF9F}' | '\u{1160}'..='\u{11FF}') || is_combining_mark(c)
}

pub fn is_spaced_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    let is_word = c.is_alphanumeric() || is_combining_mark(c) || c == JOINER;
    is_word && !is_unspaced(c) && !is_apostrophe(c)
}

pub fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '’' | '\u{2BC}')
}

pub fn is_skin_tone(c: char) -> bool {
    matches!(c, '\u{1F3FB}'..='\u{1F3FF}')
}
