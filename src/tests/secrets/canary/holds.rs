//! Whether a text holds a secret, under any spelling that it could hide in.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::KEY;

/// Every spelling under which a secret could be hiding.
fn spellings(secret: &str) -> Vec<String> {
    let bytes = secret.as_bytes();
    let hex = bytes.iter().map(|b| format!("{b:02x}")).collect();
    let mut all = vec![secret.to_owned(), hex];
    let encoded: String = url::form_urlencoded::byte_serialize(bytes).collect();
    all.push(encoded.replace('+', "%20"));
    all.push(encoded);
    for shift in 0..3 {
        let shifted: Vec<u8> =
            std::iter::repeat_n(b'x', shift).chain(bytes.iter().copied()).collect();
        for engine in [STANDARD_NO_PAD.encode(&shifted), URL_SAFE_NO_PAD.encode(&shifted)] {
            // Less what the neighbours decide.
            let (from, to) = ((shift * 8).div_ceil(6), shifted.len() * 8 / 6);
            all.push(engine[from..to].to_owned());
        }
    }
    all.sort();
    all.dedup();
    all
}

pub(super) fn holds(text: &str, secret: &str) -> bool {
    let spelled = spellings(secret);
    spelled.iter().any(|s| text.contains(s.as_str()))
        || text.to_lowercase().contains(&secret.to_lowercase())
}

#[test]
fn the_search_knows_each_spelling() {
    let hidden = |text: &str| holds(text, KEY);
    assert!(hidden(&format!("x{KEY}y")));
    assert!(hidden(&format!("\\x{}", KEY.bytes().map(|b| format!("{b:02x}")).collect::<String>())));
    for before in ["", "a", "ab", "abc", "{\"key\":\""] {
        assert!(hidden(&STANDARD_NO_PAD.encode(format!("{before}{KEY}\"}}"))), "{before}");
        assert!(hidden(&URL_SAFE_NO_PAD.encode(format!("{before}{KEY}"))), "{before}");
    }
    assert!(hidden(&KEY.to_uppercase()) && !hidden("sk-canary"));
}
