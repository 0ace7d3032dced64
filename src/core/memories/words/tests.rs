//! What the tokenizer makes of texts and queries.

use super::*;
use crate::languages::Examples;

fn lexemes(text: &str) -> Vec<String> {
    let mut all: Vec<String> = super::lexemes(text).filter(|l| !l.starts_with(WHOLE)).collect();
    all.sort();
    all.dedup();
    all
}

fn finds(text: &str, query: &str) -> bool {
    !matches(text, &query_terms(query)).is_empty()
}

#[test]
fn a_path_is_found_whole_by_its_file_and_by_its_parts() {
    for query in ["/home/anna/src/db.rs", "src/db.rs", "db.rs", "anna", "db"] {
        assert!(finds("see /home/anna/src/db.rs, line 4", query), "{query}");
    }
    assert!(lexemes("src/db.rs").contains(&"src/db.rs".to_owned()));
}

#[test]
fn exact_tokens_stay_whole() {
    for token in [
        "snake_case",
        "ERR_5021",
        "ERR-5021",
        "192.168.1.168",
        "anna@example.com",
        "v1.2.3",
        "2.0.0-rc.1",
        "c++",
        "c#",
        "getUserName",
        "std::sync::Arc",
        "https://example.com/a?b=c",
    ] {
        let whole = token.to_lowercase();
        assert!(lexemes(&format!("x {token}. y")).contains(&whole), "{token}");
        assert_eq!(query_terms(token)[0].alternatives[0], whole, "{token}");
    }
}

#[test]
fn a_number_in_a_code_is_found_alone() {
    assert!(finds("it ended with ERR-5021", "5021"));
    assert!(finds("it ended with ERR_5021", "err"));
    assert!(finds("release v1.2.3", "1.2.3"));
    assert!(!finds("reach it at 192.168.1.168", "10.0.1.5"));
}

#[test]
fn stems_match_and_count_as_one_word() {
    assert!(finds("the deployment failed", "deploys"));
    assert_eq!(query_terms("deploys")[0].alternatives, ["deploys", "deploy"]);
    assert_eq!(query_terms("deploy").len(), 1);
}

