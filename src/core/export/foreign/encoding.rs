//! The characters of a file: UTF-8 and UTF-16 with or without a mark, and the older encodings of many countries, which are
//! guessed from the text.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// So much of a text is looked at.
const LOOKED_AT: usize = 64 * 1024;

/// A text, and what it was if it was not UTF-8.
pub struct Decoded {
    pub text: String,
    pub was: Option<&'static str>,
}

/// UTF-16, by its mark or by where the zero bytes are.
pub fn utf16_of(head: &[u8]) -> Option<&'static Encoding> {
    match Encoding::for_bom(head) {
        Some((encoding, _)) => return (encoding != UTF_8).then_some(encoding),
        None if head.len() < 4 => return None,
        None => {}
    }
    let looked_at = &head[..head.len().min(LOOKED_AT) & !1];
    let zeros = |from: usize| looked_at.iter().skip(from).step_by(2).filter(|b| **b == 0).count();
    // Line ends, blanks and digits have a zero byte in every language; texts of other encodings have none.
    let (big, little) = (zeros(0), zeros(1));
    let (encoding, most, least) = match big > little {
        true => (UTF_16BE, big, little),
        false => (UTF_16LE, little, big),
    };
    let is_utf8 = str::from_utf8(looked_at).map_or_else(|e| e.error_len().is_none(), |_| true);
    let enough = if is_utf8 { looked_at.len() / 20 } else { 0 };
    if most <= enough || least * 4 > most {
        return None;
    }
    let text = encoding.decode_without_bom_handling(looked_at).0;
    // A pair of surrogates may be cut off at the end.
    let is_text = text.matches('\u{fffd}').count() <= 1 && !text.bytes().any(|b| is_control(&b));
    is_text.then_some(encoding)
}

fn is_control(byte: &u8) -> bool {
    *byte < b' ' && !matches!(*byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b)
}

/// `None` for what is no text.
pub fn decode(bytes: Vec<u8>) -> Option<Decoded> {
    if let Some(encoding) = utf16_of(&bytes) {
        let (text, _) = encoding.decode_with_bom_removal(&bytes);
        return Some(Decoded { text: text.into_owned(), was: Some(encoding.name()) });
    }
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => {
            let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
            return Some(Decoded { text, was: None });
        }
        Err(error) => error.into_bytes(),
    };
    let looked_at = &bytes[..bytes.len().min(LOOKED_AT)];
    if looked_at.iter().any(is_control) {
        return None;
    }
    // A text of UTF-8 with a few broken bytes stays one.
    let lossy = String::from_utf8_lossy(&bytes);
    let broken = lossy.matches('\u{fffd}').count();
    let whole = lossy.chars().filter(|c| !c.is_ascii()).count() - broken;
    if broken * 4 < whole {
        let text = lossy.strip_prefix('\u{feff}').unwrap_or(&lossy).to_owned();
        return Some(Decoded { text, was: Some("UTF-8 with broken bytes") });
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(looked_at, true);
    let encoding = detector.guess(None, Utf8Detection::Deny);
    let (text, _) = encoding.decode_without_bom_handling(&bytes);
    Some(Decoded { text: text.into_owned(), was: Some(encoding.name()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 4] = [
        "Anna mag Grüße aus Köln und trinkt Tee.\n[1] Größe: 42",
        "安娜喜欢喝绿茶。\n她住在上海，今年四十二岁。她每天早上跑步。",
        "تحب آنا الشاي الأخضر وتعيش في القاهرة.\nلديها كلب.",
        "Анна любит зелёный чай и живёт в Москве.\nУ неё есть собака.",
    ];

    #[test]
    fn utf16_is_read_with_and_without_a_mark() {
        for text in TEXTS {
            for is_big in [false, true] {
                for mark in ["", "\u{feff}"] {
                    let units = mark.encode_utf16().chain(text.encode_utf16());
                    let bytes = units.flat_map(|unit| match is_big {
                        true => unit.to_be_bytes(),
                        false => unit.to_le_bytes(),
                    });
                    let read = decode(bytes.collect()).expect("a text");
                    assert_eq!(read.text, text);
                    assert!(read.was.is_some_and(|was| was.starts_with("UTF-16")));
                }
            }
        }
    }

    #[test]
    fn older_encodings_are_told_by_their_text() {
        let of = |name: &str, text: &str| {
            let encoding = Encoding::for_label(name.as_bytes()).expect("known");
            encoding.encode(text).0.into_owned()
        };
        for (name, text) in [
            ("windows-1252", TEXTS[0]),
            ("gbk", TEXTS[1]),
            ("windows-1256", TEXTS[2]),
            ("windows-1251", TEXTS[3]),
        ] {
            let read = decode(of(name, text)).expect("a text");
            assert_eq!((read.text.as_str(), read.was.is_some()), (text, true), "{name}");
        }
    }

    #[test]
    fn utf8_stays_as_it_is_and_what_is_no_text_is_none() {
        for text in TEXTS {
            for mark in ["", "\u{feff}"] {
                let read = decode(format!("{mark}{text}").into_bytes()).expect("a text");
                assert_eq!((read.text.as_str(), read.was), (text, None));
            }
        }
        let mut broken = TEXTS[1].as_bytes().to_vec();
        broken[4] = 0xff;
        let read = decode(broken).expect("a text");
        assert!(read.text.contains("喜欢") && read.was.is_some());
        for none in [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0".to_vec(), b"\xff\x01\x02\xfe".to_vec()] {
            assert!(decode(none).is_none());
        }
    }
}
