//! Characters: folding, and which scripts need special treatment.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::emoji::{JOINER, is_skin_tone};

/// Removes case, width, accents and skin tones. Vowel signs and voicing marks stay, because they tell words apart.
pub(in crate::memories) fn fold(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let unaccented: String =
        word.nfkd().filter(|&c| !is_accent(c) && !is_skin_tone(c) && c != JOINER).collect();
    unaccented.to_lowercase().replace('ß', "ss").nfkc().collect()
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

/// Scripts written without spaces between words, and Hangul, whose particles are attached to the word.
pub(super) fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c),
        0x0E01..=0x0E4E | 0x0E80..=0x0EDF | 0x1000..=0x109F | 0x1780..=0x17D3   // Thai, Lao, Myanmar, Khmer
        | 0x3005..=0x3007 | 0x3041..=0x309F | 0x30A1..=0x30FF | 0x31F0..=0x31FF // kana and marks
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0xFF66..=0xFF9F // Han, half-width kana
        | 0x1100..=0x11FF | 0x3130..=0x318F | 0xAC00..=0xD7AF                   // Hangul
        | 0x20000..=0x3134F)
        && c != '\u{30FB}'
}

/// Whether `c` belongs to the character before it in a script without spaces: a mark (`か` and U+3099), a half-width
/// voicing mark, or a separate Hangul vowel or final consonant.
pub(super) fn is_attached(c: char) -> bool {
    matches!(c, '\u{FF9E}' | '\u{FF9F}' | '\u{1160}'..='\u{11FF}') || is_combining_mark(c)
}

pub(super) fn is_spaced_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    (c.is_alphanumeric() || is_combining_mark(c) || c == JOINER) && !is_unspaced(c)
}
