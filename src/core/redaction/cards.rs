//! Card numbers: 14 to 16 digits with an issuer's prefix and Luhn's check sum, written as one or in the card's groups. A run
//! that is longer, or part of a word, is none.

pub const RULE: &str = "card-number";

/// How many groups may stand before and after a card's in one run: a date, a code.
const GROUPS_BEFORE_MAX: usize = 1;
const GROUPS_AFTER_MAX: usize = 2;
/// Lengths of the groups of a card.
const SHAPES: [&[usize]; 6] = [&[16], &[15], &[14], &[4, 4, 4, 4], &[4, 6, 5], &[4, 6, 4]];

/// Byte ranges of the card numbers of a text. Linear in its length.
pub fn find(text: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() {
            if !bytes[at].is_ascii_digit() {
                at += 1;
                continue;
            }
            let begins_word = at == 0 || !is_of_word(bytes[at - 1]);
            let (groups, end) = groups_from(bytes, at);
            let ends_word = end == bytes.len() || !is_of_word(bytes[end]);
            at = end;
            if let Some(card) = card_of(bytes, &groups).filter(|_| begins_word && ends_word) {
                return Some(card);
            }
        }
        None
    })
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Groups of digits that the same single space or hyphen joins, and where they end.
fn groups_from(bytes: &[u8], start: usize) -> (Vec<(usize, usize)>, usize) {
    let (mut groups, mut at, mut joint) = (Vec::new(), start, None);
    loop {
        let digits = bytes[at..].iter().take_while(|b| b.is_ascii_digit());
        let end = at + digits.count();
        groups.push((at, end));
        let next = bytes.get(end).copied().filter(|b| matches!(b, b' ' | b'-'));
        let goes_on = bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
        if next.is_none() || !goes_on || joint.is_some_and(|joint| Some(joint) != next) {
            return (groups, end);
        }
        joint = next;
        at = end + 1;
    }
}

fn card_of(bytes: &[u8], groups: &[(usize, usize)]) -> Option<(usize, usize)> {
    for before in 0..=GROUPS_BEFORE_MAX.min(groups.len().saturating_sub(1)) {
        let rest = &groups[before..];
        for shape in SHAPES.iter().filter(|shape| shape.len() <= rest.len()) {
            let (card, after) = rest.split_at(shape.len());
            let has_shape = card.iter().zip(*shape).all(|((a, b), n)| b - a == *n);
            if !has_shape || after.len() > GROUPS_AFTER_MAX {
                continue;
            }
            let (start, end) = (card[0].0, card[card.len() - 1].1);
            let digits: Vec<u8> =
                bytes[start..end].iter().filter(|b| b.is_ascii_digit()).map(|b| b - b'0').collect();
            if has_issuer(&digits) && has_check_sum(&digits) {
                return Some((start, end));
            }
        }
    }
    None
}

/// Visa, Mastercard, American Express, Discover, JCB, UnionPay or Diners Club.
fn has_issuer(digits: &[u8]) -> bool {
    let begins = |n: usize| digits[..n].iter().fold(0u32, |sum, d| sum * 10 + u32::from(*d));
    match digits.len() {
        16 => {
            digits[0] == 4
                || (51..=55).contains(&begins(2))
                || (2221..=2720).contains(&begins(4))
                || matches!(begins(2), 62 | 65)
                || begins(4) == 6011
                || (644..=649).contains(&begins(3))
                || (3528..=3589).contains(&begins(4))
        }
        15 => matches!(begins(2), 34 | 37),
        14 => matches!(begins(2), 36 | 38 | 39) || (300..=305).contains(&begins(3)),
        _ => false,
    }
}

/// Luhn's.
fn has_check_sum(digits: &[u8]) -> bool {
    let weigh = |(n, digit): (usize, &u8)| match (n % 2, digit * 2) {
        (0, _) => u32::from(*digit),
        (_, twice) => u32::from(twice / 10 + twice % 10),
    };
    let sum: u32 = digits.iter().rev().enumerate().map(weigh).sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        find(text).map(|(start, end)| &text[start..end]).collect()
    }

    #[test]
    fn cards_of_each_issuer_are_found_as_people_write_them() {
        for card in [
            "4111111111111111",
            "4012 8888 8888 1881",
            "5555-5555-5555-4444",
            "2223003122003222",
            "3782 822463 10005",
            "6011111111111117",
            "3530111333300000",
            "6200000000000005",
            "3056 930902 5904",
        ] {
            assert_eq!(found(&format!("The card is {card}.")), [card]);
            assert_eq!(found(&format!("Visa:{card} 12/27, code 123")), [card]);
        }
        assert_eq!(
            found("4111 1111 1111 1111 2027 and 4111111111111111"),
            ["4111 1111 1111 1111", "4111111111111111"]
        );
    }

    #[test]
    fn other_numbers_are_no_cards() {
        for text in [
            "4111111111111112",
            "41111111111111111",
            "x4111111111111111",
            "4111111111111111_1",
            "9780306406157",
            "978-3-16-148410-0",
            "+49 30 123456 7890",
            "1764230400000000",
            "2019 2020 2021 2022 2023 2024 2025",
            "4111-1111 1111 1111",
            "4111 1111 1111 1111 1111 1111 1111 1111",
            "1234567890123456",
            "",
        ] {
            assert_eq!(found(text), Vec::<&str>::new(), "{text}");
        }
    }
}
