//! Numbers and codes in groups: with separators and without them they are the same.

use std::ops::{Range, RangeInclusive};

use super::{TextLexeme, WordKind, run_end};
use crate::languages::characters::{digit, is_digit, is_spaced_word};

const BLANKS: [char; 4] = [' ', '\u{A0}', '\u{2009}', '\u{202F}'];
/// Beside [`BLANKS`].
const SEPARATORS: [char; 8] = [',', '.', '\'', '’', '٬', '，', '-', '/'];
/// Limits of what is joined, in groups, digits and characters.
const GROUPS_MAX: usize = 10;
const PHONE_DIGITS: RangeInclusive<usize> = 7..=20;
const LONG_DIGITS: RangeInclusive<usize> = 8..=20;
const ACCOUNT_CHARS: RangeInclusive<usize> = 15..=34;
const CODE_CHARS: RangeInclusive<usize> = 5..=34;

/// A number in groups of digits.
pub(super) struct GroupedNumber {
    pub range: Range<usize>,
    digits: String,
    /// What its groups are; `Plain`: what they are without it.
    groups: WordKind,
}

/// The number in groups that begins at `start`, the beginning of a word. Single separators join the groups:
/// - commas, dots, apostrophes or blanks before each three digits: `1,250`, `1.250.000`, `1'250`, `1 250`, `12,50,000`; not
///   four dotted groups, which are an address;
/// - blanks, `-`, `/` or `.` after a `+` or a leading zero: `+41 79 123 45 67`, `079/123 45 67`;
/// - blanks, `-` or `/`, the same each time, in a number of three groups and eight digits: `978-3-16-148410-0`.
///
/// Dates, versions and addresses are not joined: different ones may have the same digits.
pub(super) fn number(text: &str, start: usize) -> Option<GroupedNumber> {
    if !text[start..].starts_with(is_digit) {
        return None;
    }
    let (mut ends, mut lengths, mut separators) = (Vec::new(), Vec::new(), Vec::new());
    let mut at = start;
    while ends.len() < GROUPS_MAX {
        let end = run_end(text, at, is_digit);
        ends.push(end);
        lengths.push(text[at..end].chars().count());
        let mut after = text[end..].chars();
        let separator = after.next().filter(|c| is_blank(*c) || SEPARATORS.contains(c));
        let Some(separator) = separator.filter(|_| after.next().is_some_and(is_digit)) else {
            break;
        };
        separators.push(separator);
        at = end + separator.len_utf8();
    }
    let first = *separators.first()?;
    let (count, digits): (usize, usize) = (lengths.len(), lengths.iter().sum());
    let mut before = text[..start].chars().rev();
    let begins_inside = before.next() == Some(first) && before.next().is_some_and(is_digit);
    let begins_with_zero = text[start..].chars().next().and_then(digit) == Some('0');

    let same = separators.iter().take_while(|separator| **separator == first).count();
    let goes_on = is_blank(first) && matches!(separators.get(same), Some('-' | '/'));
    let in_thousands = !begins_inside
        && !begins_with_zero
        && !goes_on
        && lengths.get(..=same).is_some_and(|lengths| is_thousands(lengths, first));

    let is_whole = separators.len() < count && !text[ends[count - 1]..].starts_with(is_spaced_word);
    let is_short = |length: &&usize| **length <= 2;
    let is_date =
        count == 3 && lengths.contains(&4) && lengths.iter().filter(is_short).count() == 2;
    let has_only = |signs: &[char]| separators.iter().all(|s| is_blank(*s) || signs.contains(s));
    let has_plus = text[..start].ends_with('+');
    let has_lead = has_plus || begins_with_zero && lengths[0] > 1 && LONG_DIGITS.contains(&digits);
    let is_phone = has_lead && PHONE_DIGITS.contains(&digits) && has_only(&['-', '/', '.']);
    let is_long = count >= 3
        && lengths[0] <= 4
        && LONG_DIGITS.contains(&digits)
        && has_only(&['-', '/'])
        && same == separators.len();
    let is_joined = is_whole && !is_date && (has_plus || !begins_inside);

    let (count, groups) = if is_joined && is_phone {
        (count, WordKind::Part)
    } else if in_thousands {
        (same + 1, if is_blank(first) { WordKind::Part } else { WordKind::Group })
    } else if is_joined && is_long {
        (count, WordKind::Plain)
    } else {
        return None;
    };
    let range = start..ends[count - 1];
    let digits: String = text[range.clone()].chars().filter_map(digit).collect();
    let digits = international(&digits).unwrap_or(digits);
    Some(GroupedNumber { range, digits, groups })
}

