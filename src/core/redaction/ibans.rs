//! Bank account numbers (IBAN): a country, its length and the check sum of ISO 13616, written as one or in groups of four.

pub const RULE: &str = "iban";

/// Each country's length (SWIFT's registry, release 99).
const LENGTHS: &str = "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 \
    EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 \
    LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 \
    SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30";

/// Byte ranges of the account numbers of a text. Linear in its length.
pub fn find(text: &str) -> impl Iterator<Item = (usize, usize)> + '_ {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at + 4 < bytes.len() {
            let begins = at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
            if let Some(end) = begins.then(|| account_at(bytes, at)).flatten() {
                let start = std::mem::replace(&mut at, end);
                return Some((start, end));
            }
            at += 1;
        }
        None
    })
}

/// Where the number that begins here ends.
fn account_at(bytes: &[u8], start: usize) -> Option<usize> {
    let head = bytes.get(start..start + 4)?;
    if !head[..2].iter().all(u8::is_ascii_alphabetic) || !head[2..].iter().all(u8::is_ascii_digit) {
        return None;
    }
    let country = str::from_utf8(&head[..2]).ok()?.to_ascii_uppercase();
    let length = LENGTHS.split(' ').find_map(|one| one.strip_prefix(&country))?;
    let length: usize = length.parse().ok()?;
    let (mut at, mut letters) = (start, Vec::with_capacity(length));
    let joint = bytes.get(start + 4).copied().filter(|b| matches!(b, b' ' | b'-'));
    while letters.len() < length {
        let is_between = !letters.is_empty() && letters.len().is_multiple_of(4);
        if let (true, Some(joint)) = (is_between, joint) {
            if bytes.get(at) != Some(&joint) {
                return None;
            }
            at += 1;
        }
        letters.push(bytes.get(at).filter(|b| b.is_ascii_alphanumeric())?.to_ascii_uppercase());
        at += 1;
    }
    let ends = bytes.get(at).is_none_or(|next| !next.is_ascii_alphanumeric());
    (ends && is_checked(&letters)).then_some(at)
}

/// The first four to the end, letters as two digits: one modulo 97.
fn is_checked(letters: &[u8]) -> bool {
    let digits = letters[4..].iter().chain(&letters[..4]);
    let rest = digits.fold(0u32, |rest, byte| match byte {
        b'0'..=b'9' => (rest * 10 + u32::from(byte - b'0')) % 97,
        _ => (rest * 100 + u32::from(byte - b'A') + 10) % 97,
    });
    rest == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<&str> {
        find(text).map(|(start, end)| &text[start..end]).collect()
    }

    #[test]
    fn accounts_of_many_countries_are_found_as_people_write_them() {
        for account in [
            "DE89 3704 0044 0532 0130 00",
            "DE89370400440532013000",
            "AT61 1904 3002 3457 3201",
            "GB29 NWBK 6016 1331 9268 19",
            "NO93-8601-1117-947",
            "ch93 0076 2011 6238 5295 7",
            "SA03 8000 0000 6080 1016 7519",
        ] {
            assert_eq!(found(&format!("Überweise an {account}, bitte.")), [account]);
            assert_eq!(found(account), [account]);
        }
    }

    #[test]
    fn other_codes_are_none() {
        for text in [
            "DE88 3704 0044 0532 0130 00",
            "DE89 3704 0044 0532 0130 0",
            "XDE89370400440532013000",
            "DE893704004405320130001",
            "ZZ89 3704 0044 0532 0130 00",
            "DE89 37040 044 0532 0130 00",
            "AB12",
            "",
        ] {
            assert_eq!(found(text), Vec::<&str>::new(), "{text}");
        }
    }
}
