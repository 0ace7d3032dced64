//! Emoji: each is one word, including its modifiers.

use crate::languages::characters::{JOINER, is_skin_tone};

/// Emoji with picture presentation (Unicode 15.1): listed below U+1F300, whole blocks above. Excluded are characters with
/// text presentation: digits, `#`, `*`, `©`, `™`, `‼`, enclosed letters and CJK signs, arrows and geometric shapes.
pub(super) fn is_emoji(c: char) -> bool {
    is_flag_half(c)
        || matches!(u32::from(c),
            0x231A | 0x231B | 0x2328 | 0x23CF | 0x23E9..=0x23F3 | 0x23F8..=0x23FA           // clocks, buttons
            | 0x2600..=0x2604 | 0x260E | 0x2611 | 0x2614 | 0x2615 | 0x2618 | 0x261D | 0x2620 // symbols
            | 0x2622 | 0x2623 | 0x2626 | 0x262A | 0x262E | 0x262F | 0x2638..=0x263A | 0x2640
            | 0x2642 | 0x2648..=0x2653 | 0x265F | 0x2660 | 0x2663 | 0x2665 | 0x2666 | 0x2668
            | 0x267B | 0x267E | 0x267F | 0x2692..=0x2697 | 0x2699 | 0x269B | 0x269C | 0x26A0
            | 0x26A1 | 0x26A7 | 0x26AA | 0x26AB | 0x26B0 | 0x26B1 | 0x26BD | 0x26BE | 0x26C4
            | 0x26C5 | 0x26C8 | 0x26CE | 0x26CF | 0x26D1 | 0x26D3 | 0x26D4 | 0x26E9 | 0x26EA
            | 0x26F0..=0x26F5 | 0x26F7..=0x26FA | 0x26FD
            | 0x2702 | 0x2705 | 0x2708..=0x270D | 0x270F | 0x2712 | 0x2714 | 0x2716 | 0x271D // dingbats
            | 0x2721 | 0x2728 | 0x2733 | 0x2734 | 0x2744 | 0x2747 | 0x274C | 0x274E
            | 0x2753..=0x2755 | 0x2757 | 0x2763 | 0x2764 | 0x2795..=0x2797 | 0x27B0 | 0x27BF
            | 0x2B1B | 0x2B1C | 0x2B50 | 0x2B55 | 0x1F004 | 0x1F0CF                         // squares, games
            | 0x1F300..=0x1F64F | 0x1F680..=0x1F6FF | 0x1F7E0..=0x1F7F0                     // pictures
            | 0x1F90C..=0x1F9FF | 0x1FA70..=0x1FAFF)
}

/// Two of them form the flag of a country.
fn is_flag_half(c: char) -> bool {
    matches!(c, '\u{1F1E6}'..='\u{1F1FF}')
}

/// A variation selector, a skin tone, or a tag (`🏴󠁧󠁢󠁳󠁣󠁴󠁿`).
fn is_modifier(c: char) -> bool {
    is_skin_tone(c) || matches!(c, '\u{FE0E}' | '\u{FE0F}' | '\u{E0020}'..='\u{E007F}')
}

/// The end of the emoji at `start`.
pub(super) fn end(text: &str, start: usize) -> usize {
    let mut rest = &text[start..];
    let halves = rest.chars().take(2).take_while(|&c| is_flag_half(c));
    let flag: usize = halves.map(char::len_utf8).sum();
    if flag > 0 {
        return start + flag;
    }
    loop {
        let base = rest.chars().next().map_or(0, char::len_utf8);
        rest = rest[base..].trim_start_matches(is_modifier);
        match rest.strip_prefix(JOINER) {
            Some(joined) if joined.starts_with(is_emoji) => rest = joined,
            _ => return text.len() - rest.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{matches, query_terms};

    fn finds(text: &str, query: &str) -> bool {
        !matches(text, &query_terms(query)).is_empty()
    }

    #[test]
    fn an_emoji_is_found_with_what_belongs_to_it() {
        for (text, query) in [
            ("a crab🦀, red", "🦀"),
            ("❤️", "❤"),
            ("❤", "❤️"),
            ("👍", "👍🏽"),
            ("👍🏽👍", "👍"),
            ("👩🏽‍💻 works", "👩‍💻"),
            ("in 🇩🇪🇫🇷", "🇫🇷"),
            ("🏴󠁧󠁢󠁳󠁣󠁴󠁿", "🏴󠁧󠁢󠁳󠁣󠁴󠁿"),
        ] {
            assert_eq!(query_terms(query).len(), 1, "{query}");
            assert!(finds(text, query), "{query}");
        }
        for (text, query) in [("👩‍💻", "👩"), ("🇩🇪🇫🇷", "🇪🇫"), ("🏴󠁧󠁢󠁳󠁣󠁴󠁿", "🏴"), ("🦀", "🦞")]
        {
            assert!(!finds(text, query), "{query}");
        }
        let text = "ok 👩🏽‍💻!";
        assert_eq!(&text[matches(text, &query_terms("👩‍💻"))[0].clone()], "👩🏽‍💻");
        assert_eq!(query_terms("© ™ # * → ✓ ★ ▶️ €"), []);
        assert_eq!(query_terms("1️⃣"), query_terms("1"));
    }
}
