//! A text as people read it: without what cannot be seen, with all digits and letters in one form, and with what a line break
//! parts put together; each byte with its place in the original.

use unicode_normalization::UnicodeNormalization;

use crate::texts::is_unseen;

/// Another reading of a text.
pub struct TextReading {
    pub text: String,
    /// For each byte, and for the end, where its character begins in the original.
    places: Vec<u32>,
}

impl TextReading {
    /// The range in the original; what was left out behind it belongs to it.
    pub fn original(&self, (start, end): (usize, usize)) -> (usize, usize) {
        // Not within what was one character.
        let last = self.places[end.saturating_sub(1)];
        let end = self.places[end..].iter().copied().find(|place| *place > last || end == 0);
        (self.places[start] as usize, end.unwrap_or(last) as usize)
    }

    fn of(original: &str, each: impl Fn(char, &mut String)) -> Self {
        let (mut text, mut places) = (String::new(), Vec::new());
        for (at, c) in original.char_indices() {
            each(c, &mut text);
            places.resize(text.len(), at as u32);
        }
        places.push(original.len() as u32);
        Self { text, places }
    }
}

/// In NFKC, character by character, without characters that cannot be seen. `None` if that changes nothing.
pub fn plain(text: &str) -> Option<TextReading> {
    if text.is_ascii() {
        return None;
    }
    let reading = TextReading::of(text, |c, plain| match c {
        _ if c.is_ascii() => plain.push(c),
        _ if is_unseen(c) => {}
        _ => plain.extend(std::iter::once(c).nfkc()),
    });
    (reading.text != text).then_some(reading)
}

/// Without line breaks between two characters of tokens, with the blanks around them. `None` if there are none.
pub fn joined(text: &str) -> Option<TextReading> {
    let bytes = text.as_bytes();
    let is_of_token = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at))
            .is_some_and(|b| b.is_ascii_alphanumeric() || b"+/=_-.".contains(b))
    };
    let (mut left_out, mut from) = (Vec::new(), 0);
    while let Some(at) = bytes[from..].iter().position(|b| *b == b'\n').map(|at| from + at) {
        let before = bytes[from..at].iter().rposition(|b| !b.is_ascii_whitespace());
        let start = before.map_or(from, |before| from + before + 1);
        let after = bytes[at..].iter().position(|b| !b.is_ascii_whitespace());
        let end = after.map_or(bytes.len(), |after| at + after);
        if is_of_token(start.checked_sub(1)) && is_of_token(Some(end)) {
            left_out.push(start..end);
        }
        from = end.max(at + 1);
    }
    if left_out.is_empty() {
        return None;
    }
    let (mut together, mut places, mut from) = (String::with_capacity(text.len()), Vec::new(), 0);
    for gap in left_out.into_iter().chain(std::iter::once(bytes.len()..bytes.len())) {
        together.push_str(&text[from..gap.start]);
        places.extend((from..gap.start).map(|at| at as u32));
        from = gap.end;
    }
    places.push(bytes.len() as u32);
    Some(TextReading { text: together, places })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_a_reading_is_one_in_the_original() {
        let text = "é４１\u{200b}１ﬁn ü";
        let reading = plain(text).expect("another reading");
        assert_eq!(reading.text, "é411fin ü");
        let at = |part: &str| {
            let start = reading.text.find(part).expect(part);
            let (start, end) = reading.original((start, start + part.len()));
            &text[start..end]
        };
        assert_eq!((at("411"), at("fi"), at("ü")), ("４１\u{200b}１", "ﬁ", "ü"));
        assert!(plain("abc ü").is_none() && plain("").is_none());
    }

    #[test]
    fn line_breaks_within_tokens_are_left_out() {
        let text = "ab\r\n  cd. Ende\n„ja“\n\nx\ny";
        let reading = joined(text).expect("another reading");
        assert_eq!(reading.text, "abcd. Ende\n„ja“\n\nxy");
        assert_eq!(reading.original((1, 3)), (1, 7));
        assert_eq!(&text[1..7], "b\r\n  c");
        let end = reading.text.len();
        assert_eq!(reading.original((end - 2, end)), (text.len() - 3, text.len()));
        assert!(joined("one\n two!").is_some() && joined("one,\n‚two‘").is_none());
    }
}
