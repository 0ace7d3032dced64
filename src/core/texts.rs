//! The one form in which texts are compared: NFC, `\n` as the line end, without characters that cannot be seen, and without
//! blanks around it. Texts are kept as they came. [`edit`] finds and changes a part of one.

pub mod edit;

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Unicode's default ignorable characters: zero-width characters, joiners, direction marks, variation selectors, fillers.
pub fn is_unseen(c: char) -> bool {
    matches!(
        u32::from(c),
        0xAD | 0x34F | 0x61C | 0x115F..=0x1160 | 0x17B4..=0x17B5 | 0x180B..=0x180F | 0x200B..=0x200F | 0x202A..=0x202E
            | 0x2060..=0x206F | 0x3164 | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0 | 0xFFF0..=0xFFF8 | 0x1BCA0..=0x1BCA3
            | 0x1D173..=0x1D17A | 0xE0000..=0xE0FFF
    )
}

/// Left out where texts are compared. Tag letters count: they tell the flags of England and Scotland apart.
pub fn is_ignored(c: char) -> bool {
    is_unseen(c) && !matches!(c, '\u{E0020}'..='\u{E007F}')
}

/// The form in which texts are compared; the migration `compared_texts` has the same in SQL.
pub fn comparable(text: &str) -> Cow<'_, str> {
    if is_normal(text) {
        return Cow::Borrowed(text.trim());
    }
    let seen: String = text.chars().filter(|c| !is_ignored(*c)).nfc().collect();
    Cow::Owned(seen.replace("\r\n", "\n").replace('\r', "\n").trim().to_owned())
}

/// Whether two texts are one, however each is written.
pub fn is_same(one: &str, other: &str) -> bool {
    one == other || comparable(one) == comparable(other)
}

/// Whether nothing of it can be seen.
pub fn is_blank(text: &str) -> bool {
    comparable(text).is_empty()
}

fn is_normal(text: &str) -> bool {
    !text.contains('\r')
        && (text.is_ascii()
            || !text.contains(is_ignored) && is_nfc_quick(text.chars()) == IsNormalized::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_text_in_several_forms_is_one_and_different_ones_stay_different() {
        for (one, other) in [
            ("Café", "Cafe\u{301}"),
            ("a\r\nb\rc", "a\nb\nc"),
            ("home\u{200b}city", "homecity"),
            ("می‌خواهم", "میخواهم"),
            ("👨‍👩‍👧", "👨👩👧"),
            ("❤\u{fe0f}", "❤"),
            ("한국", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}"),
            (" a\u{200b} ", "a"),
            ("e\u{200d}\u{301}", "é"),
            ("\u{212b}", "Å"),
        ] {
            assert!(is_same(one, other), "{one:?} {other:?}");
        }
        for (one, other) in [
            ("Cafe", "Café"),
            ("a b", "ab"),
            ("a\n\nb", "a\nb"),
            ("１", "1"),
            ("Tea", "tea"),
            (
                "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
                "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
            ),
        ] {
            assert!(!is_same(one, other), "{one:?} {other:?}");
        }
        assert!(
            is_blank("\u{200b}\u{feff} \u{3164}\r\n") && is_blank("") && !is_blank("\u{200b}a")
        );
        assert!(matches!(
            comparable(" Grüße aus Zürich 漢字 "),
            Cow::Borrowed("Grüße aus Zürich 漢字")
        ));
    }
}