#[test]
fn examples_of_each_language_find_other_forms_and_no_other_words() {
    let is_stored = |text: &str, query: &str| {
        let stored: Vec<String> = super::lexemes(text).collect();
        let mut asked = query_terms(query).into_iter().flat_map(|term| term.alternatives);
        asked.any(|one| stored.contains(&one))
    };
    let mut wrong = Vec::new();
    for (code, language) in languages::all() {
        let examples = &language.examples;
        assert!(Examples::pairs(&examples.found).count() >= 2, "{code}");
        for (lines, expected) in [(&examples.found, true), (&examples.not_found, false)] {
            let is_wrong = |(text, query): &(&str, &str)| {
                finds(text, query) != expected || is_stored(text, query) != expected
            };
            wrong.extend(Examples::pairs(lines).filter(is_wrong));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_sentence_has_the_stop_words_and_stems_of_its_language() {
    let asked = |query: &str| -> Vec<String> {
        query_terms(query).into_iter().map(|term| term.alternatives[0].clone()).collect()
    };
    assert_eq!(asked("When did Tom move out?"), ["tom", "move", "out"]);
    assert_eq!(asked("How did my grandfather die?"), ["grandfather", "die"]);
    assert_eq!(asked("Wo liegt die Katze?"), ["liegt", "katze"]);
    assert_eq!(asked("Qui boit du thé à l’école ?"), ["boit", "the", "ecole"]);
    assert_eq!(asked("¿Quién bebe té?"), ["bebe", "te"]);
    assert_eq!(asked("창고 열쇠는 어디에 있어?"), ["창고", "열쇠"]);
    assert_eq!(asked("Mert'in dersi ne zaman?"), ["mert", "dersi", "zaman"]);
    // A word in another script than the sentence's.
    assert!(finds("Она живёт в Москве.", "Who lives in Москва?"));
}

#[test]
fn forms_cost_little() {
    let all = |text: &str| super::lexemes(text).count();
    let english = "The deployments of the gardens were waiting for houses and trees. ".repeat(50);
    let german = "Die Häuser und die Gärten der Nachbarn warten auf neue Bäume. ".repeat(50);
    for text in [english, german, "lorem dolorem quisquam ipsumque voluptatibus ".repeat(99)] {
        assert!(all(&text) <= 3 * words(&text).len(), "{text}");
    }
    for term in query_terms("Haushaltsversicherungen nationality музыкальными किताबें")
    {
        assert!(term.alternatives.len() <= 9, "{term:?}");
    }
}

#[test]
fn no_word_makes_a_stemmer_panic() {
    let letters: Vec<char> =
        "aeiouysgnltâäéıiçğşñyqu'’ёйияьщъаеіїєыюсттьا أإآىئةيونالاتبك\u{64B}कीािों्नं\u{345}ﬁİßœ"
            .chars()
            .collect();
    let mut seed = 7_usize;
    let mut next = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    for _ in 0..20_000 {
        let word: String = (0..1 + next(14)).map(|_| letters[next(letters.len())]).collect();
        super::lexemes(&word).for_each(drop);
    }
}

#[test]
fn accents_case_and_width_are_folded() {
    assert!(finds("Café à Orléans", "cafe orleans"));
    assert!(finds("cafe", "CAFÉ"));
    assert!(finds("ＡＢＣ", "abc"));
    assert!(finds("Straße", "strasse"));
}

#[test]
fn chinese_and_japanese_are_found_by_pairs_and_single_characters() {
    assert!(finds("我喜欢喝乌龙茶", "乌龙茶"));
    assert!(finds("黒猫が好きです", "猫"));
    assert!(!finds("黒猫が好きです", "黒犬"));
    assert!(finds("ガラス", "ｶﾞﾗｽ"));
}

#[test]
fn a_single_character_is_asked_for_beside_longer_runs() {
    for (query, expected) in [
        ("猫 乌龙茶", vec!["猫", "乌龙", "龙茶"]),
        ("茶 が好き", vec!["茶", "が好", "好き"]),
        ("X線 東京", vec!["x", "線", "東京"]),
        ("猫", vec!["猫"]),
    ] {
        let found: Vec<String> =
            query_terms(query).into_iter().flat_map(|t| t.alternatives).collect();
        assert_eq!(found, expected, "{query}");
    }
    assert_eq!(telling_words("猫 cat", 9), ["cat", "猫"]);
}

#[test]
fn composed_and_decomposed_text_are_the_same() {
    use unicode_normalization::UnicodeNormalization;
    for (text, query) in [
        ("これはガラスです", "ガラス"),
        ("がっこう", "が"),
        ("パン", "ﾊﾟﾝ"),
        ("나는 한국어를 좋아한다", "한국어"),
        ("차 좋아", "차"),
        ("Zürich", "zürich"),
    ] {
        let (apart, query_apart): (String, String) = (text.nfd().collect(), query.nfd().collect());
        assert_eq!(lexemes(text), lexemes(&apart), "{text}");
        assert_eq!(query_terms(query), query_terms(&query_apart), "{query}");
        let asked = query_terms(query);
        let found = |text: &str| -> Vec<String> {
            let ranges = matches(text, &asked).into_iter();
            ranges.map(|r| text[r].nfc().collect()).collect()
        };
        assert!(!found(text).is_empty(), "{query}");
        assert_eq!(found(text), found(&apart), "{query}");
    }
    assert!(!finds("か\u{3099}", "か"));
    assert_eq!(lexemes("ｶﾞﾗｽ"), lexemes("ガラス"));
}

#[test]
fn vowel_signs_of_indic_scripts_tell_words_apart() {
    for (text, other) in [
        ("की", "कि"),
        ("की", "का"),
        ("हिन्दी", "हिन्दू"),
        ("কি", "কী"),
        ("தமிழ்", "தமிழா"),
        ("ශ්‍රී", "ශ්‍රා"),
        ("ดี", "ดู"),
    ] {
        assert_eq!(query_terms(text).len(), 1, "{text}");
        assert!(finds(&format!("x {text}। y"), text), "{text}");
        assert!(!finds(text, other), "{text} {other}");
    }
    assert_eq!(lexemes("हिन्दी"), ["हिन्द", "हिन्दी"]);
    for (text, query) in [("ёлка", "елка"), ("ὁδός", "οδος"), ("שָׁלוֹם", "שלום"), ("كَتَبَ", "كتب")]
    {
        assert!(finds(text, query), "{query}");
    }
}

#[test]
fn fragments_are_without_the_punctuation_around_them() {
    for (query, fragment) in [
        ("believ?", "believ"),
        ("“believ…”", "believ"),
        ("(believ), believ!", "believ"),
        ("乌龙？", "乌龙"),
        ("「乌龙」。", "乌龙"),
        ("don't.believ?", "don't.believ"),
        ("what's the believ", "believ"),
        ("c++", "c++"),
        ("the ???", "the"),
        ("???", "???"),
    ] {
        assert_eq!(query_fragments(query)[0], fragment, "{query}");
    }
    assert_eq!(query_fragments("(believ), believ! the").len(), 1);
    assert_eq!(query_fragments("What the"), ["What", "the"]);
}

#[test]
fn stop_words_leave_unless_nothing_else_remains() {
    assert_eq!(query_terms("what is the port").len(), 1);
    assert_eq!(query_terms("to be or not to be").len(), 4);
}

#[test]
fn a_query_has_at_most_32_terms() {
    let long: String = (0..100).map(|n| format!("word{n}x ")).collect();
    assert_eq!(query_terms(&long).len(), QUERY_TERMS_MAX);
}

#[test]
fn any_text_is_cut_without_panicking() {
    for text in ["", "'", "\\", "a'b\\c", "🦀", "\u{301}", "...", "a..b", "-#-", "++", "ﬁ", "İ"]
    {
        let _ = super::lexemes(text).count();
        let _ = matches(text, &query_terms(text));
    }
}

#[test]
fn ranges_name_the_words_in_the_original_text() {
    let text = "Zürich: DEPLOYS zur Zeit";
    let ranges = matches(text, &query_terms("deploy zurich"));
    let found: Vec<&str> = ranges.into_iter().map(|r| &text[r]).collect();
    assert_eq!(found, ["Zürich", "DEPLOYS"]);
}
