//! What is found, what is not, and what that costs.

use super::*;

/// Puts a secret together, so that no scanner of repositories takes this file for a leak.
fn secret(parts: &[&str]) -> String {
    parts.concat()
}

fn rules_in(text: &str) -> Vec<&'static str> {
    scan(text).iter().map(|found| found.rule).collect()
}

#[test]
fn every_rule_and_allowlist_compiles() {
    for file in [include_str!("gitleaks.toml"), include_str!("own.toml")] {
        let file: RuleFile = toml::from_str(file).expect("a rule file");
        assert!(!file.rules.is_empty());
    }
    let patterns = RULES.rules.iter().flat_map(|rule| {
        let allowed = rule.allowed.iter().flat_map(|list| &list.patterns);
        std::iter::once(&rule.pattern).chain(allowed)
    });
    let mut seen = std::collections::BTreeSet::new();
    for pattern in patterns.filter(|pattern| seen.insert(pattern.text.clone())) {
        assert!(pattern.compiled().is_some(), "{}", pattern.text);
    }
    assert!(RULES.rules.len() > 200, "{}", RULES.rules.len());
}

#[test]
fn go_patterns_are_read_as_go_reads_them() {
    for (go, rust) in [
        (r"a{2,3}", r"a{2,3}"),
        (r"^\${(?:[A-Z]+)}$", r"^\$\{(?:[A-Z]+)}$"),
        (r"(?:\d+|{\d+})", r"(?:\d+|\{\d+})"),
        (r"[[:alnum:]]{14}", r"[[:alnum:]]{14}"),
        (r"[^]]+[[x{]", r"[^\]]+[\[x{]"),
        (r"import[ \t]+{[ ,]+}", r"import[ \t]+\{[ ,]+}"),
    ] {
        assert_eq!(as_rust(go), rust);
    }
}

/// Each with the rule that finds it.
fn secrets() -> Vec<(&'static str, String)> {
    let key_body = "MIIEowIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM9Oi89kyQ3Hb8Wq1Yz5Lr2Ns7Vt4X\n".repeat(4);
    vec![
        ("aws-access-token", secret(&["AKIA", "Z7QWE5RTYU2IOPAS"])),
        ("github-pat", secret(&["ghp_", "1B4a9Zq7Lm2Xc8Vb5Nn0Kj3Hg6Fd1Sa4Qw7E"])),
        ("gitlab-pat", secret(&["glpat-", "x7Kq9Zw3Rt5Yb1Nm8Lp2"])),
        (
            "slack-bot-token",
            secret(&["xoxb-", "123456789012-123456789012-aB3dE5fG7hJ9kL1mN3pQ5rS7"]),
        ),
        ("stripe-access-token", secret(&["sk_live_", "4eC39HqLyjWDarjtT1zdp7dc"])),
        ("gcp-api-key", secret(&["AIza", "SyD9x8Kq7Zw3Rt5Yb1Nm8Lp2Vc4Xs6Tg0Hj"])),
        (
            "anthropic-api-key",
            secret(&["sk-ant-api03-", &"aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3".repeat(3)[..93], "AA"]),
        ),
        ("huggingface-access-token", secret(&["hf_", "QwErTyUiOpAsDfGhJkLzXcVbNmqWeRtYuI"])),
        ("npm-access-token", secret(&["npm_", "1b4a9zq7lm2xc8vb5nn0kj3hg6fd1sa4qw7e"])),
        (
            "jwt",
            secret(&[
                "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9",
                ".eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4ifQ",
                ".SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
            ]),
        ),
        (
            "private-key",
            format!(
                "{}\n{key_body}{}",
                secret(&["-----BEGIN RSA PRIVATE", " KEY-----"]),
                secret(&["-----END RSA PRIVATE", " KEY-----"])
            ),
        ),
        ("generic-api-key", secret(&["password = \"", "tG7kQ2xZ9vB4nM1w", "\""])),
        ("generic-api-key", secret(&["The API key is ", "8f7d3c1b9a5e4f6072d1", "."])),
        ("keepsake-token", secret(&["ks_", &"0a1b2c3d4e5f6a7b8c9d".repeat(4)[..72]])),
        ("url-password", secret(&["postgres://anna:", "t0pf-Secret!9", "@db.example.com/app"])),
        ("card-number", secret(&["4111 1111", " 1111 1111"])),
        ("iban", "DE89 3704 0044 0532 0130 00".to_owned()),
    ]
}