/// A phone number with `00` before its country, as with `+`.
pub(super) fn international(digits: &str) -> Option<String> {
    let is_number = digits.len() >= 10 && digits.bytes().all(|b| b.is_ascii_digit());
    digits.strip_prefix("00").filter(|_| is_number).map(str::to_owned)
}

/// The account number (IBAN) that begins at `start`, in groups of four: `CH56 0483 5012 3456 7800 9`.
pub(super) fn account(text: &str, start: usize) -> Option<GroupedNumber> {
    let rest = &text[start..];
    let country = rest.as_bytes().get(..4)?;
    let is_country = country[..2].iter().all(u8::is_ascii_alphabetic)
        && country[2..].iter().all(u8::is_ascii_digit);
    if !is_country {
        return None;
    }
    let (mut end, mut last) = (4, 4);
    while last == 4 && rest[end..].starts_with(BLANKS) {
        let blank = rest[end..].chars().next().map_or(0, char::len_utf8);
        let group = rest[end + blank..].bytes().take_while(u8::is_ascii_alphanumeric).count();
        if group == 0 || group > 4 {
            break;
        }
        (end, last) = (end + blank + group, group);
    }
    let range = start..start + end;
    let digits = text[range.clone()].to_ascii_lowercase().replace(BLANKS, "");
    let is_account = ACCOUNT_CHARS.contains(&digits.len());
    is_account.then_some(GroupedNumber { range, digits, groups: WordKind::Part })
}

fn is_blank(c: char) -> bool {
    BLANKS.contains(&c)
}

fn is_thousands(lengths: &[usize], separator: char) -> bool {
    let [leading, middle @ .., last] = lengths else {
        return false;
    };
    let is_group = |length: &usize| *length == 3 || *length == 2 && separator == ',';
    let is_address = separator == '.' && lengths.len() == 4;
    !matches!(separator, '-' | '/')
        && *leading <= 3
        && *last == 3
        && middle.iter().all(is_group)
        && !is_address
}

impl GroupedNumber {
    /// Adds it to the words of `found` from `first` on, with the first of which it begins.
    pub(super) fn push(&self, found: &mut Vec<TextLexeme>, first: usize) {
        match found[first..].iter().position(|word| word.range == self.range) {
            Some(whole) => found[first + whole].joined = Some(self.digits.clone()),
            None => found.insert(
                first,
                TextLexeme {
                    lexeme: self.digits.clone(),
                    range: self.range.clone(),
                    kind: WordKind::Compound,
                    joined: None,
                    is_whole: true,
                },
            ),
        }
    }

    /// Marks its groups among these words.
    pub(super) fn mark(&self, words: &mut [TextLexeme]) {
        let is_group =
            |word: &&mut TextLexeme| word.range != self.range && word.range.end <= self.range.end;
        if self.groups != WordKind::Plain {
            words.iter_mut().filter(is_group).for_each(|word| word.kind = self.groups);
        }
    }
}

/// A code without its hyphens: `gr482kt` of `gr-482-kt`. Each hyphen stands between a letter and a digit, so that different
/// codes stay different.
pub(super) fn code(lexeme: &str) -> Option<String> {
    if !lexeme.contains('-') {
        return None;
    }
    let chars: Vec<char> = lexeme.chars().collect();
    let is_border = |around: &[char]| match around {
        [a, '-', b] => {
            a.is_alphabetic() && b.is_ascii_digit() || a.is_ascii_digit() && b.is_alphabetic()
        }
        _ => true,
    };
    let code = lexeme.replace('-', "");
    let is_code = CODE_CHARS.contains(&code.chars().count())
        && code.chars().all(char::is_alphanumeric)
        && chars.windows(3).all(is_border);
    is_code.then_some(code)
}