#[test]
fn secrets_of_each_kind_are_found_alone_and_in_sentences() {
    for (rule, secret) in secrets() {
        for text in [
            secret.clone(),
            format!("Anna's is {secret}, she says."),
            format!("Use `{secret}` (the old one)."),
            format!("Grüße!\n{secret}\nBis morgen."),
            format!("密钥：{secret}。"),
        ] {
            assert_eq!(rules_in(&text), [rule], "{text}");
        }
    }
}

#[test]
fn what_cannot_be_seen_hides_no_secret_and_no_form_of_its_characters_does() {
    let wide = |secret: &str| -> String {
        let wide = |c: char| match c {
            '!'..='~' => char::from_u32(u32::from(c) + 0xFEE0).unwrap_or(c),
            c => c,
        };
        secret.chars().map(wide).collect()
    };
    for (rule, secret) in secrets() {
        let half = secret.len() / 2;
        let hidden = format!("{}\u{200b}\u{ad}{}", &secret[..half], &secret[half..]);
        for (how, text) in [("unseen", &hidden), ("wide", &wide(&secret))] {
            let text = format!("Merke: {text} …");
            let found = scan(&text);
            let rules: Vec<_> = found.iter().map(|one| one.rule).collect();
            assert_eq!(rules, [rule], "{how}: {text}");
            if let Some(at) = text.find('\u{200b}') {
                assert!((found[0].start..found[0].end).contains(&at), "{text}");
            }
        }
    }
}

#[test]
fn a_line_break_parts_no_secret_and_a_key_needs_no_end() {
    for (rule, secret) in secrets() {
        if ["generic-api-key", "private-key", "card-number", "iban", "url-password"].contains(&rule)
        {
            continue;
        }
        let (half, name) = (secret.len() * 2 / 3, rule);
        let text = format!("It is {}\n  {} today.", &secret[..half], &secret[half..]);
        assert_eq!(rules_in(&text), [name], "{text}");
        let found = scan(&text)[0];
        assert_eq!(&text[found.end..], " today.", "{text}");
    }
    let begun =
        secret(&["-----BEGIN OPENSSH PRIVATE", " KEY-----\n", "b3BlbnNzaC1rZXktdjEAAAAABG5vbmU"]);
    assert_eq!(rules_in(&format!("Here:\n{begun}")), ["private-key"]);
    assert_eq!(rules_in("-----BEGIN PRIVATE KEY----- is how it begins."), Vec::<&str>::new());
}

#[test]
fn a_found_secret_ends_on_characters_and_keeps_what_is_around_it() {
    for (rule, secret) in secrets().into_iter().filter(|(rule, _)| *rule == "github-pat") {
        let text = format!("é{secret}é");
        let found = scan(&text)[0];
        assert_eq!((found.rule, &text[found.start..found.end]), (rule, secret.as_str()));
    }
}