#[cfg(test)]
mod tests {
    use super::super::{Term, WHOLE, lexemes, matches, query_terms};

    fn shown<'t>(text: &'t str, query: &str) -> Vec<&'t str> {
        matches(text, &query_terms(query)).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn a_number_or_code_is_the_same_with_separators_and_without() {
        for (joined, grouped) in [
            ("1250", "1,250"),
            ("1250", "1.250"),
            ("1250", "1'250"),
            ("1250", "1’250"),
            ("1250", "1 250"),
            ("1250", "1\u{A0}250"),
            ("1250", "1\u{2009}250"),
            ("1250000", "1.250.000"),
            ("1250000", "12,50,000"),
            ("1250", "١٬٢٥٠"),
            ("1250", "１，２５０"),
            ("41791234567", "41 79 123 45 67"),
            ("0791234567", "079 123 45 67"),
            ("0612345678", "06.12.34.56.78"),
            ("91234567", "912 34 567"),
            ("4111111111111111", "4111 1111 1111 1111"),
            ("9783161484100", "978-3-16-148410-0"),
            ("gr482kt", "GR-482-KT"),
            ("err5021", "ERR-5021"),
            ("41791234567", "0041 79 123 45 67"),
            ("ch5604835012345678009", "CH56 0483 5012 3456 7800 9"),
        ] {
            let text = format!("It is {grouped}, said Anna.");
            assert_eq!(lexemes(&text).filter(|word| word == joined).count(), 1, "{grouped}");
            assert_eq!(shown(&text, joined), [grouped], "{grouped}");
            let text = format!("It is {joined}, said Anna.");
            assert_eq!(shown(&text, grouped), [joined], "{grouped}");
        }
        assert_eq!(shown("+41 79 123 45 67", "+41791234567"), ["41 79 123 45 67"]);
        assert_eq!(shown("Pay 1,250.50 now", "1250"), ["1,250"]);
        assert_eq!(shown("In 2019 1,250 came", "1250"), ["1,250"]);
    }

    #[test]
    fn what_may_mean_something_else_stays_apart() {
        for text in [
            "2023-05-07",
            "05.12.2023",
            "24/12/2023",
            "1.2.3",
            "192.168.17.40",
            "192.168.174.100",
            "0.125",
            "10-12",
            "2019-2023",
            "2019 250",
            "1, 250",
            "7 1 250",
            "AB-1-23",
            "A-B123",
            "well-known",
            "gpt-4",
        ] {
            let joined: String =
                text.to_lowercase().split(|c: char| !c.is_alphanumeric()).collect();
            assert!(!lexemes(&format!("It is {text} now")).any(|word| word == joined), "{text}");
        }
    }

    #[test]
    fn a_query_asks_for_the_number_and_not_for_its_short_groups() {
        let asked = |query: &str| -> Vec<Vec<String>> {
            let others = |term: Term| {
                let others = term.alternatives.into_iter().filter(|a| !a.starts_with(WHOLE));
                others.collect()
            };
            query_terms(query).into_iter().map(others).collect()
        };
        for (query, expected) in [
            ("1,250", vec![vec!["1250"]]),
            ("1.250", vec![vec!["1.250", "1250"]]),
            ("+41 79 123 45 67", vec![vec!["41791234567"], vec!["123"]]),
            ("GR-482-KT", vec![vec!["gr-482-kt", "gr482kt"], vec!["gr"], vec!["482"], vec!["kt"]]),
            ("٢٠٤ ４２", vec![vec!["204"], vec!["42"]]),
        ] {
            assert_eq!(asked(query), expected, "{query}");
        }
    }

    #[test]
    fn digits_of_any_script_are_the_same() {
        for (text, digits) in
            [("غرفة ٢٠٤", "204"), ("४२ आम", "42"), ("အခန်း၂၀၄", "204"), ("ຫ້ອງ໒", "2")]
        {
            assert!(lexemes(text).any(|word| word == digits), "{text}");
        }
    }
}