#[test]
fn innocent_texts_are_left_alone() {
    for text in [
        "Anna keeps two hives of bees behind the house in Lisbon.",
        "Session 3f2504e0-4f89-11d3-9a0c-0305e82c3301 ended at 2026-11-27T10:04:11.123456Z.",
        "Fixed in 9fceb02d0ae598e95dc970b74767f19372d61af8, see also d670460.",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "MD5 d41d8cd98f00b204e9800998ecf8427e of the empty file.",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
        "Call +49 30 1234 5678 or (415) 555-2671; fax 0043 1 58858 0.",
        "ISBN 978-3-16-148410-0, and the old one is 0-306-40615-2. EAN 4006381333931.",
        "IBAN DE88 3704 0044 0532 0130 00 has a wrong sum.",
        "The password is in the safe; the key to the shed hangs by the door.",
        "Prefers API keys to be rotated every 90 days, and tokens to expire.",
        "api_key = os.environ[\"OPENAI_API_KEY\"]",
        "export TOKEN=${GITHUB_TOKEN} and password: $PASSWORD",
        "The theme key is prefers_dark_ui, its author is anna@example.com.",
        "https://example.com/path?page=2&sort=newest and http://localhost:3000/memory/42",
        "postgres://postgres:postgres@localhost/keepsake is the example's.",
        "Order 1000234, invoice 2026-001234, tracking 1Z999AA10123456784.",
        "Snowflake 1234567890123456789, at 1764237851123456789 ns, build 20261127.4.",
        "Years 2019 2020 2021 2022, prices 4000 4100 4200 4300.",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "料理が好きです。彼女の鍵は机の上にあります。",
    ] {
        assert_eq!(rules_in(text), Vec::<&str>::new(), "{text}");
    }
}

#[test]
fn hostile_text_costs_no_more_than_its_length_times_the_rules() {
    let keywords: Vec<String> = RULES.rules.iter().map(|rule| rule.id.clone()).collect();
    let length = 20_000;
    let long =
        |part: String| -> String { part.repeat(length / part.len() + 1)[..length].to_owned() };
    for text in [
        long("aws_secret_key_password_token_api-auth = abcdefghi ".to_owned()),
        long("ghp_1B4a9Zq7Lm2Xc8Vb5Nn0Kj3Hg6Fd1Sa4Qw7 ".to_owned()),
        long("-----BEGIN PRIVATE KEY-----".to_owned()),
        long("curl -u a:b ".to_owned()),
        long("eyJ.eyJ.".to_owned()),
        long("a://a:".to_owned()),
        long("4111 1111 1111 ".to_owned()),
        long("<private>".to_owned()),
        long(keywords.join(" = ")),
        long(keywords.join("-")),
    ] {
        let (found, work) = scan_counted(&text);
        // Twice: as it is, and with its lines joined.
        assert!(work.rules <= 2 * rule_count(), "{work:?}");
        assert!(work.bytes <= text.len() * work.rules, "{work:?}");
        // Each search but the last of a rule ends at a match.
        assert!(work.searches <= work.rules * (1 + text.len() / 8), "{work:?}");
        assert!(found.len() <= text.len() / 8);
    }
}

/// `cargo test --release -- --ignored --nocapture how_long`
#[test]
#[ignore = "measures; prints what a scan of one add takes"]
fn how_long_a_scan_takes() {
    let typical = "The user keeps two hives of bees behind the house in Lisbon and wants to hear about the weather in the morning. \
        Uses the API of the weather service; the key points of the talk are in the notes, the access code of the gate is not.";
    let names: Vec<&str> = RULES.rules.iter().map(|rule| rule.id.as_str()).collect();
    let names = names.join(" = ").repeat(10);
    for (name, text) in [
        ("20,000 characters of names of rules", names[..20_000].to_owned()),
        ("240 characters", typical.to_owned()),
        ("2,000 characters", typical.repeat(9)[..2_000].to_owned()),
        ("20,000 characters", typical.repeat(90)[..20_000].to_owned()),
        ("240 characters with a secret", format!("{}{}", &typical[..200], secrets()[1].1)),
    ] {
        let runs = 1_000u32;
        scan(&text);
        let began = std::time::Instant::now();
        for _ in 0..runs {
            std::hint::black_box(scan(&text));
        }
        println!("{name}: {:?}", began.elapsed() / runs);
    }
}
